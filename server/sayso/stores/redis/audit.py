"""The audit trail in Redis: reads of it, and the people that it tells of."""

from collections.abc import Sequence
from typing import Any

import orjson

from sayso.base.audit import GENESIS, SALT_BYTES, AuditPerson, AuditRow, new_person
from sayso.base.records import Page, PageRequest
from sayso.base.signatures import DECISIONS
from sayso.stores.pagination import (
    checked_limit,
    cursor,
    end_of,
    of_thread,
    parse_cursor,
    scan_size,
    take_page,
)
from sayso.stores.redis.client import RedisClient, Script
from sayso.stores.redis.keys import ScopeKeys, ThreadKeys
from sayso.stores.redis.rows import audit_row

_PERSON = Script("person")
_PIECE = 100


async def page(
    link: RedisClient,
    keys: ScopeKeys,
    thread_id: str | None,
    owner: str | None,
    until: str | None,
    page: PageRequest,
) -> Page[AuditRow]:
    """Read a page of rows."""
    _, begin = parse_cursor("ledger", page.after) or (0, 0)
    if owner is not None:
        owner = await known_person(link, keys, owner)
        if owner is None:
            return Page(items=(), next=None)
    if thread_id is not None:
        return await _of_thread(link, keys, thread_id, owner, begin, page.limit)
    most = scan_size(page.limit)
    count = page.limit + 1 if owner is None else most
    last = f"{end_of('ledger', until)}-0"
    found = await link.one("XRANGE", keys.trail("ledger"), f"({begin}-0", last, "COUNT", count)
    rows = {_number(entry): orjson.loads(entry[1][1]) for entry in found}
    fitting = ((0, position, owner in (None, row[2])) for position, row in rows.items())
    positions, following = take_page("ledger", fitting, page.limit, most)
    commands: list[tuple[Any, ...]] = []
    for position in positions:
        mine, number = keys.thread(rows[position][0]), rows[position][1]
        commands.append(("XRANGE", mine.trail("audit"), f"{number}-0", f"{number}-0"))
        commands.append(("HGET", mine.trail("said"), number))
    answers = await link.all(commands) if commands else []
    items = tuple(
        audit_row(
            rows[position][0],
            rows[position][1],
            entries[0][1][1],
            content,
            link.seals.out_of(keys.scope, rows[position][0]),
        )
        for position, entries, content in zip(positions, answers[0::2], answers[1::2], strict=True)
    )
    return Page(items=items, next=following)


async def _of_thread(
    link: RedisClient, keys: ScopeKeys, thread_id: str, owner: str | None, begin: int, limit: int
) -> Page[AuditRow]:
    mine, most = keys.thread(thread_id), checked_limit(limit)
    way = link.seals.out_of(keys.scope, thread_id)
    rows: list[AuditRow] = []
    while True:
        last = begin + most + 1
        entries, contents = await link.at_once(
            [
                ("XRANGE", mine.trail("audit"), f"({begin}-0", "+", "COUNT", most + 1),
                ("HMGET", mine.trail("said"), *range(begin + 1, last + 1)),
            ]
        )
        rows += [
            audit_row(thread_id, _number(entry), entry[1][1], content, way)
            for entry, content in zip(entries, contents, strict=False)
            if owner is None or orjson.loads(entry[1][1])[0] == owner
        ]
        if len(rows) > most or len(entries) <= most:
            return of_thread(rows, most)
        begin = _number(entries[-1])


async def end(link: RedisClient, keys: ScopeKeys) -> str:
    """Read where the newest row is: a script that adds one is over before the next begins."""
    last = await link.one("XREVRANGE", keys.trail("ledger"), "+", "-", "COUNT", 1)
    return cursor("ledger", 0, _number(last[0]) if last else 0)


async def newest(link: RedisClient, keys: ThreadKeys) -> tuple[int, str]:
    """Number and digest of the newest row."""
    last = await link.one("XREVRANGE", keys.trail("audit"), "+", "-", "COUNT", 1)
    return (_number(last[0]), orjson.loads(last[0][1][1])[-1]) if last else (0, GENESIS)


async def last_decision(link: RedisClient, mine: ThreadKeys) -> AuditRow | None:
    """Read the newest row that tells of a person's word."""
    way, end = link.seals.out_of(mine.scope.scope, mine.id), "+"
    while True:
        entries = await link.one("XREVRANGE", mine.trail("audit"), end, "-", "COUNT", _PIECE)
        for entry in entries:
            number = _number(entry)
            row = audit_row(mine.id, number, entry[1][1], None, way)
            if row.kind in DECISIONS:
                said = await link.one("HGET", mine.trail("said"), number)
                return audit_row(mine.id, number, entry[1][1], said, way)
        if len(entries) < _PIECE:
            return None
        end = f"({_number(entries[-1])}-0"


async def owner_of(link: RedisClient, keys: ThreadKeys, number: int) -> str:
    """The id of the person whom a row belongs to."""
    rows = await link.one("XRANGE", keys.trail("audit"), f"{number}-0", f"{number}-0")
    return str(orjson.loads(rows[0][1][1])[0]) if rows else ""


async def known_person(link: RedisClient, keys: ScopeKeys, name: str) -> str | None:
    """The id of a person that rows tell of."""
    kept: bytes | None = await link.one("HGET", keys.trail("people"), name)
    return None if kept is None else kept[SALT_BYTES:].decode()


async def person(link: RedisClient, keys: ScopeKeys, name: str) -> str:
    """The id of a person in the audit trail, who is added if need be."""
    added = new_person(name)
    names = [keys.trail("people"), keys.trail("names")]
    kept: bytes = await link.run(_PERSON, names, [name, added.salt, added.id])
    return kept[SALT_BYTES:].decode()


async def people(link: RedisClient, keys: ScopeKeys, ids: Sequence[str]) -> dict[str, AuditPerson]:
    """Read who people are."""
    if not ids:
        return {}
    kept_names = await link.one("HMGET", keys.trail("names"), *ids)
    return {
        person: AuditPerson(person, kept[SALT_BYTES:].decode(), kept[:SALT_BYTES])
        for person, kept in zip(ids, kept_names, strict=True)
        if kept is not None
    }


def _number(entry: Sequence[bytes]) -> int:
    return int(entry[0].partition(b"-")[0])
