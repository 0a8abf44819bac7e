"""PostgreSQL's way to run statements by name, as few round trips as answers are needed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from sayso.base.clock import Clock
from sayso.stores.postgres.pipeline import Wire
from sayso.stores.sql.queries import queries
from sayso.stores.sql.session import Answer, Row, Transaction, Values

SQL = queries("postgres")

_FEW = 128
"""Rows that a walk begins with: a page of the usual length, and some that do not fit."""

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN"
_BEGUN_READING = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_BEGUN = f"{_BEGUN_READING}, pg_current_xact_id()::text"
_APART = "SELECT pg_advisory_xact_lock(hashtextextended('sayso ' || $1, 0))"
_TOGETHER = "SELECT pg_advisory_xact_lock_shared(hashtextextended('sayso ' || $1, 0))"


class PostgresTransaction(Transaction):
    """A connection in a transaction.

    What only writes is sent and not waited for; its error comes with the next answer, or with the
    commit.
    """

    def __init__(self, wire: Wire, clock: Clock | None, *, writes: bool) -> None:
        """Begin; `clock` is the store's time, the database's own when there is none."""
        self._wire = wire
        wire.send(_WRITE if writes else _READ)
        self._begun = wire.send(_BEGUN) if writes else None
        self._clock = clock
        self.changed: set[tuple[str, str]] = set()

    def one(self, name: str, values: Values) -> Row | None:
        """The first row, or None; see `Transaction.one`."""
        rows = self._wire.rows(self._sent(name, values))
        return rows[0] if rows else None

    def all(self, name: str, values: Values) -> Sequence[Row]:
        """All rows; see `Transaction.all`."""
        return self._wire.rows(self._sent(name, values))

    def prefetch(self, name: str, values: Values) -> Answer:
        """All rows, asked for now and waited for when needed; see `Transaction.prefetch`."""
        return partial(self._wire.rows, self._sent(name, values))

    def many(self, name: str, rows: Sequence[Values]) -> Sequence[Row]:
        """The row of each, all asked for before the first is waited for; see `Transaction.many`."""
        sent = [self._sent(name, values) for values in rows]
        return [self._wire.rows(one)[0] for one in sent]

    def scan(self, name: str, values: Mapping[str, Any]) -> AbstractContextManager[Iterator[Row]]:
        """Some rows at a time, more of them each time; see `Transaction.scan`."""
        return nullcontext(self._walked(name, dict(values)))

    def _walked(self, name: str, values: dict[str, Any]) -> Iterator[Row]:
        left, some = values["walk"], _FEW
        while left > 0:
            values["walk"] = min(some, left)
            rows = self._wire.rows(self._sent(name, values))
            yield from rows
            if len(rows) < values["walk"]:
                return
            values["moment"], values["position"] = rows[-1][:2]
            left, some = left - len(rows), some * 4

    def do(self, name: str, values: Values) -> None:
        """Write; see `Transaction.do`."""
        self._sent(name, values)

    def insert_many(self, name: str, rows: Sequence[Values]) -> None:
        """Write for each row; see `Transaction.insert_many`."""
        for values in rows:
            self._sent(name, values)

    def append_changes(self, scope: str, rows: Sequence[dict[str, Any]]) -> None:
        """Write notes under marks that nobody waits for; see `Transaction.append_changes`."""
        self._sent("next_marks", (scope, len(rows)))
        for before, row in zip(range(len(rows) - 1, -1, -1), rows, strict=True):
            self._sent("note_change", row | {"before": before})

    def now(self) -> int:
        """The store's time; see `Transaction.now`."""
        if self._clock is not None:
            return self._clock.now()
        # Of a write, that when it began: no lease is taken for over, or for longer, than it is.
        begun = self._begun or self._wire.send(_BEGUN_READING)
        moment: int = self._wire.rows(begun)[0][0]
        return moment

    def number(self) -> str:
        """The number of a transaction that writes, by which its end can be looked up."""
        if self._begun is None:
            raise RuntimeError("what only reads has no number")
        number: str = self._wire.rows(self._begun)[0][1]
        return number

    def lock_scope(self, scope: str, *, deletes: bool) -> None:
        """By an advisory lock of the scope; see `Transaction.lock_scope`."""
        self._wire.send(_APART if deletes else _TOGETHER, (scope,))

    def notify(self, scope: str, thread_id: str) -> None:
        """Keep it in `changed`; see `Transaction.notify`."""
        self.changed.add((scope, thread_id))

    def _sent(self, name: str, values: Values) -> Any:
        statement = SQL[name]
        return self._wire.send(statement.text, statement.values(values))
