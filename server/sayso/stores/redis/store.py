"""Redis or Valkey, for any number of processes on any number of machines.

Every step is one script. What was acknowledged is as durable as the server's append-only file: with
`appendfsync always` it survives a crash; a fail-over to a replica may lose the newest steps all the
same. Leases run out by the server's own clock.
"""

import asyncio
import secrets
from collections.abc import Sequence

from sayso.approvals import Approval, ApprovalUse
from sayso.audit import AuditRow
from sayso.clock import Clock
from sayso.errors import Conflict, StoreUnavailable
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
from sayso.stores.base import Hear, Store
from sayso.stores.pages import InterruptFilter, ThreadFilter, limited
from sayso.stores.redis import approvals, audit, lists
from sayso.stores.redis.hints import RedisHints
from sayso.stores.redis.keys import ScopeKeys
from sayso.stores.redis.link import BlockingLink, Link, Script
from sayso.stores.redis.opening import prepare
from sayso.stores.redis.rows import ENTRIES, prefixed
from sayso.stores.redis.threads import RedisThreads
from sayso.stores.redis.views import load_arguments, view_of
from sayso.stores.text import check_text

__all__ = ["RedisStore"]

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
    ) -> None:
        """`url` as redis-py takes it; `clock` instead of the server's decides about leases.

        `relaxed`: a server that may lose what it acknowledged is worked with, and warned of.
        `checkpoints`: threads that wait are shown to others as `checkpoint:{session_id}`.
        """
        self._url = url
        self._clock = clock
        self._relaxed = relaxed
        self._checkpoints = checkpoints
        self._connections = connections
        self._opening = asyncio.Lock()
        self._link: Link | None = None
        self._leases = BlockingLink(url)
        self._threads: RedisThreads | None = None
        self._hints: RedisHints | None = None

    async def open(self) -> None:
        """Connect and see that the server can keep decisions; see `Store.open`."""
        async with self._opening:
            if self._threads is not None:
                return
            link = Link(self._url, self._connections)
            try:
                await prepare(link, relaxed=self._relaxed, checkpoints=self._checkpoints)
            except BaseException:
                await link.close()
                raise
            self._link = link
            self._hints = RedisHints(self._url, link)
            self._threads = RedisThreads(
                link, self._clock, self._hints.tell, checkpoints=self._checkpoints
            )

    async def close(self) -> None:
        """Finish what was accepted and close all connections; see `Store.close`."""
        threads, link, hints = self._threads, self._link, self._hints
        self._threads = self._link = self._hints = None
        if threads is not None and link is not None and hints is not None:
            await threads.finish()
            await hints.stop()
            await link.close()
            await asyncio.to_thread(self._leases.close)

    @property
    def hears(self) -> bool:
        """Whether hints come; see `Store.hears`."""
        return self._hints is not None and self._hints.hears

    def follow(self, hear: Hear) -> None:
        """Pass hints on; see `Store.follow`."""
        if self._hints is None:
            raise StoreUnavailable(_CLOSED)
        self._hints.follow(hear)

    async def load(
        self,
        scope: str,
        thread_id: str,
        *,
        run_id: str | None = None,
        interrupt_ids: Sequence[str] = (),
    ) -> ThreadView | None:
        """Read a thread at one instant; see `Store.load`."""
        keys = ScopeKeys(scope).thread(thread_id)
        names, arguments = load_arguments(keys, run_id, interrupt_ids)
        return view_of(keys, await self._read().run(_LOAD, names, arguments))

    async def journal(self, scope: str, turn_key: str) -> tuple[Entry, ...]:
        """The entries of a turn; see `Store.journal`."""
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
        return await lists.threads(self._read(), ScopeKeys(scope), wanted, after, limit)

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
        return await lists.interrupts(self._read(), ScopeKeys(scope), wanted, after, limit)

    async def interrupt(self, scope: str, interrupt_id: str) -> ListedInterrupt | None:
        """One interrupt; see `Store.interrupt`."""
        return await lists.interrupt(self._read(), ScopeKeys(scope), interrupt_id)

    async def runs(
        self, scope: str, thread_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[Run]:
        """A page of the runs of a thread; see `Store.runs`."""
        return await lists.runs(self._read(), ScopeKeys(scope), thread_id, after, limit)

    async def changes(self, scope: str, since: int | None, limit: int = 1_000) -> Changes:
        """What happened since a mark; see `Store.changes`."""
        most = limited(limit)
        return await lists.changes(self._read(), ScopeKeys(scope), since, most)

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
        return await approvals.page(self._read(), ScopeKeys(scope), at, party, after, limit)

    async def approval(self, scope: str, approval_id: str) -> Approval | None:
        """One approval; see `Store.approval`."""
        return await approvals.one(self._read(), ScopeKeys(scope), approval_id)

    async def approval_uses(
        self, scope: str, approval_id: str, limit: int = 100
    ) -> tuple[ApprovalUse, ...]:
        """What an approval was used for; see `Store.approval_uses`."""
        return await approvals.uses(self._read(), ScopeKeys(scope), approval_id, limit)

    async def standing_approvals(
        self, scope: str, owner: str, tool: str, at: int
    ) -> tuple[Approval, ...]:
        """Approvals for a tool; see `Store.standing_approvals`."""
        return await approvals.standing(self._read(), ScopeKeys(scope), owner, tool, at)

    async def revoke(self, scope: str, approval_id: str, by: str, now: int) -> None:
        """Let an approval stand no more; see `Store.revoke`."""
        check_text((by,))
        link, keys, token = self._read(), ScopeKeys(scope), secrets.token_hex(12)
        await self._write().in_turn(
            scope, approval_id, lambda: approvals.revoke(link, keys, token, approval_id, by, now)
        )

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
        keys = ScopeKeys(scope)
        return await audit.page(self._read(), keys, thread_id, owner, after, limit)

    async def claim(self, claim: Claim) -> Lease:
        """Take a thread and write; see `Store.claim`."""
        check_text(claim)
        threads = self._write()
        return await threads.in_turn(claim.scope, claim.thread_id, lambda: threads.claim(claim))

    async def commit(self, lease: Lease, commit: Commit) -> bool:
        """Write one step under a lease; see `Store.commit`."""
        check_text(commit)
        threads = self._write()
        return await threads.in_turn(
            lease.scope, lease.thread_id, lambda: threads.commit(lease, commit)
        )

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
        check_text((*given, *recorded, by))
        threads = self._write()
        await threads.in_turn(
            scope,
            thread_id,
            lambda: threads.settle(
                scope, thread_id, revision, given, now, state=state, entries=recorded, by=by
            ),
        )

    async def delete(self, scope: str, thread_id: str, revision: int, now: int) -> None:
        """Remove a thread; see `Store.delete`."""
        threads = self._write()
        await threads.in_turn(
            scope, thread_id, lambda: threads.delete(scope, thread_id, revision, now)
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
        """Ask a holder to stop; see `Store.request_stop`."""
        check_text((by, channel))
        link, key = self._read(), ScopeKeys(scope).thread(thread_id).of("thread")
        given = [fence]
        flags = [part for text in (by, channel) for part in (int(text is not None), text or "")]
        threads = self._write()
        outcome = await threads.in_turn(
            scope, thread_id, lambda: link.run(_STOP, [key], [*given, *flags])
        )
        if outcome != b"done":
            raise Conflict(
                f"thread {thread_id!r} is not what was read; load it again and decide anew"
            )
        threads.tell(scope, thread_id)

    async def delivered(self, scope: str, run_key: str) -> None:
        """Note a run's delivery; see `Store.delivered`."""
        link, keys = self._read(), ScopeKeys(scope)

        async def note() -> None:
            thread_id = await link.one("HGET", keys.of("by_run"), run_key)
            if thread_id is not None:
                runs = keys.thread(thread_id.decode()).of("runs")
                await link.run(_DELIVERED, [runs], [run_key])

        await self._write().in_turn(scope, run_key, note)

    async def due(self, now: int, limit: int, after: str | None = None) -> Page[Due]:
        """Threads that need the server; see `Store.due`.

        It costs one round trip for every few hundred scopes that there ever were.
        """
        return await lists.due(self._read(), self._clock, now, limit, after)

    async def waiting(self, limit: int) -> Waiting:
        """Count what is open; see `Store.waiting`.

        It costs one round trip for every few hundred scopes that there ever were.
        """
        return await lists.waiting(self._read(), limited(limit))

    def renew(self, leases: Sequence[Lease], lease_ms: int) -> Renewed:
        """Prolong leases; see `Store.renew`."""
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
            stopping=tuple(lease for lease, outcome in told if outcome == b"stopping"),
        )

    def _read(self) -> Link:
        if self._link is None:
            raise StoreUnavailable(_CLOSED)
        return self._link

    def _write(self) -> RedisThreads:
        if self._threads is None:
            raise StoreUnavailable(_CLOSED)
        return self._threads
