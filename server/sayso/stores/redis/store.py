"""Redis or Valkey, for any number of processes on any number of machines.

Every step is one script. What was acknowledged is as durable as the server's append-only file: with
`appendfsync always` it survives a crash; a fail-over to a replica may lose the newest steps all the
same. Leases run out by the server's own clock.
"""

import asyncio
import secrets
from collections.abc import Mapping, Sequence

from sayso.base.amendment import Amendment
from sayso.base.audit import NO_THREAD, AuditPerson, AuditRow, Event
from sayso.base.clock import Clock
from sayso.base.errors import DeclarationError, StoreUnavailable
from sayso.base.records import (
    Approval,
    ApprovalUse,
    Changes,
    Claim,
    Commit,
    Due,
    Entry,
    Hold,
    InterruptFilter,
    Lease,
    ListedInterrupt,
    ListedThread,
    OpenCount,
    Page,
    PageRequest,
    Renewed,
    Run,
    ThreadFilter,
    ThreadView,
    Update,
)
from sayso.base.secretvalues import SecretValue, check_kept
from sayso.base.service_tokens import ServiceToken
from sayso.base.sessions import Session
from sayso.stores.aesgcm import AesGcm
from sayso.stores.base import (
    ALL_INTERRUPTS,
    ALL_THREADS,
    FIRST_PAGE,
    ChangeListener,
    Store,
    StoreUsage,
)
from sayso.stores.pagination import checked_limit
from sayso.stores.redis import approvals, audit, lists, rekeying, sessions
from sayso.stores.redis.client import BlockingRedisClient, RedisClient, Script, prepare
from sayso.stores.redis.keys import ScopeKeys, duty_key
from sayso.stores.redis.notifications import RedisNotifications
from sayso.stores.redis.rows import ENTRIES, prefixed
from sayso.stores.redis.threads import RedisThreads
from sayso.stores.redis.views import load_arguments, view_of
from sayso.stores.rekeying import Rekeyed, Rekeying
from sayso.stores.sealing import Seals
from sayso.stores.secrets import KEY_ID, new_key
from sayso.stores.step import conflict_on
from sayso.stores.text import reject_unstorable_text

CONNECTIONS = 4
"""Connections of a process, beside one that only renews leases and one for hints."""

_REWRITE_WAIT_S = 0.1
"""Seconds between looks whether the server writes its file anew."""

_CLOSED = "the store is not open; await its open() first"

_LOAD = Script("load")
_STOP = Script("stop")
_DELIVERED = Script("delivered")
_RENEW = Script("renew")
_DUTY = Script("duty")


