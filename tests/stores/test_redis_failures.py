"""Redis that is not there, says no, or goes away at the worst moment (design 6)."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.asyncio import ConnectionPool

from sayso.base.errors import Conflict, StoreUnavailable
from sayso.base.records import Commit, Entry, PageRequest
from sayso.stores.base import Store
from sayso.stores.redis.keys import LAYOUT, ScopeKeys
from sayso.stores.redis.pipeline import PipelinedConnection
from sayso.stores.redis.store import RedisStore
from tests.patience import PATIENCE
from tests.ports import free_port
from tests.server import until
from tests.stores.backends import opened
from tests.stores.processes import SCOPE, a_claim, a_step
from tests.stores.proxy import Proxy, proxied
from tests.stores.redis_servers import RedisServer, redis_database
from tests.stores.servers import PASSWORD

DURABLE = ("--save", "", "--appendonly", "yes", "--appendfsync", "always")
CLUSTER = ("CLUSTER", "INFO")
CALL = Entry(place="p", kind="call", name="n", fingerprint="f", status="done", data=b"{}")


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database of the test's own."""
    return redis_database(tmp_path)


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    """A way to it that can be cut."""
    with proxied(url) as way:
        yield way


@contextmanager
def a_server(*options: str) -> Iterator[RedisServer]:
    """A server of the test's own."""
    server = RedisServer(*options)
    try:
        yield server
    finally:
        server.remove()


def relaxed(url: str, connections: int = 4, *, pipelined: bool = True) -> RedisStore:
    """A store that takes a server without files."""
    return RedisStore(url, relaxed=True, connections=connections, pipelined=pipelined)


async def revision(store: RedisStore) -> int:
    """The thread's revision."""
    view = await store.load(SCOPE, "t")
    assert view is not None
    return view.thread.revision


async def test_a_connection_that_is_lost_as_it_is_taken_holds_nobody_up(url: str) -> None:
    """Closed behind the client's greeting, before its first use: nobody else tells of it."""
    pool: Any = ConnectionPool.from_url(url)
    made = pool.make_connection()
    await made.connect()
    transport = made._writer.transport
    transport.abort()
    await until_lost(made)
    way = PipelinedConnection(made)
    assert way.lost
    with pytest.raises(redis.ConnectionError):
        await way.send(b"", 1)
    async with asyncio.timeout(PATIENCE):
        await way.end()


async def until_lost(made: Any) -> None:
    """Until the loop has told who had the connection that it is gone."""
    with suppress(OSError):
        await made._writer.wait_closed()


@pytest.mark.parametrize("pipelined", [True, False])
async def test_a_step_whose_answer_was_lost_is_done_once(proxy: Proxy, pipelined: bool) -> None:
    """Nobody is told that a write failed which did not; sent again, it is not done again."""
    async with opened(relaxed(proxy.url, pipelined=pipelined)) as store:
        assert isinstance(store, RedisStore)
        lease = await store.claim(a_claim("t", "me"))
        for n in range(1, 4):
            proxy.lose_the_answer()
            assert await store.commit(lease, a_step(n)) is False
            assert await revision(store) == n + 1
        assert len(await store.journal(SCOPE, "turn_t_0")) == 3


async def test_a_step_that_is_sent_again_after_very_long_is_done_once(
    url: str, proxy: Proxy
) -> None:
    """As by a process that was stopped until its outcome is forgotten: one row more, not two."""
    async with opened(relaxed(proxy.url, connections=1)) as store:
        lease = await store.claim(a_claim("t", "me"))
        await store.commit(lease, Commit(now=2, entries=(CALL,)))
        await told(store)
        proxy.lose_the_answer()
        proxy.refuse()
        step = asyncio.ensure_future(
            store.commit(lease, Commit(now=2, entries=(replace(CALL, place="q"),)))
        )
        thread = ScopeKeys(SCOPE).thread("t").of("thread")
        with redis.Redis.from_url(url) as client:

            def written() -> bool:
                return bool(client.hget(thread, "revision") == b"3")

            await asyncio.to_thread(until, "the step is done", written)
            client.delete(*client.scan_iter("sayso:*:step:*"))
        proxy.refuse(False)
        assert await step is False
        rows = (await store.audit(SCOPE, thread_id="t")).items
        assert [row.kind for row in rows] == ["done", "done"]


