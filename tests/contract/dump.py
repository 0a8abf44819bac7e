"""All that a store holds, as text: equal before and after what changes nothing."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import redis
from psycopg import sql

from sayso.stores.base import Store
from sayso.stores.postgres.store import PostgresStore
from sayso.stores.redis.store import RedisStore
from sayso.stores.sqlite.memory import MemoryStore
from sayso.stores.sqlite.store import SqliteStore
from tests.stores.redis_servers import redis_database
from tests.stores.servers import database

__all__ = ["dump"]


def dump(store: Store, folder: Path) -> str:
    """The contents of a store of the backends table, whose files are in `folder`."""
    if isinstance(store, MemoryStore):
        return _readable("\n".join(store._runner._db.iterdump()))
    if isinstance(store, SqliteStore):
        with closing(sqlite3.connect(folder / "sayso.db")) as file:
            return _readable("\n".join(file.iterdump()))
    if isinstance(store, PostgresStore):
        return _tables(database(folder))
    assert isinstance(store, RedisStore), f"teach this module to read {type(store).__name__}"
    return _keys(redis_database(folder))


def _readable(dumped: str) -> str:
    """Show bytes as the texts that they mostly are, so that one can look for words."""
    return re.sub(r"\bX'([0-9A-F]*)'", lambda hexed: repr(bytes.fromhex(hexed[1])), dumped)


def _tables(url: str) -> str:
    with psycopg.connect(url, options="-c bytea_output=escape") as db:
        names = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'sayso' ORDER BY 1")
        return "\n".join(
            f"{name}: {row}"
            for (name,) in names.fetchall()
            for (row,) in db.execute(
                sql.SQL("SELECT t::text FROM sayso.{} AS t ORDER BY 1").format(sql.Identifier(name))
            ).fetchall()
        )


def _keys(url: str) -> str:
    with redis.Redis.from_url(url) as client:
        reads: dict[bytes, Callable[[bytes], Any]] = {
            b"hash": lambda key: sorted(client.hgetall(key).items()),
            b"zset": lambda key: client.zrange(key, 0, -1, withscores=True),
            b"set": lambda key: sorted(client.smembers(key)),
            b"stream": client.xrange,
            b"string": client.get,
        }
        # Outcomes of steps are forgotten by themselves.
        names = sorted(key for key in client.scan_iter() if b":step:" not in key)
        return "\n".join(f"{name!r}: {reads[client.type(name)](name)}" for name in names)
