"""PostgreSQL, for any number of processes on any number of machines.

Every call is a transaction; what was acknowledged is as durable as the server's commits are. Leases
run out by the server's own clock.
"""

from sayso.clock import Clock
from sayso.errors import StoreUnavailable
from sayso.stores._postgres_threads import PostgresThreads
from sayso.stores._sql_store import SqlStore

__all__ = ["PostgresStore"]

CONNECTIONS = 4
"""Connections of a process, beside one that only renews leases."""


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

    async def open(self) -> None:
        """Connect and migrate; see `Store.open`."""
        threads = self._threads
        if threads is None:
            threads = self._threads = PostgresThreads(self._url, self._clock, self._connections)
        try:
            await threads.run(lambda db: None, writes=False)
        except StoreUnavailable:
            await self.close()
            raise

    async def close(self) -> None:
        """Finish what was accepted and close all connections; see `Store.close`."""
        threads, self._threads = self._threads, None
        if threads is not None:
            await threads.stop()

    def _opened(self) -> PostgresThreads:
        if self._threads is None:
            raise StoreUnavailable("the store is not open; await its open() first")
        return self._threads
