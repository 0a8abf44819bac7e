"""What the SQLite store does to a thread inside a transaction.

Every function runs in the store's own thread, within a transaction and, if it writes, a savepoint:
raising is enough to leave nothing behind. Positions are row ids, so they grow with every insert.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any

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
from sayso.stores._pages import cursor, limited, place
from sayso.stores._sqlite_changes import Whose, note, write_noted
from sayso.stores._sqlite_rows import (
    SQL,
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
    db: sqlite3.Connection,
    scope: str,
    thread_id: str,
    run_id: str | None,
    interrupt_ids: Sequence[str],
) -> ThreadView | None:
    """Read a thread."""
    row = db.execute(SQL["read_thread"], (scope, thread_id)).fetchone()
    if row is None:
        return None
    thread, turn_key, run_key = row[:3]
    named = None
    if run_id is not None:
        named = db.execute(SQL["read_named_run"], (thread, run_id)).fetchone()
    turn = db.execute(SQL["read_turn"], (turn_key, thread)).fetchone()
    run = db.execute(SQL["read_run"], (run_key, thread)).fetchone()
    messages = db.execute(SQL["read_messages"], (thread,))
    return ThreadView(
        thread=thread_of(row[3:]),
        turn=turn_of(turn),
        run=run_of(run),
        named_run=None if named is None else run_of(named),
        interrupts=_interrupts(db, thread, turn_key, interrupt_ids),
        messages=tuple(
            Message(id=i, role=role, body=body, visibility=visibility)
            for i, role, body, visibility in messages
        ),
    )


def journal(db: sqlite3.Connection, scope: str, turn_key: str) -> tuple[Entry, ...]:
    """Read the journal of a turn."""
    return tuple(
        Entry(place=place, kind=kind, name=name, fingerprint=mark, status=status, data=data)
        for place, kind, name, mark, status, data in db.execute(
            SQL["read_journal"], (turn_key, scope)
        )
    )


def claim(db: sqlite3.Connection, wanted: Claim, store_now: int) -> Lease:
    """Take a thread and write what the claim holds."""
    row = db.execute(SQL["find_thread"], (wanted.scope, wanted.thread_id)).fetchone()
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
        db.execute(
            SQL["take_thread"],
            (wanted.agent, wanted.now, wanted.now, wanted.holder, until, turn, run, thread),
        )
    if begins:
        db.execute(SQL["forget_journals"], (thread,))
    _put_turn(db, thread, wanted.turn)
    db.execute(SQL["put_run"], (thread, *run_row(wanted.run)))
    if wanted.hide:
        db.executemany(SQL["hide_message"], [(thread, message_id) for message_id in wanted.hide])
    if wanted.messages:
        db.executemany(SQL["append_message"], [(thread, *message_row(m)) for m in wanted.messages])
    whose = Whose(thread, wanted.scope, wanted.thread_id, owner, wanted.agent)
    write_noted(db, whose, wanted.interrupts, wanted.run, wanted.now)
    _put_entries(db, thread, wanted.turn.key, wanted.entries)
    if wanted.state is not None:
        db.execute(SQL["put_state"], (thread, wanted.state))
    return Lease(scope=wanted.scope, thread_id=wanted.thread_id, holder=wanted.holder, fence=fence)


def commit(db: sqlite3.Connection, lease: Lease, step: Commit) -> bool:
    """Write one step under a lease; whether its holder was asked to stop."""
    row = db.execute(SQL["find_thread"], (lease.scope, lease.thread_id)).fetchone()
    if row is None or row[2] != lease.fence or row[3] != lease.holder:
        raise LeaseLost(f"thread {lease.thread_id!r} has another holder by now, or none")
    thread, turn = row[0], row[5]
    if step.turn is not None or step.run is not None:
        turn = _put_newest(db, row, step)
    if step.entries:
        _put_entries(db, thread, turn, step.entries)
    if step.messages:
        db.executemany(SQL["put_message"], [(thread, *message_row(m)) for m in step.messages])
    if step.dequeue:
        db.execute(SQL["dequeue_messages"], (thread,))
    if step.interrupts or step.run is not None:
        whose = Whose(thread, lease.scope, lease.thread_id, *row[8:])
        write_noted(db, whose, step.interrupts, step.run, step.now)
    if step.state is not None:
        db.execute(SQL["put_state"], (thread, step.state))
    if step.forget is not None:
        db.execute(SQL["forget_journal"], (thread, step.forget))
    if step.release:
        db.execute(SQL["release_thread"], (step.now, step.now, thread))
        db.execute(SQL["mark_due"], (thread,))
    else:
        db.execute(SQL["touch_thread"], (step.now, thread))
    stopping: bool = row[7] == lease.fence
    return stopping


def settle(
    db: sqlite3.Connection,
    scope: str,
    thread_id: str,
    revision: int,
    interrupts: Sequence[Interrupt],
    now: int,
    *,
    state: bytes | None,
    entries: Sequence[Entry],
) -> None:
    """Change an idle thread."""
    row = db.execute(SQL["find_thread"], (scope, thread_id)).fetchone()
    if row is None or row[1] != revision or row[3] is not None:
        raise _changed(thread_id)
    thread: int = row[0]
    whose = Whose(thread, scope, thread_id, *row[8:])
    write_noted(db, whose, interrupts, None, now)
    _put_entries(db, thread, row[5], entries)
    if state is not None:
        db.execute(SQL["put_state"], (thread, state))
    db.execute(SQL["release_thread"], (now, now, thread))
    db.execute(SQL["mark_due"], (thread,))


def delete(
    db: sqlite3.Connection, scope: str, thread_id: str, revision: int, now: int, store_now: int
) -> None:
    """Remove a thread with everything."""
    row = db.execute(SQL["find_thread"], (scope, thread_id)).fetchone()
    if row is None or row[1] != revision or (row[4] is not None and row[4] > store_now):
        raise _changed(thread_id)
    thread: int = row[0]
    note(db, Whose(thread, scope, thread_id, *row[8:]), now, [("deleted", None, None)])
    db.execute(SQL["raise_floor"], (scope, revision, row[2]))
    for deletion in _DELETIONS:
        db.execute(SQL[deletion], (thread,))


def request_stop(
    db: sqlite3.Connection,
    scope: str,
    thread_id: str,
    fence: int,
    by: str | None,
    channel: str | None,
) -> None:
    """Ask a holder to stop."""
    values = {"scope": scope, "id": thread_id, "fence": fence, "by": by, "channel": channel}
    if db.execute(SQL["ask_to_stop"], values).rowcount == 0:
        raise _changed(thread_id)


def delivered(db: sqlite3.Connection, scope: str, run_key: str) -> None:
    """Note that a run reached its reader."""
    db.execute(SQL["note_delivery"], (run_key, scope))


def due(
    db: sqlite3.Connection, now: int, store_now: int, limit: int, after: str | None
) -> Page[Due]:
    """Find threads that need the server."""
    moment, position = place("due", after) or (-1, -1)
    values = {
        "now": now,
        "store_now": store_now,
        "moment": moment,
        "position": position,
        "limit": limited(limit) + 1,
    }
    rows = db.execute(SQL["due_threads"], values).fetchall()
    return Page(
        items=tuple(
            Due(scope=scope, thread_id=thread_id, why=why)
            for _, _, scope, thread_id, why in rows[:limit]
        ),
        next=cursor("due", *rows[limit - 1][:2]) if len(rows) > limit else None,
    )


def renew(db: sqlite3.Connection, leases: Sequence[Lease], until: int) -> Renewed:
    """Prolong leases; tells the lost ones and those that shall stop."""
    lost, stopping = [], []
    for lease in leases:
        row = db.execute(
            SQL["read_lease"], (lease.scope, lease.thread_id, lease.fence, lease.holder)
        ).fetchone()
        if row is None:
            lost.append(lease)
            continue
        db.execute(SQL["renew_lease"], (until, row[0]))
        if row[1]:
            stopping.append(lease)
    return Renewed(lost=tuple(lost), stopping=tuple(stopping))


def _changed(thread_id: str) -> Conflict:
    return Conflict(f"thread {thread_id!r} is not what was read; load it again and decide anew")


def _create(db: sqlite3.Connection, wanted: Claim, until: int) -> tuple[int, int]:
    """A new thread; its key and fence."""
    revision, fence = db.execute(SQL["read_floor"], (wanted.scope,)).fetchone() or (0, 0)
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
    key = db.execute(SQL["add_thread"], values).lastrowid
    if key is None:
        raise sqlite3.InternalError("an insert gave no row id")
    return key, fence + 1


def _is_new(db: sqlite3.Connection, query: str, thread: int, key: str, newest: str) -> bool:
    """Whether a turn or run that is about to be written is not stored yet."""
    return key != newest and db.execute(SQL[query], (key, thread)).fetchone() is None


def _put_newest(db: sqlite3.Connection, row: tuple[Any, ...], step: Commit) -> str:
    """Write turn and run of a step; returns the key of the turn that its entries belong to."""
    thread, turn, run = row[0], row[5], row[6]
    entries_of: str = turn
    if step.turn is not None:
        entries_of = step.turn.key
        if _is_new(db, "known_turn", thread, entries_of, turn):
            db.execute(SQL["forget_journals"], (thread,))
            turn = entries_of
        _put_turn(db, thread, step.turn)
    if step.next_turn is not None:
        turn = step.next_turn.key
        _put_turn(db, thread, step.next_turn)
    if step.run is not None:
        if _is_new(db, "known_run", thread, step.run.key, run):
            run = step.run.key
        db.execute(SQL["put_run"], (thread, *run_row(step.run)))
    if (turn, run) != row[5:7]:
        db.execute(SQL["point_thread"], (turn, run, thread))
    return entries_of


def _put_turn(db: sqlite3.Connection, thread: int, turn: Turn) -> None:
    db.execute(SQL["put_turn"], (thread, *turn_row(turn)))
    db.execute(SQL["put_request"], (thread, turn.key, turn.request))


def _put_entries(
    db: sqlite3.Connection, thread: int, turn_key: str, entries: Sequence[Entry]
) -> None:
    if entries:
        db.executemany(SQL["put_entry"], [(thread, turn_key, *entry_row(e)) for e in entries])


def _interrupts(
    db: sqlite3.Connection, thread: int, turn_key: str, asked: Sequence[str]
) -> tuple[Interrupt, ...]:
    newest = [interrupt_of(row) for row in db.execute(SQL["read_interrupts"], (thread, turn_key))]
    missing = set(asked).difference(interrupt.id for interrupt in newest)
    found = (
        db.execute(SQL["read_earlier_interrupt"], (thread, interrupt_id)).fetchone()
        for interrupt_id in missing
    )
    earlier = sorted((row for row in found if row is not None), key=lambda row: int(row[0]))
    return (*newest, *(interrupt_of(row[1:]) for row in earlier))
