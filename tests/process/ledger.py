"""What has really been done, as the demo's ledger tells it: outside of any store of threads."""

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from sayso.base.errors import StoreUnavailable
from sayso.base.ids import identify
from sayso.base.records import PageRequest, ThreadFilter
from sayso.stores import open_store
from tests.patience import PATIENCE

__all__ = ["Ledger", "in_the_middle"]


class Ledger:
    """The effects in a data folder of the demo; each row is one that happened, double or not."""

    def __init__(self, data: Path) -> None:
        self._path = data / "ledger.db"

    def result(self, key: str) -> str | None:
        """The result, as JSON, of the effect of that key, if it happened."""
        with closing(sqlite3.connect(self._path, timeout=PATIENCE)) as db:
            query = "SELECT result FROM effects WHERE call_key = ?"
            found = db.execute(query, (key,)).fetchone()
        return None if found is None else str(found[0])

    def is_free(self) -> bool:
        """Whether nobody keeps the file locked: who merely writes lets go of it in time."""
        with closing(sqlite3.connect(self._path, timeout=2, isolation_level=None)) as db:
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
            db.execute("ROLLBACK")
        return True

    def effects(self) -> dict[str, Counter[str]]:
        """How often each kind of effect happened in each thread."""
        with closing(sqlite3.connect(self._path, timeout=PATIENCE)) as db:
            rows = db.execute("SELECT thread_id, kind FROM effects").fetchall()
        found: dict[str, Counter[str]] = {}
        for thread, kind in rows:
            found.setdefault(thread, Counter())[kind] += 1
        return found

    def of(self, thread: str) -> Counter[str]:
        """The same of one thread."""
        with closing(sqlite3.connect(self._path, timeout=PATIENCE)) as db:
            query = "SELECT kind FROM effects WHERE thread_id = ?"
            return Counter(kind for (kind,) in db.execute(query, (thread,)))


def in_the_middle(store: str, ledger: Ledger) -> bool:
    """Whether an effect has been begun, as the store says, that is not in the ledger.

    Also when a file cannot be read now, or the ledger not be written: whoever was stopped has the
    lock of it, and the world outside, for which the ledger stands, is not stopped with a server.
    """
    try:
        return not ledger.is_free() or asyncio.run(_in_the_middle(store, ledger))
    except (sqlite3.OperationalError, StoreUnavailable):
        return True


async def _in_the_middle(store: str, ledger: Ledger) -> bool:
    threads = open_store(store)
    await threads.open()
    try:
        running = await threads.threads(
            "default", ThreadFilter(status="running"), PageRequest(limit=1_000)
        )
        for thread in running.items:
            view = await threads.load("default", thread.id)
            if view is None or view.turn is None:
                continue
            for entry in await threads.journal("default", view.turn.key):
                key = identify(view.turn.key, "key", entry.place)
                if entry.status == "started" and ledger.result(key) is None:
                    return True
        return False
    finally:
        await threads.close()
