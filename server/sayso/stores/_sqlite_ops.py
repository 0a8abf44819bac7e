"""What the SQLite store does inside a transaction: records to rows and back.

Every function runs in the store's own thread, within a transaction and, if it writes, a savepoint:
raising is enough to leave nothing behind. Positions are row ids, so they grow with every insert.
"""

import sqlite3
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import orjson

from sayso.errors import Conflict, LeaseLost
from sayso.records import (
    Claim,
    Commit,
    Due,
    Entry,
    Interrupt,
    Lease,
    Message,
    Principal,
    Run,
    Thread,
    ThreadView,
    Turn,
)
from sayso.stores._queries import queries

__all__ = ["claim", "commit", "delivered", "due", "journal", "load", "renew", "settle"]

SQL = queries("sqlite")

_INTERRUPT = (
    "id",
    "turn_key",
    "place",
    "reason",
    "created_at",
    "message",
    "tool_call_id",
    "response_schema",
    "metadata",
    "policy",
    "expires_at",
    "status",
    "payload",
    "answer_metadata",
    "decided_by",
    "decided_at",
    "channel",
    "run_key",
)
_interrupt_row = attrgetter(*_INTERRUPT)
_message_row = attrgetter("id", "role", "body", "visibility")
_entry_row = attrgetter("place", "kind", "name", "fingerprint", "status", "data")
_run_row = attrgetter("key", "run_id", "turn_key", "started_at", "ended_at", "outcome", "delivered")


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
        thread=_thread(row[3:]),
        turn=_turn(turn),
        run=_run(run),
        named_run=None if named is None else _run(named),
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
        thread = _create(db, wanted, until)
        fence, begins = 1, False
    else:
        thread, revision, fence, _, lease_until, turn, run = row
        if revision != wanted.revision or (lease_until is not None and lease_until > store_now):
            raise _changed(wanted.thread_id)
        fence += 1
        begins = _is_new(db, "known_turn", thread, wanted.turn.key, turn)
        turn = wanted.turn.key if begins else turn
        if _is_new(db, "known_run", thread, wanted.run.key, run):
            run = wanted.run.key
        db.execute(
            SQL["take_thread"],
            (wanted.agent, wanted.now, wanted.holder, until, turn, run, thread),
        )
    if begins:
        db.execute(SQL["forget_journals"], (thread,))
    _put_turn(db, thread, wanted.turn)
    db.execute(SQL["put_run"], (thread, *_run_row(wanted.run)))
    if wanted.hide:
        db.executemany(SQL["hide_message"], [(thread, message_id) for message_id in wanted.hide])
    if wanted.messages:
        db.executemany(SQL["append_message"], [(thread, *_message_row(m)) for m in wanted.messages])
    _put_interrupts(db, thread, wanted.interrupts)
    _put_entries(db, thread, wanted.turn.key, wanted.entries)
    if wanted.state is not None:
        db.execute(SQL["put_state"], (thread, wanted.state))
    return Lease(scope=wanted.scope, thread_id=wanted.thread_id, holder=wanted.holder, fence=fence)


def commit(db: sqlite3.Connection, lease: Lease, step: Commit) -> None:
    """Write one step under a lease."""
    row = db.execute(SQL["find_thread"], (lease.scope, lease.thread_id)).fetchone()
    if row is None or row[2] != lease.fence or row[3] != lease.holder:
        raise LeaseLost(f"thread {lease.thread_id!r} has another holder by now, or none")
    thread, turn = row[0], row[5]
    if step.turn is not None or step.run is not None:
        turn = _put_newest(db, row, step)
    if step.entries:
        _put_entries(db, thread, turn, step.entries)
    if step.messages:
        db.executemany(SQL["put_message"], [(thread, *_message_row(m)) for m in step.messages])
    if step.dequeue:
        db.execute(SQL["dequeue_messages"], (thread,))
    _put_interrupts(db, thread, step.interrupts)
    if step.state is not None:
        db.execute(SQL["put_state"], (thread, step.state))
    if step.forget is not None:
        db.execute(SQL["forget_journal"], (thread, step.forget))
    if step.release:
        db.execute(SQL["release_thread"], (step.now, thread))
        db.execute(SQL["mark_due"], (thread,))
    else:
        db.execute(SQL["touch_thread"], (step.now, thread))


def settle(
    db: sqlite3.Connection,
    scope: str,
    thread_id: str,
    revision: int,
    interrupts: Sequence[Interrupt],
    now: int,
) -> None:
    """Replace interrupts of an idle thread."""
    row = db.execute(SQL["find_thread"], (scope, thread_id)).fetchone()
    if row is None or row[1] != revision or row[3] is not None:
        raise _changed(thread_id)
    _put_interrupts(db, row[0], interrupts)
    db.execute(SQL["touch_thread"], (now, row[0]))
    db.execute(SQL["mark_due"], (row[0],))


