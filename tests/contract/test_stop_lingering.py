"""Stops of turns whose code does not let itself be cancelled (design 3, rule 1; design 4)."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from sayso import Turn
from sayso.turns.replay import effects
from tests.contract.rest import get, reached, stop
from tests.contract.server import Server


async def swallow(freed: asyncio.Event) -> None:
    """Hang, whoever cancels it."""
    while not freed.is_set():
        try:
            await freed.wait()
        except asyncio.CancelledError:
            continue


@pytest.mark.parametrize("form", ["stream", "step", "tool"])
async def test_an_effect_that_swallows_its_cancellation_does_not_hold_the_thread(
    server: Server, form: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """I6, E8: what may run again is waited for 5 s, then left behind; it records nothing more."""
    monkeypatch.setattr(effects, "LINGERING_S", 0.05)
    begun, freed = asyncio.Event(), asyncio.Event()

    async def words() -> AsyncIterator[str]:
        yield "So far"
        begun.set()
        await swallow(freed)
        yield " and more"

    async def work() -> str:
        begun.set()
        await swallow(freed)
        return "too late"

    tool = server.app.tool(idempotent=True)(work)

    async def agent(turn: Turn) -> None:
        if form == "stream":
            await turn.stream(words())
        elif form == "step":
            await turn.step.options(idempotent=True)(work)
        else:
            await turn.call(tool)
        server.effects.append("went on")

    client = server.client(agent)
    client.user("go")
    exchange = client.open(client.body(runId="r"))
    await reached(begun)
    assert await stop(server, client)
    assert (await exchange.end()).judged(client.thread, "r").outcome == "cancelled"
    assert "left behind" in caplog.text
    stood = await get(server, f"/threads/{client.thread}/history")
    assert stood["runs"][-1]["outcome"]["type"] == "cancelled"
    freed.set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert await get(server, f"/threads/{client.thread}/history") == stood
    assert server.effects == []
