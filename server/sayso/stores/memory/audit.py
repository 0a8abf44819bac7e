"""The audit trail that the memory store holds; one caller at a time."""

from collections import defaultdict
from collections.abc import Sequence

from sayso.audit import FIRST, AuditRow, Event, sealed, stored
from sayso.records import Page
from sayso.stores.pages import limited, of_thread, picked, place, walk

__all__ = ["Trail"]

_Row = tuple[str, int, str, bytes | None]
"""Owner, time, kind and content; plain, as there are many of them."""
_Seal = tuple[str, str]
"""The digests of a row's content and of the row."""


class Trail:
    """Rows of all scopes, in the order of writing, and those of each thread.

    Rows are sealed when somebody reads them, or right before their contents go: nobody else gets
    hold of what is in here, so that says no less than a seal from the beginning.
    """

    def __init__(self) -> None:
        self._rows: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        """By scope, where each row is: its thread and its number."""
        self._threads: defaultdict[tuple[str, str], list[_Row]] = defaultdict(list)
        self._seals: defaultdict[tuple[str, str], list[_Seal]] = defaultdict(list)
        """Of the first rows of each thread."""

    def append(
        self, scope: str, thread_id: str, owner: str, at: int, events: Sequence[Event]
    ) -> None:
        """Add what happened in a thread behind what is known of it."""
        if not events:
            return
        mine, rows = self._threads[scope, thread_id], self._rows[scope]
        for number, (kind, content) in enumerate(events, len(mine) + 1):
            mine.append((owner, at, kind, content))
            rows.append((thread_id, number))

    def forget(self, scope: str, thread_id: str) -> None:
        """Take the contents of a thread's rows; what seals them stays."""
        mine = self._threads.get((scope, thread_id))
        if mine is None:
            return
        self._sealed(scope, thread_id, len(mine))
        mine[:] = [(*row[:3], None) for row in mine]

    def page(
        self, scope: str, thread_id: str | None, owner: str | None, after: str | None, limit: int
    ) -> Page[AuditRow]:
        """See `Store.audit`."""
        _, begin = place("ledger", after) or (0, 0)
        if thread_id is not None:
            known = len(self._threads.get((scope, thread_id), ()))
            last = min(known, begin + limited(limit) + 1)
            rows = [self._row(scope, thread_id, number) for number in range(begin + 1, last + 1)]
            return of_thread(rows, owner, limit)
        most = walk(limit)
        found = [self._row(scope, *at) for at in self._rows.get(scope, [])[begin : begin + most]]
        fitting = (
            (0, position, owner in (None, row.owner))
            for position, row in enumerate(found, begin + 1)
        )
        positions, following = picked("ledger", fitting, limit, most)
        return Page(items=tuple(found[at - begin - 1] for at in positions), next=following)

    def _row(self, scope: str, thread_id: str, number: int) -> AuditRow:
        row = self._threads[scope, thread_id][number - 1]
        return stored(number, thread_id, *row, *self._sealed(scope, thread_id, number))

    def _sealed(self, scope: str, thread_id: str, number: int) -> _Seal:
        """The seal of a thread's row of that number."""
        seals = self._seals[scope, thread_id]
        rows = self._threads[scope, thread_id]
        digest = seals[-1][1] if seals else FIRST
        for one in range(len(seals) + 1, number + 1):
            _, at, kind, content = rows[one - 1]
            if content is None:
                raise AssertionError(f"row {one} of thread {thread_id!r} went without its seal")
            seal = sealed(digest, one, at, (kind, content))
            seals.append(seal)
            digest = seal[1]
        return seals[number - 1]
