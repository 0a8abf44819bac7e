"""What models give and get: calls in pieces, histories in pairs, schemas that they take."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from sayso import ToolCall, Turn, approval, strip_keywords
from tests.contract.frontend import PICK, left, put
from tests.contract.requirements import requirement
from tests.contract.server import Server, approve, cancel, deny
from tests.contract.tools import Kit

Json = dict[str, Any]
Messages = Sequence[Mapping[str, Any]]
Provider = Callable[[Messages], None]


def chat(messages: Messages) -> None:
    """A provider to which each call's result follows its call, before anything else is said."""
    due: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            due.remove(message["toolCallId"])
            assert isinstance(message["content"], str)
            assert message["content"]
        else:
            assert not due, f"{message['role']} before the results of {due}"
            due = [call["id"] for call in message.get("toolCalls", ())]
    assert not due


def blocks(messages: Messages) -> None:
    """A provider with two roles that take turns; results are the first blocks of the next one."""
    turns: list[tuple[str, list[tuple[str, str]]]] = []
    for message in messages:
        if message["role"] == "tool":
            role, block = "user", ("result", message["toolCallId"])
        else:
            role, block = message["role"], ("text", message.get("content") or "")
        made = [block] if block[1] else []
        made += [("call", call["id"]) for call in message.get("toolCalls", ())]
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(made)
        else:
            turns.append((role, made))
    for (_, before), (_, after) in zip([("", []), *turns], [*turns, ("", [])], strict=True):
        calls = [of for kind, of in before if kind == "call"]
        results = [of for kind, of in after if kind == "result"]
        assert sorted(calls) == sorted(results)
        assert [kind for kind, _ in after][: len(results)] == ["result"] * len(results)


def parts(messages: Messages) -> None:
    """A provider that knows no ids: results by name, as many and in the order of the calls."""
    at = 0
    while at < len(messages):
        calls = messages[at].get("toolCalls", ())
        results = messages[at + 1 : at + 1 + len(calls)]
        assert [m["role"] for m in results] == ["tool"] * len(calls)
        assert {m["toolCallId"] for m in results} == {call["id"] for call in calls}
        at += 1 + len(calls)
        assert at == len(messages) or messages[at]["role"] != "tool"


@pytest.mark.parametrize("provider", [chat, blocks, parts])
@pytest.mark.parametrize("ends", [approve, deny, cancel])
async def test_histories_hold_for_providers_that_insist_on_pairs(
    server: Server, tools: Kit, provider: Provider, ends: Callable[[], Json]
) -> None:
    """H4: a batch with a free call, decided one way or the other, then what follows it."""

    async def agent(turn: Turn) -> None:
        history = turn.input.messages
        provider(history)
        if len([m for m in history if m["role"] == "user"]) == 1:
            await turn.say("I look, and ask.")
            await tools.mailing(turn)
            await turn.call(tools.lookup, order_id="B-2")
        else:
            await turn.say(f"{len(history)} messages")

    client = server.client(agent)
    await client.say()
    run = await client.resume(approve(), ends(), approve())
    assert len(run.results) == 4  # the first free call had its result before
    run = await client.say("and then?")
    assert (run.outcome, run.text) == ("success", "9 messages")


async def test_a_call_is_announced_once_whatever_ids_a_model_gives_its_pieces(
    server: Server, tools: Kit
) -> None:
    """B5: a piece under one id and the whole under another are one call; two alike are two."""
    to = {"to": "ann"}
    replies = {
        "one": [{"id": "X", "args": '{"to": "a'}, {"id": "Y", "args": json.dumps(to)}],
        "two": [{"id": "X", "args": json.dumps(to)}, {"id": "Y", "args": json.dumps(to)}],
    }

    async def agent(turn: Turn) -> None:
        calls = []
        for piece in await turn.step.options(name="model")(replies.__getitem__, turn.input.text):
            try:
                calls.append(ToolCall(tools.email, json.loads(piece["args"])))
            except ValueError:
                continue  # not whole yet
        done = await turn.call_all(calls)
        await turn.say(", ".join(call.status for call in done))

    for text, count in (("one", 1), ("two", 2)):
        client = server.client(agent)
        run = await client.say(text)
        started = [event["toolCallId"] for event in run.of("TOOL_CALL_START")]
        assert len(set(started)) == len(run.interrupts) == count
        assert [item["toolCallId"] for item in run.interrupts] == started
        assert not {"X", "Y"} & set(started)
        run = await client.resume(*[approve()] * count)
        assert run.text == ", ".join(["executed"] * count)


