"""Tools that ask a person before their effect: the same call asks, and then runs again."""

import asyncio
import re
from typing import Any

import pytest
from pydantic import BaseModel

from sayso import AskFirst, Sayso, ToolCall, Turn, approval, current_call
from sayso.turns.calls.results import UNANSWERED_FIRST
from tests.contract.rest import post, reached
from tests.contract.server import Client, Server, answer, approve, cancel, deny
from tests.contract.test_expiry import until_idle
from tests.contract.test_forks import forked

Json = dict[str, Any]


class Seat(BaseModel):
    """What a person chooses."""

    row: int


def tools(server: Server, app: Sayso | None = None) -> None:
    """Tools that ask in each way."""
    app = app or server.app

    @app.tool(title="Pay {amount}")
    async def pay(amount: int) -> str:
        call = current_call()
        if call.answer is None and amount > 100:
            raise AskFirst(editable=True)
        server.effects.append(f"paid {amount}")
        return f"paid {amount} at {call.attempt}, {call.approver}"

    @app.tool(on_error="ask")
    def seat(flight: str) -> str:
        call = current_call()
        if call.answer is None:
            raise AskFirst(f"Which row of {flight}?", schema=Seat, metadata={"shop": 1})
        assert call.answer.value is not None
        if call.answer.value["row"] == 13:
            raise AskFirst("Not 13. Which one?", schema={"type": "object"})
        server.effects.append(call.answer.value)
        return f"row {call.answer.value['row']}, {call.answer.by}, {call.answer.question}"

    @app.tool(approval=approval.when(lambda amount: amount > 10, name="over"), editable=True)
    async def wire(amount: int) -> str:
        if current_call().answer is None:
            raise AskFirst("Really wire it?")
        server.effects.append(f"wired {amount}")
        return str(current_call().approver)

    @app.tool()
    async def always(n: int) -> str:
        server.effects.append(n)
        raise AskFirst("Again?")


def calling(name: str, **arguments: Any) -> Any:
    async def agent(turn: Turn) -> Any:
        done = await turn.call(name, arguments)
        return [done.status, done.value, done.args]

    return agent


async def test_it_asks_for_an_approval_and_runs_again(server: Server) -> None:
    """One call, one id, one card as of any gated tool, and one result."""
    tools(server)
    client = server.client(calling("pay", amount=240))
    run = await client.say()
    (item,) = run.interrupts
    (start,) = run.of("TOOL_CALL_START")
    assert (item["reason"], item["toolCallId"]) == ("tool_call", start["toolCallId"])
    shown = item["metadata"]["sayso"]
    assert shown["title"] == "Pay 240"
    assert shown["arguments"] == {"amount": 240}
    assert shown["because"] == "The tool asks before it goes on."
    assert server.effects == []
    run = await client.resume(approve())
    assert run.last["result"] == ["executed", "paid 240 at 2, local", {"amount": 240}]
    assert list(run.results) == [start["toolCallId"]]
    assert not run.of("TOOL_CALL_START")
    assert server.effects == ["paid 240"]


async def test_its_arguments_may_be_edited_and_run_as_edited(server: Server) -> None:
    """What is edited so that it need not ask does not."""
    tools(server)
    client = server.client(calling("pay", amount=240))
    await client.say()
    refused = await client.resume(approve(editedArgs={"amount": "much"}))
    assert refused.outcome == "invalid_payload"
    run = await client.resume(approve(editedArgs={"amount": 120}))
    assert run.last["result"] == ["executed", "paid 120 at 2, local", {"amount": 120}]
    assert server.effects == ["paid 120"]


async def test_a_denial_closes_it_and_the_same_call_is_not_asked_about_again(
    server: Server,
) -> None:
    """Within the turn, until the user speaks."""
    tools(server)

    async def agent(turn: Turn) -> Any:
        first = await turn.call("pay", {"amount": 240})
        second = await turn.call("pay", {"amount": 240})
        return [first.status, first.reason, second.status, second.text]

    client = server.client(agent)
    await client.say()
    run = await client.resume(deny("too dear"))
    status, reason, again, text = run.last["result"]
    assert (status, reason, again) == ("denied", "too dear", "denied")
    assert "has denied this very call already" in text
    assert server.effects == []


