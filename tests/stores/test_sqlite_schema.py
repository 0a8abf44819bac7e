"""The SQLite schema: migrations, versions, and the statements that run on it."""

import hashlib
import sqlite3
from pathlib import Path

import pytest

from sayso.base.errors import StoreUnavailable
from sayso.stores.sql.queries import Migration, Statement, queries
from sayso.stores.sqlite import database
from sayso.stores.sqlite.database import MIGRATIONS, connect
from sayso.stores.sqlite.store import SqliteStore
from tests.stores.backends import opened
from tests.stores.processes import SCOPE, a_claim

RELEASED: dict[str, str] = {}
"""Digests of migrations that were in a release: those may never change again."""


def schema_of(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    rows = db.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_master ORDER BY 1, 2")
    return [(kind, name, sql) for kind, name, sql in rows]


def test_migrations_are_numbered_without_gaps() -> None:
    """A missing or doubled number would leave two histories (design 6)."""
    assert [m.version for m in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))
    assert all(1 <= m.min_reader <= m.version for m in MIGRATIONS)


def test_released_migrations_are_as_they_were() -> None:
    """Append-only: a database that was migrated does not see later edits."""
    now = {
        f"{m.version:04d}_{m.name}": hashlib.sha256(m.sql.encode()).hexdigest() for m in MIGRATIONS
    }
    assert {name: now.get(name) for name in RELEASED} == RELEASED


def test_a_new_file_has_the_schema_of_all_migrations(tmp_path: Path) -> None:
    """Nothing but migrations makes tables; each is noted once (design 6)."""
    made = sqlite3.connect(tmp_path / "by-hand.db")
    for migration in MIGRATIONS:
        made.executescript(migration.sql)
    opened_db = connect(tmp_path / "sayso.db")
    noted = opened_db.execute("SELECT version, name, min_reader FROM sayso_schema").fetchall()
    assert schema_of(opened_db) == schema_of(made)
    assert noted == [(m.version, m.name, m.min_reader) for m in MIGRATIONS]
    opened_db.close()
    made.close()


def test_opening_again_migrates_nothing(tmp_path: Path) -> None:
    """The schema's version is part of the file."""
    path = tmp_path / "sayso.db"
    connect(path).close()
    before = path.read_bytes()
    connect(path).close()
    assert path.read_bytes() == before


def _with_next(monkeypatch: pytest.MonkeyPatch, sql: str, min_reader: int) -> None:
    """Pretend that this is the release after the next migration."""
    version = MIGRATIONS[-1].version + 1
    later = Migration(version, "later", min_reader, sql)
    monkeypatch.setattr(database, "MIGRATIONS", (*MIGRATIONS, later))


async def test_an_older_file_is_migrated_with_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the missing migrations run."""
    path = tmp_path / "sayso.db"
    async with opened(SqliteStore(path)) as store:
        await store.claim(a_claim("t", "me"))
    _with_next(monkeypatch, "ALTER TABLE thread ADD COLUMN title TEXT;\n", 1)
    async with opened(SqliteStore(path)) as store:
        assert await store.load(SCOPE, "t") is not None
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT title FROM thread").fetchall() == [(None,)]
        assert db.execute("SELECT count(*) FROM sayso_schema").fetchone() == (len(MIGRATIONS) + 1,)
    db.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All missing migrations are one transaction."""
    path = tmp_path / "sayso.db"
    old = connect(path)
    before = schema_of(old)
    _with_next(monkeypatch, "CREATE TABLE half (x);\nCREATE TABLE thread (x);\n", 1)
    with pytest.raises(StoreUnavailable, match="already exists"):
        connect(path)
    assert schema_of(old) == before
    old.close()


