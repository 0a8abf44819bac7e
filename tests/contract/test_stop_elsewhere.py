"""A stop that is asked of one process while another runs the thread, or ran it (design 4)."""

import asyncio
from pathlib import Path

import pytest

from sayso import Turn
from sayso.base.records import Commit
from tests.contract.replicas import replica
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest, get, reached, stop
from tests.contract.server import Client, Server, eventually, served, taken_over
from tests.contract.tools import Kit
from tests.stores.backends import BACKENDS

KINDS = tuple(BACKENDS)


class Stuck:
    """An agent whose step waits for the test, and what it did after that."""

    def __init__(self) -> None:
        self.begun, self.wakes = asyncio.Event(), asyncio.Event()
        self.done: list[str] = []

    async def work(self) -> None:
        self.begun.set()
        await self.wakes.wait()
        self.done.append("work")

    async def __call__(self, turn: Turn) -> None:
        await turn.step(self.work)
        await turn.step(self.done.append, "more")

    async def agent(self, turn: Turn) -> None:
        await self(turn)


def begun(server: Server, stuck: Stuck) -> Client:
    client = server.client(stuck.agent)
    client.user("go")
    return client


@requirement("OU-07")
async def test_the_holder_sees_it_at_its_next_commit(server: Server) -> None:
    """I6: what ran is recorded, what would follow does not begin."""
    stuck = Stuck()
    client = begun(server, stuck)
    exchange = client.open(client.body(runId="r"))
    await reached(stuck.begun)
    async with replica(server, (client.agent, stuck.agent)) as other:
        assert await stop(server, client, app=other)
        assert (await get(server, f"/threads/{client.thread}"))["stopping"] is True
        stuck.wakes.set()
        assert (await exchange.end()).judged(client.thread, "r").outcome == "cancelled"
        assert stuck.done == ["work"]
        assert not await stop(server, client, app=other)


@pytest.mark.parametrize("kind", list(BACKENDS))
async def test_the_holder_sees_it_when_it_renews_its_lease(tmp_path: Path, kind: str) -> None:
    """Design 4: a turn that records nothing hears of it all the same."""
    server = Server(kind, tmp_path)

    async def agent(turn: Turn) -> None:
        await turn.say("Thinking.")
        await asyncio.Event().wait()

    async with server.app.lifespan():
        client = server.client(agent)
        client.user("go")
        exchange = client.open(client.body(runId="r"))
        await exchange.until("TEXT_MESSAGE_END")
        async with replica(server, (client.agent, agent)) as other:
            follower = client.again(app=other)
            watching = follower.open(follower.body(messages=[], runId="w"), action="/connect")
            await watching.until("MESSAGES_SNAPSHOT")
            assert await stop(server, client, app=other)
            await server.clock.advance(3)
            assert (await exchange.end()).judged(client.thread, "r").outcome == "cancelled"
            await server.clock.advance(1)
            assert (await watching.end()).judged(client.thread, "w").outcome == "cancelled"


async def test_a_wish_to_stop_outlives_its_holder(server: Server) -> None:
    """I6: who would take over a stopped turn ends it instead, without entering its code."""
    stuck = Stuck()
    client = begun(server, stuck)
    exchange = client.open()
    await reached(stuck.begun)
    server.store.fail("renew", times=1_000)
    async with replica(server, (client.agent, stuck.agent)) as other:
        assert await stop(server, client, app=other)
        await taken_over(server, client)
        assert (await get(server, f"/threads/{client.thread}"))["status"] == "cancelled"
        stuck.wakes.set()
        assert (await exchange.end()).outcome == "lease_lost"
        assert stuck.done == ["work"]


