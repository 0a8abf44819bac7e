"""The default backend: one SQLite file, any number of processes on one machine.

WAL with `synchronous=FULL`: what was acknowledged survives a power cut. One thread owns the
connection (`_sqlite_thread`), so no call blocks an event loop and concurrent writes share a commit.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from sayso.approvals import Approval, ApprovalUse
from sayso.clock import Clock, SystemClock
from sayso.errors import StoreUnavailable
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
)
from sayso.stores import _sql_approvals as approvals
from sayso.stores import _sql_changes, _sql_lists
from sayso.stores import _sql_ops as ops
from sayso.stores._pages import InterruptFilter, ThreadFilter, limited
from sayso.stores._session import Session
from sayso.stores._sqlite_thread import SqliteThread
from sayso.stores.base import Store

__all__ = ["SqliteStore"]

T = TypeVar("T")

_RENEW_PATIENCE = 5.0
"""Seconds that `renew` waits for the file: half a lease."""


class SqliteStore(Store):
    """Threads in a file; see `Store` for what it promises."""

    def __init__(self, path: str | Path, *, clock: Clock | None = None) -> None:
        """`path` is taken from the working directory of now; `clock` decides about leases."""
        self._path = Path(path).absolute()
        self._clock = clock or SystemClock()
        self._thread: SqliteThread | None = None

    async def open(self) -> None:
        """Connect and migrate; see `Store.open`."""
        thread = self._thread
        if thread is None:
            thread = self._thread = SqliteThread(self._path, self._clock)
        try:
            await thread.run(lambda db: None, writes=False)
        except StoreUnavailable:
            await self.close()
            raise

    async def close(self) -> None:
        """Finish what was accepted and close the file; see `Store.close`."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await thread.stop()

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
        return await self._read(lambda db: ops.load(db, scope, thread_id, run_id, ids))

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
        return await self._read(lambda db: _sql_lists.threads(db, scope, wanted, after, limit))

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
        return await self._read(lambda db: _sql_lists.interrupts(db, scope, wanted, after, limit))

    async def interrupt(self, scope: str, interrupt_id: str) -> ListedInterrupt | None:
        """One interrupt; see `Store.interrupt`."""
        return await self._read(lambda db: _sql_lists.interrupt(db, scope, interrupt_id))

    async def runs(
        self, scope: str, thread_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[Run]:
        """A page of the runs of a thread; see `Store.runs`."""
        return await self._read(lambda db: _sql_lists.runs(db, scope, thread_id, after, limit))

    async def changes(self, scope: str, since: int | None, limit: int = 1_000) -> Changes:
        """What happened since a mark; see `Store.changes`."""
        most = limited(limit)
        return await self._read(lambda db: _sql_changes.changes(db, scope, since, most))

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
        await self._write(lambda db: approvals.revoke(db, scope, approval_id, by, now))

    async def claim(self, claim: Claim) -> Lease:
        """Take a thread and write; see `Store.claim`."""
        return await self._write(lambda db: ops.claim(db, claim))

    async def commit(self, lease: Lease, commit: Commit) -> bool:
        """Write one step under a lease; see `Store.commit`."""
        return await self._write(lambda db: ops.commit(db, lease, commit))

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
    ) -> None:
        """Change an idle thread; see `Store.settle`."""
        given, recorded = tuple(interrupts), tuple(entries)
        await self._write(
            lambda db: ops.settle(
                db, scope, thread_id, revision, given, now, state=state, entries=recorded
            )
        )

    async def delete(self, scope: str, thread_id: str, revision: int, now: int) -> None:
        """Remove a thread; see `Store.delete`."""
        await self._write(lambda db: ops.delete(db, scope, thread_id, revision, now))

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
        await self._write(lambda db: ops.request_stop(db, scope, thread_id, fence, by, channel))

    async def delivered(self, scope: str, run_key: str) -> None:
        """Note a run's delivery; see `Store.delivered`."""
        await self._write(lambda db: ops.delivered(db, scope, run_key))

    async def due(self, now: int, limit: int, after: str | None = None) -> Page[Due]:
        """Threads that need the server; see `Store.due`."""
        return await self._read(lambda db: ops.due(db, now, limit, after))

    def renew(self, leases: Sequence[Lease], lease_ms: int) -> Renewed:
        """Prolong leases; see `Store.renew`."""
        given = tuple(leases)
        return self._opened().run_blocking(
            lambda db: ops.renew(db, given, lease_ms), _RENEW_PATIENCE
        )

    def _opened(self) -> SqliteThread:
        if self._thread is None:
            raise StoreUnavailable("the store is not open; await its open() first")
        return self._thread

    async def _read(self, work: Callable[[Session], T]) -> T:
        return await self._opened().run(work, writes=False)

    async def _write(self, work: Callable[[Session], T]) -> T:
        return await self._opened().run(work, writes=True)
