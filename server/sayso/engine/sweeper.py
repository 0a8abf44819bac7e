"""The sweeper: expiry, reminders, and turns that have to continue without a request.

It sweeps once a second, and once at the start. A turn continues without a client (design 4), but
not forever: a number of consecutive expiries without a person ends it.

A reminder is sent once, by one process, before its question expires (R1). It is noted in the store
first, on the revision that was read, so that one process of all reminds. If that process dies right
then, nobody is reminded: a reminder that comes twice would be worse.
"""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sayso.agents.registry import Agent
from sayso.base.codes import Code
from sayso.base.errors import Conflict, StoreError
from sayso.base.logs import log_context
from sayso.base.options import Reminder, ReminderHook
from sayso.base.records import (
    Due,
    Interrupt,
    PageRequest,
    Thread,
    ThreadView,
    TurnRecord,
)
from sayso.engine.claims import Claimed, Claims
from sayso.engine.instrumented import log_questions
from sayso.engine.live import LiveRuns
from sayso.engine.stop import StopRequest, StopService
from sayso.gate import interrupts
from sayso.stores.base import update_of
from sayso.streams.ending import Ending
from sayso.turns.denials import Denials
from sayso.turns.services import Services

_log = logging.getLogger("sayso.engine.sweeper")

SWEEP_INTERVAL_S = 1.0
"""Seconds between sweeps."""
BATCH_SIZE = 100
"""Threads of one page."""
MAX_PAGES = 10
"""Pages that one sweep looks at."""
HOOK_GRACE_S = 1.0
"""Seconds that hooks get to notice that the server ends."""
MAX_REST_S = 300.0
"""Seconds after which a thread that needs other code is tried again, at the latest."""
HOOK_TIMEOUT_S = 30.0
"""Seconds that a hook may take for one reminder."""

_MAX_CROWDED = 10_000

Key = tuple[str, str]
"""A scope and a thread's id."""