async def test_who_stopped_a_turn_elsewhere_is_known(server: Server) -> None:
    """I6, U1: a question that the stop overtook was cancelled by that person, by that channel."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "?")

    client = server.client(agent)
    client.user("go")

    def suspends(commit: Commit) -> bool:
        return bool(commit.interrupts)

    hold = server.store.hold("commit", match=suspends)
    exchange = client.open(client.body(runId="r"))
    await hold.reached()
    async with replica(server, (client.agent, agent)) as other:
        assert await stop(server, client, app=other)
        hold.release()
        assert (await exchange.end()).judged(client.thread, "r").outcome == "cancelled"
    past = await get(server, f"/threads/{client.thread}/history")
    (item,) = past["interrupts"]
    assert (item["status"], item["answer"]["by"]) == ("cancelled", "local")
    assert item["answer"]["channel"] == "stop"


async def test_a_call_that_was_running_when_its_server_died_is_told_as_unknown(
    server: Server,
) -> None:
    """TC-16, B2: stopped after a death: the result says that nobody knows."""
    begun_now, wakes = asyncio.Event(), asyncio.Event()

    @server.app.tool()
    async def charge() -> str:
        begun_now.set()
        await wakes.wait()
        return "too late"

    async def agent(turn: Turn) -> None:
        await turn.call(charge)

    client = server.client(agent)
    client.user("go")
    exchange = client.open()
    await reached(begun_now)
    server.store.fail("renew", times=1_000)
    async with replica(server, (client.agent, agent)) as other:
        assert await stop(server, client, app=other)
        await taken_over(server, client)
        fresh = client.again(app=other)
        assert (await fresh.connect()).outcome == "success"
        assert fresh.model.messages[-1]["content"].startswith("Unknown: the call was started")
        wakes.set()
        await exchange.end()


def stops(commit: Commit) -> bool:
    return commit.release and commit.dequeue


async def test_a_stop_that_dies_between_its_two_writes_is_complete(
    server: Server, tools: Kit
) -> None:
    """L7: all is in the first; whoever finds the thread lets it go and runs nothing."""
    client = server.client(tools.refunding)
    await client.say()
    server.store.fail("commit", match=stops)
    server.store.fail("commit", match=stops)
    assert (await stopped_badly(server, client)) == 503

    async def let_go() -> bool:
        await server.clock.advance(1)
        view = await server.store.load("default", client.thread)
        return view is not None and view.thread.holder is None

    await eventually(let_go)
    assert (await get(server, f"/threads/{client.thread}"))["status"] == "cancelled"
    assert server.effects == []
    assert (await client.again().say("next")).outcome == "interrupt"


async def stopped_badly(server: Server, client: Client) -> int:
    run = await server.request("POST", f"/threads/{client.thread}/stop").end()
    return run.status


@pytest.mark.parametrize("kind", list(BACKENDS))
async def test_what_a_server_leaves_behind_is_taken_over_at_once(tmp_path: Path, kind: str) -> None:
    """Design 6: a graceful end lets leases go; nobody waits for them to run out."""
    stuck = Stuck()
    async with served(kind, tmp_path) as server:
        client = begun(server, stuck)
        exchange = client.open()
        await reached(stuck.begun)
        async with replica(server, (client.agent, stuck.agent)):
            await server.app._engine.stop(grace=0.01)
            assert (await exchange.end()).outcome == "shutting_down"
            await server.store.open()
            before = server.clock.now()
            left = await server.store.load("default", client.thread)
            assert left is not None

            async def asks() -> bool:
                view = await server.store.load("default", client.thread)
                assert view is not None
                # No more than a look of the sweeper takes: a lease that runs out needs longer.
                if view.thread.fence == left.thread.fence and server.clock.now() - before < 3_000:
                    await server.clock.advance(0.1)
                return any(i.status == "open" for i in view.interrupts)

            await eventually(asks)
            stuck.wakes.set()


async def test_threads_that_need_other_code_do_not_keep_others_waiting(server: Server) -> None:
    """Design 3, rule 9: hundreds whose version is missing, and one that expired after them."""

    async def old(turn: Turn) -> None:
        await turn.interrupt("confirmation", "?", expires_in=5)

    async def new(turn: Turn) -> None:
        got = await turn.interrupt("confirmation", "?", expires_in=10)
        server.effects.append(got.status)

    clients = [server.client(old, thread=f"old-{n}") for n in range(130)]
    for client in clients:
        await client.say()
    server.app._agents._versions.clear()
    client = server.client(new)
    await client.say()
    await server.clock.advance(10)

    async def went_on() -> bool:
        await server.clock.advance(1)
        return server.effects == ["expired"]

    await eventually(went_on)
    await at_rest(server, client)
