"""Operations of an SQL store on a thread inside a transaction, in whatever dialect.

Every function runs in a thread of the store's own, within a transaction or a savepoint: raising is
enough to leave nothing behind.
"""

from collections.abc import Sequence

from sayso.base.amendment import Amendment
from sayso.base.audit import GENESIS, is_audited
from sayso.base.fastrecords import from_columns
from sayso.base.records import (
    Claim,
    Commit,
    Due,
    Entry,
    Hold,
    Interrupt,
    Lease,
    Message,
    Page,
    PageRequest,
    Renewed,
    ThreadView,
    Update,
)
from sayso.stores.codec import hold_to_json
from sayso.stores.pagination import checked_limit, cursor, parse_cursor
from sayso.stores.rekeying import Rekeying
from sayso.stores.sealing import INTERRUPT_TEXTS, Passage
from sayso.stores.sql import approvals, audit, secrets
from sayso.stores.sql.changes import (
    StoredInterrupts,
    Whose,
    note,
    put_questions,
    stored_interrupts,
)
from sayso.stores.sql.rows import (
    entry_row,
    interrupt_of,
    message_row,
    run_of,
    run_row,
    thread_of,
    turn_of,
    turn_row,
)
from sayso.stores.sql.session import Answer, Row, Transaction
from sayso.stores.step import (
    StepFacts,
    Writes,
    conflict_on,
    plan_amendment,
    plan_claim,
    plan_commit,
    plan_deletion,
    plan_hold,
    plan_update,
)

_DELETIONS = (
    "forget_journals",
    "delete_messages",
    "delete_asked",
    "delete_interrupts",
    "delete_requests",
    "delete_turns",
    "delete_runs",
    "delete_state",
    "delete_kept",
    "delete_thread",
)
"""What names others before them; the thread last."""

_TEXTS = (
    ("thread", 0, ("thread.hold",)),
    ("state", 0, ("state.body",)),
    ("kept", 0, ("kept.body",)),
    ("request", 1, ("turn.request",)),
    ("run", 1, ("run.outcome",)),
    ("message", 1, ("message.body",)),
    ("entry", 2, ("entry.fingerprint", "entry.data")),
    ("interrupt", 1, tuple(f"interrupt.{name}" for name in INTERRUPT_TEXTS)),
)
"""Tables, how many columns name a row of a thread, and the columns that are encrypted."""
_REKEYED_THREADS = 20
_REKEYED_TEXTS = 500
"""Texts that are written in one transaction, about: others wait for it."""


def load(
    db: Transaction,
    scope: str,
    thread_id: str,
    run_id: str | None,
    interrupt_ids: Sequence[str],
) -> ThreadView | None:
    """Read a thread."""
    row = db.one("read_thread", (scope, thread_id))
    if row is None:
        return None
    thread, turn_key, run_key = row[:3]
    way = db.seals.out_of(scope, thread_id)
    named = db.prefetch("read_named_run", (thread, run_id)) if run_id is not None else tuple
    turn = db.prefetch("read_turn", (turn_key, thread))
    run = db.prefetch("read_run", (run_key, thread))
    messages = db.prefetch("read_messages", (thread,))
    interrupts = db.prefetch("read_interrupts", (thread, turn_key))
    return ThreadView(
        turn=next((way.turn(turn_of(row)) for row in turn()), None),
        thread=thread_of(row[3:], way),
        named_run=next((way.run(run_of(row)) for row in named()), None),
        run=next((way.run(run_of(row)) for row in run()), None),
        messages=tuple(way.messages(from_columns(Message, zip(*messages(), strict=True)))),
        interrupts=_interrupts(db, thread, interrupts(), interrupt_ids, way),
    )


def journal(db: Transaction, scope: str, turn_key: str) -> tuple[Entry, ...]:
    """Read the journal of a turn."""
    rows = db.all("read_journal", (turn_key, scope))
    if not rows:
        return ()
    thread_id, *columns = zip(*rows, strict=True)
    entries = from_columns(Entry, columns)
    return tuple(db.seals.out_of(scope, thread_id[0]).entries(turn_key, entries))


class _ThreadFacts(StepFacts):
    """A thread with its row's key, its newest run, and the fence that was asked to stop."""

    key: int = 0
    run: str = ""
    stop_fence: int | None = None


