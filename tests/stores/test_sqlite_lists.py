"""What a page costs, in steps of SQLite's own machine: the same however much is stored."""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sayso.base.approvers import Approvers, names_of
from sayso.base.records import (
    Approval,
    ApprovalUse,
    Commit,
    Entry,
    Interrupt,
    InterruptFilter,
    Message,
    OpenCount,
    Page,
    PageRequest,
    Terms,
    ThreadFilter,
)
from sayso.stores.sealing import NO_SEALS
from sayso.stores.sql import lists, ops
from sayso.stores.sql.session import Transaction
from sayso.stores.sqlite.database import connect
from sayso.stores.sqlite.session import SqliteTransaction
from sayso.testing import FakeClock
from tests.stores.processes import SCOPE, a_claim

FEW, MANY = 300, 3_000
HOUR = 1_000_000

Filled = dict[int, sqlite3.Connection]


def session_on(db: sqlite3.Connection) -> Transaction:
    """The store's own way to a connection, at the beginning of time."""
    return SqliteTransaction(db, FakeClock(now=0), NO_SEALS)


def fill(db: sqlite3.Connection, threads: int) -> None:
    """As many waiting threads, each with an open question that expires and is reminded."""
    db.execute("BEGIN")
    session = session_on(db)
    for n in range(threads):
        claim = a_claim(f"t-{n}", "me")
        lease = ops.claim(session, claim)
        question = Interrupt(
            id=f"int_{n}",
            turn_key=claim.turn.key,
            place="0",
            reason="tool_call",
            created_at=n,
            expires_at=2 * HOUR + n,
            remind_at=HOUR + n,
            assigned_to=f"clerk-{n % 2}",
            terms=Terms(approvers=Approvers(by=f"role {n % 2}", people=["lea"])),
        )
        suspended = replace(claim.turn, status="suspended")
        ops.commit(
            session, lease, Commit(now=n, interrupts=(question,), turn=suspended, release=True)
        )
    db.execute("COMMIT")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """The same store with few and with many threads."""
    stores = {n: connect(tmp_path_factory.mktemp("lists") / f"{n}.db") for n in (FEW, MANY)}
    for threads, db in stores.items():
        fill(db, threads)
    yield stores
    for db in stores.values():
        db.close()


