"""The audit trail in an SQL store, within a transaction."""

from collections.abc import Sequence

from sayso.base.audit import AuditRow, stored
from sayso.base.records import Page, PageRequest
from sayso.stores.pagination import checked_limit, of_thread, parse_cursor, scan_size, take_page
from sayso.stores.sql.changes import Whose
from sayso.stores.sql.session import Transaction
from sayso.stores.step import AuditLine


def append(db: Transaction, whose: Whose, at: int, lines: Sequence[AuditLine]) -> None:
    """Add rows behind a thread's newest."""
    if not lines:
        return
    belongs = (whose.scope, whose.thread_id, whose.owner)
    db.insert_many("add_audit", [(*belongs, line.number, at, *line[1:]) for line in lines])


def page(
    db: Transaction,
    scope: str,
    thread_id: str | None,
    owner: str | None,
    page: PageRequest,
) -> Page[AuditRow]:
    """Read a page of rows."""
    _, begin = parse_cursor("ledger", page.after) or (0, 0)
    if thread_id is not None:
        values = (scope, thread_id, begin, checked_limit(page.limit) + 1)
        return of_thread(
            [stored(*row) for row in db.all("walk_audit_of_thread", values)], owner, page.limit
        )
    most = scan_size(page.limit)
    bounds = {"scope": scope, "moment": 0, "position": begin, "walk": most}
    with db.scan("walk_audit", bounds) as rows:
        fitting = ((0, position, owner in (None, whose)) for _, position, whose in rows)
        positions, following = take_page("ledger", fitting, page.limit, most)
    read = db.many("read_audit", [(position,) for position in positions])
    return Page(items=tuple(stored(*row) for row in read), next=following)
