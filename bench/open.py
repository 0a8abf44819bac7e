"""What a store costs that has many open questions, against one that has few.

    python bench/open.py [--open 1000,100000] [--store sqlite|postgres|redis|URL]

Fills a store with that many threads that wait for an answer, and measures at each count: a page of
the inbox over HTTP (a hundred items, in process, the first and one from the middle), a claim with
its release, a sweep, and what `/metrics` asks: milliseconds of wall and of CPU, medians of many.
`sqlite` is a file in a temporary folder, `postgres` and `redis` a server of this program's own
(Redis writes each change to the disk before it tells of it), a URL an empty database.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import httpx
import uvloop

from sayso.base.records import PageRequest

sys.path.insert(0, str(Path(__file__).parent.parent))

from store_commit import claim

from sayso import Sayso, ServerOptions
from sayso.base.records import Commit, Interrupt
from sayso.stores import open_store
from sayso.stores.base import Store
from tests.stores.redis_servers import RedisServer
from tests.stores.servers import database

SCOPE = "default"
BASE = "http://127.0.0.1:8000"
WRITERS = 64
SAFE = ("--save", "", "--appendonly", "yes", "--appendfsync", "always")
"""A Redis that has written what it has told."""


async def ask(store: Store, n: int) -> None:
    """A thread that asks its question and waits."""
    begun = claim(n)
    begun = replace(begun, scope=SCOPE, owner="local", lease_ms=10_000)
    lease = await store.claim(begun)
    question = Interrupt(
        id=f"int_{n:032x}",
        turn_key=begun.turn.key,
        place="0/0",
        reason="tool_call",
        created_at=1_700_000_000_000 + n,
        expires_at=4_000_000_000_000,
        message="Refund 240.00 for order A-17?",
        response_schema=b'{"type":"object","properties":{"approved":{"type":"boolean"}}}',
        metadata=b'{"sayso":{"tool":"issue_refund","args":{"order":"A-17","amount":240.0}}}',
    )
    await store.commit(
        lease,
        Commit(
            now=1_700_000_000_000 + n,
            interrupts=(question,),
            turn=replace(begun.turn, status="suspended"),
            run=replace(begun.run, ended_at=2, outcome=b'{"type":"interrupt"}'),
            release=True,
        ),
    )


async def fill(store: Store, begin: int, end: int) -> None:
    """Threads that wait, with these numbers."""
    numbers = iter(range(begin, end))

    async def work() -> None:
        for n in numbers:
            await ask(store, n)

    await asyncio.gather(*(work() for _ in range(WRITERS)))


async def median(work: Callable[[int], Awaitable[object]], times: int = 100) -> str:
    """Milliseconds of one call, one after the other: of the wall, and of this process's CPU."""
    wall, cpu = [], []
    for n in range(times):
        began, used = time.perf_counter(), time.process_time()
        await work(n)
        wall.append(1_000 * (time.perf_counter() - began))
        cpu.append(1_000 * (time.process_time() - used))
    return f"{statistics.median(wall):.2f}/{statistics.median(cpu):.2f}"


async def measure(store: Store, client: httpx.AsyncClient, there: int) -> dict[str, str]:
    """What calls cost with so many open questions."""
    page = await client.get("/interrupts", params={"status": "open", "limit": 100})
    middle = page.json()["nextCursor"]
    for _ in range(min(20, there // 200)):
        page = await client.get("/interrupts", params={"limit": 100, "after": middle})
        middle = page.json()["nextCursor"]

    async def first(_: int) -> None:
        (await client.get("/interrupts", params={"limit": 100})).raise_for_status()

    async def later(_: int) -> None:
        (await client.get("/interrupts", params={"limit": 100, "after": middle})).raise_for_status()

    async def begin(n: int) -> None:
        new = replace(claim(n), scope="other", thread_id=f"{there}-{n}")
        lease = await store.claim(new)
        over = replace(new.run, ended_at=2, outcome=b'{"type":"success"}')
        done = replace(new.turn, status="finished")
        await store.commit(lease, Commit(now=2, turn=done, run=over, release=True))

    async def sweep(_: int) -> None:
        found = await store.due_threads(1_800_000_000_000, PageRequest(limit=100))
        if found.items:
            raise RuntimeError("something is due that should not be")

    async def count(_: int) -> None:
        await store.count_all_open(10_000)

    return {
        "inbox page": await median(first),
        "a later page": await median(later),
        "claim and release": await median(begin),
        "sweep": await median(sweep),
        "metrics": await median(count),
    }


async def run(url: str, counts: list[int]) -> None:
    """Fill and measure, count by count."""
    app = Sayso(store=url, server=ServerOptions(console=False))
    store = open_store(url)
    await store.open()
    there = 0
    transport = httpx.ASGITransport(app=app)
    async with app.lifespan(), httpx.AsyncClient(transport=transport, base_url=BASE) as client:
        for count in counts:
            began = time.perf_counter()
            await fill(store, there, count)
            filled = time.perf_counter() - began
            there = count
            found = await measure(store, client, there)
            figures = "  ".join(f"{name} {value}" for name, value in found.items())
            sys.stdout.write(f"{count:>8} open  {figures}  (filled in {filled:.0f} s)\n")
            sys.stdout.flush()
    await store.close()


def main() -> None:
    """Measure and print, in milliseconds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--open", default="1000,100000")
    parser.add_argument("--store", default="sqlite")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sayso-open-") as name:
        urls = {
            "sqlite": lambda: f"sqlite:///{name}/a.db",
            "postgres": lambda: database(Path(name)),
            "redis": lambda: RedisServer(*SAFE).url,
        }
        url = urls[given.store]() if given.store in urls else given.store
        counts = [int(count) for count in given.open.split(",")]
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(run(url, counts))


if __name__ == "__main__":
    main()
