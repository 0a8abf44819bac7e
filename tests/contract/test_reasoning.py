"""Reasoning through a whole server: sent once, kept with its seal, closed in order."""

import asyncio
from typing import Any

import pytest

from sayso import OpenMessage, Turn
from tests.contract.requirements import requirement
from tests.contract.server import Server, approve

THOUGHT = [
    "REASONING_START",
    "REASONING_MESSAGE_START",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END",
    "REASONING_ENCRYPTED_VALUE",
    "REASONING_END",
]


def of_reasoning(types: list[str]) -> list[str]:
    return [kind for kind in types if kind.startswith("REASONING")]


@requirement("RS-01", "RS-02", "RS-04", "MD-02")
async def test_a_thought_is_streamed_once_and_kept_with_its_seal(server: Server) -> None:
    """RS-01, RS-04: one span, one message; every snapshot restates the encrypted value."""

    async def agent(turn: Turn) -> None:
        async with turn.reasoning(metadata={"effort": None}) as thought:
            await thought.write("Two ")
            await thought.write("ways.")
            thought.encrypted = "c2VhbGVk"
        await turn.interrupt("confirmation", "Go on?")
        await turn.say("Done.")

    client = server.client(agent)
    run = await client.say()
    assert of_reasoning(run.types) == THOUGHT
    start, sealed = run.of("REASONING_MESSAGE_START", "REASONING_ENCRYPTED_VALUE")
    assert start["role"] == "reasoning"
    assert sealed["entityId"] == start["messageId"]
    kept = {
        "id": start["messageId"],
        "role": "reasoning",
        "content": "Two ways.",
        "encryptedValue": "c2VhbGVk",
        "metadata": {"effort": None},
    }
    assert kept in run.snapshot
    resumed = await client.resume(approve())
    assert of_reasoning(resumed.types) == []
    assert kept in resumed.snapshot
    assert kept in (await client.again().connect()).snapshot


@requirement("RS-03")
async def test_a_later_turn_gets_the_sealed_value_back_unchanged(server: Server) -> None:
    """RS-03: from the store, whatever a client made of it; or from the client that alone has it."""
    seen: list[Any] = []

    async def agent(turn: Turn) -> None:
        seen.append([m for m in turn.input.messages if m["role"] == "reasoning"])
        async with turn.reasoning(encrypted="one") as thought:
            await thought.write("Hm.")

    client = server.client(agent)
    await client.say()
    thought = next(m for m in client.model.messages if m["role"] == "reasoning")
    assert thought["encryptedValue"] == "one"
    client.model.messages = [
        {**m, "encryptedValue": "forged"} if m["role"] == "reasoning" else m
        for m in client.model.messages
    ]
    client.model.messages.append(
        {"id": "elsewhere", "role": "reasoning", "content": "?", "encryptedValue": "two"}
    )
    await client.say("again")
    assert [[m["encryptedValue"] for m in turn] for turn in seen] == [[], ["one", "two"]]


@requirement("RS-01", "RS-06", "LC-06")
async def test_a_pause_closes_the_message_and_then_its_span(server: Server) -> None:
    """RS-06: another branch asks while a model is still thinking."""

    async def agent(turn: Turn) -> None:
        thinking = asyncio.Event()

        async def think() -> None:
            async with turn.reasoning() as thought:
                await thought.write("Hm")
                thinking.set()
                await asyncio.get_running_loop().create_future()

        async def ask() -> None:
            await thinking.wait()
            await turn.interrupt("confirmation", "Go on?")

        await turn.gather(think(), ask())

    run = await server.client(agent).say()
    assert run.outcome == "interrupt"
    assert run.types[-5:] == [
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "STATE_SNAPSHOT",
        "MESSAGES_SNAPSHOT",
        "RUN_FINISHED",
    ]


@requirement("RS-01")
async def test_a_late_reader_is_shown_the_thought_so_far(server: Server) -> None:
    """Design 5, Readers: a start with what came through, then live; judged as any stream."""
    written, go_on = asyncio.Event(), asyncio.Event()

    async def agent(turn: Turn) -> None:
        async with turn.reasoning() as thought:
            await thought.write("Two ")
            written.set()
            await go_on.wait()
            await thought.write("ways.")

    client = server.client(agent)
    client.user("go")
    first = client.open()
    await written.wait()
    late = client.again()
    body = late.body(messages=[], state={})
    second = late.open(body, action="/connect")
    events = await second.until("REASONING_MESSAGE_CONTENT")
    assert [e["delta"] for e in events if e["type"] == "REASONING_MESSAGE_CONTENT"] == ["Two "]
    go_on.set()
    run = (await second.end()).judged(body["threadId"], body["runId"])
    assert [e["delta"] for e in run.of("REASONING_MESSAGE_CONTENT")] == ["Two ", "ways."]
    late.model.take(run.events)
    client.model.take((await first.end()).events)
    assert client.model.messages == late.model.messages


