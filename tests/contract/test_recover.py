"""`refusals="recover"`: a refusal that clients can go on from, for every way to be refused."""

import asyncio
from typing import Any

import pytest

from sayso import Turn
from tests.contract.optional import client_of
from tests.contract.replicas import replica
from tests.contract.requirements import requirement
from tests.contract.server import Client, Server, answer, approve, deny, eventually
from tests.contract.tools import Kit
from tests.contract.wire import Run
from tests.patience import PATIENCE

SHOWN = ["MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"]
TOLD = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]


def problem(run: Run) -> list[Any]:
    """The problem of each interrupt, None where there is none."""
    return [i.get("metadata", {}).get("sayso", {}).get("problem") for i in run.interrupts]


def said(run: Run) -> dict[str, Any]:
    """The one message that tells of a refusal."""
    (message,) = [m for m in run.snapshot if m["id"].startswith("msg_problem_")]
    return message


def without_problem(run: Run) -> list[Any]:
    bodies = [dict(i) for i in run.interrupts]
    for body in bodies:
        sayso = {k: v for k, v in body["metadata"]["sayso"].items() if k != "problem"}
        body["metadata"] = {**body["metadata"], "sayso": sayso}
    return bodies


def three(run: Run, *entries: dict[str, object]) -> list[dict[str, object]]:
    return [
        {"interruptId": interrupt["id"], **entry}
        for interrupt, entry in zip(run.interrupts, entries, strict=False)
    ]


@requirement("TR-03", "OC-01", "RE-12", "SB-01")
@pytest.mark.parametrize(
    ("code", "entries", "concerned"),
    [
        ("interrupts_pending", (), (0, 1, 2)),
        ("partial_resume", (approve(), deny()), (2,)),
        ("invalid_payload", (approve(), answer({"approved": "yes"}), approve()), (1,)),
        ("duplicate_entry", (approve(), approve(), approve(), "deny"), (0,)),
        ("unknown_interrupt", (approve(), approve(), approve(), "foreign"), (0, 1, 2)),
    ],
)
async def test_a_refusal_over_open_interrupts_asks_them_again(
    server: Server, tools: Kit, code: str, entries: Any, concerned: Any
) -> None:
    """TR-03: the same ids, the problem on those concerned, one message; nothing stored or run."""
    client = client_of(server, tools.mailing, refusals="recover")
    first = await client.say()
    sent = three(first, *entries)
    if "deny" in entries:
        sent.append({**sent[0], **deny()})
    if "foreign" in entries:
        sent.append({"interruptId": "int_nobody", **approve()})
    stored, effects = server.dump(), list(server.effects)
    tab = client.again()
    tab.model.messages = list(client.model.messages)
    tab.user("and?")
    run = await tab.run(resume=sent)
    assert run.types == ["RUN_STARTED", *TOLD, *SHOWN, "RUN_FINISHED"]
    assert without_problem(run) == without_problem(first)
    problems = problem(run)
    assert [at for at, one in enumerate(problems) if one] == list(concerned)
    assert {one["code"] for one in problems if one} == {code}
    message = said(run)
    assert message["role"] == "assistant"
    assert run.text == message["content"], "some clients show a card with what its run streams"
    assert message["metadata"] == {"sayso": {"type": "problem", "code": code, "refused": True}}
    told = run.last["metadata"]["sayso"]
    assert (told["refused"], told["problem"]["code"]) == (True, code)
    assert message["content"].endswith(".")
    assert "int_" not in message["content"], "a person reads this, who knows no ids"
    if code == "invalid_payload":
        assert problems[1]["problems"][0]["pointer"] == "/approved"
    assert (server.dump(), server.effects) == (stored, effects)
    # What was typed is still there, and has its turn once the cards that came again are answered.
    assert tab.model.messages[-2]["content"] == "and?"
    done = await tab.resume(approve(), approve(), approve())
    assert done.outcome == "interrupt"
    assert [i["id"] for i in done.interrupts] != [i["id"] for i in first.interrupts]
    assert len([e for e in server.effects if e[0] == "email"]) == 3


@requirement("TR-03")
async def test_the_message_that_tells_of_a_refusal_is_never_stored(
    server: Server, tools: Kit
) -> None:
    """It is in the client's list and comes back with the next message; the server drops it."""
    client = client_of(server, tools.refunding, refusals="recover")
    await client.say()
    run = await client.resume(answer({"approved": 1}))
    told = said(run)["id"]
    assert told in [m["id"] for m in client.model.messages]
    await client.resume(approve())
    assert told not in server.dump()
    refused = await client.run(resume=[{"interruptId": "int_nobody", **approve()}])
    assert refused.outcome == "success"
    again = said(refused)["id"]
    await client.say("more")
    assert again not in server.dump()
    assert again not in [m["id"] for m in client.model.messages]


@requirement("ID-06", "OC-04")
async def test_a_refusal_over_settled_ones_ends_in_the_present_outcome(
    server: Server, tools: Kit
) -> None:
    """OC-04, TR-04: the client's list is cleared; the first answer stands, and is told."""
    client = client_of(server, tools.refunding, refusals="recover")
    await client.say()
    (entry,) = client.entries(approve())
    stale = client.again()
    await client.resume(entry)
    stored = server.dump()
    run = await stale.run(resume=[{**entry, **deny()}])
    assert run.outcome == "success"
    assert stale.model.pending == []
    assert said(run)["metadata"]["sayso"]["code"] == "already_resolved"
    assert "local" in said(run)["content"]
    assert (server.dump(), len(server.effects)) == (stored, 1)


