"""Who asked, decided and did what: read by owners, and by auditors for a whole scope."""

from dataclasses import dataclass

from sayso.audit import FIRST, AuditRow, broken
from sayso.records import Page, Principal
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
        count, head, after = 0, FIRST, None
        wrong: int | None = None
        while True:
            page = await self._store.audit(
                principal.scope, thread_id=thread_id, after=after, limit=_AT_ONCE
            )
            rows = page.items
            own = own or any(row.owner == principal.subject for row in rows)
            if wrong is None and rows:
                gap = rows[0].number != count + 1
                wrong = count + 1 if gap else broken(rows, head)
            if wrong is None and rows:
                count, head = rows[-1].number, rows[-1].digest
            after = page.next
            if after is None or (own and wrong is not None):
                return Chain(count, head, wrong) if own else Chain(0, FIRST, None)
