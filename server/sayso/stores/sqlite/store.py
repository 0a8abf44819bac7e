"""The default backend: one SQLite file, any number of processes on one machine.

WAL with `synchronous=FULL`: what was acknowledged survives a power cut. One thread owns the
connection (`thread`), so no call blocks an event loop and concurrent writes share a commit.
"""

from pathlib import Path

from sayso.base.clock import Clock, SystemClock
from sayso.base.errors import StoreUnavailable
from sayso.stores.sql.store import SqlStore
from sayso.stores.sqlite.worker import SqliteWorker


class SqliteStore(SqlStore):
    """Threads in a file; see `Store` for what it promises."""

    def __init__(self, path: str | Path, *, clock: Clock | None = None) -> None:
        """`path` is taken from the working directory of now; `clock` decides about leases."""
        self._path = Path(path).absolute()
        self._clock = clock or SystemClock()
        self._thread: SqliteWorker | None = None

    async def open(self) -> None:
        """Connect and migrate; see `Store.open`."""
        thread = self._thread
        if thread is None:
            thread = self._thread = SqliteWorker(self._path, self._clock)
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

    def _opened(self) -> SqliteWorker:
        if self._thread is None:
            raise StoreUnavailable("the store is not open; await its open() first")
        return self._thread
