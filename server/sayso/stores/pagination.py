"""Lists in pages: filters, and cursors, which are two numbers behind the list's first letter."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from sayso.base.audit import AuditRow
from sayso.base.records import InterruptFilter, Page, ThreadFilter

List = Literal["threads", "interrupts", "runs", "due", "approvals", "ledger"]

_WALK = 1_000
"""Rows that a page looks at, beside those that fit, before it gives up for this time."""

_LAST = 10**18
"""More than the position of any row."""

_FORM = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})")


def fits_thread(wanted: ThreadFilter, row: Sequence[Any]) -> bool:
    """True if a thread with this owner, agent and status belongs in the list."""
    return _fits((wanted.owner, wanted.agent, wanted.status), row)


def fits_interrupt(
    wanted: InterruptFilter, owner: str, names: Iterable[str] | None, row: Sequence[Any]
) -> bool:
    """True if an interrupt of that owner, for people of these names, belongs in the list.

    `row` is its status, agent, reason and assignee.
    """
    anybody = wanted.owner is None and not wanted.names
    concerned = anybody or owner == wanted.owner or bool({*wanted.names} & {*(names or ())})
    rest = (wanted.status, wanted.agent, wanted.reason, wanted.assigned_to)
    return concerned and _fits(rest, row)


def _fits(wanted: Sequence[Any], row: Sequence[Any]) -> bool:
    return all(value is None or value == found for value, found in zip(wanted, row, strict=True))


def begin_of(threads: ThreadFilter, after: str | None) -> tuple[int, int] | None:
    """The place in front of which a page of threads begins, since they are listed backwards."""
    begin = parse_cursor("threads", after)
    if begin is None and threads.idle_since is not None:
        return (threads.idle_since, 0)
    return begin


def cursor(of: List, moment: int, position: int) -> str:
    """The place right behind a row, as a caller may keep it."""
    return f"{of[0]}{moment}.{position}"


def parse_cursor(of: List, after: str | None) -> tuple[int, int] | None:
    """The row that a page begins behind; ValueError for what is no cursor of that list."""
    if after is None:
        return None
    match = _FORM.fullmatch(after[1:]) if after[:1] == of[0] else None
    if match is None:
        raise ValueError(f"{after[:60]!r} is no cursor of {of}; read the list from its beginning")
    return int(match[1]), int(match[2])


def end_of(of: List, until: str | None) -> int:
    """The position of the last row that may be listed; None: there is no such bound."""
    return _LAST if until is None else position_of(of, until)


def position_of(of: List, after: str | None) -> int:
    """The position of the row that a page begins behind; 0 at the beginning of the list."""
    return (parse_cursor(of, after) or (0, 0))[1]


def checked_limit(limit: int) -> int:
    """A limit that can be kept; ValueError for one that cannot."""
    if limit < 1:
        raise ValueError(f"a page of {limit} items leads nowhere; ask for at least 1")
    return limit


def take_page(
    of: List, rows: Iterable[tuple[int, int, bool]], limit: int, walk: int
) -> tuple[list[int], str | None]:
    """The positions of the first rows that fit, and where the next page begins.

    `rows` are (moment, position, fits) in the list's order; at `scan_size` of them a page ends.
    """
    chosen: list[int] = []
    seen, last = 0, (0, 0)
    for moment, position, fits in rows:
        if fits and len(chosen) == limit:
            return chosen, cursor(of, *last)
        if fits:
            chosen.append(position)
        seen, last = seen + 1, (moment, position)
        if seen == walk:
            return chosen, cursor(of, *last)
    return chosen, None


def of_thread(rows: Sequence[AuditRow], limit: int) -> Page[AuditRow]:
    """The page of the first `limit` of these rows of one thread; there are more if more are given.

    Rows of other owners, who had the thread's id before, are not among them: whoever has none there
    is not told how many there are.
    """
    read = tuple(rows[:limit])
    more = len(rows) > limit
    return Page(items=read, next=cursor("ledger", 0, read[-1].number) if more else None)


def scan_size(limit: int) -> int:
    """How many rows a page of that many items may look at."""
    return checked_limit(limit) + _WALK
