"""What can be wrong with a database file: the error names it and the remedy, and goes away."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from sayso.base.clock import SystemClock
from sayso.base.errors import StoreUnavailable
from sayso.base.records import Commit, Update
from sayso.stores.sql.session import Transaction
from sayso.stores.sqlite import database
from sayso.stores.sqlite.session import SqliteTransaction
from sayso.stores.sqlite.store import SqliteStore
from sayso.testing.store_suite._make import SCOPE as SUITE
from sayso.testing.store_suite._make import THREAD, ask, question
from tests.patience import PATIENCE
from tests.stores.backends import opened
from tests.stores.processes import SCOPE, a_claim, a_step

T = TypeVar("T")


async def inside(store: SqliteStore, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run something on the store's own connection."""
    thread = store._thread
    assert thread is not None

    def on_connection(session: Transaction) -> T:
        assert isinstance(session, SqliteTransaction)
        return work(session.db)

    return await thread.run(on_connection, writes=False)


async def assert_works(store: SqliteStore, path: Path) -> None:
    """The same store object opens once the cause is gone."""
    async with opened(store):
        await store.claim(a_claim("t", "me"))
    assert path.name in os.listdir(path.parent)


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """It is not created: a typing error would make an empty database somewhere else."""
    path = tmp_path / "missing" / "sayso.db"
    store = SqliteStore(path)
    with pytest.raises(StoreUnavailable, match=r"sayso\.db.*no folder '.*missing'; create it"):
        await store.open()
    path.parent.mkdir()
    await assert_works(store, path)


async def test_a_folder_is_no_database(tmp_path: Path) -> None:
    """Naming the data folder instead of a file in it."""
    path = tmp_path / "data"
    path.mkdir()
    store = SqliteStore(path)
    with pytest.raises(StoreUnavailable, match=r"data' is a folder; name a file in it"):
        await store.open()
    path.rmdir()
    await assert_works(store, path)


async def test_a_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    """Not a byte of it changes."""
    path = tmp_path / "notes.txt"
    path.write_text("Buy milk. " * 500)
    store = SqliteStore(path)
    with pytest.raises(StoreUnavailable, match=r"notes\.txt' is not an SQLite database"):
        await store.open()
    assert path.read_text() == "Buy milk. " * 500
    path.unlink()
    await assert_works(store, path)


async def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    """Ours would not mix with its tables, and it keeps even its journal mode."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE thread (colour TEXT)")
    db.close()
    before = path.read_bytes()
    store = SqliteStore(path)
    with pytest.raises(StoreUnavailable, match=r"shop\.db' belongs to another program"):
        await store.open()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["shop.db"]
    path.unlink()
    await assert_works(store, path)


async def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    """As `touch` or a mounted volume leaves it."""
    path = tmp_path / "sayso.db"
    path.touch()
    await assert_works(SqliteStore(path), path)


async def test_a_full_disk_fails_what_does_not_fit(tmp_path: Path) -> None:
    """The error says so, nothing of the step is kept, and the store goes on when there is room."""
    async with opened(store := SqliteStore(tmp_path / "sayso.db")):
        lease = await store.claim(a_claim("t", "me"))
        (pages,) = await inside(store, lambda db: db.execute("PRAGMA page_count").fetchone())
        limit = f"PRAGMA max_page_count = {pages + 5}"
        await inside(store, lambda db: db.execute(limit).fetchone())
        big = Commit(now=1, state=b"x" * 1_000_000, entries=a_step(1).entries)
        with pytest.raises(StoreUnavailable, match=r"sayso\.db' cannot grow.*free some space"):
            await store.commit(lease, big)
        view = await store.load(SCOPE, "t")
        assert view is not None
        assert (view.thread.revision, view.thread.state) == (1, b"{}")
        assert await store.journal(SCOPE, "turn_t_0") == ()
        await store.commit(lease, Commit(now=1, state=b"1"))
        await inside(store, lambda db: db.execute("PRAGMA max_page_count = 100000").fetchone())
        await store.commit(lease, big)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks are waited for a moment only."""
    monkeypatch.setattr(database, "_SLICE", 0.02)
    monkeypatch.setattr(database, "_LOCK_TIMEOUT_S", 0.05)


@pytest.mark.usefixtures("impatient")
async def test_a_locked_file_fails_in_bounded_time(tmp_path: Path) -> None:
    """Writers are told who may hold it, readers go on, and all is well when it is let go."""
    path = tmp_path / "sayso.db"
    async with opened(store := SqliteStore(path)):
        lease = await store.claim(a_claim("t", "me"))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match=r"sayso\.db' is locked by another process"):
            await store.commit(lease, a_step(1))
        view = await store.load(SCOPE, "t")
        assert view is not None
        assert view.thread.revision == 1
        other.execute("ROLLBACK")
        other.close()
        await store.commit(lease, a_step(1))


@pytest.mark.usefixtures("impatient")
async def test_a_file_that_is_locked_at_the_start_can_be_opened_later(tmp_path: Path) -> None:
    """The first opening creates the schema and needs the lock."""
    path = tmp_path / "sayso.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    store = SqliteStore(path)
    with pytest.raises(StoreUnavailable, match="is locked"):
        await store.open()
    other.execute("ROLLBACK")
    other.close()
    await assert_works(store, path)


