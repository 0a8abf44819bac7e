"""Approvals in an SQL store, within a transaction."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from sayso.base import jsonvalue
from sayso.base.audit import rows_of_revocation
from sayso.base.errors import Conflict
from sayso.base.records import Approval, ApprovalUse, Page, PageRequest
from sayso.stores.pagination import checked_limit, parse_cursor, scan_size, take_page
from sayso.stores.rekeying import REKEYED_ROWS, Rekeying
from sayso.stores.sealing import those_that_open
from sayso.stores.sql import audit
from sayso.stores.sql.session import Row, Transaction

_TEXTS = ("approval.pattern", "approval.terms")


def write(
    db: Transaction,
    scope: str,
    given: Sequence[Approval],
    used: Sequence[ApprovalUse],
) -> None:
    """Keep what a commit brings."""
    for row in given:
        kept = db.seals.into(scope, row.thread_id or "").approval(row)
        values = (
            scope,
            row.id,
            row.owner,
            row.tool,
            row.thread_id,
            kept.pattern,
            jsonvalue.encode(list(row.rules)),
            row.given_by,
            row.given_at,
            row.interrupt_id,
            row.expires_at,
            row.revoked_at,
            row.revoked_by,
            kept.terms,
        )
        db.do("add_approval", values)
    for use in used:
        noted = (scope, use.approval_id, use.call_id, use.thread_id, use.at)
        db.do("add_approval_use", noted)


def stored(db: Transaction, scope: str, approvals: Sequence[Approval]) -> Collection[str]:
    """Read which of these are stored, by their ids."""
    return [row.id for row in approvals if db.one("find_approval", (scope, row.id)) is not None]


def one(db: Transaction, scope: str, approval_id: str) -> Approval | None:
    """Read one approval."""
    row = db.one("find_approval", (scope, approval_id))
    return None if row is None else _one(db, scope, row)


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
    # One that is damaged stands for nothing: the call is asked about.
    return _those_that_open(db, scope, rows, some=False)


def page(
    db: Transaction,
    scope: str,
    at: int | None,
    party: str | None,
    page: PageRequest,
) -> Page[Approval]:
    """Read a page of approvals."""
    moment, position = parse_cursor("approvals", page.after) or (-1, -1)
    most = scan_size(page.limit)
    wanted = {"scope": scope, "moment": moment, "position": position, "walk": most}
    with db.scan("walk_approvals", wanted) as rows:
        fitting = (
            (
                given_at,
                number,
                _is_valid(rest, at) and party in (None, owner, given_by),
            )
            for given_at, number, owner, given_by, *rest in rows
        )
        positions, following = take_page("approvals", fitting, page.limit, most)
    items = _those_that_open(db, scope, [(number,) for number in positions], some=True)
    return Page(items=items, next=following)


def revoke(db: Transaction, scope: str, approval_id: str, by: str, now: int) -> None:
    """Revoke an approval."""
    row = db.one("revoke_approval", (now, by, scope, approval_id))
    if row is None:
        raise Conflict(f"approval {approval_id!r} is unknown, or revoked already")
    audit.note(db, scope, [rows_of_revocation(_one(db, scope, row), by)], now)


def delete(db: Transaction, scope: str, approval_id: str) -> None:
    """Remove an approval with its uses."""
    for name in ("delete_uses_of_approval", "delete_approval"):
        db.do(name, (scope, approval_id))


def forget(db: Transaction, scope: str, thread_id: str) -> None:
    """Remove what belongs to a thread that is deleted."""
    for name in ("delete_approval_uses", "delete_approvals"):
        db.do(name, (scope, thread_id))


def rekey(db: Transaction, work: Rekeying, begin: int) -> int | None:
    """Bring approvals under another key; where to go on, None at the end.

    One is written in each transaction, since a deletion locks several.
    """
    rows = db.all("next_approvals", (begin, REKEYED_ROWS))
    for position, scope, thread_id, *row in rows:
        begin = position
        fresh = work.renewed(scope, thread_id, "\0".join(row[:3]), _TEXTS, row[3:])
        if fresh is not None:
            db.do("rekey_approval", (*fresh, position))
            return begin
    return begin if len(rows) == REKEYED_ROWS else None


def _is_valid(row: Sequence[Any], at: int | None) -> bool:
    if at is None:
        return True
    revoked_at, expires_at = row
    return revoked_at is None and (expires_at is None or expires_at > at)


def _one(db: Transaction, scope: str, position: Row) -> Approval:
    (row,) = db.many("read_approval", [position])
    return _opened(db, scope, row)


def _those_that_open(
    db: Transaction, scope: str, positions: Sequence[Row], *, some: bool
) -> tuple[Approval, ...]:
    """Those that nobody has damaged."""
    rows = db.many("read_approval", positions)
    return tuple(those_that_open(partial(_opened, db, scope), rows, some=some))


def _opened(db: Transaction, scope: str, row: Row) -> Approval:
    approval = _approval(row)
    return db.seals.out_of(scope, approval.thread_id or "").approval(approval)


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
