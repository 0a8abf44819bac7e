"""What an SQL store does to a thread inside a transaction, in whatever dialect.

Every function runs in a thread of the store's own, within a transaction or a savepoint: raising is
enough to leave nothing behind.
"""

from collections.abc import Sequence, Sized
from typing import NamedTuple, Self

from sayso.base.audit import rows_of_deletion, rows_of_entries
from sayso.base.errors import Conflict, LeaseLost
from sayso.base.fastrecords import from_columns
from sayso.base.records import (
    Claim,
    Commit,
    Due,
    Entry,
    Interrupt,
    Lease,
    Message,
    Page,
    PageRequest,
    Renewed,
    ThreadView,
    TurnRecord,
    Update,
)
from sayso.stores.pagination import checked_limit, cursor, parse_cursor
from sayso.stores.sql import approvals, audit
from sayso.stores.sql.changes import Facts, Whose, known_facts, note, write_noted
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

_DELETIONS = (
    "forget_journals",
    "delete_messages",
    "delete_interrupts",
    "delete_requests",
    "delete_turns",
    "delete_runs",
    "delete_state",
    "delete_thread",
)
"""Requests before the turns that name them; the thread last."""


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
    named = db.prefetch("read_named_run", (thread, run_id)) if run_id is not None else tuple
    turn = db.prefetch("read_turn", (turn_key, thread))
    run = db.prefetch("read_run", (run_key, thread))
    messages = db.prefetch("read_messages", (thread,))
    interrupts = db.prefetch("read_interrupts", (thread, turn_key))
    return ThreadView(
        thread=thread_of(row[3:]),
        named_run=next(map(run_of, named()), None),
        turn=next(map(turn_of, turn()), None),
        run=next(map(run_of, run()), None),
        messages=tuple(from_columns(Message, zip(*messages(), strict=True))),
        interrupts=_interrupts(db, thread, interrupts(), interrupt_ids),
    )


def journal(db: Transaction, scope: str, turn_key: str) -> tuple[Entry, ...]:
    """Read the journal of a turn."""
    rows = db.all("read_journal", (turn_key, scope))
    return tuple(from_columns(Entry, zip(*rows, strict=True)))


class _ClaimReads(NamedTuple):
    """What a claim has asked for, all at once, before it waits for the first answer."""

    thread: Answer
    floor: Answer
    run: Answer
    last: Answer
    facts: Facts

    @classmethod
    def of(cls, db: Transaction, wanted: Claim) -> Self:
        """Ask for it; of a thread that is new there is less to know."""
        where = (wanted.scope, wanted.thread_id)
        floor: Answer = tuple
        run: Answer = tuple
        if wanted.revision == 0:
            db.lock_scope(wanted.scope, deletes=False)
            floor = db.prefetch("read_floor", (wanted.scope,))
        thread = db.prefetch("find_thread", where)
        if wanted.revision != 0:
            run = db.prefetch("known_run", (wanted.run.key, *where))
        last, facts = _told(db, *where, wanted.interrupts, wanted.entries)
        return cls(thread, floor, run, last, facts)


def _told(
    db: Transaction, scope: str, thread_id: str, interrupts: Sequence[Interrupt], happened: Sized
) -> tuple[Answer, Facts]:
    """Ask for a thread's newest audit row and what is known of interrupts, if there is need."""
    if not interrupts and not happened:
        return tuple, dict
    last = db.prefetch("last_audit", (scope, thread_id))
    return last, known_facts(db, scope, thread_id, interrupts)


