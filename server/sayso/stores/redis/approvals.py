"""Reads of approvals from Redis, and what a revocation writes."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sayso.base.errors import Conflict
from sayso.base.records import Approval, ApprovalUse, Page, PageRequest
from sayso.stores.pagination import checked_limit, parse_cursor, scan_size, take_page
from sayso.stores.redis.client import RedisClient
from sayso.stores.redis.keys import ScopeKeys
from sayso.stores.redis.rows import APPROVALS, moment, prefixed
from sayso.stores.redis.rows import place as numbered
from sayso.stores.sealing import those_that_open

_PREFIX_CHARS = 36
"""Where the record begins behind its moment and number."""


async def one(link: RedisClient, keys: ScopeKeys, approval_id: str) -> Approval | None:
    """Read one approval."""
    value = await link.one("HGET", keys.of("approvals"), approval_id)
    if value is None:
        return None
    (approval,) = await _used(link, keys, [_opened(link, keys, value)])
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
    read = await _read(link, keys, found, some=False)
    rows = [row for row in read if row is not None and _is_valid(row, at)]
    return tuple(await _used(link, keys, rows))


async def page(
    link: RedisClient,
    keys: ScopeKeys,
    at: int | None,
    party: str | None,
    page: PageRequest,
) -> Page[Approval]:
    """Read a page of approvals."""
    begin, most = parse_cursor("approvals", page.after), scan_size(page.limit)
    lowest = "-" if begin is None else f"({moment(begin[0])}.{numbered(begin[1])}}}"
    found = await link.one("ZRANGEBYLEX", keys.of("given"), lowest, "+", "LIMIT", 0, most)
    rows = {
        int(member[20:36]): (int(member[:19]), row)
        for member, row in zip(found, await _read(link, keys, found, some=True), strict=True)
    }
    fitting = (
        (
            given_at,
            number,
            row is not None
            and (at is None or _is_valid(row, at))
            and party in (None, row.owner, row.given_by),
        )
        for number, (given_at, row) in rows.items()
    )
    numbers, following = take_page("approvals", fitting, page.limit, most)
    chosen = [row for number in numbers if (row := rows[number][1]) is not None]
    return Page(items=tuple(await _used(link, keys, chosen)), next=following)


async def stored(
    link: RedisClient, keys: ScopeKeys, approvals: Sequence[Approval]
) -> Collection[str]:
    """Read which of these are stored, by their ids."""
    if not approvals:
        return ()
    ids = [row.id for row in approvals]
    values = await link.one("HMGET", keys.of("approvals"), *ids)
    return [name for name, value in zip(ids, values, strict=True) if value is not None]


async def revoked(
    link: RedisClient, keys: ScopeKeys, approval_id: str, by: str, now: int
) -> tuple[Approval, tuple[str, bytes, bytes]]:
    """An approval that is to be revoked; its id, what was read, and what it is to be."""
    value = await link.one("HGET", keys.of("approvals"), approval_id)
    row = None if value is None else APPROVALS.unpack(value, _PREFIX_CHARS)
    if row is None or row.revoked_at is not None:
        raise Conflict(f"approval {approval_id!r} is unknown, or revoked already")
    packed = APPROVALS.pack(replace(row, revoked_at=now, revoked_by=by))
    return _opened(link, keys, value), (approval_id, value, value[:_PREFIX_CHARS] + packed)


async def delete(link: RedisClient, keys: ScopeKeys, approval_id: str) -> None:
    """Remove an approval with its uses, all at once."""
    value = await link.one("HGET", keys.of("approvals"), approval_id)
    if value is None:
        return
    row = APPROVALS.unpack(value, _PREFIX_CHARS)
    member = value[:_PREFIX_CHARS] + f"|{approval_id}".encode()
    commands: list[tuple[object, ...]] = [
        ("ZREM", keys.of("given"), member),
        ("ZREM", keys.one("tool", prefixed(row.owner) + row.tool), member),
        ("DEL", keys.one("uses", approval_id)),
        ("DEL", keys.one("newest", approval_id)),
        ("HDEL", keys.of("approvals"), approval_id),
    ]
    if row.thread_id is not None:
        commands.append(("SREM", keys.one("own", row.thread_id), approval_id))
    await link.at_once(commands)


async def _read(
    link: RedisClient, keys: ScopeKeys, members: Sequence[bytes], *, some: bool
) -> list[Approval | None]:
    """The approvals of members; None for one that is gone, or that somebody has damaged."""
    if not members:
        return []
    ids = [member[_PREFIX_CHARS + 1 :].decode() for member in members]
    values = await link.one("HMGET", keys.of("approvals"), *ids)
    there = [value for value in values if value is not None]
    opened = those_that_open(partial(_opened, link, keys), there, some=some)
    rows = {row.id: row for row in opened}
    return [rows.get(name) for name in ids]


def _opened(link: RedisClient, keys: ScopeKeys, value: bytes) -> Approval:
    row = APPROVALS.unpack(value, _PREFIX_CHARS)
    return link.seals.out_of(keys.scope, row.thread_id or "").approval(row)


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
