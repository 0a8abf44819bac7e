"""Where several write rows of the trail at a time: its end waits for who took a place before."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from sayso.base.errors import StoreUnavailable
from sayso.base.records import PageRequest
from sayso.stores.postgres import store as module
from sayso.stores.postgres.store import PostgresStore
from sayso.stores.sql.session import Transaction
from sayso.testing.store_suite._make import SCOPE
from tests.patience import PATIENCE
from tests.stores.backends import opened
from tests.stores.servers import database
from tests.turns.driver import until

_ADD = (
    "INSERT INTO sayso.audit (scope, thread_id, owner, number, at, kind, content_digest, digest)"
    " VALUES (%s, 'slow', '', 1, 1, 'slow', '', '')"
)


async def test_the_end_is_behind_rows_that_are_still_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that took its place first and is there last is in what was asked for meanwhile."""
    looks: list[set[str]] = []
    writing = module._writing

    def look(db: Transaction) -> set[str]:
        looks.append(writing(db))
        return looks[-1]

    monkeypatch.setattr(module, "_writing", look)
    url = database(tmp_path)
    async with opened(PostgresStore(url)) as store:
        slow = await psycopg.AsyncConnection.connect(url)
        try:
            await slow.execute(_ADD, (SCOPE,))
            await store.note(SCOPE, [("quick", {})], 2)
            asked = asyncio.create_task(store.audit_end(SCOPE))
            await until(lambda: len(looks) > 1)
            assert [row.kind for row in (await store.audit(SCOPE)).items] == ["quick"]
            await store.note(SCOPE, [("later", {})], 3)
            await slow.commit()
            end = await asyncio.wait_for(asked, PATIENCE)
        finally:
            await slow.close()
        rows = (await store.audit(SCOPE, PageRequest(limit=9), until=end)).items
        assert [row.kind for row in rows] == ["slow", "quick"]
        after = (await store.audit(SCOPE, PageRequest(end, 9))).items
        assert {row.kind for row in after} == {"later"}


async def test_who_writes_for_ever_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is given out that might not be all; others go on writing meanwhile."""
    monkeypatch.setattr(module, "_WRITE_S", 0.1)
    url = database(tmp_path)
    async with opened(PostgresStore(url)) as store:
        slow = await psycopg.AsyncConnection.connect(url)
        try:
            await slow.execute(_ADD, (SCOPE,))
            with pytest.raises(StoreUnavailable, match="pg_stat_activity"):
                await store.audit_end(SCOPE)
            await store.note(SCOPE, [("quick", {})], 2)
        finally:
            await slow.close()
        assert await store.audit_end(SCOPE) != "l0.0"
