"""A step on a thread, planned: from what a store has read, what it has to write.

What a claim, a commit, an update and a deletion mean is said here and nowhere else. A backend reads
the facts, asks for the plan, and writes its rows: all of them, or none if the thread is not what
the facts say any more. Its own are the numbers that it counts (positions, marks, revisions), the
lists that it reads from, and its clock.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from sayso.base.amendment import Amendment
from sayso.base.audit import (
    GENESIS,
    NO_THREAD,
    NOBODY,
    Event,
    Rename,
    chained,
    encoded,
    new_salt,
    rows_of_approval,
    rows_of_deletion,
    rows_of_entries,
    rows_of_erasure,
    rows_of_forgotten,
    rows_of_hold,
    rows_of_interrupt,
    scrubbed,
)
from sayso.base.errors import Conflict, LeaseLost
from sayso.base.records import (
    Approval,
    ApprovalUse,
    Claim,
    Commit,
    Entry,
    Hold,
    Interrupt,
    Lease,
    Message,
    Run,
    TurnRecord,
    Update,
)
from sayso.base.secretvalues import SecretValue
from sayso.stores.changes import FACTS, Note, change_kind

Mode = Literal["new", "take", "hold", "idle", "gone", "noted"]
"""The condition that has to be true of the thread as the step is written.

`new`: there is none. `take`, `gone`: it has the revision, and no lease on it runs. `hold`: the
holder has it under that fence. `idle`: it has the revision, and nobody holds it. `noted`: it has
the revision, whoever holds it.
"""

Seen = tuple[Any, ...]
"""The turn of a stored interrupt, when it was asked, and what is noted of it."""
seen: Callable[[Interrupt], Seen] = attrgetter("turn_key", "created_at", *FACTS)


_NONE_STORED: Mapping[str, Seen] = MappingProxyType({})


@dataclass(init=False)  # one is made for each step: what most of them do not have is not set
class StepFacts:
    """A thread as a store has read it, as much as the step needs.

    Of a thread that does not exist `revision` and `fence` are those above which it begins.
    `leased`: its lease has not run out by the store's clock. `turn` is the newest, and `turns` has
    those of the step that are stored beside it. `interrupts` are those of the step that are stored.
    `on_hold`: nothing of it may be deleted. `audited` and `digest` are of the newest audit row;
    nobody reads them for a step without one. `person` gives the id that stands for a name in the
    audit trail, `salt` the salt of a row. `approvals` has the ids of those of the step that are
    stored.
    """

    scope: str
    thread_id: str
    exists: bool
    person: Rename
    salt: Callable[[], bytes]
    interrupts: Mapping[str, Seen]
    owner: str = ""
    agent: str = ""
    revision: int = 0
    fence: int = 0
    holder: str | None = None
    leased: bool = False
    on_hold: bool = False
    turn: str | None = None
    turns: Container[str] = ()
    approvals: Container[str] = ()
    audited: int = 0
    digest: str = GENESIS

    def __init__(self, scope: str, thread_id: str, *, exists: bool, person: Rename) -> None:
        self.scope = scope
        self.thread_id = thread_id
        self.exists = exists
        self.person = person
        self.salt = new_salt
        self.interrupts = _NONE_STORED


class AuditLine(NamedTuple):
    """A row to add to the audit trail of a thread; `owner` is a person's id."""

    number: int
    owner: str
    kind: str
    content: bytes
    salt: bytes
    content_digest: str
    digest: str


class QuestionWrite(NamedTuple):
    """An interrupt to write, and what was stored of it; None if it is new."""

    interrupt: Interrupt
    before: Seen | None


