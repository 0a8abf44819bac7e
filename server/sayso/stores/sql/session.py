"""The protocol of a database for the SQL stores: all that their backends do differently."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from sayso.stores.sealing import Seals

Row = tuple[Any, ...]
Answer = Callable[[], Sequence[Row]]
"""The rows of a statement that is on its way."""
Values = Sequence[Any] | dict[str, Any]


class Transaction(Protocol):
    """A connection inside a transaction. Statements go by name; each dialect has its own text.

    Positions that a statement gives grow with every insert. A statement may fail later than its
    call, but before its transaction ends, and then nothing of that has happened.
    """

    seals: Seals
    """How texts are kept."""

    def one(self, name: str, values: Values) -> Row | None:
        """The first row, or None."""

    def all(self, name: str, values: Values) -> Sequence[Row]:
        """All rows."""

    def prefetch(self, name: str, values: Values) -> Answer:
        """All rows as they are now; what this returns gives them, once they are wanted."""

    def many(self, name: str, rows: Sequence[Values]) -> Sequence[Row]:
        """The one row of each of these, in their order; of what is known to be there."""

    def scan(self, name: str, values: Values) -> AbstractContextManager[Iterator[Row]]:
        """Rows in the order of their first two members, for who may want no more after a few.

        `scan` is how many there are at most, `moment` and `position` after which they begin.
        """

    def do(self, name: str, values: Values) -> None:
        """Write."""

    def insert_many(self, name: str, rows: Sequence[Values]) -> None:
        """Write once for each of these rows, in their order."""

    def append_changes(self, scope: str, rows: Sequence[dict[str, Any]]) -> None:
        """Write notes of a scope (rows of `note_change`) under its next marks, in their order."""

    def now(self) -> int:
        """The store's time in milliseconds, by which leases run out."""

    def lock_scope(self, scope: str, *, deletes: bool) -> None:
        """Until the transaction ends, keep what creates threads of a scope from what deletes some.

        Asked before any thread is locked.
        """

    def lock_chain(self, scope: str) -> None:
        """Until the transaction ends, keep others from adding rows that belong to no thread."""

    def person(self, scope: str, name: str) -> str:
        """The id of a person in the audit trail, who is added if need be.

        Asked behind the step's own thread, and before what it notes is written.
        """

    def erase_person(self, scope: str, name: str) -> None:
        """Forget the id of a name."""

    def notify(self, scope: str, thread_id: str) -> None:
        """Once this is durable, let others hear that a thread has changed (`Store.subscribe`)."""