class RedisStore(Store):
    """Threads under `sayso:` of a database; see `Store` for what it promises."""

    def __init__(
        self,
        url: str,
        *,
        clock: Clock | None = None,
        codec: AesGcm | None = None,
        relaxed: bool = False,
        checkpoints: bool = False,
        connections: int = CONNECTIONS,
        pipelined: bool = True,
    ) -> None:
        """`url` as redis-py takes it; `clock` instead of the server's decides about leases.

        `codec` encrypts what it keeps. Raises `DeclarationError` for it beside `checkpoints`, which
        others could not read.

        `relaxed`: a server that may lose what it acknowledged is worked with, and warned of.
        `checkpoints`: threads that wait are shown to others as `checkpoint:{session_id}`.
        `pipelined`: many exchanges share a connection, on redis-py's own socket; else each waits
        for the one before, by redis-py's public methods alone.
        """
        if codec is not None and checkpoints:
            raise DeclarationError(
                "checkpoints=shown of the Redis URL would show in clear what codec= encrypts; "
                "leave one of them out"
            )
        self._url = url
        self._clock = clock
        self.seals: Seals = Seals(codec)
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
            link = RedisClient(
                self._url, self._connections, seals=self.seals, pipelined=self._pipelined
            )
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
        reply = await self._read().run(_LOAD, names, arguments)
        return view_of(keys, reply, self.seals.out_of(scope, thread_id))

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
        entries = [ENTRIES.unpack(value, 16) for value in sorted(values, key=lambda v: v[:16])]
        way = self.seals.out_of(scope, thread_id.decode())
        return tuple(way.entries(turn_key, entries))

    async def secrets(self, scope: str, thread_id: str) -> tuple[SecretValue, ...]:
        flat = await self._read().one("HGETALL", ScopeKeys(scope).thread(thread_id).of("secrets"))
        way = self.seals.out_of(scope, thread_id)
        kept = sorted(zip(flat[0::2], flat[1::2], strict=True))
        return tuple(way.secret(SecretValue(id=name.decode(), body=body)) for name, body in kept)

    async def secret_key(self, scope: str) -> bytes:
        check_kept(sealed=self.codec is not None)
        read = await self.secrets(scope, NO_THREAD)
        if not read:
            key = SecretValue(id=KEY_ID, body=new_key())
            name = ScopeKeys(scope).thread(NO_THREAD).of("secrets")
            sealed = self.seals.into(scope, NO_THREAD).secret(key)
            await self._read().one("HSETNX", name, KEY_ID, sealed.body)
            read = await self.secrets(scope, NO_THREAD)
        return read[0].body

    async def threads(
        self, scope: str, wanted: ThreadFilter = ALL_THREADS, page: PageRequest = FIRST_PAGE
    ) -> Page[ListedThread]:
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
        self,
        scope: str,
        at: int | None,
        page: PageRequest = FIRST_PAGE,
        *,
        party: str | None = None,
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
        threads = self._write()
        await threads.in_turn(scope, NO_THREAD, lambda: threads.revoke(scope, approval_id, by, now))

    async def note(self, scope: str, events: Sequence[Event], now: int) -> None:
        if not events:
            return
        threads = self._write()
        noted = tuple(events)
        await threads.in_turn(scope, NO_THREAD, lambda: threads.note(scope, noted, now))

    async def audit(
        self,
        scope: str,
        page: PageRequest = FIRST_PAGE,
        *,
        thread_id: str | None = None,
        owner: str | None = None,
        until: str | None = None,
    ) -> Page[AuditRow]:
        keys = ScopeKeys(scope)
        return await audit.page(self._read(), keys, thread_id, owner, until, page)

    async def audit_end(self, scope: str) -> str:
        return await audit.end(self._read(), ScopeKeys(scope))

    async def last_decision(self, scope: str, thread_id: str) -> AuditRow | None:
        return await audit.last_decision(self._read(), ScopeKeys(scope).thread(thread_id))

    async def person(self, scope: str, name: str) -> str:
        reject_unstorable_text((name,))
        return await audit.person(self._read(), ScopeKeys(scope), name)

    async def erase_trail(self, scope: str, thread: str, through: int, now: int, by: str) -> None:
        reject_unstorable_text((by,))
        threads = self._write()
        await threads.in_turn(scope, thread, lambda: threads.erase(scope, thread, through, now, by))

    async def erase_person(self, scope: str, name: str, now: int, by: str) -> None:
        reject_unstorable_text((name, by))
        threads = self._write()
        await threads.in_turn(scope, NO_THREAD, lambda: threads.erase_person(scope, name, now, by))

    async def purge_files(self) -> None:
        link = self._read()
        # Nothing tells when the server is done.
        while b"aof_rewrite_in_progress:1" in await link.one("INFO", "persistence"):  # noqa: ASYNC110
            await asyncio.sleep(_REWRITE_WAIT_S)  # one that began before may have read it already
        await link.one("BGREWRITEAOF")

    async def people(self, scope: str, ids: Sequence[str]) -> Mapping[str, AuditPerson]:
        return await audit.people(self._read(), ScopeKeys(scope), ids)

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

    async def amend(self, amendment: Amendment) -> None:
        reject_unstorable_text(amendment)
        threads = self._write()
        await threads.in_turn(
            amendment.scope, amendment.thread_id, lambda: threads.amend(amendment)
        )

    async def delete(
        self, scope: str, thread_id: str, revision: int, now: int, *, by: str | None = None
    ) -> None:
        reject_unstorable_text((by,))
        threads = self._write()
        await threads.in_turn(
            scope, thread_id, lambda: threads.delete(scope, thread_id, revision, now, by)
        )

    async def set_hold(
        self, scope: str, thread_id: str, revision: int, hold: Hold, *, lifted: bool = False
    ) -> None:
        reject_unstorable_text(hold)
        threads = self._write()
        await threads.in_turn(
            scope, thread_id, lambda: threads.hold(scope, thread_id, revision, hold, lifted=lifted)
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

    async def count_all_open(self, limit: int) -> OpenCount:
        # One round trip for every few hundred scopes that there ever were.
        return await lists.count_all_open(self._read(), checked_limit(limit))

    async def usage(self, scope: str, owner: str | None = None) -> StoreUsage:
        return await lists.usage(self._read(), ScopeKeys(scope), owner)

    async def delete_approval(self, scope: str, approval_id: str) -> None:
        link, keys = self._read(), ScopeKeys(scope)
        await self._write().in_turn(
            scope, approval_id, lambda: approvals.delete(link, keys, approval_id)
        )

    async def next_scope(self, after: str | None = None) -> str | None:
        return await lists.next_scope(self._read(), after)

    async def take_duty(self, duty: str, holder: str, lease_ms: int) -> bool:
        now = "" if self._clock is None else self._clock.now()
        outcome: int = await self._read().run(_DUTY, [duty_key(duty)], [now, holder, lease_ms])
        return outcome == 1

    async def add_session(self, session: Session) -> None:
        link = self._read()
        await self._write().in_turn(
            "", session.digest, lambda: sessions.add(link, self._clock, self.seals, session)
        )

    async def use_session(self, digest: str, *, look: bool = False) -> Session | None:
        return await sessions.use(self._read(), self._clock, self.seals, digest, look=look)

    async def sessions(self, name: str) -> tuple[Session, ...]:
        return await sessions.of_name(self._read(), self._clock, self.seals, name)

    async def end_sessions(self, name: str) -> tuple[Session, ...]:
        link, token = self._read(), secrets.token_hex(12)
        return await self._write().in_turn(
            "", name, lambda: sessions.end(link, self._clock, self.seals, token, name)
        )

    @property
    def codec(self) -> AesGcm | None:
        return self.seals.codec

    async def rekey(
        self, after: str | None = None, *, accept_plain: bool = False, look: bool = False
    ) -> Rekeyed:
        work = Rekeying(self.seals.codec, accept_plain=accept_plain, look=look)
        return await rekeying.rekey(self._read(), work, after)

    async def add_service_token(self, token: ServiceToken) -> None:
        threads = self._write()
        await threads.in_turn(token.scope, NO_THREAD, lambda: threads.add_service_token(token))

    async def service_token(self, digest: str) -> ServiceToken | None:
        return await sessions.find_token(self._read(), digest)

    async def service_tokens(self, scope: str) -> tuple[ServiceToken, ...]:
        return await sessions.tokens_of(self._read(), ScopeKeys(scope))

    async def revoke_service_token(self, scope: str, token_id: str, by: str, now: int) -> None:
        reject_unstorable_text((by,))
        threads = self._write()
        await threads.in_turn(
            scope, NO_THREAD, lambda: threads.revoke_service_token(scope, token_id, by, now)
        )

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
