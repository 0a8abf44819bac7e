"""What an SQL store does about the audit trail, within a transaction."""

from collections.abc import Sequence

from sayso.audit import FIRST, AuditRow, Event, sealed, stored
from sayso.records import Page
from sayso.stores.pages import limited, of_thread, picked, place, walk
from sayso.stores.sql.changes import Whose
from sayso.stores.sql.session import Answer, Session

__all__ = ["append", "forget", "page"]


def append(db: Session, whose: Whose, at: int, events: Sequence[Event], last: Answer) -> None:
    """Add what happened in a thread behind its newest row, which `last` gives if there is one."""
    if not events:
        return
    ((number, digest),) = last() or [(0, FIRST)]
    rows = []
    for event in events:
        number += 1
        inner, digest = sealed(digest, number, at, event)
        belongs = (whose.scope, whose.thread_id, whose.owner)
        rows.append((*belongs, number, at, *event, inner, digest))
    db.each("add_audit", rows)


def forget(db: Session, scope: str, thread_id: str) -> None:
    """Take the contents of a thread's rows; what seals them stays."""
    db.do("empty_audit", (scope, thread_id))


def page(
    db: Session,
    scope: str,
    thread_id: str | None,
    owner: str | None,
    after: str | None,
    limit: int,
) -> Page[AuditRow]:
    """Read a page of rows."""
    _, begin = place("ledger", after) or (0, 0)
    if thread_id is not None:
        values = (scope, thread_id, begin, limited(limit) + 1)
        return of_thread(
            [stored(*row) for row in db.all("walk_audit_of_thread", values)], owner, limit
        )
    most = walk(limit)
    wanted = {"scope": scope, "moment": 0, "position": begin, "walk": most}
    with db.walk("walk_audit", wanted) as found:
        fitting = ((0, position, owner in (None, whose)) for _, position, whose in found)
        positions, following = picked("ledger", fitting, limit, most)
    read = db.many("read_audit", [(position,) for position in positions])
    return Page(items=tuple(stored(*row) for row in read), next=following)
