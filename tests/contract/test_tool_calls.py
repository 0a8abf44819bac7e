"""Gated calls: proposed whole, decided by a strict yes, run once, answered once (section 13)."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel, field_serializer

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
    assert proposal["content"] == run.text
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
        calls = [ToolCall(tools.email, {"to": "ann"})] * 3
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
        await turn.call(pay, {"amount": "1500"})

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
            answered = await turn.interrupt("shop:any", "?", schema={"title": "Any"})
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
        approval=approval.always(remember=True), editable=True, complete=True, on_error="ask"
    )
    async def transfer(to: str, amount: float = 1.0) -> str:
        return f"{amount} to {to}"

    async def agent(turn: Turn) -> str:
        choices = [Option("Go", "go", "It goes."), Option("Stay", "stay", "It stays.")]
        chosen = await turn.decide(why="So.", planned_action="Go.", options=choices)
        sure = await turn.interrupt("confirmation", "Sure?")
        done = await turn.call(transfer, {})
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


class Rounding(BaseModel):
    amount: float

    @field_serializer("amount")
    def _rounded(self, amount: float) -> float:
        return round(amount)


async def test_a_call_that_would_run_with_another_value_is_not_made(server: Server) -> None:
    """Whether anybody is asked or not; an edit of the kind is refused where it stands."""

    async def run(bill: Rounding) -> str:
        server.effects.append(bill.amount)
        return "paid"

    free = server.app.tool(name="free")(run)
    asked = server.app.tool(name="asked", approval=approval.always, editable=True)(run)

    async def agent(turn: Turn) -> None:
        amount = float(turn.input.text.split()[1])
        tool = asked if "ask" in turn.input.text else free
        await turn.call(tool, {"bill": {"amount": amount}})

    for text in ("free 1.4", "ask 1.4"):
        client = server.client(agent)
        run_ = await client.say(text)
        assert run_.last["type"] == "RUN_ERROR"
        assert not run_.of("TOOL_CALL_START")
    client = server.client(agent)
    await client.say("ask 2")
    refused = await client.resume(approve(editedArgs={"bill": {"amount": 1.4}}))
    (problem,) = refused.last["metadata"]["sayso"]["interrupts"][0]["problems"]
    assert problem["pointer"] == "/editedArgs/bill"
    assert server.effects == []
    await client.resume(approve(editedArgs={"bill": {"amount": 3.0}}))
    assert server.effects == [3.0]


@requirement("TC-03")
async def test_a_call_right_behind_a_text_belongs_to_its_message(
    server: Server, tools: Kit
) -> None:
    """On the wire and in the store: some clients look for a card in the last message alone."""

    async def agent(turn: Turn) -> None:
        await turn.say("Looking it up.", metadata={"mine": 1})
        await turn.call_all([ToolCall(tools.lookup, {"order_id": "A-17"}), refund_of(tools)])
        await turn.stream(pieces("And ", "again."))
        await turn.call(tools.refund, order_id="B-2", amount=240.0)

    client = server.client(agent)
    runs = [await client.say(), await client.resume(approve())]
    for run, text in zip(runs, ("Looking it up.", "And again."), strict=True):
        (said,) = run.of("TEXT_MESSAGE_START")
        assert {e["parentMessageId"] for e in run.of("TOOL_CALL_START")} == {said["messageId"]}
        (joined,) = [m for m in run.snapshot if m["id"] == said["messageId"]]
        assert (joined["content"], len(joined["toolCalls"])) == (text, len(run.of("TOOL_CALL_END")))
    await client.resume(approve())
    shown = (await client.again().connect()).snapshot
    roles = ["user", "assistant", "tool", "tool", "assistant", "tool"]
    assert [m["role"] for m in shown] == roles
    assert shown[1]["metadata"] == {"mine": 1}
    assert client.model.messages == shown


@requirement("TC-03")
async def test_a_call_that_does_not_follow_a_text_at_once_has_a_message_of_its_own(
    server: Server, tools: Kit
) -> None:
    """A record in between, a thought, or another voice: then it is no part of that text."""

    async def agent(turn: Turn) -> None:
        match turn.input.text:
            case "step":
                await turn.say("One.")
                await turn.step(server.effects.append, "between")
            case "thought":
                async with turn.reasoning() as thought:
                    await thought.write("Hm.")
            case "voices":
                said = asyncio.Event()

                async def other() -> None:
                    await turn.say("Two.")
                    said.set()

                async def mine() -> None:
                    await turn.say("One.")
                    await said.wait()
                    await turn.call(tools.refund, order_id="B-2", amount=240.0)

                await asyncio.gather(mine(), other())
                return
        await turn.call(tools.refund, order_id="B-2", amount=240.0)

    for way in ("step", "thought", "voices"):
        client = server.client(agent)
        run = await client.say(way)
        (call,) = run.of("TOOL_CALL_START")
        (proposal,) = [m for m in run.snapshot if m["id"] == call["parentMessageId"]]
        assert "content" not in proposal, way
        assert client.model.messages == run.snapshot


async def pieces(*texts: str) -> AsyncIterator[str]:
    """As a model's text comes."""
    for text in texts:
        yield text


