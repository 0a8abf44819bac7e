"""The world of an agent under test: a store, a clock, and one process after another.

Nothing of it is real but the agent's own code: the store is in memory, the clock stands still, and
there is no port.
"""

import asyncio
import contextvars
import functools
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from sayso.app import Sayso
from sayso.base.errors import ReplayMismatch
from sayso.base.records import ListedThread, Page, PageRequest, Principal, ThreadView
from sayso.ops.loops import close_runner
from sayso.stores.base import Store, every
from sayso.stores.sqlite.memory import MemoryStore
from sayso.testing.clock import FakeClock
from sayso.testing.faults import FaultyStore
from sayso.turns.replay.conclusion import failing
from sayso.turns.replay.effects import CallInfo, effect_observer

Errors = Literal["raise", "return"]

T = TypeVar("T")

_log = logging.getLogger("sayso.testing")
_LEFT_BEHIND: list[asyncio.Runner] = []

TIMEOUT_S = 30.0
"""Seconds of real time that anything may take; then the test fails instead of hanging."""
UNWIND_S = 1.0
"""Seconds at the end for code of agents to notice that all is over."""
TAKE_OVER_S = 2.0
"""Seconds of real time that code which was taken over gets to come to rest."""
TAKE_OVER_TURNS = 10_000
"""Turns of the event loop that it gets in any case: the seconds may have gone to others."""
LEASE_S = 15
"""Seconds after which another process has taken over from one that died."""


@dataclass(frozen=True, slots=True)
class RanEffect:
    """An effect that was begun: a tool by its arguments by name, a step as it was called."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    key: str = ""
    thread: str = ""


class _Window(FaultyStore):
    """One process's way to the store, which outlives it."""

    def __init__(self, inner: Store, scopes: set[str]) -> None:
        """`scopes` gets the name of each scope in which a thread is claimed."""
        super().__init__(inner)
        self._scopes = scopes

    async def _around(self, name: str, call: functools.partial[Awaitable[Any]]) -> Any:
        if name == "claim":
            self._scopes.add(call.args[0].scope)
        return await super()._around(name, call)

    async def open(self) -> None:
        """The world has opened it."""

    async def close(self) -> None:
        """The world will close it."""

    @property
    def dead(self) -> bool:
        """True if the process has died."""
        return self._cut