@dataclass(init=False)
class Writes:
    """The rows of a step, in the order in which they are written, and the thread's own at last.

    `turn` is the newest turn after it; `drops_journals`: all stored entries go first. A run is the
    newest if it was not stored. `appended` messages stay as they are stored, but become visible;
    `messages` are replaced in place. `questions` stand once each. `holder` has the thread from now
    on; `lease_ms` is given with a new lease.
    """

    mode: Mode
    now: int
    owner: str
    agent: str
    holder: str | None = None
    lease_ms: int | None = None
    turn: str | None = None
    turns: Sequence[TurnRecord] = ()
    new_turns: Container[str] = ()
    drops_journals: bool = False
    run: Run | None = None
    hide: Sequence[str] = ()
    appended: Sequence[Message] = ()
    messages: Sequence[Message] = ()
    entries_of: str | None = None
    entries: Sequence[Entry] = ()
    dequeue: bool = False
    questions: Sequence[QuestionWrite] = ()
    notes: Sequence[Note] = ()
    audit: Sequence[AuditLine] = ()
    state: bytes | None = None
    kept: bytes | None = None
    forget: str | None = None
    secrets: Sequence[SecretValue] = ()
    approvals: Sequence[Approval] = ()
    uses: Sequence[ApprovalUse] = ()

    def __init__(self, mode: Mode, now: int, owner: str, agent: str) -> None:
        self.mode = mode
        self.now = now
        self.owner = owner
        self.agent = agent

    @property
    def lets_go(self) -> bool:
        """True if nobody holds the thread any more: it may need the server from now on."""
        return self.holder is None and self.mode in ("hold", "idle")

    @property
    def drops_secrets(self) -> bool:
        """True if values that are kept apart go first: they end with the journal of their turn."""
        return self.drops_journals or (self.forget is not None and self.forget == self.turn)

    @property
    def is_active(self) -> bool:
        """True if lists show the thread as active now: it is begun, let go or changed idle."""
        return self.mode in ("new", "take") or self.lets_go

    @property
    def is_told(self) -> bool:
        """True if others wait for it: something is noted, or a holder lets go."""
        return bool(self.notes) or (self.mode == "hold" and self.holder is None)


def plan_claim(facts: StepFacts, claim: Claim) -> Writes:
    """Plan to take a thread; raises `Conflict`."""
    if facts.leased or claim.revision != (facts.revision if facts.exists else 0):
        raise conflict_on(claim.thread_id)
    if claim.thread_id == NO_THREAD:
        raise ValueError("a thread needs an id: without one are the rows of no thread")
    owner = facts.owner if facts.exists else claim.owner
    writes = Writes("take" if facts.exists else "new", claim.now, owner, claim.agent)
    writes.holder, writes.lease_ms = claim.holder, claim.lease_ms
    writes.run = claim.run
    writes.hide, writes.appended = claim.hide, claim.messages
    writes.entries_of, writes.entries = claim.turn.key, claim.entries
    writes.secrets = claim.secrets
    writes.state, writes.kept = claim.state, claim.kept
    _plan_turns(writes, facts, (claim.turn,))
    _plan_questions(writes, facts, claim)
    return writes


def plan_commit(facts: StepFacts, lease: Lease, commit: Commit) -> Writes:
    """Plan a step of a holder; raises `LeaseLost`."""
    if not facts.exists or (facts.fence, facts.holder) != (lease.fence, lease.holder):
        raise lease_lost(lease)
    writes = Writes("hold", commit.now, facts.owner, facts.agent)
    writes.holder = None if commit.release else lease.holder
    writes.turn, writes.run = facts.turn, commit.run
    writes.messages, writes.dequeue = commit.messages, commit.dequeue
    writes.entries_of, writes.entries = facts.turn, commit.entries
    writes.state, writes.kept = commit.state, commit.kept
    writes.forget, writes.secrets = commit.forget, commit.secrets
    writes.approvals, writes.uses = commit.approvals, commit.uses
    if commit.turn is not None or commit.next_turn is not None:
        written = (commit.turn, commit.next_turn)
        _plan_turns(writes, facts, [turn for turn in written if turn is not None])
        if commit.turn is not None:
            writes.entries_of = commit.turn.key
        following = commit.next_turn and commit.next_turn.key
        if following != writes.entries_of and following in writes.new_turns:
            # It would drop them with all others, after they were written.
            writes.entries, writes.secrets, writes.forget = (), (), None
    _plan_questions(writes, facts, commit)
    return writes