async def test_it_asks_for_a_value_as_often_as_it_needs_one(server: Server) -> None:
    """The answer is a JSON value; each question is one of its own, of the same call."""
    tools(server)
    client = server.client(calling("seat", flight="LX 1"))
    run = await client.say()
    (item,) = run.interrupts
    assert (item["reason"], item["message"]) == ("input_required", "Which row of LX 1?")
    assert item["metadata"]["shop"] == 1
    assert item["metadata"]["sayso"]["tool"] == "seat"
    assert item["responseSchema"]["properties"]["row"]["type"] == "integer"
    refused = await client.resume(answer({"row": "x"}))
    assert refused.outcome == "invalid_payload"
    run = await client.resume(answer({"row": 13}))
    (second,) = run.interrupts
    assert second["toolCallId"] == item["toolCallId"]
    assert second["id"] != item["id"]
    run = await client.resume(answer({"row": 7}))
    assert run.last["result"][1] == "row 7, local, Not 13. Which one?"
    assert server.effects == [{"row": 7}]


@pytest.mark.parametrize("expires", [False, True])
async def test_a_value_that_nobody_gives_leaves_the_call_unmade(
    server: Server, expires: bool
) -> None:
    """A tool never goes on with no answer for an answer."""
    tools(server)
    server.app.agent("short", expires_in=60)(calling("seat", flight="LX 1"))
    client = server.client("short")
    await client.say()
    if expires:
        await server.clock.advance(62)
        await until_idle(server, client)
    else:
        await client.resume(cancel())
    run = await client.again().connect()
    (said,) = [m["content"] for m in run.snapshot if m["role"] == "tool"]
    assert said == UNANSWERED_FIRST["expired" if expires else "cancelled"]
    assert server.effects == []


async def test_after_a_policy_s_card_it_is_a_second_one(server: Server) -> None:
    """An edit there meets the rules again: what they ask about is asked anew."""
    tools(server)
    client = server.client(calling("wire", amount=20))
    run = await client.say()
    assert run.interrupts[0]["metadata"]["sayso"]["rule"] == "over"
    run = await client.resume(approve())
    assert run.interrupts[0]["message"] == "Really wire it?"
    run = await client.resume(approve(editedArgs={"amount": 30}))
    assert run.interrupts[0]["metadata"]["sayso"]["rule"] == "over"
    assert run.interrupts[0]["metadata"]["sayso"]["arguments"] == {"amount": 30}
    run = await client.resume(approve())
    assert run.last["result"] == ["executed", "local", {"amount": 30}]
    assert server.effects == ["wired 30"]


async def test_an_edit_that_the_rules_let_pass_runs(server: Server) -> None:
    """Nobody has to be asked about it."""
    tools(server)
    client = server.client(calling("wire", amount=20))
    await client.say()
    await client.resume(approve())
    run = await client.resume(approve(editedArgs={"amount": 5}))
    assert run.last["result"] == ["executed", "local", {"amount": 5}]


async def test_the_ninth_time_it_fails(server: Server) -> None:
    """A tool that never has enough does not ask for ever."""
    tools(server)
    client = server.client(calling("always", n=1))
    await client.say()
    for _ in range(8):
        run = await client.resume(approve())
    assert run.last["result"] == ["failed", None, {"n": 1}]
    assert server.effects == [1] * 9
    assert "asked a person 8 times" in next(iter(run.results.values()))


