"""Effects: what a turn does to the world, in tasks that the engine owns and never cuts.

Author code may cancel the call; the effect goes on to its end and is recorded (design 3, rule 2).
Synchronous functions run in threads of their own (`ToolThreads`), of which one user cannot take
all: work waits in a line of its own user, and the lines take turns.
"""

import asyncio
import contextvars
import inspect
import logging
import threading
from asyncio import timeout
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType
from typing import Any, TypeVar

from sayso.agents.outcomes import Answer
from sayso.base.approvers import OWNER, Approvers
from sayso.base.errors import OutcomeUnknown, StoreError
from sayso.base.records import Message, Principal
from sayso.base.scrubbing import Scrubbing
from sayso.base.texts import error_text

T = TypeVar("T")

_log = logging.getLogger("sayso.turn")

User = tuple[str, str]
"""Scope and subject."""
LINGERING_S = 5.0
"""Seconds that an effect which was cut off gets to end; then the turn ends without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovedBy:
    """One person's yes to the very arguments that run: for which rule, and when (ms, epoch)."""

    rule: str
    by: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallInfo:
    """The call that is running: hand `key` to the outside world as its idempotency key.

    `key` is the same for every attempt. `principal` began the turn, `approver` said yes last, if
    anyone; `approvers` are all who agreed, where there are several; `approvals` says who said yes
    for which rule. `attempt` counts from 1; `answer` is what a person said to the `AskFirst` of an
    attempt before, None where the tool has asked nothing. `deciders` are who decides about it: the
    people of the first rule that asked others about the call, else those of the tool. What it asks
    on the way, and needs in order to be made, is theirs to answer.
    """

    key: str
    name: str
    thread_id: str
    principal: Principal
    approver: str | None = None
    approvers: tuple[str, ...] = ()
    approvals: tuple[ApprovedBy, ...] = ()
    attempt: int = 1
    answer: Answer[Any] | None = None
    deciders: Approvers = OWNER


@dataclass(slots=True)
class EffectScope:
    """One running effect, as the calls inside it find it."""

    execution: Any
    info: CallInfo
    place: str
    emitted: dict[str, int] = field(default_factory=dict)
    """Messages that it has begun, by kind: another thought gives no text another id."""
    messages: list[Message] = field(default_factory=list)
    opens: bool = False
    """It is no effect itself: calls inside are recorded for themselves."""


_current: ContextVar[EffectScope | None] = ContextVar("effect", default=None)

Watch = Callable[[CallInfo, tuple[Any, ...], dict[str, Any]], None]
effect_observer: ContextVar[Watch | None] = ContextVar("watching", default=None)
"""For tests: told of each effect of the engines that are started in this context, as it begins."""


def current_call() -> CallInfo:
    """The tool call or step that this code runs in; LookupError outside of one."""
    scope = _current.get()
    if scope is None:
        raise LookupError("current_call() works inside a tool or a step of a turn only")
    return scope.info


def current_effect() -> EffectScope | None:
    """The effect that this code runs in, if any."""
    return _current.get()


class EffectTimedOut(Exception):
    """The effect ran past its timeout; `indeterminate`: it was not stopped and may yet happen."""

    def __init__(self, seconds: float, *, indeterminate: bool) -> None:
        super().__init__(f"ran out of time after {seconds:g} s")
        self.indeterminate = indeterminate


def unknown_end(error: EffectTimedOut | OutcomeUnknown, scrub: Scrubbing) -> str | None:
    """Say what was seen of an end whose outcome nobody knows; None for one that was stopped."""
    if isinstance(error, OutcomeUnknown):
        return scrub(error_text(error))
    return "it ran over its time limit and could not be stopped" if error.indeterminate else None


class LeaseGone(Exception):
    """Nothing was run, because the lease of the thread is no longer ours."""

    def __init__(self, error: StoreError) -> None:
        super().__init__(str(error))
        self.error = error


class _Unstoppable(Exception):
    """A function in a thread goes on after its time; whether it happens, nobody knows yet."""


