"""SQLite's way to run statements by name."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing
from typing import Any

from sayso.base.clock import Clock
from sayso.stores.sealing import Seals
from sayso.stores.sql.audit import add_person
from sayso.stores.sql.queries import queries
from sayso.stores.sql.session import Answer, Row, Transaction, Values

SQL = queries("sqlite")


class SqliteTransaction(Transaction):
    """A connection that its thread has begun a transaction on."""

    def __init__(self, db: sqlite3.Connection, clock: Clock, seals: Seals) -> None:
        """`clock` is the store's: one machine has one; `seals` is how texts are kept."""
        self.db = db
        self._clock = clock
        self.seals = seals

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

    def scan(self, name: str, values: Values) -> AbstractContextManager[Iterator[Row]]:
        """Rows as they are found; see `Transaction.scan`."""
        return closing(self._execute(name, values))

    def do(self, name: str, values: Values) -> None:
        """Write; see `Transaction.do`."""
        self._execute(name, values)

    def insert_many(self, name: str, rows: Sequence[Values]) -> None:
        """Write for each row; see `Transaction.insert_many`."""
        statement = SQL[name]
        named = bool(rows) and isinstance(rows[0], dict)
        self.db.executemany(statement.text, map(statement.values, rows) if named else rows)

    def append_changes(self, scope: str, rows: Sequence[dict[str, Any]]) -> None:
        """Write notes; see `Transaction.append_changes`."""
        self.insert_many("note_change", rows)

    def now(self) -> int:
        """The store's time; see `Transaction.now`."""
        return self._clock.now()

    def lock_scope(self, scope: str, *, deletes: bool) -> None:
        """Nothing to do: a file has one writer at a time; see `Transaction.lock_scope`."""

    def lock_chain(self, scope: str) -> None:
        """Nothing to do, likewise; see `Transaction.lock_chain`."""

    def person(self, scope: str, name: str) -> str:
        """Look, or add; see `Transaction.person`."""
        row = self.one("find_person", (scope, name))
        return str(row[0]) if row else add_person(self, scope, name)

    def erase_person(self, scope: str, name: str) -> None:
        """Forget the id of a name; see `Transaction.erase_person`."""
        self.do("erase_person", (scope, name))

    def notify(self, scope: str, thread_id: str) -> None:
        """Nothing to do: a file tells nobody; see `Transaction.notify`."""

    def _execute(self, name: str, values: Values) -> sqlite3.Cursor:
        statement = SQL[name]
        return self.db.execute(statement.text, statement.values(values))
