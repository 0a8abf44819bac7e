"""What a request may do to a thread that waits for its client's own tools (design 4)."""

import asyncio

from tests.contract.frontend import OFFERED, both, left, left_open, mixed, picking, put
from tests.contract.optional import client_of, thread_of
from tests.contract.requirements import requirement
from tests.contract.server import Server, approve
from tests.contract.tools import Kit


@requirement("TC-12", "TC-14", "CR-3")
async def test_all_calls_that_were_left_are_answered_in_one_request(server: Server) -> None:
    """`partial="refuse"`: what is missing is named by the ids that the client knows."""
    client = server.client(both(server))
    first = await client.say(tools=OFFERED)
    pick, draw = left(first)
    assert first.last["outcome"]["pendingToolCallIds"] == [pick, draw]
    put(client, draw, "drawn")
    stored = server.dump()
    refused = await client.run()
    assert refused.outcome == "partial_resume"
    assert refused.details["toolCallIds"] == [pick]
    assert pick in refused.last["message"]
    assert "int_" not in refused.last["message"]
    assert server.dump() == stored
    put(client, pick, "picked")
    assert (await client.run()).last["result"] == "picked drawn"
    assert server.effects == ["went on"]


async def test_results_may_come_one_by_one_where_answers_may(server: Server) -> None:
    """`partial="accumulate"`: kept, though not shown, until the last one has come."""
    client = client_of(server, both(server), partial="accumulate")
    pick, draw = left(await client.say(tools=OFFERED))
    sent = put(client, draw, "drawn")
    kept = await client.run()
    assert (kept.outcome, kept.last["outcome"]) == ("success", {"type": "success"})
    assert sent in client.model.messages  # a page that lost it would run its tool again
    tab = client.again()
    await tab.connect()
    put(tab, pick, "picked")
    done = await tab.run()
    assert done.last["result"] == "picked drawn"
    told = [m["content"] for m in done.snapshot if m["role"] == "tool"]
    assert told == ["picked", "drawn"] or told == ["drawn", "picked"]
    assert server.effects == ["went on"]


@requirement("TR-03")
async def test_a_refusal_that_recovers_loses_no_result(server: Server, tools: Kit) -> None:
    """`refusals="recover"`: the snapshot shows what the page said, and stores none of it."""
    client = client_of(server, mixed(tools), refusals="recover")
    first = await client.say(tools=OFFERED)
    (item,) = first.interrupts
    (pick,) = [
        e["toolCallId"]
        for e in first.of("TOOL_CALL_START")
        if e["toolCallId"] != item["toolCallId"]
    ]
    sent = put(client, pick, "1")
    again = await client.run()
    assert again.interrupts[0]["metadata"]["sayso"]["problem"]["code"] == "partial_resume"
    assert sent in client.model.messages
    assert sent not in (await client.again().connect()).snapshot
    assert (await client.resume(approve())).last["result"] == "executed executed 1"


@requirement("OU-14", "OU-06")
async def test_an_answer_and_a_result_travel_in_one_request(server: Server, tools: Kit) -> None:
    """An interrupted run does not name the call, and neither half is enough."""
    client = server.client(mixed(tools))
    first = await client.say(tools=OFFERED)
    assert first.outcome == "interrupt"
    assert "pendingToolCallIds" not in first.last["outcome"]
    (item,) = first.interrupts
    (pick,) = [
        e["toolCallId"]
        for e in first.of("TOOL_CALL_START")
        if e["toolCallId"] != item["toolCallId"]
    ]
    half = await client.again().run(client.body(resume=[{"interruptId": item["id"], **approve()}]))
    assert (half.outcome, half.details["toolCallIds"]) == ("partial_resume", [pick])
    put(client, pick, "1")
    other_half = await client.again().run(client.body())
    assert other_half.outcome == "partial_resume"
    assert other_half.details["interrupts"] == [{"interruptId": item["id"]}]
    whole = await client.resume(approve())
    assert whole.last["result"] == "executed executed 1"
    assert server.effects == [("refund", "A-17", 240.0)]