@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
async def test_a_lock_that_is_let_go_in_time_is_waited_for(
    lock: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a new file is opened and when one is written: nobody sees an error."""
    path = tmp_path / "sayso.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    waits = []

    def let_go(seconds: float) -> None:
        waits.append(seconds)
        other.execute("ROLLBACK")

    monkeypatch.setattr(database, "_SLICE", 0)
    monkeypatch.setattr("sayso.stores.sqlite.database.time.sleep", let_go)
    other.execute(lock)
    async with opened(store := SqliteStore(path)):
        lease = await store.claim(a_claim("t", "me"))
        other.execute("BEGIN IMMEDIATE")
        await store.commit(lease, a_step(1))
    other.close()
    assert len(waits) == 2


async def test_a_damaged_file_is_told_and_can_be_restored(tmp_path: Path) -> None:
    """Pages of rubbish are found when they are read; a restored file is taken up by itself."""
    path = tmp_path / "sayso.db"
    async with opened(store := SqliteStore(path)):
        lease = await store.claim(a_claim("t", "me"))
        for n in range(50):
            await store.commit(lease, a_step(n))
    whole = path.read_bytes()
    async with opened(store := SqliteStore(path)):
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * (len(whole) - 4096))
        with pytest.raises(StoreUnavailable, match=r"sayso\.db' is damaged.*restore"):
            await store.load(SCOPE, "t")
        with path.open("r+b") as file:
            file.write(whole)
        view = await store.load(SCOPE, "t")
        assert view is not None
        assert view.thread.state == b"49"


@pytest.mark.parametrize("replaced", [False, True])
async def test_a_file_that_was_taken_away_takes_no_writes(tmp_path: Path, replaced: bool) -> None:
    """Writing on into a deleted file would acknowledge what nobody will find again."""
    path = tmp_path / "sayso.db"
    async with opened(store := SqliteStore(path)):
        lease = await store.claim(a_claim("t", "me"))
        path.rename(tmp_path / "away.db")
        if replaced:
            path.touch()
        for call in (store.commit(lease, a_step(1)), store.load(SCOPE, "t")):
            with pytest.raises(StoreUnavailable, match=r"sayso\.db' was moved, deleted"):
                await call
        (tmp_path / "away.db").rename(path)
        await store.commit(lease, a_step(1))
    assert await _state(path) == b"1"


async def _state(path: Path) -> bytes | None:
    async with opened(store := SqliteStore(path)):
        view = await store.load(SCOPE, "t")
        return view.thread.state if view else None


async def test_a_backup_of_the_file_opens_as_a_store(tmp_path: Path) -> None:
    """After closing, the one file holds everything; the log beside it is gone."""
    path = tmp_path / "sayso.db"
    async with opened(store := SqliteStore(path)):
        await store.commit(await store.claim(a_claim("t", "me")), a_step(7))
    assert os.listdir(tmp_path) == ["sayso.db"]
    shutil.copy(path, tmp_path / "copy.db")
    assert await _state(tmp_path / "copy.db") == b"7"


async def test_a_relative_path_is_that_of_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changing the working directory later does not change the database."""
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("sayso.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    await assert_works(store, tmp_path / "sayso.db")


def test_a_read_only_file_is_named_with_its_remedy(tmp_path: Path) -> None:
    """Permissions cannot be tested as the superuser, so SQLite's own answer is made up."""
    error = sqlite3.OperationalError("attempt to write a readonly database")
    error.sqlite_errorcode = sqlite3.SQLITE_READONLY_DIRECTORY
    error.sqlite_errorname = "SQLITE_READONLY_DIRECTORY"
    text = database.explain(error, tmp_path / "sayso.db")
    assert "sayso.db' is read-only; give this process the right to write" in text
    assert "SQLITE_READONLY_DIRECTORY" in text


async def test_a_new_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    """With the log beside it, whatever the umask; one that is there is left as it is."""
    path = tmp_path / "private.db"
    store = SqliteStore(path)
    await store.open()
    modes = {name: os.stat(path.with_name(name)).st_mode & 0o777 for name in os.listdir(tmp_path)}
    await store.close()
    assert "private.db-wal" in modes
    assert set(modes.values()) == {0o600}
    path.chmod(0o640)
    await store.open()
    await store.close()
    assert path.stat().st_mode & 0o777 == 0o640


def test_nothing_is_written_beside_the_database(tmp_path: Path) -> None:
    """A server whose only writable folder is its data's takes threads with any number of questions.

    Looked at is the temporary directory of a child: what SQLite puts there it removes at once, but
    its folder has changed by then.
    """
    temporary, data = tmp_path / "temporary", tmp_path / "data"
    temporary.mkdir()
    data.mkdir()
    os.utime(temporary, (0, 0))
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", f"from {__name__} import busy; busy({str(data)!r})"],
        env={**os.environ, "SQLITE_TMPDIR": str(temporary), "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert temporary.stat().st_mtime_ns == 0


def busy(folder: str) -> None:
    """Much in one step, and a step that fails after it has written as much."""
    asyncio.run(_busy(Path(folder)))


async def _busy(folder: Path) -> None:
    store = SqliteStore(folder / "sayso.db", clock=SystemClock())
    async with opened(store):
        asked = tuple(question(f"int_{n}", message="m" * 2_000) for n in range(200))
        await ask(store, *asked)
        later = tuple(replace(one, message="n" * 2_000) for one in asked)
        await store.update_idle(
            Update(scope=SUITE, thread_id=THREAD, revision=2, now=9, interrupts=later)
        )

        def fails(session: Transaction) -> None:
            assert isinstance(session, SqliteTransaction)
            session.db.execute("UPDATE interrupt SET message = 'o' || message")
            raise RuntimeError

        assert store._thread is not None
        for _ in range(2):
            with suppress(RuntimeError):
                await store._thread.run(fails, writes=True)
        await store.delete(SUITE, THREAD, 3, 10)
