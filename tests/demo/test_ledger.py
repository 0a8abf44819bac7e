"""The ledger: everything that was done, in order, doubles and all."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from sayso.base.errors import DeclarationError
from sayso.demo.app import demo_app
from sayso.demo.ledger import Ledger
from sayso.demo.ops import ROWS
from sayso.demo.tools import Delay
from sayso.testing import FakeClock
from tests.demo.conftest import Demo, settings
from tests.server import events_of, interrupts, resolved, run_input


async def test_effects_say_what_was_done_where_and_when(demo: Demo) -> None:
    """Design 9: `{kind, args, threadId, at}`, in order; one thread's on request."""
    await demo.run(text="slow", thread="one")
    await demo.clock.advance(5)
    await demo.run(text="slow", thread="two")
    one, two = await demo.effects()
    assert one == {
        "kind": "slow",
        "args": {"what": "search index"},
        "threadId": "one",
        "at": "2023-11-14T22:13:20.000Z",
    }
    assert (two["threadId"], two["at"]) == ("two", "2023-11-14T22:13:25.000Z")
    assert await demo.effects(threadId="two") == [two]
    assert await demo.effects(threadId="three") == []


async def test_the_effects_are_only_read(demo: Demo) -> None:
    """Nobody writes history over HTTP."""
    answer = await demo.client.post("/demo/effects", json={})
    assert answer.status_code == 405
    assert answer.json()["code"] == "method_not_allowed"


@pytest.fixture
def deaths() -> list[str]:
    return []


@pytest.fixture
def die(deaths: list[str]) -> Callable[[], None]:
    return lambda: deaths.append("once")


async def test_a_server_dies_once_per_thread(demo: Demo, deaths: list[str]) -> None:
    """Design 9, `crash`: the first time only, kept in the ledger."""
    for _ in range(2):
        await demo.run(text="crash", thread="one")
    assert deaths == ["once"]
    await demo.run(text="crash", thread="two")
    assert deaths == ["once", "once"]
    assert await demo.kinds() == ["charge"] * 3


async def test_a_ledger_outlives_the_servers_that_share_it(tmp_path: Path) -> None:
    """Design 9: replicas share the folder, and the next start finds it."""
    for thread in ("one", "two"):
        app = demo_app(settings(tmp_path), clock=FakeClock(), pace=Delay(piece=0, work=0))
        transport = httpx.ASGITransport(app=app)
        async with (
            app.lifespan(),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            asked = await client.post("/agents/ops", json=run_input(thread, text="refund"))
            (question,) = interrupts(list(events_of(asked.text.split("\n"))))
            answers = [resolved(question, {"approved": True})]
            await client.post("/agents/ops", json=run_input(thread, resume=answers))
            effects = (await client.get("/demo/effects")).json()["effects"]
    assert [effect["threadId"] for effect in effects] == ["one", "two"]


def test_a_ledger_is_opened_and_read_while_another_process_writes(tmp_path: Path) -> None:
    """Design 9: a replica starts and looks, also where one that was stopped has the lock."""
    path = tmp_path / "ledger.db"
    Ledger(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert Ledger(path).effects() == []


def test_no_use_of_a_ledger_takes_the_file_for_itself(tmp_path: Path) -> None:
    """Design 9: whoever is the last to close a file locks all others out to empty its log."""
    ledger = Ledger(tmp_path / "ledger.db")
    assert ledger.effects() == []
    assert (tmp_path / "ledger.db-wal").exists()
    del ledger
    assert not (tmp_path / "ledger.db-wal").exists(), "it ends with the ledger"


def test_a_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    """Found at the start, not at the first effect."""
    (tmp_path / "data").write_text("mine")
    with pytest.raises(OSError, match="data"):
        demo_app(settings(tmp_path / "data"))


def test_a_store_that_is_none_is_an_error(tmp_path: Path) -> None:
    """As everywhere: `DeclarationError` with what to write instead."""
    with pytest.raises(DeclarationError, match="memory:"):
        demo_app(settings(tmp_path, store="nowhere"))


def test_every_row_says_what_it_shows() -> None:
    """The rows are the documentation of the API."""
    assert all(row.__doc__ for _, row in ROWS)
