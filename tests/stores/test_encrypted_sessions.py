"""Sessions and tokens of services under a codec: who may write the database gives nobody a role."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from sayso import AesGcm, StoreUnavailable
from sayso.base.service_tokens import ServiceToken
from sayso.base.sessions import Session, sessions_of
from sayso.stores import open_store
from sayso.stores.sqlite.store import SqliteStore
from sayso.testing import FakeClock
from sayso.testing.store_suite._make import SCOPE
from tests.contract.dump import dump
from tests.stores.backends import SHARED, opened
from tests.stores.full_threads import NEW, OLD

ANN = Session(
    digest="d1",
    scope=SCOPE,
    subject="ann",
    issuer="https://id.example.org",
    roles=("wilhelmina",),
    lifetime=10**9,
    idle=10**8,
)
EVE = replace(ANN, digest="d2", subject="eve", roles=("auditor",))


@pytest.mark.parametrize("kind", SHARED)
async def test_a_session_that_somebody_has_put_there_is_nobodys(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In clear, or under another key; it ends by its names as others do, and is told of to none."""
    url = SHARED[kind](tmp_path)
    store, plain = open_store(url, codec=AesGcm({"1": OLD})), open_store(url)
    other = open_store(url, codec=AesGcm({"1": NEW}))
    async with opened(store), opened(plain), opened(other):
        await store.add_session(ANN)
        texts = dump(store, tmp_path).lower()
        assert "wilhelmina" not in texts
        assert b"wilhelmina".hex() not in texts
        await plain.add_session(EVE)
        await other.add_session(replace(EVE, digest="d3"))
        for digest in ("d2", "d3"):
            assert await store.use_session(digest) is None
        assert "a sign-in counts no longer: session.body of 'd2'" in caplog.text
        kept = await store.use_session("d1")
        assert kept is not None
        assert kept.roles == ("wilhelmina",)
        assert await plain.use_session("d1") is None
        assert await store.end_sessions(sessions_of(SCOPE, "eve")) == ()
        assert await plain.use_session("d2") is None
        assert [one.digest for one in await store.end_sessions(sessions_of(SCOPE, "ann"))] == ["d1"]


async def test_a_session_that_is_used_goes_over_to_the_first_key(tmp_path: Path) -> None:
    """So the old key can be thrown away; until then both open it."""
    clock = FakeClock()
    file = tmp_path / "sayso.db"
    async with opened(SqliteStore(file, clock=clock, codec=AesGcm({"1": OLD}))) as store:
        await store.add_session(ANN)
        await store.add_session(replace(ANN, digest="d2"))
    clock.jump(ANN.idle / 1000 / 2)
    both = AesGcm({"2": NEW, "1": OLD})
    async with opened(SqliteStore(file, clock=clock, codec=both)) as store:
        assert await store.use_session("d1") is not None
        assert await store.use_session("d2", look=True) is not None
    async with opened(SqliteStore(file, clock=clock, codec=AesGcm({"2": NEW}))) as store:
        assert await store.use_session("d1") is not None
        assert await store.use_session("d2") is None


CI = ServiceToken(
    id="svc_1",
    scope=SCOPE,
    name="ci",
    digest="t1",
    roles=("wilhelmina",),
    added_by="ann",
    added_at=1,
)
BOT = replace(CI, id="svc_2", digest="t2", name="bot", roles=("auditor",))


@pytest.mark.parametrize("kind", SHARED)
async def test_a_token_of_a_service_that_somebody_has_put_there_opens_nothing(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In clear, or under another key; nor is a token another one's, or given back."""
    url = SHARED[kind](tmp_path)
    store, plain = open_store(url, codec=AesGcm({"1": OLD})), open_store(url)
    other = open_store(url, codec=AesGcm({"1": NEW}))
    async with opened(store), opened(plain), opened(other):
        await store.add_service_token(CI)
        texts = dump(store, tmp_path).lower()
        assert "wilhelmina" not in texts
        assert b"wilhelmina".hex() not in texts
        await plain.add_service_token(BOT)
        await other.add_service_token(replace(BOT, id="svc_3", digest="t3"))
        for digest in ("t2", "t3"):
            assert await store.service_token(digest) is None
        assert "a token of a service counts no longer: service_token.body of" in caplog.text
        assert await store.service_token("t1") == CI
        assert await store.service_tokens(SCOPE) == (CI,)
        with pytest.raises(StoreUnavailable, match="this process has no key"):
            await plain.service_token("t1")
        with pytest.raises(StoreUnavailable):
            await store.revoke_service_token(SCOPE, BOT.id, "ann", 5)


async def test_who_may_write_rows_gives_no_token_back_and_none_another_one_s_roles(
    tmp_path: Path,
) -> None:
    """A row that was revoked stays so, and a text counts for the token that it was written for."""
    file = tmp_path / "sayso.db"
    async with opened(SqliteStore(file, codec=AesGcm({"1": OLD}))) as store:
        await store.add_service_token(CI)
        await store.add_service_token(BOT)
        await store.revoke_service_token(SCOPE, CI.id, "ann", 5)
        with closing(sqlite3.connect(file)) as rows, rows:
            rows.execute("UPDATE service_token SET revoked_at = NULL, revoked_by = NULL")
            rows.execute("DELETE FROM service_token WHERE id = 'svc_2'")
            rows.execute("UPDATE service_token SET digest = 't2' WHERE id = 'svc_1'")
        assert await store.service_token("t2") is None
        with closing(sqlite3.connect(file)) as rows, rows:
            rows.execute("UPDATE service_token SET digest = 't1' WHERE id = 'svc_1'")
        kept = await store.service_token("t1")
        assert kept is not None
        assert (kept.revoked_at, kept.revoked_by) == (5, "ann")
