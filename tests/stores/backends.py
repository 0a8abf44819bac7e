"""The backends that every store test runs on; a new one is added here."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from sayso.base.clock import Clock
from sayso.stores.aesgcm import KEY_BYTES, AesGcm
from sayso.stores.base import Store
from sayso.stores.postgres.store import PostgresStore
from sayso.stores.redis.store import RedisStore
from sayso.stores.sqlite.memory import MemoryStore
from sayso.stores.sqlite.store import SqliteStore
from tests.stores.redis_servers import redis_database, redis_url
from tests.stores.servers import database

Make = Callable[[Path, Clock], Store]

BACKENDS: dict[str, Make] = {
    "memory": lambda folder, clock: MemoryStore(clock=clock),
    "sqlite": lambda folder, clock: SqliteStore(folder / "sayso.db", clock=clock),
    "postgres": lambda folder, clock: PostgresStore(database(folder), clock=clock),
    "redis": lambda folder, clock: RedisStore(redis_database(folder), clock=clock, relaxed=True),
}


@cache
def codec() -> AesGcm:
    """The keys of the encrypted ones; where frameworks are tested there is no cryptography."""
    return AesGcm({"2": b"2" * KEY_BYTES, "1": b"1" * KEY_BYTES})


ENCRYPTED: dict[str, Make] = {
    "memory, encrypted": lambda folder, clock: MemoryStore(clock=clock, codec=codec()),
    "sqlite, encrypted": lambda folder, clock: SqliteStore(
        folder / "sayso.db", clock=clock, codec=codec()
    ),
    "postgres, encrypted": lambda folder, clock: PostgresStore(
        database(folder), clock=clock, codec=codec()
    ),
    "redis, encrypted": lambda folder, clock: RedisStore(
        redis_database(folder), clock=clock, codec=codec(), relaxed=True
    ),
}
"""The same stores under a codec."""

BY_DRIVER: dict[str, Make] = {
    "postgres by psycopg's cursors": lambda folder, clock: PostgresStore(
        database(folder), clock=clock, pipelined=False
    ),
    "redis by redis-py's connections": lambda folder, clock: RedisStore(
        redis_database(folder), clock=clock, relaxed=True, pipelined=False
    ),
}
"""The same stores without what they do past their drivers."""

SHARED: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: f"sqlite:///{folder / 'sayso.db'}",
    "postgres": database,
    "redis": redis_url,
}
"""Those that processes can share: the URL of an empty one for a folder."""

NETWORKED = tuple(kind for kind in SHARED if kind != "sqlite")
"""Those whose processes may be on different machines."""

EMBEDDED = ("memory", "sqlite")
"""What tests run on that ask nothing of a store which its contract does not say."""


@asynccontextmanager
async def opened(store: Store) -> AsyncIterator[Store]:
    """The store, open; closed at the end whatever happened."""
    await store.open()
    try:
        yield store
    finally:
        await store.close()
