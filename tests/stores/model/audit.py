"""The audit trail that the memory store holds; one caller at a time."""

from collections import defaultdict
from collections.abc import Sequence

from sayso.base.audit import GENESIS, AuditRow, Event, chained, stored
from sayso.base.records import Page
from sayso.stores.pagination import checked_limit, of_thread, parse_cursor, scan_size, take_page

_Row = tuple[str, int, str, bytes, str, str]
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
        digest = mine[-1][-1] if mine else GENESIS
        for number, event in enumerate(events, len(mine) + 1):
            inner, digest = chained((scope, thread_id, owner), digest, number, at, event)
            mine.append((owner, at, *event, inner, digest))
            rows.append((thread_id, number))

    def page(
        self, scope: str, thread_id: str | None, owner: str | None, after: str | None, limit: int
    ) -> Page[AuditRow]:
        """See `Store.audit`."""
        _, begin = parse_cursor("ledger", after) or (0, 0)
        if thread_id is not None:
            mine = self._threads.get((scope, thread_id), [])[
                begin : begin + checked_limit(limit) + 1
            ]
            rows = [stored(number, thread_id, *row) for number, row in enumerate(mine, begin + 1)]
            return of_thread(rows, owner, limit)
        most = scan_size(limit)
        audit_rows = [
            self._row(scope, *at) for at in self._rows.get(scope, [])[begin : begin + most]
        ]
        fitting = (
            (0, position, owner in (None, row.owner))
            for position, row in enumerate(audit_rows, begin + 1)
        )
        positions, following = take_page("ledger", fitting, limit, most)
        return Page(items=tuple(audit_rows[at - begin - 1] for at in positions), next=following)

    def _row(self, scope: str, thread_id: str, number: int) -> AuditRow:
        return stored(number, thread_id, *self._threads[scope, thread_id][number - 1])