async def test_who_answers_the_question_with_a_message_leaves_the_call(
    server: Server, tools: Kit
) -> None:
    """Design 4: covering answers and a new message; the call counts as unanswered."""
    client = server.client(mixed(tools))
    await client.say(tools=OFFERED)
    client.user("and now?")
    run = await client.resume(approve(), tools=OFFERED)
    assert run.outcome == "interrupt"  # of the turn that the message began
    view = await thread_of(server, client)
    statuses = [one.status for one in view.interrupts]
    assert statuses == ["open", "open"]
    assert server.effects == [("refund", "A-17", 240.0)]


async def test_an_answer_from_elsewhere_waits_for_the_result(server: Server, tools: Kit) -> None:
    """The inbox lists the question alone; what it answers is held until the client has spoken."""
    client = server.client(mixed(tools))
    first = await client.say(tools=OFFERED)
    (item,) = first.interrupts
    listed = (await server.request("GET", "/interrupts").end()).json["items"]
    assert [one["id"] for one in listed] == [item["id"]]
    told = await server.request(
        "POST",
        f"/interrupts/{item['id']}/answer",
        {"status": "resolved", "payload": {"approved": True}},
    ).end()
    assert (told.status, told.json) == (202, {"remaining": 1})
    calls = [one for one in left_open(await thread_of(server, client)) if one != item["id"]]
    for path in (f"/interrupts/{calls[0]}", f"/interrupts/{calls[0]}/answer"):
        method, body = (
            ("GET", b"") if path == f"/interrupts/{calls[0]}" else ("POST", {"status": "cancelled"})
        )
        assert (await server.request(method, path, body).end()).status == 404
    shown = (await server.request("GET", f"/threads/{client.thread}").end()).json
    (pick,) = shown["pendingToolCallIds"]
    assert (shown["openInterrupts"], shown["outcome"]) == (1, "interrupt")
    (summary,) = (await server.request("GET", "/threads").end()).json["items"]
    assert summary["openInterrupts"] == 1
    put(client, pick, "1")
    assert (await client.run()).last["result"] == "executed executed 1"


@requirement("TB-13")
async def test_a_tool_message_for_a_gated_call_is_still_ignored(server: Server, tools: Kit) -> None:
    """Design 4: it is neither approval nor result, also where another call is the client's."""
    client = server.client(mixed(tools))
    first = await client.say(tools=OFFERED)
    for event in first.of("TOOL_CALL_START"):
        put(client, event["toolCallId"], "done by me")
    run = await client.run()
    assert run.outcome == "partial_resume"
    assert server.effects == []
    run = await client.resume(approve())
    assert run.last["result"] == "executed executed done by me"
    assert [m["content"] for m in run.snapshot if m["role"] == "tool"] == ["done by me"]
    assert server.effects == [("refund", "A-17", 240.0)]


@requirement("ID-01", "TR-07")
async def test_a_request_that_brings_nothing_shows_the_thread_as_it_stands(server: Server) -> None:
    """A reload, a retry, an empty run: the call stays open, and is not made again."""
    client = server.client(picking(server))
    first = await client.say("go", tools=OFFERED)
    (call,) = left(first)
    for body in (client.body(), client.body(runId=first.events[0]["runId"])):
        again = await client.again().run(body)
        assert again.last["outcome"] == {"type": "success"}
        assert not again.of("TOOL_CALL_START")
    tab = client.again()
    assert (await tab.connect()).last["outcome"] == {"type": "success"}
    put(tab, call, "2")
    assert (await tab.run()).text == "executed: 2"
    assert server.effects == ["go", "go", ("executed", "2")]


