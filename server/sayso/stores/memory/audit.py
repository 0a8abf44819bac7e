"""The audit trail that the memory store holds; one caller at a time."""

from collections import defaultdict
from collections.abc import Sequence

from sayso.audit import FIRST, AuditRow, Event, sealed, stored
from sayso.records import Page
from sayso.stores.pages import limited, of_thread, picked, place, walk

__all__ = ["Trail"]

_Row = tuple[str, int, str, bytes | None, str, str]
"""Owner, time, kind, content, its digest and the row's own; plain, as there are many of them."""


class Trail:
    """Rows of all scopes, in the order of writing, and those of each thread."""

    def __init__(self) -> None:
        self._rows: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        """By scope, where each row is: its thread and its number."""
        self._threads: defaultdict[tuple[str, str], list[_Row]] = defaultdict(list)

    def append(
        self, scope: str, thread_id: str, owner: str, at: int, events: Sequence[Event]
    ) -> None:
        """Add what happened in a thread behind what is known of it."""
        if not events:
            return
        mine, rows = self._threads[scope, thread_id], self._rows[scope]
        digest = mine[-1][-1] if mine else FIRST
        for number, event in enumerate(events, len(mine) + 1):
            inner, digest = sealed(digest, number, at, event)
            mine.append((owner, at, *event, inner, digest))
            rows.append((thread_id, number))

    def forget(self, scope: str, thread_id: str) -> None:
        """Take the contents of a thread's rows; what seals them stays."""
        mine = self._threads.get((scope, thread_id), [])
        mine[:] = [(*row[:3], None, *row[4:]) for row in mine]

    def page(
        self, scope: str, thread_id: str | None, owner: str | None, after: str | None, limit: int
    ) -> Page[AuditRow]:
        """See `Store.audit`."""
        _, begin = place("ledger", after) or (0, 0)
        if thread_id is not None:
            mine = self._threads.get((scope, thread_id), [])[begin : begin + limited(limit) + 1]
            rows = [stored(number, thread_id, *row) for number, row in enumerate(mine, begin + 1)]
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
        return stored(number, thread_id, *self._threads[scope, thread_id][number - 1])
