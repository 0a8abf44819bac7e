"""Approvals in an SQL store, within a transaction."""

from collections.abc import Sequence
from typing import Any

from sayso.base import jsonvalue
from sayso.base.errors import Conflict
from sayso.base.records import Approval, ApprovalUse, Page, PageRequest
from sayso.stores.pagination import checked_limit, parse_cursor, scan_size, take_page
from sayso.stores.sql.session import Row, Transaction


def write(
    db: Transaction,
    scope: str,
    given: Sequence[Approval],
    used: Sequence[ApprovalUse],
) -> None:
    """Keep what a commit brings."""
    for row in given:
        values = (
            scope,
            row.id,
            row.owner,
            row.tool,
            row.thread_id,
            row.pattern,
            jsonvalue.encode(list(row.rules)),
            row.given_by,
            row.given_at,
            row.interrupt_id,
            row.expires_at,
            row.revoked_at,
            row.revoked_by,
            row.terms,
        )
        db.do("add_approval", values)
    for use in used:
        noted = (scope, use.approval_id, use.call_id, use.thread_id, use.at)
        db.do("add_approval_use", noted)


def one(db: Transaction, scope: str, approval_id: str) -> Approval | None:
    """Read one approval."""
    row = db.one("find_approval", (scope, approval_id))
    return None if row is None else _all(db, [row])[0]


def uses(db: Transaction, scope: str, approval_id: str, limit: int) -> tuple[ApprovalUse, ...]:
    """Read the newest uses of an approval."""
    rows = db.all("read_approval_uses", (scope, approval_id, checked_limit(limit)))
    return tuple(
        ApprovalUse(approval_id=approval_id, call_id=call_id, thread_id=thread_id, at=at)
        for call_id, thread_id, at in rows
    )


def valid(db: Transaction, scope: str, owner: str, tool: str, at: int) -> tuple[Approval, ...]:
    """Read the approvals for a tool that are valid."""
    rows = db.all("walk_approvals_of_tool", (scope, owner, tool, at))
    return _all(db, rows)


def page(
    db: Transaction,
    scope: str,
    at: int,
    party: str | None,
    page: PageRequest,
) -> Page[Approval]:
    """Read a page of approvals."""
    moment, position = parse_cursor("approvals", page.after) or (-1, -1)
    most = scan_size(page.limit)
    wanted = {"scope": scope, "moment": moment, "position": position, "walk": most}
    with db.scan("walk_approvals", wanted) as rows:
        fitting = (
            (given_at, number, _is_valid(rest, at) and party in (None, owner, given_by))
            for given_at, number, owner, given_by, *rest in rows
        )
        positions, following = take_page("approvals", fitting, page.limit, most)
    return Page(items=_all(db, [(number,) for number in positions]), next=following)


def revoke(db: Transaction, scope: str, approval_id: str, by: str, now: int) -> None:
    """Revoke an approval."""
    if db.one("revoke_approval", (now, by, scope, approval_id)) is None:
        raise Conflict(f"approval {approval_id!r} is unknown, or revoked already")


def forget(db: Transaction, scope: str, thread_id: str) -> None:
    """Remove what belongs to a thread that is deleted."""
    for name in ("delete_approval_uses", "delete_approvals"):
        db.do(name, (scope, thread_id))


def _is_valid(row: Sequence[Any], at: int) -> bool:
    revoked_at, expires_at = row
    return revoked_at is None and (expires_at is None or expires_at > at)


def _all(db: Transaction, positions: Sequence[Row]) -> tuple[Approval, ...]:
    return tuple(map(_approval, db.many("read_approval", positions)))


def _approval(row: Row) -> Approval:
    return Approval(
        id=row[0],
        owner=row[1],
        tool=row[2],
        thread_id=row[3],
        pattern=row[4],
        rules=tuple(jsonvalue.decode(row[5])),
        given_by=row[6],
        given_at=row[7],
        interrupt_id=row[8],
        expires_at=row[9],
        revoked_at=row[10],
        revoked_by=row[11],
        terms=row[12],
        uses=row[13],
        used_at=row[14],
    )
