"""Runs that are watched from another process: what their readers are shown, and how they end."""

import asyncio
import logging

import pytest

from sayso import Turn
from sayso.protocol import frames
from sayso.testing import FaultyStore
from tests.contract.optional import thread_of
from tests.contract.replicas import replica
from tests.contract.rest import reached
from tests.contract.server import Server, eventually
from tests.contract.wire import Exchange

LARGE = 300 * 1024
"""Characters that are too many to be sent look by look."""


async def over(server: Server, watching: Exchange) -> None:
    """Let time pass until the body has ended."""

    async def ended() -> bool:
        await server.clock.advance(0.5)
        return watching.ended

    await eventually(ended)


async def test_a_large_state_is_shown_at_the_end_and_not_look_by_look(server: Server) -> None:
    """As a long history is: it would be sent again and again to readers who have to keep up."""
    going, say, go = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def agent(turn: Turn) -> None:
        going.set()
        await say.wait()
        await turn.say("Meanwhile.")
        await turn.step(server.effects.append, "recorded")
        await go.wait()

    client = server.client(agent)
    client.user("go")
    running = client.open(client.body(state={"rows": "x" * LARGE}))
    await reached(going)
    async with replica(server, (client.agent, agent)) as other:
        watching = client.again(app=other).open(action="/connect")
        await watching.until("STATE_SNAPSHOT")
        say.set()

        async def recorded() -> bool:
            return len((await thread_of(server, client)).messages) == 2

        await eventually(recorded)
        store = other._engine.store
        assert isinstance(store, FaultyStore)
        before = len(store.calls)

        async def looked() -> bool:
            await server.clock.advance(0.5)
            return sum(call.point == "load" for call in store.calls[before:]) > 2

        await eventually(looked)
        assert "Meanwhile." not in str(watching.events)
        go.set()
        await running.end()
        await over(server, watching)
        kinds = [event["type"] for event in watching.events]
        assert kinds.count("STATE_SNAPSHOT") == kinds.count("MESSAGES_SNAPSHOT") == 2
        assert "Meanwhile." in str(watching.events)
        assert kinds[-1] == "RUN_FINISHED"


async def test_a_watch_that_fails_ends_its_readers(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """EN-09: what no cutting fits into one frame cannot be shown; told, and not waited for."""
    going, go = asyncio.Event(), asyncio.Event()

    async def agent(turn: Turn) -> None:
        going.set()
        await go.wait()
        for _ in range(60):
            await turn.say("y" * 50)

    client = server.client(agent)
    client.user("go")
    running = client.open(client.body(runId="r"))
    await reached(going)
    async with replica(server, (client.agent, agent)) as other:
        tab = client.again(app=other)
        watching = tab.open(tab.body(messages=[], runId="w"), action="/connect")
        await watching.until("STATE_SNAPSHOT")
        monkeypatch.setattr(frames, "MAX_FRAME_BYTES", 4_000)
        with caplog.at_level(logging.ERROR, "sayso.engine.live"):
            go.set()
            assert (await running.end()).judged(client.thread, "r").outcome == "success"
            await over(server, watching)
        assert (await watching.end()).judged(client.thread, "w").outcome == "internal_error"
        assert f"watch of thread {client.thread!r} failed" in caplog.text
        monkeypatch.undo()
        tab = client.again(app=other)
        assert (await tab.run(tab.body(messages=[]), action="/connect")).outcome == "success"
