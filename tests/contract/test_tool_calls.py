"""Gated calls: proposed whole, decided by a strict yes, run once, answered once (section 13)."""

import json
from typing import Any

import pytest

from sayso import Breakpoints, Option, ToolCall, Turn, approval, current_call
from tests.contract.optional import client_of
from tests.contract.requirements import requirement
from tests.contract.server import Server, answer, approve, cancel, deny
from tests.contract.tools import Kit

Json = dict[str, Any]


@requirement("TB-01", "TC-01", "TC-02", "TC-03", "TC-04", "IN-05", "IN-15", "TR-09")
async def test_a_gated_call_is_streamed_whole_and_not_run(server: Server, tools: Kit) -> None:
    """TB-01, B11: START, ARGS, END and no result; the interrupt names the call."""
    client = server.client(tools.refunding)
    run = await client.say()
    calls = run.of("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT")
    assert [e["type"] for e in calls] == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]
    assert len({e["toolCallId"] for e in calls}) == 1
    arguments = {"order_id": "A-17", "amount": 240.0}
    assert json.loads(calls[1]["delta"]) == arguments
    (interrupt,) = run.interrupts
    assert (interrupt["reason"], interrupt["toolCallId"]) == ("tool_call", calls[0]["toolCallId"])
    assert interrupt["metadata"]["sayso"]["arguments"] == arguments
    assert server.effects == []
    proposal = run.snapshot[-1]
    assert proposal["id"] == calls[0]["parentMessageId"]
    assert "content" not in proposal
    assert json.loads(proposal["toolCalls"][0]["function"]["arguments"]) == arguments


@requirement("TB-02", "TB-03", "TB-04", "TC-06", "TC-10", "TR-10", "SB-06", "TR-11")
async def test_a_resumed_run_opens_with_the_thread_and_sends_only_the_result(
    server: Server, tools: Kit
) -> None:
    """TB-02, SB-06: snapshots first, no START or ARGS again, a fresh message id, once."""
    client = server.client(tools.refunding)
    first = await client.say()
    held = {message["id"] for message in client.model.messages}
    run = await client.resume(approve())
    assert run.types[:4] == [
        "RUN_STARTED",
        "MESSAGES_SNAPSHOT",
        "STATE_SNAPSHOT",
        "TOOL_CALL_RESULT",
    ]
    assert not run.of("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END")
    (result,) = run.of("TOOL_CALL_RESULT")
    assert result["toolCallId"] == first.interrupts[0]["toolCallId"]
    assert result["messageId"] not in held
    assert (result["role"], result["content"]) == ("tool", "Refunded 240.00.")
    assert server.effects == [("refund", "A-17", 240.0)]


@requirement("TB-05", "TB-06", "TB-15", "OC-09")
async def test_edited_arguments_replace_the_proposed_ones(server: Server, tools: Kit) -> None:
    """TB-05, J1, J5: what ran and that a reviewer changed it is in the result; TB-15."""
    client = server.client(tools.refunding)
    first = await client.say()
    properties = first.interrupts[0]["responseSchema"]["properties"]
    assert properties["editedArgs"]["properties"].keys() == {"order_id", "amount"}
    run = await client.resume(approve(editedArgs={"order_id": "B-2", "amount": 10}))
    assert server.effects == [("refund", "B-2", 10.0)]
    (content,) = run.results.values()
    assert "reviewer changed" in content and '"order_id":"B-2"' in content
    proposal = next(m for m in client.model.messages if "toolCalls" in m)
    assert "A-17" in proposal["toolCalls"][0]["function"]["arguments"]


