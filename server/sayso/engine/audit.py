"""Who asked, decided and did what: read by owners, and by auditors for a whole scope."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass

from sayso.audit import FIRST, AuditRow, broken
from sayso.records import Page, Principal
from sayso.seals import Head
from sayso.stores.base import Store

__all__ = ["AUDITOR", "Audit", "Chain"]

AUDITOR = "auditor"
"""The role of callers who read the rows of other owners' threads."""
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Chain:
    """What became of a thread's rows: how many there are, the last digest, where they break."""

    rows: int
    head: str
    broken_at: int | None


class Audit:
    """The audit trail of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def page(
        self,
        principal: Principal,
        *,
        thread_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[AuditRow]:
        """Rows in the order of writing; ValueError for a cursor of no list."""
        return await self._store.audit(
            principal.scope,
            thread_id=thread_id,
            owner=None if AUDITOR in principal.roles else principal.subject,
            after=after,
            limit=limit,
        )

    async def verify(self, principal: Principal, thread_id: str) -> Chain:
        """Recompute the seals of a thread's rows, from the first to the last.

        Those of whoever had the thread's id before belong to the chain. To a caller who has no row
        in it there is none.
        """
        own = AUDITOR in principal.roles
        count, head = 0, FIRST
        wrong: int | None = None
        async for rows in self._rows(principal.scope, thread_id):
            own = own or any(row.owner == principal.subject for row in rows)
            if wrong is None:
                wrong = _broken_behind(count, head, rows)
            if wrong is None:
                count, head = rows[-1].number, rows[-1].digest
            elif own:
                break
        return Chain(count, head, wrong) if own else Chain(0, FIRST, None)

    async def heads(self, scope: str, after: str | None) -> tuple[list[Head], str | None]:
        """How far each thread has come that has rows behind a place, and where the last page began.

        Both places are cursors of the scope's list, None is its beginning.
        """
        found: dict[str, Head] = {}
        while True:
            page = await self._store.audit(scope, after=after, limit=_AT_ONCE)
            for row in page.items:
                head = found.get(row.thread_id)
                if head is None or head.number < row.number:
                    found[row.thread_id] = Head(row.thread_id, row.number, row.digest)
            if page.next is None:
                return list(found.values()), after
            after = page.next

    async def lost(self, scope: str, heads: Iterable[Head]) -> list[Head]:
        """Those heads that the trail has no more as they were, or on a broken chain."""
        told: dict[str, list[Head]] = {}
        for head in heads:
            told.setdefault(head.thread_id, []).append(head)
        lost: list[Head] = []
        for thread_id, wanted in told.items():
            digests: dict[int, str] = {}
            count, last = 0, FIRST
            async for rows in self._rows(scope, thread_id):
                wrong = _broken_behind(count, last, rows)
                digests |= {row.number: row.digest for row in rows}
                if wrong is not None:
                    digests = {number: one for number, one in digests.items() if number < wrong}
                    break
                count, last = rows[-1].number, rows[-1].digest
            lost += (head for head in wanted if digests.get(head.number) != head.digest)
        return lost

    async def _rows(self, scope: str, thread_id: str) -> AsyncIterator[Sequence[AuditRow]]:
        """The rows of a thread, in pieces that have some."""
        after = None
        while True:
            page = await self._store.audit(scope, thread_id=thread_id, after=after, limit=_AT_ONCE)
            if page.items:
                yield page.items
            after = page.next
            if after is None:
                return


def _broken_behind(count: int, head: str, rows: Sequence[AuditRow]) -> int | None:
    """Where rows break that shall follow so many, the last of them with this digest."""
    return broken(rows, head) if rows[0].number == count + 1 else count + 1