def refund_of(tools: Kit) -> ToolCall:
    """A gated call."""
    return ToolCall(tools.refund, {"order_id": "A-17", "amount": 240.0})


async def test_what_a_gated_call_takes_is_more_than_its_schema_says(
    server: Server, tools: Kit
) -> None:
    """Plain keywords go out, for clients that show their own buttons; the rest holds as well."""
    client = server.client(tools.refunding)
    asked = (await client.say()).interrupts[0]["responseSchema"]
    assert "additionalProperties" not in asked
    assert "maxLength" not in asked["properties"]["reason"]
    for payload, pointer in (
        ({"approved": True, "more": 1}, "/more"),
        ({"approved": False, "reason": "x" * 2001}, "/reason"),
    ):
        run = await client.run(resume=client.entries(answer(payload)))
        assert run.outcome == "invalid_payload"
        assert run.details["interrupts"][0]["problems"][0]["pointer"] == pointer
    assert server.effects == []
    run = await client.run(resume=client.entries(answer({"approved": True, "reason": "x" * 2000})))
    assert (run.outcome, len(server.effects)) == ("success", 1)


@pytest.mark.parametrize(("proposed", "edited"), [(50.0, 500.0), (500.0, 50.0)])
async def test_rules_weigh_the_arguments_that_a_breakpoint_left(
    server: Server, proposed: float, edited: float
) -> None:
    """TB-15: what a rule asks about is what would run, not what the agent had proposed."""

    @server.app.tool(approval=approval.when(lambda amount: amount > 100))
    async def pay(amount: float) -> str:
        server.effects.append(amount)
        return "Paid."

    async def agent(turn: Turn) -> None:
        await turn.call(pay, amount=proposed)

    client = client_of(server, agent, breakpoints=Breakpoints(before="pay"))
    await client.say()
    run = await client.resume(answer({"action": "continue", "editedArgs": {"amount": edited}}))
    if edited > 100:
        (card,) = run.interrupts
        assert card["metadata"]["sayso"]["arguments"] == {"amount": edited}
        assert (card["reason"], server.effects) == ("tool_call", [])
        run = await client.resume(approve())
    assert (run.outcome, server.effects) == ("success", [edited])


async def test_a_rule_forbids_what_a_breakpoint_made_of_a_call(server: Server) -> None:
    """TB-07: refused where it was written, as at a card; what was proposed may still run."""

    @server.app.tool(approval=approval.deny(lambda amount: amount > 100))
    async def pay(amount: float) -> str:
        server.effects.append(amount)
        return "Paid."

    async def agent(turn: Turn) -> None:
        await turn.say((await turn.call(pay, amount=50.0)).status)

    client = client_of(server, agent, breakpoints=Breakpoints(before="pay"))
    await client.say()
    run = await client.resume(answer({"action": "continue", "editedArgs": {"amount": 500.0}}))
    assert (run.outcome, server.effects) == ("invalid_payload", [])
    await client.resume(answer({"action": "continue"}))
    assert server.effects == [50.0]
