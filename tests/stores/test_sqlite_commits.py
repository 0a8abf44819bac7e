"""Group commit in the SQLite store (design 6)."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from sayso.base.errors import LeaseLost, StoreUnavailable
from sayso.base.records import Commit, Lease, Renewed
from sayso.stores.sql.session import Transaction
from sayso.stores.sqlite.session import SqliteTransaction
from sayso.stores.sqlite.store import SqliteStore
from tests.patience import PATIENCE
from tests.stores.backends import opened
from tests.stores.processes import SCOPE, a_claim, a_step

T = TypeVar("T")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "sayso.db")
    async with opened(store):
        yield store


async def inside(
    store: SqliteStore, work: Callable[[sqlite3.Connection], T], *, writes: bool = False
) -> T:
    """Run something on the store's own connection."""
    thread = store._thread
    assert thread is not None

    def on_connection(session: Transaction) -> T:
        assert isinstance(session, SqliteTransaction)
        return work(session.db)

    return await thread.run(on_connection, writes=writes)


class Blocked:
    """Keeps the store's thread busy for the length of a block, so that calls pile up."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._reached = threading.Event()
        self._go_on = threading.Event()

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(inside(self._store, self._wait))
        await asyncio.to_thread(self._reached.wait, PATIENCE)

    async def __aexit__(self, *_: object) -> None:
        self._go_on.set()
        await self._task

    def _wait(self, db: sqlite3.Connection) -> None:
        self._reached.set()
        assert self._go_on.wait(PATIENCE)


async def begun(store: SqliteStore, n: int) -> list[Lease]:
    return [await store.claim(a_claim(f"t-{i}", "me")) for i in range(n)]


async def test_a_commit_is_written_through(store: SqliteStore) -> None:
    """A write-ahead log that is synced at every commit: a power cut loses nothing acknowledged."""
    assert await inside(store, lambda db: db.execute("PRAGMA journal_mode").fetchone()) == ("wal",)
    assert await inside(store, lambda db: db.execute("PRAGMA synchronous").fetchone()) == (2,)


async def test_writes_that_pile_up_share_one_transaction(store: SqliteStore) -> None:
    """One BEGIN and one COMMIT for all that came while the thread was busy."""
    leases = await begun(store, 32)
    statements: list[str] = []
    await inside(store, lambda db: db.set_trace_callback(statements.append))
    async with Blocked(store):
        calls = [asyncio.create_task(store.commit(lease, a_step(1))) for lease in leases]
        await asyncio.sleep(0)
        statements.clear()
    assert await asyncio.gather(*calls) == [False] * 32
    await inside(store, lambda db: db.set_trace_callback(None))
    assert statements.count("BEGIN IMMEDIATE") == 1
    assert not any("SAVEPOINT" in statement for statement in statements)


async def test_no_answer_leaves_before_the_commit(store: SqliteStore) -> None:
    """Reads and lost claims wait too: what they saw may be part of the transaction."""
    (lease,) = await begun(store, 1)
    reached, go_on = threading.Event(), threading.Event()

    def wait(db: sqlite3.Connection) -> None:
        reached.set()
        assert go_on.wait(PATIENCE)

    async with Blocked(store):
        first = asyncio.create_task(store.commit(lease, a_step(1)))
        read = asyncio.create_task(store.load(SCOPE, "t-0"))
        last = asyncio.create_task(inside(store, wait))
        await asyncio.sleep(0)
    await asyncio.to_thread(reached.wait, PATIENCE)
    assert not first.done()
    assert not read.done()
    go_on.set()
    await asyncio.gather(first, last)
    view = await read
    assert view is not None
    assert view.thread.state == b"1"


async def test_a_commit_that_fails_fails_all_of_its_batch(store: SqliteStore) -> None:
    """Everybody is told `StoreUnavailable`, nothing was written, the next batch works."""
    leases = await begun(store, 8)

    def forbid(action: int, first: str | None, *_: str | None) -> int:
        denied = action == sqlite3.SQLITE_TRANSACTION and first == "COMMIT"
        return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK

    async with Blocked(store):
        failing = asyncio.create_task(inside(store, lambda db: db.set_authorizer(forbid)))
        await asyncio.sleep(0)
        calls = [asyncio.create_task(store.commit(lease, a_step(1))) for lease in leases]
        await asyncio.sleep(0)
    outcomes = await asyncio.gather(failing, *calls, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoreUnavailable] * 9
    assert len({id(outcome) for outcome in outcomes}) == 9
    await inside(store, lambda db: db.set_authorizer(None))
    for lease in leases:
        view = await store.load(SCOPE, lease.thread_id)
        assert view is not None
        assert view.thread.revision == 1
        await store.commit(lease, a_step(1))


async def test_a_bug_in_one_job_stays_with_that_job(store: SqliteStore) -> None:
    """Its error comes through as it is; its neighbours in the batch are committed."""
    (lease,) = await begun(store, 1)

    def fail(session: Transaction) -> None:
        assert isinstance(session, SqliteTransaction)
        session.db.execute("DELETE FROM thread")
        raise ZeroDivisionError

    thread = store._thread
    assert thread is not None
    async with Blocked(store):
        bad = asyncio.create_task(thread.run(fail, writes=True))
        good = asyncio.create_task(store.commit(lease, a_step(1)))
        await asyncio.sleep(0)
    with pytest.raises(ZeroDivisionError):
        await bad
    await good


async def test_renewing_does_not_wait_for_ever(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that hangs is an error to the thread that keeps the leases, and names the file."""
    leases = await begun(store, 1)
    async with Blocked(store):
        with monkeypatch.context() as impatient:
            impatient.setattr("sayso.stores.sql.store._RENEW_TIMEOUT_S", 0.05)
            with pytest.raises(StoreUnavailable, match=r"sayso\.db.*did not answer within"):
                await asyncio.to_thread(store.renew, leases, 1_000)
    assert await asyncio.to_thread(store.renew, leases, 1_000) == Renewed()


