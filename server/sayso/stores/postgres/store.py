"""PostgreSQL, for any number of processes on any number of machines.

Every call is a transaction; what was acknowledged is as durable as the server's commits are. Leases
run out by the server's own clock.
"""

from sayso.clock import Clock
from sayso.errors import StoreUnavailable
from sayso.stores.base import Hear
from sayso.stores.postgres.hints import PostgresHints
from sayso.stores.postgres.threads import PostgresThreads
from sayso.stores.sql.store import SqlStore

__all__ = ["PostgresStore"]

CONNECTIONS = 4
"""Connections of a process, beside one that only renews leases and one for hints."""

_CLOSED = "the store is not open; await its open() first"


class PostgresStore(SqlStore):
    """Threads in the schema `sayso` of a database; see `Store` for what it promises."""

    def __init__(
        self, url: str, *, clock: Clock | None = None, connections: int = CONNECTIONS
    ) -> None:
        """`url` as libpq takes it; `clock` instead of the server's decides about leases."""
        self._url = url
        self._clock = clock
        self._connections = connections
        self._threads: PostgresThreads | None = None
        self._hints: PostgresHints | None = None

    async def open(self) -> None:
        """Connect and migrate; see `Store.open`."""
        threads = self._threads
        if threads is None:
            self._hints = PostgresHints(self._url)
            threads = self._threads = PostgresThreads(
                self._url, self._clock, self._connections, self._hints.tell
            )
        try:
            await threads.run(lambda db: None, writes=False)
        except StoreUnavailable:
            await self.close()
            raise

    async def close(self) -> None:
        """Finish what was accepted and close all connections; see `Store.close`."""
        threads, self._threads = self._threads, None
        hints, self._hints = self._hints, None
        if threads is not None:
            await threads.stop()
        if hints is not None:
            await hints.stop()

    @property
    def hears(self) -> bool:
        """Whether hints come; see `Store.hears`."""
        return self._hints is not None and self._hints.hears

    def follow(self, hear: Hear) -> None:
        """Pass hints on; see `Store.follow`."""
        if self._hints is None:
            raise StoreUnavailable(_CLOSED)
        self._hints.follow(hear)

    def _opened(self) -> PostgresThreads:
        if self._threads is None:
            raise StoreUnavailable(_CLOSED)
        return self._threads
