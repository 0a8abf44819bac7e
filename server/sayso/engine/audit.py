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
        """Recompute the seals of a thread's rows, from the first to the last."""
        count, head, after = 0, FIRST, None
        while True:
            page = await self.page(principal, thread_id=thread_id, after=after, limit=_AT_ONCE)
            if page.items and page.items[0].number != count + 1:
                return Chain(count, head, count + 1)
            wrong = broken(page.items, head)
            if wrong is not None:
                return Chain(count, head, wrong)
            if page.items:
                count, head = page.items[-1].number, page.items[-1].digest
            after = page.next
            if after is None:
                return Chain(count, head, None)
