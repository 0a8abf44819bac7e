"""What the server does by itself: expiry, reminders, and turns that somebody has to go on with.

Looks once a second, and once at the start. A turn goes on without a client (design 4), but not
for ever: a row of expiries without a person ends it.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sayso.agents.registry import Agent, Agents
from sayso.clock import Clock
from sayso.engine.claims import Claimed, Claims
from sayso.engine.live import LiveRuns
from sayso.engine.reminders import due_for_reminder, remind
from sayso.engine.runner import Runner
from sayso.engine.stopping import Stopper, Stopping
from sayso.errors import Code, Conflict, StoreError
from sayso.gate import expiry, held
from sayso.logs import about
from sayso.records import Due, Interrupt, ThreadView, Turn
from sayso.stores.base import Store

__all__ = ["Sweeper"]

_log = logging.getLogger("sayso.engine.sweeper")

EVERY = 1.0
"""Seconds between sweeps."""
BATCH = 100
"""Threads of one page."""
PAGES = 10
"""Pages that one sweep looks at."""
LETTING_GO = 1.0
"""Seconds that hooks get to notice that the server ends."""
LONGEST_REST = 300.0
"""Seconds after which a thread that needs other code is tried again, at the latest."""

Key = tuple[str, str]


class Sweeper:
    """Settles what expired, reminds, and lets abandoned or ready turns go on.

    `at_once`: turns that go on without a client at the same time, in this process.
    """

    def __init__(
        self,
        agents: Agents,
        store: Store,
        clock: Clock,
        claims: Claims,
        live: LiveRuns,
        stopping: Stopping,
        *,
        at_once: int,
        changed: Callable[[str], None],
    ) -> None:
        self._agents = agents
        self._store = store
        self._clock = clock
        self._claims = claims
        self._live = live
        self._stopping = stopping
        self._at_once = at_once
        self._changed = changed
        self._after: str | None = None
        self._resting: dict[Key, tuple[float, float]] = {}
        self._detached: set[asyncio.Task[None]] = set()
        self._hooks: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to sweep; idempotent."""
        if self._task is None:
            self._task = asyncio.create_task(self._sweep(), name="sweeper")

    async def stop(self) -> None:
        """Sweep no more; idempotent."""
        tasks = [*self._hooks, *([self._task] if self._task is not None else [])]
        self._task = None
        for task in tasks:
            task.cancel()
        if tasks:  # a hook that swallows its cancellation does not keep the server
            await asyncio.wait(tasks, timeout=LETTING_GO)

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
        """Look at what is due, from where the look before ended, and from the oldest on again.

        So threads that only other code can care for do not keep others waiting, however many.
        """
        for _ in range(PAGES):
            page = await self._store.due(self._clock.now(), BATCH, self._after)
            for due in page.items:
                with about(thread=due.thread_id):
                    await self._try(due)
            self._after = page.next
            if self._after is None:
                return

    async def _try(self, due: Due) -> None:
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
        if due.why in ("abandoned", "ready") and not self._room():
            return
        view = await self._store.load(due.scope, due.thread_id)
        if view is None or view.turn is None or view.run is None:
            return
        if due.why == "abandoned" and view.turn.status != "running":
            # Its holder died between the end of the turn and letting the thread go.
            await self._claims.close(view, view.turn, view.run)
            return
        if due.why == "abandoned" and view.thread.stopping:
            stopper = Stopper(None).known_to(view.thread)
            await self._stopping.end(view, view.turn, stopper, run=view.run)
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
        elif due.why == "abandoned":
            _log.warning("taking over thread %r: its server is gone", due.thread_id)
            self._go(key, await self._claims.take_over(view, view.turn, view.run, agent))
        else:
            await self._due(key, view, view.turn, agent)

    async def _due(self, key: Key, view: ThreadView, turn: Turn, agent: Agent) -> None:
        """Settle, lapse and remind; go on with the turn when nothing is open any more."""
        now = self._clock.now()
        mine = [item for item in view.interrupts if item.turn_key == turn.key]
        over = {item.id: expiry.lapsed(item, now) for item in mine if expiry.past(item, now)}
        reminded = {
            item.id: replace(item, reminded_at=now)
            for item in mine
            if item.id not in over and due_for_reminder(item, now)
        }
        after = [(over | reminded).get(item.id, item) for item in mine]
        if held.uncovered(after):
            changed = [*over.values(), *reminded.values()]
            if changed:
                await self._store.settle(*key, view.thread.revision, changed, now)
                self._changed(view.thread.scope)
            for item in reminded.values():
                self._spawn(remind(agent.options.on_reminder, view.thread, turn, item))
        elif self._room():
            settle = [*over.values()]
            settle += [held.settle(item) for item in after if item.status == "open"]
            why = _unattended(agent, mine, settle)
            if why is not None:
                ended = [expiry.expired(item, now) for item in mine if item.id in over]
                await self._stopping.end(view, turn, Stopper(None, why), expired=ended)
                return
            claimed = await self._claims.resume(view, turn, agent, settle=settle)
            self._go(key, claimed)

    def _room(self) -> bool:
        """Whether one more turn may go on without a client now; else it waits its turn."""
        return len(self._detached) < self._at_once

    def _go(self, key: Key, claimed: Claimed) -> None:
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

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="reminder")
        self._hooks.add(task)
        task.add_done_callback(self._hooks.discard)

    def _rest(self, key: Key) -> None:
        """Leave a thread alone for a while: it needs other code, and would fail in the same way."""
        _, pause = self._resting.get(key, (0.0, EVERY))
        self._resting[key] = (self._clock.monotonic() + pause, min(pause * 2, LONGEST_REST))

    def _rests(self, key: Key) -> bool:
        until, _ = self._resting.get(key, (0.0, 0.0))
        return self._clock.monotonic() < until


def _unattended(agent: Agent, mine: Sequence[Interrupt], settle: Sequence[Interrupt]) -> str | None:
    """Why a turn ends here, if no person has had a part in it for so many expiries."""
    most = agent.options.expiries_in_a_row
    if most is None or not settle or any(item.decided_by is not None for item in settle):
        return None
    count = expiry.unattended_sets(mine) + 1
    if count < most:
        return None
    times = "Once" if count == 1 else f"{count} times in a row"
    return f"{times} nobody answered before a question expired, so this turn was ended."
