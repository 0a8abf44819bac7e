"""Runs that nobody reads: `on_disconnect`, `unattended_timeout`, what they never do (N1 to N3)."""

import asyncio
from typing import Any

import pytest

from sayso import Turn
from tests.contract.optional import client_of, thread_of, told
from tests.contract.requirements import requirement
from tests.contract.server import Client, Server, approve, eventually
from tests.contract.tools import Kit
from tests.patience import PATIENCE


class Desk:
    """An agent of two steps; the first waits until it is let go."""

    def __init__(self, server: Server) -> None:
        self.effects = server.effects
        self.began, self.go = asyncio.Event(), asyncio.Event()

    async def first(self) -> str:
        self.began.set()
        await self.go.wait()
        self.effects.append("first")
        return "1"

    def second(self) -> str:
        self.effects.append("second")
        return "2"

    async def agent(self, turn: Turn) -> None:
        await turn.say("before")
        await turn.step(self.first)
        await turn.step(self.second)
        await turn.say("after")

    async def left(self, client: Client) -> None:
        """A client begins it, and goes away while the first step runs."""
        client.user("go")
        exchange = client.open()
        await asyncio.wait_for(self.began.wait(), PATIENCE)
        await exchange.disconnect()


async def idle(server: Server, client: Client) -> Any:
    async def rests() -> bool:
        return (await thread_of(server, client)).thread.holder is None

    await eventually(rests)
    return await thread_of(server, client)


def message(view: Any) -> str:
    outcome: bytes = view.run.outcome
    return outcome.decode()


@requirement("OC-15", "ER-13")
async def test_finish_goes_on_to_the_end(server: Server) -> None:
    """N1, N2: the default; the result is there for whoever comes back."""
    desk = Desk(server)
    client = client_of(server, desk.agent)
    await desk.left(client)
    desk.go.set()
    view = await idle(server, client)
    assert server.effects == ["first", "second"]
    assert view.turn.status == "finished"
    fresh = client.again()
    await fresh.connect()
    assert fresh.model.messages[-1]["content"] == "after"


@requirement("OC-15")
async def test_cancel_stops_before_the_next_effect_and_cuts_none(server: Server) -> None:
    """N2: the step in flight is finished and recorded; the next one never begins."""
    desk = Desk(server)
    client = client_of(server, desk.agent, on_disconnect="cancel")
    await desk.left(client)
    desk.go.set()
    await server.watched.rests()
    assert server.effects == ["first"]
    assert (await thread_of(server, client)).thread.holder is not None
    await server.clock.advance(5)
    view = await idle(server, client)
    assert server.effects == ["first"]
    assert view.turn.status == "cancelled"
    assert "reader was gone for 5 s" in message(view)
    assert (await client.again().say("next")).status == 200


async def test_cancel_waits_for_an_effect_that_is_in_flight(server: Server) -> None:
    """Design 3, rule 2: however long after the client it ends."""
    desk = Desk(server)
    client = client_of(server, desk.agent, on_disconnect="cancel")
    await desk.left(client)
    await server.clock.advance(9)
    assert (await thread_of(server, client)).thread.holder is not None
    desk.go.set()
    view = await idle(server, client)
    assert (server.effects, view.turn.status) == (["first"], "cancelled")


async def test_a_client_that_is_back_in_time_finds_its_run_going_on(server: Server) -> None:
    """A page that is loaded again is no cancel (N2)."""
    desk = Desk(server)
    client = client_of(server, desk.agent, on_disconnect="cancel")
    await desk.left(client)
    desk.go.set()
    await server.clock.advance(4.9)
    assert server.effects == ["first"]
    back = client.again()
    back.model.messages = list(client.model.messages)
    run = await back.connect()
    assert run.outcome == "success"
    assert server.effects == ["first", "second"]
    assert back.model.messages[-1]["content"] == "after"


async def test_of_two_readers_the_last_one_counts(server: Server) -> None:
    """Another tab keeps the run alive."""
    desk = Desk(server)
    client = client_of(server, desk.agent, on_disconnect="cancel")
    client.user("go")
    first = client.open()
    await asyncio.wait_for(desk.began.wait(), PATIENCE)
    second = client.again().open(action="/connect")
    await second.until("MESSAGES_SNAPSHOT")
    await first.disconnect()
    await server.clock.advance(9)
    desk.go.set()
    assert (await second.end()).outcome == "success"
    assert server.effects == ["first", "second"]


