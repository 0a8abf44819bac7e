"""Reads of lists from Redis.

Every list is a sorted set whose members sort by a moment and a number and go on with what filters
look at, so that a page is one walk; whole records are read of those only that it returns.
"""

import heapq
from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from typing import Any

import orjson

from sayso.base.clock import Clock
from sayso.base.records import (
    Changes,
    Due,
    InterruptFilter,
    ListedInterrupt,
    ListedThread,
    OpenCount,
    Page,
    PageRequest,
    Run,
    ThreadFilter,
)
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
from sayso.stores.redis.client import RedisClient, Script
from sayso.stores.redis.facts import QuestionFacts
from sayso.stores.redis.keys import SCOPES, ScopeKeys
from sayso.stores.redis.rows import change, moment, prefixed
from sayso.stores.redis.rows import place as numbered
from sayso.stores.redis.views import listed_thread_of, read_listed_thread, run_of
from sayso.stores.sealing import those_that_open

_GATHER = Script("gather")
_TOGETHER = 500
"""Scopes that are asked for in one round trip."""
_END = 2**62
"""Later than any moment that counts."""

_Row = tuple[int, int, list[Any]]


async def threads(
    link: RedisClient, keys: ScopeKeys, wanted: ThreadFilter, page: PageRequest
) -> Page[ListedThread]:
    """A page of threads."""
    begin, most = begin_of(wanted, page.after), scan_size(page.limit)
    name = keys.of("active") if wanted.owner is None else keys.one("active", wanted.owner)
    narrow = wanted.agent is None and wanted.status is None
    highest = "+" if begin is None else f"({_at(begin)}"
    found = await link.one(
        "ZREVRANGEBYLEX", name, highest, "-", "LIMIT", 0, page.limit + 1 if narrow else most
    )
    rows = [_row(member) for member in found]
    fitting = ((at, number, fits_thread(wanted, row[1:])) for at, number, row in rows)
    numbers, following = take_page("threads", fitting, page.limit, most)
    ids = {number: row[0] for _, number, row in rows}
    chosen = [ids[number] for number in numbers]
    read = await _gathered(link, [read_listed_thread(keys.thread(one)) for one in chosen])
    items = (
        listed_thread_of(keys.scope, one, values) for one, values in zip(chosen, read, strict=True)
    )
    return Page(items=tuple(item for item in items if item is not None), next=following)


async def interrupts(
    link: RedisClient, keys: ScopeKeys, wanted: InterruptFilter, page: PageRequest
) -> Page[ListedInterrupt]:
    """A page of interrupts."""
    begin, most = parse_cursor("interrupts", page.after), scan_size(page.limit)
    if wanted.thread_id is not None:
        return await _of_thread(link, keys, wanted, begin, page.limit)
    names, narrow = _walks_of(keys, wanted)
    lowest = "-" if begin is None else f"({_at(begin)}}}"
    count = page.limit + 1 if narrow else most
    commands = [("ZRANGEBYLEX", name, lowest, "+", "LIMIT", 0, count) for name in names]
    walks = await (link.all(commands) if len(names) == 1 else link.at_once(commands))
    rows = [_row(member) for member, _ in groupby(heapq.merge(*walks))]
    fitting = (
        (at, number, fits_interrupt(wanted, row[2], row[3], row[4:])) for at, number, row in rows
    )
    numbers, following = take_page("interrupts", fitting, page.limit, most)
    where = {number: row for _, number, row in rows}
    chosen = [where[number] for number in numbers]
    reads = [(keys.thread(row[0]).of("interrupts"), (row[1],)) for row in chosen]
    there = [
        (row, value)
        for row, (value,) in zip(chosen, await _gathered(link, reads), strict=True)
        if value is not None
    ]

    def listed(pair: tuple[list[Any], bytes]) -> ListedInterrupt:
        row, value = pair
        way = link.seals.out_of(keys.scope, row[0])
        return _listed(row[0], row[2], QuestionFacts.of(value, way))

    # What was settled or deleted since the walk belongs here no more.
    items = [item for item in those_that_open(listed, there) if _fits(wanted, item)]
    return Page(items=tuple(items), next=following)


