"""Threads as they stand: listed, shown, inspected, deleted. Of others' threads nothing is told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sayso.clock import Clock
from sayso.errors import Code, Conflict, Problem
from sayso.records import (
    Entry,
    Interrupt,
    Page,
    Principal,
    Run,
    ThreadSummary,
    ThreadView,
    TurnStatus,
)
from sayso.stores.base import Store

__all__ = ["Past", "Standing", "Threads"]

ATTEMPTS = 8
"""Times that a deletion is tried anew because the thread changed under it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A thread with the journal of its newest turn, which is empty once that has finished."""

    view: ThreadView
    journal: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Past:
    """What happened in a thread: a page of its runs, and all that was asked, oldest first."""

    view: ThreadView
    runs: Page[Run]
    interrupts: tuple[Interrupt, ...]


class Threads:
    """The threads of one caller at a time. Every method but `page` raises `unknown_thread`."""

    def __init__(self, store: Store, clock: Clock, changed: Callable[[str], None]) -> None:
        self._store = store
        self._clock = clock
        self.changed = changed
        """Told of each scope in which something has changed."""

    async def page(
        self,
        principal: Principal,
        *,
        status: TurnStatus | None = None,
        agent: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[ThreadSummary]:
        """A page of threads, the last active first; ValueError for a cursor of no list."""
        return await self._store.threads(
            principal.scope,
            owner=principal.subject,
            status=status,
            agent=agent,
            after=after,
            limit=limit,
        )

    async def view(
        self, principal: Principal, thread_id: str, *, interrupt_ids: Sequence[str] = ()
    ) -> ThreadView:
        """One thread at one instant; with those interrupts of earlier turns, if it has them."""
        view = await self._store.load(principal.scope, thread_id, interrupt_ids=interrupt_ids)
        if view is None or view.thread.owner != principal.subject:
            raise Problem(Code.UNKNOWN_THREAD, "There is no such thread: GET /threads lists yours.")
        return view

    async def standing(self, principal: Principal, thread_id: str) -> Standing:
        """One thread with what its newest turn has recorded."""
        view = await self.view(principal, thread_id)
        journal: tuple[Entry, ...] = ()
        if view.turn is not None:
            journal = await self._store.journal(principal.scope, view.turn.key)
        return Standing(view, journal)

    async def past(
        self, principal: Principal, thread_id: str, *, after: str | None = None, limit: int = 100
    ) -> Past:
        """What happened in a thread; ValueError for a cursor of no list."""
        view = await self.view(principal, thread_id)
        runs = await self._store.runs(principal.scope, thread_id, after=after, limit=limit)
        asked: list[Interrupt] = []
        following: str | None = None
        while True:
            page = await self._store.interrupts(
                principal.scope, thread_id=thread_id, after=following, limit=1_000
            )
            asked += [listed.interrupt for listed in page.items]
            following = page.next
            if following is None:
                return Past(view, runs, tuple(asked))

    async def delete(self, principal: Principal, thread_id: str) -> None:
        """Remove a thread with everything; `thread_busy` while it runs."""
        for _ in range(ATTEMPTS):
            view = await self.view(principal, thread_id)
            try:
                # The holder of a lease that ran out is dead, which only the store's clock can say.
                await self._store.delete(
                    principal.scope, thread_id, view.thread.revision, self._clock.now()
                )
            except Conflict:
                if view.thread.holder is not None:
                    break
                continue
            self.changed(principal.scope)
            return
        raise Problem(
            Code.THREAD_BUSY,
            "This thread is running: stop it, or wait for its end, then delete it.",
        )