class ToolThreads:
    """`size` threads. Where users are told apart (`shared`), one of them gets half at most.

    Who waits is served in turns: tenant by tenant, and of each tenant user by user.
    """

    def __init__(self, size: int, *, shared: bool) -> None:
        self._executor = ThreadPoolExecutor(size, thread_name_prefix="sayso-tool")
        self._size = size
        self._most = max(1, size // 2) if shared else size
        self._lock = threading.Lock()
        self._busy: dict[User, int] = {}
        self._lines: dict[str, dict[User, deque[tuple[Future[Any], Callable[[], None]]]]] = {}
        """Of each tenant the users who wait for a thread, both in the order of their turns."""

    def share(self, user: User) -> "Share":
        """The share of one user: its work is handed to that."""
        return Share(self, user)

    def shutdown(self) -> None:
        """Begin nothing further; work that runs is left to end, the rest is cancelled."""
        with self._lock:
            lines = [line for users in self._lines.values() for line in users.values()]
            waiting = [future for line in lines for future, _ in line]
            self._lines.clear()
        self._executor.shutdown(wait=False, cancel_futures=True)
        for future in waiting:
            future.cancel()

    def submit(self, user: User, work: Callable[[], Any]) -> Future[Any]:
        """Run it as soon as a thread and a place of this user are free."""
        future: Future[Any] = Future()

        def run() -> None:
            try:
                if future.set_running_or_notify_cancel():
                    future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
            finally:
                self._left(user)

        with self._lock:
            self._lines.setdefault(user[0], {}).setdefault(user, deque()).append((future, run))
            self._fill()
        return future

    def _left(self, user: User) -> None:
        with self._lock:
            self._busy[user] -= 1
            if not self._busy[user]:
                del self._busy[user]
            self._fill()

    def _has_share(self, user: User) -> bool:
        return self._busy.get(user, 0) < self._most

    def _fill(self) -> None:
        """Give free threads to those whose turn it is."""
        while sum(self._busy.values()) < self._size:
            waiting = (user for users in self._lines.values() for user in users)
            user = next(filter(self._has_share, waiting), None)
            if user is None:
                return
            users = self._lines.pop(user[0])
            line = users.pop(user)
            future, run = line.popleft()
            self._executor.submit(run).add_done_callback(partial(_cancel_with, future))
            self._busy[user] = self._busy.get(user, 0) + 1
            if line:
                users[user] = line  # behind all others
            if users:
                self._lines[user[0]] = users


def _cancel_with(future: Future[Any], handed_over: Future[None]) -> None:
    """Cancel the future of work that the executor was shut down on before it began."""
    if handed_over.cancelled():
        future.cancel()


class Share:
    """One user's way to the threads, as `Executor.submit` has it."""

    def __init__(self, threads: ToolThreads, user: User) -> None:
        self._threads = threads
        self._user = user

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Call the function in a thread of these."""
        return self._threads.submit(self._user, partial(fn, *args))


class Effects:
    """The effects in flight of one execution; `held` raises `StoreError` once they must not begin.

    It is asked in the last instant, in the thread that runs the effect.
    """

    def __init__(self, pool: Share, held: Callable[[], None], attended: asyncio.Event) -> None:
        self._pool = pool
        self._held = held
        self._attended = attended
        self.in_flight: set[asyncio.Task[Any]] = set()
        self._repeatable: set[asyncio.Task[Any] | None] = set()
        self._lingering: dict[asyncio.Task[Any], asyncio.TimerHandle] = {}
        self.landed: Callable[[], None] = lambda: None  # told when one has ended
        self.cutting: bool = False
        """True if the turn was stopped: no further effect may begin."""

    def track(self, work: Awaitable[T]) -> "asyncio.Task[T]":
        """Begin work that the turn must not end without; nobody has to wait for it."""
        task: asyncio.Task[T] = asyncio.create_task(contain_exit(work))
        self.in_flight.add(task)
        task.add_done_callback(self._landed)
        return task

    def repeatable(self, task: asyncio.Task[Any] | None) -> None:
        """Let a stop cut a task off, whose work may run again or only streams."""
        self._repeatable.add(task)
        if self.cutting and task is not None:
            self._cut(task)

    @contextmanager
    def repeatable_part(self) -> Iterator[None]:
        """Let a stop cut the running task off in here, as its work may run again."""
        task = asyncio.current_task()
        self.repeatable(task)
        try:
            yield
        finally:
            self._repeatable.discard(task)

    async def may_begin(self) -> bool:
        """True if an effect may begin; waits while the run has lost its last reader (N2)."""
        while not (self._attended.is_set() or self.cutting):
            await self._attended.wait()
        return not self.cutting

    def cut_off(self) -> None:
        """Cancel what may be cut, now and from now on; the rest goes on to its end."""
        self.cutting = True
        self._attended.set()
        for task in self.in_flight & self._repeatable:
            self._cut(task)

    def _cut(self, task: asyncio.Task[Any]) -> None:
        task.cancel()
        if task in self.in_flight and task not in self._lingering:
            loop = asyncio.get_running_loop()
            self._lingering[task] = loop.call_later(LINGERING_S, self._leave, task)

    def _leave(self, task: asyncio.Task[Any]) -> None:
        """Wait no longer for an effect that does not let itself be cancelled (design 3, rule 1)."""
        _log.warning(
            "an effect did not end within %g s of being cancelled by a stop; it is left behind "
            "and can record nothing more",
            LINGERING_S,
        )
        self._landed(task)

    def _landed(self, task: asyncio.Task[Any]) -> None:
        self.in_flight.discard(task)
        self._repeatable.discard(task)
        if (waiting := self._lingering.pop(task, None)) is not None:
            waiting.cancel()
        if not task.done():
            self.landed()
            return
        if not task.cancelled():
            task.exception()
        self.landed()

    async def perform(
        self,
        scope: EffectScope,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        seconds: float | None,
    ) -> Any:
        """Call the function in its scope; raises what that does, or `EffectTimedOut`.

        Raises `LeaseGone`, and runs nothing, when the lease has run out.
        """
        if (watch := effect_observer.get()) is not None:
            watch(scope.info, args, kwargs)
        with effect_scope(scope):
            if seconds is None and _is_async(fn):
                self._check()
                return await fn(*args, **kwargs)
            limit = timeout(seconds)
            try:
                async with limit:
                    if _is_async(fn):
                        self._check()
                        return await fn(*args, **kwargs)
                    result = await self._in_pool(fn, args, kwargs, limit)
                    return await result if inspect.isawaitable(result) else result
            except (TimeoutError, _Unstoppable) as late:
                if limit.expired():
                    raise EffectTimedOut(
                        seconds or 0, indeterminate=isinstance(late, _Unstoppable)
                    ) from None
                raise

    async def _in_pool(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        limit: asyncio.Timeout,
    ) -> Any:
        def work() -> tuple[Any, BaseException | None]:
            self._check()
            try:
                return fn(*args, **kwargs), None
            except BaseException as error:
                # A future cannot carry each of them: StopIteration would never arrive.
                return None, error

        call = self._pool.submit(contextvars.copy_context().run, work)
        future = asyncio.wrap_future(call)
        future.add_done_callback(lambda late: late.cancelled() or late.exception())
        try:
            result, error = await asyncio.shield(future)
        except asyncio.CancelledError:
            if not limit.expired() or call.cancel():
                raise
            raise _Unstoppable from None
        if error is not None:
            raise error
        return result

    def _check(self) -> None:
        try:
            self._held()
        except StoreError as error:
            raise LeaseGone(error) from None


@contextmanager
def effect_scope(scope: EffectScope) -> Iterator[None]:
    """Code that runs in here is part of an effect."""
    token = _current.set(scope)
    try:
        yield
    finally:
        _current.reset(token)


async def contain_exit(work: Awaitable[T]) -> T:
    """Await work of an author; what would end the whole process becomes an error of it alone."""
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as leaving:
        raise RuntimeError(f"the code raised {type(leaving).__name__}") from leaving


def was_cancelled(error: BaseException) -> bool:
    """True if an effect was cut from outside, as at the end of the process: then nothing is known.

    An effect that raises `CancelledError` by itself has merely failed.
    """
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _is_async(fn: Callable[..., Any]) -> bool:
    target = fn
    while hasattr(target, "func"):
        target = target.func
    if isinstance(target, FunctionType) and target.__code__.co_flags & inspect.CO_COROUTINE:
        return True
    call = getattr(target, "__call__", None)  # noqa: B004 - the method itself is wanted
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(call)