class Sweeper:
    """Settles expired questions, reminds, and continues abandoned or ready turns.

    `at_once`: turns that run without a client at the same time, in this process. If users are told
    apart (`shared`), those of one user take half of it at most, and while another tenant's have to
    wait, those of one tenant no more than its share.
    """

    def __init__(
        self,
        services: Services,
        claims: Claims,
        live: LiveRuns,
        stopping: StopService,
        denials: Denials,
        *,
        at_once: int,
        shared: bool,
    ) -> None:
        self._store, self._clock = services.store, services.clock
        self._agents, self._changed = services.agents, services.changed
        self._claims = claims
        self._live = live
        self._stopping = stopping
        self._denials = denials
        self._at_once = at_once
        self._most = max(1, at_once // 2) if shared else at_once
        self._after: str | None = None
        self._waiting: set[str] = set()
        self._passed: set[str] = set()
        """The tenants whose turns had to wait in the last round of all due threads, and in this."""
        self._crowded: dict[Key, tuple[str, str]] = {}
        """Threads that wait until fewer turns of their users run: they are not read for nothing."""
        self._resting: dict[Key, tuple[float, float]] = {}
        self._detached: dict[asyncio.Task[Ending | None], tuple[str, str]] = {}
        """The turns that run without a client, with their users."""
        self._hooks: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to sweep; idempotent."""
        if self._task is None:
            self._task = asyncio.create_task(self._sweep(), name="sweeper")

    async def stop(self) -> None:
        """Stop sweeping; idempotent."""
        tasks = [*self._hooks, *([self._task] if self._task is not None else [])]
        self._task = None
        for task in tasks:
            task.cancel()
        if tasks:  # a hook that swallows its cancellation does not keep the server
            await asyncio.wait(tasks, timeout=HOOK_GRACE_S)

    async def _sweep(self) -> None:
        while True:
            try:
                await self.sweep()
            except StoreError as error:
                _log.warning("the store could not be swept: %s", error)
            except Exception:
                _log.exception("a sweep failed; the next one is in %g s", SWEEP_INTERVAL_S)
            await self._clock.sleep(SWEEP_INTERVAL_S)

    async def sweep(self) -> None:
        """Look at due threads from where the last sweep ended, then again from the oldest.

        So threads that only other code can continue do not keep others waiting, however many.
        """
        for _ in range(MAX_PAGES):
            page = await self._store.due_threads(
                self._clock.now(), PageRequest(self._after, BATCH_SIZE)
            )
            for due in page.items:
                with log_context(thread=due.thread_id):
                    await self._try(due)
            self._after = page.next
            if self._after is None:
                self._waiting, self._passed = self._passed, set()
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
        if due.why in ("abandoned", "ready") and self._is_full():
            self._passed.add(due.scope)
            return
        user = self._crowded.pop(key, None)
        if user is not None and not self._has_share(user):
            self._crowded[key] = user
            return
        view = await self._store.load(due.scope, due.thread_id)
        if view is None or view.turn is None or view.run is None:
            return
        if due.why == "abandoned" and view.thread.holder is None:
            return  # somebody has cared for it since: to hold it would only keep answers out
        if due.why in ("abandoned", "ready") and not self._room(key, view.thread.owner):
            return
        # Whoever held it, or kept an answer, may have died before it told copies of a denial.
        mine = [item for item in view.interrupts if item.turn_key == view.turn.key]
        await self._denials.tell(view.thread, mine)
        if due.why == "abandoned" and view.turn.status != "running":
            # Its holder died between the end of the turn and the release of the thread.
            await self._claims.close(view, view.turn, view.run)
            return
        if due.why == "abandoned" and view.thread.stopping:
            stopper = StopRequest(None).known_to(view.thread)
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

    async def _due(self, key: Key, view: ThreadView, turn: TurnRecord, agent: Agent) -> None:
        """Settle, lapse and remind; resume the turn once nothing is open."""
        now = self._clock.now()
        mine = [item for item in view.interrupts if item.turn_key == turn.key]
        over = {
            item.id: interrupts.apply_expiry(item, now)
            for item in mine
            if interrupts.expiry_due(item, now)
        }
        reminded = {
            item.id: interrupts.remind(item, now)
            for item in mine
            if item.id not in over and _is_reminder_due(item, now)
        }
        after = [(over | reminded).get(item.id, item) for item in mine]
        if interrupts.unanswered(after):
            changed = [*over.values(), *reminded.values()]
            if changed:
                await self._store.update_idle(update_of(view.thread, now, interrupts=changed))
                settled = [interrupt for interrupt in changed if interrupt.status != "open"]
                log_questions(view.thread.id, settled)
                self._changed(view.thread.scope)
            for item in reminded.values():
                self._spawn(_remind(agent.options.on_reminder, view.thread, turn, item))
        elif self._room(key, view.thread.owner):
            settle = [*over.values()]
            settle += [interrupts.settle_held(item) for item in after if item.status == "open"]
            why = _unattended(agent, mine, settle)
            if why is not None:
                ended = [interrupts.expire(item, now) for item in mine if item.id in over]
                await self._stopping.end(view, turn, StopRequest(None, why), expired=ended)
                return
            claimed = await self._claims.resume(view, turn, agent, settle=settle)
            self._go(key, claimed)

    def _is_full(self) -> bool:
        """True if no more turns may run without a client now, whoever began them."""
        return len(self._detached) >= self._at_once

    def _has_share(self, user: tuple[str, str]) -> bool:
        """True if fewer turns of this user run without a client than may."""
        return sum(running == user for running in self._detached.values()) < self._most

    def _room(self, key: Key, owner: str) -> bool:
        """True if one more turn of this thread's owner may run without a client now."""
        scope = key[0]
        if not self._has_share((scope, owner)):
            if len(self._crowded) < _MAX_CROWDED:
                self._crowded[key] = (scope, owner)
            return False
        others = len(self._waiting - {scope})
        of_tenant = sum(running[0] == scope for running in self._detached.values())
        if self._is_full() or (others and of_tenant >= max(1, self._at_once // (others + 1))):
            self._passed.add(scope)
            return False
        return True

    def _go(self, key: Key, claimed: Claimed) -> None:
        task = self._live.start_unread(claimed)
        self._detached[task] = (claimed.lease.scope, claimed.turn.principal.subject)
        task.add_done_callback(partial(self._ended, key))

    def _ended(self, key: Key, task: asyncio.Task[Ending | None]) -> None:
        self._detached.pop(task, None)
        ending = None if task.cancelled() or task.exception() else task.result()
        if ending is not None and ending.code == Code.REPLAY_MISMATCH.value:
            self._rest(key)
        else:
            self._resting.pop(key, None)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="reminder")
        self._hooks.add(task)
        task.add_done_callback(self._hooks.discard)

    def _rest(self, key: Key) -> None:
        """Leave a thread alone for a while: it needs other code, and would fail in the same way."""
        _, pause = self._resting.get(key, (0.0, SWEEP_INTERVAL_S))
        self._resting[key] = (self._clock.monotonic() + pause, min(pause * 2, MAX_REST_S))

    def _rests(self, key: Key) -> bool:
        until, _ = self._resting.get(key, (0.0, 0.0))
        return self._clock.monotonic() < until


def _unattended(agent: Agent, mine: Sequence[Interrupt], settle: Sequence[Interrupt]) -> str | None:
    """The reason to end a turn in which no person has had a part for too many expiries, or None."""
    most = agent.options.max_consecutive_expiries
    if most is None or not settle or any(item.decided_by is not None for item in settle):
        return None
    count = interrupts.consecutive_expiries(mine) + 1
    if count < most:
        return None
    times = "Once" if count == 1 else f"{count} times in a row"
    return f"{times} nobody answered before a question expired, so this turn was ended."


def _is_reminder_due(item: Interrupt, now: int) -> bool:
    """True if it is time to remind of a question that still waits for an answer."""
    return (
        item.status == "open"
        and item.held is None
        and item.lapsed_at is None
        and item.reminded_at is None
        and item.remind_at is not None
        and item.remind_at <= now
        and (item.expires_at is None or now < item.expires_at)
    )


async def _remind(
    hook: ReminderHook | None, thread: Thread, turn: TurnRecord, item: Interrupt
) -> None:
    """Call the hook, if there is one; its errors are logged and keep nobody else waiting."""
    if hook is None or item.expires_at is None:
        return
    reminder = Reminder(
        scope=thread.scope,
        thread_id=thread.id,
        owner=thread.owner,
        agent=turn.agent,
        interrupt_id=item.id,
        reason=item.reason,
        message=item.message,
        expires_at=datetime.fromtimestamp(item.expires_at / 1000, UTC),
        assigned_to=item.assigned_to,
    )
    with log_context(thread=thread.id, interrupt=item.id, agent=turn.agent):
        try:
            async with asyncio.timeout(HOOK_TIMEOUT_S):
                await hook(reminder)
        except Exception:
            _log.exception("on_reminder failed for %r of thread %r", item.id, thread.id)
