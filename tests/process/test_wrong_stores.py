"""`sayso serve` on a store that cannot be: one line that says what to do, and exit code 2."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.process.conftest import Sayso, Told
from tests.stores.redis_servers import redis_url
from tests.stores.servers import PASSWORD, database

AGENTS = """
from sayso import Sayso, ServerOptions

app = Sayso(store="memory:", server=ServerOptions(console=False))
"""


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an app that has nothing to do."""
    (tmp_path / "storeless.py").write_text(AGENTS)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def refused(told: Told, remedy: str) -> None:
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("sayso: ")
    assert told.err.count("\n") == 1
    assert remedy in told.err
    assert PASSWORD not in told.err
    assert "falsch" not in told.err


FILES = {
    "sqlite:///missing/kept.db": "there is no folder",
    "sqlite:///folder": "is a folder; name a file in it",
    "sqlite:///notes.txt": "is not an SQLite database",
    "sqlite:///shop.db": "belongs to another program",
    "sqlite://kept.db": "write sqlite:///kept.db",
    "'sqlite:///kept.db'": "quotes",
    "sqlite:///kept.db ": "blanks or a line end",
}


@pytest.mark.parametrize("url", FILES)
def test_a_file_that_cannot_be_the_store_is_named_with_the_remedy(
    sayso: Sayso, agents: Path, url: str
) -> None:
    """A missing folder, a folder, another file, another program's; slashes, quotes, blanks."""
    (agents / "folder").mkdir()
    (agents / "notes.txt").write_text("my notes " * 400)
    with closing(sqlite3.connect(agents / "shop.db")) as db:
        db.execute("CREATE TABLE thread (colour TEXT)")
    refused(sayso("serve", "storeless:app", "--port", "0", "--store", url), FILES[url])
    assert (agents / "notes.txt").read_text() == "my notes " * 400


DATABASES = {
    "the password": (PASSWORD, "falsch", "refuses the password"),
    "the user": ("sayso:", "nobody:", "refuses the password"),
    "the database": ("/t", "/missing", "has no such database"),
    "an encoded name": ("/t", "/%74%20", "has no such database"),
    "the port": (r":\d+/", ":1/", "see that it runs and that host and port"),
    "the host": ("127.0.0.1", "nowhere.invalid", "cannot be reached"),
    "the scheme": ("postgresql:", "postgresql+asyncpg:", "write postgresql: instead"),
    "a blank": ("postgresql:", " postgresql:", "blanks or a line end"),
}


@pytest.mark.parametrize("what", DATABASES)
def test_a_server_that_is_not_there_or_says_no_is_told_with_the_remedy(
    sayso: Sayso, agents: Path, what: str
) -> None:
    """PostgreSQL with one part of its URL wrong; the password is never repeated."""
    right, wrong, remedy = DATABASES[what]
    url = re.sub(right, wrong, database(agents), count=1)
    refused(sayso("serve", "storeless:app", "--port", "0", "--store", url), remedy)


@pytest.mark.parametrize(
    ("right", "wrong", "remedy"),
    [(PASSWORD, "falsch", "password"), (r":\d+/", ":1/", "port")],
)
def test_a_redis_that_is_not_there_or_says_no_is_told_with_the_remedy(
    sayso: Sayso, agents: Path, right: str, wrong: str, remedy: str
) -> None:
    """Redis with one part of its URL wrong."""
    url = re.sub(right, wrong, redis_url(agents), count=1)
    refused(sayso("serve", "storeless:app", "--port", "0", "--store", url), remedy)
