"""Stop: the explicit end of a turn, whatever it is doing (design 4; OU-07, E8, I3, I6).

A turn that waits ends here and now, in one claim, and its code is not entered again. A running one
is asked to end at its next record, wherever it runs.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from sayso.clock import Clock
from sayso.engine.claims import Claims
from sayso.errors import Code, Conflict, Problem
from sayso.gate.settled import settled_event, settled_message
from sayso.protocol.ending import STOPPED as SAID
from sayso.protocol.ending import Ending
from sayso.records import Interrupt, Principal, Run, Thread, ThreadView, Turn
from sayso.stores.base import Store
from sayso.turns.journal import Journal
from sayso.turns.leftovers import leftovers
from sayso.turns.timeline import Timeline

__all__ = ["STOPPED", "Stopper", "Stopping"]

_log = logging.getLogger("sayso.engine.stopping")

STOPPED: Final = "stop"
"""The channel of what was cancelled because its turn was stopped."""
ATTEMPTS = 8
"""Times that a stop is tried anew because the thread changed under it."""


@dataclass(frozen=True, slots=True)
class Stopper:
    """Who stopped a turn, and by which channel; the store knows it when another process was told.

    `why`, when nobody did, is what clients are told.
    """

    by: str | None
    why: str | None = None
    channel: str = STOPPED

    @property
    def ending(self) -> Ending:
        """How the run ends."""
        return Ending(type="cancelled", message=self.why or SAID)

    def known_to(self, thread: Thread) -> "Stopper":
        """This one, or whom the thread's store knows when this process does not."""
        if self.by is not None or self.why is not None:
            return self
        return Stopper(thread.stop_by, channel=thread.stop_channel or STOPPED)


class Stopping:
    """Ends turns that no process runs."""

    def __init__(self, store: Store, clock: Clock, claims: Claims) -> None:
        self._store = store
        self._clock = clock
        self._claims = claims

    async def stop(
        self,
        principal: Principal,
        thread_id: str,
        run_id: str | None,
        *,
        waiting: bool,
        running_here: Callable[[Stopper], bool],
        stopper: Stopper | None = None,
    ) -> bool:
        """Stop what a thread is doing; False if that is nothing, or another run than `run_id`.

        `waiting`: a turn that waits is ended as well. `running_here` stops a run of this process,
        and says whether there is one. Raises `Problem`.
        """
        stopper = stopper or Stopper(principal.subject)
        for _ in range(ATTEMPTS):
            view = await self._store.load(principal.scope, thread_id)
            if view is None or view.thread.owner != principal.subject:
                raise Problem(Code.UNKNOWN_THREAD, "There is no such thread.")
            if run_id is not None and (view.run is None or view.run.run_id != run_id):
                return False
            try:
                if view.thread.holder is None:
                    return waiting and await self._stop_waiting(view, stopper)
                if not running_here(stopper):
                    await self._store.request_stop(
                        principal.scope,
                        thread_id,
                        view.thread.fence,
                        by=stopper.by,
                        channel=stopper.channel,
                    )
                return True
            except Conflict:
                continue
        raise Problem(Code.THREAD_BUSY, "This thread changes too fast: send this again.")

    async def paused(self, scope: str, thread_id: str, stopper: Stopper) -> tuple[Any, ...] | None:
        """End a turn that began to wait when it was stopped; the events that tell of its calls.

        None when somebody else was faster: it waits no more.
        """
        for _ in range(ATTEMPTS):
            view = await self._store.load(scope, thread_id)
            if view is None or view.turn is None or view.thread.holder is not None:
                return None
            if view.turn.status != "suspended":
                return None
            try:
                return await self.end(view, view.turn, stopper.known_to(view.thread))
            except Conflict:
                continue
        return None

    async def _stop_waiting(self, view: ThreadView, stopper: Stopper) -> bool:
        if view.turn is None or view.turn.status != "suspended":
            return False
        await self.end(view, view.turn, stopper)
        return True

    async def end(
        self,
        view: ThreadView,
        turn: Turn,
        stopper: Stopper,
        *,
        run: Run | None = None,
        expired: Sequence[Interrupt] = (),
    ) -> tuple[Any, ...]:
        """End a turn that nobody runs, without entering it; the events that tell of its calls.

        `run` is the one that a dead server left unfinished; a turn that waited gets one of its own.
        `expired` are those of its interrupts that end as such, settled. Raises `Conflict` when the
        thread has changed.
        """
        over = {item.id: item for item in expired}
        now = self._clock.now()
        journal = Journal(await self._store.journal(view.thread.scope, turn.key))
        left = leftovers(
            turn,
            journal.entries(),
            [message for message in view.messages if message.visibility != "waiting"],
            Timeline(turn.key, journal.ends()).end,
            stopped=True,
            expired=over.keys(),
        )
        # Who stopped the thread knows how it ended; of an expiry nobody has heard yet.
        last = run or Run(
            key=f"run_{uuid4().hex}",
            run_id=f"run_{uuid4().hex}",
            turn_key=turn.key,
            started_at=now,
            delivered=not expired,
        )
        last = replace(last, ended_at=now, outcome=stopper.ending.to_json())
        ended = tuple(
            replace(over[item.id], run_key=last.key)
            if item.id in over
            else _cancelled(item, stopper, now, last)
            for item in view.interrupts
            if item.status == "open" and item.turn_key == turn.key
        )
        told = tuple(m for item in ended if (m := settled_message(item)) is not None)
        await self._claims.close(
            view,
            replace(turn, status="cancelled", ended_at=now),
            last,
            interrupts=ended,
            entries=left.entries,
            messages=(*left.messages, *told),
        )
        _log.info("thread %r was stopped", view.thread.id)
        return (*left.events, *(e for item in ended if (e := settled_event(item)) is not None))


def _cancelled(item: Interrupt, stopper: Stopper, now: int, run: Run) -> Interrupt:
    return replace(
        item,
        status="cancelled",
        held=None,
        decided_by=stopper.by,
        decided_at=now,
        channel=stopper.channel,
        run_key=run.key,
    )