class Simulation:
    """The processes that an agent's threads live through, driven from plain synchronous code."""

    def __init__(self, source: Sayso, *, errors: Errors = "raise", replays: bool = True) -> None:
        self.clock: FakeClock = FakeClock()
        self.ran: list[RanEffect] = []
        self.crashes: list[str] = []
        """The tools and steps after which the process has yet to die."""
        self._source = source
        self._store = MemoryStore(clock=self.clock, codec=source.store.codec)
        self._runner = asyncio.Runner()
        self._context = contextvars.copy_context()
        self._context.run(effect_observer.set, self._watch)
        self._context.run(failing.set, self._fail)
        self._errors, self._replays = errors, replays
        self._failed: dict[str, BaseException] = {}
        self._scopes: set[str] = set()
        self._window = _Window(self._store, self._scopes)
        self.app: Sayso = source

    def _watch(self, call: CallInfo, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.ran.append(RanEffect(call.name, args, dict(kwargs), call.key, call.thread_id))

    def do(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a call of the engine to its end.

        Raises:
            TimeoutError: it hangs.
        """
        if _loop_runs():
            raise RuntimeError(
                "sayso.testing.Conversation runs an event loop of its own: use it in a plain `def "
                "test_…()`, or by `await asyncio.to_thread(…)`"
            )
        return self._runner.run(_bounded(work), context=self._context)

    def check(self, scope: str, thread_id: str, outcome: str) -> None:
        """Raise the error of the agent's own code in this thread, unless errors are returned.

        Then run the code once more over its record, as a replay would, if the thread waits or has
        ended well.

        Raises:
            AssertionError: the replay differs from the record.
        """
        error = self._failed.pop(thread_id, None)
        if error is not None and self._errors == "raise":
            raise error
        if self._replays and outcome in ("success", "interrupt") and not self.dead:
            mismatch = self.do(lambda: self._look(scope, thread_id))
            if mismatch is not None:
                raise AssertionError(f"a replay does not come by the same way: {mismatch}")

    async def _look(self, scope: str, thread_id: str) -> str | None:
        """The difference between the code and its record in a thread, if there is one."""
        view = await self.load(scope, thread_id)
        if view is None or view.turn is None or view.thread.holder is not None:
            return None
        error = await self.app._engine.looks.look(view)
        return error.explain if isinstance(error, ReplayMismatch) else None

    def _fail(self, thread_id: str, error: BaseException) -> None:
        self._failed[thread_id] = error

    def open(self) -> None:
        """Begin with a first process; one that cannot start leaves nothing open."""
        self.do(self._store.open)
        try:
            self.do(self._begin)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the process, the store and the loop."""
        try:
            self.do(lambda: self.app._engine.stop(0.0))
            self.do(self._store.close)
        finally:
            if not close_runner(self._runner, UNWIND_S):
                # Destroyed, code that catches everything would run on, and without a loop.
                _LEFT_BEHIND.append(self._runner)
                _log.warning("leaving code behind that does not end when it is cancelled")

    def restart(self, source: Sayso | None = None) -> None:
        """End the process, if it lives, and begin another one, maybe with other code."""
        self._source = source or self._source
        died = self._window.dead
        self.do(lambda: self.app._engine.stop(0.0))
        self.do(self._begin)
        if died:
            self.do(lambda: self.clock.advance(LEASE_S))
            self.do(self._take_over)

    def crash_after(self, name: str) -> None:
        """Let the process die when that tool or step has run, before its result is recorded."""
        window = self._window
        self.crashes.append(name)

        def die() -> None:
            self.crashes.remove(name)
            window.disconnect()

        window.fail(
            "commit",
            match=lambda commit: any(
                entry.name == name and entry.status == "done" and entry.kind in ("call", "step")
                for entry in commit.entries
            ),
            hook=die,
        )

    @property
    def dead(self) -> bool:
        """True if the process has died and no other has been started."""
        return self._window.dead

    async def _begin(self) -> None:
        self._window = _Window(self._store, self._scopes)
        server = replace(self._source.server, clock=self.clock, console=False, keep_alive=None)
        self.app = self._source.replace(store=self._window, codec=None, server=server)
        await self.app._engine.start()

    async def view(self, principal: Principal, thread_id: str) -> ThreadView | None:
        """A thread as it is stored."""
        view = await self.load(principal.scope, thread_id)
        return view if view is None or view.thread.owner == principal.subject else None

    async def load(self, scope: str, thread_id: str) -> ThreadView | None:
        """A thread as it is stored, whoever owns it."""
        return await self._store.load(scope, thread_id)

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, and everything that is due in it happen at its own time."""
        if self.dead:
            raise RuntimeError("the server has crashed, and nothing happens: restart() it first")
        until = self.clock.now() + round(seconds * 1000)
        while True:
            await self._settle()
            moments = [moment for moment in await self._due() if self.clock.now() < moment <= until]
            if not moments:
                break
            self.clock.jump((min(moments) - self.clock.now()) / 1000)
            await self.clock.advance(0)
        self.clock.jump(max(0, until - self.clock.now()) / 1000)
        await self._settle()

    async def rest(self) -> None:
        """Wait until no thread runs."""
        while any(thread.running for thread in await self._threads()):  # noqa: ASYNC110 - the store tells nobody
            await asyncio.sleep(0.001)

    async def _take_over(self) -> None:
        """Wait until what was taken over comes to rest; code that waits for the test goes on."""
        turns, end = 0, time.monotonic() + TAKE_OVER_S
        while self.app._engine._live.running() and (
            (early := turns < TAKE_OVER_TURNS) or time.monotonic() < end
        ):
            await asyncio.sleep(0 if early else 0.001)
            turns += 1

    async def _threads(self) -> list[ListedThread]:
        """The threads of all scopes."""
        return [
            thread
            for scope in sorted(self._scopes)
            async for thread in every(functools.partial(self._page, scope))
        ]

    async def _page(self, scope: str, after: str | None) -> Page[ListedThread]:
        return await self._store.threads(scope, page=PageRequest(after, 500))

    async def _settle(self) -> None:
        """Let what is due now be cared for, and what it begins come to rest."""
        for _ in range(4):
            await self.clock.advance(0)
            await self.rest()

    async def _due(self) -> list[int]:
        moments = []
        for thread in await self._threads():
            view = await self._store.load(thread.scope, thread.id)
            for item in view.interrupts if view is not None else ():
                if item.status != "open":
                    continue
                if item.expires_at is not None and item.lapsed_at is None:
                    moments.append(item.expires_at)
                if item.remind_at is not None and item.reminded_at is None:
                    moments.append(item.remind_at)
        return moments


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _bounded(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    async with asyncio.timeout(TIMEOUT_S):
        return await work()
