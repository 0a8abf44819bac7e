"""Effects: what a turn does to the world, in tasks that the engine owns and never cuts.

Author code may cancel the call; the effect goes on to its end and is recorded (design 3, rule 2).
Synchronous functions run in a pool of their own.
"""

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sayso.records import Message, Principal

__all__ = [
    "CallInfo",
    "EffectScope",
    "Effects",
    "OverTime",
    "current_call",
    "current_effect",
    "cut",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallInfo:
    """The call that is running: hand `key` to the outside world as its idempotency key.

    `key` is the same for every attempt. `principal` began the turn, `approver` said yes, if anyone.
    """

    key: str
    name: str
    thread_id: str
    principal: Principal
    approver: str | None = None


@dataclass(slots=True)
class EffectScope:
    """One running effect, as the calls inside it find it."""

    execution: Any
    info: CallInfo
    place: str
    emitted: int = 0
    messages: list[Message] = field(default_factory=list)
    on_emit: Callable[[], None] | None = None


_current: ContextVar[EffectScope | None] = ContextVar("effect", default=None)


def current_call() -> CallInfo:
    """The tool call or step that this code runs in; LookupError outside of one."""
    scope = _current.get()
    if scope is None:
        raise LookupError("current_call() works inside a tool or a step of a turn only")
    return scope.info


def current_effect() -> EffectScope | None:
    """The effect that this code runs in, if any."""
    return _current.get()


class OverTime(Exception):  # noqa: N818 - a state of the effect, not an error of ours
    """The effect ran past its timeout. `unsure`: it could not be stopped and may yet happen."""

    def __init__(self, seconds: float, *, unsure: bool) -> None:
        super().__init__(f"ran out of time after {seconds:g} s")
        self.unsure = unsure


class Effects:
    """The effects in flight of one execution."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self.in_flight: set[asyncio.Task[Any]] = set()

    def keep(self, work: Awaitable[T]) -> "asyncio.Task[T]":
        """Begin work that the turn must not end without; nobody has to wait for it."""
        task: asyncio.Task[T] = asyncio.ensure_future(_as_coroutine(work))
        self.in_flight.add(task)
        task.add_done_callback(self._landed)
        return task

    def _landed(self, task: asyncio.Task[Any]) -> None:
        self.in_flight.discard(task)
        if not task.cancelled():
            task.exception()

    async def perform(
        self,
        scope: EffectScope,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        timeout: float | None,
    ) -> Any:
        """Call the function inside its scope; raises what it raises, `OverTime` past its timeout."""
        token = _current.set(scope)
        try:
            if not _is_async(fn):
                return await self._in_pool(fn, args, kwargs, timeout)
            if timeout is None:
                return await fn(*args, **kwargs)
            try:
                async with asyncio.timeout(timeout) as limit:
                    return await fn(*args, **kwargs)
            except TimeoutError:
                if limit.expired():
                    raise OverTime(timeout, unsure=False) from None
                raise
        finally:
            _current.reset(token)

    async def _in_pool(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        timeout: float | None,
    ) -> Any:
        context = contextvars.copy_context()
        call = self._pool.submit(context.run, lambda: fn(*args, **kwargs))
        future = asyncio.wrap_future(call)
        done, _ = await asyncio.wait([future], timeout=timeout)
        if done:
            result = future.result()
            return await result if inspect.isawaitable(result) else result
        if call.cancel():
            raise OverTime(timeout or 0, unsure=False)
        future.add_done_callback(lambda late: late.cancelled() or late.exception())
        raise OverTime(timeout or 0, unsure=True)


def cut(error: BaseException) -> bool:
    """Whether an effect was cut from outside, as at the end of the process: then nothing is known.

    An effect that raises `CancelledError` by itself has merely failed.
    """
    task = asyncio.current_task()
    return (
        isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
    )


def _is_async(fn: Callable[..., Any]) -> bool:
    target = fn
    while hasattr(target, "func"):
        target = target.func
    call = getattr(target, "__call__", None)  # noqa: B004 - the method itself is wanted
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(call)


async def _as_coroutine(work: Awaitable[T]) -> T:
    return await work
