"""Threads of one caller: listed, shown, inspected, deleted, and read as sessions.

Other owners' threads are invisible. A session is a thread, by another name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from sayso.base.codes import Code
from sayso.base.errors import Conflict, Problem
from sayso.base.records import (
    Entry,
    Interrupt,
    InterruptFilter,
    Page,
    PageRequest,
    Principal,
    Run,
    ThreadFilter,
    ThreadSummary,
    ThreadView,
    TurnStatus,
)
from sayso.engine.answers import problem_of
from sayso.gate import sessions as gate
from sayso.gate.interrupts import mark_seen
from sayso.gate.refusals import Refuse
from sayso.stores.base import every, update_of
from sayso.turns.services import Services, fresh


@dataclass(frozen=True, slots=True)
class ThreadWithJournal:
    """A thread with the journal of its newest turn, which is empty once that has finished."""

    view: ThreadView
    journal: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class ThreadHistory:
    """A page of a thread's runs, and all that was asked in it, oldest first."""

    view: ThreadView
    runs: Page[Run]
    interrupts: tuple[Interrupt, ...]


class Threads:
    """The threads of one caller at a time. Every method but `page` raises `unknown_thread`."""

    def __init__(self, services: Services) -> None:
        self._store, self._clock = services.store, services.clock
        self._changed = services.changed

    def now(self) -> int:
        """The server's time, in milliseconds since the epoch."""
        return self._clock.now()

    async def page(
        self,
        principal: Principal,
        *,
        status: TurnStatus | None = None,
        agent: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[ThreadSummary]:
        """A page of threads, the last active first.

        Raises:
            ValueError: an invalid cursor.
        """
        return await self._store.threads(
            principal.scope,
            ThreadFilter(owner=principal.subject, status=status, agent=agent),
            PageRequest(after, limit),
        )

    async def view(
        self, principal: Principal, thread_id: str, *, interrupt_ids: Sequence[str] = ()
    ) -> ThreadView:
        """One thread at one instant, with these interrupts of earlier turns, if it has them."""
        view = await self._store.load(principal.scope, thread_id, interrupt_ids=interrupt_ids)
        if view is None or view.thread.owner != principal.subject:
            raise Problem(Code.UNKNOWN_THREAD, "There is no such thread: GET /threads lists yours.")
        return view

    async def with_journal(self, principal: Principal, thread_id: str) -> ThreadWithJournal:
        """One thread with what its newest turn has recorded."""
        view = await self.view(principal, thread_id)
        journal: tuple[Entry, ...] = ()
        if view.turn is not None:
            journal = await self._store.journal(principal.scope, view.turn.key)
        return ThreadWithJournal(view, journal)

    async def history(
        self, principal: Principal, thread_id: str, *, after: str | None = None, limit: int = 100
    ) -> ThreadHistory:
        """The runs and interrupts of a thread.

        Raises:
            ValueError: an invalid cursor.
        """
        view = await self.view(principal, thread_id)
        runs = await self._store.runs(principal.scope, thread_id, PageRequest(after, limit))
        listed = every(
            lambda cursor: self._store.interrupts(
                principal.scope, InterruptFilter(thread_id=thread_id), PageRequest(cursor, 1_000)
            )
        )
        interrupts = tuple([listing.interrupt async for listing in listed])
        return ThreadHistory(view, runs, interrupts)

    async def delete(self, principal: Principal, thread_id: str) -> None:
        """Delete a thread; its audit trail stays and says who did.

        Raises:
            Problem: `thread_busy`, it runs.
        """

        async def busy(_: ThreadView) -> NoReturn:
            raise Problem(
                Code.THREAD_BUSY,
                "This thread is running: stop it, or wait for its end, then delete it.",
            )

        async def act(view: ThreadView) -> None:
            try:
                # The holder of a lease that ran out is dead, which only the store's clock can say.
                await self._store.delete(
                    principal.scope,
                    thread_id,
                    view.thread.revision,
                    self._clock.now(),
                    by=principal.subject,
                )
            except Conflict:
                if view.thread.holder is not None:
                    await busy(view)
                raise

        await fresh(partial(self.view, principal, thread_id), act, exhausted=busy)
        self._changed(principal.scope)


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
