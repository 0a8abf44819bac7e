"""What an SQL store reads as lists, within a transaction.

A page walks along the index that fits its filters best, tries the other filters on light rows, a
bounded number of them, and reads whole only what it returns.
"""

import heapq
from contextlib import ExitStack
from typing import Any

from sayso.protocol.ending import outcome_type
from sayso.records import ListedInterrupt, Page, Run, ThreadSummary, Waiting
from sayso.stores.pages import (
    InterruptFilter,
    ThreadFilter,
    cursor,
    limited,
    picked,
    place,
    walk,
)
from sayso.stores.sql.rows import interrupt_of, run_of
from sayso.stores.sql.session import Row, Session

__all__ = ["interrupt", "interrupts", "runs", "threads", "waiting"]

_END = 2**62
"""Later than any moment."""


def threads(
    db: Session, scope: str, wanted: ThreadFilter, after: str | None, limit: int
) -> Page[ThreadSummary]:
    """Read a page of threads."""
    name = "walk_threads" if wanted.owner is None else "walk_owned_threads"
    values = _walk(scope, wanted, place("threads", after) or (_END, 0), limit)
    with db.walk(name, values) as rows:
        fitting = ((row[0], row[1], wanted.fits(row[2:])) for row in rows)
        keys, following = picked("threads", fitting, limit, values["walk"])
    read = db.many("read_summary", [(key,) for key in keys])
    return Page(items=tuple(map(_summary, read)), next=following)


def interrupts(
    db: Session, scope: str, wanted: InterruptFilter, after: str | None, limit: int
) -> Page[ListedInterrupt]:
    """Read a page of interrupts."""
    values = _walk(scope, wanted, place("interrupts", after) or (-1, -1), limit)
    with ExitStack() as opened:
        walks = [opened.enter_context(db.walk(name, values)) for name in _walks_of(wanted)]
        rows = heapq.merge(*walks) if len(walks) > 1 else walks[0]
        fitting = ((row[0], row[1], wanted.fits(row[2:])) for row in rows)
        positions, following = picked("interrupts", fitting, limit, values["walk"])
    read = db.many("read_listed_interrupt", [(position,) for position in positions])
    return Page(items=tuple(map(_listed, read)), next=following)


def interrupt(db: Session, scope: str, interrupt_id: str) -> ListedInterrupt | None:
    """Read one interrupt."""
    row = db.one("find_interrupt", (interrupt_id, scope))
    return None if row is None else _listed(db.many("read_listed_interrupt", [row])[0])


def runs(db: Session, scope: str, thread_id: str, after: str | None, limit: int) -> Page[Run]:
    """Read a page of the runs of a thread."""
    _, position = place("runs", after) or (0, 0)
    values = (scope, thread_id, position, limited(limit) + 1)
    rows = db.all("walk_runs", values)
    return Page(
        items=tuple(run_of(row[1:]) for row in rows[:limit]),
        next=cursor("runs", 0, rows[limit - 1][0]) if len(rows) > limit else None,
    )


def waiting(db: Session, most: int) -> Waiting:
    """Count what is open."""
    row = db.one("count_open", {"most": most})
    return Waiting(count=row[0], oldest=row[1]) if row else Waiting(count=0)


def _walk(
    scope: str, wanted: ThreadFilter | InterruptFilter, begin: tuple[int, int], limit: int
) -> dict[str, Any]:
    moment, position = begin
    values = {"scope": scope, "moment": moment, "position": position, "walk": walk(limit)}
    return values | wanted.given


def _walks_of(wanted: InterruptFilter) -> tuple[str, ...]:
    """The walks that together meet all that fits, and the fewest rows in vain."""
    if wanted.thread_id is not None:
        return ("walk_of_thread",)
    if wanted.status == "open" and wanted.assigned_to is not None:
        return ("walk_open_assigned",)
    owned = wanted.owner is not None
    still_open = "walk_open_owned" if owned else "walk_open"
    settled = "walk_settled_owned" if owned else "walk_settled"
    if wanted.status is None:
        return still_open, settled
    return (still_open if wanted.status == "open" else settled,)


def _listed(found: Row) -> ListedInterrupt:
    thread_id, owner, agent, *row = found
    return ListedInterrupt(
        thread_id=thread_id, owner=owner, agent=agent, interrupt=interrupt_of(tuple(row))
    )


def _summary(row: Row) -> ThreadSummary:
    scope, thread_id, owner, agent, revision, created, active, running, status, outcome, count = row
    return ThreadSummary(
        scope=scope,
        id=thread_id,
        owner=owner,
        agent=agent,
        revision=revision,
        created_at=created,
        active_at=active,
        running=bool(running),
        turn_status=status,
        outcome=outcome_type(outcome),
        open_interrupts=count,
    )