@requirement("TB-07", "SE-03", "CR-6")
@pytest.mark.parametrize(
    ("edited", "pointer"),
    [
        ({"order_id": "B-2"}, "/editedArgs"),
        ({"order_id": "B-2", "amount": "much"}, "/editedArgs/amount"),
        ({"order_id": 5, "amount": 1}, "/editedArgs/order_id"),
        ({"order_id": "B-2", "amount": 1, "to": "me"}, "/editedArgs"),
        ({}, "/editedArgs"),
        ("B-2", "/editedArgs"),
    ],
)
async def test_an_edit_that_breaks_the_tool_s_schema_changes_nothing(
    server: Server, tools: Kit, edited: Any, pointer: str
) -> None:
    """TB-07, J5: refused with the place, still open, not run; a right edit works afterwards."""
    client = server.client(tools.refunding)
    await client.say()
    stored = server.dump()
    run = await client.resume(approve(editedArgs=edited))
    assert run.outcome == "invalid_payload"
    problems = run.details["interrupts"][0]["problems"]
    assert any(p["pointer"].startswith(pointer) for p in problems), problems
    assert (server.dump(), server.effects) == (stored, [])
    await client.resume(approve(editedArgs={"order_id": "B-2", "amount": 1}))
    assert server.effects == [("refund", "B-2", 1.0)]


@requirement("TB-05")
async def test_an_empty_edit_means_no_arguments(server: Server) -> None:
    """J6: an empty object is a full replacement, and defaults apply to it."""

    @server.app.tool(approval=approval.always, editable=True)
    async def list_files(path: str = "home") -> str:
        server.effects.append(path)
        return path

    async def agent(turn: Turn) -> None:
        await turn.call(list_files, path="secret")

    client = server.client(agent)
    await client.say()
    await client.resume(approve(editedArgs={}))
    assert server.effects == ["home"]


@requirement("TB-09", "TC-09", "OC-10")
@pytest.mark.parametrize(
    ("entry", "status", "said"),
    [
        (deny("over the limit"), "denied", "over the limit"),
        (deny(), "denied", "denied"),
        (cancel(), "cancelled", "cancelled"),
    ],
)
async def test_a_call_that_was_not_approved_has_one_result_that_says_so(
    server: Server, tools: Kit, entry: dict[str, Any], status: str, said: str
) -> None:
    """TB-09, H1, H3, V3: the tool is not run, the text says which ending it was."""
    client = server.client(tools.refunding)
    await client.say()
    run = await client.resume(entry)
    (content,) = run.results.values()
    assert content.startswith("Not executed")
    assert said in content
    assert run.text.startswith(f"{status}: ")
    assert server.effects == []
    again = await client.say("and now?")
    tools_shown = [m for m in client.model.messages if m["role"] == "tool"]
    assert len([m for m in tools_shown if m["content"] == content]) == 1
    assert again.outcome == "interrupt"


@requirement("CR-2", "OU-05", "IN-02")
async def test_equal_calls_are_told_apart_by_their_ids(server: Server, tools: Kit) -> None:
    """C3: three equal calls, three ids; approving the second runs the second."""

    async def agent(turn: Turn) -> None:
        calls = [ToolCall(tool=tools.email, args={"to": "ann"})] * 3
        await turn.call_all(calls)

    client = server.client(agent)
    first = await client.say()
    ids = [i["id"] for i in first.interrupts]
    calls = [i["toolCallId"] for i in first.interrupts]
    assert len(set(ids)) == len(set(calls)) == 3
    run = await client.resume(deny(), approve(), deny())
    assert server.effects == [("email", "ann")]
    assert run.results[calls[1]] == "Sent to ann."


async def test_the_rule_sees_what_the_tool_gets(server: Server) -> None:
    """J3, J4: coerced and defaulted before the rule, the card and the call."""
    seen: list[Any] = []

    def big(amount: float) -> bool:
        seen.append(amount)
        return amount > 1000

    @server.app.tool(approval=approval.when(big))
    async def pay(amount: float, currency: str = "EUR") -> str:
        server.effects.append((amount, currency))
        return "paid"

    async def agent(turn: Turn) -> None:
        await turn.call(pay, amount="1500")

    client = server.client(agent)
    run = await client.say()
    shown = run.interrupts[0]["metadata"]["sayso"]["arguments"]
    assert shown == {"amount": 1500.0, "currency": "EUR"}
    await client.resume(approve())
    assert server.effects == [(1500.0, "EUR")]
    assert seen == [1500.0]


