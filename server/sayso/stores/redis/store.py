"""Redis or Valkey, for any number of processes on any number of machines.

Every step is one script. What was acknowledged is as durable as the server's append-only file: with
`appendfsync always` it survives a crash; a fail-over to a replica may lose the newest steps all the
same. Leases run out by the server's own clock.
"""

import asyncio
import secrets
from collections.abc import Sequence

from sayso.base.audit import AuditRow
from sayso.base.clock import Clock
from sayso.base.errors import StoreUnavailable
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
from sayso.stores.base import ALL_INTERRUPTS, ALL_THREADS, FIRST_PAGE, ChangeListener, Store
from sayso.stores.pagination import checked_limit
from sayso.stores.redis import approvals, audit, lists
from sayso.stores.redis.checks import prepare
from sayso.stores.redis.client import BlockingRedisClient, RedisClient, Script
from sayso.stores.redis.keys import ScopeKeys
from sayso.stores.redis.notifications import RedisNotifications
from sayso.stores.redis.rows import ENTRIES, prefixed
from sayso.stores.redis.threads import RedisThreads
from sayso.stores.redis.views import load_arguments, view_of
from sayso.stores.step import conflict_on
from sayso.stores.text import reject_unstorable_text

CONNECTIONS = 4
"""Connections of a process, beside one that only renews leases and one for hints."""

_CLOSED = "the store is not open; await its open() first"

_LOAD = Script("load")
_STOP = Script("stop")
_DELIVERED = Script("delivered")
_RENEW = Script("renew")


