"""The SQL store on an SQLite database in memory: one process, nothing on disk.

A call does its work at once and yields to the event loop exactly once, so that tests with seeded
schedules meet the same order again.
"""

import asyncio
import sqlite3
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

from sayso.base.clock import Clock, SystemClock
from sayso.base.errors import StoreUnavailable
from sayso.stores.aesgcm import AesGcm
from sayso.stores.sealing import Seals
from sayso.stores.sql.session import Transaction
from sayso.stores.sql.store import SqlStore
from sayso.stores.sql.worker import StoreRunner
from sayso.stores.sqlite.database import MEMORY, connect_memory, explain
from sayso.stores.sqlite.session import SqliteTransaction

T = TypeVar("T")


class MemoryStore(SqlStore):
    """Threads in memory. They live as long as the object, closed or not."""

    def __init__(self, *, clock: Clock | None = None, codec: AesGcm | None = None) -> None:
        """`clock` decides when leases run out, the machine's own by default; `codec` encrypts."""
        self.seals: Seals = Seals(codec)
        self._runner = InlineRunner(clock or SystemClock(), self.seals)
        self._open = False

    async def open(self) -> None:
        """Accept calls from now on."""
        self._open = True

    async def close(self) -> None:
        """Refuse calls from now on."""
        self._open = False

    def _opened(self) -> StoreRunner:
        if not self._open:
            raise StoreUnavailable("the store is not open; await its open() first")
        return self._runner


class InlineRunner(StoreRunner):
    """Runs work in the caller's thread, on a database that no other connection sees."""

    def __init__(self, clock: Clock, seals: Seals) -> None:
        """`clock` is the store's, `seals` how texts are kept."""
        self._lock = threading.Lock()  # `renew` comes from another thread
        self._db = connect_memory()
        self._transaction = SqliteTransaction(self._db, clock, seals)
        weakref.finalize(self, self._db.close)

    async def run(self, work: Callable[[Transaction], T], *, writes: bool, key: str = "") -> T:
        """Do the work, then yield once."""
        outcome = self._do(work, writes)
        await asyncio.sleep(0)
        return outcome

    def run_blocking(self, work: Callable[[Transaction], T], timeout: float) -> T:
        """Do the work; it never waits for longer than another call takes."""
        return self._do(work, writes=True)

    async def stop(self) -> None:
        """Do nothing: what is stored outlives `close`."""

    def _do(self, work: Callable[[Transaction], T], writes: bool) -> T:
        with self._lock:
            try:
                return self._write(work) if writes else work(self._transaction)
            except sqlite3.ProgrammingError:
                raise  # a bug in a statement stays what it is
            except sqlite3.DatabaseError as error:
                raise StoreUnavailable(explain(error, MEMORY)) from error

    def _write(self, work: Callable[[Transaction], T]) -> T:
        self._db.execute("BEGIN")
        try:
            outcome = work(self._transaction)
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        return outcome
