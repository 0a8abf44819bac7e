"""The reference backend: one process, nothing on disk.

Records are frozen and hold only immutable values, so handing them out is as good as copying them.
"""

import asyncio
import threading
from collections.abc import Mapping, Sequence
from itertools import islice

from sayso.base.amendment import Amendment
from sayso.base.audit import AuditPerson, AuditRow, Event
from sayso.base.clock import Clock, SystemClock
from sayso.base.errors import DeclarationError, StoreUnavailable
from sayso.base.fastrecords import copy_with
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
from sayso.base.secretvalues import SecretValue
from sayso.base.service_tokens import ServiceToken
from sayso.base.sessions import Session
from sayso.stores.base import ALL_INTERRUPTS, ALL_THREADS, FIRST_PAGE, Store, StoreUsage
from sayso.stores.pagination import (
    begin_of,
    checked_limit,
    cursor,
    fits_thread,
    parse_cursor,
    scan_size,
    take_page,
)
from sayso.stores.sessions import KeptSession, begun, used
from sayso.stores.text import reject_unstorable_text
from tests.stores.model.tables import Scope, Tables


class ModelStore(Store):
    """Threads in dictionaries. What it holds lives as long as the object, closed or not."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        """`clock` decides when leases run out; the machine's own by default."""
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()  # `renew` comes from another thread
        self._tables = Tables()
        self._duties: dict[str, tuple[str, int]] = {}
        self._sessions: dict[str, KeptSession] = {}
        self._open = False

    async def open(self) -> None:
        """Accept calls from now on."""
        self._open = True

    async def close(self) -> None:
        """Refuse calls from now on."""
        self._open = False

    def active(self) -> list[ListedThread]:
        """The threads of all scopes whose turn runs or waits; open or not."""
        with self._lock:
            held = self._tables.threads.values()
            return [tables.summary for tables in held if tables.active_at is not None]

    async def load(
        self,
        scope: str,
        thread_id: str,
        *,
        run_id: str | None = None,
        interrupt_ids: Sequence[str] = (),
    ) -> ThreadView | None:
        with self._accepted():
            held = self._tables.threads.get((scope, thread_id))
            view = None if held is None else held.view(run_id, interrupt_ids)
        await asyncio.sleep(0)
        return view

    async def journal(self, scope: str, turn_key: str) -> tuple[Entry, ...]:
        with self._accepted():
            held = self._tables.by_turn.get((scope, turn_key))
            entries = () if held is None else tuple(held.journals.get(turn_key, {}).values())
        await asyncio.sleep(0)
        return entries

    async def secrets(self, scope: str, thread_id: str) -> tuple[SecretValue, ...]:
        return ()

    async def secret_key(self, scope: str) -> bytes:
        raise DeclarationError("the model has no codec")

    async def threads(
        self, scope: str, wanted: ThreadFilter = ALL_THREADS, page: PageRequest = FIRST_PAGE
    ) -> Page[ListedThread]:
        begin, most = begin_of(wanted, page.after), scan_size(page.limit)
        with self._accepted():
            rows = (
                (*key, fits_thread(wanted, (held.thread.owner, held.thread.agent, held.status)))
                for key, held in islice(self._scope(scope).active.downwards(begin), most)
            )
            numbers, following = take_page("threads", rows, page.limit, most)
            items = tuple(self._tables.by_number[number].summary for number in numbers)
        await asyncio.sleep(0)
        return Page(items=items, next=following)

    async def interrupts(
        self, scope: str, wanted: InterruptFilter = ALL_INTERRUPTS, page: PageRequest = FIRST_PAGE
    ) -> Page[ListedInterrupt]:
        begin, most = parse_cursor("interrupts", page.after), scan_size(page.limit)
        with self._accepted():
            mine = self._scope(scope)
            listed = mine.open if wanted.status == "open" else mine.interrupts
            rows = (
                (*key, question_row.fits(wanted))
                for key, question_row in islice(listed.upwards(begin), most)
            )
            numbers, following = take_page("interrupts", rows, page.limit, most)
            items = tuple(self._tables.asked[number].listed for number in numbers)
        await asyncio.sleep(0)
        return Page(items=items, next=following)

    async def interrupt(self, scope: str, interrupt_id: str) -> ListedInterrupt | None:
        with self._accepted():
            named = self._scope(scope).named.get(interrupt_id)
            found = named[0].listed if named else None
        await asyncio.sleep(0)
        return found

    async def runs(self, scope: str, thread_id: str, page: PageRequest = FIRST_PAGE) -> Page[Run]:
        _, last = parse_cursor("runs", page.after) or (0, 0)
        most = checked_limit(page.limit)
        with self._accepted():
            held = self._tables.threads.get((scope, thread_id))
            numbers = held.run_numbers if held else {}
            keys = [key for key, number in numbers.items() if number > last]
            items = tuple(held.runs[key] for key in keys[:most]) if held else ()
        await asyncio.sleep(0)
        more = len(keys) > most
        return Page(items=items, next=cursor("runs", 0, numbers[keys[most - 1]]) if more else None)

    async def changes(self, scope: str, since: int | None, limit: int = 1_000) -> Changes:
        most = checked_limit(limit)
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
        at: int | None,
        page: PageRequest = FIRST_PAGE,
        *,
        party: str | None = None,
    ) -> Page[Approval]:
        most = scan_size(page.limit)
        begin = parse_cursor("approvals", page.after)
        with self._accepted():
            listed = self._tables.approvals.page(scope, at, party, begin, page.limit, most)
        await asyncio.sleep(0)
        return listed

    async def approval(self, scope: str, approval_id: str) -> Approval | None:
        with self._accepted():
            found = self._tables.approvals.one(scope, approval_id)
        await asyncio.sleep(0)
        return found

    async def approval_uses(
        self, scope: str, approval_id: str, limit: int = 100
    ) -> tuple[ApprovalUse, ...]:
        most = checked_limit(limit)
        with self._accepted():
            found = self._tables.approvals.uses(scope, approval_id, most)
        await asyncio.sleep(0)
        return found

    async def valid_approvals(
        self, scope: str, owner: str, tool: str, at: int
    ) -> tuple[Approval, ...]:
        with self._accepted():
            approvals = self._tables.approvals.standing(scope, owner, tool, at)
        await asyncio.sleep(0)
        return approvals

    async def revoke(self, scope: str, approval_id: str, by: str, now: int) -> None:
        reject_unstorable_text((by,))
        with self._accepted():
            self._tables.revoke(scope, approval_id, by, now)
        await asyncio.sleep(0)

    async def note(self, scope: str, events: Sequence[Event], now: int) -> None:
        with self._accepted():
            self._tables.note(scope, events, now)
        await asyncio.sleep(0)

    async def delete_approval(self, scope: str, approval_id: str) -> None:
        with self._accepted():
            self._tables.approvals.delete(scope, approval_id)
        await asyncio.sleep(0)

    async def next_scope(self, after: str | None = None) -> str | None:
        with self._accepted():
            scopes = sorted(
                scope for scope in self._tables.scopes if after is None or scope > after
            )
        await asyncio.sleep(0)
        return next(iter(scopes), None)

    async def take_duty(self, duty: str, holder: str, lease_ms: int) -> bool:
        with self._accepted():
            now, (other, until) = self._clock.now(), self._duties.get(duty, (holder, 0))
            is_taken = other == holder or until <= now
            if is_taken:
                self._duties[duty] = (holder, now + lease_ms)
        await asyncio.sleep(0)
        return is_taken

    async def add_session(self, session: Session) -> None:
        with self._accepted():
            kept = begun(session, self._clock.now())
            if self._sessions.get(session.digest, kept).ends_at <= self._clock.now():
                del self._sessions[session.digest]
            self._sessions.setdefault(kept.session.names[0], kept)
        await asyncio.sleep(0)

    async def use_session(self, digest: str, *, look: bool = False) -> Session | None:
        with self._accepted():
            kept = self._sessions.get(digest)
            after = None if kept is None else used(kept, self._clock.now())
            if after is not None and not look:
                self._sessions[digest] = after
        await asyncio.sleep(0)
        return None if after is None else after.session

    async def sessions(self, name: str) -> tuple[Session, ...]:
        with self._accepted():
            now = self._clock.now()
            kept = [k for k in self._sessions.values() if name in k.session.names]
        await asyncio.sleep(0)
        alive = (one.session for one in kept if one.ends_at > now)
        return tuple(sorted(alive, key=lambda session: session.digest))

    async def end_sessions(self, name: str) -> tuple[Session, ...]:
        with self._accepted():
            now = self._clock.now()
            mine = [d for d, kept in self._sessions.items() if name in kept.session.names]
            ended = [self._sessions.pop(digest) for digest in sorted(mine)]
        await asyncio.sleep(0)
        return tuple(kept.session for kept in ended if kept.ends_at > now)

    async def add_service_token(self, token: ServiceToken) -> None:
        with self._accepted():
            self._tables.add_service_token(token)
        await asyncio.sleep(0)

    async def service_token(self, digest: str) -> ServiceToken | None:
        with self._accepted():
            found = self._tables.service_tokens.get(digest)
        await asyncio.sleep(0)
        return found

    async def service_tokens(self, scope: str) -> tuple[ServiceToken, ...]:
        with self._accepted():
            found = [t for t in self._tables.service_tokens.values() if t.scope == scope]
        await asyncio.sleep(0)
        return tuple(sorted(found, key=lambda token: (token.added_at, token.id)))

    async def revoke_service_token(self, scope: str, token_id: str, by: str, now: int) -> None:
        reject_unstorable_text((by,))
        with self._accepted():
            self._tables.revoke_service_token(scope, token_id, by, now)
        await asyncio.sleep(0)

    async def audit(
        self,
        scope: str,
        page: PageRequest = FIRST_PAGE,
        *,
        thread_id: str | None = None,
        owner: str | None = None,
        until: str | None = None,
    ) -> Page[AuditRow]:
        with self._accepted():
            trail = self._tables.trail
            listed = trail.page(scope, thread_id, owner, page.after, until, page.limit)
        await asyncio.sleep(0)
        return listed

    async def audit_end(self, scope: str) -> str:
        with self._accepted():
            place = self._tables.trail.end(scope)
        await asyncio.sleep(0)
        return place

    async def last_decision(self, scope: str, thread_id: str) -> AuditRow | None:
        with self._accepted():
            row = self._tables.trail.last_decision(scope, thread_id)
        await asyncio.sleep(0)
        return row

    async def person(self, scope: str, name: str) -> str:
        reject_unstorable_text((name,))
        with self._accepted():
            person = self._tables.trail.person(scope, name)
        await asyncio.sleep(0)
        return person

    async def erase_trail(self, scope: str, thread: str, through: int, now: int, by: str) -> None:
        reject_unstorable_text((by,))
        with self._accepted():
            self._tables.erase_trail(scope, thread, through, now, by)
        await asyncio.sleep(0)

    async def erase_person(self, scope: str, name: str, now: int, by: str) -> None:
        reject_unstorable_text((name, by))
        with self._accepted():
            self._tables.erase_person(scope, name, now, by)
        await asyncio.sleep(0)

    async def purge_files(self) -> None:
        await asyncio.sleep(0)

    async def people(self, scope: str, ids: Sequence[str]) -> Mapping[str, AuditPerson]:
        with self._accepted():
            people = self._tables.trail.people(scope, ids)
        await asyncio.sleep(0)
        return people

    async def claim(self, claim: Claim) -> Lease:
        reject_unstorable_text(claim)
        with self._accepted():
            lease = self._tables.claim(claim, self._clock.now())
        await asyncio.sleep(0)
        return lease

    async def commit(self, lease: Lease, commit: Commit) -> bool:
        reject_unstorable_text(commit)
        with self._accepted():
            stopping = self._tables.commit(lease, commit)
        await asyncio.sleep(0)
        return stopping

    async def update_idle(self, update: Update) -> None:
        reject_unstorable_text(update)
        with self._accepted():
            self._tables.update_idle(update)
        await asyncio.sleep(0)

    async def amend(self, amendment: Amendment) -> None:
        reject_unstorable_text(amendment)
        with self._accepted():
            self._tables.amend(amendment)
        await asyncio.sleep(0)

    async def delete(
        self, scope: str, thread_id: str, revision: int, now: int, *, by: str | None = None
    ) -> None:
        reject_unstorable_text((by,))
        with self._accepted():
            self._tables.delete(scope, thread_id, revision, now, self._clock.now(), by)
        await asyncio.sleep(0)

    async def set_hold(
        self, scope: str, thread_id: str, revision: int, hold: Hold, *, lifted: bool = False
    ) -> None:
        reject_unstorable_text(hold)
        with self._accepted():
            self._tables.hold(scope, thread_id, revision, hold, lifted=lifted)
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
        reject_unstorable_text((by, channel))
        with self._accepted():
            self._tables.request_stop(scope, thread_id, fence, by=by, channel=channel)
        await asyncio.sleep(0)

    async def mark_delivered(self, scope: str, run_key: str) -> None:
        with self._accepted():
            held = self._tables.by_run.get((scope, run_key))
            if held is not None:
                held.runs[run_key] = copy_with(held.runs[run_key], delivered=True)
        await asyncio.sleep(0)

    async def due_threads(self, now: int, page: PageRequest = FIRST_PAGE) -> Page[Due]:
        begin, most = parse_cursor("due", page.after), checked_limit(page.limit)
        with self._accepted():
            found = list(islice(self._tables.due_threads(now, self._clock.now(), begin), most + 1))
        await asyncio.sleep(0)
        more = len(found) > most
        return Page(
            items=tuple(due for _, due in found[:most]),
            next=cursor("due", *found[most - 1][0]) if more else None,
        )

    async def count_all_open(self, limit: int) -> OpenCount:
        most = checked_limit(limit)
        with self._accepted():
            lists = [scope.open for scope in self._tables.scopes.values()]
            firsts = (next(listed.upwards(None), None) for listed in lists)
            oldest = min((first[0][0] for first in firsts if first is not None), default=None)
            open_count = OpenCount(count=min(sum(map(len, lists)), most), oldest=oldest)
        await asyncio.sleep(0)
        return open_count

    async def usage(self, scope: str, owner: str | None = None) -> StoreUsage:
        """Counts threads and questions; nobody measures bytes here."""
        with self._accepted():
            held = [
                tables
                for (of, _), tables in self._tables.threads.items()
                if of == scope and owner in (None, tables.thread.owner)
            ]
            questions = [item for tables in held for item in tables.interrupts.values()]
            count = sum(item.status == "open" for item in questions)
            usage = StoreUsage(threads=len(held), open_questions=count)
        await asyncio.sleep(0)
        return usage

    def renew(self, leases: Sequence[Lease], lease_ms: int) -> Renewed:
        with self._accepted():
            return self._tables.renew(leases, self._clock.now() + lease_ms)

    def _accepted(self) -> threading.Lock:
        if not self._open:
            raise StoreUnavailable("the store is not open; await its open() first")
        return self._lock

    def _scope(self, scope: str) -> Scope:
        """What is known of a scope; asking for one that does not exist makes none."""
        return self._tables.scopes.get(scope) or Scope()
