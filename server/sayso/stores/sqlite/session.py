"""SQLite's way to run statements by name."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from typing import Any

from sayso.base.clock import Clock
from sayso.stores.sql.queries import queries
from sayso.stores.sql.session import Answer, Row, Transaction, Values

SQL = queries("sqlite")


class SqliteTransaction(Transaction):
    """A connection that its thread has begun a transaction on."""

    def __init__(self, db: sqlite3.Connection, clock: Clock) -> None:
        """`clock` is the store's: one machine has one."""
        self.db = db
        self._clock = clock

    def one(self, name: str, values: Values) -> Row | None:
        """The first row, or None; see `Transaction.one`."""
        row: Row | None = self._execute(name, values).fetchone()
        return row

    def all(self, name: str, values: Values) -> Sequence[Row]:
        """All rows; see `Transaction.all`."""
        return self._execute(name, values).fetchall()

    def prefetch(self, name: str, values: Values) -> Answer:
        """All rows, read at once; see `Transaction.prefetch`."""
        rows = self._execute(name, values).fetchall()
        return lambda: rows

    def many(self, name: str, rows: Sequence[Values]) -> Sequence[Row]:
        """The row of each; see `Transaction.many`."""
        return [self._execute(name, values).fetchone() for values in rows]

    def scan(self, name: str, values: Mapping[str, Any]) -> AbstractContextManager[Iterator[Row]]:
        """Rows as they are found; see `Transaction.scan`."""
        return closing(self._execute(name, values))

    def do(self, name: str, values: Values) -> None:
        """Write; see `Transaction.do`."""
        self._execute(name, values)

    def insert_many(self, name: str, rows: Sequence[Values]) -> None:
        """Write for each row; see `Transaction.insert_many`."""
        statement = SQL[name]
        self.db.executemany(statement.text, map(statement.values, rows))

    def append_changes(self, scope: str, rows: Sequence[dict[str, Any]]) -> None:
        """Write notes; see `Transaction.append_changes`."""
        self.insert_many("note_change", rows)

    def now(self) -> int:
        """The store's time; see `Transaction.now`."""
        return self._clock.now()

    def lock_scope(self, scope: str, *, deletes: bool) -> None:
        """Nothing to do: a file has one writer at a time; see `Transaction.lock_scope`."""

    def notify(self, scope: str, thread_id: str) -> None:
        """Nothing to do: a file tells nobody; see `Transaction.notify`."""

    def _execute(self, name: str, values: Values) -> sqlite3.Cursor:
        statement = SQL[name]
        return self.db.execute(statement.text, statement.values(values))
