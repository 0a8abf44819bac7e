"""Servers whose disk has no room left: steps fail whole, and go on when there is some (design 6).

PostgreSQL's disk is made full by a file that is `/dev/full`, which takes nothing, Redis's by a
limit of the size of its files: neither needs a file system of its own.
"""

import os
import shutil
from pathlib import Path

import psycopg
import pytest
import redis

from sayso.base.errors import StoreUnavailable
from sayso.base.records import Commit
from sayso.stores.postgres.store import PostgresStore
from sayso.stores.redis.store import RedisStore
from tests.stores.backends import opened
from tests.stores.processes import SCOPE, a_claim, a_step
from tests.stores.redis_servers import RedisServer
from tests.stores.servers import database_to_alter

FULL = Path("/dev/full")
OTHERS = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
PLACE = "SELECT current_setting('data_directory') || '/' || pg_relation_filepath(%s)"


def filled(db: psycopg.Connection, table: str) -> tuple[Path, os.stat_result]:
    """The file of an empty table, which cannot grow from now on, and what it was like."""
    found = db.execute(PLACE, (f"sayso.{table}",)).fetchone()
    assert found is not None
    file = Path(found[0])
    was = file.stat()
    assert was.st_size == 0
    file.unlink()
    file.symlink_to(FULL)
    return file, was


def emptied(db: psycopg.Connection, file: Path, was: os.stat_result) -> None:
    """Let it grow again."""
    file.unlink()
    file.touch(was.st_mode & 0o777)
    shutil.chown(file, was.st_uid, was.st_gid)
    db.execute(OTHERS)  # which have the full one open


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full, as Linux has")
@pytest.mark.parametrize("table", ["entry", "message"])
async def test_postgresql_without_space_refuses_whole_steps(tmp_path: Path, table: str) -> None:
    """It says so, whichever table does not grow, and the same store goes on afterwards."""
    url = database_to_alter()
    async with opened(PostgresStore(url)):
        pass
    with psycopg.connect(url, autocommit=True) as db:
        file, owner = filled(db, table)
        async with opened(PostgresStore(url)) as store:
            lease = await store.claim(a_claim("t", "me"))
            before = await store.load(SCOPE, "t")
            for _ in range(2):
                with pytest.raises(StoreUnavailable, match="no space left on its disk; free some"):
                    await store.commit(lease, a_step(1))
            assert await store.load(SCOPE, "t") == before
            await store.commit(lease, Commit(now=2, state=b"small"))
            emptied(db, file, owner)
            await store.commit(lease, a_step(3))
            view = await store.load(SCOPE, "t")
            assert view is not None
            assert (view.thread.revision, view.thread.state) == (3, b"3")
            assert [entry.place for entry in await store.journal(SCOPE, "turn_t_0")] == ["3"]


async def test_redis_without_space_refuses_steps_until_there_is_some() -> None:
    """With `everysec` it keeps what it took, and refuses whole steps from the moment it knows."""
    server = RedisServer("--save", "", "--appendonly", "yes", "--appendfsync", "everysec")
    try:
        async with opened(RedisStore(server.url, relaxed=True)) as store:
            lease = await store.claim(a_claim("t", "me"))
            with server.client() as client:
                server.limit_files(server.appended + 100)
                await store.commit(lease, a_step(1))
                server.wait_for(lambda: writes(client) == "err")
                before = await store.load(SCOPE, "t")
                for _ in range(2):
                    with pytest.raises(StoreUnavailable, match="takes no writes; free some space"):
                        await store.commit(lease, a_step(2))
                with pytest.raises(StoreUnavailable, match="takes no writes; free some space"):
                    await store.claim(a_claim("other", "me"))
                assert await store.load(SCOPE, "t") == before
                assert await store.load(SCOPE, "other") is None
                server.limit_files(None)
                server.wait_for(lambda: writes(client) == "ok")
            await store.commit(lease, a_step(2))
            assert [e.place for e in await store.journal(SCOPE, "turn_t_0")] == ["1", "2"]
    finally:
        server.remove()


def writes(client: redis.Redis) -> str:
    """How the server's newest write to its file went."""
    state: str = client.info("persistence")["aof_last_write_status"]
    return state


async def test_redis_that_ends_for_want_of_space_has_acknowledged_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With `always` it ends itself; started again where there is space it has all it told."""
    server = RedisServer("--save", "", "--appendonly", "yes", "--appendfsync", "always")
    try:
        async with opened(RedisStore(server.url)) as store:
            lease = await store.claim(a_claim("t", "me"))
            await store.commit(lease, a_step(1))
            before = await store.load(SCOPE, "t")
            server.limit_files(server.appended + 100)
            with monkeypatch.context() as impatient:
                impatient.setattr("sayso.stores.redis.client.TIMEOUT_S", 0.2)
                for _ in range(2):
                    with pytest.raises(StoreUnavailable, match="see that it runs"):
                        await store.commit(lease, a_step(2))
            server.wait_for_its_end()
            server.start()
            assert await store.load(SCOPE, "t") == before
            assert [e.place for e in await store.journal(SCOPE, "turn_t_0")] == ["1"]
            await store.commit(lease, a_step(2))
            assert [e.place for e in await store.journal(SCOPE, "turn_t_0")] == ["1", "2"]
    finally:
        server.remove()