class _StoredTurns:
    """The turns of a thread; asked for one by one, since most steps need none."""

    def __init__(self, db: Transaction, scope: str, thread_id: str) -> None:
        self._db = db
        self._thread = (scope, thread_id)

    def __contains__(self, key: object) -> bool:
        return self._db.one("known_turn", (key, *self._thread)) is not None


class _Reads:
    """The reads of a step: all are asked for at once, before it waits for the first answer."""

    def __init__(
        self,
        db: Transaction,
        scope: str,
        thread_id: str,
        interrupts: Sequence[Interrupt] = (),
        *,
        audited: bool,
    ) -> None:
        """Ask for a thread; for its newest audit row only if the step may add some."""
        self._db, self._scope, self._thread_id = db, scope, thread_id
        self._thread = db.prefetch("find_thread", (scope, thread_id))
        self._last: Answer | None = None
        self._interrupts: StoredInterrupts | None = None
        if audited or interrupts:
            self._last = db.prefetch("last_audit", (scope, thread_id))
        if interrupts:
            self._interrupts = stored_interrupts(db, scope, thread_id, interrupts)

    def facts(self, *, leases: bool = False, floor: Answer = tuple) -> _ThreadFacts:
        """Wait for them; with `leases` a lease that runs counts."""
        db, row = self._db, next(iter(self._thread()), None)
        people = audit.KnownPeople(db, self._scope)
        facts = _ThreadFacts(
            self._scope, self._thread_id, exists=row is not None, person=people.__getitem__
        )
        if row is None:
            facts.revision, facts.fence = next(iter(floor()), (0, 0))
        else:
            facts.key, facts.revision, facts.fence, facts.holder, until, *newest = row
            facts.turn, facts.run, facts.stop_fence, facts.owner, facts.agent, on_hold = newest
            facts.on_hold = bool(on_hold)
            facts.leased = leases and until is not None and until > db.now()
        if self._interrupts is not None:
            facts.interrupts = self._interrupts()
        if self._last is not None:
            facts.audited, facts.digest = next(iter(self._last()), (0, GENESIS))
        return facts


def claim(db: Transaction, wanted: Claim) -> Lease:
    """Take a thread and write what the claim holds."""
    scope, thread_id = wanted.scope, wanted.thread_id
    floor: Answer = tuple
    known_run: Answer = tuple
    if wanted.revision == 0:
        db.lock_scope(scope, deletes=False)
        floor = db.prefetch("read_floor", (scope,))
    reads = _Reads(db, scope, thread_id, wanted.interrupts, audited=bool(wanted.entries))
    if wanted.revision != 0:
        known_run = db.prefetch("known_run", (wanted.run.key, scope, thread_id))
    facts = reads.facts(leases=True, floor=floor)
    if facts.exists:
        facts.turns = _StoredTurns(db, scope, thread_id)
    writes = plan_claim(facts, wanted)
    until = db.now() + wanted.lease_ms
    if writes.mode == "new":
        facts.key = _create(db, facts, wanted, until)
    else:
        run = facts.run if known_run() else wanted.run.key
        taken = (wanted.agent, wanted.now, wanted.now, wanted.holder, until, writes.turn, run)
        db.do("take_thread", (*taken, facts.key))
    _write(db, facts, writes)
    return Lease(scope=scope, thread_id=thread_id, holder=wanted.holder, fence=facts.fence + 1)


def commit(db: Transaction, lease: Lease, step: Commit) -> bool:
    """Write one step under a lease; true if its holder was asked to stop."""
    audited = any(map(is_audited, step.entries)) or bool(step.approvals)
    reads = _Reads(db, lease.scope, lease.thread_id, step.interrupts, audited=audited)
    facts = reads.facts()
    if step.turn is not None or step.next_turn is not None:
        facts.turns = _StoredTurns(db, lease.scope, lease.thread_id)
    if step.approvals:
        facts.approvals = approvals.stored(db, lease.scope, step.approvals)
    writes = plan_commit(facts, lease, step)
    run = facts.run
    if step.run is not None and step.run.key != run:
        values = (step.run.key, lease.scope, lease.thread_id)
        run = run if db.one("known_run", values) else step.run.key
    _write(db, facts, writes)
    if (writes.turn, run) != (facts.turn, facts.run):
        db.do("point_thread", (writes.turn, run, facts.key))
    if writes.lets_go:
        _release(db, facts.key, step.now)
    else:
        db.do("touch_thread", (step.now, facts.key))
    return facts.stop_fence == lease.fence


