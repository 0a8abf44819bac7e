"""Lists that an SQL store reads, within a transaction.

A page walks along the index that fits its filters best, tries the other filters on light rows, a
bounded number of them, and reads whole only what it returns.
"""

import heapq
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import orjson

from sayso.base.records import (
    InterruptFilter,
    ListedInterrupt,
    ListedThread,
    OpenCount,
    Page,
    PageRequest,
    Run,
    ThreadFilter,
)
from sayso.base.runoutcome import outcome_type
from sayso.stores.base import StoreUsage
from sayso.stores.pagination import (
    begin_of,
    checked_limit,
    cursor,
    fits_interrupt,
    fits_thread,
    parse_cursor,
    scan_size,
    take_page,
)
from sayso.stores.sealing import those_that_open
from sayso.stores.sql.rows import interrupt_of, run_of
from sayso.stores.sql.session import Row, Transaction

_END = 2**62
"""Later than any moment."""
_OPEN = ("walk_open", "walk_open_owned", "walk_open_for")
_SETTLED = ("walk_settled", "walk_settled_owned", "walk_settled_for")
"""Walks over all of a scope, over those of an owner, and over those for a name."""


def threads(
    db: Transaction, scope: str, wanted: ThreadFilter, page: PageRequest
) -> Page[ListedThread]:
    """Read a page of threads."""
    name = "walk_threads" if wanted.owner is None else "walk_owned_threads"
    values = _walk(
        scope, {"owner": wanted.owner}, begin_of(wanted, page.after) or (_END, 0), page.limit
    )
    with db.scan(name, values) as rows:
        fitting = ((row[0], row[1], fits_thread(wanted, row[2:])) for row in rows)
        keys, following = take_page("threads", fitting, page.limit, values["walk"])
    read = db.many("read_listed_thread", [(key,) for key in keys])
    items = those_that_open(partial(_listed_thread, db), read)
    return Page(items=tuple(items), next=following)


def interrupts(
    db: Transaction, scope: str, wanted: InterruptFilter, page: PageRequest
) -> Page[ListedInterrupt]:
    """Read a page of interrupts."""
    members = {
        "owner": wanted.owner,
        "assigned_to": wanted.assigned_to,
        "thread_id": wanted.thread_id,
    }
    values = _walk(scope, members, parse_cursor("interrupts", page.after) or (-1, -1), page.limit)
    with ExitStack() as opened:
        walks = [
            opened.enter_context(
                db.scan(walk, values if name is None else {**values, "name": name})
            )
            for walk, name in _walks_of(wanted)
        ]
        rows = _merged(walks) if len(walks) > 1 else walks[0]
        fitting = ((row[0], row[1], _fits(wanted, row)) for row in rows)
        positions, following = take_page("interrupts", fitting, page.limit, values["walk"])
    read = db.many("read_listed_interrupt", [(position,) for position in positions])
    items = those_that_open(partial(_listed, db, scope), read, some=wanted.thread_id is None)
    return Page(items=tuple(items), next=following)


def interrupt(db: Transaction, scope: str, interrupt_id: str) -> ListedInterrupt | None:
    """Read one interrupt."""
    row = db.one("find_interrupt", (interrupt_id, scope))
    return None if row is None else _listed(db, scope, db.many("read_listed_interrupt", [row])[0])


def runs(db: Transaction, scope: str, thread_id: str, page: PageRequest) -> Page[Run]:
    """Read a page of the runs of a thread."""
    _, position = parse_cursor("runs", page.after) or (0, 0)
    values = (scope, thread_id, position, checked_limit(page.limit) + 1)
    rows, way = db.all("walk_runs", values), db.seals.out_of(scope, thread_id)
    return Page(
        items=tuple(way.run(run_of(row[1:])) for row in rows[: page.limit]),
        next=cursor("runs", 0, rows[page.limit - 1][0]) if len(rows) > page.limit else None,
    )


def count_all_open(db: Transaction, most: int) -> OpenCount:
    """Count what is open."""
    row = db.one("count_all_open", {"most": most})
    return OpenCount(count=row[0], oldest=row[1]) if row else OpenCount(count=0)


def next_scope(db: Transaction, after: str | None) -> str | None:
    """Read the first scope behind another one."""
    row = db.one("first_scope", ()) if after is None else db.one("next_scope", (after,))
    scope: str | None = row[0] if row else None
    return scope


def usage(db: Transaction, scope: str, owner: str | None) -> StoreUsage:
    """Count what an owner has, or all of a scope."""
    if owner is None:
        row = db.one("count_all", {"scope": scope})
    else:
        row = db.one("count_owned", {"scope": scope, "owner": owner})
    threads, size, open_questions = row or (0, 0, 0)
    return StoreUsage(threads=threads, bytes=int(size), open_questions=open_questions)


def _walk(
    scope: str, members: dict[str, str | None], begin: tuple[int, int], limit: int
) -> dict[str, Any]:
    moment, position = begin
    values = {"scope": scope, "moment": moment, "position": position, "walk": scan_size(limit)}
    return values | members


def _walks_of(wanted: InterruptFilter) -> list[tuple[str, str | None]]:
    """The walks that together meet all that fits, and the fewest rows in vain.

    With the name of whom a walk is for, where it is for one.
    """
    if wanted.thread_id is not None:
        return [("walk_of_thread", None)]
    if wanted.status == "open" and wanted.assigned_to is not None:
        return [("walk_open_assigned", None)]
    states = {None: (_OPEN, _SETTLED), "open": (_OPEN,)}.get(wanted.status, (_SETTLED,))
    walks: list[tuple[str, str | None]] = []
    for anybodys, owned, named in states:
        walks += [(named, name) for name in wanted.names]
        if wanted.owner is not None:
            walks.append((owned, None))
        elif not wanted.names:
            walks.append((anybodys, None))
    return walks


def _merged(walks: Iterable[Iterable[Row]]) -> Iterator[Row]:
    """The rows of several walks in their order, each once."""
    last: Row | None = None
    for row in heapq.merge(*walks, key=_order):
        if last is None or _order(row) != _order(last):
            yield row
        last = row


def _order(row: Row) -> Row:
    return row[:2]


def _fits(filtered: InterruptFilter, row: Row) -> bool:
    _, _, owner, names, *rest = row
    return fits_interrupt(filtered, owner, None if names is None else orjson.loads(names), rest)


def _listed(db: Transaction, scope: str, found: Row) -> ListedInterrupt:
    thread_id, owner, agent, *row = found
    way = db.seals.out_of(scope, thread_id)
    return ListedInterrupt(
        thread_id=thread_id, owner=owner, agent=agent, interrupt=interrupt_of(tuple(row), way)
    )


def _listed_thread(db: Transaction, row: Row) -> ListedThread:
    scope, thread_id, owner, agent, revision, created, active, running, *rest = row
    status, run_key, outcome, count, on_hold = rest
    outcome = db.seals.out_of(scope, thread_id).one("run.outcome", run_key, outcome)
    return ListedThread(
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
        on_hold=bool(on_hold),
    )