async def test_the_tool_knows_who_asked_and_who_approved(server: Server) -> None:
    """O6, U2: from the authenticated request, never from the payload."""

    @server.app.tool(approval=approval.always)
    async def whoami() -> str:
        call = current_call()
        server.effects.append((call.principal.subject, call.approver))
        return "known"

    async def agent(turn: Turn) -> None:
        await turn.call(whoami)

    client = server.client(agent)
    await client.say()
    await client.resume(approve(reason="says the boss"))
    assert server.effects == [("local", "local")]


async def test_an_answer_reaches_the_author_as_it_was_sent(server: Server) -> None:
    """G1, G2, G6: types survive, falsy answers are answers."""
    values: list[Any] = ["", "yes", {"a": 1, "ok": True, "tags": ["a"]}, [1], 3, 0, False, "123"]
    got: list[Any] = []

    async def agent(turn: Turn) -> None:
        for _ in values:
            answered = await turn.interrupt("shop:any", "?", response={"title": "Any"})
            if len(got) < len(values):
                got.append(answered.value)
        server.effects[:] = got[-len(values) :]

    client = server.client(agent)
    await client.say()
    for value in values:
        got.clear()
        assert (await client.resume(answer(value))).outcome in ("interrupt", "success")
    assert server.effects == values
    assert [type(value) for value in server.effects] == [type(value) for value in values]


@requirement("TB-14", "SE-05", "RE-06")
async def test_proposal_decision_and_outcome_can_be_read_back(server: Server, tools: Kit) -> None:
    """TB-14, SE-05: from the store, after the turn has ended and its journal is gone."""
    client = server.client(tools.refunding)
    first = await client.say()
    edited = {"order_id": "B-2", "amount": 1.0}
    said = approve(editedArgs=edited, reason="less")
    await client.resume({**said, "metadata": {"note": "ok"}})
    (asked,) = first.interrupts
    view = await server.store.load("default", client.thread, interrupt_ids=[asked["id"]])
    assert view is not None
    (row,) = view.interrupts
    assert row.metadata is not None and b"A-17" in row.metadata
    assert json.loads(row.payload or b"") == said["payload"]
    assert json.loads(row.answer_metadata or b"") == {"note": "ok"}
    assert (row.status, row.decided_by, row.channel) == ("resolved", "local", "run")
    assert row.decided_at == server.clock.now()
    results = [json.loads(m.body) for m in view.messages if m.role == "tool"]
    assert [r["toolCallId"] for r in results] == [asked["toolCallId"]]


async def test_an_answer_that_fits_the_schema_is_enough(server: Server) -> None:
    """J7: of every kind of question, the smallest answer that its schema allows is taken."""

    @server.app.tool(
        approval=approval.ask(remember=True), editable=True, complete=True, on_error="ask"
    )
    async def transfer(to: str, amount: float = 1.0) -> str:
        return f"{amount} to {to}"

    async def agent(turn: Turn) -> str:
        choices = [Option("Go", "go", "It goes."), Option("Stay", "stay", "It stays.")]
        chosen = await turn.decide(why="So.", planned_action="Go.", options=choices)
        sure = await turn.interrupt("confirmation", "Sure?")
        done = await turn.call(transfer)
        return f"{chosen.action}, {sure.value}, {done}"

    agent_client = client_of(server, agent, breakpoints=Breakpoints(before="transfer"))
    run = await agent_client.say()
    kinds = []
    while run.outcome == "interrupt":
        (item,) = run.interrupts
        kinds.append(item["reason"])
        run = await agent_client.resume(answer(_smallest(item["responseSchema"])))
    assert kinds == [
        "sayso:decision",
        "confirmation",
        "input_required",
        "sayso:breakpoint",
        "tool_call",
    ]
    assert run.last["result"] == "go, True, 1.0 to x"


def _smallest(schema: Json) -> Any:
    """The least that a schema asks for: required members alone, each with its first value."""
    if "oneOf" in schema:
        return schema["oneOf"][0]["const"]
    if schema["type"] == "object":
        return {name: _smallest(schema["properties"][name]) for name in schema.get("required", ())}
    return {"boolean": True, "string": "x", "number": 0}[schema["type"]]
