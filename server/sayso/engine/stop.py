"""Stop: the explicit end of a turn, whatever it is doing (design 4; OU-07, E8, I3, I6).

A turn that waits ends here and now, in one claim, and its code is not entered again. A running one
is asked to end at its next record, wherever it runs.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from sayso.base import ids
from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.base.records import Entry, Interrupt, Principal, Run, Thread, ThreadView, TurnRecord
from sayso.engine.claims import Claims
from sayso.gate import interrupts
from sayso.gate.quorum import is_final
from sayso.gate.settled import settled_event, settled_message
from sayso.streams.ending import STOPPED as SAID
from sayso.streams.ending import Ending
from sayso.turns.calls.dangling import close_dangling
from sayso.turns.denials import Denials
from sayso.turns.journal.journal import Journal, stopped_mark
from sayso.turns.replay.replay_order import ReplayOrder
from sayso.turns.services import Services, fresh

_log = logging.getLogger("sayso.engine.stop")

STOPPED: Final = "stop"
"""The channel of what was cancelled because its turn was stopped."""


@dataclass(frozen=True, slots=True)
class StopRequest:
    """A stop: by whom, and by which channel; the store knows it when another process was told.

    `why`, when nobody did, is what clients are told.
    """

    by: str | None
    why: str | None = None
    channel: str = STOPPED

    @property
    def ending(self) -> Ending:
        """The ending of the run."""
        return Ending(type="cancelled", message=self.why or SAID)

    def known_to(self, thread: Thread) -> "StopRequest":
        """This one, or whom the thread's store knows when this process does not."""
        if self.by is not None or self.why is not None:
            return self
        return StopRequest(thread.stop_by, channel=thread.stop_channel or STOPPED)


class StopService:
    """Ends turns that no process runs."""

    def __init__(self, services: Services, claims: Claims, denials: Denials) -> None:
        self._store, self._clock = services.store, services.clock
        self._claims = claims
        self._denials = denials

    async def stop(
        self,
        principal: Principal,
        thread_id: str,
        run_id: str | None,
        *,
        waiting: bool,
        running_here: Callable[[StopRequest, int], bool],
        stopper: StopRequest | None = None,
    ) -> bool:
        """Stop a thread's run; True if something was stopped.

        Nothing is stopped if the thread does another run than `run_id`. `waiting`: a turn that
        waits is ended as well. `running_here` stops the run of this process that has the thread
        under a fence; True if there is one.

        Raises:
            Problem: `unknown_thread`, the thread is not the principal's.
        """
        stopper = stopper or StopRequest(principal.subject)

        async def act(view: ThreadView | None) -> bool:
            if view is None or view.thread.owner != principal.subject:
                raise Problem(Code.UNKNOWN_THREAD, "There is no such thread.")
            if run_id is not None and (view.run is None or view.run.run_id != run_id):
                return False
            if view.thread.holder is None:
                return waiting and await self._stop_waiting(view, stopper)
            if not running_here(stopper, view.thread.fence):
                await self._store.request_stop(
                    principal.scope,
                    thread_id,
                    view.thread.fence,
                    by=stopper.by,
                    channel=stopper.channel,
                )
            return True

        return await fresh(partial(self._store.load, principal.scope, thread_id), act)

    async def paused(
        self, scope: str, thread_id: str, stopper: StopRequest
    ) -> tuple[Any, ...] | None:
        """End a turn that began to wait when it was stopped; the events that tell of its calls.

        None when somebody else was faster: it no longer waits.
        """

        async def act(view: ThreadView | None) -> tuple[Any, ...] | None:
            if view is None or view.turn is None or view.thread.holder is not None:
                return None
            if view.turn.status != "suspended":
                return None
            return await self.end(view, view.turn, stopper.known_to(view.thread))

        async def exhausted(_: ThreadView | None) -> None:
            return None

        return await fresh(partial(self._store.load, scope, thread_id), act, exhausted=exhausted)

    async def _stop_waiting(self, view: ThreadView, stopper: StopRequest) -> bool:
        if view.turn is None or view.turn.status != "suspended":
            return False
        await self.end(view, view.turn, stopper)
        return True

    async def end(
        self,
        view: ThreadView,
        turn: TurnRecord,
        stopper: StopRequest,
        *,
        run: Run | None = None,
        expired: Sequence[Interrupt] = (),
    ) -> tuple[Any, ...]:
        """End a turn that nobody runs, without entering it; returns the events about its calls.

        `run` is the one that a dead server left unfinished; a turn that waited gets one of its own.
        `expired` are those of its interrupts that end as expired, settled.

        Raises:
            Conflict: the thread has changed.
        """
        # Whoever kept a no may have died before it told copies of it; nobody looks here later.
        await self._denials.tell(view.thread, filter(is_final, view.interrupts))
        over = {item.id: item for item in expired}
        now = self._clock.now()
        journal = Journal(await self._store.journal(view.thread.scope, turn.key))
        left = close_dangling(
            turn,
            journal.entries(),
            [message for message in view.messages if message.visibility != "waiting"],
            ReplayOrder(turn.key, journal.ends()).end,
            stopped=True,
            interrupts={item.id: over.get(item.id, _as_said(item)) for item in view.interrupts},
            now=now,
        )
        # Who stopped the thread knows how it ended; of an expiry nobody has heard yet.
        last = run or Run(
            key=ids.new("run"),
            run_id=ids.new("run"),
            turn_key=turn.key,
            started_at=now,
            delivered=not expired,
        )
        last = replace(last, ended_at=now, outcome=stopper.ending.to_json())
        ended = tuple(
            interrupts.taken_by(over[item.id], last.key)
            if item.id in over
            else interrupts.cancel(
                item, by=stopper.by, channel=stopper.channel, now=now, run_key=last.key
            )
            for item in view.interrupts
            if item.status == "open" and item.turn_key == turn.key
        )
        settled = [i for i in left.interrupts if all(i.id != item.id for item in ended)]
        messages = tuple(m for item in ended if (m := settled_message(item)) is not None)
        await self._claims.close(
            view,
            replace(turn, status="cancelled", ended_at=now),
            last,
            interrupts=(*settled, *ended),
            entries=(*left.entries, _mark(last, stopper)),
            messages=(*left.messages, *messages),
        )
        _log.info("thread %r was stopped", view.thread.id)
        return (*left.events, *(e for item in ended if (e := settled_event(item)) is not None))


def _mark(run: Run, stopper: StopRequest) -> Entry:
    return stopped_mark(run.key, why=stopper.why or SAID, by=stopper.by, channel=stopper.channel)


def _as_said(item: Interrupt) -> Interrupt:
    """A question as a no that was given leaves it: a stop does not take that back either."""
    return interrupts.settle_held(item) if is_final(item) else item
