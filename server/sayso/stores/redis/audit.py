"""Reads of the audit trail from Redis."""

from collections.abc import Sequence
from typing import Any

import orjson

from sayso.base.audit import AuditRow
from sayso.base.records import Page, PageRequest
from sayso.stores.pagination import checked_limit, of_thread, parse_cursor, scan_size, take_page
from sayso.stores.redis.client import RedisClient
from sayso.stores.redis.keys import ScopeKeys
from sayso.stores.redis.rows import audit_row


async def page(
    link: RedisClient,
    keys: ScopeKeys,
    thread_id: str | None,
    owner: str | None,
    page: PageRequest,
) -> Page[AuditRow]:
    """Read a page of rows."""
    _, begin = parse_cursor("ledger", page.after) or (0, 0)
    if thread_id is not None:
        return await _of_thread(link, keys, thread_id, owner, begin, page.limit)
    most = scan_size(page.limit)
    count = page.limit + 1 if owner is None else most
    found = await link.one("XRANGE", keys.of("ledger"), f"({begin}-0", "+", "COUNT", count)
    rows = {_number(entry): orjson.loads(entry[1][1]) for entry in found}
    fitting = ((0, position, owner in (None, row[2])) for position, row in rows.items())
    positions, following = take_page("ledger", fitting, page.limit, most)
    commands: list[tuple[Any, ...]] = []
    for position in positions:
        mine, number = keys.thread(rows[position][0]), rows[position][1]
        commands.append(("XRANGE", mine.of("audit"), f"{number}-0", f"{number}-0"))
        commands.append(("HGET", mine.of("said"), number))
    answers = await link.all(commands) if commands else []
    items = tuple(
        audit_row(rows[position][0], rows[position][1], entries[0][1][1], content)
        for position, entries, content in zip(positions, answers[0::2], answers[1::2], strict=True)
    )
    return Page(items=items, next=following)


async def _of_thread(
    link: RedisClient, keys: ScopeKeys, thread_id: str, owner: str | None, begin: int, limit: int
) -> Page[AuditRow]:
    mine, most = keys.thread(thread_id), checked_limit(limit)
    last = begin + most + 1
    entries, contents = await link.at_once(
        [
            ("XRANGE", mine.of("audit"), f"({begin}-0", "+", "COUNT", most + 1),
            ("HMGET", mine.of("said"), *range(begin + 1, last + 1)),
        ]
    )
    rows = [
        audit_row(thread_id, _number(entry), entry[1][1], content)
        for entry, content in zip(entries, contents, strict=False)
    ]
    return of_thread(rows, owner, most)


def _number(entry: Sequence[bytes]) -> int:
    return int(entry[0].partition(b"-")[0])
