"""Stored first, announced second; and the same on another server (cases A5, A6, B2, L)."""

import asyncio
from pathlib import Path

import pytest

from sayso import Turn
from sayso.base.records import Commit
from tests.contract.requirements import requirement
from tests.contract.server import Server, answer, approve, served, taken_over
from tests.contract.tools import Kit, kit
from tests.patience import PATIENCE


def suspends(commit: Commit) -> bool:
    return commit.turn is not None and commit.turn.status == "suspended"


def finishes(commit: Commit) -> bool:
    return commit.turn is not None and commit.turn.status == "finished"


@requirement("OU-03", "IN-02")
async def test_no_interrupt_is_announced_before_it_is_stored(server: Server, tools: Kit) -> None:
    """A5, A6: while the write is slow nothing of the question leaves; then it can be answered."""
    client = server.client(tools.refunding)
    client.user("go")
    slow = server.store.hold("commit", match=suspends)
    exchange = client.open()
    await exchange.until("TOOL_CALL_END")
    await slow.reached()
    assert "RUN_FINISHED" not in {event["type"] for event in exchange.events}
    assert "int_" not in str(exchange.events)
    slow.release()
    await exchange.until("RUN_FINISHED")
    client.model.take(exchange.events)
    assert (await client.resume(approve())).outcome == "success"
    assert server.effects == [("refund", "A-17", 240.0)]


@requirement("ID-04")
async def test_no_result_is_announced_before_it_is_stored(server: Server, tools: Kit) -> None:
    """Design 5: TOOL_CALL_RESULT claims a durable fact; so does the end of a run."""
    client = server.client(tools.refunding)
    await client.say()
    slow = server.store.hold("commit", match=lambda c: any(m.role == "tool" for m in c.messages))
    exchange = client.open(resume=client.entries(approve()))
    await slow.reached()
    assert server.effects == [("refund", "A-17", 240.0)]
    assert "TOOL_CALL_RESULT" not in {event["type"] for event in exchange.events}
    slow.release()
    ending = server.store.hold("commit", match=finishes)
    await exchange.until("TOOL_CALL_RESULT")
    await ending.reached()
    assert "RUN_FINISHED" not in {event["type"] for event in exchange.events}
    ending.release()
    assert (await exchange.end()).outcome == "success"


async def test_a_reader_who_comes_early_is_not_shown_what_is_not_stored(
    server: Server, tools: Kit
) -> None:
    """A5: connect while the result is being written: the snapshot does not have it yet."""
    client = server.client(tools.refunding)
    await client.say()
    slow = server.store.hold("commit", match=lambda c: any(m.role == "tool" for m in c.messages))
    exchange = client.open(resume=client.entries(approve()))
    await slow.reached()
    fresh = client.again()
    early = fresh.open(fresh.body(messages=[], runId="early"), action="/connect")
    await early.until("MESSAGES_SNAPSHOT")
    assert "Refunded" not in str(early.events)
    slow.release()
    await exchange.end()
    run = (await early.end()).judged(client.thread, "early")
    assert list(run.results.values()) == ["Refunded 240.00."]


@pytest.mark.every_store
@pytest.mark.parametrize("kind", ["sqlite"])
async def test_a_restart_forgets_nothing(tmp_path: Path, kind: str) -> None:
    """A4, A7, L1, L2: same ids, same bindings, the same answer is taken once, ever."""
    async with served(kind, tmp_path) as server:
        client = server.client(kit(server).mailing, thread="t")
        first = await client.say()
    async with served(kind, tmp_path) as server:
        tools = kit(server)
        client = server.client(tools.mailing, thread="t")
        assert (await client.connect()).interrupts == first.interrupts
        entries = client.entries(approve(), approve(), approve())
        await client.resume(*entries)
        assert [e[0] for e in server.effects] == ["email"] * 3
    async with served(kind, tmp_path) as server:
        client = server.client(kit(server).mailing, thread="t")
        assert (await client.run(resume=entries)).outcome == "success"
        assert server.effects == []


@requirement("ID-04")
async def test_a_server_that_is_stuck_inside_a_tool_loses_the_thread_and_runs_nothing_twice(
    server: Server, tools: Kit
) -> None:
    """B2, L7: after the takeover a person is asked; the late result counts no more."""
    stuck, wakes = asyncio.Event(), asyncio.Event()

    @server.app.tool()
    async def charge() -> str:
        server.effects.append("charged")
        stuck.set()
        await wakes.wait()
        return "too late"

    async def agent(turn: Turn) -> None:
        await turn.say(str(await turn.call(charge)))

    client = server.client(agent)
    client.user("go")
    exchange = client.open()
    async with asyncio.timeout(PATIENCE):
        await stuck.wait()
    server.store.fail("renew", times=1000)
    other = server.another()
    other.add_tools(*server.app.tools)
    other.agent(client.agent)(agent)
    async with other.lifespan():
        fresh = client.again(app=other)
        await taken_over(server, client)
        (question,) = (await fresh.connect()).interrupts
        options = question["responseSchema"]["properties"]["action"]["oneOf"]
        assert [o["const"] for o in options] == ["run_again", "skip", "stop"]
        run = await fresh.resume(answer({"action": "skip", "result": "it went through"}))
        assert run.text == "it went through"
        stored = server.dump()
        wakes.set()
        assert (await exchange.end()).outcome == "lease_lost"
        assert server.dump() == stored
    assert server.effects == ["charged"]


@requirement("ER-13", "TR-17")
async def test_a_retry_after_a_shutdown_is_shown_what_another_server_made_of_it(
    server: Server,
) -> None:
    """Design 4: the body that said `shutting_down` was not the run's own, so nothing runs again."""
    stuck, wakes = asyncio.Event(), asyncio.Event()

    async def work() -> str:
        server.effects.append("work")
        if len(server.effects) == 1:
            stuck.set()
            await wakes.wait()
        return "done"

    async def agent(turn: Turn) -> None:
        await turn.say(await turn.step.options(idempotent=True)(work))

    client = server.client(agent)
    client.user("go")
    exchange = client.open()
    async with asyncio.timeout(PATIENCE):
        await stuck.wait()
    await server.app._engine.stop(grace=0.01)
    assert (await exchange.end()).outcome == "shutting_down"
    other = server.another()
    other.agent(client.agent)(agent)
    async with other.lifespan():
        await taken_over(server, client)
        client.app = other
        run = await client.run()
        assert run.outcome == "success"
        assert run.snapshot[-1]["content"] == "done"
        wakes.set()
    assert server.effects == ["work", "work"]


async def test_an_app_that_is_started_again_runs_what_it_takes(tmp_path: Path) -> None:
    """Design 6: its lifespan may come twice in one process; tools in threads have theirs again."""
    server = Server("sqlite", tmp_path)

    @server.app.tool()
    def look() -> str:
        return "seen"

    async def agent(turn: Turn) -> str:
        return str((await turn.call(look)).value)

    client = server.client(agent)
    try:
        for _ in range(2):
            async with server.app.lifespan():
                async with asyncio.timeout(PATIENCE):
                    assert (await client.say()).last["result"] == "seen"
    finally:
        await server.store.inner.close()
