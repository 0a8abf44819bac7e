"""A store over SQL: every call is one of the operations, run in a thread of the backend's own."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

from sayso.approvals import Approval, ApprovalUse
from sayso.audit import AuditRow
from sayso.records import (
    Changes,
    Claim,
    Commit,
    Due,
    Entry,
    Interrupt,
    InterruptStatus,
    Lease,
    ListedInterrupt,
    Page,
    Renewed,
    Run,
    ThreadSummary,
    ThreadView,
    TurnStatus,
    Waiting,
)
from sayso.stores.base import Store
from sayso.stores.pages import InterruptFilter, ThreadFilter, limited
from sayso.stores.sql import approvals, audit, changes, lists, ops
from sayso.stores.sql.jobs import Runner
from sayso.stores.sql.session import Session

__all__ = ["SqlStore"]

T = TypeVar("T")

_RENEW_PATIENCE = 5.0
"""Seconds that `renew` waits for the database: half a lease."""


class SqlStore(Store):
    """All of `Store` but opening and closing; see there for what each call promises."""

    @abstractmethod
    def _opened(self) -> Runner:
        """What does the work; raises `StoreUnavailable` when the store is not open."""

    async def _read(self, work: Callable[[Session], T], thread_id: str = "") -> T:
        return await self._opened().run(work, writes=False, key=thread_id)

    async def _write(self, thread_id: str, work: Callable[[Session], T]) -> T:
        return await self._opened().run(work, writes=True, key=thread_id)

    async def load(
        self,
        scope: str,
        thread_id: str,
        *,
        run_id: str | None = None,
        interrupt_ids: Sequence[str] = (),
    ) -> ThreadView | None:
        """Read a thread at one instant; see `Store.load`."""
        ids = tuple(interrupt_ids)
        return await self._read(lambda db: ops.load(db, scope, thread_id, run_id, ids), thread_id)

    async def journal(self, scope: str, turn_key: str) -> tuple[Entry, ...]:
        """The entries of a turn; see `Store.journal`."""
        return await self._read(lambda db: ops.journal(db, scope, turn_key))

    async def threads(
        self,
        scope: str,
        *,
        owner: str | None = None,
        status: TurnStatus | None = None,
        agent: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[ThreadSummary]:
        """A page of threads; see `Store.threads`."""
        wanted = ThreadFilter(owner=owner, agent=agent, status=status)
        return await self._read(lambda db: lists.threads(db, scope, wanted, after, limit))

    async def interrupts(
        self,
        scope: str,
        *,
        owner: str | None = None,
        status: InterruptStatus | None = None,
        agent: str | None = None,
        reason: str | None = None,
        thread_id: str | None = None,
        assigned_to: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[ListedInterrupt]:
        """A page of interrupts; see `Store.interrupts`."""
        wanted = InterruptFilter(
            owner=owner,
            status=status,
            agent=agent,
            reason=reason,
            assigned_to=assigned_to,
            thread_id=thread_id,
        )
        return await self._read(lambda db: lists.interrupts(db, scope, wanted, after, limit))

    async def interrupt(self, scope: str, interrupt_id: str) -> ListedInterrupt | None:
        """One interrupt; see `Store.interrupt`."""
        return await self._read(lambda db: lists.interrupt(db, scope, interrupt_id))

    async def runs(
        self, scope: str, thread_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[Run]:
        """A page of the runs of a thread; see `Store.runs`."""
        return await self._read(lambda db: lists.runs(db, scope, thread_id, after, limit))

    async def changes(self, scope: str, since: int | None, limit: int = 1_000) -> Changes:
        """What happened since a mark; see `Store.changes`."""
        most = limited(limit)
        return await self._read(lambda db: changes.changes(db, scope, since, most))

    async def approvals(
        self,
        scope: str,
        at: int,
        *,
        party: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[Approval]:
        """A page of approvals; see `Store.approvals`."""
        return await self._read(lambda db: approvals.page(db, scope, at, party, after, limit))

    async def approval(self, scope: str, approval_id: str) -> Approval | None:
        """One approval; see `Store.approval`."""
        return await self._read(lambda db: approvals.one(db, scope, approval_id))

    async def approval_uses(
        self, scope: str, approval_id: str, limit: int = 100
    ) -> tuple[ApprovalUse, ...]:
        """What an approval was used for; see `Store.approval_uses`."""
        return await self._read(lambda db: approvals.uses(db, scope, approval_id, limit))

    async def standing_approvals(
        self, scope: str, owner: str, tool: str, at: int
    ) -> tuple[Approval, ...]:
        """Approvals for a tool; see `Store.standing_approvals`."""
        return await self._read(lambda db: approvals.standing(db, scope, owner, tool, at))

    async def revoke(self, scope: str, approval_id: str, by: str, now: int) -> None:
        """Let an approval stand no more; see `Store.revoke`."""
        await self._write(approval_id, lambda db: approvals.revoke(db, scope, approval_id, by, now))

    async def audit(
        self,
        scope: str,
        *,
        thread_id: str | None = None,
        owner: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[AuditRow]:
        """A page of what happened; see `Store.audit`."""
        return await self._read(lambda db: audit.page(db, scope, thread_id, owner, after, limit))

    async def claim(self, claim: Claim) -> Lease:
        """Take a thread and write; see `Store.claim`."""
        return await self._write(claim.thread_id, lambda db: ops.claim(db, claim))

    async def commit(self, lease: Lease, commit: Commit) -> bool:
        """Write one step under a lease; see `Store.commit`."""
        return await self._write(lease.thread_id, lambda db: ops.commit(db, lease, commit))

    async def settle(
        self,
        scope: str,
        thread_id: str,
        revision: int,
        interrupts: Sequence[Interrupt],
        now: int,
        *,
        state: bytes | None = None,
        entries: Sequence[Entry] = (),
        by: str | None = None,
    ) -> None:
        """Change an idle thread; see `Store.settle`."""
        given, recorded = tuple(interrupts), tuple(entries)
        await self._write(
            thread_id,
            lambda db: ops.settle(
                db, scope, thread_id, revision, given, now, state=state, entries=recorded, by=by
            ),
        )

    async def delete(self, scope: str, thread_id: str, revision: int, now: int) -> None:
        """Remove a thread; see `Store.delete`."""
        await self._write(thread_id, lambda db: ops.delete(db, scope, thread_id, revision, now))

    async def request_stop(
        self,
        scope: str,
        thread_id: str,
        fence: int,
        *,
        by: str | None = None,
        channel: str | None = None,
    ) -> None:
        """Ask a holder to stop; see `Store.request_stop`."""
        await self._write(
            thread_id, lambda db: ops.request_stop(db, scope, thread_id, fence, by, channel)
        )

    async def delivered(self, scope: str, run_key: str) -> None:
        """Note a run's delivery; see `Store.delivered`."""
        await self._write(run_key, lambda db: ops.delivered(db, scope, run_key))

    async def due(self, now: int, limit: int, after: str | None = None) -> Page[Due]:
        """Threads that need the server; see `Store.due`."""
        return await self._read(lambda db: ops.due(db, now, limit, after))

    async def waiting(self, limit: int) -> Waiting:
        """Count what is open; see `Store.waiting`."""
        most = limited(limit)
        return await self._read(lambda db: lists.waiting(db, most))

    def renew(self, leases: Sequence[Lease], lease_ms: int) -> Renewed:
        """Prolong leases; see `Store.renew`."""
        given = tuple(leases)
        return self._opened().run_blocking(
            lambda db: ops.renew(db, given, lease_ms), _RENEW_PATIENCE
        )
