"""Turns begun anew, and code that changed under an open one (design 3 rule 9; case L)."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso, Turn
from tests.contract.replicas import replica
from tests.contract.rest import at_rest, get, post, stop
from tests.contract.server import Client, Server, approve, served
from tests.contract.tools import Kit


async def restart(server: Server, client: Client, app: Sayso | None = None) -> Any:
    return await post(server, f"/threads/{client.thread}/restart", app=app)


def old_and_new(server: Server) -> tuple[Any, Any]:
    """Two versions of one agent, of which the second does not find what the first recorded."""

    async def old(turn: Turn) -> str:
        await turn.step.options(name="look")(server.effects.append, "looked")
        await turn.interrupt("confirmation", "Go on?")
        return "old"

    async def new(turn: Turn) -> str:
        await turn.step.options(name="search")(server.effects.append, "searched")
        await turn.interrupt("confirmation", "Really go on?")
        return f"new: {turn.input.text}"

    return old, new


async def test_a_mismatch_is_shown_and_repaired_by_a_restart(server: Server) -> None:
    """Design 3 rule 9: place and both versions are named; then the turn begins anew, detached."""
    old, new = old_and_new(server)
    client = server.client(old)
    await client.say("find A-17")
    async with replica(server, (client.agent, new)) as other:
        there = client.again(app=other)
        await there.connect()
        failed = await there.resume(approve())
        assert failed.outcome == "replay_mismatch"
        shown = await get(server, f"/threads/{client.thread}")
        assert (shown["status"], shown["openInterrupts"]) == ("suspended", 1)
        details = shown["problem"]["details"]
        assert shown["problem"]["code"] == "replay_mismatch"
        assert details["place"] == "0"
        assert details["recorded"].startswith("step look")
        assert details["asked"].startswith("step search")
        state = await get(server, f"/threads/{client.thread}/state")
        assert state["metadata"]["repeats"] == ["look"]
        run = await restart(server, client, other)
        assert run.status == 200
        assert run.json["repeats"] == ["look"]
        await at_rest(server, client)
        await there.connect()
        assert [item["message"] for item in there.model.pending] == ["Really go on?"]
        assert (await there.resume(approve())).last["result"] == "new: find A-17"
    assert server.effects == ["looked", "searched"]


async def test_a_mismatch_is_repaired_by_a_stop(server: Server) -> None:
    """Design 3 rule 9: the other remedy; the next message starts with the new code."""
    old, new = old_and_new(server)
    client = server.client(old)
    await client.say()
    async with replica(server, (client.agent, new)) as other:
        there = client.again(app=other)
        await there.connect()
        assert (await there.resume(approve())).outcome == "replay_mismatch"
        assert await stop(server, client, app=other)
        await there.connect()
        assert (await there.say("again")).interrupts[0]["message"] == "Really go on?"


@pytest.mark.every_store
@pytest.mark.parametrize("way", ["stop", "restart"])
async def test_a_turn_whose_journal_is_gone_runs_nothing_again(tmp_path: Path, way: str) -> None:
    """L6: said in so many words, the question stays, and a person decides what becomes of it."""
    async with served("sqlite", tmp_path) as server:
        old, _ = old_and_new(server)
        client = server.client(old)
        await client.say()
        (item,) = client.model.pending
        with closing(sqlite3.connect(tmp_path / "sayso.db")) as file:
            file.execute("DELETE FROM entry")
            file.commit()
        for _ in range(2):
            failed = await client.resume(approve())
            assert failed.outcome == "replay_mismatch"
            assert "the journal of this turn lacks" in failed.last["message"]
            (shown,) = (await client.again().connect()).interrupts
            assert shown["id"] == item["id"]
        assert server.effects == ["looked"]
        if way == "stop":
            assert await stop(server, client)
            assert (await client.again().connect()).outcome == "success"
        else:
            assert (await restart(server, client)).status == 200
            await at_rest(server, client)
            (anew,) = (await client.again().connect()).interrupts
            assert anew["id"] != item["id"]
        assert (await get(server, f"/interrupts/{item['id']}"))["status"] == "cancelled"


async def test_a_missing_version_is_repaired_by_a_restart(server: Server) -> None:
    """Design 3 rule 9: an open turn keeps its version; the new one gets a turn of its own."""
    old, new = old_and_new(server)
    server.app.agent("sold", version="1")(old)
    client = server.client("sold")
    await client.say()
    del server.app._agents._versions["sold"]
    server.app.agent("sold", version="2")(new)
    assert (await client.resume(approve())).outcome == "agent_version_missing"
    assert (await restart(server, client)).status == 200
    await at_rest(server, client)
    state = await get(server, f"/threads/{client.thread}/state")
    assert (state["metadata"]["version"], state["metadata"]["status"]) == ("2", "suspended")


async def test_a_restart_cancels_what_is_open_and_closes_its_calls(
    server: Server, tools: Kit
) -> None:
    """TC-16: each call has its one result before the new turn proposes its own."""
    client = server.client(tools.mailing)
    first = (await client.say()).interrupts
    run = await restart(server, client)
    assert run.json["repeats"] == ["lookup_order"]
    await at_rest(server, client)
    loaded = await client.connect()
    assert len(loaded.interrupts) == 3
    assert not {item["id"] for item in loaded.interrupts} & {item["id"] for item in first}
    results = [m for m in client.model.messages if m["role"] == "tool"]
    assert len(results) == 5  # the lookup and three unanswered calls, then the lookup again
    past = await get(server, f"/threads/{client.thread}/history")
    told = [item["answer"] for item in past["interrupts"] if item["status"] == "cancelled"]
    assert [(one["by"], one["channel"]) for one in told] == [("local", "restart")] * 3
    late = await client.run(resume=[{"interruptId": first[0]["id"], **approve()}], messages=[])
    assert late.outcome in ("already_resolved", "partial_resume")
    assert server.effects == [("lookup", "A-17")] * 2


async def test_a_failed_turn_is_begun_anew_with_its_first_state(server: Server) -> None:
    """Design 3: the same input; what the failed attempt wrote to the state is gone."""
    broken = [True]

    async def agent(turn: Turn) -> Any:
        count = turn.state.get("count", 0)
        await turn.set("/count", count + 1)
        if broken:
            raise RuntimeError("broken")
        return [turn.input.text, count]

    client = server.client(agent)
    assert (await client.say("twice?")).outcome == "agent_error"
    broken.clear()
    assert (await restart(server, client)).status == 200
    await at_rest(server, client)
    state = await get(server, f"/threads/{client.thread}/state")
    assert (state["metadata"]["status"], state["values"]) == ("finished", {"count": 1})


async def test_what_cannot_be_begun_anew_is_refused(server: Server, tools: Kit) -> None:
    """Design 5: a finished turn, one that runs, an agent that is gone, a thread that is not."""
    done = server.client(tools.greeting)
    await done.say()
    run = await restart(server, done)
    assert (run.status, run.problem["code"]) == (409, "not_waiting")
    begun, wakes = asyncio.Event(), asyncio.Event()

    async def busy(turn: Turn) -> None:
        begun.set()
        await wakes.wait()

    client = server.client(busy)
    client.user("go")
    exchange = client.open()
    await begun.wait()
    run = await restart(server, client)
    assert (run.status, run.problem["code"]) == (409, "thread_busy")
    wakes.set()
    await exchange.end()
    waits = server.client(tools.refunding)
    await waits.say()
    async with replica(server) as other:
        run = await restart(server, waits, other)
        assert (run.status, run.problem["code"]) == (404, "unknown_agent")
    waits.thread = "nobody"
    assert (await restart(server, waits)).problem["code"] == "unknown_thread"


@pytest.mark.parametrize("n", [1, 2])
async def test_a_restart_that_dies_half_way_can_be_sent_again(
    server: Server, tools: Kit, n: int
) -> None:
    """L7: it stops, and then begins; between the two there is a stopped turn."""
    client = server.client(tools.refunding)
    await client.say()
    server.store.fail("claim", n=n)
    assert (await restart(server, client)).status == 503
    assert (await restart(server, client)).status == 200
    await at_rest(server, client)
    assert len((await client.connect()).interrupts) == 1


async def test_of_two_restarts_one_begins(server: Server, tools: Kit) -> None:
    """L5: from two processes at once; the other is told that the thread runs, or begins it anew."""
    client = server.client(tools.refunding)
    await client.say()
    async with replica(server, (client.agent, tools.refunding)) as other:
        both = await asyncio.gather(restart(server, client), restart(server, client, other))
        assert {run.status for run in both} <= {200, 409}
        assert 200 in {run.status for run in both}
        await at_rest(server, client)
    assert len((await client.connect()).interrupts) == 1