async def test_an_inner_model_is_not_asked_again_about_what_it_has_planned(
    server: Server, tools: Kit
) -> None:
    """K8: it would take another step by now; the call that waits is gone on with instead."""
    asked: list[str] = []

    def model() -> str:
        asked.append("planned")
        return ["refund", "look"][len(asked) - 1]

    async def inner(turn: Turn) -> str:
        if await turn.step(model) == "look":
            await turn.call(tools.lookup, order_id="A")
        return (await turn.call(tools.refund, order_id="A", amount=240.0)).status

    async def agent(turn: Turn) -> Any:
        return await turn.delegate(inner)

    client = server.client(agent)
    await client.say()
    run = await client.resume(approve())
    assert (run.outcome, run.last["result"]) == ("success", "executed")
    assert asked == ["planned"]
    assert server.effects == [("refund", "A", 240.0)]


class Stop(BaseModel):
    """Where a tour stops; nothing else may be said of it."""

    model_config = ConfigDict(extra="forbid")
    additionalProperties: str = ""  # called like the keyword


@requirement("TB-11")
async def test_a_schema_cleaned_for_a_model_leaves_the_one_of_the_form_as_it_was(
    server: Server,
) -> None:
    """S6: closed at two depths, for reviewers; open for a provider that takes no such keyword."""
    strict = {"type": "object", "properties": {"at": {"type": "string"}}}
    offered = {**PICK, "parameters": {**strict, "additionalProperties": False}}
    given: list[Json] = []

    @server.app.tool(approval=approval.always, editable=True)
    async def plan(stops: list[Stop]) -> str:
        return f"{len(stops)} stops"

    async def agent(turn: Turn) -> None:
        schemas = (plan.parameters, turn.input.tools[0]["parameters"])
        given.extend(strip_keywords(schema, "additionalProperties") for schema in schemas)
        await turn.call(plan, {"stops": [{}]})

    client = server.client(agent)
    run = await client.say(tools=[offered])
    (item,) = run.interrupts
    shown = item["responseSchema"]["properties"]["editedArgs"]
    assert '"additionalProperties":false' in json.dumps(shown, separators=(",", ":"))
    assert '"additionalProperties":false' not in json.dumps(given, separators=(",", ":"))
    kept = next(iter(given[0]["$defs"].values()))
    assert set(kept["properties"]) == {"additionalProperties"}
    assert given[1] == strict
    assert offered["parameters"]["additionalProperties"] is False
    edit = {"stops": [{}, {"more": 1}]}
    refused = await client.resume(approve(editedArgs=edit))
    assert refused.outcome == "invalid_payload"
    run = await client.resume(approve(editedArgs={"stops": [{}, {}]}))
    assert "2 stops" in next(iter(run.results.values()))


@requirement("TC-11")
async def test_a_clients_call_without_a_result_is_in_the_outcome(server: Server) -> None:
    """V7 by TC-11: a standard client sees that it is left to it, and answers it by its id."""

    async def agent(turn: Turn) -> None:
        await turn.say(str(await turn.client_tool("pick", {"from": [1, 2]})))

    client = server.client(agent)
    run = await client.say(tools=[PICK])
    (call,) = left(run)
    assert run.last["outcome"] == {"type": "success", "pendingToolCallIds": [call]}
    put(client, call, "2")
    assert (await client.run()).text == "2"


@pytest.mark.every_store
async def test_the_thread_id_of_the_client_is_the_only_key(server: Server) -> None:
    """D3: an agent may speak of another conversation, on every way that it has to do so."""

    async def agent(turn: Turn) -> None:
        await turn.set("", {"threadId": "conv-9", "conversationId": "conv-9"})
        await turn.custom("provider:conversation", {"threadId": "conv-9", "runId": "resp-9"})
        await turn.say("On it.", metadata={"threadId": "conv-9"})
        sure = await turn.interrupt("confirmation", "Sure?", metadata={"threadId": "conv-9"})
        await turn.step(server.effects.append, sure.value)

    client = server.client(agent)
    run = await client.say()
    assert {e["threadId"] for e in run.of("RUN_STARTED", "RUN_FINISHED")} == {client.thread}
    elsewhere = client.again(thread="conv-9")
    entries = client.entries(approve())
    assert (await elsewhere.run(resume=entries)).outcome == "unknown_interrupt"
    assert (await client.resume(approve())).outcome == "success"
    assert server.effects == [True]