@requirement("ID-07", "ID-06")
async def test_two_tabs_that_ran_the_tool_let_the_turn_go_on_once(server: Server) -> None:
    """The second result changes nothing: neither at the same time nor after it is all over."""
    client = server.client(picking(server))
    (call,) = left(await client.say("go", tools=OFFERED))
    one, two, late = client.again(), client.again(), client.again()
    for tab, content in ((one, "1"), (two, "2"), (late, "3")):
        await tab.connect()
        put(tab, call, content, id=f"by-{content}")
    runs = await asyncio.gather(one.run(), two.run())
    assert {run.outcome for run in runs} == {"success"}
    assert (await late.run()).outcome == "success"
    assert server.effects[0] == "go"
    steps = [effect for effect in server.effects if isinstance(effect, tuple)]
    assert len(steps) == 1
    assert server.effects.count("go") == 2
    told = [m["content"] for m in (await client.again().connect()).snapshot if m["role"] == "tool"]
    assert told == [steps[0][1]]


async def test_the_resume_list_cannot_name_such_a_call(server: Server) -> None:
    """D1: its id is nobody's business; a client that guessed it has guessed nothing."""
    client = server.client(picking(server))
    await client.say("go", tools=OFFERED)
    (guessed,) = left_open(await thread_of(server, client))
    entry = {"interruptId": guessed, "status": "resolved", "payload": {"content": "x"}}
    assert (await client.run(resume=[entry])).outcome == "unknown_interrupt"
    assert server.effects == ["go"]


async def test_another_agent_is_told_whose_call_it_is(server: Server) -> None:
    """Design 4, `wrong_agent`: the thread has something open, although its run was a success."""
    client = server.client(picking(server))
    await client.say("go", tools=OFFERED)
    other = server.client(picking(server), thread=client.thread)
    assert (await other.say("hello")).outcome == "wrong_agent"


@requirement("TC-09")
async def test_a_result_under_an_id_that_another_message_has_joins_the_history(
    server: Server,
) -> None:
    """A client whose counter begins anew: no call stays without a result, and none gets two."""
    client = server.client(both(server))
    run = await client.say("go", tools=OFFERED)
    used = client.model.messages[0]["id"]
    pick, draw = left(run)
    tab = client.again()
    put(tab, pick, "1", id=used)
    half = await tab.run(tools=OFFERED)
    assert half.outcome == "partial_resume"
    tab.model.messages = [m for m in tab.model.messages if m["role"] != "tool"]
    body = {
        "messages": [
            {"id": used, "role": "tool", "toolCallId": pick, "content": "1"},
            {"id": "t", "role": "tool", "toolCallId": draw, "content": "2"},
        ]
    }
    run = await tab.run(tab.body(tools=OFFERED, **body))
    assert run.last["result"] == "1 2"
    assert server.effects == ["went on"]
    shown = (await client.connect()).snapshot
    told = [(m["toolCallId"], m["content"]) for m in shown if m["role"] == "tool"]
    assert told == [(pick, "1"), (draw, "2")]
    assert [m["content"] for m in shown if m["role"] == "user"] == ["go"]
    assert len({m["id"] for m in shown}) == len(shown)
    assert (await client.say("and then?", tools=OFFERED)).outcome == "success"
    shown = (await client.connect()).snapshot
    assert [m["content"] for m in shown if m["role"] == "tool"] == ["1", "2"]


async def test_a_result_that_is_kept_is_kept_once_under_whatever_ids(server: Server) -> None:
    """A client that mints ids sends it again with each request: nothing is written for that."""
    client = client_of(server, both(server), partial="accumulate")
    pick, draw = left(await client.say(tools=OFFERED))
    tab = client.again()
    await tab.connect()
    for attempt in range(3):
        stored = server.dump()
        tab.model.messages = [m for m in tab.model.messages if m["role"] != "tool"]
        put(tab, draw, "drawn", id=f"minted-{attempt}")
        assert (await tab.run()).outcome == "success"
        assert attempt == 0 or server.dump() == stored
    put(tab, pick, "picked")
    assert (await tab.run()).last["result"] == "picked drawn"
