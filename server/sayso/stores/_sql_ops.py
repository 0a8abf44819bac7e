"""What an SQL store does to a thread inside a transaction, in whatever dialect.

Every function runs in a thread of the store's own, within a transaction or a savepoint: raising is
enough to leave nothing behind.
"""

from collections.abc import Sequence

from sayso.audit import of_entries
from sayso.errors import Conflict, LeaseLost
from sayso.records import (
    Claim,
    Commit,
    Due,
    Entry,
    Interrupt,
    Lease,
    Message,
    Page,
    Renewed,
    ThreadView,
    Turn,
)
from sayso.rows import records
from sayso.stores import _sql_approvals, _sql_audit
from sayso.stores._pages import cursor, limited, place
from sayso.stores._session import Row, Session
from sayso.stores._sql_changes import Whose, note, write_noted
from sayso.stores._sql_rows import (
    entry_row,
    interrupt_of,
    message_row,
    run_of,
    run_row,
    thread_of,
    turn_of,
    turn_row,
)

__all__ = [
    "claim",
    "commit",
    "delete",
    "delivered",
    "due",
    "journal",
    "load",
    "renew",
    "request_stop",
    "settle",
]

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
    db: Session,
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
    named = None
    if run_id is not None:
        named = db.one("read_named_run", (thread, run_id))
    turn = db.one("read_turn", (turn_key, thread))
    run = db.one("read_run", (run_key, thread))
    messages = db.all("read_messages", (thread,))
    return ThreadView(
        thread=thread_of(row[3:]),
        turn=None if turn is None else turn_of(turn),
        run=None if run is None else run_of(run),
        named_run=None if named is None else run_of(named),
        interrupts=_interrupts(db, thread, turn_key, interrupt_ids),
        messages=tuple(records(Message, zip(*messages, strict=True))),
    )


def journal(db: Session, scope: str, turn_key: str) -> tuple[Entry, ...]:
    """Read the journal of a turn."""
    rows = db.all("read_journal", (turn_key, scope))
    return tuple(records(Entry, zip(*rows, strict=True)))


def claim(db: Session, wanted: Claim) -> Lease:
    """Take a thread and write what the claim holds."""
    row = db.one("find_thread", (wanted.scope, wanted.thread_id))
    store_now = db.now()
    until = store_now + wanted.lease_ms
    if row is None:
        if wanted.revision != 0:
            raise _changed(wanted.thread_id)
        thread, fence = _create(db, wanted, until)
        owner, begins = wanted.owner, False
    else:
        thread, revision, fence, _, lease_until, turn, run, _, owner, _ = row
        if revision != wanted.revision or (lease_until is not None and lease_until > store_now):
            raise _changed(wanted.thread_id)
        fence += 1
        begins = _is_new(db, "known_turn", thread, wanted.turn.key, turn)
        turn = wanted.turn.key if begins else turn
        if _is_new(db, "known_run", thread, wanted.run.key, run):
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
        db.each("hide_message", [(thread, message_id) for message_id in wanted.hide])
    if wanted.messages:
        db.each("append_message", [(thread, *message_row(m)) for m in wanted.messages])
    whose = Whose(thread, wanted.scope, wanted.thread_id, owner, wanted.agent)
    events = write_noted(db, whose, wanted.interrupts, wanted.run, wanted.now)
    _put_entries(db, thread, wanted.turn.key, wanted.entries)
    _sql_audit.append(db, whose, wanted.now, [*of_entries(wanted.entries), *events])
    if wanted.state is not None:
        db.do("put_state", (thread, wanted.state))
    return Lease(scope=wanted.scope, thread_id=wanted.thread_id, holder=wanted.holder, fence=fence)


def commit(db: Session, lease: Lease, step: Commit) -> bool:
    """Write one step under a lease; whether its holder was asked to stop."""
    row = db.one("find_thread", (lease.scope, lease.thread_id))
    if row is None or row[2] != lease.fence or row[3] != lease.holder:
        raise LeaseLost(f"thread {lease.thread_id!r} has another holder by now, or none")
    thread, turn = row[0], row[5]
    if step.turn is not None or step.run is not None:
        turn = _put_newest(db, row, step)
    if step.entries:
        _put_entries(db, thread, turn, step.entries)
    if step.messages:
        db.each("put_message", [(thread, *message_row(m)) for m in step.messages])
    if step.dequeue:
        db.do("dequeue_messages", (thread,))
    happened = of_entries(step.entries)
    if step.interrupts or step.run is not None or happened:
        whose = Whose(thread, lease.scope, lease.thread_id, *row[8:])
        happened += write_noted(db, whose, step.interrupts, step.run, step.now)
        _sql_audit.append(db, whose, step.now, happened)
    if step.state is not None:
        db.do("put_state", (thread, step.state))
    if step.forget is not None:
        db.do("forget_journal", (thread, step.forget))
    if step.approvals or step.uses:
        _sql_approvals.write(db, lease.scope, step.approvals, step.uses)
    if step.release:
        db.do("release_thread", (step.now, step.now, thread))
        db.do("mark_due", (thread,))
        db.tell(lease.scope, lease.thread_id)
    else:
        db.do("touch_thread", (step.now, thread))
    stopping: bool = row[7] == lease.fence
    return stopping


