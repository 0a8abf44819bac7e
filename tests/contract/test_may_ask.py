"""Agents that may not ask a person: a question is an error that says so (`enabled: false`)."""

from itertools import permutations

import pytest

from sayso import ToolCall, Turn, approval
from tests.contract.rest import get
from tests.contract.server import Server
from tests.contract.tools import Kit


async def test_a_question_ends_the_turn_and_says_why(server: Server) -> None:
    """Whatever the code does about it; nothing is asked."""

    async def agent(turn: Turn) -> str:
        await turn.say("Working.")
        try:
            await turn.interrupt("confirmation", "Sure?")
        except Exception as error:
            server.effects.append(type(error).__name__)
        await turn.step(server.effects.append, "went on")
        return "done"

    server.app.agent("quiet", interrupts_enabled=False)(agent)
    client = server.client("quiet")
    run = await client.say()
    assert run.outcome == "interrupts_disabled"
    assert "'quiet'" in run.last["message"]
    assert "Sure?" in run.last["message"]
    assert "interrupts_enabled=False" in run.last["message"]
    assert server.effects == ["InterruptsDisabled"]
    assert (await get(server, "/interrupts"))["items"] == []


async def test_a_gated_call_gets_its_result_and_does_not_run(server: Server, tools: Kit) -> None:
    """TC-16: the call was proposed, so it is closed; free calls run as ever."""
    server.app.agent("quiet", interrupts_enabled=False)(tools.mailing)
    client = server.client("quiet")
    assert (await client.say()).outcome == "interrupts_disabled"
    await client.connect()
    results = [m["content"] for m in client.model.messages if m["role"] == "tool"]
    assert len(results) == 4
    assert sum(text.startswith("Not executed") for text in results) == 3
    assert server.effects == [("lookup", "A-17")]


@pytest.mark.parametrize("names", list(permutations(("part", "free", "gated"))), ids="-".join)
async def test_free_calls_run_beside_one_that_may_not_ask_and_a_part(
    server: Server, names: tuple[str, ...]
) -> None:
    """TC-16: the others of a batch run as ever, whatever kinds of tools are in it, in any order."""

    @server.app.tool(approval=approval.always)
    async def gated() -> None:
        server.effects.append("gated")

    @server.app.tool()
    async def free() -> str:
        server.effects.append("free")
        return "ran"

    @server.app.tool()
    async def part(turn: Turn) -> None:
        await turn.call(gated)

    async def agent(turn: Turn) -> None:
        await turn.call_all([ToolCall(name, {}) for name in names])

    server.app.agent("quiet", interrupts_enabled=False)(agent)
    client = server.client("quiet")
    assert (await client.say()).outcome == "interrupts_disabled"
    assert server.effects == ["free"]
    await client.connect()
    results = [m["content"] for m in client.model.messages if m["role"] == "tool"]
    assert len(results) == 3
    assert results.count("ran") == 1


async def test_capabilities_tell_that_it_does_not_ask(server: Server, tools: Kit) -> None:
    """CP-04: a declaration says only what holds."""
    server.app.agent("quiet", interrupts_enabled=False, kind="langgraph")(tools.greeting)
    told = await get(server, "/agents/quiet/capabilities")
    assert told["identity"]["type"] == "langgraph"
    assert set(told["humanInTheLoop"].values()) == {False}
    assert (await get(server, "/agents/quiet"))["options"]["interruptsEnabled"] is False