def update_idle(db: Transaction, update: Update) -> None:
    """Change an idle thread."""
    audited = bool(update.entries)
    reads = _Reads(db, update.scope, update.thread_id, update.interrupts, audited=audited)
    facts = reads.facts()
    _write(db, facts, plan_update(facts, update))
    _release(db, facts.key, update.now)


def amend(db: Transaction, amendment: Amendment) -> None:
    """Write what is stored of an idle thread in other words."""
    scope, thread_id = amendment.scope, amendment.thread_id
    facts = _Reads(db, scope, thread_id, amendment.interrupts, audited=False).facts()
    _write(db, facts, plan_amendment(facts, amendment))
    db.do("touch_thread", (amendment.now, facts.key))


def delete(
    db: Transaction, scope: str, thread_id: str, revision: int, now: int, by: str | None
) -> None:
    """Remove a thread with everything but its audit trail."""
    db.lock_scope(scope, deletes=True)
    facts = _Reads(db, scope, thread_id, audited=True).facts(leases=True)
    _write(db, facts, plan_deletion(facts, revision, now, by))
    approvals.forget(db, scope, thread_id)
    secrets.forget(db, scope, thread_id)
    db.do("raise_floor", (scope, revision, facts.fence))
    for deletion in _DELETIONS:
        db.do(deletion, (facts.key,))


def hold(
    db: Transaction, scope: str, thread_id: str, revision: int, word: Hold, lifted: bool
) -> None:
    """Put a thread on hold, or lift that."""
    facts = _Reads(db, scope, thread_id, audited=True).facts()
    _write(db, facts, plan_hold(facts, revision, word, lifted=lifted))
    body = None if lifted else hold_to_json(word)
    body = db.seals.into(scope, thread_id).one("thread.hold", "", body)
    db.do("hold_thread", (body, facts.key))
    db.do("touch_thread", (word.said_at, facts.key))


def request_stop(
    db: Transaction,
    scope: str,
    thread_id: str,
    fence: int,
    by: str | None,
    channel: str | None,
) -> None:
    """Ask a holder to stop."""
    values = {"scope": scope, "id": thread_id, "fence": fence, "by": by, "channel": channel}
    if db.one("ask_to_stop", values) is None:
        raise conflict_on(thread_id)
    db.notify(scope, thread_id)


def mark_delivered(db: Transaction, scope: str, run_key: str) -> None:
    """Note that a run reached its reader."""
    db.do("note_delivery", (run_key, scope))


def due_threads(db: Transaction, now: int, page: PageRequest) -> Page[Due]:
    """Find threads that need the server."""
    moment, position = parse_cursor("due", page.after) or (-1, -1)
    values = {
        "now": now,
        "store_now": db.now(),
        "moment": moment,
        "position": position,
        "limit": checked_limit(page.limit) + 1,
    }
    rows = db.all("due_threads", values)
    return Page(
        items=tuple(
            Due(scope=scope, thread_id=thread_id, why=why)
            for _, _, scope, thread_id, why in rows[: page.limit]
        ),
        next=cursor("due", *rows[page.limit - 1][:2]) if len(rows) > page.limit else None,
    )


def renew(db: Transaction, leases: Sequence[Lease], lease_ms: int) -> Renewed:
    """Prolong leases; tells the lost ones and those that shall stop."""
    until = db.now() + lease_ms
    lost, stopping = [], []
    for lease in leases:
        row = db.one("read_lease", (lease.scope, lease.thread_id, lease.fence, lease.holder))
        if row is None:
            lost.append(lease)
            continue
        db.do("renew_lease", (until, row[0]))
        if row[1]:
            stopping.append(lease)
    return Renewed(lost=tuple(lost), stop_requested=tuple(stopping))


def take_duty(db: Transaction, duty: str, holder: str, lease_ms: int) -> bool:
    """Take what one process of all does."""
    now = db.now()
    return db.one("take_duty", (duty, holder, now + lease_ms, now)) is not None


