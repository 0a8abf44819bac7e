"""A store over SQL: every call is one of the operations, run in a thread of the backend's own."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

from sayso.base.audit import AuditRow
from sayso.base.records import (
    Approval,
    ApprovalUse,
    Changes,
    Claim,
    Commit,
    Due,
    Entry,
    InterruptFilter,
    Lease,
    ListedInterrupt,
    OpenCount,
    Page,
    PageRequest,
    Renewed,
    Run,
    ThreadFilter,
    ThreadSummary,
    ThreadView,
    Update,
)
from sayso.stores.base import ALL_INTERRUPTS, ALL_THREADS, FIRST_PAGE, Store
from sayso.stores.pagination import checked_limit
from sayso.stores.sql import approvals, audit, changes, lists, ops
from sayso.stores.sql.session import Transaction
from sayso.stores.sql.worker import StoreRunner

T = TypeVar("T")

_RENEW_TIMEOUT_S = 5.0
"""Seconds that `renew` waits for the database: half a lease."""


class SqlStore(Store):
    """All of `Store` but opening and closing; see there for what each call promises."""

    @abstractmethod
    def _opened(self) -> StoreRunner:
        """The runner; raises `StoreUnavailable` when the store is not open."""

    async def _read(self, work: Callable[[Transaction], T], thread_id: str = "") -> T:
        return await self._opened().run(work, writes=False, key=thread_id)

    async def _write(self, thread_id: str, work: Callable[[Transaction], T]) -> T:
        return await self._opened().run(work, writes=True, key=thread_id)

    async def load(
        self,
        scope: str,
        thread_id: str,
        *,
        run_id: str | None = None,
        interrupt_ids: Sequence[str] = (),
    ) -> ThreadView | None:
        ids = tuple(interrupt_ids)
        return await self._read(lambda db: ops.load(db, scope, thread_id, run_id, ids), thread_id)

    async def journal(self, scope: str, turn_key: str) -> tuple[Entry, ...]:
        return await self._read(lambda db: ops.journal(db, scope, turn_key))

    async def threads(
        self, scope: str, wanted: ThreadFilter = ALL_THREADS, page: PageRequest = FIRST_PAGE
    ) -> Page[ThreadSummary]:
        return await self._read(lambda db: lists.threads(db, scope, wanted, page))

    async def interrupts(
        self, scope: str, wanted: InterruptFilter = ALL_INTERRUPTS, page: PageRequest = FIRST_PAGE
    ) -> Page[ListedInterrupt]:
        return await self._read(lambda db: lists.interrupts(db, scope, wanted, page))

    async def interrupt(self, scope: str, interrupt_id: str) -> ListedInterrupt | None:
        return await self._read(lambda db: lists.interrupt(db, scope, interrupt_id))

    async def runs(self, scope: str, thread_id: str, page: PageRequest = FIRST_PAGE) -> Page[Run]:
        return await self._read(lambda db: lists.runs(db, scope, thread_id, page))

    async def changes(self, scope: str, since: int | None, limit: int = 1_000) -> Changes:
        most = checked_limit(limit)
        return await self._read(lambda db: changes.changes(db, scope, since, most))

    async def approvals(
        self, scope: str, at: int, page: PageRequest = FIRST_PAGE, *, party: str | None = None
    ) -> Page[Approval]:
        return await self._read(lambda db: approvals.page(db, scope, at, party, page))

    async def approval(self, scope: str, approval_id: str) -> Approval | None:
        return await self._read(lambda db: approvals.one(db, scope, approval_id))

    async def approval_uses(
        self, scope: str, approval_id: str, limit: int = 100
    ) -> tuple[ApprovalUse, ...]:
        return await self._read(lambda db: approvals.uses(db, scope, approval_id, limit))

    async def valid_approvals(
        self, scope: str, owner: str, tool: str, at: int
    ) -> tuple[Approval, ...]:
        return await self._read(lambda db: approvals.valid(db, scope, owner, tool, at))

    async def revoke(self, scope: str, approval_id: str, by: str, now: int) -> None:
        await self._write(approval_id, lambda db: approvals.revoke(db, scope, approval_id, by, now))

    async def audit(
        self,
        scope: str,
        page: PageRequest = FIRST_PAGE,
        *,
        thread_id: str | None = None,
        owner: str | None = None,
    ) -> Page[AuditRow]:
        return await self._read(lambda db: audit.page(db, scope, thread_id, owner, page))

    async def claim(self, claim: Claim) -> Lease:
        return await self._write(claim.thread_id, lambda db: ops.claim(db, claim))

    async def commit(self, lease: Lease, commit: Commit) -> bool:
        return await self._write(lease.thread_id, lambda db: ops.commit(db, lease, commit))

    async def update_idle(self, update: Update) -> None:
        await self._write(update.thread_id, lambda db: ops.update_idle(db, update))

    async def delete(
        self, scope: str, thread_id: str, revision: int, now: int, *, by: str | None = None
    ) -> None:
        await self._write(thread_id, lambda db: ops.delete(db, scope, thread_id, revision, now, by))

    async def request_stop(
        self,
        scope: str,
        thread_id: str,
        fence: int,
        *,
        by: str | None = None,
        channel: str | None = None,
    ) -> None:
        await self._write(
            thread_id, lambda db: ops.request_stop(db, scope, thread_id, fence, by, channel)
        )

    async def mark_delivered(self, scope: str, run_key: str) -> None:
        await self._write(run_key, lambda db: ops.mark_delivered(db, scope, run_key))

    async def due_threads(self, now: int, page: PageRequest = FIRST_PAGE) -> Page[Due]:
        return await self._read(lambda db: ops.due_threads(db, now, page))

    async def count_open(self, limit: int) -> OpenCount:
        most = checked_limit(limit)
        return await self._read(lambda db: lists.count_open(db, most))

    def renew(self, leases: Sequence[Lease], lease_ms: int) -> Renewed:
        given = tuple(leases)
        return self._opened().run_blocking(
            lambda db: ops.renew(db, given, lease_ms), _RENEW_TIMEOUT_S
        )