async def test_several_in_a_batch_ask_together_beside_a_gated_one(server: Server) -> None:
    """One outcome; a free one ran before, once."""
    tools(server)

    @server.app.tool()
    async def free() -> str:
        server.effects.append("free")
        return "free"

    async def agent(turn: Turn) -> Any:
        calls = [
            ToolCall("pay", {"amount": 240}),
            ToolCall("free", {}),
            ToolCall("seat", {"flight": "LX 1"}),
            ToolCall("wire", {"amount": 20}),
        ]
        return [call.status for call in await turn.call_all(calls)]

    client = server.client(agent)
    run = await client.say()
    assert len(run.interrupts) == 3
    assert server.effects == ["free"]
    by_reason = {item["message"]: item["id"] for item in run.interrupts}
    row = by_reason.pop("Which row of LX 1?")
    entries = [answer({"row": 7}, interruptId=row)]
    entries += [approve() | {"interruptId": each} for each in by_reason.values()]
    run = await client.resume(*entries)
    (item,) = run.interrupts
    assert item["message"] == "Really wire it?"
    run = await client.resume(deny())
    assert run.last["result"] == ["executed", "executed", "executed", "denied"]
    assert sorted(map(str, server.effects)) == ["free", "paid 240", "{'row': 7}"]


async def test_it_asks_inside_an_inner_agent_and_inside_a_part(server: Server) -> None:
    """The question names where it comes from; a part may ask so itself, before anything."""
    tools(server)

    async def note() -> str:
        server.effects.append("planned")
        return "noted"

    @server.app.tool()
    async def trip(turn: Turn, town: str) -> Any:
        call = current_call()
        if call.answer is None:
            raise AskFirst(f"Plan {town}?")
        noted = await turn.step(note)
        assert call.answer.value is not None
        if call.answer.value.get("reason") != "sure":
            raise AskFirst("Sure?")
        return [noted, call.attempt, (await turn.call("pay", {"amount": 240})).value]

    async def inner(turn: Turn) -> Any:
        return (await turn.call("trip", {"town": "Bern"})).value

    async def agent(turn: Turn) -> Any:
        return await turn.delegate(inner, "go", name="planner")

    client = server.client(agent)
    run = await client.say()
    assert run.interrupts[0]["metadata"]["sayso"]["path"] == ["planner"]
    run = await client.resume(approve())
    assert run.interrupts[0]["message"] == "Sure?"
    run = await client.resume(approve(reason="sure"))
    (within,) = run.interrupts[0]["metadata"]["sayso"]["within"]
    assert within["name"] == "trip"
    run = await client.resume(approve())
    assert run.last["result"] == ["noted", 3, "paid 240 at 2, local"]
    assert server.effects == ["planned", "paid 240"]


async def test_a_stop_while_it_is_about_to_ask_leaves_it_unmade(server: Server) -> None:
    """Nothing happened, and its one result says so."""
    going, stopped = asyncio.Event(), asyncio.Event()

    @server.app.tool()
    async def slow() -> str:
        going.set()
        await stopped.wait()
        raise AskFirst("Now?")

    client = server.client(calling("slow"))
    client.user("go")
    exchange = client.open()
    await reached(going)
    assert (await post(server, f"/threads/{client.thread}/stop")).json == {"stopped": True}
    stopped.set()
    run = await exchange.end()
    assert run.outcome == "cancelled"
    fresh = client.again()
    run = await fresh.connect()
    (said,) = [m["content"] for m in run.snapshot if m["role"] == "tool"]
    assert said == "Not executed: the turn was stopped before anyone decided."
    assert fresh.model.pending == []


async def test_a_stop_while_it_waits_says_so(server: Server) -> None:
    """And the thread takes a new turn."""
    tools(server)
    client = server.client(calling("seat", flight="LX 1"))
    await client.say()
    assert (await post(server, f"/threads/{client.thread}/stop")).status in (200, 202, 204)
    run = await client.again().connect()
    (said,) = [m["content"] for m in run.snapshot if m["role"] == "tool"]
    assert said.startswith("Not executed: the turn was stopped")
    assert server.effects == []
    fresh = client.again()
    await fresh.connect()
    assert (await fresh.say()).outcome == "interrupt"


