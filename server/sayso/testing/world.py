"""What an agent under test lives in: a store, a clock, and one process after another.

Nothing of it is real but the agent's own code: the store is in memory, the clock stands still, and
there is no port.
"""

import asyncio
import contextvars
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sayso.app import Sayso
from sayso.loops import closed
from sayso.records import Principal, ThreadView
from sayso.stores.memory.store import MemoryStore
from sayso.testing.clock import FakeClock
from sayso.testing.faults import FaultyStore
from sayso.turns.effects import CallInfo, watching

__all__ = ["Ran", "World"]

T = TypeVar("T")

_log = logging.getLogger("sayso.testing")
_LEFT_BEHIND: list[asyncio.Runner] = []

PATIENCE = 30.0
"""Seconds of real time that anything may take; then the test fails instead of hanging."""
UNWINDING = 1.0
"""Seconds at the end for code of agents to notice that all is over."""
LEASE = 15
"""Seconds after which another process has taken over from one that died."""


@dataclass(frozen=True, slots=True)
class Ran:
    """An effect that was begun: a tool by its arguments by name, a step as it was called."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    key: str = ""
    thread: str = ""


class _Window(FaultyStore):
    """One process's way to the store, which outlives it."""

    async def open(self) -> None:
        """The world has opened it."""

    async def close(self) -> None:
        """The world will close it."""

    @property
    def dead(self) -> bool:
        """Whether the process has died."""
        return self._cut


class World:
    """The processes that an agent's threads live through, driven from plain synchronous code."""

    def __init__(self, source: Sayso) -> None:
        self.clock = FakeClock()
        self.ran: list[Ran] = []
        self.crashes: list[str] = []
        """What the process shall die after, and has not."""
        self._source = source
        self._store = MemoryStore(clock=self.clock)
        self._runner = asyncio.Runner()
        self._context = contextvars.copy_context()
        self._context.run(watching.set, self._watch)
        self._window = _Window(self._store)
        self.app = source

    def _watch(self, call: CallInfo, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.ran.append(Ran(call.name, args, dict(kwargs), call.key, call.thread_id))

    def do(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run something of the engine to its end; TimeoutError if it hangs."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._runner.run(_bounded(work), context=self._context)
        raise RuntimeError(
            "sayso.testing.Agent runs an event loop of its own: use it in a plain `def test_…()`, "
            "or by `await asyncio.to_thread(…)`"
        )

    def open(self) -> None:
        """Begin with a first process."""
        self.do(self._store.open)
        self.do(self._begin)

    def close(self) -> None:
        """End the process, the store and the loop."""
        try:
            self.do(lambda: self.app.engine.stop(0.0))
            self.do(self._store.close)
        finally:
            if not closed(self._runner, UNWINDING):
                # Destroyed, code that catches everything would run on, and without a loop.
                _LEFT_BEHIND.append(self._runner)
                _log.warning("leaving code behind that does not end when it is cancelled")

    def restart(self, source: Sayso | None = None) -> None:
        """End the process, if it lives, and begin another one, maybe with other code."""
        self._source = source or self._source
        died = self._window.dead
        self.do(lambda: self.app.engine.stop(0.0))
        self.do(self._begin)
        if died:
            self.do(lambda: self.clock.advance(LEASE))

    def crash_after(self, name: str) -> None:
        """Let the process die when that tool or step has run, before its result is recorded."""
        window = self._window
        self.crashes.append(name)

        def die() -> None:
            self.crashes.remove(name)
            window.cut()

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
        """Whether the process has died and no other has been started."""
        return self._window.dead

    async def _begin(self) -> None:
        self._window = _Window(self._store)
        self.app = self._source.again(
            store=self._window, clock=self.clock, console=False, keep_alive=None
        )
        await self.app.engine.start()

    async def view(self, principal: Principal, thread_id: str) -> ThreadView | None:
        """A thread as it is stored."""
        view = await self._store.load(principal.scope, thread_id)
        return view if view is None or view.thread.owner == principal.subject else None

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, and everything that is due in it happen at its own time."""
        if self.dead:
            raise RuntimeError("the server has crashed, and nothing happens: restart() it first")
        until = self.clock.now() + round(seconds * 1000)
        while True:
            await self._settle()
            moments = [at for at in await self._due() if self.clock.now() < at <= until]
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

    async def _settle(self) -> None:
        """Let what is due now be cared for, and what it begins come to rest."""
        for _ in range(4):
            await self.clock.advance(0)
            await self.rest()

    async def _threads(self) -> list[Any]:
        # Of all scopes: the principals of a test are its own.
        tables = self._store._tables
        return [held.summary for held in tables.threads.values() if held.active_at is not None]

    async def _due(self) -> list[int]:
        found = []
        for thread in await self._threads():
            view = await self._store.load(thread.scope, thread.id)
            for item in view.interrupts if view is not None else ():
                if item.status != "open":
                    continue
                if item.expires_at is not None and item.lapsed_at is None:
                    found.append(item.expires_at)
                if item.remind_at is not None and item.reminded_at is None:
                    found.append(item.remind_at)
        return found


async def _bounded(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    async with asyncio.timeout(PATIENCE):
        return await work()
