"""Everything that the memory store holds, and what its calls do to it; one caller at a time."""

import heapq
import itertools
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from sayso.base.amendment import Amendment
from sayso.base.audit import (
    NO_THREAD,
    NOBODY,
    Event,
    rows_of_approval,
    rows_of_deletion,
    rows_of_entries,
    rows_of_erasure,
    rows_of_forgotten,
    rows_of_hold,
    rows_of_interrupt,
    rows_of_revocation,
    rows_of_service,
)
from sayso.base.errors import Conflict, LeaseLost
from sayso.base.fastrecords import copy_with
from sayso.base.records import (
    Change,
    Claim,
    Commit,
    Due,
    Hold,
    Interrupt,
    Lease,
    Renewed,
    Run,
    Thread,
    TurnRecord,
    Update,
)
from sayso.base.service_tokens import ServiceToken
from sayso.stores.base import KEPT_CHANGES
from sayso.stores.changes import Note, change_kind, facts
from tests.stores.model.approvals import ApprovalTable
from tests.stores.model.audit import Trail
from tests.stores.model.lists import Key, Ordered
from tests.stores.model.thread import Arm, QuestionRow, ThreadTables

_NEVER = 2**62
Noted = tuple[Note, str, str, int]
"""A note with thread id, owner and time; its mark is its place. Plain: there are many of them."""


@dataclass(slots=True)
class Scope:
    """What belongs to one scope besides its threads."""

    active: Ordered[ThreadTables] = field(default_factory=Ordered)
    interrupts: Ordered[QuestionRow] = field(default_factory=Ordered)
    open: Ordered[QuestionRow] = field(default_factory=Ordered)
    named: dict[str, list[QuestionRow]] = field(default_factory=dict)
    """Interrupts by id, the first written first."""
    changes: deque[Noted] = field(default_factory=lambda: deque(maxlen=KEPT_CHANGES))
    mark: int = 0
    floor: tuple[int, int] = (0, 0)
    """Revision and fence above which a new thread begins."""

    def noted(self, since: int, most: int) -> tuple[Change, ...]:
        """What happened after a mark that is still known."""
        begin = since - (self.mark - len(self.changes))
        return tuple(
            Change(
                mark=mark,
                kind=kind,
                thread_id=thread_id,
                owner=owner,
                at=at,
                interrupt_id=interrupt_id,
                run_key=run_key,
            )
            for mark, ((kind, interrupt_id, run_key), thread_id, owner, at) in enumerate(
                islice(self.changes, begin, begin + most), since + 1
            )
        )


