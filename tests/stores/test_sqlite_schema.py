"""The SQLite schema: migrations, versions, and the statements that run on it."""

import hashlib
import re
import sqlite3
from importlib.resources import files
from pathlib import Path

import pytest

from sayso.errors import StoreUnavailable
from sayso.records import Commit, Interrupt
from sayso.stores.sql.queries import Migration, queries
from sayso.stores.sqlite import file
from sayso.stores.sqlite.file import MIGRATIONS, connect
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
    monkeypatch.setattr(file, "MIGRATIONS", (*MIGRATIONS, later))


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


def test_every_statement_is_used_and_every_used_one_exists() -> None:
    """No dead SQL, no name that fails at the first call."""
    folders = files("sayso.stores.sql"), files("sayso.stores.sqlite")
    sources = [f for folder in folders for f in folder.iterdir() if f.is_file()]
    source = "".join(f.read_text("utf-8") for f in sources)
    named = set(re.findall(r'db\.(?:one|all|do|each)\(\s*"(\w+)"', source))
    quoted = set(re.findall(r'"(\w+)"', source))
    assert named <= set(queries("sqlite")) <= named | quoted


ALLOWED: dict[str, tuple[str, ...]] = {
    "known_marks": ("SCAN CONSTANT ROW",),
    # From scope to scope along the index, and no further than its limit.
    "count_open": ("CONSTANT ROW", "USING INDEX interrupt_open", "counted", "asking", "lowest"),
}


class Anything(dict[str, int]):
    """A value for whatever name a statement has for its parameters."""

    def __missing__(self, name: str) -> int:
        return 0


def plan_of(db: sqlite3.Connection, sql: str) -> list[str]:
    values = (0,) * sql.count("?") if "?" in sql else Anything()
    return [step for *_, step in db.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


@pytest.mark.parametrize(("name", "sql"), queries("sqlite").items(), ids=queries("sqlite"))
def test_no_statement_walks_through_a_whole_table(name: str, sql: str, tmp_path: Path) -> None:
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


OLD_QUESTION = """
INSERT INTO interrupt (
    thread, id, turn_key, place, reason, created_at, message, tool_call_id, response_schema,
    metadata, policy, expires_at, status, payload, answer_metadata, decided_by, decided_at,
    channel, run_key
) VALUES (?, ?, 'turn_t_0', '0', 'tool_call', ?, 'Sure?', 'call_1', x'31', x'32', x'33', ?, ?,
    x'34', x'35', 'bob', 8, 'inbox', 'run_2')
ON CONFLICT (thread, id) DO UPDATE SET status = excluded.status
"""


def _asked(name: str, created_at: int, expires_at: int | None, status: str) -> Interrupt:
    return Interrupt(
        id=name,
        turn_key="turn_t_0",
        place="0",
        reason="tool_call",
        created_at=created_at,
        message="Sure?",
        tool_call_id="call_1",
        response_schema=b"1",
        metadata=b"2",
        policy=b"3",
        expires_at=expires_at,
        status=status,  # type: ignore[arg-type]
        payload=b"4",
        answer_metadata=b"5",
        decided_by="bob",
        decided_at=8,
        channel="inbox",
        run_key="run_2",
    )


async def test_what_schema_1_held_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second migration brings owner, agent, order and all members along."""
    path = tmp_path / "sayso.db"
    with monkeypatch.context() as older:
        older.setattr(file, "MIGRATIONS", MIGRATIONS[:1])
        db = connect(path)
    db.execute("BEGIN")
    db.execute(
        "INSERT INTO thread (key, scope, id, owner, agent, revision, fence, created_at,"
        " updated_at, turn, run, expires_at) VALUES (1, ?, 't', 'ann', 'support', 2, 1, 60, 70,"
        " 'turn_t_0', 'run_1', 90)",
        (SCOPE,),
    )
    db.execute(
        "INSERT INTO turn VALUES (5, 1, 'turn_t_0', 'a', '1', 'suspended', 's', 's', '[]', 1, 2)"
    )
    db.execute("INSERT INTO request VALUES (5, 1, 'turn_t_0', x'7b7d')")
    db.execute("INSERT INTO run VALUES (5, 1, 'run_1', 'r', 'turn_t_0', 1, 2, x'7b7d', 1)")
    db.execute(OLD_QUESTION, (1, "int_b", 65, 90, "open"))
    db.execute(OLD_QUESTION, (1, "int_a", 64, None, "resolved"))
    db.execute("COMMIT")
    db.close()
    async with opened(SqliteStore(path)) as store:
        page = await store.interrupts(SCOPE)
        assert [listed.interrupt for listed in page.items] == [
            _asked("int_a", 64, None, "resolved"),
            _asked("int_b", 65, 90, "open"),
        ]
        assert {(i.thread_id, i.owner, i.agent) for i in page.items} == {("t", "ann", "support")}
        view = await store.load(SCOPE, "t")
        assert view is not None
        assert [i.id for i in view.interrupts] == ["int_b", "int_a"]
        assert [due.thread_id for due in (await store.due(100, 10)).items] == ["t"]
        assert [t.active_at for t in (await store.threads(SCOPE)).items] == [70]


async def test_what_older_code_writes_is_listed(tmp_path: Path) -> None:
    """Its statements run on the new schema, beside newer processes (design 6)."""
    path = tmp_path / "sayso.db"
    async with opened(SqliteStore(path)) as store:
        lease = await store.claim(a_claim("t", "me"))
        older = sqlite3.connect(path, isolation_level=None)
        older.execute(OLD_QUESTION, (1, "int_1", 64, None, "open"))
        older.execute(OLD_QUESTION, (1, "int_2", 65, None, "open"))
        older.execute(OLD_QUESTION, (1, "int_2", 65, None, "resolved"))
        older.close()
        page = await store.interrupts(SCOPE, status="open", owner="ann")
        assert [listed.interrupt.id for listed in page.items] == ["int_1"]
        page = await store.interrupts(SCOPE)
        assert [(listed.interrupt.id, listed.agent) for listed in page.items] == [
            ("int_1", "support"),
            ("int_2", "support"),
        ]
        assert await store.commit(lease, Commit(now=1, release=True)) is False
