"""Sessions of one caller: threads by another name, of which one question is asked at a time."""

from dataclasses import dataclass
from functools import partial

from sayso.base.records import Interrupt, Principal, ThreadView
from sayso.engine.answers import problem_of
from sayso.gate import sessions as gate
from sayso.gate.interrupts import mark_seen
from sayso.gate.refusals import Refuse
from sayso.stores.base import update_of
from sayso.turns.services import Services, fresh


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that waits for an answer; `seen`: its frame went out before the answer came."""

    agent: str
    item: Interrupt
    seen: bool


class SessionService:
    """Reads threads as sessions; other owners' threads are invisible."""

    def __init__(self, services: Services) -> None:
        self._store, self._clock = services.store, services.clock

    async def agent(self, principal: Principal, session_id: str) -> str | None:
        """The agent that the session talked to last; None for an unknown session."""
        view = await self._load(principal, session_id, None)
        return None if view is None else view.thread.agent

    async def asked(
        self, principal: Principal, session_id: str, interrupt_id: str | None, came: int
    ) -> AskedQuestion:
        """The question that a resume is about; it came at `came`, in nanoseconds since the epoch.

        Raises:
            Problem: `unknown_interrupt`, `already_resolved`, `interrupt_expired` or `thread_busy`.
        """
        view = await self._load(principal, session_id, interrupt_id)
        question = gate.find_question(view, interrupt_id)
        if isinstance(question, Refuse):
            raise problem_of(question, {})
        return AskedQuestion(
            question.agent, question.item, gate.was_seen(question.item, session_id, came)
        )

    async def note_seen(
        self, principal: Principal, session_id: str, interrupt_id: str, seen_ns: int
    ) -> None:
        """Note when the question's frame went out whole; nothing if it is settled by now.

        Without the note the frame is sent again, which is safe.

        Raises:
            StoreError: it could not be written.
        """

        async def act(view: ThreadView | None) -> None:
            question = gate.find_question(view, interrupt_id)
            if (
                view is None
                or isinstance(question, Refuse)
                or gate.was_seen(question.item, session_id)
            ):
                return
            item, thread = mark_seen(question.item, session_id, seen_ns), view.thread
            await self._store.update_idle(update_of(thread, self._clock.now(), interrupts=(item,)))

        async def exhausted(_: ThreadView | None) -> None:
            pass

        read = partial(self._load, principal, session_id, interrupt_id)
        await fresh(read, act, exhausted=exhausted)

    async def _load(
        self, principal: Principal, session_id: str, interrupt_id: str | None
    ) -> ThreadView | None:
        ids = [] if interrupt_id is None else [interrupt_id]
        view = await self._store.load(principal.scope, session_id, interrupt_ids=ids)
        return None if view is None or view.thread.owner != principal.subject else view