def delivered(db: sqlite3.Connection, scope: str, run_key: str) -> None:
    """Note that a run reached its reader."""
    db.execute(SQL["note_delivery"], (run_key, scope))


def due(db: sqlite3.Connection, now: int, store_now: int, limit: int) -> tuple[Due, ...]:
    """Find threads that need the server."""
    return tuple(
        Due(scope=scope, thread_id=thread_id, why=why)
        for scope, thread_id, why in db.execute(SQL["due_threads"], (store_now, now, limit))
    )


def renew(db: sqlite3.Connection, leases: Sequence[Lease], until: int) -> tuple[Lease, ...]:
    """Prolong leases; returns the lost ones."""
    return tuple(
        lease
        for lease in leases
        if db.execute(
            SQL["renew_lease"], (until, lease.scope, lease.thread_id, lease.fence, lease.holder)
        ).rowcount
        == 0
    )


def _changed(thread_id: str) -> Conflict:
    return Conflict(f"thread {thread_id!r} is not what was read; load it again and decide anew")


def _create(db: sqlite3.Connection, wanted: Claim, until: int) -> int:
    values = (
        wanted.scope,
        wanted.thread_id,
        wanted.owner,
        wanted.agent,
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
    return key


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
        db.execute(SQL["put_run"], (thread, *_run_row(step.run)))
    if (turn, run) != row[5:7]:
        db.execute(SQL["point_thread"], (turn, run, thread))
    return entries_of


def _put_turn(db: sqlite3.Connection, thread: int, turn: Turn) -> None:
    who = turn.principal
    db.execute(
        SQL["put_turn"],
        (
            thread,
            turn.key,
            turn.agent,
            turn.version,
            turn.status,
            who.subject,
            who.scope,
            orjson.dumps(who.roles),
            turn.started_at,
            turn.ended_at,
        ),
    )
    db.execute(SQL["put_request"], (thread, turn.key, turn.request))


def _put_interrupts(db: sqlite3.Connection, thread: int, interrupts: Sequence[Interrupt]) -> None:
    if interrupts:
        db.executemany(SQL["put_interrupt"], [(thread, *_interrupt_row(i)) for i in interrupts])


def _put_entries(
    db: sqlite3.Connection, thread: int, turn_key: str, entries: Sequence[Entry]
) -> None:
    if entries:
        db.executemany(SQL["put_entry"], [(thread, turn_key, *_entry_row(e)) for e in entries])


def _interrupts(
    db: sqlite3.Connection, thread: int, turn_key: str, asked: Sequence[str]
) -> tuple[Interrupt, ...]:
    newest = [_interrupt(row) for row in db.execute(SQL["read_interrupts"], (thread, turn_key))]
    missing = set(asked).difference(interrupt.id for interrupt in newest)
    found = (
        db.execute(SQL["read_earlier_interrupt"], (thread, interrupt_id)).fetchone()
        for interrupt_id in missing
    )
    earlier = sorted((row for row in found if row is not None), key=lambda row: int(row[0]))
    return (*newest, *(_interrupt(row[1:]) for row in earlier))


def _interrupt(row: tuple[Any, ...]) -> Interrupt:
    return Interrupt(**dict(zip(_INTERRUPT, row, strict=True)))


def _thread(row: tuple[Any, ...]) -> Thread:
    scope, thread_id, owner, agent, revision, fence, created, updated, state, holder, until = row
    return Thread(
        scope=scope,
        id=thread_id,
        owner=owner,
        agent=agent,
        revision=revision,
        fence=fence,
        created_at=created,
        updated_at=updated,
        state=state,
        holder=holder,
        lease_until=until,
    )


def _turn(row: tuple[Any, ...]) -> Turn:
    key, agent, version, status, request, subject, scope, roles, started_at, ended_at = row
    return Turn(
        key=key,
        agent=agent,
        version=version,
        status=status,
        request=request,
        principal=Principal(subject=subject, scope=scope, roles=tuple(orjson.loads(roles))),
        started_at=started_at,
        ended_at=ended_at,
    )


def _run(row: tuple[Any, ...]) -> Run:
    key, run_id, turn_key, started_at, ended_at, outcome, done = row
    return Run(
        key=key,
        run_id=run_id,
        turn_key=turn_key,
        started_at=started_at,
        ended_at=ended_at,
        outcome=outcome,
        delivered=bool(done),
    )