async def test_event_loops_share_a_store(store: SqliteStore) -> None:
    """Each caller is woken in its own loop."""
    leases = await begun(store, 2)

    async def write(lease: Lease) -> None:
        for n in range(20):
            await store.commit(lease, a_step(n))

    other = asyncio.to_thread(asyncio.run, write(leases[1]))
    await asyncio.wait_for(asyncio.gather(write(leases[0]), other), PATIENCE)
    for lease in leases:
        view = await store.load(SCOPE, lease.thread_id)
        assert view is not None
        assert view.thread.revision == 21


async def test_a_loop_that_is_gone_loses_only_its_answer(store: SqliteStore) -> None:
    """The write of a loop that was closed meanwhile is kept, and the store goes on."""
    (lease,) = await begun(store, 1)

    async def call_and_leave() -> None:
        task = asyncio.ensure_future(store.commit(lease, a_step(7)))
        await asyncio.sleep(0)
        task.cancel()

    async with Blocked(store):
        await asyncio.to_thread(asyncio.run, call_and_leave())
    view = await store.load(SCOPE, "t-0")
    assert view is not None
    assert view.thread.state == b"7"


async def test_a_lost_compare_and_set_costs_nobody_else(store: SqliteStore) -> None:
    """Stale and good commits of one batch, in any mixture."""
    leases = await begun(store, 16)
    stale = Lease(scope=SCOPE, thread_id="t-3", holder="me", fence=9)
    async with Blocked(store):
        calls = []
        for lease in leases:
            calls += [
                store.commit(lease, a_step(1)),
                store.commit(stale, Commit(now=1, state=b"9")),
            ]
        done = asyncio.gather(*calls, return_exceptions=True)
        await asyncio.sleep(0)
    outcomes = await done
    assert [type(outcome) for outcome in outcomes] == [bool, LeaseLost] * 16


async def test_a_job_that_fails_after_it_wrote_costs_the_others_of_its_batch_nothing(
    store: SqliteStore,
) -> None:
    """What it wrote is undone; what came before and behind it in the transaction is there, once."""
    first, second = await begun(store, 2)

    def fails(db: sqlite3.Connection) -> None:
        db.execute("UPDATE thread SET owner = 'nobody'")
        raise RuntimeError("half-way")

    def unfit(db: sqlite3.Connection) -> None:
        db.execute("UPDATE thread SET no_such_column = 1")

    async with Blocked(store):
        calls: list[asyncio.Future[object]] = []
        for call in (
            store.commit(first, a_step(1)),
            inside(store, fails, writes=True),
            inside(store, unfit, writes=True),
            store.commit(second, a_step(2)),
        ):
            calls.append(asyncio.ensure_future(call))
            await asyncio.sleep(0)
    done = await asyncio.gather(*calls, return_exceptions=True)
    assert [done[0], done[3]] == [False, False]
    assert isinstance(done[1], RuntimeError)
    assert isinstance(done[2], StoreUnavailable)
    for name, state in (("t-0", b"1"), ("t-1", b"2")):
        view = await store.load(SCOPE, name)
        assert view is not None
        assert (view.thread.owner, view.thread.state) == ("ann", state)
