"""How soon a replica sees what another did, and what that costs a store while nothing happens.

    python bench/hints.py [--store postgres|redis] [--times 50]

Two apps with a store of their own each, on one server of this program. Somebody follows the inbox
at one of them, and a run of the other. First with hints, then with polls alone. `seen` is from the
answer to a decision at one replica to its frame in the inbox of the other, in milliseconds of the
wall; `idle` counts what the server is asked per second (transactions; commands) while nothing
happens, by both replicas together, of which a sweep a second each is the rest.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import redis
import uvloop

from sayso.base.records import InterruptFilter

sys.path.insert(0, str(Path(__file__).parent.parent))

from sayso import Sayso, ServerOptions, Turn
from sayso.stores import open_store
from sayso.stores.base import ChangeListener, Store
from sayso.stores.redis.store import RedisStore
from tests.contract.wire import Exchange
from tests.stores.redis_servers import redis_database
from tests.stores.servers import database

JSON = {"content-type": "application/json"}
RESOLVED = b'{"status":"resolved","payload":{"approved":true}}'
QUIET = 10.0
"""Seconds for which nothing happens."""


def deaf(hear: ChangeListener) -> None:
    """Instead of `Store.subscribe`: hints go nowhere."""


async def ask(turn: Turn) -> None:
    """Ask one thing."""
    await turn.interrupt("confirmation", "?")


async def stay(turn: Turn) -> None:
    """Run for ever."""
    await turn.say("Here.")
    await asyncio.Event().wait()


@asynccontextmanager
async def replica(url: str, *, hints: bool) -> AsyncIterator[tuple[Sayso, Store]]:
    """An app with a store of its own, running."""
    store = RedisStore(url, relaxed=True) if url.startswith("redis") else open_store(url)
    if not hints:
        store.subscribe = deaf  # type: ignore[method-assign]
    app = Sayso(store=store, server=ServerOptions(console=False, keep_alive=None))
    app.agent("ask")(ask)
    app.agent("stay")(stay)
    async with app.lifespan():
        yield app, store


def asked(url: str) -> Callable[[], int]:
    """How often a server has been asked anything so far."""
    if url.startswith("redis"):
        server: Any = redis.Redis.from_url(url)
        return lambda: int(server.info("stats")["total_commands_processed"])

    def transactions() -> int:
        with psycopg.connect(url, autocommit=True) as db:
            count = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
            return int(db.execute(count.encode()).fetchall()[0][0])

    return transactions


def run(app: Sayso, agent: str, name: str) -> Exchange:
    """A run that begins."""
    return Exchange(app, "POST", f"/agents/{agent}", _body(name), JSON)


def _body(name: str) -> bytes:
    return (
        b'{"threadId":"%s","runId":"r","state":null,"tools":[],"context":[],"forwardedProps":{},'
        b'"messages":[{"id":"m","role":"user","content":"go"}]}' % name.encode()
    )


async def measure(url: str, times: int, *, hints: bool) -> str:
    """A line of figures."""
    async with AsyncExitStack() as stack:
        one, store = await stack.enter_async_context(replica(url, hints=hints))
        two, _ = await stack.enter_async_context(replica(url, hints=hints))
        inbox = Exchange(one, "GET", "/interrupts/stream", b"", {})
        await inbox.until("connected")
        await asyncio.sleep(2)  # until it hears
        seen = []
        for n in range(times):
            thread = f"{'h' if hints else 'p'}-{n}"
            await run(two, "ask", thread).end()
            page = await store.interrupts("default", InterruptFilter(thread_id=thread))
            (one_asked,) = (item.interrupt.id for item in page.items)
            path = f"/interrupts/{one_asked}/answer"
            answered = await Exchange(two, "POST", path, RESOLVED, JSON).end()
            if answered.status not in (200, 202):
                raise RuntimeError(answered.body)
            began = time.perf_counter()
            await inbox.when(
                lambda events, wanted=one_asked: any(
                    event["type"] == "settled" and event["interruptId"] == wanted
                    for event in events
                )
            )
            seen.append(1_000 * (time.perf_counter() - began))
        going = run(two, "stay", f"stay-{hints}")
        await going.until("TEXT_MESSAGE_END")
        watching = Exchange(one, "POST", "/agents/stay/connect", _body(f"stay-{hints}"), JSON)
        await watching.until("MESSAGES_SNAPSHOT")
        count = asked(url)
        await asyncio.sleep(12)  # PostgreSQL counts what was before within ten
        before, began = count(), time.perf_counter()
        await asyncio.sleep(QUIET)
        idle = (count() - before) / (time.perf_counter() - began)
        await Exchange(two, "POST", f"/threads/stay-{hints}/stop", b"", JSON).end()
        for exchange in (going, watching):
            await exchange.end()
        await inbox.disconnect()
    seen.sort()
    return (
        f"{'hints' if hints else 'polls':<6} seen p50 {statistics.median(seen):8.1f}  "
        f"p95 {seen[int(len(seen) * 0.95)]:8.1f}  idle {idle:6.2f} /s"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", default="postgres", choices=("postgres", "redis"))
    parser.add_argument("--times", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sayso-hints-") as name:
        url = (database if given.store == "postgres" else redis_database)(Path(name))
        for hints in (True, False):
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                line = runner.run(measure(url, given.times, hints=hints))
            sys.stdout.write(f"{given.store:<9} {line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
