"""Threads of one caller: listed, shown, inspected, deleted. Other owners' threads are invisible.

But to keepers, who put them on hold: then nothing of one is deleted, whoever asks for that. Neither
is it lifted by whom the thread is about: a keeper who owns it needs another one.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from sayso.base.codes import Code
from sayso.base.errors import Conflict, Problem
from sayso.base.records import (
    Entry,
    Hold,
    Interrupt,
    InterruptFilter,
    ListedThread,
    Page,
    PageRequest,
    Principal,
    Run,
    ThreadFilter,
    ThreadView,
    TurnStatus,
)
from sayso.base.retention import Retention
from sayso.gate.history import visible
from sayso.stores.base import every
from sayso.turns.services import Services, fresh

_log = logging.getLogger("sayso.engine.threads")


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

    @property
    def messages(self) -> list[bytes]:
        """The JSON of the messages that are to be seen."""
        return visible(self.view.messages)


class Threads:
    """The threads of one caller at a time. Every method but `page` raises `unknown_thread`."""

    def __init__(self, services: Services, retention: Retention) -> None:
        self._store, self._clock = services.store, services.clock
        self._changed = services.changed
        self._retention = retention

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
    ) -> Page[ListedThread]:
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
            Problem: `thread_busy`, it runs; `on_hold`, a keeper keeps it.
        """

        async def busy(_: ThreadView) -> NoReturn:
            raise Problem(
                Code.THREAD_BUSY,
                "This thread is running: stop it, or wait for its end, then delete it.",
            )

        async def act(view: ThreadView) -> None:
            if view.thread.hold is not None:
                raise Problem(
                    Code.ON_HOLD,
                    "This thread is on hold: a keeper has to lift that before it can be deleted.",
                )
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

    async def hold(self, principal: Principal, thread_id: str, reason: str) -> Hold:
        """Put a thread on hold; one that is on hold already stays so, as it is.

        Raises:
            Problem: `not_allowed`, for an owner who is no keeper; `unknown_thread`.
        """

        async def act(view: ThreadView | None) -> Hold:
            thread = self._kept(view, principal).thread
            if thread.hold is not None:
                return thread.hold
            hold = Hold(by=principal.subject, reason=reason, said_at=self._clock.now())
            await self._store.set_hold(principal.scope, thread_id, thread.revision, hold)
            _log.info("thread %r was put on hold by %r", thread_id, principal.subject)
            return hold

        hold = await fresh(partial(self._store.load, principal.scope, thread_id), act)
        self._changed(principal.scope)
        return hold

    async def unhold(self, principal: Principal, thread_id: str, reason: str) -> None:
        """Lift a hold; nothing happens if there is none.

        Raises:
            Problem: `not_allowed`, for the owner of the thread; `unknown_thread`.
        """

        async def act(view: ThreadView | None) -> None:
            thread = self._kept(view, principal).thread
            if thread.owner == principal.subject:
                raise Problem(
                    Code.NOT_ALLOWED,
                    "This thread is your own: another keeper has to lift its hold.",
                )
            if thread.hold is None:
                return
            lifted = Hold(by=principal.subject, reason=reason, said_at=self._clock.now())
            await self._store.set_hold(
                principal.scope, thread_id, thread.revision, lifted, lifted=True
            )
            _log.info("the hold of thread %r was lifted by %r", thread_id, principal.subject)

        await fresh(partial(self._store.load, principal.scope, thread_id), act)
        self._changed(principal.scope)

    def _kept(self, view: ThreadView | None, principal: Principal) -> ThreadView:
        """A thread that a keeper asks for; to whoever is none, only an own one is there."""
        is_keeper = self._retention.is_keeper(principal)
        if view is None or not (is_keeper or view.thread.owner == principal.subject):
            raise Problem(Code.UNKNOWN_THREAD, "There is no such thread.")
        if not is_keeper:
            raise Problem(
                Code.NOT_ALLOWED,
                "Only a keeper puts threads on hold, or lifts that: ask whoever runs this server.",
            )
        return view
