"""Notifications between processes: sent, received, and a connection that breaks (design 6)."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
import redis

from sayso.base.records import Commit
from sayso.stores import open_store
from sayso.stores.base import Store
from sayso.stores.notification_messages import MAX_QUEUED, from_message, to_messages
from sayso.stores.postgres.notifications import PostgresNotifications
from sayso.stores.redis.store import RedisStore
from tests.contract.server import eventually
from tests.patience import PATIENCE
from tests.stores.backends import opened
from tests.stores.processes import SCOPE, a_claim, a_step
from tests.stores.proxy import Proxy, proxied
from tests.stores.redis_servers import redis_database
from tests.stores.servers import database

Heard = tuple[str | None, str | None]


def store_at(url: str) -> Store:
    """A store on that database."""
    return RedisStore(url, relaxed=True) if url.startswith("redis") else open_store(url)


class Ears:
    """A store that hears, and what it has heard."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.heard: list[Heard] = []
        self._came = asyncio.Event()
        store.subscribe(self._hear)

    def _hear(self, scope: str | None, thread_id: str | None) -> None:
        self.heard.append((scope, thread_id))
        self._came.set()

    async def until(self, what: Heard) -> None:
        """Wait until something was heard."""
        async with asyncio.timeout(PATIENCE):
            while what not in self.heard:
                self._came.clear()
                await self._came.wait()

    async def ready(self) -> None:
        """Wait until it hears."""

        async def hears() -> bool:
            return self.store.has_notifications

        await eventually(hears)


@pytest.fixture(params=["postgres", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of the test's own."""
    return database(tmp_path) if request.param == "postgres" else redis_database(tmp_path)


@pytest.fixture
async def ears(url: str) -> AsyncIterator[Ears]:
    """Who hears."""
    store = store_at(url)
    async with opened(store):
        one = Ears(store)
        await one.ready()
        yield one


async def test_what_is_noted_and_let_go_and_stopped_is_told(ears: Ears, url: str) -> None:
    """And nothing else: a step between is nobody's concern."""
    async with opened(store_at(url)) as other:
        lease = await other.claim(a_claim("t", "me"))
        await other.commit(lease, a_step(1))
        await other.request_stop(SCOPE, "t", lease.fence)
        await ears.until((SCOPE, "t"))
        ears.heard.clear()
        await other.commit(lease, replace(Commit(now=2), release=True))
        await ears.until((SCOPE, "t"))
        second = await other.claim(a_claim("u", "me"))
        await other.commit(second, replace(Commit(now=2), release=True))
        await ears.until((SCOPE, "u"))
        assert set(ears.heard) == {(SCOPE, "t"), (SCOPE, "u")}


async def test_what_a_store_does_itself_it_does_not_hear(ears: Ears, url: str) -> None:
    """Its own process knows."""
    lease = await ears.store.claim(a_claim("mine", "me"))
    await ears.store.commit(lease, replace(Commit(now=2), release=True))
    async with opened(store_at(url)) as other:
        theirs = await other.claim(a_claim("theirs", "me"))
        await other.commit(theirs, replace(Commit(now=2), release=True))
        await ears.until((SCOPE, "theirs"))
    assert ears.heard == [(SCOPE, "theirs")]


async def test_a_store_that_closes_tells_first(ears: Ears, url: str) -> None:
    """As a command does, which ends right after its write."""
    async with opened(store_at(url)) as other:
        lease = await other.claim(a_claim("t", "me"))
        await other.commit(lease, replace(Commit(now=2), release=True))
    await ears.until((SCOPE, "t"))


async def test_after_a_lost_connection_everything_is_looked_at(url: str) -> None:
    """It hears again by itself, and says that it may have missed something."""
    with proxied(url) as way:
        store = store_at(way.url)
        async with opened(store), opened(store_at(url)) as other:
            ears = Ears(store)
            await ears.ready()
            await lost(way, ears)
            lease = await other.claim(a_claim("t", "me"))
            await other.commit(lease, replace(Commit(now=2), release=True))
            way.refuse(False)
            await ears.until((None, None))
            await ears.ready()
            second = await other.claim(a_claim("u", "me"))
            await other.commit(second, replace(Commit(now=2), release=True))
            await ears.until((SCOPE, "u"))


async def lost(way: Proxy, ears: Ears) -> None:
    """Cut the way, and wait until it is noticed."""
    way.refuse()
    way.cut()

    async def deaf() -> bool:
        return not ears.store.has_notifications

    await eventually(deaf)


async def test_what_nobody_can_read_may_mean_anything(ears: Ears, url: str) -> None:
    """Of another version, or of another program on that channel."""
    if url.startswith("redis"):
        server = redis.Redis.from_url(url)
        server.publish(f"sayso:{url.rpartition('/')[2]}", "{")
        server.close()
    else:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("NOTIFY sayso, '{'")
    await ears.until((None, None))
    assert ears.store.has_notifications


async def test_what_cannot_be_told_is_not_kept_for_ever() -> None:
    """Of more threads than anybody would look at one by one: that anything may have changed."""
    notifications = PostgresNotifications("postgresql://nobody@127.0.0.1:1/nothing")
    notifications.notify(("s", f"{n}") for n in range(MAX_QUEUED + 1))
    assert to_messages("me", notifications._to_tell) == ["null"]
    await notifications.stop()


def test_many_are_told_in_few_messages_and_a_long_name_as_anything() -> None:
    """PostgreSQL takes no notification of 8,000 bytes."""
    many = [("s", f"thread-{n:05}") for n in range(1_000)]
    odd = ("s", 'a"\0')
    messages = to_messages("me", [*many, ("s", "x" * 8_000), odd])
    assert all(len(message.encode()) < 8_000 for message in messages)
    assert len(messages) < 6
    assert messages.count("null") == 1
    told = [from_message(message.encode()) for message in messages if message != "null"]
    assert {teller for teller, _ in told} == {"me"}
    assert [one for _, changed in told for one in changed or ()] == [*many, odd]
    assert from_message(b"null") == (None, None)
