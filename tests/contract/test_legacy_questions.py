"""The older dialect, asking: `CUSTOM on_interrupt`, by agent and by request, reader by reader."""

import json
from typing import Any

import pytest

from sayso import Legacy, Turn
from tests.contract.legacy import asked_of, ids, open_on
from tests.contract.optional import client_of
from tests.contract.requirements import requirement
from tests.contract.server import Client, Server, approve
from tests.contract.tools import Kit


@requirement("LG-01", "LG-02", "LG-03", "LG-09", "LG-13", "TR-26")
@pytest.mark.parametrize("by", ["request", "agent"])
@pytest.mark.parametrize("version", ["1.0", None])
async def test_each_channel_asks_for_the_same_interrupts(
    server: Server, tools: Kit, by: str, version: str | None
) -> None:
    """F3: one interrupt, whatever it goes out by; the event is JSON text, right before the end."""
    for mode in ("standard", "legacy", "both"):
        options = {"legacy": Legacy(emission=mode)} if by == "agent" else {}
        plain = client_of(server, tools.mailing, **options)
        plain.version = version
        client = asked_of(plain, mode if by == "request" else None)
        run = await client.say()
        stored = [item.id for item in await open_on(server, client)]
        assert len(stored) == 3
        assert ids(run.asked) == ([] if mode == "standard" else stored)
        assert run.silent is (mode == "legacy")
        if mode != "legacy":
            assert [one["id"] for one in run.interrupts] == stored
        if mode == "both":
            assert [json.loads(value) for value in run.asked] == run.interrupts


async def test_nobody_is_asked_by_event_unasked(server: Server, tools: Kit) -> None:
    """LG-13: the default is the outcome alone, for old clients too."""
    client = server.client(tools.refunding, version=None)
    run = await client.say()
    assert (run.outcome, run.asked) == ("interrupt", [])


async def test_a_request_goes_before_its_agent(server: Server, tools: Kit) -> None:
    """Design 5: emission is chosen per agent or per request."""
    plain = client_of(server, tools.refunding, legacy=Legacy(emission="legacy"))
    run = await asked_of(plain, "standard").say()
    assert (run.outcome, run.asked) == ("interrupt", [])
    assert (await asked_of(plain, None).connect()).silent


@pytest.mark.parametrize(
    "query", ["interrupts=none", "interrupts=", "interrupts=both&interrupts=legacy", "interrupts"]
)
@pytest.mark.parametrize("action", ["", "/connect"])
async def test_an_unknown_channel_is_a_bad_request(
    server: Server, tools: Kit, query: str, action: str
) -> None:
    """Design 5: 400, before anything else, and nothing is changed."""
    client = server.client(tools.refunding)
    await client.say()
    stored = server.dump()
    run = await client.again().run(resume=[], action=f"{action}?{query}")
    assert (run.status, run.problem["code"]) == (400, "invalid_query")
    assert "standard, legacy, both" in run.problem["detail"]
    assert server.dump() == stored
    fine = await client.again().run(client.body(), action="/connect?interrupts=both&other=1")
    assert fine.outcome == "interrupt"


async def test_what_is_answered_is_not_asked_again(server: Server, tools: Kit) -> None:
    """F1: no `on_interrupt` in the run that answers, nor in any later one."""
    client = asked_of(server.client(tools.refunding))
    await client.say()
    done = await client.reply({"approved": True})
    assert (done.outcome, done.asked) == ("success", [])

    async def greets(turn: Turn) -> None:
        await turn.say("Hello.")

    server.app.agent(client.agent, version="2")(greets)
    assert (await client.say("and now?")).asked == []
    assert (await client.connect()).asked == []


@requirement("TR-29")
async def test_readers_of_one_run_are_asked_in_their_own_ways(server: Server) -> None:
    """Design 5: dialect and version are per reader, the first as well as those that join."""
    gate = server.clock

    async def agent(turn: Turn) -> None:
        await turn.say("One moment.")
        await gate.sleep(5)
        await turn.interrupt("input_required", "Which town?", schema=str)

    first = server.client(agent)
    first.user("go")
    body = first.body()
    running = [first.open(body)]
    await running[0].until("TEXT_MESSAGE_END")
    for mode in ("legacy", "both"):
        joined = first.open({**body, "messages": []}, action=f"/connect?interrupts={mode}")
        await joined.until("MESSAGES_SNAPSHOT")
        running.append(joined)
    await server.clock.advance(5)
    runs = [await one.end() for one in running]
    assert [len(run.asked) for run in runs] == [0, 1, 1]
    assert [run.silent for run in runs] == [False, True, False]
    assert runs[1].asked == runs[2].asked
    assert json.loads(runs[1].asked[0]) == runs[0].interrupts[0] == runs[2].interrupts[0]


