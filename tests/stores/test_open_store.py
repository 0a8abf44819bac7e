"""Store URLs, right and wrong (design 9)."""

import sys
from pathlib import Path

import pytest

from sayso.base.errors import DeclarationError
from sayso.stores import open_store
from sayso.stores.postgres.store import PostgresStore
from sayso.stores.redis.store import RedisStore
from sayso.stores.sqlite.memory import MemoryStore
from sayso.stores.sqlite.store import SqliteStore
from sayso.testing import FakeClock
from tests.stores.backends import opened
from tests.stores.processes import SCOPE, a_claim


@pytest.mark.parametrize("url", ["memory:", "memory://", "memory:///", "MEMORY:"])
def test_memory_is_a_url(url: str) -> None:
    """With or without slashes."""
    assert isinstance(open_store(url), MemoryStore)


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:///rel.db", "rel.db"),
        ("sqlite:///sub/rel.db", "sub/rel.db"),
        ("sqlite:///./rel.db", "rel.db"),
        ("sqlite:///my notes #1 100%.db", "my notes #1 100%.db"),
        ("SQLite:///rel.db", "rel.db"),
        ("sqlite+aiosqlite:///rel.db", None),
    ],
)
def test_three_slashes_are_a_path_from_here(
    url: str, file: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative to the working directory; nothing in the path is decoded."""
    monkeypatch.chdir(tmp_path)
    if file is None:
        with pytest.raises(DeclarationError, match="write sqlite: instead of"):
            open_store(url)
        return
    store = open_store(url)
    assert isinstance(store, SqliteStore)
    assert store._path == tmp_path / file


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "PostgreSQL"])
def test_what_libpq_takes_is_a_url(scheme: str) -> None:
    """Nothing is connected yet; its short name is one, too."""
    store = open_store(f"{scheme}://u:p%40ss@db.example:5433/sayso?sslmode=verify-full")
    assert isinstance(store, PostgresStore)


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("redis://h", "redis://h"),
        ("redis://u:p%40ss@h:6380/3", "redis://u:p%40ss@h:6380/3"),
        ("REDIS://:p@h/0?durability=strict", "redis://:p@h/0"),
        ("valkey://h/1", "redis://h/1"),
        ("rediss://h/1?ssl_cert_reqs=none", "rediss://h/1?ssl_cert_reqs=none"),
        ("unix:///run/redis.sock?db=2", "unix:///run/redis.sock?db=2"),
    ],
)
def test_redis_and_valkey_are_urls(url: str, taken: str) -> None:
    """By TCP, TLS or a socket; nothing is connected yet."""
    store = open_store(url)
    assert isinstance(store, RedisStore)
    assert (store._url, store._relaxed) == (taken, False)
    relaxed = open_store(f"{url.partition('?')[0]}?durability=relaxed")
    assert isinstance(relaxed, RedisStore)
    assert relaxed._relaxed


@pytest.mark.parametrize("kind", ["postgres", "redis"])
def test_a_driver_that_is_missing_is_named(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that brings it."""
    monkeypatch.setitem(sys.modules, f"sayso.stores.{kind}.store", None)
    package = {"postgres": r"psycopg\[binary\]", "redis": r"redis\[hiredis\]"}[kind]
    with pytest.raises(DeclarationError, match=rf"pip install '{package}'"):
        open_store(f"{kind}://u@h/0")


def test_four_slashes_are_an_absolute_path(tmp_path: Path) -> None:
    """The fourth belongs to the path."""
    store = open_store(f"sqlite:///{tmp_path}/abs.db")
    assert isinstance(store, SqliteStore)
    assert store._path == tmp_path / "abs.db"


@pytest.mark.parametrize("url", ["memory:", "sqlite:///{}/sayso.db"])
async def test_the_clock_goes_to_the_store(url: str, tmp_path: Path) -> None:
    """Leases run out on it."""
    clock = FakeClock(now=5_000)
    async with opened(open_store(url.format(tmp_path), clock=clock)) as store:
        await store.claim(a_claim("t", "me"))
        view = await store.load(SCOPE, "t")
        assert view is not None
        assert view.thread.lease_until == 65_000


WRONG = {
    "": "a store needs a URL; write one of memory:",
    "   ": "a store needs a URL",
    " sqlite:///a.db": "blanks or a line end",
    "sqlite:///a.db\n": "blanks or a line end",
    "'sqlite:///a.db'": "quotes around it; remove them",
    '"postgresql://u:secret@h/db"': "quotes around it; remove them",
    "memory": "no scheme",
    "memory:cache": "takes no name",
    "memory://?x=1": "takes no name and no options",
    ":memory:": "no scheme",
    "sqlite": "no scheme",
    "sqlite:": "names no file",
    "sqlite://": "names no file",
    "sqlite:///": "names no file",
    "sqlite:////": "names no file",
    "sqlite://rel.db": "write sqlite:///rel.db",
    "sqlite:rel.db": "write sqlite:///rel.db",
    "sqlite:/abs.db": "write sqlite:////abs.db",
    "sqlite:///:memory:": "write memory:",
    "sqlite://:memory:": "write memory:",
    "sqlite::memory:": "write memory:",
    "sqlite3:///rel.db": "write sqlite: instead of sqlite3:",
    "sqlite:///~/a.db": "~ is not expanded",
    "sqlite:///data/": "names a folder",
    "sqlite:///..": "names a folder",
    "sqlite:///a.db?mode=ro": "takes no options",
    "sqlite:///a\0.db": "NUL",
    "file:a.db": "write one of memory:",
    "a.db": "no scheme",
    "/data/a.db": "no scheme",
    "C:\\data\\a.db": "no scheme",
    "postgresql+asyncpg://u:secret@h/db": "write postgresql: instead of postgresql+asyncpg:",
    "postgresql:u:secret@h/db": "write two slashes",
    "postgresql:/u:secret@h/db": "write two slashes",
    "postgresql://u:secret@h": "names no database",
    "postgresql://u:secret@h/": "names no database",
    "postgresql://u:secret@[::1/db": "cannot be read",
    "postgresql://u:secret%zz@h/db": "cannot be read",
    "postgresql://u:secret@h/db?pool_size=5": "cannot be read",
    "postgresql://u:secret@h/d\0b": "NUL",
    "redis:secret@h": "write two slashes",
    "redis:/:secret@h": "write two slashes",
    "redis://": "names no host",
    "redis:///0": "names no host",
    "redis://:secret@": "names no host",
    "redis://:secret@[::1/0": "cannot be read",
    "redis://:secret@h:port/0": "cannot be read",
    "redis://:sec/ret@h:6379/0": "percent-encode",
    "redis://:secret@h:6379/main": "databases of Redis have numbers",
    "redis://:secret@h:6379/0/1": "databases of Redis have numbers",
    "redis://:secret@h/0?db=1": "it takes durability",
    "redis://:secret@h/0?durability=none": "is strict or relaxed",
    "redis://:secret@h/0?checkpoints=yes": "is hidden or shown",
    "redis://:secret@h/0?relaxed": "options cannot be read",
    "redis://:secret@h/0#1": "has a '#' in it",
    "redis://:secret@h/\0": "NUL",
    "redis+sentinel://:secret@h/0": "write redis: instead of redis+sentinel:",
    "unix://redis.sock": "by its absolute path",
    "unix:///run/redis/": "by its absolute path",
    "mysql://u:secret@h/db": "there is no store for mysql:",
}


@pytest.mark.parametrize(("url", "remedy"), WRONG.items(), ids=repr)
def test_a_wrong_url_is_told_the_right_one(url: str, remedy: str) -> None:
    """In every way in which people get them wrong; a password is never repeated."""
    with pytest.raises(DeclarationError) as caught:
        open_store(url)
    assert remedy in str(caught.value)
    assert "secret" not in str(caught.value)


def test_an_unset_url_is_told_as_an_empty_one() -> None:
    """As an environment variable that is not there."""
    with pytest.raises(DeclarationError, match="a store needs a URL"):
        open_store(None)  # type: ignore[arg-type]
