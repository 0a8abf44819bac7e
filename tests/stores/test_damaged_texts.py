"""One text that does not open keeps nobody from the others; a key that is missing is an error."""

import logging
from pathlib import Path

import pytest

from sayso import AesGcm, StoreUnavailable
from sayso.base.records import InterruptFilter
from sayso.stores import open_store
from sayso.stores.base import Store
from sayso.testing.store_suite._make import SCOPE
from tests.stores.backends import SHARED, opened
from tests.stores.full_threads import NEW, OLD, fill

KEYS = AesGcm({"1": OLD})

on_every_store = pytest.mark.parametrize("kind", SHARED)


async def listed(store: Store) -> list[list[str]]:
    """Ids of the questions, and of the threads, that lists have."""
    questions = (await store.interrupts(SCOPE)).items
    threads = (await store.threads(SCOPE)).items
    return [[row.thread_id for row in questions], sorted(row.id for row in threads)]


@on_every_store
async def test_a_question_that_somebody_has_put_there_hides_no_other(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In clear, or under another key of the same id; where it stands is in the log."""
    url = SHARED[kind](tmp_path)
    forged = AesGcm({"1": NEW})
    async with (
        opened(open_store(url, codec=KEYS)) as store,
        opened(open_store(url)) as plain,
        opened(open_store(url, codec=forged)) as other,
    ):
        await fill(plain, "plain")
        with pytest.raises(StoreUnavailable, match="is not encrypted"):
            await store.interrupts(SCOPE)  # all of it: somebody has given keys to a clear store
        await fill(store, "good")
        await fill(other, "forged")
        with caplog.at_level(logging.ERROR):
            questions, threads = await listed(store)
        assert set(questions) == {"good"}
        assert "good" in threads
        assert "in thread 'plain' of scope" in caplog.text
        assert "in thread 'forged' of scope" in caplog.text
        for thread in ("good", "forged"):
            # So a check of the trail goes on, and says that the question is gone.
            page = await store.interrupts(SCOPE, InterruptFilter(thread_id=thread))
            assert bool(page.items) is (thread == "good")
        with pytest.raises(StoreUnavailable):
            await store.load(SCOPE, "forged")
        given = (await store.approvals(SCOPE, 3)).items
        assert [row.id for row in given] == ["apr_good"]
        assert [row.id for row in await store.valid_approvals(SCOPE, "ann", "send", 3)] == [
            "apr_good"
        ]
        assert [row.id for row in await store.service_tokens(SCOPE)] == ["svc_good"]


@on_every_store
async def test_what_a_key_is_missing_for_is_left_out_of_no_list(kind: str, tmp_path: Path) -> None:
    """Half way through a rotation, a server that has not the new key must not hide what waits."""
    url = SHARED[kind](tmp_path)
    async with (
        opened(open_store(url, codec=KEYS)) as store,
        opened(open_store(url, codec=AesGcm({"2": NEW, "1": OLD}))) as newer,
    ):
        await fill(store, "good")
        await fill(newer, "newer")
        with pytest.raises(StoreUnavailable, match="the key '2', which is not among"):
            await store.interrupts(SCOPE)
