"""Interrupts and notes of changes, written by SQL inside a transaction."""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import orjson

from sayso.base.records import Change, Changes, Interrupt
from sayso.stores.base import KEPT_CHANGES
from sayso.stores.changes import Note
from sayso.stores.sealing import Passage
from sayso.stores.sql.rows import interrupt_row, seen_of
from sayso.stores.sql.session import Transaction
from sayso.stores.step import QuestionWrite, Seen


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

StoredInterrupts = Callable[[], dict[str, Seen]]
"""Stored facts of interrupts by id: asked for already, and waited for once they are wanted."""


def stored_interrupts(
    db: Transaction, scope: str, thread_id: str, interrupts: Sequence[Interrupt]
) -> StoredInterrupts:
    """Ask what is stored of interrupts, by their ids."""
    ids = [interrupt.id for interrupt in interrupts]
    if len(ids) == 1:
        answers = [db.prefetch("read_facts", (scope, thread_id, ids[0]))]
    else:
        answers = []
        for begin in range(0, len(ids), _BATCH_SIZE):
            some: list[str | None] = [*ids[begin : begin + _BATCH_SIZE]]
            some += [None] * (_BATCH_SIZE - len(some))
            answers.append(db.prefetch("read_many_facts", (scope, thread_id, *some)))
    way = db.seals.out_of(scope, thread_id)
    return lambda: {row[0]: seen_of(row, way) for rows in answers for row in rows()}


def put_questions(
    db: Transaction, whose: Whose, questions: Sequence[QuestionWrite], way: Passage
) -> None:
    """Write interrupts."""
    if not questions:
        return
    thread = whose.thread
    belongs = (whose.scope, whose.owner, whose.agent, thread)
    new, moved, changed, unlisted, listed = [], [], [], [], []
    for interrupt, before in questions:
        row, names = interrupt_row(interrupt, way), interrupt.terms.names
        packed = orjson.dumps(names).decode() if names else None
        if before is None:
            new.append((*belongs, packed, *row))
        else:
            changed.append((packed, *row[3:], thread, interrupt.id))
            if before[:2] != row[1:3]:
                moved.append((*row[1:3], thread, interrupt.id))
        if names and before is not None:
            unlisted.append((thread, interrupt.id))
        settled = int(interrupt.status != "open")
        listed += [(name, settled, thread, interrupt.id) for name in names]
    for statement, rows in (
        ("add_interrupt", new),
        ("move_interrupt", moved),
        ("put_interrupt", changed),
        ("unlist", unlisted),
        ("list_for", listed),
    ):
        if rows:
            db.insert_many(statement, rows)


def note(db: Transaction, whose: Whose, at: int, notes: Sequence[Note]) -> None:
    """Write notes about a thread and, now and then, drop those that are too old."""
    if not notes:
        return
    belongs = {"scope": whose.scope, "owner": whose.owner, "thread_id": whose.thread_id, "at": at}
    rows = [
        {**belongs, "kind": kind, "interrupt_id": interrupt_id, "run_key": run_key}
        for kind, interrupt_id, run_key in notes
    ]
    db.append_changes(whose.scope, rows)
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