def settle(
    db: Session,
    scope: str,
    thread_id: str,
    revision: int,
    interrupts: Sequence[Interrupt],
    now: int,
    *,
    state: bytes | None,
    entries: Sequence[Entry],
    by: str | None,
) -> None:
    """Change an idle thread."""
    row = db.one("find_thread", (scope, thread_id))
    if row is None or row[1] != revision or row[3] is not None:
        raise _changed(thread_id)
    thread: int = row[0]
    whose = Whose(thread, scope, thread_id, *row[8:])
    events = write_noted(db, whose, interrupts, None, now, by)
    _put_entries(db, thread, row[5], entries)
    _sql_audit.append(db, whose, now, [*of_entries(entries), *events])
    if state is not None:
        db.do("put_state", (thread, state))
    db.do("release_thread", (now, now, thread))
    db.do("mark_due", (thread,))


def delete(db: Session, scope: str, thread_id: str, revision: int, now: int) -> None:
    """Remove a thread with everything."""
    db.apart(scope, deletes=True)
    row = db.one("find_thread", (scope, thread_id))
    if row is None or row[1] != revision or (row[4] is not None and row[4] > db.now()):
        raise _changed(thread_id)
    thread: int = row[0]
    note(db, Whose(thread, scope, thread_id, *row[8:]), now, [("deleted", None, None)])
    _sql_approvals.forget(db, scope, thread_id)
    _sql_audit.forget(db, scope, thread_id)
    db.do("raise_floor", (scope, revision, row[2]))
    for deletion in _DELETIONS:
        db.do(deletion, (thread,))


def request_stop(
    db: Session,
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
    db.tell(scope, thread_id)


def delivered(db: Session, scope: str, run_key: str) -> None:
    """Note that a run reached its reader."""
    db.do("note_delivery", (run_key, scope))


def due(db: Session, now: int, limit: int, after: str | None) -> Page[Due]:
    """Find threads that need the server."""
    moment, position = place("due", after) or (-1, -1)
    values = {
        "now": now,
        "store_now": db.now(),
        "moment": moment,
        "position": position,
        "limit": limited(limit) + 1,
    }
    rows = db.all("due_threads", values)
    return Page(
        items=tuple(
            Due(scope=scope, thread_id=thread_id, why=why)
            for _, _, scope, thread_id, why in rows[:limit]
        ),
        next=cursor("due", *rows[limit - 1][:2]) if len(rows) > limit else None,
    )


def renew(db: Session, leases: Sequence[Lease], lease_ms: int) -> Renewed:
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
    return Renewed(lost=tuple(lost), stopping=tuple(stopping))


def _changed(thread_id: str) -> Conflict:
    return Conflict(f"thread {thread_id!r} is not what was read; load it again and decide anew")


def _create(db: Session, wanted: Claim, until: int) -> tuple[int, int]:
    """A new thread; its key and fence."""
    db.apart(wanted.scope, deletes=False)
    revision, fence = db.one("read_floor", (wanted.scope,)) or (0, 0)
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


def _is_new(db: Session, query: str, thread: int, key: str, newest: str) -> bool:
    """Whether a turn or run that is about to be written is not stored yet."""
    return key != newest and db.one(query, (key, thread)) is None


def _put_newest(db: Session, row: Row, step: Commit) -> str:
    """Write turn and run of a step; returns the key of the turn that its entries belong to."""
    thread, turn, run = row[0], row[5], row[6]
    entries_of: str = turn
    if step.turn is not None:
        entries_of = step.turn.key
        if _is_new(db, "known_turn", thread, entries_of, turn):
            db.do("forget_journals", (thread,))
            turn = entries_of
        _put_turn(db, thread, step.turn)
    if step.next_turn is not None:
        turn = step.next_turn.key
        _put_turn(db, thread, step.next_turn)
    if step.run is not None:
        if _is_new(db, "known_run", thread, step.run.key, run):
            run = step.run.key
        db.do("put_run", (thread, *run_row(step.run)))
    if (turn, run) != row[5:7]:
        db.do("point_thread", (turn, run, thread))
    return entries_of


def _put_turn(db: Session, thread: int, turn: Turn) -> None:
    db.do("put_turn", (thread, *turn_row(turn)))
    db.do("put_request", (thread, turn.key, turn.request))


def _put_entries(db: Session, thread: int, turn_key: str, entries: Sequence[Entry]) -> None:
    if entries:
        db.each("put_entry", [(thread, turn_key, *entry_row(e)) for e in entries])


def _interrupts(
    db: Session, thread: int, turn_key: str, asked: Sequence[str]
) -> tuple[Interrupt, ...]:
    newest = [interrupt_of(row) for row in db.all("read_interrupts", (thread, turn_key))]
    missing = set(asked).difference(interrupt.id for interrupt in newest)
    found = (db.one("read_earlier_interrupt", (thread, interrupt_id)) for interrupt_id in missing)
    earlier = sorted((row for row in found if row is not None), key=lambda row: int(row[0]))
    return (*newest, *(interrupt_of(row[1:]) for row in earlier))
