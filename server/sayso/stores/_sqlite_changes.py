"""Interrupts written to SQLite, and the notes of what that changes; all inside a transaction."""

import sqlite3
from collections.abc import Sequence

from sayso.records import Change, Changes, Interrupt
from sayso.stores._changes import Note, facts, kind_of
from sayso.stores._sqlite_rows import SQL, interrupt_row
from sayso.stores.base import KEPT_CHANGES

__all__ = ["changes", "note", "put_interrupts"]

_PRUNED = 1_000
"""How many notes are dropped at a time, so that most writes drop none."""


def put_interrupts(
    db: sqlite3.Connection, thread: int, interrupts: Sequence[Interrupt]
) -> list[Note]:
    """Write interrupts; returns what is to be noted of them."""
    if not interrupts:
        return []
    scope, owner, agent, _ = db.execute(SQL["read_whose"], (thread,)).fetchone()
    notes: list[Note] = []
    for interrupt in interrupts:
        row = interrupt_row(interrupt)
        old = db.execute(SQL["read_facts"], (thread, interrupt.id)).fetchone()
        if old is None:
            db.execute(SQL["add_interrupt"], (scope, owner, agent, thread, *row))
        else:
            if old[1:3] != row[1:3]:
                db.execute(SQL["move_interrupt"], (*row[1:3], old[0]))
            db.execute(SQL["put_interrupt"], (*row[3:], old[0]))
        kind = kind_of(old and old[3:], facts(interrupt))
        if kind is not None:
            notes.append((kind, interrupt.id, None))
    return notes


def note(db: sqlite3.Connection, thread: int, at: int, notes: Sequence[Note]) -> None:
    """Write notes about a thread and drop those that are too old."""
    if not notes:
        return
    scope, owner, _, thread_id = db.execute(SQL["read_whose"], (thread,)).fetchone()
    newest = db.execute(SQL["known_marks"], {"scope": scope}).fetchone()[1] or 0
    rows = [
        (scope, owner, thread_id, at, mark, *what) for mark, what in enumerate(notes, newest + 1)
    ]
    db.executemany(SQL["note_change"], rows)
    last = newest + len(notes)
    if last // _PRUNED != newest // _PRUNED:
        db.execute(SQL["prune_changes"], (scope, last - KEPT_CHANGES))


def changes(db: sqlite3.Connection, scope: str, since: int | None, limit: int) -> Changes:
    """Read what happened after a mark."""
    oldest, newest = db.execute(SQL["known_marks"], {"scope": scope}).fetchone()
    oldest, newest = oldest or 1, newest or 0
    if since is None or not oldest - 1 <= since <= newest:
        return Changes(mark=newest, gap=since is not None)
    items = tuple(
        Change(
            mark=mark,
            kind=kind,
            thread_id=thread_id,
            owner=owner,
            at=at,
            interrupt_id=interrupt_id,
            run_key=run_key,
        )
        for mark, kind, thread_id, owner, at, interrupt_id, run_key in db.execute(
            SQL["read_changes"], (scope, since, limit)
        )
    )
    return Changes(mark=items[-1].mark if items else newest, items=items)
