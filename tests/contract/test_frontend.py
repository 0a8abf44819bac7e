"""Calls of tools that the client runs: left to it, answered by a tool message of a later run."""

from typing import Any

import pytest

from sayso import Turn
from sayso.base.errors import ToolNotOffered
from tests.contract.frontend import DRAW, OFFERED, left, picking, put
from tests.contract.optional import client_of, past, thread_of
from tests.contract.requirements import requirement
from tests.contract.server import Server


@requirement("TC-11", "TC-12", "TC-14", "TC-08", "TB-02", "OU-01")
async def test_the_run_ends_with_the_call_left_and_goes_on_with_its_result(server: Server) -> None:
    """Design 4: success, no result of ours; the client's own message stays in the history."""
    client = server.client(picking(server))
    first = await client.say("go", tools=OFFERED)
    (call,) = left(first)
    assert first.last["outcome"] == {"type": "success", "pendingToolCallIds": [call]}
    assert first.types.count("TOOL_CALL_RESULT") == 0
    message = put(client, call, "2")
    second = await client.run()
    assert (second.outcome, second.text) == ("success", "executed: 2")
    assert second.last["outcome"] == {"type": "success"}
    assert not second.of("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_RESULT")
    assert second.events[1]["type"] == "MESSAGES_SNAPSHOT"
    roles = [m["role"] for m in client.model.messages]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert message in (await client.again().connect()).snapshot
    assert server.effects == ["go", "go", ("executed", "2")]


@requirement("TC-12", "TR-13", "OC-02")
async def test_a_client_of_before_1_0_is_not_told_what_it_could_not_read(server: Server) -> None:
    """OB-08: the member is fatal to it, and what it stands for is in the stream."""
    client = server.client(picking(server), version=None)
    first = await client.say("go", tools=OFFERED)
    (call,) = left(first)
    assert first.last["outcome"] == {"type": "success"}
    put(client, call, "1")
    assert (await client.run()).text == "executed: 1"


async def test_the_same_call_twice_in_a_turn_is_made_once(server: Server) -> None:
    """Design 3: an identical call gets the earlier answer, one by one or at the same time."""

    async def agent(turn: Turn) -> str:
        first, beside = await turn.gather(turn.client_tool("pick"), turn.client_tool("pick"))
        again = await turn.client_tool("pick", {})
        other = await turn.client_tool("pick", {"from": 3})
        return " ".join(str(call) for call in (first, beside, again, other))

    client = server.client(agent)
    (call,) = left(await client.say(tools=OFFERED))
    put(client, call, "a")
    (other,) = left(await client.run())
    assert other != call
    put(client, other, "b")
    assert (await client.run()).last["result"] == "a a a b"


@requirement("TC-14", "TC-11", "TC-16")
async def test_a_message_instead_of_the_result_closes_the_call_for_the_model_alone(
    server: Server,
) -> None:
    """Design 4: the agent learns that it was unanswered; no client is shown a result."""
    seen: list[Any] = []

    async def agent(turn: Turn) -> None:
        seen.append(turn.input.messages)
        if turn.input.text == "go":
            picked = await turn.client_tool("pick")
            await turn.say(f"{picked.status}: {picked.reason}")
        else:
            await turn.say(f"You said {turn.input.text}.")

    client = server.client(agent)
    (call,) = left(await client.say("go", tools=OFFERED))
    run = await client.say("never mind", tools=OFFERED)
    assert run.outcome == "success"
    assert run.text == (
        "cancelled: the conversation went on before the client said what came of this call\n"
        "You said never mind."
    )
    assert not run.of("TOOL_CALL_RESULT")
    assert "tool" not in [m["role"] for m in (await client.again().connect()).snapshot]
    (word,) = [m for m in seen[-1] if m["role"] == "tool"]
    assert word["toolCallId"] == call
    assert word["content"].startswith("Unanswered")
    at = seen[-1].index(word)
    assert seen[-1][at - 1]["toolCalls"][0]["id"] == call
    assert [m["content"] for m in seen[-1] if m["role"] == "user"] == ["go", "never mind"]


