"""The audit trail in an SQL database: rows are added, and nothing else happens to them."""

import secrets
import shlex
import sqlite3
from pathlib import Path

import psycopg
import pytest
import redis
from psycopg.conninfo import make_conninfo

from sayso.base.errors import StoreUnavailable
from sayso.base.records import Commit
from sayso.stores.base import Store
from sayso.stores.postgres.store import PostgresStore
from sayso.stores.redis.keys import ScopeKeys
from sayso.stores.redis.store import RedisStore
from sayso.stores.sqlite.store import SqliteStore
from tests.stores.backends import opened
from tests.stores.processes import SCOPE, a_claim
from tests.stores.redis_servers import redis_database
from tests.stores.servers import database_to_alter

CHANGES = (
    "UPDATE audit SET owner = 'mallory'",
    "UPDATE audit SET content = NULL, salt = NULL",
    "DELETE FROM audit",
    "INSERT INTO audit SELECT * FROM audit",
)


async def fill(store: Store) -> None:
    """Leave rows of a thread that is gone."""
    lease = await store.claim(a_claim("t", "me"))
    await store.commit(lease, Commit(now=2, release=True))
    view = await store.load(SCOPE, "t")
    assert view is not None
    await store.delete(SCOPE, "t", view.thread.revision, 3, by="ann")


async def trail(store: Store) -> list[str]:
    return [row.digest for row in (await store.audit(SCOPE)).items]


@pytest.mark.parametrize(
    "statement",
    [
        *CHANGES,
        "REPLACE INTO audit SELECT * FROM audit",
        (
            "REPLACE INTO audit (scope, thread_id, owner, number, at, kind, content_digest, digest)"
            " SELECT scope, thread_id, 'x', number, at, kind, 'x', 'x' FROM audit"
        ),
        "UPDATE OR REPLACE audit SET number = 1",
    ],
)
async def test_sqlite_refuses_to_change_a_row(tmp_path: Path, statement: str) -> None:
    """On any connection, until somebody takes the triggers away."""
    async with opened(SqliteStore(tmp_path / "sayso.db")) as store:
        await fill(store)
        before = await trail(store)
        db = sqlite3.connect(tmp_path / "sayso.db")
        with pytest.raises(sqlite3.IntegrityError, match="rows of the audit trail are never"):
            db.execute(statement)
        db.close()
        assert (await trail(store), len(before)) == (before, 1)


@pytest.mark.parametrize(
    "statement",
    [
        *CHANGES[:-1],
        "TRUNCATE audit",
        (
            "INSERT INTO audit SELECT * FROM audit"
            " ON CONFLICT (scope, thread_id, number) DO UPDATE SET owner = 'x'"
        ),
    ],
)
async def test_postgres_refuses_to_change_a_row(tmp_path: Path, statement: str) -> None:
    """Also its own user, until somebody takes the triggers away."""
    url = database_to_alter()
    async with opened(PostgresStore(url)) as store:
        await fill(store)
        before = await trail(store)
        with (
            psycopg.connect(url, options="-csearch_path=sayso", autocommit=True) as db,
            pytest.raises(psycopg.errors.RaiseException, match="rows of the audit trail are"),
        ):
            db.execute(statement.encode())
        assert (await trail(store), len(before)) == (before, 1)


def blocks(language: str) -> list[str]:
    """The blocks of the auditor's page in that language."""
    page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text("utf-8")
    return [part.partition("\n```")[0] for part in page.split(f"```{language}\n")[1:]]


async def test_a_user_of_postgres_with_the_documented_rights_only_adds(tmp_path: Path) -> None:
    """The servers' own, where the schema is another's: not even without the triggers."""
    owner = database_to_alter()
    (grants,) = blocks("sql")
    async with opened(PostgresStore(owner)):
        pass
    with psycopg.connect(owner, autocommit=True) as db:
        name = f"server_{secrets.token_hex(4)}"
        db.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{name}'".encode())
        db.execute(grants.replace("sayso_server", name).encode())
        db.execute(b"DROP TRIGGER audit_never_changes ON sayso.audit")
    url = make_conninfo(owner, user=name, password=name)
    async with opened(PostgresStore(url)) as store:
        await fill(store)
        assert len(await trail(store)) == 1
        with psycopg.connect(url, autocommit=True) as db:
            for statement in CHANGES[:-1]:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    db.execute(statement.replace(" audit", " sayso.audit").encode())
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.execute("UPDATE sayso.person SET name = 'mallory'")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.execute("ALTER TABLE sayso.audit DISABLE TRIGGER ALL")


async def test_a_user_of_redis_needs_the_documented_selector_to_add(tmp_path: Path) -> None:
    """The trail has keys of its own: without the selector, which Redis 6 lacks, none is written."""
    url = redis_database(tmp_path)
    words = shlex.split(blocks("sh")[-1].replace("\\\n", " "))[4:]
    assert words[-2].startswith("(~sayso-audit:* +xadd ")
    name = f"server-{secrets.token_hex(4)}"
    with redis.Redis.from_url(url) as client:
        version = client.info("server")["redis_version"]
        selects = int(version.partition(".")[0]) >= 7
        client.execute_command("ACL", "SETUSER", name, *words[: None if selects else -2])
    own = f"redis://{name}:password@{url.rpartition('@')[2]}"
    async with opened(RedisStore(own, relaxed=True)) as store:
        if not selects:
            with pytest.raises(StoreUnavailable, match="lacks a right"):
                await fill(store)
            return
        await fill(store)
        with redis.Redis.from_url(own) as client:
            for row in ("audit:t", "said:t", "people", "names", "ledger"):
                key = ScopeKeys(SCOPE).trail(row)
                for change in (("DEL", key), ("HSET", key, "1", "x"), ("SET", key, "x")):
                    with pytest.raises(redis.exceptions.NoPermissionError):
                        client.execute_command(*change)
                with pytest.raises(redis.exceptions.ResponseError):
                    client.eval("return redis.call('DEL', KEYS[1])", 1, key)
        assert len(await trail(store)) == 1
