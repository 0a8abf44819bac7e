"""The audit trail in an SQL store, within a transaction."""

from collections.abc import Sequence

from sayso.base.audit import (
    GENESIS,
    NO_THREAD,
    AuditPerson,
    AuditRow,
    Event,
    new_person,
    stored,
)
from sayso.base.records import Page, PageRequest
from sayso.stores.pagination import (
    checked_limit,
    cursor,
    end_of,
    of_thread,
    parse_cursor,
    scan_size,
    take_page,
)
from sayso.stores.rekeying import REKEYED_ROWS, Rekeying
from sayso.stores.sealing import AUDIT_TEXTS
from sayso.stores.sql.session import Row, Transaction
from sayso.stores.step import AuditLine, conflict_on, plan_erasure, plan_forgotten, plan_notes

_TEXTS = tuple(f"audit.{name}" for name in AUDIT_TEXTS)


def append(
    db: Transaction, scope: str, thread_id: str, now: int, lines: Sequence[AuditLine]
) -> None:
    """Add rows behind a thread's newest."""
    way = db.seals.into(scope, thread_id)
    db.insert_many("add_audit", [(scope, thread_id, now, *way.line(line)) for line in lines])


def note(db: Transaction, scope: str, events: Sequence[Event], now: int) -> None:
    """Add rows that belong to no thread."""
    db.lock_chain(scope)
    newest = db.one("last_audit", (scope, NO_THREAD)) or (0, GENESIS)
    person = KnownPeople(db, scope).__getitem__
    lines = plan_notes(scope, (newest[0], newest[1]), person, now, events)
    append(db, scope, NO_THREAD, now, lines)


def erase(db: Transaction, scope: str, thread_id: str, through: int, now: int, by: str) -> None:
    """Take contents away, and add the row that says so before: then a failure undoes all of it.

    The trail is opened before its row is added: of two that had added theirs, each would wait for
    the other to end.
    """
    db.lock_scope(scope, deletes=True)
    thread = db.one("find_thread", (scope, thread_id))
    if thread is not None and thread[-1]:
        raise conflict_on(thread_id)
    if thread_id == NO_THREAD:
        db.lock_chain(scope)
    newest = db.one("end_of_trail", (scope, thread_id)) or (0, GENESIS, "")
    person = KnownPeople(db, scope).__getitem__
    whose = (scope, thread_id, newest[2])
    lines = plan_erasure(whose, (newest[0], newest[1]), person, now, (through, by))
    db.do("open_audit", ())
    append(db, scope, thread_id, now, lines)
    db.do("erase_audit", (scope, thread_id, through))
    db.do("close_audit", ())


def erase_person(db: Transaction, scope: str, name: str, now: int, by: str) -> None:
    """Forget who somebody is, and whose threads changed; a row says so.

    Changes come last: who has locked some, to drop what is old, waits for nobody's name any more.
    """
    db.lock_chain(scope)
    person = known_person(db, scope, name)
    if person is not None:
        newest = db.one("last_audit", (scope, NO_THREAD)) or (0, GENESIS)
        names = KnownPeople(db, scope).__getitem__
        lines = plan_forgotten(scope, (newest[0], newest[1]), names, now, (person, by))
        append(db, scope, NO_THREAD, now, lines)
        db.erase_person(scope, name)
    db.do("forget_owner", (scope, name))


class KnownPeople(dict[str, str]):
    """The ids of people by their names, each looked up or added once in a step."""

    def __init__(self, db: Transaction, scope: str) -> None:
        super().__init__()
        self._db, self._scope = db, scope

    def __missing__(self, name: str) -> str:
        person = self[name] = self._db.person(self._scope, name)
        return person


def add_person(db: Transaction, scope: str, name: str) -> str:
    """Add a person to those of the trail."""
    person = new_person(name)
    db.do("add_person", (scope, person.id, person.name, person.salt))
    return person.id


def end(db: Transaction, scope: str) -> str:
    """Read where the newest row is."""
    row = db.one("newest_audit", (scope,))
    return cursor("ledger", 0, row[0] if row else 0)


def known_person(db: Transaction, scope: str, name: str) -> str | None:
    """The id of a person that rows tell of."""
    row = db.one("find_person", (scope, name))
    return str(row[0]) if row else None


def people(db: Transaction, scope: str, ids: Sequence[str]) -> dict[str, AuditPerson]:
    """Read who people are."""
    answers = [db.prefetch("read_person", (scope, person)) for person in ids]
    return {row[0]: AuditPerson(*row) for answer in answers for row in answer()}


def last_decision(db: Transaction, scope: str, thread_id: str) -> AuditRow | None:
    """Read the newest row that tells of a person's word."""
    row = db.one("last_decision", (scope, thread_id))
    return None if row is None else _row(db, scope, row)


def page(
    db: Transaction,
    scope: str,
    thread_id: str | None,
    owner: str | None,
    until: str | None,
    page: PageRequest,
) -> Page[AuditRow]:
    """Read a page of rows."""
    _, begin = parse_cursor("ledger", page.after) or (0, 0)
    if owner is not None:
        owner = known_person(db, scope, owner)
        if owner is None:
            return Page(items=(), next=None)
    if thread_id is not None:
        bounds = {"scope": scope, "thread_id": thread_id, "number": begin, "owner": owner}
        bounds["limit"] = checked_limit(page.limit) + 1
        rows = db.all("walk_audit_of_thread", bounds)
        return of_thread([_row(db, scope, row) for row in rows], page.limit)
    most = scan_size(page.limit)
    bounds = {"scope": scope, "moment": 0, "position": begin, "walk": most}
    bounds["until"] = end_of("ledger", until)
    with db.scan("walk_audit", bounds) as walked:
        fitting = ((0, position, owner in (None, whose)) for _, position, whose in walked)
        positions, following = take_page("ledger", fitting, page.limit, most)
    read = db.many("read_audit", [(position,) for position in positions])
    return Page(items=tuple(_row(db, scope, row) for row in read), next=following)


def rekey(db: Transaction, work: Rekeying, begin: int) -> int | None:
    """Bring contents under another key; where to go on, None at the end.

    Nothing else of a row is touched, and its digests stay true.
    """
    rows = db.all("next_audit", (begin, REKEYED_ROWS))
    changed = []
    for position, scope, thread_id, number, *texts in rows:
        begin = position
        fresh = work.renewed(scope, thread_id, str(number), _TEXTS, texts)
        if fresh is not None:
            changed.append((*fresh, position))
    if changed:
        db.do("open_audit", ())
        db.insert_many("rekey_audit", changed)
        db.do("close_audit", ())
    return begin if len(rows) == REKEYED_ROWS else None


def _row(db: Transaction, scope: str, row: Row) -> AuditRow:
    number, thread_id, owner, written_at, kind, content, salt, *digests = row
    content, salt = db.seals.out_of(scope, thread_id).told(number, content, salt)
    return stored(number, thread_id, owner, written_at, kind, content, salt, *digests)