def claim(db: Transaction, wanted: Claim) -> Lease:
    """Take a thread and write what the claim holds."""
    asked = _ClaimReads.of(db, wanted)
    row = next(iter(asked.thread()), None)
    store_now = db.now()
    until = store_now + wanted.lease_ms
    if row is None:
        if wanted.revision != 0:
            raise _changed(wanted.thread_id)
        thread, fence = _create(db, wanted, until, next(iter(asked.floor()), (0, 0)))
        owner, begins = wanted.owner, False
    else:
        thread, revision, fence, _, lease_until, turn, run, _, owner, _ = row
        if revision != wanted.revision or (lease_until is not None and lease_until > store_now):
            raise _changed(wanted.thread_id)
        fence += 1
        begins = _is_new(db, "known_turn", wanted, wanted.turn.key, turn)
        turn = wanted.turn.key if begins else turn
        if not asked.run():
            run = wanted.run.key
        db.do(
            "take_thread",
            (wanted.agent, wanted.now, wanted.now, wanted.holder, until, turn, run, thread),
        )
    if begins:
        db.do("forget_journals", (thread,))
    _put_turn(db, thread, wanted.turn)
    db.do("put_run", (thread, *run_row(wanted.run)))
    if wanted.hide:
        db.insert_many("hide_message", [(thread, message_id) for message_id in wanted.hide])
    if wanted.messages:
        db.insert_many("append_message", [(thread, *message_row(m)) for m in wanted.messages])
    whose = Whose(thread, wanted.scope, wanted.thread_id, owner, wanted.agent)
    events = write_noted(db, whose, wanted.interrupts, asked.facts, wanted.run, wanted.now)
    _put_entries(db, thread, wanted.turn.key, wanted.entries)
    happened = [*rows_of_entries(wanted.entries), *events]
    audit.append(db, whose, wanted.now, happened, asked.last)
    if wanted.state is not None:
        db.do("put_state", (thread, wanted.state))
    return Lease(scope=wanted.scope, thread_id=wanted.thread_id, holder=wanted.holder, fence=fence)


def commit(db: Transaction, lease: Lease, step: Commit) -> bool:
    """Write one step under a lease; whether its holder was asked to stop."""
    found = db.prefetch("find_thread", (lease.scope, lease.thread_id))
    happened = rows_of_entries(step.entries)
    last, known = _told(db, lease.scope, lease.thread_id, step.interrupts, happened)
    row = next(iter(found()), None)
    if row is None or row[2] != lease.fence or row[3] != lease.holder:
        raise LeaseLost(f"thread {lease.thread_id!r} has another holder by now, or none")
    thread, turn = row[0], row[5]
    if step.turn is not None or step.run is not None:
        turn = _put_newest(db, lease, row, step)
    if step.entries:
        _put_entries(db, thread, turn, step.entries)
    if step.messages:
        db.insert_many("put_message", [(thread, *message_row(m)) for m in step.messages])
    if step.dequeue:
        db.do("dequeue_messages", (thread,))
    if step.interrupts or step.run is not None or happened:
        whose = Whose(thread, lease.scope, lease.thread_id, *row[8:])
        happened += write_noted(db, whose, step.interrupts, known, step.run, step.now)
        audit.append(db, whose, step.now, happened, last)
    if step.state is not None:
        db.do("put_state", (thread, step.state))
    if step.forget is not None:
        db.do("forget_journal", (thread, step.forget))
    if step.approvals or step.uses:
        approvals.write(db, lease.scope, step.approvals, step.uses)
    if step.release:
        db.do("release_thread", (step.now, step.now, thread))
        db.do("mark_due", (thread,))
        db.notify(lease.scope, lease.thread_id)
    else:
        db.do("touch_thread", (step.now, thread))
    stopping: bool = row[7] == lease.fence
    return stopping


def update_idle(db: Transaction, update: Update) -> None:
    """Change an idle thread."""
    scope, thread_id, now = update.scope, update.thread_id, update.now
    found = db.prefetch("find_thread", (scope, thread_id))
    last, known = _told(db, scope, thread_id, update.interrupts, update.entries)
    row = next(iter(found()), None)
    if row is None or row[1] != update.revision or row[3] is not None:
        raise _changed(thread_id)
    thread: int = row[0]
    whose = Whose(thread, scope, thread_id, *row[8:])
    events = write_noted(db, whose, update.interrupts, known, None, now, update.by)
    _put_entries(db, thread, row[5], update.entries)
    audit.append(db, whose, now, [*rows_of_entries(update.entries), *events], last)
    if update.state is not None:
        db.do("put_state", (thread, update.state))
    db.do("release_thread", (now, now, thread))
    db.do("mark_due", (thread,))


