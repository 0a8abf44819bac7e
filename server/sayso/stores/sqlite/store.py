"""The default backend: one SQLite file, any number of processes on one machine.

WAL with `synchronous=FULL`: what was acknowledged survives a power cut. One thread owns the
connection (`Worker`), so no call blocks an event loop and concurrent writes share a commit.

Jobs are queued from any thread. Whatever is queued while the last transaction was written out goes
into the next one: one `BEGIN IMMEDIATE`, one `COMMIT`, and only then the outcomes, with one wake-up
per event loop. So n concurrent writers share one `fsync`. A job that fails mostly has written
nothing yet. If one has, all is undone and done again with a savepoint for each, so that only its
own writes are missing.
"""

import asyncio
import concurrent.futures
import os
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sayso.base.clock import Clock, SystemClock
from sayso.base.errors import StoreUnavailable
from sayso.stores.aesgcm import AesGcm
from sayso.stores.sealing import NO_SEALS, Seals
from sayso.stores.sql.session import Transaction
from sayso.stores.sql.store import SqlStore
from sayso.stores.sql.worker import Job, Outcome, StoreRunner, deliver
from sayso.stores.sqlite.database import connect, explain, patiently, truncate_log
from sayso.stores.sqlite.session import SqliteTransaction

T = TypeVar("T")

_MAX_BATCH = 256
"""Jobs in one transaction at most, so that the first does not wait for ever."""
_UNFIT = frozenset(
    {
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
    }
)
"""Errors after which the connection is opened anew, so that a cured cause is noticed."""


class _HalfDone(Exception):
    """A job failed after it had written."""


