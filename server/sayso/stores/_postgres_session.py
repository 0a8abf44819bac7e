"""PostgreSQL's way to run statements by name, as few round trips as answers are needed."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import psycopg
from psycopg.adapt import Buffer
from psycopg.types.string import StrDumperUnknown, TextBinaryLoader, TextLoader

from sayso.clock import Clock
from sayso.stores._queries import queries
from sayso.stores._session import Row, Session, Values

__all__ = ["Connection", "PostgresSession", "adapt"]

Connection = psycopg.Connection[tuple[Any, ...]]

_SQL = queries("postgres")

_LEAD = "\ufdd0"
"""A character of no text that stands before one that PostgreSQL's text cannot hold, or itself."""
_NO_TEXT = str.maketrans({"\0": f"{_LEAD}0", _LEAD: f"{_LEAD}1"})

_TIME = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
_APART = "SELECT pg_advisory_xact_lock(hashtextextended('sayso ' || %s, 0))"
_TOGETHER = "SELECT pg_advisory_xact_lock_shared(hashtextextended('sayso ' || %s, 0))"


class _Dumper(StrDumperUnknown):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj if obj.isprintable() else obj.translate(_NO_TEXT))


class _Loader(TextLoader):
    def load(self, data: Buffer) -> str:
        return _restored(cast(str, super().load(data)))


class _BinaryLoader(TextBinaryLoader):
    def load(self, data: Buffer) -> str:
        return _restored(cast(str, super().load(data)))


def _restored(text: str) -> str:
    if _LEAD not in text:
        return text
    return text.replace(f"{_LEAD}0", "\0").replace(f"{_LEAD}1", _LEAD)


def adapt(db: Connection) -> None:
    """Let text with NUL characters come back as it was."""
    db.adapters.register_dumper(str, _Dumper)
    db.adapters.register_loader("text", _Loader)
    db.adapters.register_loader("text", _BinaryLoader)


class PostgresSession(Session):
    """A connection in pipeline mode that has begun a transaction.

    What only writes is sent and not waited for; its error comes with the next answer, or with the
    commit.
    """

    def __init__(self, db: Connection, clock: Clock | None) -> None:
        """`clock` is the store's time; the database's own when there is none."""
        self.db = db
        self._clock = clock

    def one(self, name: str, values: Values) -> Row | None:
        """The first row, or None; see `Session.one`."""
        return self._sent(name, values).fetchone()

    def all(self, name: str, values: Values) -> Sequence[Row]:
        """All rows; see `Session.all`."""
        return self._sent(name, values).fetchall()

    def walk(self, name: str, values: Values) -> AbstractContextManager[Iterator[Row]]:
        """All rows, at once: they are light and few; see `Session.walk`."""
        return nullcontext(iter(self._sent(name, values).fetchall()))

    def do(self, name: str, values: Values) -> None:
        """Write; see `Session.do`."""
        self._sent(name, values)

    def each(self, name: str, rows: Sequence[Values]) -> None:
        """Write for each row; see `Session.each`."""
        for values in rows:
            self._sent(name, values)

    def now(self) -> int:
        """The store's time; see `Session.now`."""
        if self._clock is not None:
            return self._clock.now()
        (moment,) = self.db.execute(_TIME, prepare=True).fetchall()[0]
        return int(moment)

    def apart(self, scope: str, *, deletes: bool) -> None:
        """By an advisory lock of the scope; see `Session.apart`."""
        self.db.execute(_APART if deletes else _TOGETHER, (scope,), prepare=True)

    def _sent(self, name: str, values: Values) -> psycopg.Cursor[Row]:
        return self.db.execute(_SQL[name], values, prepare=True, binary=True)
