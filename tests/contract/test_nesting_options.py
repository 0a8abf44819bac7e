"""What is declared of an inner agent holds inside another: its options, its version."""

from typing import Any

from sayso import Turn
from tests.contract.frontend import OFFERED, left, put
from tests.contract.optional import client_of
from tests.contract.replicas import replica
from tests.contract.server import Server, approve
from tests.contract.tools import Kit


async def test_the_options_of_the_inner_agent_hold_for_its_questions(server: Server) -> None:
    """Design 3: options are per agent, wherever it runs; a given time goes before them."""

    async def inner(turn: Turn) -> Any:
        return await turn.interrupt("confirmation", "Quick?")

    server.app.agent("hasty", expires_in=60)(inner)

    async def agent(turn: Turn) -> None:
        await turn.gather(turn.delegate("hasty"), turn.interrupt("confirmation", "Slow?"))

    run = await server.client(agent).say()
    expiry = {item["message"]: "expiresAt" in item for item in run.interrupts}
    assert expiry == {"Quick?": True, "Slow?": False}


async def test_an_agent_that_may_not_ask_does_not_ask_through_another(server: Server) -> None:
    """Whoever is switched off in the chain: a page that cannot answer is never left with a card."""

    async def inner(turn: Turn) -> Any:
        return await turn.interrupt("confirmation", "Sure?")

    async def agent(turn: Turn) -> None:
        await turn.delegate("asking")

    server.app.agent("asking")(inner)
    run = await client_of(server, agent, interrupts_enabled=False).say()
    assert run.outcome == "interrupts_disabled"
    server.app.agent("silent", interrupts_enabled=False)(inner)

    async def other(turn: Turn) -> None:
        await turn.delegate("silent")

    assert (await server.client(other).say()).outcome == "interrupts_disabled"


async def test_a_call_of_the_pages_tool_may_come_from_inside(server: Server) -> None:
    """The inner agent waits without a question of its own; its message says whose call it is."""

    async def inner(turn: Turn) -> str:
        return str(await turn.client_tool("pick"))

    async def agent(turn: Turn) -> Any:
        return await turn.delegate(inner)

    client = server.client(agent)
    run = await client.say(tools=OFFERED)
    (call,) = left(run)
    (started,) = run.of("SUBAGENT_STARTED")
    (ended,) = run.of("SUBAGENT_FINISHED")
    assert ended["outcome"] == {"type": "suspended"}
    (event,) = run.of("TOOL_CALL_START")
    assert event["subagentRunId"] == started["subagentRunId"]
    put(client, call, "this")
    run = await client.run()
    assert run.last["result"] == "this"
    made = [m for m in run.snapshot if m.get("toolCalls")]
    assert made[0]["subagentRunId"] == started["subagentRunId"]


async def test_an_inner_agent_of_a_version_that_is_gone_executes_nothing(
    server: Server, tools: Kit
) -> None:
    """Design 3, rule 9, K5: never a fresh run that claims success."""

    async def first(turn: Turn) -> str:
        return (await turn.call(tools.refund, order_id="A", amount=240.0)).status

    async def agent(turn: Turn) -> Any:
        return await turn.delegate("inner")

    server.app.agent("inner", version="1")(first)
    client = server.client(agent)
    await client.say()
    async with replica(server, (client.agent, agent)) as other:
        other.agent("inner", version="2")(first)
        tab = client.again(app=other)
        tab.model = client.model
        run = await tab.resume(approve())
        assert run.outcome == "replay_mismatch"
        assert "version '1'" in run.last["message"]
    assert server.effects == []
    run = await client.again().connect()
    assert len(run.interrupts) == 1