class SqliteWorker(StoreRunner):
    """Runs jobs on one database file, in the order in which they were submitted."""

    def __init__(self, path: Path, clock: Clock, seals: Seals = NO_SEALS) -> None:
        """Start the thread; the file is opened by the first job."""
        self._path = path
        self._clock = clock
        self._seals = seals
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._stopping = False
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._unfit = False
        self._ended: concurrent.futures.Future[None] = concurrent.futures.Future()
        threading.Thread(target=self._main, name=f"sayso {path.name}", daemon=True).start()

    async def run(self, work: Callable[[Transaction], T], *, writes: bool, key: str = "") -> T:
        """Have a job done and committed; cancelling the waiter does not cancel the job."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[T] = loop.create_future()
        self._submit(Job(work, writes, waiter, loop))
        return await waiter

    def run_blocking(self, work: Callable[[Transaction], T], timeout: float) -> T:
        """Have a writing job done and committed, from another thread than an event loop's."""
        waiter: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._submit(Job(work, True, waiter, None))
        try:
            return waiter.result(timeout)
        except TimeoutError:
            raise StoreUnavailable(
                f"database {str(self._path)!r} did not answer within {timeout} s; look at its disk "
                "and at other processes that use it"
            ) from None

    async def stop(self) -> None:
        """Finish what was submitted, close the file and end the thread; idempotent."""
        with self._lock:
            if not self._stopping:
                self._stopping = True
                self._queue.put(None)
        await asyncio.shield(asyncio.wrap_future(self._ended))

    def _submit(self, job: Job) -> None:
        with self._lock:
            if self._stopping:
                raise StoreUnavailable("the store is closed; await its open() first")
            self._queue.put(job)

    def _main(self) -> None:
        going_on = True
        while going_on:
            batch, going_on = self._next_batch()
            if batch:
                deliver(batch, self._outcomes(batch))
        self._disconnect()
        self._ended.set_result(None)

    def _next_batch(self) -> tuple[list[Job], bool]:
        first = self._queue.get()
        if first is None:
            return [], False
        batch = [first]
        for _ in range(min(self._queue.qsize(), _MAX_BATCH - 1)):
            job = self._queue.get()
            if job is None:
                return batch, False
            batch.append(job)
        return batch, True

    def _outcomes(self, batch: list[Job]) -> list[Outcome]:
        """Do the jobs in one transaction; one outcome each, valid now that it is over."""
        try:
            outcomes = self._transaction(self._connected(), batch)
        except sqlite3.Error as error:
            outcomes = [(None, self._told(error)) for _ in batch]
        except Exception as error:
            outcomes = [(None, _again(error)) for _ in batch]
        if self._unfit or (self._db is not None and self._db.in_transaction):
            self._disconnect()
        return outcomes

    def _transaction(self, db: sqlite3.Connection, batch: list[Job]) -> list[Outcome]:
        try:
            return self._within(db, batch, self._plainly)
        except _HalfDone:
            return self._within(db, batch, self._one)

    def _within(
        self,
        db: sqlite3.Connection,
        batch: list[Job],
        do: Callable[[sqlite3.Connection, Transaction, Job], Outcome],
    ) -> list[Outcome]:
        begin = "BEGIN IMMEDIATE" if any(job.writes for job in batch) else "BEGIN"
        patiently(lambda: db.execute(begin))
        try:
            session = SqliteTransaction(db, self._clock, self._seals)
            outcomes = [do(db, session, job) for job in batch]
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return outcomes

    def _plainly(self, db: sqlite3.Connection, session: Transaction, job: Job) -> Outcome:
        """Do one job; raises _HalfDone if it fails and cannot be undone by itself."""
        before = db.total_changes
        try:
            return job.work(session), None
        except Exception as error:
            if not db.in_transaction:
                raise
            if db.total_changes != before:
                raise _HalfDone from error
            return None, self._told(error)

    def _one(self, db: sqlite3.Connection, session: Transaction, job: Job) -> Outcome:
        """Do one job; what it raises undoes that job alone, unless SQLite ended the transaction."""
        if job.writes:
            db.execute("SAVEPOINT job")
        try:
            outcome: Outcome = (job.work(session), None)
        except Exception as error:
            if not db.in_transaction:
                raise
            if job.writes:
                db.execute("ROLLBACK TO job")
            outcome = (None, self._told(error))
        if job.writes:
            db.execute("RELEASE job")
        return outcome

    def _told(self, error: Exception) -> Exception:
        """The error as the caller shall see it; a bug in a statement stays what it is."""
        if not isinstance(error, sqlite3.DatabaseError) or isinstance(
            error, sqlite3.ProgrammingError
        ):
            return error
        self._unfit |= getattr(error, "sqlite_errorcode", 0) & 0xFF in _UNFIT
        unavailable = StoreUnavailable(explain(error, self._path))
        unavailable.__cause__ = error
        return unavailable

    def _connected(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = connect(self._path)
            self._file = _identity(self._path)
        elif _identity(self._path) != self._file:
            raise StoreUnavailable(
                f"database {str(self._path)!r} was moved, deleted or replaced while in use; put "
                "the same file back, or restart the server to begin with the one that is there"
            )
        return self._db

    def _disconnect(self) -> None:
        db, self._db, self._file, self._unfit = self._db, None, None, False
        if db is not None:
            db.close()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def _again(error: Exception) -> Exception:
    """One instance per waiter, since raising changes an exception."""
    return StoreUnavailable(str(error)) if isinstance(error, StoreUnavailable) else error


class SqliteStore(SqlStore):
    """Threads in a file; see `Store` for what it promises."""

    def __init__(
        self, path: str | Path, *, clock: Clock | None = None, codec: AesGcm | None = None
    ) -> None:
        """`path` is taken from the working directory of now; `clock` decides about leases.

        `codec` encrypts what it keeps.
        """
        self._path = Path(path).absolute()
        self._clock = clock or SystemClock()
        self.seals: Seals = Seals(codec)
        self._thread: SqliteWorker | None = None

    async def open(self) -> None:
        """Connect and migrate; see `Store.open`."""
        thread = self._thread
        if thread is None:
            thread = self._thread = SqliteWorker(self._path, self._clock, self.seals)
        try:
            await thread.run(lambda db: None, writes=False)
        except StoreUnavailable:
            await self.close()
            raise

    async def close(self) -> None:
        """Finish what was accepted and close the file; see `Store.close`."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await thread.stop()

    async def purge_files(self) -> None:
        """Empty the write-ahead log; see `Store.purge_files`."""
        self._opened()
        await asyncio.to_thread(truncate_log, self._path)

    def _opened(self) -> SqliteWorker:
        if self._thread is None:
            raise StoreUnavailable("the store is not open; await its open() first")
        return self._thread
