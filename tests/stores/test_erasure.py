"""What was deleted leaves the files of a store, not only its lists."""

from pathlib import Path

import psycopg
import pytest

from sayso.base.amendment import Amendment
from sayso.base.fastrecords import copy_with
from sayso.base.records import Commit
from sayso.stores.base import Store
from sayso.stores.postgres.store import PostgresStore
from sayso.stores.redis.store import RedisStore
from sayso.stores.sqlite.store import SqliteStore
from sayso.testing.store_suite._make import agreed, entry, message, question
from tests.contract.dump import dump
from tests.stores.backends import opened
from tests.stores.processes import SCOPE, a_claim
from tests.stores.redis_servers import RedisServer
from tests.stores.servers import database, files_of

NAME = "wilhelmina"


async def filled(store: Store) -> None:
    """Keep threads full of a name between others."""
    for number in range(60):
        marked = number % 3 == 0
        text = (NAME if marked else "somebody") * 40
        lease = await store.claim(a_claim(f"t-{number}", "me"))
        step = Commit(
            now=2,
            messages=(message("m", body=f'{{"content":"{text}"}}'.encode()),),
            entries=(entry("0", data=f'"{text}"'.encode()),),
            interrupts=(question(f"int_{number}", message=text),),
            state=f'{{"text":"{text}"}}'.encode(),
            release=True,
        )
        await store.commit(lease, step)


async def deleted(store: Store) -> None:
    """Delete those that are full of the name, with their contents."""
    for number in range(0, 60, 3):
        thread_id = f"t-{number}"
        view = await store.load(SCOPE, thread_id)
        assert view is not None
        await store.delete(SCOPE, thread_id, view.thread.revision, 3, by="kay")
        await store.erase_trail(SCOPE, thread_id, 2, 4, "kay")


async def forgotten(store: Store) -> None:
    """Keep a person's word in somebody's thread, and take the name away everywhere."""
    lease = await store.claim(copy_with(a_claim("own", "me"), owner=NAME))
    asked = question("int_own", assigned_to=NAME)
    await store.commit(lease, Commit(now=2, interrupts=(asked,), release=True))
    lease = await store.claim(a_claim("other", "me"))
    said = question("int_other", decided_by=NAME, status="resolved", progress=agreed(NAME))
    told = message("m", body=b'{"by":"%s"}' % NAME.encode())
    step = Commit(now=2, interrupts=(said,), messages=(told,), release=True)
    await store.commit(lease, step)
    await store.note(SCOPE, [("exported", {"by": NAME})], 3)
    view = await store.load(SCOPE, "own")
    assert view is not None
    await store.delete(SCOPE, "own", view.thread.revision, 3, by="kay")
    view = await store.load(SCOPE, "other")
    assert view is not None
    amended = copy_with(said, decided_by="p_1", progress=agreed("p_1"))
    await store.amend(
        Amendment(
            scope=SCOPE,
            thread_id="other",
            revision=view.thread.revision,
            now=4,
            interrupts=(amended,),
            messages=(message("m", body=b'{"by":"p_1"}'),),
        )
    )
    await store.erase_person(SCOPE, NAME, 5, "kay")


def holds(folder: Path) -> list[str]:
    """The files that still have the name in any byte."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return [path.name for path in found if NAME.encode() in path.read_bytes()]


async def test_no_file_of_sqlite_has_what_was_deleted(tmp_path: Path) -> None:
    """Neither the database nor its log, while the store is open."""
    async with opened(SqliteStore(tmp_path / "sayso.db")) as store:
        await filled(store)
        await deleted(store)
        await forgotten(store)
        await store.purge_files()
        assert holds(tmp_path) == []
        assert len((await store.threads(SCOPE)).items) == 41


async def test_a_file_that_others_may_read_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A new one is for its owner alone."""
    file = tmp_path / "sayso.db"
    async with opened(SqliteStore(file)):
        assert file.stat().st_mode & 0o777 == 0o600
    async with opened(SqliteStore(file)):
        assert "chmod" not in caplog.text
    file.chmod(0o644)
    async with opened(SqliteStore(file)):
        assert "mode 0644); run chmod 600 on it" in caplog.text


async def test_no_file_of_redis_has_what_was_deleted() -> None:
    """Once its file is written anew, in which deletions were commands behind what they delete."""
    server = RedisServer("--save", "", "--appendonly", "yes", "--appendfsync", "always")
    home = server._home
    try:
        async with opened(RedisStore(server.url)) as store:
            await filled(store)
            await deleted(store)
            await forgotten(store)
            assert holds(home) != []
            await store.purge_files()
            server.wait_for(lambda: holds(home) == [])
            assert len((await store.threads(SCOPE)).items) == 41
    finally:
        server.remove()


async def test_postgresql_keeps_what_was_deleted_until_its_tables_are_written_anew(
    tmp_path: Path,
) -> None:
    """A vacuum alone leaves its bytes, and so do samples of values; its log has it longer still."""
    url = database(tmp_path)
    async with opened(PostgresStore(url)) as store:
        await filled(store)
        vacuumed(url, "ANALYZE")
        await deleted(store)
        await forgotten(store)
        assert len((await store.threads(SCOPE)).items) == 41
    assert NAME not in dump(store, tmp_path)
    vacuumed(url, "VACUUM")
    own, log = files_of(url)
    assert holds(own) != []
    vacuumed(url, "VACUUM FULL")
    assert holds(own) == [samples(url)]
    vacuumed(url, "ANALYZE")
    vacuumed(url, "VACUUM FULL pg_statistic")
    assert holds(own) == []
    assert holds(log) != []


def vacuumed(url: str, statement: str) -> None:
    """Do something to the tables of a database, and have it written."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(statement.encode())
    files_of(url)


def samples(url: str) -> str:
    """The file of the values that PostgreSQL keeps to plan by."""
    with psycopg.connect(url) as db:
        path = db.execute("SELECT pg_relation_filepath('pg_statistic')").fetchall()[0][0]
    return Path(path).name
