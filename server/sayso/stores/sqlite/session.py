"""SQLite's way to run statements by name."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from typing import Any

from sayso.clock import Clock
from sayso.stores.sql.queries import queries
from sayso.stores.sql.session import Answer, Row, Session, Values

__all__ = ["SQL", "SqliteSession"]

SQL = queries("sqlite")


class SqliteSession(Session):
    """A connection that its thread has begun a transaction on."""

    def __init__(self, db: sqlite3.Connection, clock: Clock) -> None:
        """`clock` is the store's: one machine has one."""
        self.db = db
        self._clock = clock

    def one(self, name: str, values: Values) -> Row | None:
        """The first row, or None; see `Session.one`."""
        row: Row | None = self.db.execute(SQL[name], values).fetchone()
        return row

    def all(self, name: str, values: Values) -> Sequence[Row]:
        """All rows; see `Session.all`."""
        return self.db.execute(SQL[name], values).fetchall()

    def ask(self, name: str, values: Values) -> Answer:
        """All rows, read at once; see `Session.ask`."""
        rows = self.db.execute(SQL[name], values).fetchall()
        return lambda: rows

    def many(self, name: str, rows: Sequence[Values]) -> Sequence[Row]:
        """The row of each; see `Session.many`."""
        return [self.db.execute(SQL[name], values).fetchone() for values in rows]

    def walk(self, name: str, values: Mapping[str, Any]) -> AbstractContextManager[Iterator[Row]]:
        """Rows as they are found; see `Session.walk`."""
        return closing(self.db.execute(SQL[name], values))

    def do(self, name: str, values: Values) -> None:
        """Write; see `Session.do`."""
        self.db.execute(SQL[name], values)

    def each(self, name: str, rows: Sequence[Values]) -> None:
        """Write for each row; see `Session.each`."""
        self.db.executemany(SQL[name], rows)

    def note(self, scope: str, rows: Sequence[dict[str, Any]]) -> None:
        """Write notes; see `Session.note`."""
        self.db.executemany(SQL["note_change"], rows)

    def now(self) -> int:
        """The store's time; see `Session.now`."""
        return self._clock.now()

    def apart(self, scope: str, *, deletes: bool) -> None:
        """Nothing to do: a file has one writer at a time; see `Session.apart`."""

    def tell(self, scope: str, thread_id: str) -> None:
        """Nothing to do: a file tells nobody; see `Session.tell`."""