async def test_an_answer_for_a_thread_that_nobody_knows_shows_an_empty_one(
    server: Server, tools: Kit
) -> None:
    """D2: never a fresh turn; the thread does not come into being."""
    client = client_of(server, tools.greeting, refusals="recover")
    stored = server.dump()
    run = await client.run(resume=[{"interruptId": "int_nobody", **approve()}])
    assert run.outcome == "success"
    assert said(run)["metadata"]["sayso"]["code"] == "unknown_interrupt"
    assert (server.dump(), server.effects) == (stored, [])


@requirement("ID-08")
async def test_a_busy_thread_is_followed_instead(server: Server) -> None:
    """Design 4: `thread_busy` becomes Attach; what was sent is not taken, and that is told."""
    going, go = asyncio.Event(), asyncio.Event()

    async def agent(turn: Turn) -> None:
        server.effects.append(turn.input.text)
        await turn.say("before")
        going.set()
        await go.wait()
        await turn.say("after")

    client = client_of(server, agent, refusals="recover")
    client.user("one")
    running = client.open()
    await asyncio.wait_for(going.wait(), PATIENCE)
    tab = client.again()
    tab.user("two")
    follows = tab.open()
    opening = (await follows.until("MESSAGES_SNAPSHOT"))[1]["messages"]
    assert [m["metadata"]["sayso"]["code"] for m in opening if "metadata" in m] == ["thread_busy"]
    go.set()
    ended = (await follows.end()).judged(tab.thread, follows.events[0]["runId"])
    assert ended.outcome == "success"
    assert "after" in ended.text
    assert (await running.end()).outcome == "success"
    assert server.effects == ["one"]


@requirement("ID-08")
@pytest.mark.parametrize("asks", [False, True])
async def test_what_was_typed_stays_to_the_end(server: Server, tools: Kit, asks: bool) -> None:
    """Here and in another process, in each later snapshot; two who typed keep each their own."""
    going, more, go = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def agent(turn: Turn) -> None:
        await turn.say("before")
        going.set()
        await more.wait()
        await turn.say("meanwhile")
        await turn.step(server.effects.append, "recorded")
        await go.wait()
        if asks:
            await turn.interrupt("input_required", "How many?", schema=int)
        await turn.say("after")

    client = client_of(server, agent, refusals="recover")
    client.user("one")
    running = client.open()
    await asyncio.wait_for(going.wait(), PATIENCE)
    async with replica(server) as other:
        other.agent(client.agent, refusals="recover")(agent)
        tabs = []
        for app, typed in ((server.app, "here"), (other, "there"), (other, "there too")):
            tab = client.again(app=app)
            tab.user(typed)
            tabs.append((typed, tab, exchange := tab.open()))
            await exchange.until("MESSAGES_SNAPSHOT")
        more.set()

        async def seen() -> bool:
            await server.clock.advance(0.5)
            return "meanwhile" in str(tabs[-1][2].events)

        await eventually(seen)
        go.set()
        await running.end()

        async def over() -> bool:
            await server.clock.advance(0.5)
            return all(exchange.ended for _, _, exchange in tabs)

        await eventually(over)
        for typed, tab, exchange in tabs:
            ended = (await exchange.end()).judged(tab.thread, exchange.events[0]["runId"])
            assert ended.outcome == ("interrupt" if asks else "success")
            shown = [e["messages"] for e in ended.events if e["type"] == "MESSAGES_SNAPSHOT"]
            assert len(shown) > (typed != "here")
            for messages in shown:
                mine, note = messages[-2:]
                assert mine["content"] == typed
                assert note["metadata"]["sayso"]["code"] == "thread_busy"
                texts = [message.get("content") for message in messages]
                assert len({"here", "there", "there too"} & set(texts)) == 1


async def test_a_message_that_begins_no_thread_is_an_error(server: Server) -> None:
    """It would be shown as said in a thread that is not there after a reload."""

    async def agent(turn: Turn) -> None:
        await turn.say("Done.")

    client = client_of(server, agent, refusals="recover")
    wishes = {"sayso": {"breakpoints": {"before": "*"}}}
    run = await client.say(forwardedProps=wishes)
    assert run.outcome == "breakpoints_refused"
    assert (await client.again().connect()).outcome == "success"
    assert (await client.again().say()).outcome == "success"


async def test_what_would_only_fail_again_stays_an_error(server: Server, tools: Kit) -> None:
    """Another agent's path would ask for answers that it refuses again."""
    client = client_of(server, tools.refunding, refusals="recover")
    other = client_of(server, tools.greeting, refusals="recover")
    await client.say()
    (entry,) = client.entries(approve())
    there = Client(server.app, other.agent, thread=client.thread)
    assert (await there.run(resume=[entry])).outcome == "wrong_agent"


async def test_the_default_is_an_error_and_each_agent_has_its_own(
    server: Server, tools: Kit
) -> None:
    """Design 3: set on the server, overridden per agent."""
    strict = client_of(server, tools.refunding)
    await strict.say()
    run = await strict.resume(answer({"approved": 1}))
    assert (run.types, run.outcome) == (["RUN_STARTED", "RUN_ERROR"], "invalid_payload")
    app = server.another(refusals="recover")
    app.add_tools(tools.refund)
    kind = client_of(server, tools.refunding, app=app)
    hard = client_of(server, tools.refunding, app=app, refusals="error")
    async with app.lifespan():
        for client, ends in ((kind, "interrupt"), (hard, "invalid_payload")):
            await client.say()
            assert (await client.resume(answer({"approved": 1}))).outcome == ends
