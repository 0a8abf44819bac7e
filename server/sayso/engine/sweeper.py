"""What the server does by itself: expiry, and turns whose holder died.

Looks once a second, and once at the start. A turn goes on without a client (design 4).
"""

import asyncio
import logging
from dataclasses import replace
from functools import partial

from sayso.agents.registry import Agents
from sayso.clock import Clock
from sayso.engine.claims import Claims
from sayso.engine.live import LiveRuns
from sayso.engine.runner import Runner
from sayso.errors import Code, Conflict, StoreError
from sayso.records import Due, Interrupt, ThreadView
from sayso.stores.base import Store

__all__ = ["Sweeper"]

_log = logging.getLogger("sayso.engine.sweeper")

EVERY = 1.0
"""Seconds between sweeps."""
AT_ONCE = 8
"""Turns that go on without a client at the same time."""
BATCH = 100
"""Threads that one sweep looks at."""
LONGEST_REST = 300.0
"""Seconds after which a thread that needs other code is tried again, at the latest."""

Key = tuple[str, str]


class Sweeper:
    """Settles what expired and lets abandoned or ready turns go on."""

    def __init__(
        self, agents: Agents, store: Store, clock: Clock, claims: Claims, live: LiveRuns
    ) -> None:
        self._agents = agents
        self._store = store
        self._clock = clock
        self._claims = claims
        self._live = live
        self._resting: dict[Key, tuple[float, float]] = {}
        self._detached: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to sweep; idempotent."""
        if self._task is None:
            self._task = asyncio.create_task(self._sweep(), name="sweeper")

    async def stop(self) -> None:
        """Sweep no more; idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _sweep(self) -> None:
        while True:
            try:
                await self.sweep()
            except StoreError as error:
                _log.warning("the store could not be swept: %s", error)
            except Exception:
                _log.exception("a sweep failed; the next one is in %g s", EVERY)
            await self._clock.sleep(EVERY)

    async def sweep(self) -> None:
        """Look once at everything that is due."""
        limit = BATCH + len(self._resting)
        for due in (await self._store.due(self._clock.now(), limit)).items:
            if len(self._detached) >= AT_ONCE:
                return
            try:
                await self._care(due)
            except Conflict:
                _log.debug("thread %r was cared for by somebody else", due.thread_id)
            except StoreError:
                raise
            except Exception:
                # One thread that cannot be cared for must not keep the others waiting.
                _log.exception("thread %r could not be cared for", due.thread_id)
                self._rest((due.scope, due.thread_id))

    async def _care(self, due: Due) -> None:
        key = (due.scope, due.thread_id)
        if self._live.is_here(*key) or self._rests(key):
            return
        view = await self._store.load(due.scope, due.thread_id)
        if view is None or view.turn is None or view.run is None:
            return
        agent = self._agents.version(view.turn.agent, view.turn.version)
        if agent is None:
            _log.error(
                "thread %r needs version %r of agent %r, which is not registered here",
                due.thread_id,
                view.turn.version,
                view.turn.agent,
            )
            self._rest(key)
            return
        if due.why == "abandoned":
            _log.warning("taking over thread %r: its server is gone", due.thread_id)
            claimed = await self._claims.take_over(view, view.turn, view.run, agent)
        else:
            expired = self._expired(view)
            if any(i.status == "open" and i not in expired for i in _of_turn(view)):
                settled = [self._settled(interrupt) for interrupt in expired]
                await self._store.settle(
                    due.scope, due.thread_id, view.thread.revision, settled, self._clock.now()
                )
                return
            settle = [self._settled(interrupt) for interrupt in expired]
            claimed = await self._claims.resume(view, view.turn, agent, settle=settle)
        runner = self._live.begin(claimed)
        task = self._live.go(claimed, runner)
        self._detached.add(task)
        task.add_done_callback(partial(self._ended, key, runner))

    def _ended(self, key: Key, runner: Runner, task: asyncio.Task[None]) -> None:
        self._detached.discard(task)
        if runner.ending is not None and runner.ending.code == Code.REPLAY_MISMATCH.value:
            self._rest(key)
        else:
            self._resting.pop(key, None)

    def _rest(self, key: Key) -> None:
        """Leave a thread alone for a while: it needs other code, and would fail in the same way."""
        _, pause = self._resting.get(key, (0.0, EVERY))
        self._resting[key] = (self._clock.monotonic() + pause, min(pause * 2, LONGEST_REST))

    def _rests(self, key: Key) -> bool:
        until, _ = self._resting.get(key, (0.0, 0.0))
        return self._clock.monotonic() < until

    def _expired(self, view: ThreadView) -> list[Interrupt]:
        now = self._clock.now()
        return [
            interrupt
            for interrupt in _of_turn(view)
            if interrupt.status == "open"
            and interrupt.expires_at is not None
            and interrupt.expires_at <= now
        ]

    def _settled(self, interrupt: Interrupt) -> Interrupt:
        """Expired: nobody decided, so there is no decider (R3)."""
        return replace(interrupt, status="expired", decided_at=self._clock.now(), channel="expiry")


def _of_turn(view: ThreadView) -> list[Interrupt]:
    turn = view.turn
    return [i for i in view.interrupts if turn is not None and i.turn_key == turn.key]
