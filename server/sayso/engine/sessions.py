"""What the session dialect needs to know of a thread: a session is a thread, by another name."""

from dataclasses import dataclass

from sayso.clock import Clock
from sayso.engine.desk import problem_of
from sayso.errors import Conflict
from sayso.gate import sessions as gate
from sayso.gate.refusals import Refuse
from sayso.records import Interrupt, Principal, ThreadView
from sayso.stores.base import Store

__all__ = ["Asked", "Sessions"]

ATTEMPTS = 4
"""Times that a delivery is noted anew because the thread changed under it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that waits for an answer; `seen`: its frame went out before the answer came."""

    agent: str
    item: Interrupt
    seen: bool


class Sessions:
    """Reads threads as sessions; what is another's does not exist."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def agent(self, principal: Principal, session_id: str) -> str | None:
        """The agent that the session talked to last; None for an unknown session."""
        view = await self._load(principal, session_id, None)
        return None if view is None else view.thread.agent

    async def asked(
        self, principal: Principal, session_id: str, interrupt_id: str | None, came: int
    ) -> Asked:
        """The question that a resume is about, which came at that nanosecond since the epoch.

        Raises Problem `unknown_interrupt`, `already_resolved`, `interrupt_expired`, `thread_busy`.
        """
        view = await self._load(principal, session_id, interrupt_id)
        found = gate.find(view, interrupt_id)
        if isinstance(found, Refuse):
            raise problem_of(found, {})
        return Asked(found.agent, found.item, gate.was_seen(found.item, session_id, came))

    async def note_seen(
        self, principal: Principal, session_id: str, interrupt_id: str, at: int
    ) -> None:
        """Keep that the question's frame went out whole, and when; nothing if it is settled by now.

        Raises `StoreError`. Without the note the frame is sent again, which is safe.
        """
        for _ in range(ATTEMPTS):
            view = await self._load(principal, session_id, interrupt_id)
            found = gate.find(view, interrupt_id)
            if view is None or isinstance(found, Refuse) or gate.was_seen(found.item, session_id):
                return
            item, thread = gate.seen(found.item, session_id, at), view.thread
            try:
                await self._store.settle(
                    thread.scope, thread.id, thread.revision, [item], self._clock.now()
                )
            except Conflict:
                continue
            return

    async def _load(
        self, principal: Principal, session_id: str, interrupt_id: str | None
    ) -> ThreadView | None:
        ids = [] if interrupt_id is None else [interrupt_id]
        view = await self._store.load(principal.scope, session_id, interrupt_ids=ids)
        return None if view is None or view.thread.owner != principal.subject else view
