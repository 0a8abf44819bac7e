"""The ledger: what the demo agent has really done, in an SQLite file that replicas share.

Nothing here hides a double: whatever is done twice stands here twice.
"""

import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sayso.agents.tooloptions import DidNotHappen, Happened
from sayso.base import jsonvalue
from sayso.base.clock import Clock, SystemClock, format_time
from sayso.turns.replay.effects import current_call

_TABLES = """
CREATE TABLE IF NOT EXISTS effects (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    args TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    at TEXT NOT NULL,
    call_key TEXT NOT NULL,
    result TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS effects_by_call ON effects (call_key);
CREATE TABLE IF NOT EXISTS outbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    recipient TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS firsts (
    what TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    PRIMARY KEY (what, thread_id)
);
CREATE TABLE IF NOT EXISTS asked (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL
);
"""
_EFFECT = (
    "INSERT INTO effects (kind, args, thread_id, at, call_key, result) VALUES (?, ?, ?, ?, ?, ?)"
)
_MAIL = "INSERT INTO outbox (recipient, subject, body, at) VALUES (?, ?, ?, ?)"
_FIRST = "INSERT INTO firsts (what, thread_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
_LIST = (
    "SELECT kind, args, thread_id, at FROM effects "
    "WHERE :thread_id IS NULL OR thread_id = :thread_id ORDER BY number"
)
_FIND = "SELECT result FROM effects WHERE call_key = ? ORDER BY number LIMIT 1"

_LOCK_TIMEOUT_S = 30.0
"""Seconds to wait for a replica that is writing."""


class Ledger:
    """Effects in the order in which they happened. Every method may be called from any thread."""

    def __init__(self, path: Path, *, clock: Clock | None = None) -> None:
        """Open or make the file.

        Raises:
            sqlite3.Error: it cannot be opened or made.
        """
        self._path = path
        self._clock = clock or SystemClock()
        # Never the last to close the file: whoever is takes it for itself to empty its log, and a
        # process that is stopped right then keeps every other out.
        kept = sqlite3.connect(path, timeout=_LOCK_TIMEOUT_S, check_same_thread=False)
        weakref.finalize(self, kept.close)
        kept.execute("PRAGMA journal_mode = WAL")
        kept.executescript(_TABLES)

    def record(self, kind: str, args: dict[str, Any], result: Any = None) -> None:
        """Note an effect of the tool or step that is running, with the result it will return."""
        with self._connected() as db, db:
            db.execute(_EFFECT, self._row(kind, args, result))

    def mail(self, recipient: str, subject: str, body: str, result: Any = None) -> None:
        """Put a message into the outbox and note it as the effect `email`."""
        args = {"to": recipient, "subject": subject, "body": body}
        row = self._row("email", args, result)
        with self._connected() as db, db:
            db.execute(_MAIL, (recipient, subject, body, format_time(self._clock.now())))
            db.execute(_EFFECT, row)

    def verify(self, key: str) -> Happened | DidNotHappen:
        """Look up if the call of this key took effect, and its result: a `verify=` hook."""
        with self._connected() as db:
            row = db.execute(_FIND, (key,)).fetchone()
        return DidNotHappen() if row is None else Happened(jsonvalue.decode(row[0].encode()))

    def is_first(self, what: str) -> bool:
        """True if nobody has asked this in the thread of the running step before."""
        with self._connected() as db, db:
            return db.execute(_FIRST, (what, current_call().thread_id)).rowcount == 1

    def note_asked(self) -> None:
        """Note a request to a model."""
        with self._connected() as db, db:
            db.execute("INSERT INTO asked (at) VALUES (?)", (format_time(self._clock.now()),))

    def asked(self) -> int:
        """Count the requests to models."""
        with self._connected() as db:
            count: int = db.execute("SELECT count(*) FROM asked").fetchone()[0]
        return count

    def effects(self, thread_id: str | None = None) -> list[dict[str, Any]]:
        """`{kind, args, threadId, at}` of every effect in order, or of one thread's."""
        with self._connected() as db:
            rows = db.execute(_LIST, {"thread_id": thread_id}).fetchall()
        return [
            {"kind": kind, "args": jsonvalue.decode(args.encode()), "threadId": thread, "at": time}
            for kind, args, thread, time in rows
        ]

    def _row(self, kind: str, args: dict[str, Any], result: Any) -> tuple[str, ...]:
        call = current_call()
        return (
            kind,
            jsonvalue.encode(args).decode(),
            call.thread_id,
            format_time(self._clock.now()),
            call.key,
            jsonvalue.encode(result).decode(),
        )

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own for each use: threads and processes need no other agreement."""
        with closing(sqlite3.connect(self._path, timeout=_LOCK_TIMEOUT_S)) as db:
            yield db