async def told(store: Store) -> None:
    """Wait until others have been told, so that the next thing sent is the test's own."""
    assert isinstance(store, RedisStore)
    assert store._hints is not None
    if store._hints._telling is not None:
        await store._hints._telling


async def test_a_claim_whose_answer_was_lost_is_the_claimer_s(proxy: Proxy) -> None:
    """It is no conflict with itself."""
    async with opened(relaxed(proxy.url)) as store:
        await store.load(SCOPE, "t")
        task = asyncio.ensure_future(store.claim(a_claim("t", "me")))
        # The answer to what it reads first, and then the answer to what it writes.
        proxy.lose_the_answer()
        lease = await task
        await store.commit(lease, Commit(now=2, release=True))
        await told(store)
        proxy.lose_the_answer()
        again = await store.claim(a_claim("t", "me", 2))
        assert again.fence == lease.fence + 1
        with pytest.raises(Conflict):
            await store.claim(a_claim("t", "other", 2))


async def test_a_step_that_did_not_arrive_is_sent_again(proxy: Proxy) -> None:
    """Once there is a connection."""
    async with opened(relaxed(proxy.url)) as store:
        assert isinstance(store, RedisStore)
        lease = await store.claim(a_claim("t", "me"))
        proxy.lose_the_request()
        assert await store.commit(lease, a_step(1)) is False
        assert await revision(store) == 2


async def test_connections_that_died_of_old_age_are_replaced_unseen(proxy: Proxy) -> None:
    """By a restart of the server, or a firewall that forgets."""
    async with opened(relaxed(proxy.url)) as store:
        assert isinstance(store, RedisStore)
        lease = await store.claim(a_claim("t", "me"))
        assert store.renew([lease], 60_000).lost == ()
        proxy.cut()
        await store.commit(lease, a_step(1))
        proxy.cut()
        assert store.renew([lease], 1_000).lost == ()
        assert await revision(store) == 2


async def test_a_server_that_is_away_is_told_and_found_again(proxy: Proxy) -> None:
    """Calls fail with what to do, half of nothing is done, and it recovers by itself."""
    async with opened(relaxed(proxy.url)) as store:
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


async def test_a_server_that_forgot_the_scripts_gets_them_again(url: str) -> None:
    """As after a restart or a fail-over."""
    async with opened(relaxed(url)) as store:
        lease = await store.claim(a_claim("t", "me"))
        assert store.renew([lease], 60_000).lost == ()
        with redis.Redis.from_url(url) as client:
            client.script_flush()
        await store.commit(lease, a_step(1))
        with redis.Redis.from_url(url) as client:
            client.script_flush()
        assert store.renew([lease], 60_000).lost == ()


async def test_what_is_wrong_with_a_url_is_told_when_it_is_opened(url: str) -> None:
    """Password, user, database, port, socket; the password is never repeated."""
    wrong = {
        url.replace(PASSWORD, "falsch"): "refuses user or password",
        url.replace(f":{PASSWORD}@", f"nobody:{PASSWORD}@"): "refuses user or password",
        url.replace(f":{PASSWORD}@", ""): "wants a password",
        url.rpartition("/")[0] + "/99999": "has no such database",
        f"redis://:{PASSWORD}@127.0.0.1:{free_port()}/0": "cannot be reached",
        "unix:///nowhere/redis.sock": "cannot be reached",
    }
    for bad, remedy in wrong.items():
        with pytest.raises(StoreUnavailable, match=remedy) as told:
            await RedisStore(bad).open()
        assert "falsch" not in str(told.value)
        assert PASSWORD not in str(told.value)