def delete(
    db: Transaction, scope: str, thread_id: str, revision: int, now: int, by: str | None
) -> None:
    """Remove a thread with everything but its audit trail."""
    db.lock_scope(scope, deletes=True)
    found = db.prefetch("find_thread", (scope, thread_id))
    last = db.prefetch("last_audit", (scope, thread_id))
    row = next(iter(found()), None)
    if row is None or row[1] != revision or (row[4] is not None and row[4] > db.now()):
        raise _changed(thread_id)
    thread: int = row[0]
    whose = Whose(thread, scope, thread_id, *row[8:])
    note(db, whose, now, [("deleted", None, None)])
    audit.append(db, whose, now, [rows_of_deletion(by)], last)
    approvals.forget(db, scope, thread_id)
    db.do("raise_floor", (scope, revision, row[2]))
    for deletion in _DELETIONS:
        db.do(deletion, (thread,))


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
        raise _changed(thread_id)
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


def _changed(thread_id: str) -> Conflict:
    return Conflict(f"thread {thread_id!r} is not what was read; load it again and decide anew")


def _create(db: Transaction, wanted: Claim, until: int, floor: tuple[int, int]) -> tuple[int, int]:
    """A new thread above what was deleted; its key and fence."""
    revision, fence = floor
    values = (
        wanted.scope,
        wanted.thread_id,
        wanted.owner,
        wanted.agent,
        revision + 1,
        fence + 1,
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
        raise _changed(wanted.thread_id)
    return row[0], fence + 1


def _is_new(db: Transaction, query: str, of: Claim | Lease, key: str, newest: str) -> bool:
    """Whether a turn or run that is about to be written is not stored yet."""
    return key != newest and db.one(query, (key, of.scope, of.thread_id)) is None


def _put_newest(db: Transaction, lease: Lease, row: Row, step: Commit) -> str:
    """Write turn and run of a step; returns the key of the turn that its entries belong to."""
    thread, turn, run = row[0], row[5], row[6]
    entries_of: str = turn
    if step.turn is not None:
        entries_of = step.turn.key
        if _is_new(db, "known_turn", lease, entries_of, turn):
            db.do("forget_journals", (thread,))
            turn = entries_of
        _put_turn(db, thread, step.turn)
    if step.next_turn is not None:
        turn = step.next_turn.key
        _put_turn(db, thread, step.next_turn)
    if step.run is not None:
        if _is_new(db, "known_run", lease, step.run.key, run):
            run = step.run.key
        db.do("put_run", (thread, *run_row(step.run)))
    if (turn, run) != row[5:7]:
        db.do("point_thread", (turn, run, thread))
    return entries_of


def _put_turn(db: Transaction, thread: int, turn: TurnRecord) -> None:
    db.do("put_turn", (thread, *turn_row(turn)))
    db.do("put_request", (thread, turn.key, turn.request))


def _put_entries(db: Transaction, thread: int, turn_key: str, entries: Sequence[Entry]) -> None:
    if entries:
        db.insert_many("put_entry", [(thread, turn_key, *entry_row(e)) for e in entries])


def _interrupts(
    db: Transaction, thread: int, rows: Sequence[Row], asked: Sequence[str]
) -> tuple[Interrupt, ...]:
    newest = [interrupt_of(row) for row in rows]
    missing = set(asked).difference(interrupt.id for interrupt in newest)
    found = (db.one("read_earlier_interrupt", (thread, interrupt_id)) for interrupt_id in missing)
    earlier = sorted((row for row in found if row is not None), key=lambda row: int(row[0]))
    return (*newest, *(interrupt_of(row[1:]) for row in earlier))
