"""A store over SQL: every call is one of the operations, run in a thread of the backend's own."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from sayso.base.amendment import Amendment
from sayso.base.audit import NO_THREAD, AuditPerson, AuditRow, Event
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
from sayso.stores.base import ALL_INTERRUPTS, ALL_THREADS, FIRST_PAGE, Store, StoreUsage
from sayso.stores.pagination import checked_limit
from sayso.stores.rekeying import Rekeyed, Rekeying
from sayso.stores.sealing import NO_SEALS, Seals
from sayso.stores.sql import approvals, audit, changes, lists, ops, secrets, sessions
from sayso.stores.sql.session import Transaction
from sayso.stores.sql.worker import StoreRunner

T = TypeVar("T")

_RENEW_TIMEOUT_S = 5.0
"""Seconds that `renew` waits for the database: half a lease."""


class SqlStore(Store):
    """All of `Store` but opening and closing; see there for what each call promises."""

    seals: Seals = NO_SEALS

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

    async def secrets(self, scope: str, thread_id: str) -> tuple[SecretValue, ...]:
        return await self._read(lambda db: secrets.read(db, scope, thread_id), thread_id)

    async def secret_key(self, scope: str) -> bytes:
        check_kept(sealed=self.codec is not None)
        read = await self.secrets(scope, NO_THREAD)
        if not read:
            await self._write(NO_THREAD, lambda db: secrets.make_key(db, scope))
            read = await self.secrets(scope, NO_THREAD)
        return read[0].body

    async def threads(
        self, scope: str, wanted: ThreadFilter = ALL_THREADS, page: PageRequest = FIRST_PAGE
    ) -> Page[ListedThread]:
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
        self,
        scope: str,
        at: int | None,
        page: PageRequest = FIRST_PAGE,
        *,
        party: str | None = None,
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

    async def note(self, scope: str, events: Sequence[Event], now: int) -> None:
        noted = tuple(events)
        if noted:
            await self._write(NO_THREAD, lambda db: audit.note(db, scope, noted, now))

    async def audit(
        self,
        scope: str,
        page: PageRequest = FIRST_PAGE,
        *,
        thread_id: str | None = None,
        owner: str | None = None,
        until: str | None = None,
    ) -> Page[AuditRow]:
        return await self._read(lambda db: audit.page(db, scope, thread_id, owner, until, page))

    async def audit_end(self, scope: str) -> str:
        return await self._read(lambda db: audit.end(db, scope))

    async def last_decision(self, scope: str, thread_id: str) -> AuditRow | None:
        return await self._read(lambda db: audit.last_decision(db, scope, thread_id))

    async def person(self, scope: str, name: str) -> str:
        person_id = await self._read(lambda db: audit.known_person(db, scope, name))
        if person_id is not None:
            return person_id
        return await self._write(scope, lambda db: db.person(scope, name))

    async def erase_trail(self, scope: str, thread: str, through: int, now: int, by: str) -> None:
        await self._write(thread, lambda db: audit.erase(db, scope, thread, through, now, by))

    async def erase_person(self, scope: str, name: str, now: int, by: str) -> None:
        await self._write(NO_THREAD, lambda db: audit.erase_person(db, scope, name, now, by))

    async def purge_files(self) -> None:
        return

    async def people(self, scope: str, ids: Sequence[str]) -> Mapping[str, AuditPerson]:
        people = tuple(ids)
        return await self._read(lambda db: audit.people(db, scope, people))

    async def claim(self, claim: Claim) -> Lease:
        return await self._write(claim.thread_id, lambda db: ops.claim(db, claim))

    async def commit(self, lease: Lease, commit: Commit) -> bool:
        return await self._write(lease.thread_id, lambda db: ops.commit(db, lease, commit))

    async def update_idle(self, update: Update) -> None:
        await self._write(update.thread_id, lambda db: ops.update_idle(db, update))

    async def amend(self, amendment: Amendment) -> None:
        await self._write(amendment.thread_id, lambda db: ops.amend(db, amendment))

    async def delete(
        self, scope: str, thread_id: str, revision: int, now: int, *, by: str | None = None
    ) -> None:
        await self._write(thread_id, lambda db: ops.delete(db, scope, thread_id, revision, now, by))

    async def set_hold(
        self, scope: str, thread_id: str, revision: int, hold: Hold, *, lifted: bool = False
    ) -> None:
        await self._write(
            thread_id, lambda db: ops.hold(db, scope, thread_id, revision, hold, lifted)
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
        await self._write(
            thread_id, lambda db: ops.request_stop(db, scope, thread_id, fence, by, channel)
        )

    async def mark_delivered(self, scope: str, run_key: str) -> None:
        await self._write(run_key, lambda db: ops.mark_delivered(db, scope, run_key))

    async def due_threads(self, now: int, page: PageRequest = FIRST_PAGE) -> Page[Due]:
        return await self._read(lambda db: ops.due_threads(db, now, page))

    async def count_all_open(self, limit: int) -> OpenCount:
        most = checked_limit(limit)
        return await self._read(lambda db: lists.count_all_open(db, most))

    async def usage(self, scope: str, owner: str | None = None) -> StoreUsage:
        return await self._read(lambda db: lists.usage(db, scope, owner))

    async def delete_approval(self, scope: str, approval_id: str) -> None:
        await self._write(approval_id, lambda db: approvals.delete(db, scope, approval_id))

    async def next_scope(self, after: str | None = None) -> str | None:
        return await self._read(lambda db: lists.next_scope(db, after))

    async def take_duty(self, duty: str, holder: str, lease_ms: int) -> bool:
        return await self._write(duty, lambda db: ops.take_duty(db, duty, holder, lease_ms))

    async def add_session(self, session: Session) -> None:
        await self._write(session.digest, lambda db: sessions.add(db, session))

    async def use_session(self, digest: str, *, look: bool = False) -> Session | None:
        session, to_note = await self._read(lambda db: sessions.use(db, digest))
        if to_note and not look:
            await self._write(digest, lambda db: sessions.note_use(db, digest))
        return session

    async def sessions(self, name: str) -> tuple[Session, ...]:
        return await self._read(lambda db: sessions.of_name(db, name))

    async def end_sessions(self, name: str) -> tuple[Session, ...]:
        return await self._write(name, lambda db: sessions.end(db, name))

    @property
    def codec(self) -> AesGcm | None:
        return self.seals.codec

    async def rekey(
        self, after: str | None = None, *, accept_plain: bool = False, look: bool = False
    ) -> Rekeyed:
        def work(db: Transaction) -> Rekeyed:
            batch = Rekeying(db.seals.codec, accept_plain=accept_plain, look=look)
            return _rekeyed(db, batch, after, look=look)

        return await (self._read(work) if look else self._write("", work))

    async def add_service_token(self, token: ServiceToken) -> None:
        await self._write(NO_THREAD, lambda db: sessions.add_token(db, token))

    async def service_token(self, digest: str) -> ServiceToken | None:
        return await self._read(lambda db: sessions.find_token(db, digest))

    async def service_tokens(self, scope: str) -> tuple[ServiceToken, ...]:
        return await self._read(lambda db: sessions.tokens_of(db, scope))

    async def revoke_service_token(self, scope: str, token_id: str, by: str, now: int) -> None:
        await self._write(NO_THREAD, lambda db: sessions.revoke_token(db, scope, token_id, by, now))

    def renew(self, leases: Sequence[Lease], lease_ms: int) -> Renewed:
        given = tuple(leases)
        return self._opened().run_blocking(
            lambda db: ops.renew(db, given, lease_ms), _RENEW_TIMEOUT_S
        )


def _rekeyed(db: Transaction, work: Rekeying, after: str | None, *, look: bool) -> Rekeyed:
    """One batch: threads first, then approvals, secrets, tokens of services, the audit trail."""
    part, _, number = (after or "threads:0").partition(":")
    following: str | None
    if part == "threads":
        end, following = ops.rekey(db, work, int(number), look=look), "approvals:0"
    elif part == "approvals":
        end, following = approvals.rekey(db, work, int(number)), "secrets:0"
    elif part == "secrets":
        end, following = secrets.rekey(db, work, int(number)), "services:0"
    elif part == "services":
        sessions.rekey_tokens(db, work)
        end, following = None, "audit:0"
    else:
        end, following = audit.rekey(db, work, int(number)), None
    work.batch.next = following if end is None else f"{part}:{end}"
    return work.batch
