"""A primary of PostgreSQL that dies, and a standby that takes its place (design 6)."""

import asyncio
from collections.abc import Iterator
from typing import Any

import orjson
import psycopg
import pytest

from sayso import Sayso, ServerOptions, Turn
from sayso.base.errors import StoreUnavailable
from sayso.stores.postgres.pipeline import Pipeline
from sayso.stores.postgres.store import PostgresStore
from sayso.stores.postgres.workers import PostgresTransaction
from sayso.stores.sql.ops import commit
from sayso.stores.sql.session import Transaction
from tests.asgi import JSON, Answer, call
from tests.server import run_input
from tests.stores.backends import opened
from tests.stores.postgres_pair import PostgresServer, a_pair
from tests.stores.processes import SCOPE, a_claim, a_step
from tests.stores.servers import PASSWORD
from tests.stream_checker import events_of

Pair = tuple[PostgresServer, PostgresServer]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A primary with a standby that has everything which the primary acknowledged."""
    with a_pair() as both:
        yield both


def url_of(pair: Pair) -> str:
    """A store's URL that names both, of which the one counts that takes writes."""
    primary, standby = pair
    hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
    return f"postgresql://sayso:{PASSWORD}@{hosts}/postgres?target_session_attrs=read-write"


async def test_a_store_goes_on_where_the_standby_took_over(pair: Pair) -> None:
    """Steps meanwhile fail whole; what was acknowledged is there, and its lease holds."""
    primary, standby = pair
    async with opened(PostgresStore(url_of(pair))) as store:
        lease = await store.claim(a_claim("t", "me"))
        for n in range(1, 6):
            await store.commit(lease, a_step(n))
        before = await store.load(SCOPE, "t")
        primary.kill()
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match=r"cannot be reached|is read-only") as told:
                await store.commit(lease, a_step(6))
            assert PASSWORD not in str(told.value)
        with pytest.raises(StoreUnavailable):
            await store.claim(a_claim("other", "me"))
        with pytest.raises(StoreUnavailable):
            await asyncio.to_thread(store.renew, [lease], 60_000)
        standby.promote()
        assert await store.load(SCOPE, "t") == before
        assert await store.load(SCOPE, "other") is None
        assert len(await store.journal(SCOPE, "turn_t_0")) == 5
        await store.commit(lease, a_step(6))
        renewed = await asyncio.to_thread(store.renew, [lease], 60_000)
        assert renewed.lost == ()
        assert len(await store.journal(SCOPE, "turn_t_0")) == 6


async def test_another_s_commit_under_the_same_number_after_a_crash_is_not_taken_for_ours() -> None:
    """A crash forgets numbers of transactions that were under way, and they are given out again."""
    server = PostgresServer.primary(
        "wal_writer_delay=10s", "wal_level=minimal", "max_wal_senders=0"
    )
    try:
        async with opened(PostgresStore(server.url, connections=1)) as store:
            assert isinstance(store, PostgresStore)
            lease = await store.claim(a_claim("t", "me"))

            def work(session: Transaction) -> str:
                commit(session, lease, a_step(1))
                assert isinstance(session, PostgresTransaction)
                assert isinstance(session._wire, Pipeline)
                number = int(session.number())
                server.crash(session._wire.db.info.backend_pid)
                with psycopg.connect(server.url, autocommit=True) as other:
                    for _ in range(1_000):
                        (taken,) = other.execute("SELECT pg_current_xact_id()::text").fetchall()[0]
                        if int(taken) >= number:
                            return "done"
                raise AssertionError(f"{number} was not reached")

            with pytest.raises(StoreUnavailable, match="whether it was done shows"):
                await store._opened().run(work, writes=True)
            assert await store.journal(SCOPE, "turn_t_0") == ()
            await store.commit(lease, a_step(1))
            assert len(await store.journal(SCOPE, "turn_t_0")) == 1
    finally:
        server.remove()


async def test_a_question_that_was_open_is_answered_after_a_fail_over(pair: Pair) -> None:
    """The answer is refused with a code in between; given again it counts once."""
    primary, standby = pair
    app = Sayso(store=url_of(pair), server=ServerOptions(console=False))
    effects: list[Any] = []

    @app.agent("asker")
    async def ask(turn: Turn) -> None:
        answer = await turn.interrupt("input_required", "Well?", schema=str)
        effects.append(answer.value)

    async def run(**parts: Any) -> Answer:
        body = orjson.dumps(run_input("t", **parts))
        return await call(app, "POST", "/agents/asker", headers=JSON, body=body)

    await app._engine.start()
    try:
        asked = events_of((await run()).body)[-1]["outcome"]["interrupts"][0]["id"]
        answer = {"interruptId": asked, "status": "resolved", "payload": "yes"}
        primary.kill()
        refused = await run(run_id="r-2", resume=[answer])
        assert (refused.status, refused.json["code"]) == (503, "store_unavailable")
        assert (await call(app, "GET", "/readyz")).status == 503
        assert effects == []
        standby.promote()
        assert (await call(app, "GET", "/readyz")).status == 200
        done = events_of((await run(run_id="r-2", resume=[answer])).body)
        assert done[-1]["type"] == "RUN_FINISHED"
        assert effects == ["yes"]
        again = await run(run_id="r-3", resume=[answer])
        assert effects == ["yes"], again.body
    finally:
        await app._engine.stop(5)