class RedisStore(Store):
    """Threads under `sayso:` of a database; see `Store` for what it promises."""

    def __init__(
        self,
        url: str,
        *,
        clock: Clock | None = None,
        relaxed: bool = False,
        checkpoints: bool = False,
        connections: int = CONNECTIONS,
        pipelined: bool = True,
    ) -> None:
        """`url` as redis-py takes it; `clock` instead of the server's decides about leases.

        `relaxed`: a server that may lose what it acknowledged is worked with, and warned of.
        `checkpoints`: threads that wait are shown to others as `checkpoint:{session_id}`.
        `pipelined`: many exchanges share a connection, on redis-py's own socket; else each waits
        for the one before, by redis-py's public methods alone.
        """
        self._url = url
        self._clock = clock
        self._relaxed = relaxed
        self._checkpoints = checkpoints
        self._connections = connections
        self._pipelined = pipelined
        self._opening = asyncio.Lock()
        self._link: RedisClient | None = None
        self._leases = BlockingRedisClient(url)
        self._threads: RedisThreads | None = None
        self._hints: RedisNotifications | None = None

    async def open(self) -> None:
        """Connect and see that the server can keep decisions."""
        async with self._opening:
            if self._threads is not None:
                return
            link = RedisClient(self._url, self._connections, pipelined=self._pipelined)
            try:
                await prepare(link, relaxed=self._relaxed, checkpoints=self._checkpoints)
            except BaseException:
                await link.close()
                raise
            self._link = link
            self._hints = RedisNotifications(self._url, link)
            self._threads = RedisThreads(
                link, self._clock, self._hints.notify, checkpoints=self._checkpoints
            )

    async def close(self) -> None:
        threads, link, hints = self._threads, self._link, self._hints
        self._threads = self._link = self._hints = None
        if threads is not None and link is not None and hints is not None:
            await threads.finish()
            await hints.stop()
            await link.close()
            await asyncio.to_thread(self._leases.close)

    @property
    def has_notifications(self) -> bool:
        return self._hints is not None and self._hints.hears

    def subscribe(self, hear: ChangeListener) -> None:
        if self._hints is None:
            raise StoreUnavailable(_CLOSED)
        self._hints.subscribe(hear)

    async def load(
        self,
        scope: str,
        thread_id: str,
        *,
        run_id: str | None = None,
        interrupt_ids: Sequence[str] = (),
    ) -> ThreadView | None:
        keys = ScopeKeys(scope).thread(thread_id)
        names, arguments = load_arguments(keys, run_id, interrupt_ids)
        return view_of(keys, await self._read().run(_LOAD, names, arguments))

    async def journal(self, scope: str, turn_key: str) -> tuple[Entry, ...]:
        keys, link = ScopeKeys(scope), self._read()
        thread_id = await link.one("HGET", keys.of("by_turn"), turn_key)
        if thread_id is None:
            return ()
        flat = await link.one("HGETALL", keys.thread(thread_id.decode()).of("journal"))
        prefix = prefixed(turn_key).encode()
        values = (
            v for name, v in zip(flat[0::2], flat[1::2], strict=True) if name.startswith(prefix)
        )
        return tuple(ENTRIES.unpack(value, 16) for value in sorted(values, key=lambda v: v[:16]))

    async def threads(
        self, scope: str, wanted: ThreadFilter = ALL_THREADS, page: PageRequest = FIRST_PAGE
    ) -> Page[ThreadSummary]:
        return await lists.threads(self._read(), ScopeKeys(scope), wanted, page)

    async def interrupts(
        self, scope: str, wanted: InterruptFilter = ALL_INTERRUPTS, page: PageRequest = FIRST_PAGE
    ) -> Page[ListedInterrupt]:
        return await lists.interrupts(self._read(), ScopeKeys(scope), wanted, page)

    async def interrupt(self, scope: str, interrupt_id: str) -> ListedInterrupt | None:
        return await lists.interrupt(self._read(), ScopeKeys(scope), interrupt_id)

    async def runs(self, scope: str, thread_id: str, page: PageRequest = FIRST_PAGE) -> Page[Run]:
        return await lists.runs(self._read(), ScopeKeys(scope), thread_id, page)

    async def changes(self, scope: str, since: int | None, limit: int = 1_000) -> Changes:
        most = checked_limit(limit)
        return await lists.changes(self._read(), ScopeKeys(scope), since, most)

    async def approvals(
        self, scope: str, at: int, page: PageRequest = FIRST_PAGE, *, party: str | None = None
    ) -> Page[Approval]:
        return await approvals.page(self._read(), ScopeKeys(scope), at, party, page)

    async def approval(self, scope: str, approval_id: str) -> Approval | None:
        return await approvals.one(self._read(), ScopeKeys(scope), approval_id)

    async def approval_uses(
        self, scope: str, approval_id: str, limit: int = 100
    ) -> tuple[ApprovalUse, ...]:
        return await approvals.uses(self._read(), ScopeKeys(scope), approval_id, limit)

    async def valid_approvals(
        self, scope: str, owner: str, tool: str, at: int
    ) -> tuple[Approval, ...]:
        return await approvals.valid(self._read(), ScopeKeys(scope), owner, tool, at)

    async def revoke(self, scope: str, approval_id: str, by: str, now: int) -> None:
        reject_unstorable_text((by,))
        link, keys, token = self._read(), ScopeKeys(scope), secrets.token_hex(12)
        await self._write().in_turn(
            scope, approval_id, lambda: approvals.revoke(link, keys, token, approval_id, by, now)
        )

    async def audit(
        self,
        scope: str,
        page: PageRequest = FIRST_PAGE,
        *,
        thread_id: str | None = None,
        owner: str | None = None,
    ) -> Page[AuditRow]:
        keys = ScopeKeys(scope)
        return await audit.page(self._read(), keys, thread_id, owner, page)

    async def claim(self, claim: Claim) -> Lease:
        reject_unstorable_text(claim)
        threads = self._write()
        return await threads.in_turn(claim.scope, claim.thread_id, lambda: threads.claim(claim))

    async def commit(self, lease: Lease, commit: Commit) -> bool:
        reject_unstorable_text(commit)
        threads = self._write()
        return await threads.in_turn(
            lease.scope, lease.thread_id, lambda: threads.commit(lease, commit)
        )

    async def update_idle(self, update: Update) -> None:
        reject_unstorable_text(update)
        threads = self._write()
        await threads.in_turn(update.scope, update.thread_id, lambda: threads.update_idle(update))

    async def delete(
        self, scope: str, thread_id: str, revision: int, now: int, *, by: str | None = None
    ) -> None:
        reject_unstorable_text((by,))
        threads = self._write()
        await threads.in_turn(
            scope, thread_id, lambda: threads.delete(scope, thread_id, revision, now, by)
        )

    async def request_stop(
        self,
        scope: str,
        thread_id: str,
        fence: int,
        *,
        by: str | None = None,
        channel: str | None = None,
    ) -> None:
        reject_unstorable_text((by, channel))
        link, key = self._read(), ScopeKeys(scope).thread(thread_id).of("thread")
        given = [fence]
        flags = [part for text in (by, channel) for part in (int(text is not None), text or "")]
        threads = self._write()
        outcome = await threads.in_turn(
            scope, thread_id, lambda: link.run(_STOP, [key], [*given, *flags])
        )
        if outcome != b"done":
            raise conflict_on(thread_id)
        threads.tell(scope, thread_id)

    async def mark_delivered(self, scope: str, run_key: str) -> None:
        link, keys = self._read(), ScopeKeys(scope)

        async def note() -> None:
            thread_id = await link.one("HGET", keys.of("by_run"), run_key)
            if thread_id is not None:
                runs = keys.thread(thread_id.decode()).of("runs")
                await link.run(_DELIVERED, [runs], [run_key])

        await self._write().in_turn(scope, run_key, note)

    async def due_threads(self, now: int, page: PageRequest = FIRST_PAGE) -> Page[Due]:
        # One round trip for every few hundred scopes that there ever were.
        return await lists.due_threads(self._read(), self._clock, now, page)

    async def count_open(self, limit: int) -> OpenCount:
        # One round trip for every few hundred scopes that there ever were.
        return await lists.count_open(self._read(), checked_limit(limit))

    def renew(self, leases: Sequence[Lease], lease_ms: int) -> Renewed:
        self._read()
        given = tuple(leases)
        now = "" if self._clock is None else self._clock.now()
        calls = []
        for lease in given:
            scope = ScopeKeys(lease.scope)
            names = [scope.thread(lease.thread_id).of("thread"), scope.of("abandoned")]
            calls.append((names, [now, lease.fence, lease.holder, lease_ms, lease.thread_id]))
        outcomes = self._leases.run(_RENEW, calls)
        told = list(zip(given, outcomes, strict=True))
        return Renewed(
            lost=tuple(lease for lease, outcome in told if outcome == b"lost"),
            stop_requested=tuple(lease for lease, outcome in told if outcome == b"stopping"),
        )

    def _read(self) -> RedisClient:
        if self._link is None:
            raise StoreUnavailable(_CLOSED)
        return self._link

    def _write(self) -> RedisThreads:
        if self._threads is None:
            raise StoreUnavailable(_CLOSED)
        return self._threads