def plan_update(facts: StepFacts, update: Update) -> Writes:
    """Plan to change an idle thread; raises `Conflict`."""
    if not facts.exists or update.revision != facts.revision or facts.holder is not None:
        raise conflict_on(update.thread_id)
    writes = Writes("idle", update.now, facts.owner, facts.agent)
    writes.turn = writes.entries_of = facts.turn
    writes.entries, writes.state = update.entries, update.state
    writes.secrets = update.secrets
    _plan_questions(writes, facts, update, update.by)
    return writes


def plan_deletion(facts: StepFacts, revision: int, now: int, by: str | None) -> Writes:
    """Plan to remove a thread; raises `Conflict`. What is left of it is its audit trail."""
    if not facts.exists or revision != facts.revision or facts.leased or facts.on_hold:
        raise conflict_on(facts.thread_id)
    writes = Writes("gone", now, facts.owner, facts.agent)
    writes.notes = [("deleted", None, None)]
    writes.audit = _audit(facts, facts.person(facts.owner), now, [rows_of_deletion(by)])
    return writes


def plan_hold(facts: StepFacts, revision: int, hold: Hold, *, lifted: bool) -> Writes:
    """Plan to put a thread on hold, or to lift that; raises `Conflict`."""
    if not facts.exists or revision != facts.revision or lifted is not facts.on_hold:
        raise conflict_on(facts.thread_id)
    writes = Writes("noted", hold.said_at, facts.owner, facts.agent)
    writes.holder, writes.turn = facts.holder, facts.turn
    event = rows_of_hold(hold.reason, hold.by, lifted=lifted)
    writes.audit = _audit(facts, facts.person(facts.owner), hold.said_at, [event])
    return writes


def plan_amendment(facts: StepFacts, amendment: Amendment) -> Writes:
    """Plan to write texts of an idle thread in other words; raises `Conflict`."""
    is_idle = facts.exists and facts.holder is None and not facts.on_hold
    if not is_idle or amendment.revision != facts.revision:
        raise conflict_on(facts.thread_id)
    writes = Writes("noted", amendment.now, facts.owner, facts.agent)
    writes.turn = writes.entries_of = facts.turn
    writes.messages, writes.entries = amendment.messages, amendment.entries
    stored = facts.interrupts
    writes.questions = [QuestionWrite(i, stored.get(i.id)) for i in amendment.interrupts]
    return writes


def plan_forgotten(
    scope: str, newest: tuple[int, str], person: Rename, now: int, event: tuple[str, str]
) -> list[AuditLine]:
    """Plan the row of a name that is taken away; `event` is the id of whom, and by whom."""
    return plan_notes(scope, newest, person, now, [rows_of_forgotten(*event)])


def plan_notes(
    scope: str, newest: tuple[int, str], person: Rename, now: int, events: Iterable[Event]
) -> list[AuditLine]:
    """Plan rows that belong to no thread; `newest` is number and digest of the last of these."""
    facts = StepFacts(scope, NO_THREAD, exists=False, person=person)
    facts.audited, facts.digest = newest
    return _audit(facts, NOBODY, now, events)


def plan_erasure(
    whose: tuple[str, str, str],
    newest: tuple[int, str],
    person: Rename,
    now: int,
    event: tuple[int, str],
) -> list[AuditLine]:
    """Plan the row of contents that are taken away; `event` is up to which number, and by whom.

    `whose` are scope, thread, which may be gone, and the owner of its newest row.

    Raises `Conflict`.
    """
    scope, thread_id, owner = whose
    facts = StepFacts(scope, thread_id, exists=False, person=person)
    facts.audited, facts.digest = newest
    if not 0 < event[0] <= facts.audited:
        raise conflict_on(thread_id)
    return _audit(facts, owner, now, [rows_of_erasure(*event)])


class Need(NamedTuple):
    """When an idle thread needs the server.

    `ready`: from now on, since nobody is asked any more. `waking`: at `at`, for an expiry or a
    reminder; `expiry` is the first expiry, if there is one.
    """

    arm: Literal["ready", "waking"]
    at: int
    expiry: int | None = None