async def _of_thread(
    link: RedisClient,
    keys: ScopeKeys,
    wanted: InterruptFilter,
    begin: tuple[int, int] | None,
    limit: int,
) -> Page[ListedInterrupt]:
    """Of one thread: all of its interrupts are read, since a thread does not have many."""
    thread_id = wanted.thread_id or ""
    mine = keys.thread(thread_id)
    values, owner = await link.at_once(
        [("HVALS", mine.of("interrupts")), ("HGET", mine.of("thread"), "owner")]
    )
    way = link.seals.out_of(keys.scope, thread_id)
    found = sorted(
        those_that_open(lambda value: QuestionFacts.of(value, way), values, some=False),
        key=lambda one: (one.interrupt.created_at, one.number),
    )
    rows = {
        question.number: (
            question.interrupt.created_at,
            _listed(thread_id, owner.decode(), question),
        )
        for question in found
        if begin is None or (question.interrupt.created_at, question.number) > begin
    }
    fitting = ((at, number, _fits(wanted, listed)) for number, (at, listed) in rows.items())
    numbers, following = take_page("interrupts", fitting, limit, scan_size(limit))
    return Page(items=tuple(rows[number][1] for number in numbers), next=following)


async def interrupt(
    link: RedisClient, keys: ScopeKeys, interrupt_id: str
) -> ListedInterrupt | None:
    """One interrupt, the first that was written."""
    prefix = prefixed(interrupt_id)
    found = await link.one(
        "ZRANGEBYLEX", keys.of("named"), f"[{prefix}|", f"({prefix}}}", "LIMIT", 0, 1
    )
    if not found:
        return None
    thread_id = found[0][len(prefix.encode()) + 18 :].decode()
    mine = keys.thread(thread_id)
    value, owner = await link.at_once(
        [("HGET", mine.of("interrupts"), interrupt_id), ("HGET", mine.of("thread"), "owner")]
    )
    if value is None:
        return None
    way = link.seals.out_of(keys.scope, thread_id)
    return _listed(thread_id, owner.decode(), QuestionFacts.of(value, way))


async def runs(link: RedisClient, keys: ScopeKeys, thread_id: str, page: PageRequest) -> Page[Run]:
    """A page of the runs of a thread."""
    _, last = parse_cursor("runs", page.after) or (0, 0)
    mine, most = keys.thread(thread_id), checked_limit(page.limit)
    found = await link.one(
        "ZRANGEBYSCORE", mine.of("order"), f"({last}", "+inf", "WITHSCORES", "LIMIT", 0, most + 1
    )
    names, numbers = found[0::2], [int(float(number)) for number in found[1::2]]
    if not names:
        return Page(items=())
    values = await link.one("HMGET", mine.of("runs"), *names[:most])
    more, way = len(names) > most, link.seals.out_of(keys.scope, thread_id)
    return Page(
        items=tuple(run_of(value, way) for value in values if value is not None),
        next=cursor("runs", 0, numbers[most - 1]) if more else None,
    )


async def changes(link: RedisClient, keys: ScopeKeys, since: int | None, limit: int) -> Changes:
    """The changes in a scope after a mark."""
    name = keys.of("changes")
    first = 0 if since is None else max(since, 0)
    read = await link.at_once(
        [
            ("HGET", keys.of("counters"), "mark"),
            ("XRANGE", name, "-", "+", "COUNT", 1),
            ("XRANGE", name, f"({first}-0", "+", "COUNT", limit),
        ]
    )
    newest = int(read[0] or 0)
    oldest = _number(read[1][0]) if read[1] else 1
    if since is None or not oldest - 1 <= since <= newest:
        return Changes(mark=newest, gap=since is not None)
    items = tuple(change(_number(entry), entry[1][1]) for entry in read[2])
    return Changes(mark=items[-1].mark if items else newest, items=items)


async def due_threads(
    link: RedisClient, clock: Clock | None, now: int, page: PageRequest
) -> Page[Due]:
    """Threads that need the server, of all scopes, one round trip for every few hundred of them."""
    begin, most = parse_cursor("due", page.after), checked_limit(page.limit)
    store_now = await server_time(link, clock)
    lowest = "-" if begin is None else f"({_at(begin)}}}"
    untils = {"abandoned": store_now, "waking": now, "ready": _END}
    found: list[tuple[bytes, str, str]] = []
    async for scopes in _scopes(link):
        commands = [
            ("ZRANGEBYLEX", keys.of(arm), lowest, f"({moment(until + 1)}", "LIMIT", 0, most + 1)
            for keys in scopes
            for arm, until in untils.items()
        ]
        answers = iter(await link.all(commands))
        for keys in scopes:
            for arm in untils:
                found += ((member, arm, keys.scope) for member in next(answers))
        found = sorted(found)[: most + 1]
    items = tuple(_due(member, arm, scope, now) for member, arm, scope in found[:most])
    more = len(found) > most
    return Page(items=items, next=cursor("due", *_place(found[most - 1][0])) if more else None)


