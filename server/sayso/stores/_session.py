"""What the SQL stores ask of a database: the one thing that their backends do differently."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

__all__ = ["Row", "Session", "Values"]

Row = tuple[Any, ...]
Values = Sequence[Any] | Mapping[str, Any]


class Session(Protocol):
    """A connection inside a transaction. Statements go by name; each dialect has its own text.

    Positions that a statement gives grow with every insert. A statement may fail later than its
    call, but before its transaction ends, and then nothing of that has happened.
    """

    def one(self, name: str, values: Values) -> Row | None:
        """The first row, or None."""

    def all(self, name: str, values: Values) -> Sequence[Row]:
        """All rows."""

    def walk(self, name: str, values: Values) -> AbstractContextManager[Iterator[Row]]:
        """All rows, for who may want no more after a few."""

    def do(self, name: str, values: Values) -> None:
        """Write."""

    def each(self, name: str, rows: Sequence[Values]) -> None:
        """Write once for each of these rows, in their order."""

    def now(self) -> int:
        """The store's time in milliseconds, by which leases run out."""

    def apart(self, scope: str, *, deletes: bool) -> None:
        """Until the transaction ends, keep what creates threads of a scope from what deletes some.

        Asked before any thread is locked.
        """
