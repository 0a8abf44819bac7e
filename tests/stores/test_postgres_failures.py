"""PostgreSQL that is not there, says no, or goes away at the worst moment (design 6)."""

import asyncio
import re
import threading
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest

from sayso.base.errors import StoreUnavailable
from sayso.base.records import Commit
from sayso.stores.postgres import server
from sayso.stores.postgres.store import PostgresStore
from sayso.stores.sql.ops import commit
from sayso.stores.sql.session import Transaction
from tests.patience import PATIENCE
from tests.stores.backends import opened
from tests.stores.processes import SCOPE, a_claim, a_step
from tests.stores.proxy import Proxy, proxied
from tests.stores.servers import PASSWORD, database_to_alter


@pytest.fixture
def url() -> str:
    """A database of the test's own."""
    return database_to_alter()


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    """A way to it that can be cut."""
    with proxied(url) as way:
        yield way


async def written(store: PostgresStore) -> int:
    """How many entries the journal has."""
    return len(await store.journal(SCOPE, "turn_t"))


@pytest.mark.parametrize("pipelined", [True, False])
async def test_a_commit_whose_answer_was_lost_is_known_to_have_happened(
    proxy: Proxy, pipelined: bool
) -> None:
    """Nobody is told that a write failed which did not."""
    store = PostgresStore(proxy.url, connections=1, pipelined=pipelined)
    async with opened(store):
        lease = await store.claim(a_claim("t", "me"))

        def work(session: Transaction) -> str:
            commit(session, lease, a_step(1))
            session.one("known_marks", {"scope": SCOPE})
            proxy.lose_the_answer()
            return "done"

        assert await store._opened().run(work, writes=True) == "done"
        view = await store.load(SCOPE, "t")
        assert view is not None
        assert view.thread.revision == 2


async def test_a_commit_that_did_not_arrive_is_known_not_to_have_happened(proxy: Proxy) -> None:
    """It changed nothing, and can be tried again."""
    async with opened(PostgresStore(proxy.url, connections=1)) as store:
        assert isinstance(store, PostgresStore)
        lease = await store.claim(a_claim("t", "me"))

        def work(session: Transaction) -> None:
            commit(session, lease, a_step(1))
            session.one("known_marks", {"scope": SCOPE})
            proxy.lose_the_request()

        with pytest.raises(StoreUnavailable, match="cannot be reached, or the connection was lost"):
            await store._opened().run(work, writes=True)
        assert await store.commit(lease, a_step(1)) is False
        view = await store.load(SCOPE, "t")
        assert view is not None
        assert view.thread.revision == 2


async def test_connections_that_died_of_old_age_are_replaced_unseen(proxy: Proxy) -> None:
    """By a restart of the server, or a firewall that forgets."""
    async with opened(PostgresStore(proxy.url)) as store:
        lease = await store.claim(a_claim("t", "me"))
        proxy.cut()
        await store.commit(lease, a_step(1))
        proxy.cut()
        assert store.renew([lease], 1_000).lost == ()
        view = await store.load(SCOPE, "t")
        assert view is not None
        assert view.thread.revision == 2


async def test_a_server_that_is_away_is_told_and_found_again(proxy: Proxy) -> None:
    """Calls fail with what to do, half of nothing is done, and it recovers by itself."""
    async with opened(PostgresStore(proxy.url)) as store:
        lease = await store.claim(a_claim("t", "me"))
        proxy.refuse()
        proxy.cut()
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="see that it runs") as told:
                await store.commit(lease, a_step(1))
            assert PASSWORD not in str(told.value)
        with pytest.raises(StoreUnavailable, match="see that it runs"):
            store.renew([lease], 1_000)
        proxy.refuse(False)
        await store.commit(lease, a_step(1))
        assert store.renew([lease], 1_000).lost == ()