@pytest.mark.every_store
async def test_another_server_goes_on_with_it(server: Server) -> None:
    """What was asked and answered is in the record, on every store; so is which attempt it is."""
    tools(server)
    agent = calling("seat", flight="LX 1")
    client = server.client(agent)
    await client.say()
    there = server.another()
    tools(server, there)
    there.agent(client.agent)(agent)
    async with there.lifespan():
        later = client.again(app=there)
        await later.connect()
        run = await later.resume(answer({"row": 13}))
        assert run.interrupts[0]["message"] == "Not 13. Which one?"
        run = await later.resume(answer({"row": 7}))
        assert run.last["result"][1] == "row 7, local, Not 13. Which one?"
        assert server.effects == [{"row": 7}]
        await server.store.inner.open()


async def test_a_copy_at_the_tool_s_question_asks_the_rules_again(server: Server) -> None:
    """Who had said yes to the policy's card said it to one call, and not to the copy's too."""
    tools(server)
    client = server.client(calling("wire", amount=20))
    await client.say()
    run = await client.resume(approve())
    copy = await forked(server, client, run.interrupts[0]["id"])
    run = await copy.resume(approve())
    assert run.interrupts[0]["metadata"]["sayso"]["rule"] == "over"
    run = await copy.resume(approve())
    assert run.last["result"][0] == "executed"
    run = await client.resume(approve())
    assert run.last["result"][0] == "executed"
    assert server.effects == ["wired 20", "wired 20"]


async def test_a_copy_keeps_the_answers_before_its_question(server: Server) -> None:
    """The tool finds the answer of its last question, under the copy's own ids."""
    tools(server)
    client = server.client(calling("seat", flight="LX 1"))
    await client.say()
    run = await client.resume(answer({"row": 13}))
    asked = run.interrupts[0]["id"]
    await client.resume(answer({"row": 7}))
    copy = await forked(server, client, asked)
    run = await copy.resume(answer({"row": 8}))
    assert run.last["result"][1].startswith("row 8")
    assert server.effects == [{"row": 7}, {"row": 8}]


async def test_the_people_who_approve_the_call_answer_the_tool_as_well(server: Server) -> None:
    """What others have to approve is not the owner's to say."""

    @server.app.tool(approval=approval.always(by="lead"))
    async def fire() -> str:
        if current_call().answer is None:
            raise AskFirst("Really?")
        return "fired"

    client = server.client(calling("fire"))
    run = await client.say()
    assert run.interrupts[0]["metadata"]["sayso"]["approvers"]
    view = await server.store.load("default", client.thread)
    assert view is not None
    (item,) = view.interrupts
    assert item.terms.approvers is not None


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"message": 3}, "TypeError"),
        ({"schema": {"type": "nope"}}, "DeclarationError"),
        ({"schema": Seat, "editable": True}, "ValueError"),
        ({"metadata": {"a": object()}}, "does not|cannot be recorded"),
    ],
)
async def test_what_cannot_be_asked_fails_the_call(
    server: Server, members: Json, said: str
) -> None:
    """Nothing is asked, and the log has why."""

    @server.app.tool()
    async def odd() -> str:
        raise AskFirst(**members)

    async def agent(turn: Turn) -> Any:
        return (await turn.call("odd", {})).text

    run = await server.client(agent).say()
    assert re.search(said, run.last["result"])


async def test_an_agent_that_may_not_ask_fails(server: Server) -> None:
    """As with any question of it."""
    tools(server)
    server.app.agent("quiet", interrupts_enabled=False)(calling("pay", amount=240))
    run = await server.client("quiet").say()
    assert run.outcome == "interrupts_disabled"


async def test_a_step_cannot_ask_so(server: Server) -> None:
    """There is no call that it would be about."""

    async def asks() -> None:
        raise AskFirst("Now?")

    async def agent(turn: Turn) -> None:
        await turn.step(asks)

    client: Client = server.client(agent)
    assert (await client.say()).outcome == "agent_error"