def need_of(status: str | None, waits: Sequence[Interrupt], now: int) -> Need | None:
    """Tell when an idle thread needs the server; `waits` are the questions that nobody answered."""
    if status != "suspended":
        return None
    if not waits:
        return Need("ready", now)
    first = min(expiries(waits), default=None)
    reminders = [i.remind_at for i in waits if i.remind_at is not None and i.reminded_at is None]
    moments = reminders if first is None else [*reminders, first]
    return Need("waking", min(moments), first) if moments else None


def expiries(waits: Iterable[Interrupt]) -> list[int]:
    """When questions expire that have not lapsed."""
    return [i.expires_at for i in waits if i.expires_at is not None and i.lapsed_at is None]


def conflict_on(thread_id: str) -> Conflict:
    """Make the error of a step on a thread that is not as it was read."""
    return Conflict(f"thread {thread_id!r} is not what was read; load it again and decide anew")


def lease_lost(lease: Lease) -> LeaseLost:
    """Make the error of a step under a lease that is no longer the thread's."""
    return LeaseLost(f"thread {lease.thread_id!r} has another holder by now, or none")


def _plan_turns(writes: Writes, facts: StepFacts, turns: Sequence[TurnRecord]) -> None:
    """A turn that is new is the newest, and ends the journals of those before."""
    new: list[str] = []
    for turn in turns:
        if turn.key != facts.turn and turn.key not in new and turn.key not in facts.turns:
            new.append(turn.key)
    writes.turns, writes.new_turns = turns, new
    writes.turn = new[-1] if new else facts.turn
    writes.drops_journals = facts.exists and bool(new)


def _plan_questions(
    writes: Writes, facts: StepFacts, step: Claim | Commit | Update, by: str | None = None
) -> None:
    """Questions with their notes, and the audit rows of what is recorded, of them, of approvals."""
    events = rows_of_entries(step.entries) if step.entries else []
    notes: list[Note] = []
    if step.interrupts:
        written: dict[str, Interrupt] = {}
        for interrupt in step.interrupts:
            earlier = written.get(interrupt.id)
            before = facts.interrupts.get(interrupt.id) if earlier is None else seen(earlier)
            kind = change_kind(before and before[2:], seen(interrupt)[2:])
            if kind is not None:
                notes.append((kind, interrupt.id, None))
                if kind != "result":  # the call has its own rows
                    events.append(rows_of_interrupt(kind, interrupt, by))
                if kind == "opened" and interrupt.assigned_to is not None:
                    # A copied question keeps to whom it was given.
                    events.append(rows_of_interrupt("assigned", interrupt, by))
            written[interrupt.id] = interrupt
        writes.questions = [QuestionWrite(i, facts.interrupts.get(i.id)) for i in written.values()]
    if writes.run is not None and writes.run.ended_at is not None:
        notes.append(("run_ended", None, writes.run.key))
    if notes:
        writes.notes = notes
    events += map(rows_of_approval, _new_approvals(facts, writes.approvals))
    if events:
        if step.scrub is not None:
            events = [scrubbed(event, step.scrub) for event in events]
        writes.audit = _audit(facts, facts.person(writes.owner), writes.now, events)


def _new_approvals(facts: StepFacts, approvals: Iterable[Approval]) -> Iterable[Approval]:
    """Those that are not stored, each id once."""
    new: dict[str, Approval] = {}
    for approval in approvals:
        if approval.id not in facts.approvals:
            new.setdefault(approval.id, approval)
    return new.values()


def _audit(facts: StepFacts, owner: str, at: int, events: Iterable[Event]) -> list[AuditLine]:
    """Rows that each seal the one before; `owner` is a person's id."""
    whose, digest = (facts.scope, facts.thread_id, owner), facts.digest
    lines = []
    for number, event in enumerate(events, facts.audited + 1):
        (kind, content), salt = encoded(event, facts.person), facts.salt()
        inner, digest = chained(whose, digest, number, at, kind, content, salt)
        lines.append(AuditLine(number, whose[-1], kind, content, salt, inner, digest))
    return lines