def steps(db: sqlite3.Connection, work: Callable[[Transaction], object]) -> int:
    """How many instructions SQLite executes for some work."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 1

    db.set_progress_handler(step, 1)
    try:
        work(session_on(db))
    finally:
        db.set_progress_handler(None, 1)
    return count


PAGES: dict[str, Callable[[Transaction], Page[object]]] = {
    "open": lambda db: interrupts(db, status="open"),
    "open, later": lambda db: interrupts(db, "i200.200", status="open"),
    "open of an owner": lambda db: interrupts(db, status="open", owner="ann"),
    "open of nobody": lambda db: interrupts(db, status="open", owner="eve"),
    "open for approvers": lambda db: interrupts(
        db, status="open", owner="eve", names=names_of("lea", ["role 1"])
    ),
    "assigned": lambda db: interrupts(db, status="open", assigned_to="clerk-1"),
    "any": lambda db: interrupts(db),
    "settled": lambda db: interrupts(db, status="resolved"),
    "of a thread": lambda db: interrupts(db, thread_id="t-7"),
    "threads": lambda db: lists.threads(db, SCOPE, ThreadFilter(), PageRequest(limit=20)),
    "threads of an owner": lambda db: lists.threads(
        db, SCOPE, ThreadFilter(owner="ann"), PageRequest(limit=20)
    ),
    "runs": lambda db: lists.runs(db, SCOPE, "t-7", PageRequest(limit=20)),
    "nobody due": lambda db: ops.due_threads(db, HOUR - 1, PageRequest(limit=20)),
    "reminders": lambda db: ops.due_threads(db, 2 * HOUR - 1, PageRequest(limit=20)),
    "expired and reminders": lambda db: ops.due_threads(db, 3 * HOUR, PageRequest(limit=20)),
    "due, later": lambda db: ops.due_threads(db, 3 * HOUR, PageRequest(f"d{HOUR + 200}.200", 20)),
}


def interrupts(db: Transaction, after: str | None = None, **what: Any) -> Page[object]:
    return lists.interrupts(db, SCOPE, InterruptFilter(**what), PageRequest(after, 20))


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_costs_what_it_shows(
    page: Callable[[Transaction], Page[object]], filled: Filled
) -> None:
    """Ten times as many threads and open interrupts: as many steps, whichever page (design 6)."""
    few, many = (steps(filled[n], page) for n in (FEW, MANY))
    assert len(page(session_on(filled[FEW])).items) == len(page(session_on(filled[MANY])).items)
    assert many == few


def test_counting_what_waits_costs_its_bound(filled: Filled) -> None:
    """Up to a number, whatever else is open: `/metrics` is read all the time (design 6)."""
    few, many = (steps(filled[n], lambda db: lists.count_all_open(db, 20)) for n in (FEW, MANY))
    assert lists.count_all_open(session_on(filled[MANY]), 20) == OpenCount(count=20, oldest=0)
    assert many == few


def test_a_rare_filter_looks_at_a_bounded_number(filled: Filled) -> None:
    """Nothing fits: the page is empty and says where to go on, long before the end."""
    page = interrupts(session_on(filled[MANY]), status="open", reason="other")
    assert (page.items, page.next) == ((), "i1019.1020")
    threads = lists.threads(
        session_on(filled[MANY]), SCOPE, ThreadFilter(agent="other"), PageRequest(limit=20)
    )
    assert (threads.items, threads.next) == ((), f"t{MANY - 1020}.{MANY - 1019}")


def test_long_answers_are_not_read_by_a_filter(tmp_path: Path) -> None:
    """What lists look at stands in front of what may be long, so that its pages stay unread."""
    db = connect(tmp_path / "sayso.db")
    columns = [row[1] for row in db.execute("PRAGMA table_info(interrupt)")]
    kinds = {row[1]: row[2] for row in db.execute("PRAGMA table_info(interrupt)")}
    db.close()
    looked_at = ("owner", "status", "agent", "reason", "assigned_to", "names")
    first_long = min(columns.index(c) for c in columns if kinds[c] == "BLOB" or c == "message")
    assert all(columns.index(column) < first_long for column in looked_at)


UNCOUNTED = (
    "audit",
    "change",
    "duty",
    "floor",
    "person",
    "sayso_schema",
    "service_token",
    "session",
)
"""Tables that have rows of no thread, or keep those of one that is gone."""


def test_a_deleted_thread_leaves_no_row(tmp_path: Path) -> None:
    """But the notes, which hold ids, the audit trail with its people, the floor of new threads."""
    db = connect(tmp_path / "sayso.db")
    fill(db, 3)
    everything = Commit(
        now=1,
        entries=(Entry(place="0", kind="k", name="n", fingerprint="f", status="done", data=b"1"),),
        messages=(Message(id="m", role="user", body=b"{}"),),
        state=b"1",
        kept=b"2",
        release=True,
    )
    for n in range(3):
        lease = ops.claim(session_on(db), replace(a_claim(f"t-{n}", "me"), revision=2))
        permits = permits_of(f"t-{n}")
        ops.commit(session_on(db), lease, replace(everything, **permits))
        kept = "INSERT INTO secret (scope, thread_id, id, body) VALUES (?, ?, 's', x'31')"
        db.execute(kept, (SCOPE, f"t-{n}"))  # as an encrypted store keeps it
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    counted = {t for t in tables if t not in UNCOUNTED}
    before = {table: count(db, table) for table in counted}
    assert before.pop("asked") == 6, "each waits for a role and for a person"
    assert set(before.values()) == {3}
    ops.delete(session_on(db), SCOPE, "t-1", 4, 9, "me")
    left = dict.fromkeys(counted, 2) | {"asked": 4}
    assert {table: count(db, table) for table in counted} == left
    emptied = "SELECT count(*) FROM audit WHERE content IS NULL"
    assert db.execute(emptied).fetchone() == (0,)
    db.close()


def permits_of(thread_id: str) -> dict[str, Any]:
    """An approval for a thread alone, and a call that ran on it."""
    given = Approval(
        id=f"apr_{thread_id}",
        owner="ann",
        tool="send",
        thread_id=thread_id,
        pattern=b"{}",
        rules=(),
        given_by="ann",
        given_at=1,
        interrupt_id="int_1",
    )
    used = ApprovalUse(approval_id=given.id, call_id="call_1", thread_id=thread_id, at=1)
    return {"approvals": (given,), "uses": (used,)}


def count(db: sqlite3.Connection, table: str) -> int:
    # The name comes out of the schema itself.
    rows: int = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
    return rows