class Tables:
    """Threads of all scopes with the lists that they stand in."""

    def __init__(self) -> None:
        self.scopes: defaultdict[str, Scope] = defaultdict(Scope)
        self.threads: dict[tuple[str, str], ThreadTables] = {}
        self.by_turn: dict[tuple[str, str], ThreadTables] = {}
        self.by_run: dict[tuple[str, str], ThreadTables] = {}
        self.by_number: dict[int, ThreadTables] = {}
        self.asked: dict[int, QuestionRow] = {}
        self._due: dict[Arm, Ordered[ThreadTables]] = {
            arm: Ordered() for arm in ("abandoned", "waking", "ready")
        }
        self.approvals: ApprovalTable = ApprovalTable()
        self.trail: Trail = Trail()
        self.service_tokens: dict[str, ServiceToken] = {}
        self._numbers = itertools.count(1)

    def claim(self, claim: Claim, now: int) -> Lease:
        """Take a thread and write; see `Store.claim`."""
        held = self.threads.get((claim.scope, claim.thread_id))
        if held is None:
            if claim.revision != 0:
                raise _changed(claim.thread_id)
            held = self._create(claim)
        elif not held.is_at(claim.revision, now):
            raise _changed(claim.thread_id)
        held.thread = copy_with(
            held.thread,
            agent=claim.agent,
            revision=held.thread.revision + 1,
            fence=held.thread.fence + 1,
            holder=claim.holder,
            lease_until=now + claim.lease_ms,
            stopping=False,
            stop_by=None,
            stop_channel=None,
            updated_at=claim.now,
            state=held.thread.state if claim.state is None else claim.state,
            kept=held.thread.kept if claim.kept is None else claim.kept,
        )
        self._write_turn(held, claim.turn)
        self._write_run(held, claim.run)
        held.write_messages(claim)
        notes, events = self._write_interrupts(held, claim.interrupts)
        held.write_entries(claim.turn.key, claim.entries)
        self._seal(held, claim.now, [*rows_of_entries(claim.entries), *events])
        self._note(held, claim.now, notes, claim.run)
        self._activate(held, claim.now)
        self._mark_due(held)
        return Lease(
            scope=claim.scope,
            thread_id=claim.thread_id,
            holder=claim.holder,
            fence=held.thread.fence,
        )

    def commit(self, lease: Lease, commit: Commit) -> bool:
        """Write one step under a lease; see `Store.commit`."""
        held = self.threads.get((lease.scope, lease.thread_id))
        if held is None or not held.has(lease):
            raise LeaseLost(f"thread {lease.thread_id!r} has another holder by now, or none")
        stopping = held.thread.stopping
        if commit.turn is not None:
            self._write_turn(held, commit.turn)
        turn = commit.turn or held.turn
        if turn is not None:
            held.write_entries(turn.key, commit.entries)
        held.messages.update((message.id, message) for message in commit.messages)
        if commit.dequeue:
            held.dequeue()
        notes, events = self._write_interrupts(held, commit.interrupts)
        given = {a.id: a for a in reversed(commit.approvals)}
        new = [a for a in commit.approvals if given.get(a.id) is a]
        events += [rows_of_approval(a) for a in new if not self.approvals.one(lease.scope, a.id)]
        self._seal(held, commit.now, [*rows_of_entries(commit.entries), *events])
        if commit.next_turn is not None:
            self._write_turn(held, commit.next_turn)
        if commit.run is not None:
            self._write_run(held, commit.run)
        if commit.forget is not None:
            held.journals.pop(commit.forget, None)
        self.approvals.write(lease.scope, commit.approvals, commit.uses)
        thread = held.thread
        held.thread = copy_with(
            thread,
            revision=thread.revision + 1,
            updated_at=commit.now,
            state=thread.state if commit.state is None else commit.state,
            kept=thread.kept if commit.kept is None else commit.kept,
            holder=None if commit.release else thread.holder,
            lease_until=None if commit.release else thread.lease_until,
            stopping=stopping and not commit.release,
        )
        self._note(held, commit.now, notes, commit.run)
        if commit.release:
            self._activate(held, commit.now)
            self._mark_due(held)
        return stopping

    def update_idle(self, update: Update) -> None:
        """Change an idle thread; see `Store.update_idle`."""
        held = self.threads.get((update.scope, update.thread_id))
        revision = update.revision
        if held is None or held.thread.revision != revision or held.thread.holder is not None:
            raise _changed(update.thread_id)
        notes, events = self._write_interrupts(held, update.interrupts, update.by)
        self._seal(held, update.now, [*rows_of_entries(update.entries), *events])
        if held.turn is not None:
            held.write_entries(held.turn.key, update.entries)
        held.thread = copy_with(
            held.thread,
            revision=revision + 1,
            updated_at=update.now,
            state=held.thread.state if update.state is None else update.state,
        )
        self._note(held, update.now, notes)
        self._activate(held, update.now)
        self._mark_due(held)

    def amend(self, amendment: Amendment) -> None:
        """Write what is stored in other words; see `Store.amend`."""
        held = self.threads.get((amendment.scope, amendment.thread_id))
        if held is None or held.thread.revision != amendment.revision:
            raise _changed(amendment.thread_id)
        if held.thread.holder is not None or held.thread.hold is not None:
            raise _changed(amendment.thread_id)
        self._write_interrupts(held, amendment.interrupts)
        held.messages.update((message.id, message) for message in amendment.messages)
        if held.turn is not None:
            held.write_entries(held.turn.key, amendment.entries)
        held.thread = copy_with(
            held.thread, revision=amendment.revision + 1, updated_at=amendment.now
        )

    def delete(
        self,
        scope: str,
        thread_id: str,
        revision: int,
        now: int,
        store_now: int,
        by: str | None,
    ) -> None:
        """Remove a thread with everything but its trail; see `Store.delete`."""
        held = self.threads.get((scope, thread_id))
        if held is None or not held.is_at(revision, store_now) or held.thread.hold is not None:
            raise _changed(thread_id)
        self._note(held, now, [("deleted", None, None)])
        mine = self.scopes[scope]
        mine.floor = (max(mine.floor[0], revision), max(mine.floor[1], held.thread.fence))
        self._activate(held, None)
        for question_row in held.asked.values():
            mine.interrupts.move(question_row.key, None, question_row)
            if question_row.interrupt.status == "open":
                mine.open.move(question_row.key, None, question_row)
            mine.named[question_row.id].remove(question_row)
            if not mine.named[question_row.id]:
                del mine.named[question_row.id]
            del self.asked[question_row.number]
        for arm, since in held.due.items():
            self._due[arm].move((since, held.number), None, held)
        for index, keys in ((self.by_turn, held.turns), (self.by_run, held.runs)):
            for key in keys:
                if index.get((scope, key)) is held:
                    del index[scope, key]
        self.approvals.forget(scope, thread_id)
        self.trail.append(scope, thread_id, held.thread.owner, now, [rows_of_deletion(by)])
        del self.by_number[held.number]
        del self.threads[scope, thread_id]

    def hold(self, scope: str, thread_id: str, revision: int, hold: Hold, *, lifted: bool) -> None:
        """Put a thread on hold, or lift that; see `Store.hold`."""
        held = self.threads.get((scope, thread_id))
        if held is None or held.thread.revision != revision or lifted is (held.thread.hold is None):
            raise _changed(thread_id)
        held.thread = copy_with(
            held.thread,
            hold=None if lifted else hold,
            revision=revision + 1,
            updated_at=hold.said_at,
        )
        event = rows_of_hold(hold.reason, hold.by, lifted=lifted)
        self.trail.append(scope, thread_id, held.thread.owner, hold.said_at, [event])

    def revoke(self, scope: str, approval_id: str, by: str, now: int) -> None:
        """Revoke an approval; see `Store.revoke`."""
        revoked = self.approvals.revoke(scope, approval_id, by, now)
        self.note(scope, [rows_of_revocation(revoked, by)], now)

    def add_service_token(self, token: ServiceToken) -> None:
        """Keep a token; see `Store.add_service_token`."""
        tokens = self.service_tokens.values()
        if token.digest in self.service_tokens or any(
            (other.scope, other.id) == (token.scope, token.id) for other in tokens
        ):
            raise Conflict(f"service token {token.id!r} is there already")
        self.service_tokens[token.digest] = token
        self.note(token.scope, [rows_of_service(token)], token.added_at)

    def revoke_service_token(self, scope: str, token_id: str, by: str, now: int) -> None:
        """Revoke a token; see `Store.revoke_service_token`."""
        for token in self.service_tokens.values():
            if (token.scope, token.id) == (scope, token_id) and token.revoked_at is None:
                after = replace(token, revoked_at=now, revoked_by=by)
                self.service_tokens[token.digest] = after
                self.note(scope, [rows_of_service(after)], now)
                return
        raise Conflict(f"service token {token_id!r} is unknown, or revoked already")

    def note(self, scope: str, events: Sequence[Event], now: int) -> None:
        """Add rows that belong to no thread; see `Store.note`."""
        self.trail.append(scope, NO_THREAD, None, now, events)

    def erase_trail(self, scope: str, thread_id: str, through: int, now: int, by: str) -> None:
        """Take away contents of rows; see `Store.erase_trail`."""
        held = self.threads.get((scope, thread_id))
        if held is not None and held.thread.hold is not None:
            raise _changed(thread_id)
        if not self.trail.erase(scope, thread_id, through):
            raise _changed(thread_id)
        self.trail.append(scope, thread_id, None, now, [rows_of_erasure(through, by)])

    def erase_person(self, scope: str, name: str, now: int, by: str) -> None:
        """Take away whom rows tell of; see `Store.erase_person`."""
        changes = self.scopes[scope].changes
        for at, (note, thread_id, owner, noted_at) in enumerate(changes):
            if owner == name:
                changes[at] = (note, thread_id, NOBODY, noted_at)
        person = self.trail.forget(scope, name)
        if person is not None:
            self.trail.append(scope, NO_THREAD, None, now, [rows_of_forgotten(person, by)])

    def request_stop(
        self, scope: str, thread_id: str, fence: int, *, by: str | None, channel: str | None
    ) -> None:
        """Ask a holder to stop; see `Store.request_stop`."""
        held = self.threads.get((scope, thread_id))
        if held is None or held.thread.fence != fence or held.thread.holder is None:
            raise _changed(thread_id)
        if not held.thread.stopping:
            held.thread = copy_with(held.thread, stopping=True, stop_by=by, stop_channel=channel)

    def renew(self, leases: Sequence[Lease], until: int) -> Renewed:
        """Prolong leases; see `Store.renew`."""
        lost, stopping = [], []
        for lease in leases:
            held = self.threads.get((lease.scope, lease.thread_id))
            if held is None or not held.has(lease):
                lost.append(lease)
                continue
            held.thread = copy_with(held.thread, lease_until=until)
            self._mark_due(held)
            if held.thread.stopping:
                stopping.append(lease)
        return Renewed(lost=tuple(lost), stop_requested=tuple(stopping))

    def due_threads(self, now: int, store_now: int, after: Key | None) -> Iterator[tuple[Key, Due]]:
        """Who needs the server, oldest first; see `Store.due_threads`."""
        until: dict[Arm, int] = {"abandoned": store_now, "waking": now, "ready": _NEVER}
        arms = (_until(moment, arm, self._due[arm].upwards(after)) for arm, moment in until.items())
        for key, held, arm in heapq.merge(*arms, key=lambda item: item[0]):
            why = arm if arm != "waking" else "expired" if held.is_expired(now) else "remind"
            yield key, Due(scope=held.thread.scope, thread_id=held.thread.id, why=why)

    def _create(self, claim: Claim) -> ThreadTables:
        revision, fence = self.scopes[claim.scope].floor
        thread = Thread(
            scope=claim.scope,
            id=claim.thread_id,
            owner=claim.owner,
            agent=claim.agent,
            revision=revision,
            fence=fence,
            created_at=claim.now,
            updated_at=claim.now,
        )
        held = ThreadTables(thread, next(self._numbers))
        self.threads[claim.scope, claim.thread_id] = self.by_number[held.number] = held
        return held

    def _write_turn(self, held: ThreadTables, turn: TurnRecord) -> None:
        held.write_turn(turn)
        self.by_turn[held.thread.scope, turn.key] = held

    def _write_run(self, held: ThreadTables, run: Run) -> None:
        if run.key not in held.runs:
            held.run_numbers[run.key] = next(self._numbers)
        held.runs[run.key] = run
        self.by_run[held.thread.scope, run.key] = held

    def _seal(self, held: ThreadTables, at: int, events: list[Event]) -> None:
        thread = held.thread
        self.trail.append(thread.scope, thread.id, thread.owner, at, events)

    def _write_interrupts(
        self, held: ThreadTables, interrupts: Iterable[Interrupt], by: str | None = None
    ) -> tuple[list[Note], list[Event]]:
        notes: list[Note] = []
        events: list[Event] = []
        for interrupt in interrupts:
            old = held.interrupts.get(interrupt.id)
            kind = change_kind(None if old is None else facts(old), facts(interrupt))
            if kind is not None:
                notes.append((kind, interrupt.id, None))
                events.append(rows_of_interrupt(kind, interrupt, by))
                if kind == "opened" and interrupt.assigned_to is not None:
                    events.append(rows_of_interrupt("assigned", interrupt, by))
            self._write_interrupt(held, interrupt, old)
        return notes, events

    def _write_interrupt(
        self, held: ThreadTables, interrupt: Interrupt, old: Interrupt | None
    ) -> None:
        mine = self.scopes[held.thread.scope]
        question_row = held.asked.get(interrupt.id)
        if question_row is None:
            question_row = QuestionRow(held, interrupt.id, next(self._numbers), held.thread.agent)
            held.asked[interrupt.id] = self.asked[question_row.number] = question_row
            mine.named.setdefault(interrupt.id, []).append(question_row)
        held.interrupts[interrupt.id] = interrupt
        before = None if old is None else (old.created_at, question_row.number)
        now = interrupt.created_at, question_row.number
        mine.interrupts.move(before, now, question_row)
        was_open = old is not None and old.status == "open"
        mine.open.move(
            before if was_open else None, now if interrupt.status == "open" else None, question_row
        )

    def _activate(self, held: ThreadTables, now: int | None) -> None:
        """List a thread as active at that time; None takes it from the list."""
        old, held.active_at = held.active_at, now
        self.scopes[held.thread.scope].active.move(_key(old, held), _key(now, held), held)

    def _mark_due(self, held: ThreadTables) -> None:
        due = held.due_now()
        for arm in held.due.keys() | due.keys():
            self._due[arm].move(_key(held.due.get(arm), held), _key(due.get(arm), held), held)
        held.due = due

    def _note(self, held: ThreadTables, at: int, notes: list[Note], run: Run | None = None) -> None:
        thread, mine = held.thread, self.scopes[held.thread.scope]
        if run is not None and run.ended_at is not None:
            notes = [*notes, ("run_ended", None, run.key)]
        for note in notes:
            mine.changes.append((note, thread.id, thread.owner, at))
        mine.mark += len(notes)


def _key(moment: int | None, held: ThreadTables) -> Key | None:
    return None if moment is None else (moment, held.number)


def _until(
    moment: int, arm: Arm, items: Iterator[tuple[Key, ThreadTables]]
) -> Iterator[tuple[Key, ThreadTables, Arm]]:
    for key, held in items:
        if key[0] > moment:
            return
        yield key, held, arm


def _changed(thread_id: str) -> Conflict:
    return Conflict(f"thread {thread_id!r} is not what was read; load it again and decide anew")
