"""Reads of approvals from Redis, and their revocation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sayso.base.errors import Conflict
from sayso.base.records import Approval, ApprovalUse, Page, PageRequest
from sayso.stores.pagination import checked_limit, parse_cursor, scan_size, take_page
from sayso.stores.redis.client import RedisClient, Script
from sayso.stores.redis.keys import ScopeKeys
from sayso.stores.redis.rows import APPROVALS, moment, prefixed
from sayso.stores.redis.rows import place as numbered

_REVOKE = Script("revoke")
_PREFIX_CHARS = 36
"""Where the record begins behind its moment and number."""


async def one(link: RedisClient, keys: ScopeKeys, approval_id: str) -> Approval | None:
    """Read one approval."""
    value = await link.one("HGET", keys.of("approvals"), approval_id)
    if value is None:
        return None
    (approval,) = await _used(link, keys, [APPROVALS.unpack(value, _PREFIX_CHARS)])
    return approval


async def uses(
    link: RedisClient, keys: ScopeKeys, approval_id: str, limit: int
) -> tuple[ApprovalUse, ...]:
    """Read the newest uses of an approval."""
    most = checked_limit(limit)
    found = await link.one("ZREVRANGE", keys.one("newest", approval_id), 0, most - 1)
    if not found:
        return ()
    calls = [member[37:] for member in found]
    values = await link.one("HMGET", keys.one("uses", approval_id), *calls)
    return tuple(
        ApprovalUse(
            approval_id=approval_id,
            call_id=call.decode(),
            thread_id=value[37:].decode(),
            at=int(value[:19]),
        )
        for call, value in zip(calls, values, strict=True)
        if value is not None
    )


async def valid(
    link: RedisClient, keys: ScopeKeys, owner: str, tool: str, at: int
) -> tuple[Approval, ...]:
    """Read the approvals for a tool that are valid."""
    found = await link.one("ZRANGE", keys.one("tool", prefixed(owner) + tool), 0, -1)
    rows = [row for row in await _read(link, keys, found) if row is not None and _is_valid(row, at)]
    return tuple(await _used(link, keys, rows))


async def page(
    link: RedisClient,
    keys: ScopeKeys,
    at: int,
    party: str | None,
    page: PageRequest,
) -> Page[Approval]:
    """Read a page of approvals."""
    begin, most = parse_cursor("approvals", page.after), scan_size(page.limit)
    lowest = "-" if begin is None else f"({moment(begin[0])}.{numbered(begin[1])}}}"
    found = await link.one("ZRANGEBYLEX", keys.of("given"), lowest, "+", "LIMIT", 0, most)
    rows = {
        int(member[20:36]): (int(member[:19]), row)
        for member, row in zip(found, await _read(link, keys, found), strict=True)
    }
    fitting = (
        (
            given_at,
            number,
            row is not None and _is_valid(row, at) and party in (None, row.owner, row.given_by),
        )
        for number, (given_at, row) in rows.items()
    )
    numbers, following = take_page("approvals", fitting, page.limit, most)
    chosen = [row for number in numbers if (row := rows[number][1]) is not None]
    return Page(items=tuple(await _used(link, keys, chosen)), next=following)


async def revoke(
    link: RedisClient, keys: ScopeKeys, token: str, approval_id: str, by: str, now: int
) -> None:
    """Revoke an approval."""
    while True:
        value = await link.one("HGET", keys.of("approvals"), approval_id)
        row = None if value is None else APPROVALS.unpack(value, _PREFIX_CHARS)
        if row is None or row.revoked_at is not None:
            raise Conflict(f"approval {approval_id!r} is unknown, or revoked already")
        revoked = value[:_PREFIX_CHARS] + APPROVALS.pack(
            replace(row, revoked_at=now, revoked_by=by)
        )
        names = [keys.one("step", token), keys.of("approvals")]
        if await link.run(_REVOKE, names, [approval_id, value, revoked]) == b"done":
            return


async def _read(
    link: RedisClient, keys: ScopeKeys, members: Sequence[bytes]
) -> list[Approval | None]:
    if not members:
        return []
    ids = [member[_PREFIX_CHARS + 1 :] for member in members]
    values = await link.one("HMGET", keys.of("approvals"), *ids)
    return [None if value is None else APPROVALS.unpack(value, _PREFIX_CHARS) for value in values]


async def _used(link: RedisClient, keys: ScopeKeys, rows: Sequence[Approval]) -> list[Approval]:
    """The rows with how often they were used, and when last."""
    if not rows:
        return []
    commands: list[tuple[Any, ...]] = []
    for row in rows:
        commands.append(("HLEN", keys.one("uses", row.id)))
        commands.append(("ZREVRANGE", keys.one("newest", row.id), 0, 0))
    answers = await link.all(commands)
    return [
        replace(row, uses=count, used_at=int(newest[0][:19]) if newest else None)
        for row, count, newest in zip(rows, answers[0::2], answers[1::2], strict=True)
    ]


def _is_valid(row: Approval, at: int) -> bool:
    return row.revoked_at is None and (row.expires_at is None or row.expires_at > at)