async def test_a_user_without_rights_is_told_which(url: str) -> None:
    """With the line that gives them."""
    name = f"poor{url.rpartition('/')[2]}"
    with redis.Redis.from_url(url) as client:
        client.execute_command("ACL", "SETUSER", name, "on", f">{PASSWORD}", "~other:*", "+@all")
    poor = url.replace("redis://:", f"redis://{name}:")
    with pytest.raises(StoreUnavailable, match=r"lacks a right.*ACL SETUSER sayso") as told:
        await relaxed(poor).open()
    line = str(told.value).partition("ACL SETUSER sayso ")[2].partition(" (")[0]
    with redis.Redis.from_url(url) as client:
        words = [word.strip("'").replace("password", PASSWORD) for word in line.split(" ")]
        client.execute_command("ACL", "SETUSER", name, "reset")
        client.execute_command("ACL", "SETUSER", name, *words)
    async with opened(relaxed(poor)) as store:
        lease = await store.claim(a_claim("t", "me"))
        await store.commit(lease, a_step(1))
        assert store.renew([lease], 1_000).lost == ()


async def test_what_was_acknowledged_outlives_a_crash() -> None:
    """An append-only file that is written before the answer: kill -9 loses nothing."""
    with a_server(*DURABLE) as server:
        async with opened(RedisStore(server.url)) as store:
            assert isinstance(store, RedisStore)
            lease = await store.claim(a_claim("t", "me"))
            for n in range(1, 20):
                await store.commit(lease, a_step(n))
            server.kill()
            with pytest.raises(StoreUnavailable, match="cannot be reached"):
                await store.commit(lease, a_step(20))
            server.start()
            assert await revision(store) == 20
            await store.commit(lease, a_step(20))
            assert store.renew([lease], 60_000).lost == ()
            assert len(await store.journal(SCOPE, "turn_t_0")) == 20


