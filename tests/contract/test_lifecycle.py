"""Runs begin and end in order, whatever they do (rules, sections 1, 2 and 5)."""

import asyncio

import pytest

from sayso import Turn
from tests.contract.requirements import requirement
from tests.contract.server import Server, answer, approve
from tests.contract.tools import Kit
from tests.contract.wire import undigested


@requirement("LC-01", "LC-02", "LC-03", "LC-08", "VN-01", "TR-39")
async def test_a_run_opens_once_and_ends_once_with_the_ids_of_its_request(server: Server) -> None:
    """LC-01, LC-02, LC-08: judged on every stream; here in the open."""

    async def agent(turn: Turn) -> None:
        await turn.say("Hello.")

    client = server.client(agent)
    run = await client.say("hi", runId="run-1")
    assert run.types == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    for boundary in (run.events[0], run.last):
        assert (boundary["threadId"], boundary["runId"]) == (client.thread, "run-1")
    assert run.events[0]["protocolVersion"] == "1.0"
    assert run.last["outcome"] == {"type": "success"}


@requirement("LC-06", "ST-02", "OU-03", "SB-01", "SB-02", "TR-31")
async def test_a_pause_closes_all_that_the_run_opened_before_it_shows_the_thread(
    server: Server, tools: Kit
) -> None:
    """LC-06, SB-02: the step is closed, then come both snapshots, then the outcome."""

    async def agent(turn: Turn) -> None:
        async with turn.phase("outer"), turn.phase("inner"):
            await turn.say("Working.")
            await turn.call(tools.refund, order_id="A-17", amount=240.0)
            await turn.say("Done.")

    client = server.client(agent)
    run = await client.say()
    assert run.outcome == "interrupt"
    assert run.types[-5:] == [
        "STEP_FINISHED",
        "STEP_FINISHED",
        "STATE_SNAPSHOT",
        "MESSAGES_SNAPSHOT",
        "RUN_FINISHED",
    ]
    assert [e["stepName"] for e in run.of("STEP_FINISHED")] == ["inner", "outer"]
    resumed = await client.resume(approve())
    assert [e["stepName"] for e in resumed.of("STEP_STARTED")] == ["outer", "inner"]
    assert [e["stepName"] for e in resumed.of("STEP_FINISHED")] == ["inner", "outer"]


@requirement("ST-01")
async def test_a_step_that_is_open_twice_is_shown_once(server: Server) -> None:
    """ST-01: the inner phase of the same name is part of the outer one."""

    async def agent(turn: Turn) -> None:
        async with turn.phase("work"), turn.phase("work"):
            await turn.say("Working.")

    run = await server.client(agent).say()
    assert run.types.count("STEP_STARTED") == run.types.count("STEP_FINISHED") == 1


@requirement("LC-07")
async def test_nothing_is_sent_after_an_error_and_what_was_said_stays(server: Server) -> None:
    """LC-04, LC-05, LC-07, H6: the error is the last event; earlier text is kept."""

    async def agent(turn: Turn) -> None:
        async with turn.message() as message:
            await message.write("Half a ")
            raise RuntimeError("secret cause")

    client = server.client(agent)
    run = await client.say()
    assert run.outcome == "agent_error"
    assert run.text == "Half a "
    assert run.types.count("RUN_ERROR") == 1
    assert b"secret cause" not in run.body


@requirement("LC-04", "LC-05", "LC-09")
async def test_the_body_ends_with_its_terminal_event(server: Server) -> None:
    """LC-09: the last chunk that is sent carries the ending, and the response is over."""

    async def agent(turn: Turn) -> None:
        await turn.say("Hello.")

    exchange = server.client(agent).open(messages=[{"id": "u", "role": "user", "content": "x"}])
    run = await exchange.end()
    assert exchange.sent[-1].endswith(b"}\n\n")
    assert run.last["type"] == "RUN_FINISHED"


@requirement("LC-12", "LC-20", "MS-03", "TX-05")
async def test_a_second_run_never_streams_what_the_first_one_did(
    server: Server, tools: Kit
) -> None:
    """LC-12, LC-20: ids of two runs are disjoint, history comes in the snapshot alone."""
    client = server.client(tools.asking_twice)
    runs = [await client.say(), await client.resume(answer({"approved": True}))]
    runs.append(await client.resume(answer({"approved": True})))
    runs.append(await client.say("and again"))
    streamed = [e["messageId"] for run in runs for e in run.of("TEXT_MESSAGE_START")]
    assert len(streamed) == len(set(streamed))
    held = [message["id"] for message in client.model.messages]
    assert len(held) == len(set(held))


