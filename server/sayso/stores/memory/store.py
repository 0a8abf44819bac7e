"""The reference backend: one process, nothing on disk.

Records are frozen and hold only immutable values, so handing them out is as good as copying them.
"""

import asyncio
import threading
from collections.abc import Sequence
from itertools import islice

from sayso.approvals import Approval, ApprovalUse
from sayso.audit import AuditRow
from sayso.clock import Clock, SystemClock
from sayso.errors import StoreUnavailable
from sayso.making import changed
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
from sayso.stores.memory.tables import Scope, Tables
from sayso.stores.pages import (
    InterruptFilter,
    ThreadFilter,
    cursor,
    limited,
    picked,
    place,
    walk,
)
from sayso.stores.text import check_text

__all__ = ["MemoryStore"]


class MemoryStore(Store):
    """Threads in dictionaries. What it holds lives as long as the object, closed or not."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        """`clock` decides when leases run out; the machine's own by default."""
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()  # `renew` comes from another thread
        self._tables = Tables()
        self._open = False

    async def open(self) -> None:
        """Accept calls from now on."""
        self._open = True

    async def close(self) -> None:
        """Refuse calls from now on."""
        self._open = False

    async def load(
        self,
        scope: str,
        thread_id: str,
        *,
        run_id: str | None = None,
        interrupt_ids: Sequence[str] = (),
    ) -> ThreadView | None:
        """Read a thread at one instant; see `Store.load`."""
        with self._accepted():
            held = self._tables.threads.get((scope, thread_id))
            view = None if held is None else held.view(run_id, interrupt_ids)
        await asyncio.sleep(0)
        return view

    async def journal(self, scope: str, turn_key: str) -> tuple[Entry, ...]:
        """The entries of a turn; see `Store.journal`."""
        with self._accepted():
            held = self._tables.by_turn.get((scope, turn_key))
            entries = () if held is None else tuple(held.journals.get(turn_key, {}).values())
        await asyncio.sleep(0)
        return entries

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
        begin, most = place("threads", after), walk(limit)
        with self._accepted():
            rows = (
                (*key, wanted.fits((held.thread.owner, held.thread.agent, held.status)))
                for key, held in islice(self._scope(scope).active.downwards(begin), most)
            )
            numbers, following = picked("threads", rows, limit, most)
            items = tuple(self._tables.by_number[number].summary for number in numbers)
        await asyncio.sleep(0)
        return Page(items=items, next=following)

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
        begin, most = place("interrupts", after), walk(limit)
        with self._accepted():
            mine = self._scope(scope)
            listed = mine.open if status == "open" else mine.interrupts
            rows = (
                (*key, asked.fits(wanted)) for key, asked in islice(listed.upwards(begin), most)
            )
            numbers, following = picked("interrupts", rows, limit, most)
            items = tuple(self._tables.asked[number].listed for number in numbers)
        await asyncio.sleep(0)
        return Page(items=items, next=following)

    async def interrupt(self, scope: str, interrupt_id: str) -> ListedInterrupt | None:
        """One interrupt; see `Store.interrupt`."""
        with self._accepted():
            named = self._scope(scope).named.get(interrupt_id)
            found = named[0].listed if named else None
        await asyncio.sleep(0)
        return found

    async def runs(
        self, scope: str, thread_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[Run]:
        """A page of the runs of a thread; see `Store.runs`."""
        _, last = place("runs", after) or (0, 0)
        most = limited(limit)
        with self._accepted():
            held = self._tables.threads.get((scope, thread_id))
            numbers = held.run_numbers if held else {}
            keys = [key for key, number in numbers.items() if number > last]
            items = tuple(held.runs[key] for key in keys[:most]) if held else ()
        await asyncio.sleep(0)
        more = len(keys) > most
        return Page(items=items, next=cursor("runs", 0, numbers[keys[most - 1]]) if more else None)

    async def changes(self, scope: str, since: int | None, limit: int = 1_000) -> Changes:
        """What happened since a mark; see `Store.changes`."""
        most = limited(limit)
        with self._accepted():
            mine = self._scope(scope)
            oldest = mine.mark - len(mine.changes)
            if since is None or not oldest <= since <= mine.mark:
                found = Changes(mark=mine.mark, gap=since is not None)
            else:
                items = mine.noted(since, most)
                found = Changes(mark=since + len(items), items=items)
        await asyncio.sleep(0)
        return found

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
        most = walk(limit)
        begin = place("approvals", after)
        with self._accepted():
            page = self._tables.approvals.page(scope, at, party, begin, limit, most)
        await asyncio.sleep(0)
        return page

    async def approval(self, scope: str, approval_id: str) -> Approval | None:
        """One approval; see `Store.approval`."""
        with self._accepted():
            found = self._tables.approvals.one(scope, approval_id)
        await asyncio.sleep(0)
        return found

    async def approval_uses(
        self, scope: str, approval_id: str, limit: int = 100
    ) -> tuple[ApprovalUse, ...]:
        """What an approval was used for; see `Store.approval_uses`."""
        most = limited(limit)
        with self._accepted():
            found = self._tables.approvals.uses(scope, approval_id, most)
        await asyncio.sleep(0)
        return found

    async def standing_approvals(
        self, scope: str, owner: str, tool: str, at: int
    ) -> tuple[Approval, ...]:
        """Approvals for a tool; see `Store.standing_approvals`."""
        with self._accepted():
            found = self._tables.approvals.standing(scope, owner, tool, at)
        await asyncio.sleep(0)
        return found

    async def revoke(self, scope: str, approval_id: str, by: str, now: int) -> None:
        """Let an approval stand no more; see `Store.revoke`."""
        check_text((by,))
        with self._accepted():
            self._tables.approvals.revoke(scope, approval_id, by, now)
        await asyncio.sleep(0)

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
        with self._accepted():
            page = self._tables.trail.page(scope, thread_id, owner, after, limit)
        await asyncio.sleep(0)
        return page

    async def claim(self, claim: Claim) -> Lease:
        """Take a thread and write; see `Store.claim`."""
        check_text(claim)
        with self._accepted():
            lease = self._tables.claim(claim, self._clock.now())
        await asyncio.sleep(0)
        return lease

    async def commit(self, lease: Lease, commit: Commit) -> bool:
        """Write one step under a lease; see `Store.commit`."""
        check_text(commit)
        with self._accepted():
            stopping = self._tables.commit(lease, commit)
        await asyncio.sleep(0)
        return stopping

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
        check_text((*interrupts, *entries, by))
        with self._accepted():
            self._tables.settle(
                scope, thread_id, revision, interrupts, now, state=state, entries=entries, by=by
            )
        await asyncio.sleep(0)

    async def delete(self, scope: str, thread_id: str, revision: int, now: int) -> None:
        """Remove a thread; see `Store.delete`."""
        with self._accepted():
            self._tables.delete(scope, thread_id, revision, now, self._clock.now())
        await asyncio.sleep(0)

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
        check_text((by, channel))
        with self._accepted():
            self._tables.request_stop(scope, thread_id, fence, by=by, channel=channel)
        await asyncio.sleep(0)

    async def delivered(self, scope: str, run_key: str) -> None:
        """Note a run's delivery; see `Store.delivered`."""
        with self._accepted():
            held = self._tables.by_run.get((scope, run_key))
            if held is not None:
                held.runs[run_key] = changed(held.runs[run_key], delivered=True)
        await asyncio.sleep(0)

    async def due(self, now: int, limit: int, after: str | None = None) -> Page[Due]:
        """Threads that need the server; see `Store.due`."""
        begin, most = place("due", after), limited(limit)
        with self._accepted():
            found = list(islice(self._tables.due(now, self._clock.now(), begin), most + 1))
        await asyncio.sleep(0)
        more = len(found) > most
        return Page(
            items=tuple(due for _, due in found[:most]),
            next=cursor("due", *found[most - 1][0]) if more else None,
        )

    async def waiting(self, limit: int) -> Waiting:
        """Count what is open; see `Store.waiting`."""
        most = limited(limit)
        with self._accepted():
            lists = [one.open for one in self._tables.scopes.values()]
            firsts = (next(listed.upwards(None), None) for listed in lists)
            oldest = min((first[0][0] for first in firsts if first is not None), default=None)
            found = Waiting(count=min(sum(map(len, lists)), most), oldest=oldest)
        await asyncio.sleep(0)
        return found

    def renew(self, leases: Sequence[Lease], lease_ms: int) -> Renewed:
        """Prolong leases; see `Store.renew`."""
        with self._accepted():
            return self._tables.renew(leases, self._clock.now() + lease_ms)

    def _accepted(self) -> threading.Lock:
        if not self._open:
            raise StoreUnavailable("the store is not open; await its open() first")
        return self._lock

    def _scope(self, scope: str) -> Scope:
        """What is known of a scope; asking for one that does not exist makes none."""
        return self._tables.scopes.get(scope) or Scope()
