"""PostgreSQL, for any number of processes on any number of machines.

Every call is a transaction; what was acknowledged is as durable as the server's commits are. Leases
run out by the server's own clock.
"""

import asyncio

from sayso.base.clock import Clock
from sayso.base.errors import StoreUnavailable
from sayso.stores.aesgcm import AesGcm
from sayso.stores.base import ChangeListener
from sayso.stores.postgres.notifications import PostgresNotifications
from sayso.stores.postgres.pipeline import DriverWire, Pipeline
from sayso.stores.postgres.server import connect
from sayso.stores.postgres.workers import PostgresWorkers
from sayso.stores.sealing import Seals
from sayso.stores.sql.session import Transaction
from sayso.stores.sql.store import SqlStore

CONNECTIONS = 4
"""Connections of a process, beside one that only renews leases and one for hints."""

_WRITE_S = 20
"""Seconds after which no transaction of Sayso goes on: the server ends those that rest for five."""
_LOOK_S = 0.02

_CLOSED = "the store is not open; await its open() first"


class PostgresStore(SqlStore):
    """Threads in the schema `sayso` of a database; see `Store` for what it promises."""

    def __init__(
        self,
        url: str,
        *,
        clock: Clock | None = None,
        codec: AesGcm | None = None,
        connections: int = CONNECTIONS,
        pipelined: bool = True,
    ) -> None:
        """`url` as libpq takes it; `clock` instead of the server's decides about leases.

        `codec` encrypts what it keeps.
        `pipelined`: statements go by libpq's pipeline, and few are waited for; else by psycopg's
        own cursors, one after the other.
        """
        self._url = url
        self._clock = clock
        self.seals: Seals = Seals(codec)
        self._connections = connections
        self._wire = Pipeline if pipelined else DriverWire
        self._threads: PostgresWorkers | None = None
        self._hints: PostgresNotifications | None = None

    async def open(self) -> None:
        """Connect and migrate; see `Store.open`."""
        threads = self._threads
        if threads is None:
            self._hints = PostgresNotifications(self._url)
            threads = self._threads = PostgresWorkers(
                lambda: self._wire(connect(self._url)),
                self._clock,
                self._connections,
                self._hints.notify,
                self.seals,
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
    def has_notifications(self) -> bool:
        """True while hints come; see `Store.has_notifications`."""
        return self._hints is not None and self._hints.hears

    def subscribe(self, hear: ChangeListener) -> None:
        """Pass hints on; see `Store.subscribe`."""
        if self._hints is None:
            raise StoreUnavailable(_CLOSED)
        self._hints.subscribe(hear)

    async def audit_end(self, scope: str) -> str:
        """The newest position, once all have ended who might be writing one before it."""
        place = await super().audit_end(scope)
        writing = await self._read(_writing)
        for _ in range(int(_WRITE_S / _LOOK_S)):
            if not writing:
                return place
            await asyncio.sleep(_LOOK_S)
            writing &= await self._read(_writing)
        raise StoreUnavailable(
            f"a transaction has been adding to the audit trail for {_WRITE_S} seconds: look for it "
            "in pg_stat_activity, and ask again"
        )

    def _opened(self) -> PostgresWorkers:
        if self._threads is None:
            raise StoreUnavailable(_CLOSED)
        return self._threads


def _writing(db: Transaction) -> set[str]:
    """Read which transactions may be adding rows to the trail now."""
    return {row[0] for row in db.all("writing_audit", ())}