@requirement("LC-28", "RE-14")
async def test_a_resumed_run_is_a_run_of_its_own_without_a_parent(
    server: Server, tools: Kit
) -> None:
    """LC-28, RE-14: own boundary events with the ids of its request, no parentRunId needed."""
    client = server.client(tools.filing)
    await client.say()
    run = await client.resume(answer({"quarter": "Q1", "year": 2026}), runId="another")
    assert run.events[0]["runId"] == run.last["runId"] == "another"
    assert "parentRunId" not in run.events[0]
    assert run.outcome == "success"


@requirement("LC-21")
@pytest.mark.parametrize("identifier", ["int_forged", "turn_1", "a/b:c#d e", "𝄞\u2028é", "x" * 512])
async def test_ids_of_clients_are_opaque(server: Server, tools: Kit, identifier: str) -> None:
    """LC-21: whatever they look like, they are echoed and mean nothing."""
    client = server.client(tools.greeting, thread=identifier)
    user = {"id": identifier, "role": "user", "content": "you"}
    run = await client.run(messages=[user], runId=identifier, rawEvent={"type": "RUN_FINISHED"})
    assert run.outcome == "success"
    assert run.events[0]["threadId"] == run.events[0]["runId"] == identifier
    assert (await client.connect()).snapshot[0] == user


@requirement("LC-22", "LC-23", "TR-20", "TR-12")
async def test_nulls_inside_data_are_kept_and_members_without_value_are_left_out(
    server: Server,
) -> None:
    """LC-22: the judge refuses any other null and any member the schema does not have."""

    async def agent(turn: Turn) -> None:
        await turn.set("/seen", None)
        schema = {"type": "object", "properties": {"a": {"default": None}}}
        await turn.interrupt("shop:ask", "?", schema=schema, metadata={"none": None})

    run = await server.client(agent).say()
    (interrupt,) = run.interrupts
    assert undigested(interrupt) == {"none": None}
    assert interrupt["responseSchema"]["properties"]["a"] == {"default": None}
    assert sorted(interrupt) == ["id", "message", "metadata", "reason", "responseSchema"]
    assert run.of("STATE_SNAPSHOT")[-1]["snapshot"] == {"seen": None}


@requirement("LC-10")
async def test_a_run_that_needs_a_person_ends_instead_of_waiting(
    server: Server, tools: Kit
) -> None:
    """LC-10, M4: no response is open and nothing runs while a question waits."""
    client = server.client(tools.filing)
    exchange = client.open(messages=[{"id": "u", "role": "user", "content": "x"}])
    run = await exchange.end()
    assert run.outcome == "interrupt"
    names = {task.get_name() for task in asyncio.all_tasks()}
    assert not any(client.thread in name for name in names)


@requirement("LC-26", "EX-07")
async def test_a_run_begins_with_the_time_of_the_server(server: Server, tools: Kit) -> None:
    """Whole milliseconds, for clients whose clock is wrong; no other event has a time."""
    client = server.client(tools.refunding)
    first = await client.say()
    await server.clock.advance(5)
    looked = await client.again().connect()
    refused = await client.run(resume=[{"interruptId": "int_nobody", "status": "cancelled"}])
    for run, since in ((first, 5000), (looked, 0), (refused, 0)):
        times = [event.get("timestamp") for event in run.events]
        assert times == [server.clock.now() - since, *[None] * (len(times) - 1)]


@requirement("TX-01", "TX-02", "TX-03", "TX-04", "TR-36")
async def test_a_text_message_is_one_start_its_deltas_and_one_end(server: Server) -> None:
    """TX-01 to TX-04: the role is spelled out, no empty or null delta leaves."""

    async def agent(turn: Turn) -> None:
        async with turn.message() as message:
            for piece in ("", "a", "", "b\r\n\u2028\0c", ""):
                await message.write(piece)
        await turn.say("")

    run = await server.client(agent).say()
    assert [e["role"] for e in run.of("TEXT_MESSAGE_START")] == ["assistant"] * 2
    assert all(e["delta"] for e in run.of("TEXT_MESSAGE_CONTENT"))
    assert run.text == "ab\r\n\u2028\0c"


@requirement("LC-11", "TR-06", "VN-09")
async def test_a_body_holds_one_run_also_in_a_replay(server: Server, tools: Kit) -> None:
    """LC-11, TR-06: what waits is in the last run, since there is no other."""
    client = server.client(tools.filing)
    first = await client.say()
    shown = await client.connect()
    assert shown.types.count("RUN_STARTED") == 1
    assert shown.interrupts == first.interrupts
