"""The audit trail that the memory store holds; one caller at a time."""

from collections import defaultdict
from collections.abc import Sequence

from sayso.base.audit import (
    GENESIS,
    NOBODY,
    AuditPerson,
    AuditRow,
    Event,
    chained,
    encoded,
    new_person,
    new_salt,
    stored,
)
from sayso.base.records import Page
from sayso.base.signatures import DECISIONS
from sayso.stores.pagination import (
    checked_limit,
    cursor,
    end_of,
    of_thread,
    parse_cursor,
    scan_size,
    take_page,
)

_Row = tuple[str, int, str, bytes | None, bytes | None, str, str]
"""Owner, time, kind, content, salt, digest of both and of the row; plain, as there are many."""


class Trail:
    """Rows of all scopes, in the order of writing, and those of each thread."""

    def __init__(self) -> None:
        self._rows: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        """By scope, where each row is: its thread and its number."""
        self._threads: defaultdict[tuple[str, str], list[_Row]] = defaultdict(list)
        self._people: defaultdict[str, dict[str, AuditPerson]] = defaultdict(dict)
        """By scope, each person by name."""

    def append(
        self, scope: str, thread_id: str, owner: str | None, at: int, events: Sequence[Event]
    ) -> None:
        """Add what happened in a thread behind what is known of it.

        Without an owner it is whose the row before is, or nobody's.
        """
        if not events:
            return
        mine, rows = self._threads[scope, thread_id], self._rows[scope]
        digest = mine[-1][-1] if mine else GENESIS
        last = mine[-1][0] if mine else NOBODY
        belongs = last if owner is None else self.person(scope, owner)
        for number, event in enumerate(events, len(mine) + 1):
            kind, content = encoded(event, lambda name: self.person(scope, name))
            whose, salt = (scope, thread_id, belongs), new_salt()
            inner, digest = chained(whose, digest, number, at, kind, content, salt)
            mine.append((belongs, at, kind, content, salt, inner, digest))
            rows.append((thread_id, number))

    def erase(self, scope: str, thread_id: str, through: int) -> bool:
        """Take away contents up to a number; False if no row has it."""
        mine = self._threads.get((scope, thread_id), [])
        if not 0 < through <= len(mine):
            return False
        for at, row in enumerate(mine[:through]):
            mine[at] = (*row[:3], None, None, *row[5:])
        return True

    def page(
        self,
        scope: str,
        thread_id: str | None,
        owner: str | None,
        after: str | None,
        until: str | None,
        limit: int,
    ) -> Page[AuditRow]:
        """See `Store.audit`."""
        _, begin = parse_cursor("ledger", after) or (0, 0)
        if owner is not None:
            if owner not in self._people[scope]:
                return Page(items=(), next=None)
            owner = self._people[scope][owner].id
        if thread_id is not None:
            mine = self._threads.get((scope, thread_id), [])[begin:]
            rows = [stored(number, thread_id, *row) for number, row in enumerate(mine, begin + 1)]
            read = [row for row in rows if owner in (None, row.owner)]
            return of_thread(read[: checked_limit(limit) + 1], limit)
        most, last = scan_size(limit), end_of("ledger", until)
        audit_rows = [
            self._row(scope, *at)
            for at in self._rows.get(scope, [])[begin : min(begin + most, last)]
        ]
        fitting = (
            (0, position, owner in (None, row.owner))
            for position, row in enumerate(audit_rows, begin + 1)
        )
        positions, following = take_page("ledger", fitting, limit, most)
        return Page(items=tuple(audit_rows[at - begin - 1] for at in positions), next=following)

    def end(self, scope: str) -> str:
        """See `Store.audit_end`."""
        return cursor("ledger", 0, len(self._rows.get(scope, [])))

    def last_decision(self, scope: str, thread_id: str) -> AuditRow | None:
        """See `Store.last_decision`."""
        mine = self._threads.get((scope, thread_id), [])
        rows = (stored(number, thread_id, *row) for number, row in enumerate(mine, 1))
        return next((row for row in reversed([*rows]) if row.kind in DECISIONS), None)

    def forget(self, scope: str, name: str) -> str | None:
        """Forget a person; the id that rows have."""
        person = self._people.get(scope, {}).pop(name, None)
        return None if person is None else person.id

    def people(self, scope: str, ids: Sequence[str]) -> dict[str, AuditPerson]:
        """See `Store.people`."""
        return {who.id: who for who in self._people.get(scope, {}).values() if who.id in ids}

    def person(self, scope: str, name: str) -> str:
        """See `Store.person`."""
        people = self._people[scope]
        if name not in people:
            people[name] = new_person(name)
        return people[name].id

    def _row(self, scope: str, thread_id: str, number: int) -> AuditRow:
        return stored(number, thread_id, *self._threads[scope, thread_id][number - 1])