def rekey(db: Transaction, work: Rekeying, begin: int, *, look: bool) -> int | None:
    """Bring threads with all that belongs to them under another key; where to go on.

    Each is locked as a step locks it, unless this only looks.
    """
    threads = db.all("next_threads", (begin, _REKEYED_THREADS))
    for key, scope, thread_id in threads:
        if look or db.one("find_thread", (scope, thread_id)) is not None:
            for table, names, columns in _TEXTS:
                for row in db.all(f"texts_of_{table}", (key,)):
                    label = "\0".join(row[:names])
                    fresh = work.renewed(scope, thread_id, label, columns, row[names:])
                    if fresh is not None:
                        db.do(f"rekey_{table}", (*fresh, key, *row[:names]))
        begin = key
        if work.batch.encrypted >= _REKEYED_TEXTS:
            return begin
    return begin if len(threads) == _REKEYED_THREADS else None


def _create(db: Transaction, facts: StepFacts, wanted: Claim, until: int) -> int:
    """A new thread above what was deleted; its key."""
    values = (
        wanted.scope,
        wanted.thread_id,
        wanted.owner,
        wanted.agent,
        facts.revision + 1,
        facts.fence + 1,
        wanted.now,
        wanted.now,
        wanted.now,
        wanted.holder,
        until,
        wanted.turn.key,
        wanted.run.key,
    )
    row = db.one("add_thread", values)
    if row is None:
        raise conflict_on(wanted.thread_id)
    key: int = row[0]
    return key


def _release(db: Transaction, thread: int, now: int) -> None:
    """Count a write to a thread that nobody holds from now on."""
    db.do("release_thread", (now, now, thread))
    db.do("mark_due", (thread,))


def _write(db: Transaction, facts: _ThreadFacts, writes: Writes) -> None:
    """Write all rows of a step but the thread's own."""
    thread = facts.key
    way = db.seals.into(facts.scope, facts.thread_id)
    _write_history(db, thread, writes, way)
    if writes.questions or writes.notes or writes.audit:
        whose = Whose(thread, facts.scope, facts.thread_id, writes.owner, writes.agent)
        put_questions(db, whose, writes.questions, way)
        note(db, whose, writes.now, writes.notes)
        if writes.audit:
            audit.append(db, facts.scope, facts.thread_id, writes.now, writes.audit)
    if writes.state is not None:
        db.do("put_state", (thread, way.one("state.body", "", writes.state)))
    if writes.kept is not None:
        db.do("put_kept", (thread, way.one("kept.body", "", writes.kept)))
    if writes.forget is not None:
        db.do("forget_journal", (thread, writes.forget))
    if writes.secrets or db.seals.codec is not None:
        secrets.write(db, facts.scope, facts.thread_id, writes)
    if writes.approvals or writes.uses:
        approvals.write(db, facts.scope, writes.approvals, writes.uses)
    if writes.is_told:
        db.notify(facts.scope, facts.thread_id)


def _write_history(db: Transaction, thread: int, writes: Writes, way: Passage) -> None:
    """Write turns, the run, entries and messages."""
    if writes.drops_journals:
        db.do("forget_journals", (thread,))
    for turn in writes.turns:
        db.do("put_turn", (thread, *turn_row(turn)))
        db.do("put_request", (thread, turn.key, way.turn(turn).request))
    if writes.run is not None:
        db.do("put_run", (thread, *run_row(way.run(writes.run))))
    if writes.hide:
        db.insert_many("hide_message", [(thread, message_id) for message_id in writes.hide])
    if writes.appended:
        appended = way.messages(writes.appended)
        db.insert_many("append_message", [(thread, *message_row(m)) for m in appended])
    if writes.entries:
        turn_key = writes.entries_of or ""
        entries = way.entries(turn_key, writes.entries)
        db.insert_many("put_entry", [(thread, turn_key, *entry_row(e)) for e in entries])
    if writes.messages:
        messages = way.messages(writes.messages)
        db.insert_many("put_message", [(thread, *message_row(m)) for m in messages])
    if writes.dequeue:
        db.do("dequeue_messages", (thread,))


def _interrupts(
    db: Transaction, thread: int, rows: Sequence[Row], asked: Sequence[str], way: Passage
) -> tuple[Interrupt, ...]:
    newest = [interrupt_of(row, way) for row in rows]
    missing = set(asked).difference(interrupt.id for interrupt in newest)
    found = (db.one("read_earlier_interrupt", (thread, interrupt_id)) for interrupt_id in missing)
    earlier = sorted((row for row in found if row is not None), key=lambda row: int(row[0]))
    return (*newest, *(interrupt_of(row[1:], way) for row in earlier))
