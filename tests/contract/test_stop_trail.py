"""A stop has a row of the audit trail: of which run, why, by whom and by which way."""

from pathlib import Path
from typing import Any

import pytest

from sayso import Turn
from tests.contract.replicas import replica
from tests.contract.rest import get, reached, stop
from tests.contract.server import Client, Server, served
from tests.contract.test_stop_elsewhere import Stuck, begun
from tests.contract.tools import kit
from tests.stores.backends import BACKENDS

SAID = "The run was stopped."


async def stopped(server: Server, client: Client) -> dict[str, Any]:
    """The row of the only stop."""
    rows = (await get(server, f"/audit?thread={client.thread}"))["items"]
    (row,) = [each for each in rows if each["kind"] == "stopped"]
    assert (await get(server, f"/audit/{client.thread}"))["intact"] is True
    content: dict[str, Any] = dict(row["content"])
    assert content.pop("run").startswith("run_")
    return content


@pytest.fixture(params=list(BACKENDS))
async def each(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A server on each store."""
    async with served(request.param, tmp_path) as server:
        yield server


async def test_a_turn_that_waits(each: Server) -> None:
    client = each.client(kit(each).refunding)
    await client.say()
    assert await stop(each, client)
    assert await stopped(each, client) == {"why": SAID, "by": "local", "channel": "stop"}


async def test_a_turn_that_runs(each: Server) -> None:
    stuck = Stuck()
    client = begun(each, stuck)
    exchange = client.open()
    await reached(stuck.begun)
    assert await stop(each, client)
    stuck.wakes.set()
    await exchange.end()
    assert await stopped(each, client) == {"why": SAID, "by": "local", "channel": "stop"}


async def test_a_turn_that_another_process_runs(each: Server) -> None:
    stuck = Stuck()
    client = begun(each, stuck)
    exchange = client.open()
    await reached(stuck.begun)
    async with replica(each, (client.agent, stuck.agent)) as other:
        assert await stop(each, client, app=other)
    stuck.wakes.set()
    await exchange.end()
    assert await stopped(each, client) == {"why": SAID, "by": "local", "channel": "stop"}


async def test_a_turn_that_ends_itself(each: Server) -> None:
    async def agent(turn: Turn) -> None:
        await turn.cancel("the customer has left")

    client = each.client(agent)
    await client.say()
    assert await stopped(each, client) == {"why": "the customer has left"}
