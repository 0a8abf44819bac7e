"""A client that was just loaded sees the thread as it stands (cases A, L, N)."""

import asyncio

import pytest

from sayso import Turn
from tests.contract.requirements import requirement
from tests.contract.server import Server, answer, approve, deny, eventually
from tests.contract.tools import Kit


async def test_a_thread_that_nobody_knows_is_empty(server: Server, tools: Kit) -> None:
    """Design 5: an empty, successful run, and nothing is made of it."""
    client = server.client(tools.greeting)
    stored = server.dump()
    run = await client.connect()
    assert run.types == ["RUN_STARTED", "RUN_FINISHED"]
    assert run.outcome == "success"
    assert server.dump() == stored


@requirement("RE-12", "OC-07", "IN-02")
async def test_a_waiting_thread_ends_in_its_open_interrupts(server: Server, tools: Kit) -> None:
    """A1, A4, A7: messages, state, and the very interrupts of the first run; answers work."""
    client = server.client(tools.mailing)
    first = await client.say()
    fresh = client.again()
    run = await fresh.connect()
    assert run.types == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_FINISHED"]
    assert run.interrupts == first.interrupts
    assert fresh.model.messages == client.model.messages
    done = await fresh.resume(approve(), approve(), deny())
    assert done.text == "executed, executed, executed, denied"


async def test_a_finished_thread_is_shown_whole(server: Server, tools: Kit) -> None:
    """A8: nothing waits any more, everything that was said is there."""
    client = server.client(tools.refunding)
    await client.say()
    await client.resume(approve())
    fresh = client.again()
    run = await fresh.connect()
    assert run.outcome == "success"
    assert fresh.model.messages == client.model.messages
    assert fresh.model.pending == []


async def test_a_failed_thread_is_shown_as_far_as_it_came(server: Server) -> None:
    """ER-13: loading a thread is not a failure, whatever its last run was."""

    async def agent(turn: Turn) -> None:
        await turn.say("Well, ")
        raise RuntimeError

    client = server.client(agent)
    await client.say()
    fresh = client.again()
    run = await fresh.connect()
    assert run.outcome == "success"
    assert [m["role"] for m in fresh.model.messages] == ["user", "assistant"]
    problem = run.last["metadata"]["sayso"]["problem"]
    assert problem["code"] == "agent_error"
    assert "RuntimeError" in problem["message"]


async def test_a_look_tells_of_a_failure_until_a_run_goes_well(server: Server) -> None:
    """ER-12: who comes back finds why nothing came of it, unless a later run went well."""
    broken = True

    async def agent(turn: Turn) -> None:
        if broken:
            raise RuntimeError
        await turn.say("Better.")

    client = server.client(agent)
    await client.say()
    assert "problem" in (await client.again().connect()).last["metadata"]["sayso"]
    broken = False
    await client.say("again")
    assert "metadata" not in (await client.again().connect()).last


@requirement("ER-13", "EN-11")
async def test_a_running_thread_is_followed_to_its_end(server: Server, tools: Kit) -> None:
    """A1, N4 by EN-11: what was said in full as a snapshot, what is open as a start, then live."""
    go_on = asyncio.Event()

    async def agent(turn: Turn) -> None:
        await turn.say("First.")
        async with turn.phase("work"), turn.message() as message:
            await message.write("Sec")
            await go_on.wait()
            await message.write("ond.")
        await turn.call(tools.refund, order_id="A-17", amount=240.0)

    client = server.client(agent)
    client.user("go")
    tab = client.open()
    await tab.when(lambda events: "Sec" in str(events))
    fresh = client.again()
    body = fresh.body(runId="loaded")
    reload = fresh.open(body, action="/connect")
    await reload.when(lambda events: "Sec" in str(events))
    await tab.disconnect()
    go_on.set()
    run = (await reload.end()).judged(client.thread, "loaded")
    fresh.model.take(run.events)
    assert run.outcome == "interrupt"
    contents = [m.get("content") for m in fresh.model.messages]
    assert contents == ["go", "First.", "Second.", None]
    assert fresh.model.messages == run.snapshot
    assert (await fresh.resume(approve())).outcome == "success"
    assert server.effects == [("refund", "A-17", 240.0)]


@pytest.mark.parametrize("when", ["RUN_STARTED", "TOOL_CALL_END", "RUN_FINISHED"])
@requirement("ER-13", "OC-15")
async def test_a_lost_client_loses_nothing(server: Server, tools: Kit, when: str) -> None:
    """A5, N1: closed after the first event, after the call, or at the end: the question waits."""
    client = server.client(tools.mailing)
    client.user("go")
    tab = client.open()
    await tab.until(when)
    await tab.disconnect()

    async def asked() -> bool:
        view = await server.store.load("default", client.thread)
        return view is not None and view.thread.holder is None

    await eventually(asked)
    fresh = client.again()
    assert len((await fresh.connect()).interrupts) == 3
    assert (await fresh.resume(approve(), deny(), deny())).outcome == "success"
    assert server.effects == [("lookup", "A-17"), ("email", "ann")]


async def test_a_client_that_goes_during_a_resume_gets_the_result_later(
    server: Server, tools: Kit
) -> None:
    """N1, ER-13: the tool runs once, and a replay of the answer shows the end."""
    client = server.client(tools.refunding)
    await client.say()
    (entry,) = client.entries(approve())
    tab = client.open(resume=[entry])
    await tab.disconnect()
    run = await client.run(resume=[entry])
    assert run.outcome == "success"
    assert server.effects == [("refund", "A-17", 240.0)]


async def test_another_replica_shows_and_answers_the_same_thread(
    server: Server, tools: Kit
) -> None:
    """L1, A4: two app objects on one store; the interrupt of one is answered at the other."""
    client = server.client(tools.filing)
    first = await client.say()
    other = server.another()
    other.agent(client.agent)(tools.filing)
    async with other.lifespan():
        fresh = client.again(app=other)
        assert (await fresh.connect()).interrupts == first.interrupts
        run = await fresh.resume(answer({"quarter": "Q1", "year": 2026}))
        assert run.outcome == "success"
    assert server.effects == [("filing", "Q1", 2026)]


async def test_two_threads_wait_apart(server: Server, tools: Kit) -> None:
    """O3, O8: one waits, another runs through; no id of one is in the stream of the other."""
    waiting, running = server.client(tools.refunding), server.client(tools.greeting)
    asked, said = await asyncio.gather(waiting.say("refund"), running.say("ann"))
    assert (asked.outcome, said.outcome) == ("interrupt", "success")
    assert waiting.thread.encode() not in said.body
    assert running.thread.encode() not in asked.body


async def test_connecting_at_another_agent_is_refused(server: Server, tools: Kit) -> None:
    """Design 4: a thread belongs to its agent."""
    client = server.client(tools.filing)
    await client.say()
    other = server.client(tools.greeting)
    other.thread = client.thread
    assert (await other.connect()).outcome == "wrong_agent"