async def test_a_cancelled_client_cuts_what_only_streams(server: Server) -> None:
    """N2: text for nobody is not worth its price; it may run again, so it may be cut."""
    began = asyncio.Event()

    async def chunks() -> Any:
        yield "a"
        began.set()
        await asyncio.Event().wait()

    async def agent(turn: Turn) -> None:
        await turn.stream(chunks())

    client = client_of(server, agent, on_disconnect="cancel")
    client.user("go")
    exchange = client.open()
    await asyncio.wait_for(began.wait(), PATIENCE)
    await exchange.disconnect()
    await server.clock.advance(5)
    assert (await idle(server, client)).turn.status == "cancelled"


async def test_a_run_that_never_had_a_reader_has_lost_none(server: Server, tools: Kit) -> None:
    """An answer from the inbox starts a run without a client, `cancel` or not."""
    client = client_of(server, tools.refunding, on_disconnect="cancel")
    first = await client.say()
    body = {"status": "resolved", "payload": {"approved": True}}
    path = f"/interrupts/{first.interrupts[0]['id']}/answer"
    answered = await server.request("POST", path, body).end()
    assert answered.status == 200
    await server.clock.advance(0)
    await idle(server, client)
    assert server.effects == [("refund", "A-17", 240.0)]
    fresh = client.again()
    await fresh.connect()
    assert told(fresh) == ["Refunded 240.00."]


async def test_a_question_that_is_asked_meanwhile_is_kept(server: Server, tools: Kit) -> None:
    """Asking is no effect: the turn waits for a person, and that person may be anywhere."""
    go, began = asyncio.Event(), asyncio.Event()

    async def agent(turn: Turn) -> None:
        began.set()
        await go.wait()
        await tools.refunding(turn)

    client = client_of(server, agent, on_disconnect="cancel")
    client.user("go")
    exchange = client.open()
    await asyncio.wait_for(began.wait(), PATIENCE)
    await exchange.disconnect()
    go.set()
    await idle(server, client)
    fresh = client.again()
    assert (await fresh.connect()).outcome == "interrupt"
    assert (await fresh.resume(approve())).outcome == "success"


async def test_a_detached_run_ends_after_its_time(server: Server) -> None:
    """N3, design 4: outcome cancelled, and it says why."""
    waiting = asyncio.Event()

    async def agent(turn: Turn) -> None:
        await turn.say("before")
        waiting.set()
        await asyncio.Event().wait()

    client = client_of(server, agent, unattended_timeout=6)
    client.user("go")
    exchange = client.open()
    await asyncio.wait_for(waiting.wait(), PATIENCE)
    await exchange.disconnect()
    await server.clock.advance(5)
    assert (await thread_of(server, client)).thread.holder is not None
    await server.clock.advance(1)
    view = await idle(server, client)
    assert view.turn.status == "cancelled"
    assert "Nobody read this run for 6 s" in message(view)


async def test_a_reader_stops_the_count_and_its_leaving_begins_it_anew(server: Server) -> None:
    """Fifteen minutes without anybody, not in all."""
    waiting = asyncio.Event()

    async def agent(turn: Turn) -> None:
        waiting.set()
        await asyncio.Event().wait()

    client = client_of(server, agent, unattended_timeout=3)
    client.user("go")
    exchange = client.open()
    await asyncio.wait_for(waiting.wait(), PATIENCE)
    await server.clock.advance(1)
    for _ in range(2):
        await exchange.disconnect()
        await server.clock.advance(2)
        exchange = client.again().open(client.body(messages=[]), action="/connect")
        await exchange.until("MESSAGES_SNAPSHOT")
        await server.clock.advance(0.5)
    assert (await thread_of(server, client)).thread.holder is not None
    await exchange.disconnect()
    await server.clock.advance(3)
    assert (await idle(server, client)).turn.status == "cancelled"


@pytest.mark.parametrize("version", ["1.0", None])
@requirement("OC-03")
async def test_whoever_retries_is_told_how_it_ended(server: Server, version: Any) -> None:
    """OC-03: `cancelled` with its reason, or `abort` for a client of before 1.0."""
    desk = Desk(server)
    client = client_of(server, desk.agent, on_disconnect="cancel")
    client.version = version
    client.user("go")
    body = client.body()
    exchange = client.open(body)
    await asyncio.wait_for(desk.began.wait(), PATIENCE)
    await exchange.disconnect()
    desk.go.set()
    await server.clock.advance(5)
    await idle(server, client)
    run = await client.again(version=version).run(body)
    assert run.outcome == ("abort" if version is None else "cancelled")
    words = run.last["message"] if version is None else run.details["message"]
    assert "gone for 5 s" in words