async def test_a_process_that_is_stopped_within_a_transaction_does_not_keep_its_thread(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a lease later the thread can be had; when it wakes, its step begins anew, or is lost."""
    assert int(re.findall(r"idle_in_transaction_session_timeout=(\d+)s", server._SETTINGS)[0]) <= 5
    patient = server._SETTINGS
    quick = re.sub(r"(idle_in_transaction\w+)=5s", r"\1=200ms", patient)
    stopped, awake = threading.Event(), threading.Event()
    async with opened(PostgresStore(url)) as other:
        lease = await other.claim(a_claim("t", "me"))
        monkeypatch.setattr(server, "_SETTINGS", quick)
        async with opened(PostgresStore(url)) as store:
            assert isinstance(store, PostgresStore)

            def work(session: Transaction) -> bool:
                session.one("find_thread", (SCOPE, "t"))
                stopped.set()
                awake.wait(PATIENCE)
                return commit(session, lease, a_step(2))

            step = asyncio.ensure_future(store._opened().run(work, writes=True))
            await asyncio.to_thread(stopped.wait, PATIENCE)
            assert await other.commit(lease, a_step(1)) is False
            monkeypatch.setattr(server, "_SETTINGS", patient)
            awake.set()
            assert await step is False
            assert len(await store.journal(SCOPE, "turn_t_0")) == 2


async def test_what_is_wrong_with_a_url_is_told_when_it_is_opened(url: str) -> None:
    """Password, user, database, port; the password is never repeated."""
    wrong = {
        url.replace(PASSWORD, "falsch"): "refuses the password",
        url.replace("sayso:", "nobody:"): "refuses the password",
        url.rpartition("/")[0] + "/missing": "has no such database",
        "postgresql://sayso:geheim@127.0.0.1:1/x": "cannot be reached",
    }
    for bad, remedy in wrong.items():
        with pytest.raises(StoreUnavailable, match=remedy) as told:
            await PostgresStore(bad).open()
        assert "falsch" not in str(told.value)
        assert PASSWORD not in str(told.value)


async def test_a_database_that_became_read_only_is_told_and_comes_back(url: str) -> None:
    """As after a fail-over to a replica."""
    name = url.rpartition("/")[2]
    async with opened(PostgresStore(url)) as store:
        lease = await store.claim(a_claim("t", "me"))
        with psycopg.connect(url, autocommit=True) as db:
            alter = f'ALTER DATABASE "{name}" SET default_transaction_read_only = '
            db.execute(f"{alter} on".encode())
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
            db.execute(f"{others} AND pid <> pg_backend_pid()".encode(), (name,))
        with pytest.raises(StoreUnavailable, match="is read-only; name the primary"):
            await store.commit(lease, a_step(1))
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("SET default_transaction_read_only = off")
            db.execute(f"{alter} off".encode())
        await store.commit(lease, a_step(1))


async def test_a_database_of_a_newer_sayso_is_left_alone(url: str) -> None:
    """It says which schema it found."""
    async with opened(PostgresStore(url)):
        pass
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("INSERT INTO sayso.sayso_schema VALUES (9000, 'future', 8000, 0)")
    with pytest.raises(StoreUnavailable, match="has schema 9000, which needs a newer version"):
        await PostgresStore(url).open()


async def test_an_additive_schema_of_a_newer_sayso_is_worked_with(url: str) -> None:
    """Rolling upgrades: the older code goes on beside the newer one."""
    async with opened(PostgresStore(url)) as older:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("ALTER TABLE sayso.thread ADD COLUMN later text")
            db.execute("INSERT INTO sayso.sayso_schema VALUES (9000, 'future', 1, 0)")
        lease = await older.claim(a_claim("t", "me"))
        await older.commit(lease, a_step(1))
    async with opened(PostgresStore(url)) as newer:
        assert await newer.load(SCOPE, "t") is not None


async def test_a_user_without_rights_is_told_which(url: str) -> None:
    """The schema is made once, by whoever may."""
    name = url.rpartition("/")[2]
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("DROP SCHEMA sayso CASCADE")
        db.execute(f"CREATE ROLE \"{name}\" LOGIN PASSWORD '{PASSWORD}'".encode())
    poor = url.replace("sayso:", f"{name}:")
    with pytest.raises(StoreUnavailable, match="lacks a right; let the user create a schema"):
        await PostgresStore(poor).open()


async def test_threads_come_back_above_the_deleted_whoever_races(url: str) -> None:
    """Two processes delete and create one thread in turn: fences and revisions only grow."""
    async with opened(PostgresStore(url)) as one, opened(PostgresStore(url)) as two:
        fence = revision = 0
        for n in range(20):
            maker, other = (one, two) if n % 2 else (two, one)
            lease = await maker.claim(a_claim("t", f"holder-{n}"))
            assert lease.fence > fence
            await maker.commit(lease, replace(Commit(now=n), release=True))
            view = await other.load(SCOPE, "t")
            assert view is not None
            assert view.thread.revision > revision
            fence, revision = lease.fence, view.thread.revision
            await other.delete(SCOPE, "t", revision, n)
