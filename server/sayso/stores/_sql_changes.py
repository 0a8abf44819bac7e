"""Interrupts written by SQL, and the notes of what that changes; all inside a transaction."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sayso.audit import Event, of_interrupt
from sayso.records import Change, Changes, Interrupt, Run
from sayso.stores._changes import Note, facts, kind_of
from sayso.stores._session import Session
from sayso.stores._sql_rows import interrupt_row
from sayso.stores.base import KEPT_CHANGES

__all__ = ["Whose", "changes", "note", "write_noted"]


class Whose(NamedTuple):
    """The thread that something is written to, and what of it is written along."""

    thread: int
    scope: str
    thread_id: str
    owner: str
    agent: str


_AT_ONCE = 16
"""How many interrupts one `read_many_facts` looks for."""
_PRUNED = 1_000
"""How many notes are dropped at a time, so that most writes drop none."""


def write_noted(
    db: Session,
    whose: Whose,
    interrupts: Sequence[Interrupt],
    run: Run | None,
    at: int,
    by: str | None = None,
) -> list[Event]:
    """Write interrupts, and notes of what that changes; and that a run has ended, if it has.

    Returns what the audit trail has to say about the interrupts; `by` is who changed them.
    """
    notes, events = _put_interrupts(db, whose, interrupts, by) if interrupts else ([], [])
    if run is not None and run.ended_at is not None:
        notes.append(("run_ended", None, run.key))
    if notes:
        note(db, whose, at, notes)
    return events


def _put_interrupts(
    db: Session, whose: Whose, interrupts: Sequence[Interrupt], by: str | None
) -> tuple[list[Note], list[Event]]:
    thread = whose.thread
    belongs = (whose.scope, whose.owner, whose.agent, thread)
    known = _facts(db, thread, [interrupt.id for interrupt in interrupts])
    new, moved, changed = [], [], []
    notes: list[Note] = []
    events: list[Event] = []
    for interrupt in interrupts:
        row = interrupt_row(interrupt)
        old, facts_now = known.get(interrupt.id), facts(interrupt)
        if old is None:
            new.append((*belongs, *row))
        else:
            changed.append((*row[3:], thread, interrupt.id))
            if old[:2] != row[1:3]:
                moved.append((*row[1:3], thread, interrupt.id))
        kind = kind_of(old and old[2:], facts_now)
        if kind is not None:
            notes.append((kind, interrupt.id, None))
            events.append(of_interrupt(kind, interrupt, by))
        known[interrupt.id] = (*row[1:3], *facts_now)
    for name, rows in (
        ("add_interrupt", new),
        ("move_interrupt", moved),
        ("put_interrupt", changed),
    ):
        if rows:
            db.each(name, rows)
    return notes, events


def _facts(db: Session, thread: int, ids: list[str]) -> dict[str, tuple[Any, ...]]:
    """What is known of the interrupts with these ids."""
    found: dict[str, tuple[Any, ...]] = {}
    if len(ids) == 1:
        row = db.one("read_facts", (thread, ids[0]))
        return {} if row is None else {row[0]: row[1:]}
    for begin in range(0, len(ids), _AT_ONCE):
        some: list[str | None] = [*ids[begin : begin + _AT_ONCE]]
        some += [None] * (_AT_ONCE - len(some))
        for row in db.all("read_many_facts", (thread, *some)):
            found[row[0]] = row[1:]
    return found


def note(db: Session, whose: Whose, at: int, notes: Sequence[Note]) -> None:
    """Write notes about a thread and drop those that are too old."""
    newest = _marks(db, whose.scope, len(notes))
    last = newest + len(notes)
    belongs = (whose.scope, whose.owner, whose.thread_id, at)
    rows = [(*belongs, mark, *what) for mark, what in enumerate(notes, newest + 1)]
    db.each("note_change", rows)
    db.tell(whose.scope, whose.thread_id)
    if last // _PRUNED != newest // _PRUNED:
        db.do("prune_changes", (whose.scope, last - KEPT_CHANGES))


def _marks(db: Session, scope: str, count: int) -> int:
    """Have that many marks of a scope, the first of which comes after the one returned."""
    row = db.one("next_marks", {"scope": scope, "count": count})
    newest: int = row[0] if row is not None else 0
    return newest


def changes(db: Session, scope: str, since: int | None, limit: int) -> Changes:
    """Read what happened after a mark."""
    oldest, newest = db.one("known_marks", {"scope": scope}) or (None, None)
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
        for mark, kind, thread_id, owner, at, interrupt_id, run_key in db.all(
            "read_changes", (scope, since, limit)
        )
    )
    return Changes(mark=items[-1].mark if items else newest, items=items)