async def count_all_open(link: RedisClient, most: int) -> OpenCount:
    """Count what is open, scope by scope, and find the oldest."""
    count, oldest = 0, None
    async for scopes in _scopes(link):
        commands = [
            command
            for keys in scopes
            for command in (("ZCARD", keys.of("open")), ("ZRANGE", keys.of("open"), 0, 0))
        ]
        answers = await link.all(commands)
        count += sum(answers[0::2])
        moments = [_place(first[0])[0] for first in answers[1::2] if first]
        oldest = min(moments + ([] if oldest is None else [oldest]), default=None)
    return OpenCount(count=min(count, most), oldest=oldest)


async def next_scope(link: RedisClient, after: str | None) -> str | None:
    """Read the first scope behind another one."""
    lowest = "-" if after is None else f"({after}"
    names = await link.one("ZRANGEBYLEX", SCOPES, lowest, "+", "LIMIT", 0, 1)
    return names[0].decode() if names else None


async def usage(link: RedisClient, keys: ScopeKeys, owner: str | None) -> StoreUsage:
    """Count what an owner has, or all of a scope."""
    kinds = ("active", "open")
    names = [keys.of(kind) if owner is None else keys.one(kind, owner) for kind in kinds]
    field = "all" if owner is None else prefixed(owner)
    cards = [("ZCARD", name) for name in names]
    threads, questions, size = await link.all([*cards, ("HGET", keys.of("usage"), field)])
    return StoreUsage(threads=threads, open_questions=questions, bytes=int(size or 0))


async def _gathered(link: RedisClient, reads: Sequence[tuple[str, Sequence[str]]]) -> list[Any]:
    """The values of as many fields of each hash: one answer is read faster than many are."""
    if not reads:
        return []
    fields = [field for _, names in reads for field in names]
    found: list[Any] = await link.run(
        _GATHER, [key for key, _ in reads], [len(reads[0][1]), *fields]
    )
    return found


async def _scopes(link: RedisClient) -> AsyncIterator[list[ScopeKeys]]:
    lowest = "-"
    while True:
        found = await link.one("ZRANGEBYLEX", SCOPES, lowest, "+", "LIMIT", 0, _TOGETHER)
        if found:
            yield [ScopeKeys(name.decode()) for name in found]
        if len(found) < _TOGETHER:
            return
        lowest = f"({found[-1].decode()}"


async def server_time(link: RedisClient, clock: Clock | None) -> int:
    """The store's time in milliseconds: the server's, unless there is a clock."""
    if clock is not None:
        return clock.now()
    seconds, microseconds = await link.one("TIME")
    return int(seconds) * 1_000 + int(microseconds) // 1_000


def _walks_of(keys: ScopeKeys, wanted: InterruptFilter) -> tuple[list[str], bool]:
    """The lists that together hold all that fits, and whether all in them fits."""
    owner = wanted.owner
    others = wanted.agent is None and wanted.reason is None
    if wanted.status == "open" and wanted.assigned_to is not None:
        whoever = owner is None and not wanted.names
        return [keys.one("assigned", wanted.assigned_to)], others and whoever
    kinds = {None: ("open", "settled"), "open": ("open",)}.get(wanted.status, ("settled",))
    names = [keys.one(f"{kind}_for", name) for kind in kinds for name in wanted.names]
    if owner is not None:
        names += [keys.one(kind, owner) for kind in kinds]
    elif not names:
        names = [keys.of(kind) for kind in kinds]
    exact = wanted.status in (None, "open")
    return names, others and exact and wanted.assigned_to is None


def _fits(wanted: InterruptFilter, listed: ListedInterrupt) -> bool:
    i = listed.interrupt
    row = (i.status, listed.agent, i.reason, i.assigned_to)
    return fits_interrupt(wanted, listed.owner, i.terms.names, row)


def _listed(thread_id: str, owner: str, one: QuestionFacts) -> ListedInterrupt:
    return ListedInterrupt(
        thread_id=thread_id, owner=owner, agent=one.agent, interrupt=one.interrupt
    )


def _at(where: tuple[int, int]) -> str:
    return f"{moment(where[0])}.{numbered(where[1])}"


def _place(member: bytes) -> tuple[int, int]:
    return int(member[:19]), int(member[20:36])


def _row(member: bytes) -> _Row:
    return (*_place(member), orjson.loads(member[37:]))


def _number(entry: Sequence[bytes]) -> int:
    return int(entry[0].partition(b"-")[0])


def _due(member: bytes, arm: str, scope: str, now: int) -> Due:
    expiry, _, thread_id = member[37:].decode().partition("|")
    why: Any = arm
    if arm == "waking":
        why = "expired" if expiry and int(expiry) <= now else "remind"
    return Due(scope=scope, thread_id=thread_id, why=why)
