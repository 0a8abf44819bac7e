"""Retention: what is older than its days goes, piece by piece, by one process of all.

Each step is a compare-and-set on what was read, or can be done again. So a process that was frozen
while another took the duty over does no harm, and what somebody uses in this moment stays.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from sayso.base import ids
from sayso.base.errors import Conflict, StoreError, StoreUnavailable
from sayso.base.records import Approval, ListedThread, PageRequest, ThreadFilter
from sayso.base.retention import RETENTION, Moments, Retention
from sayso.engine.stop import StopRequest, StopService
from sayso.stores.base import Store
from sayso.turns.services import Services

_log = logging.getLogger("sayso.engine.retention")

PASS_INTERVAL_S = 60.0
"""Seconds between passes."""
MOST_AT_ONCE = 100
"""Threads and approvals that one pass removes, or stops."""
MAX_LOOKS = 1_000
"""Threads, approvals and scopes that one pass looks at."""
ROUND_REST_S = 3_600.0
"""Seconds between the end of a round through everything and the next one."""
_TRAIL_PAGE = 500
_TRAIL_LOOKS = 100
_DUTY = "retention"
_DUTY_MS = 180_000
"""Milliseconds after which another process takes over."""


class RetentionSweeper:
    """Removes what is kept no longer, and stops what has waited for too long."""

    def __init__(self, services: Services, retention: Retention, stopping: StopService) -> None:
        self._store, self._clock = services.store, services.clock
        self._retention = retention
        self._removal = Removal(services, stopping, RETENTION)
        self._holder = ids.new("keeper")
        self._round: AsyncGenerator[int] | None = None
        self._rests_until = 0.0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to sweep, if anything is kept for a time only; idempotent."""
        if self._task is None and self._retention.ends:
            self._task = asyncio.create_task(self._sweep(), name="retention")

    async def stop(self) -> None:
        """Stop sweeping; idempotent."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))
        if self._round is not None:
            await self._round.aclose()
            self._round = None

    async def _sweep(self) -> None:
        while True:
            try:
                if await self._store.take_duty(_DUTY, self._holder, _DUTY_MS):
                    await self.sweep()
            except StoreError as error:
                _log.warning("what is too old could not be looked for: %s", error)
            except Exception:
                _log.exception("a look for what is too old failed; the next is in a minute")
            await self._clock.sleep(PASS_INTERVAL_S)

    async def sweep(self) -> int:
        """Do a pass; returns how many things were removed or stopped."""
        if self._round is None:
            if self._clock.monotonic() < self._rests_until:
                return 0
            self._round = self._everything()
        count = 0
        try:
            for _ in range(MAX_LOOKS):
                count += await anext(self._round)
                if count >= MOST_AT_ONCE:
                    break
        except StopAsyncIteration:
            self._round = None
            self._rests_until = self._clock.monotonic() + ROUND_REST_S
        except BaseException:
            self._round = None
            raise
        if count:
            _log.info("%d threads and approvals were too old", count)
        return count

    async def _everything(self) -> AsyncGenerator[int]:
        """All scopes, one look after the other; gives what each look has removed."""
        scope = await self._store.next_scope()
        while scope is not None:
            yield 0
            moments = self._retention.moments(self._clock.now())
            async with aclosing(self._removal.of(scope, moments)) as removed:
                async for count in removed:
                    yield count
            scope = await self._store.next_scope(scope)
        if self._retention.trail is None:
            return
        try:
            scope = await self._store.next_scope()
            while scope is not None:
                moment = self._retention.moments(self._clock.now()).trail
                async with aclosing(self._removal.of_trail(scope, moment)) as removed:
                    async for count in removed:
                        yield count
                scope = await self._store.next_scope(scope)
        except StoreUnavailable as error:
            # A server's user may only add to the trail: then its owner does this.
            _log.warning("old contents of the audit trail stay: %s; see sayso purge", error)


class Removal:
    """Removes what is too old in a scope; `by` is who does it."""

    def __init__(self, services: Services, stopping: StopService, by: str) -> None:
        self._store, self._clock = services.store, services.clock
        self._changed = services.changed
        self._stopping = stopping
        self._by = by

    async def of(self, scope: str, moments: Moments) -> AsyncGenerator[int]:
        """One look after the other; gives how many things each has removed, or stopped."""
        for part in (self._threads(scope, moments), self._approvals(scope, moments)):
            async with aclosing(part):
                async for count in part:
                    yield count

    async def of_trail(self, scope: str, since: int | None) -> AsyncGenerator[int]:
        """The same of the contents of the audit trail before a moment."""
        after: str | None = None
        while since is not None:
            page = await self._store.audit(scope, PageRequest(after, _TRAIL_PAGE))
            old = [row for row in page.items if row.at < since]
            last = {
                row.thread_id: row.number
                for row in old
                if row.content is not None and row.kind != "erased"
            }
            for thread_id, number in last.items():
                yield await self._erase(scope, thread_id, number)
            for _ in range(_TRAIL_LOOKS):
                yield 0  # a page is as much as so many threads
            after = page.next
            if after is None or len(old) < len(page.items):
                return

    async def _erase(self, scope: str, thread_id: str, through: int) -> int:
        view = await self._store.load(scope, thread_id)
        if view is not None and (
            view.thread.hold is not None
            or view.thread.holder is not None
            or (view.turn is not None and view.turn.status in ("suspended", "running"))
        ):
            return 0
        try:
            await self._store.erase_trail(scope, thread_id, through, self._clock.now(), self._by)
        except Conflict:
            return 0  # it was put on hold
        return 1

    async def _threads(self, scope: str, moments: Moments) -> AsyncGenerator[int]:
        limits = [m for m in (moments.threads, moments.open_threads) if m is not None]
        if not limits:
            return
        idle = ThreadFilter(idle_since=max(limits))
        after: str | None = None
        while True:
            page = await self._store.threads(scope, idle, PageRequest(after))
            for thread in page.items:
                yield await self._thread(thread, moments)
            after = page.next
            if after is None:
                return

    async def _thread(self, thread: ListedThread, moments: Moments) -> int:
        if thread.running or thread.on_hold:
            return 0
        waits = thread.turn_status in ("suspended", "running")
        since = moments.open_threads if waits else moments.threads
        if since is None or thread.active_at >= since:
            return 0
        try:
            if waits:
                return await self._stop(thread)
            await self._store.delete(
                thread.scope, thread.id, thread.revision, self._clock.now(), by=self._by
            )
        except Conflict:
            return 0  # somebody uses it, or has put it on hold
        self._changed(thread.scope)
        return 1

    async def _stop(self, thread: ListedThread) -> int:
        view = await self._store.load(thread.scope, thread.id)
        if view is None or view.turn is None or view.thread.revision != thread.revision:
            return 0
        await self._stopping.end(view, view.turn, StopRequest(self._by))
        self._changed(thread.scope)
        return 1

    async def _approvals(self, scope: str, moments: Moments) -> AsyncGenerator[int]:
        if moments.approvals is None:
            return
        after = None
        while True:
            page = await self._store.approvals(scope, None, PageRequest(after))
            for approval in page.items:
                if approval.given_at >= moments.approvals:
                    return
                yield await self.approval(scope, approval)
            after = page.next
            if after is None:
                return

    async def approval(self, scope: str, approval: Approval) -> int:
        """Remove an approval, if that is not kept by a hold; returns how many are gone."""
        if await is_kept(self._store, scope, approval):
            return 0
        # Noted first: a row that comes twice is better than one that is missing.
        gone = {"approvalId": approval.id, "tool": approval.tool, "by": self._by}
        await self._store.note(scope, [("deleted", gone)], self._clock.now())
        await self._store.delete_approval(scope, approval.id)
        return 1


async def is_kept(store: Store, scope: str, approval: Approval) -> bool:
    """True if the thread that an approval was given in is on hold."""
    listed = await store.interrupt(scope, approval.interrupt_id)
    thread_id = approval.thread_id if listed is None else listed.thread_id
    view = None if thread_id is None else await store.load(scope, thread_id)
    return view is not None and view.thread.hold is not None