async def test_a_reload_is_asked_as_the_page_was(server: Server, tools: Kit) -> None:
    """A1, A2: the question comes back by event, under the same id, in every mode."""
    client = asked_of(server.client(tools.refunding))
    first = await client.say()
    for mode in ("legacy", "both"):
        again = await asked_of(client, mode).connect()
        assert ids(again.asked) == ids(first.asked)
        assert again.types[-3:-2] == ["STATE_SNAPSHOT"]


@requirement("LG-02")
async def test_the_event_can_carry_the_message_alone(server: Server) -> None:
    """LG-03: for clients that show the value as it is; what has an empty message stays JSON."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("input_required", "Which town?", schema=str)
        await turn.interrupt("shop:pick", "", schema=str)

    client = asked_of(
        client_of(server, agent, legacy=Legacy(emission="legacy", value="message")), None
    )
    assert (await client.say()).asked == ["Which town?"]
    second = await client.reply("Rome")
    assert json.loads(second.asked[0])["reason"] == "shop:pick"
    assert (await client.reply("that one")).outcome == "success"


async def test_a_plain_message_is_told_the_question_again(server: Server, tools: Kit) -> None:
    """Design 5: that client has no other way back; what was typed has its turn in the end."""
    texts: list[str] = []

    async def agent(turn: Turn) -> None:
        texts.append(turn.input.text)
        if turn.input.text == "go":
            await tools.refunding(turn)

    for mode in ("legacy", "both"):
        texts.clear()
        client = asked_of(server.client(agent), mode)
        first = await client.say("go")
        stored = server.dump()
        run = await client.say("hello?")
        assert ids(run.asked) == ids(first.asked)
        assert server.dump() == stored
        assert "hello?" in [m.get("content") for m in client.model.messages]
        assert run.snapshot[-1]["metadata"]["sayso"]["code"] == "interrupts_pending"
        done = await client.reply({"approved": True})
        assert done.outcome == "success"
        assert texts == ["go", "go", "hello?"]


async def test_a_refusal_of_a_wrong_answer_is_told_as_the_agent_has_it(
    server: Server, tools: Kit
) -> None:
    """TR-03: an error by default, the card again under `recover`; in either way it is open."""
    for refusals in ("error", "recover"):
        client = asked_of(client_of(server, tools.refunding, refusals=refusals))
        first = await client.say()
        run = await client.reply({"approved": "yes"})
        if refusals == "error":
            assert run.outcome == "invalid_payload"
            assert run.asked == []
            await client.connect()
        else:
            assert ids(run.asked) == ids(first.asked)
            (value,) = run.asked
            assert json.loads(value)["metadata"]["sayso"]["problem"]["code"] == "invalid_payload"
        assert (await client.reply({"approved": True})).outcome == "success"
    assert len(server.effects) == 2


async def test_what_an_agent_speaks_is_declared(server: Server, tools: Kit) -> None:
    """LG-13: `GET /agents/{a}` shows the choice; an answer by outcome works in any mode."""
    client = client_of(server, tools.refunding, legacy=Legacy(emission="both", answers=False))
    shown: Any = (await server.request("GET", f"/agents/{client.agent}").end()).json["options"]
    assert shown["legacy"] == {"emission": "both", "value": "interrupt", "answers": False}
    await client.say()
    assert (await client.resume(approve())).outcome == "success"


async def test_a_tab_of_each_dialect_answers_the_other_ones_question(
    server: Server, tools: Kit
) -> None:
    """F2: one state; a thread opened in one dialect is answered in another, both ways."""
    for opened, answered in (("legacy", "standard"), ("standard", "legacy")):
        first = asked_of(server.client(tools.refunding), opened)
        await first.say()
        second = asked_of(Client(server.app, first.agent, thread=first.thread), answered)
        await second.connect()
        if answered == "standard":
            done = await second.resume(approve())
        else:
            done = await second.reply({"approved": True})
        assert done.outcome == "success"
        assert (await first.connect()).asked == []
    assert len(server.effects) == 2