async def test_old_code_runs_on_a_newer_schema_that_allows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`min_reader` of a migration says how old the code may be (design 6)."""
    path = tmp_path / "sayso.db"
    with monkeypatch.context() as newer:
        _with_next(newer, "ALTER TABLE thread ADD COLUMN title TEXT;\n", 1)
        connect(path).close()
    async with opened(SqliteStore(path)) as store:
        await store.claim(a_claim("t", "me"))


def test_old_code_refuses_a_newer_schema_that_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says what to do."""
    path = tmp_path / "sayso.db"
    newest = MIGRATIONS[-1].version + 1
    with monkeypatch.context() as newer:
        _with_next(newer, "ALTER TABLE thread ADD COLUMN title TEXT;\n", newest)
        connect(path).close()
    with pytest.raises(StoreUnavailable, match=rf"sayso\.db.*schema {newest}.*upgrade sayso"):
        connect(path)


TRIGGERS = {"open_audit", "close_audit"}
PLANNED = {name: sql for name, sql in queries("sqlite").items() if name not in TRIGGERS}
"""The statements that have a plan; the others drop triggers, and make them."""
ALLOWED: dict[str, tuple[str, ...]] = {
    "known_marks": ("SCAN CONSTANT ROW",),
    # Of all scopes at once, for `sayso rekey` alone: tokens of services are few.
    "all_service_tokens": ("SCAN service_token",),
    # From scope to scope along the index, and no further than its limit.
    "count_all_open": ("CONSTANT ROW", "USING INDEX interrupt_open", "counted", "asking", "lowest"),
}


def plan_of(db: sqlite3.Connection, sql: Statement) -> list[str]:
    values = (0,) * len(sql.names)
    return [step for *_, step in db.execute(f"EXPLAIN QUERY PLAN {sql.text}", values)]


@pytest.mark.parametrize(("name", "sql"), PLANNED.items(), ids=PLANNED)
def test_no_statement_walks_through_a_whole_table(
    name: str, sql: Statement, tmp_path: Path
) -> None:
    """Costs grow with what a turn has recorded, not with what the store holds (design 3)."""
    db = connect(tmp_path / "sayso.db")
    plan = plan_of(db, sql)
    db.close()
    scans = [step for step in plan if step.startswith("SCAN")]
    # Partial indexes are walked from the oldest, one row of parameters is no table.
    bad = [s for s in scans if not any(word in s for word in ALLOWED.get(name, ()))]
    assert not bad, plan


def test_no_walk_sorts_what_it_meets(tmp_path: Path) -> None:
    """A page comes out of its index in order; only what one thread has is sorted (design 6)."""
    db = connect(tmp_path / "sayso.db")
    ordered = {n: q for n, q in queries("sqlite").items() if n.startswith("walk_")}
    ordered["due_threads"] = queries("sqlite")["due_threads"]
    sorting = {
        name for name, sql in ordered.items() if any("B-TREE" in s for s in plan_of(db, sql))
    }
    db.close()
    assert sorting == {"walk_of_thread", "walk_runs"}


def test_who_is_due_is_found_between_two_moments(tmp_path: Path) -> None:
    """Each reason has its own index, entered behind the page before and left at now."""
    db = connect(tmp_path / "sayso.db")
    searches = [s for s in plan_of(db, queries("sqlite")["due_threads"]) if s.startswith("SEARCH")]
    db.close()
    assert searches == [
        "SEARCH thread USING INDEX thread_held (lease_until>? AND lease_until<?)",
        "SEARCH thread USING INDEX thread_waking (<expr>>? AND <expr><?)",
        "SEARCH thread USING INDEX thread_ready (ready_at>?)",
    ]


@pytest.mark.parametrize("name", ["threads", "store"])
def test_a_file_of_before_the_first_release_is_refused_and_left_alone(
    tmp_path: Path, name: str
) -> None:
    """Its layout is another; it says so, and is never misread."""
    path = tmp_path / "sayso.db"
    connect(path).close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE sayso_schema SET name = ?", (name,))
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match=r"sayso\.db' was made by a sayso of"):
        connect(path)
    assert path.read_bytes() == before