async def test_a_server_that_would_lose_decisions_is_not_served_from(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Eviction, no file, a file that is written later: each with the setting that mends it."""
    with a_server(*DURABLE) as server, server.client() as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        with pytest.raises(StoreUnavailable, match="CONFIG SET maxmemory-policy noeviction"):
            await relaxed(server.url).open()
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("appendfsync", "everysec")
        with pytest.raises(StoreUnavailable, match=r"CONFIG SET appendfsync always.*durability="):
            await RedisStore(server.url).open()
        client.config_set("appendonly", "no")
        with pytest.raises(StoreUnavailable, match=r"CONFIG SET appendonly yes.*durability="):
            await RedisStore(server.url).open()
        with caplog.at_level(logging.WARNING, "sayso.store"):
            async with opened(relaxed(server.url)):
                pass
        assert "a restart loses decisions" in caplog.text
        client.config_set("appendonly", "yes")
        client.config_set("appendfsync", "always")
        caplog.clear()
        async with opened(RedisStore(server.url)):
            pass
        assert caplog.text == ""


async def test_a_server_without_memory_refuses_whole_steps() -> None:
    """Nothing of a step is kept; what frees memory is done; it goes on when there is some."""
    with a_server("--save", "", "--appendonly", "no") as server, server.client() as client:
        async with opened(relaxed(server.url)) as store:
            assert isinstance(store, RedisStore)
            lease = await store.claim(a_claim("t", "me"))
            old = await store.claim(a_claim("old", "me"))
            await store.commit(old, Commit(now=2, entries=(CALL,), release=True))
            before = await store.load(SCOPE, "t")
            client.config_set("maxmemory", 1)
            with pytest.raises(StoreUnavailable, match="no memory left; raise maxmemory"):
                await store.commit(lease, a_step(1))
            with pytest.raises(StoreUnavailable, match="no memory left"):
                await store.claim(a_claim("other", "me"))
            assert await store.load(SCOPE, "t") == before
            assert await store.journal(SCOPE, "turn_t_0") == ()
            await store.delete(SCOPE, "old", 2, 3)
            assert await store.load(SCOPE, "old") is None
            client.config_set("maxmemory", 0)
            await store.commit(lease, a_step(1))
            assert await revision(store) == 2


async def test_a_replica_is_not_written_to() -> None:
    """Neither one that is named by mistake, nor a primary that became one."""
    with a_server() as primary, a_server() as other:
        async with opened(relaxed(other.url)) as store:
            assert isinstance(store, RedisStore)
            lease = await store.claim(a_claim("t", "me"))
            with other.client() as client:
                client.config_set("masterauth", PASSWORD)
                client.config_set("replica-serve-stale-data", "yes")
                client.slaveof("127.0.0.1", str(primary.port))
                with pytest.raises(StoreUnavailable, match="read-only replica; name the primary"):
                    await store.commit(lease, a_step(1))
                with pytest.raises(StoreUnavailable, match="read-only replica; name the primary"):
                    await relaxed(other.url).open()
                client.slaveof()
        async with opened(relaxed(primary.url)) as store:
            await store.claim(a_claim("t", "me"))


async def test_a_database_of_a_newer_sayso_is_left_alone(url: str) -> None:
    """It says which layout it found; one that older code can work with is worked with."""
    async with opened(relaxed(url)):
        pass
    with redis.Redis.from_url(url) as client:
        client.set(LAYOUT, "9000 8000")
        with pytest.raises(StoreUnavailable, match="has layout 9000, which needs a newer version"):
            await relaxed(url).open()
        for layout in (1, 2):
            client.set(LAYOUT, f"{layout} {layout}")
            refused = f"has layout {layout}, of a sayso of before the first"
            with pytest.raises(StoreUnavailable, match=refused):
                await relaxed(url).open()
        client.set(LAYOUT, "9000 3")
    async with opened(relaxed(url)) as older:
        lease = await older.claim(a_claim("t", "me"))
        await older.commit(lease, a_step(1))


async def test_threads_come_back_above_the_deleted_whoever_races(url: str) -> None:
    """Two processes delete and create one thread in turn: fences and revisions only grow."""
    async with opened(relaxed(url)) as one, opened(relaxed(url)) as two:
        fence = known = 0
        for n in range(20):
            maker, other = (one, two) if n % 2 else (two, one)
            lease = await maker.claim(a_claim("t", f"holder-{n}"))
            assert lease.fence > fence
            await maker.commit(lease, replace(Commit(now=n), release=True))
            view = await other.load(SCOPE, "t")
            assert view is not None
            assert view.thread.revision > known
            fence, known = lease.fence, view.thread.revision
            await other.delete(SCOPE, "t", known, n)


async def test_of_many_that_claim_at_once_one_wins(url: str) -> None:
    """Two processes, on the server's own clock."""
    async with opened(relaxed(url)) as one, opened(relaxed(url)) as two:
        for n in range(10):
            claims = [s.claim(a_claim(f"t-{n}", f"h-{i}")) for i in range(4) for s in (one, two)]
            outcomes = await asyncio.gather(*claims, return_exceptions=True)
            assert sum(isinstance(o, Conflict) for o in outcomes) == 7


async def test_keys_of_a_scope_share_their_slot() -> None:
    """A cluster whose node has all keys takes every script; a scope may have any name."""
    with a_server("--save", "", "--appendonly", "no", "--cluster-enabled", "yes") as server:
        with server.client() as client:
            client.execute_command("CLUSTER", "ADDSLOTS", *range(16_384))
            server.wait_for(lambda: b"cluster_state:ok" in client.execute_command(*CLUSTER))
            for scope in ("tenant", "", "}{", "a:b", "ümlaut", "%"):
                keys = ScopeKeys(scope)
                thread = keys.thread("t}{:x")
                slots = {
                    client.execute_command("CLUSTER", "KEYSLOT", name)
                    for name in (keys.of("open"), keys.one("open", "}{"), thread.of("runs"))
                }
                assert len(slots) == 1
        async with opened(relaxed(server.url)) as store:
            for scope in ("tenant", "", "}{"):
                lease = await store.claim(replace(a_claim("t", "me"), scope=scope))
                await store.commit(lease, replace(a_step(1), release=True))
                assert len((await store.threads(scope)).items) == 1
                await store.delete(scope, "t", 2, 3)
            assert (await store.due_threads(10**15, PageRequest(limit=10))).items == ()