async def test_what_the_client_says_of_a_failure_and_of_types_is_taken_at_its_word(
    server: Server,
) -> None:
    """TC-14: a failure is an answer; a result that is no such value is one as well."""

    async def agent(turn: Turn) -> Any:
        calls = await turn.gather(
            turn.client_tool("pick", {"n": 1}, schema=int),
            turn.client_tool("pick", {"n": 2}, schema=int),
            turn.client_tool("pick", {"n": 3}),
            turn.client_tool("pick", {"n": 4}, schema=Any),
        )
        return [[call.status, call.value, call.args] for call in calls] + [str(calls[2])]

    client = server.client(agent)
    one, two, three, four = left(await client.say(tools=OFFERED))
    put(client, one, "7")
    put(client, two, "seven")
    put(client, three, "", error="the window was closed")
    put(client, four, [{"type": "text", "text": "a picture"}])
    assert (await client.run()).last["result"] == [
        ["executed", 7, {"n": 1}],
        ["failed", None, {"n": 2}],
        ["failed", None, {"n": 3}],
        ["executed", [{"type": "text", "text": "a picture"}], {"n": 4}],
        "Failed: the window was closed",
    ]


async def test_a_tool_that_was_not_offered_is_not_called(server: Server) -> None:
    """CR-4 of the list: nothing is sent, and the author may do something else."""

    async def agent(turn: Turn) -> str:
        with pytest.raises(ToolNotOffered, match="offered: 'draw'"):
            await turn.client_tool("pick")
        answer = await turn.interrupt("input_required", "Which?", schema=str)
        return str(answer.value)

    client = server.client(agent)
    first = await client.say(tools=[DRAW])
    assert first.outcome == "interrupt"
    assert not first.of("TOOL_CALL_START")
    run = await client.resume({"status": "resolved", "payload": "this"}, tools=OFFERED)
    assert run.last["result"] == "this"


async def test_a_call_that_nobody_answers_in_time_lets_the_turn_go_on(server: Server) -> None:
    """Design 4, expiry: without a client; a result that comes too late changes nothing."""

    async def agent(turn: Turn) -> None:
        picked = await turn.client_tool("pick", expires_in=60)
        await turn.say(f"{picked.status}: {picked}")

    client = server.client(agent)
    (call,) = left(await client.say(tools=OFFERED))
    fresh = await past(server, client, 61)
    said = [
        m["content"] for m in fresh.model.messages if m["role"] == "assistant" and "content" in m
    ]
    assert said == [
        "expired: Unanswered: the client did not say in time what came of this call. "
        "Nobody knows whether it was carried out."
    ]
    put(client, call, "too late")
    late = await client.run()
    assert (late.outcome, late.types[-1]) == ("success", "RUN_FINISHED")
    assert not late.of("TEXT_MESSAGE_START")
    assert "tool" not in [m["role"] for m in late.snapshot]


async def test_a_result_after_its_time_is_refused_by_the_call_it_answers(server: Server) -> None:
    """EX-04, before the sweeper has come by; with `hold` only a message lets the turn go on."""

    async def agent(turn: Turn) -> str:
        return (await turn.client_tool("pick", expires_in=60)).status

    client = client_of(server, agent, on_expire="hold")
    (call,) = left(await client.say(tools=OFFERED))
    fresh = await past(server, client, 61)
    put(fresh, call, "late")
    refused = await fresh.run()
    assert refused.outcome == "interrupt_expired"
    assert refused.details["interrupts"][0]["toolCallId"] == call
    run = await fresh.say("go on", tools=OFFERED)
    assert len(left(run)) == 1  # the turn is over, and the message began one that calls again


@requirement("TC-11", "OU-07")
async def test_a_stop_leaves_the_call_without_a_result(server: Server) -> None:
    """Design 4: the code is not entered again, and the server makes up nothing."""
    client = server.client(picking(server))
    await client.say("go", tools=OFFERED)
    stopped = await server.request("POST", f"/threads/{client.thread}/stop", {}).end()
    assert stopped.json == {"stopped": True} or stopped.status == 200
    run = await client.again().connect()
    assert "tool" not in [m["role"] for m in run.snapshot]
    view = await thread_of(server, client)
    assert view.turn is not None
    assert view.turn.status == "cancelled"
    assert server.effects == ["go"]
    assert (await client.say("again", tools=OFFERED)).outcome == "success"
