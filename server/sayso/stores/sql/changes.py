"""Interrupts written by SQL, and the notes of what that changes; all inside a transaction."""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sayso.base.audit import Event, rows_of_interrupt
from sayso.base.records import Change, Changes, Interrupt, Run
from sayso.stores.base import KEPT_CHANGES
from sayso.stores.changes import Note, change_kind, facts
from sayso.stores.sql.rows import facts_of, interrupt_row
from sayso.stores.sql.session import Transaction


class Whose(NamedTuple):
    """The thread that something is written to, and what of it is written along."""

    thread: int
    scope: str
    thread_id: str
    owner: str
    agent: str


_BATCH_SIZE = 16
"""How many interrupts one `read_many_facts` looks for."""
_PRUNED = 1_000
"""How many notes are dropped at a time, about, so that most writes drop none."""

Facts = Callable[[], dict[str, tuple[Any, ...]]]
"""What is known of interrupts, by id: turn, time of asking, and what is noted of them."""


def write_noted(
    db: Transaction,
    whose: Whose,
    interrupts: Sequence[Interrupt],
    known: Facts,
    run: Run | None,
    at: int,
    by: str | None = None,
) -> list[Event]:
    """Write interrupts, and notes of what that changes; and that a run has ended, if it has.

    `known` is what was known of them (`known_facts`). Returns what the audit trail has to say about
    the interrupts; `by` is who changed them.
    """
    notes: list[Note] = []
    events: list[Event] = []
    if interrupts:
        notes, events = _put_interrupts(db, whose, interrupts, known(), by)
    if run is not None and run.ended_at is not None:
        notes.append(("run_ended", None, run.key))
    if notes:
        note(db, whose, at, notes)
    return events


def _put_interrupts(
    db: Transaction,
    whose: Whose,
    interrupts: Sequence[Interrupt],
    known: dict[str, tuple[Any, ...]],
    by: str | None,
) -> tuple[list[Note], list[Event]]:
    thread = whose.thread
    belongs = (whose.scope, whose.owner, whose.agent, thread)
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
        kind = change_kind(old and old[2:], facts_now)
        if kind is not None:
            notes.append((kind, interrupt.id, None))
            events.append(rows_of_interrupt(kind, interrupt, by))
        known[interrupt.id] = (*row[1:3], *facts_now)
    for name, rows in (
        ("add_interrupt", new),
        ("move_interrupt", moved),
        ("put_interrupt", changed),
    ):
        if rows:
            db.insert_many(name, rows)
    return notes, events


def known_facts(
    db: Transaction, scope: str, thread_id: str, interrupts: Sequence[Interrupt]
) -> Facts:
    """Ask what is known of interrupts, by their ids; answered once it is wanted."""
    ids = [interrupt.id for interrupt in interrupts]
    if len(ids) == 1:
        asked = [db.prefetch("read_facts", (scope, thread_id, ids[0]))]
    else:
        asked = []
        for begin in range(0, len(ids), _BATCH_SIZE):
            some: list[str | None] = [*ids[begin : begin + _BATCH_SIZE]]
            some += [None] * (_BATCH_SIZE - len(some))
            asked.append(db.prefetch("read_many_facts", (scope, thread_id, *some)))
    return lambda: {row[0]: facts_of(row[1:]) for found in asked for row in found()}


def note(db: Transaction, whose: Whose, at: int, notes: Sequence[Note]) -> None:
    """Write notes about a thread and, now and then, drop those that are too old."""
    belongs = {"scope": whose.scope, "owner": whose.owner, "thread_id": whose.thread_id, "at": at}
    rows = [
        {**belongs, "kind": kind, "interrupt_id": interrupt_id, "run_key": run_key}
        for kind, interrupt_id, run_key in notes
    ]
    db.append_changes(whose.scope, rows)
    db.notify(whose.scope, whose.thread_id)
    if random.random() * _PRUNED < len(rows):  # noqa: S311 - no secret
        db.do("prune_changes", {"scope": whose.scope, "kept": KEPT_CHANGES})


def changes(db: Transaction, scope: str, since: int | None, limit: int) -> Changes:
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