async def test_a_recorded_call_inside_a_thought_is_refused(server: Server) -> None:
    """Design 3, rule 6: a pause would cut what is open."""
    refused: list[str] = []

    async def agent(turn: Turn) -> None:
        async with turn.reasoning() as thought:
            await thought.write("Hm.")
            try:
                await turn.say("no")
            except OpenMessage as error:
                refused.append(str(error))

    run = await server.client(agent).say()
    assert run.outcome == "success"
    assert "leave the `async with" in refused[0]


async def test_a_thought_that_fails_is_kept_as_far_as_it_came(server: Server) -> None:
    """What readers have read is in the history, whatever became of the turn."""

    async def agent(turn: Turn) -> None:
        async with turn.reasoning() as thought:
            await thought.write("Hm")
            raise ValueError("the model is gone")

    client = server.client(agent)
    run = await client.say()
    assert run.outcome == "agent_error"
    shown = (await client.again().connect()).snapshot
    assert [m["content"] for m in shown if m["role"] == "reasoning"] == ["Hm"]


async def test_a_step_may_think(server: Server) -> None:
    """Design 3, rule 6: what a step emits goes out when it runs, and belongs to its record."""

    async def agent(turn: Turn) -> None:
        async def model() -> str:
            async with turn.reasoning(encrypted="s") as thought:
                await thought.write("Hm.")
            return "yes"

        said = await turn.step(model)
        await turn.interrupt("confirmation", "Sure?")
        await turn.say(said)

    client = server.client(agent)
    run = await client.say()
    assert [m.get("encryptedValue") for m in run.snapshot if m["role"] == "reasoning"] == ["s"]
    assert of_reasoning((await client.resume(approve())).types) == []


KIND = "maker.redacted"


@pytest.mark.parametrize("version", ["1.1", "1.0", None])
async def test_the_type_of_a_seal_goes_with_it_to_clients_that_know_it(
    server: Server, version: str | None
) -> None:
    """1.1, Reasoning: beside the value everywhere, for peers that declare 1.1; kept for all."""
    seen: list[Any] = []

    async def agent(turn: Turn) -> None:
        seen.extend(m for m in turn.input.messages if m["role"] == "reasoning")
        async with turn.reasoning(encrypted="c2VhbGVk", encrypted_type=KIND) as thought:
            await thought.write("Hm.")
        async with turn.reasoning(encrypted_type=KIND) as unsealed:
            await unsealed.write("So.")
        await turn.interrupt("confirmation", "Go on?")

    told = {"encryptedValueType": KIND} if version == "1.1" else {}
    client = server.client(agent, version=version)
    run = await client.say()
    (sealed,) = run.of("REASONING_ENCRYPTED_VALUE")
    assert {name: sealed[name] for name in sealed if name.startswith("encrypted")} == {
        "encryptedValue": "c2VhbGVk",
        **told,
    }
    for shown in (run.snapshot, (await client.again().connect()).snapshot):
        first, second = (m for m in shown if m["role"] == "reasoning")
        assert first.get("encryptedValueType") == told.get("encryptedValueType")
        assert not {"encryptedValue", "encryptedValueType"} & set(second)
    await client.resume(approve())
    await client.say("again")  # a 1.0 client returns the value alone: what is stored stays
    assert [m.get("encryptedValueType") for m in seen] == [KIND, None]


async def test_a_client_brings_the_type_of_a_seal_and_gets_it_back(server: Server) -> None:
    """Of a message and of a call; a type without its value is left out with a warning."""
    seen: list[Any] = []

    async def agent(turn: Turn) -> None:
        seen.extend(turn.input.messages)

    sealed = {"encryptedValue": "eA==", "encryptedValueType": KIND}
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}, **sealed}
    brought: list[dict[str, Any]] = [
        {"id": "r1", "role": "reasoning", "content": "Hm.", **sealed},
        {"id": "r2", "role": "reasoning", "content": "So.", "encryptedValueType": KIND},
        {"id": "a1", "role": "assistant", "toolCalls": [call]},
        {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "done", **sealed},
        {"id": "u1", "role": "user", "content": "go"},
    ]
    client = server.client(agent, version="1.1")
    run = await client.run(messages=brought)
    left = {name: brought[1][name] for name in ("id", "role", "content")}
    assert seen == [brought[0], left, *brought[2:]]
    assert "/messages/1/encryptedValueType" in str(run.events[0]["metadata"])
    shown = (await client.again().connect()).snapshot
    assert shown == seen
