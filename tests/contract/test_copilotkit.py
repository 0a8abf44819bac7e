"""The CopilotKit mount: what its pages ask for, in both transports, and what they can go on from.

The real client drives the same routes in `e2e/test_copilotkit.py`.
"""

import asyncio
import json
from typing import Any

import pytest

from sayso import CopilotKit, DeclarationError, Turn
from sayso.engine.dialect import COPILOTKIT
from tests.contract.optional import past
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest, call, get, post
from tests.contract.runtime import RELEASED, TRANSPORTS, Page, page, without_release
from tests.contract.server import Client, Json, Server, answer, approve, cancel, deny
from tests.contract.tools import Kit
from tests.contract.wire import Run
from tests.patience import PATIENCE
from tests.stream_checker import events_of

both = pytest.mark.parametrize("transport", TRANSPORTS)

SHOWN = ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_FINISHED"]
TOLD = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
REFUSED = ["RUN_STARTED", *TOLD, *SHOWN[1:]]
"""A refusal: why, and the thread as it stands."""


def codes(run: Run) -> list[str]:
    """The problems that the interrupts of a run tell of."""
    found = [i.get("metadata", {}).get("sayso", {}).get("problem") for i in run.interrupts]
    return [problem["code"] for problem in found if problem]


@both
async def test_info_lists_the_agents_and_one_that_goes_by_default(
    server: Server, tools: Kit, transport: str
) -> None:
    """A page that names no agent means `default`; an id that is not listed breaks it."""
    info = (await page(server, tools.refunding, transport).info()).json
    assert set(info["agents"]) == {"desk", "default"}
    assert info["agents"]["default"]["name"] == "default"
    assert info["agents"]["desk"]["capabilities"]["humanInTheLoop"]["interrupts"] is True
    assert info["mode"] == "sse"
    assert info["threadEndpoints"] == {
        "list": True,
        "inspect": False,
        "mutations": False,
        "realtimeMetadata": False,
    }
    # Each of these would make the page ask for what is not here.
    assert not {"intelligence", "inspectorMetadata"} & set(info)


@pytest.mark.parametrize(("chosen", "listed"), [(None, {"a", "b"}), ("b", {"a", "b", "default"})])
async def test_with_several_agents_the_default_is_chosen(
    server: Server, tools: Kit, chosen: str | None, listed: set[str]
) -> None:
    """Nobody guesses which of several a page means."""
    for name in ("a", "b"):
        server.app.agent(name)(tools.greeting)
    server.app.mount(CopilotKit(default=chosen))
    assert set((await get(server, "/copilotkit/info"))["agents"]) == listed
    run = await Page(server.app, "default", transport="rest").open().end()
    assert run.status == (200 if chosen else 404)


async def test_a_default_that_nobody_registered_says_so_to_the_developer(server: Server) -> None:
    """`message` of an info error is what the browser's console shows."""
    server.app.mount(CopilotKit(default="nobody"))
    run = await call(server.app, "GET", "/copilotkit/info")
    assert run.status == 500
    assert "'nobody'" in run.json["message"]


@both
@requirement("TR-07", "TR-08", "CK-04", "CK-05")
async def test_an_approval_under_the_same_run_id_runs_the_tool_once(
    server: Server, tools: Kit, transport: str
) -> None:
    """CK-04, CK-05: the hook's own tool message is no result and gone after the resume."""
    tab = page(server, tools.refunding, transport)
    first = await tab.say("refund")
    assert [i["reason"] for i in first.interrupts] == ["tool_call"]
    run = await tab.resume(approve())
    assert run.events[0]["runId"] == first.events[0]["runId"]
    assert run.outcome == "success"
    assert server.effects == [("refund", "A-17", 240.0)]
    results = [m for m in tab.model.messages if m["role"] == "tool"]
    assert [m["content"] for m in results] == ["Refunded 240.00."]


@both
async def test_three_cards_are_answered_one_by_one_and_sent_together(
    server: Server, tools: Kit, transport: str
) -> None:
    """C7: approved, denied, withdrawn; each call has one result."""
    tab = page(server, tools.mailing, transport)
    await tab.say("mail")
    assert len(tab.model.pending) == 3
    run = await tab.resume(approve(), deny("no"), cancel())
    assert run.outcome == "success"
    assert [e for e in server.effects if e[0] == "email"] == [("email", "ann")]


@both
@requirement("TR-03", "CK-03", "CK-07")
@pytest.mark.parametrize(
    ("code", "entries"),
    [
        ("invalid_payload", (answer({"approved": "yes"}), approve(), approve())),
        ("invalid_payload", (answer(None), approve(), approve())),
        ("partial_resume", (approve(),)),
        ("unknown_interrupt", ("foreign",)),
    ],
)
async def test_a_refused_answer_leaves_live_cards(
    server: Server, tools: Kit, transport: str, code: str, entries: Any
) -> None:
    """TR-03: an error would wedge the page, so the cards are asked again and say why."""
    tab = page(server, tools.mailing, transport)
    await tab.say("mail")
    asked = list(tab.model.pending)
    if entries == ("foreign",):
        entries = ({"interruptId": "int_nobody", **approve()},)
    stored = server.dump()
    run = await tab.resume(*entries)
    assert run.types == REFUSED
    assert [i["id"] for i in run.interrupts] == [i["id"] for i in asked]
    assert set(codes(run)) == {code}
    assert server.dump() == stored
    assert (await tab.resume(approve(), approve(), approve())).outcome == "success"
    assert len([e for e in server.effects if e[0] == "email"]) == 3


@both
async def test_two_tabs_agree_on_the_first_answer(
    server: Server, tools: Kit, transport: str
) -> None:
    """Q1: the late tab is shown what came of it, without an error; nothing runs twice."""
    tab = page(server, tools.refunding, transport)
    await tab.say("refund")
    other = tab.again()
    await other.connect()
    assert [i["id"] for i in other.model.pending] == [i["id"] for i in tab.model.pending]
    await tab.resume(approve())
    late = await other.resume(deny())
    assert (late.types, late.outcome) == (REFUSED, "success")
    assert other.model.pending == []
    assert len(server.effects) == 1
    assert "already" in late.snapshot[-1]["content"]


@both
async def test_a_thread_opened_in_a_page_is_answered_at_any_other_door(
    server: Server, tools: Kit, transport: str
) -> None:
    """And the other way round: one state, one set of checks; it is noted by which door it came."""
    tab = page(server, tools.refunding, transport)
    first = await tab.say("refund")
    asked = first.interrupts[0]["id"]
    answered = await post(server, f"/interrupts/{asked}/answer", approve())
    assert answered.status == 200
    await at_rest(server, tab)
    late = await tab.resume(approve())
    assert (late.outcome, tab.model.pending, len(server.effects)) == ("success", [], 1)
    plain = Client(server.app, "desk", version="1.0")
    there = await plain.say("refund")
    other = Page(server.app, "desk", transport=transport, thread=plain.thread)
    await other.connect()
    assert (await other.resume(approve())).outcome == "success"
    stored = await get(server, f"/interrupts/{there.interrupts[0]['id']}")
    assert stored["answer"]["channel"] == "copilotkit"
    assert len(server.effects) == 2


@both
@requirement("CK-06", "TR-19")
async def test_cards_do_not_show_when_they_expire(
    server: Server, tools: Kit, transport: str
) -> None:
    """CK-06: the page would make an expired card dead; here a late answer shows what became."""
    tab = page(server, tools.refunding, transport, expires_in=60)
    first = await tab.say("refund")
    assert "expiresAt" not in first.interrupts[0]
    assert "expiresAt" not in (await tab.again().connect()).interrupts[0]
    plain = Client(server.app, "desk", thread=tab.thread)
    assert "expiresAt" in (await plain.connect()).interrupts[0]
    await past(server, Client(server.app, "desk", thread=tab.thread), 61)
    late = await tab.resume(approve())
    assert (late.types, late.outcome) == (REFUSED, "success")
    assert (tab.model.pending, server.effects) == ([], [])
    assert "expired" in late.snapshot[-1]["content"]


async def test_whoever_wants_the_expiry_on_cards_says_so(server: Server, tools: Kit) -> None:
    """An option, for pages that show a countdown and live with that hook's rule."""
    server.app.agent("desk", expires_in=60)(tools.refunding)
    server.app.mount(CopilotKit("/ck", show_expiry=True, refusals="error"))
    tab = Page(server.app, "desk", transport="rest")
    body = {**tab.body(), "messages": [tab.user("refund")]}
    run = await call(server.app, "POST", "/ck/agent/desk/run", body)
    assert "expiresAt" in run.interrupts[0]
    tab.model.take(run.events)
    sent = tab.body(resume=tab.entries(answer({"approved": 1})))
    refused = await call(server.app, "POST", "/ck/agent/desk/run", sent)
    assert refused.types == ["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"]


@requirement("LG-13")
async def test_a_mount_may_ask_by_the_older_event_whatever_the_agent_does(
    server: Server, tools: Kit
) -> None:
    """For pages of an older CopilotKit; it is the same question, whoever asks it how."""
    tab = page(server, tools.refunding, "rest", expires_in=60)
    server.app.mount(CopilotKit("/older", emission="legacy"))
    first = await tab.say("refund")
    body = {**tab.body(), "messages": [], "threadId": tab.thread}
    run = await call(server.app, "POST", "/older/agent/desk/connect", body)
    assert "outcome" not in run.last
    (asked,) = run.of("CUSTOM")
    assert json.loads(asked["value"]) == first.interrupts[0]
    command = {"resume": {"approved": "yes"}, "interruptEvent": asked["value"]}
    sent = {**body, "runId": tab.run_id, "forwardedProps": {"command": command}}
    refused = await call(server.app, "POST", "/older/agent/desk/run", sent)
    (again,) = refused.of("CUSTOM")
    sayso = json.loads(again["value"])["metadata"]["sayso"]
    assert sayso["problem"]["code"] == "invalid_payload"
    command["resume"] = {"approved": True}
    done = await call(server.app, "POST", "/older/agent/desk/run", sent)
    assert (done.outcome, len(server.effects)) == ("success", 1)
    wrong: Any = "sometimes"
    with pytest.raises(DeclarationError):
        server.app.mount(CopilotKit("/wrong", emission=wrong))


@pytest.mark.parametrize("mount", ["/copilotkit", "/older"])
@requirement("LG-13")
async def test_a_request_may_say_how_it_wants_to_be_asked(
    server: Server, tools: Kit, mount: str
) -> None:
    """Design 5: emission per request, over the mount's own; the rest of its dialect stays."""
    tab = page(server, tools.refunding, "rest", expires_in=60)
    server.app.mount(CopilotKit("/older", emission="legacy"))
    await tab.say("refund")
    body = tab.body(messages=[])
    for mode, outcome in (("standard", True), ("both", True), ("legacy", False)):
        envelope = {"method": "agent/connect", "params": {"agentId": "desk"}, "body": body}
        for path, sent in ((f"{mount}/agent/desk/connect", body), (mount, envelope)):
            run = await call(server.app, "POST", f"{path}?interrupts={mode}", sent)
            assert ("outcome" in run.last, len(run.of("CUSTOM"))) == (outcome, mode != "standard")
            assert b"expiresAt" not in run.body
    stored = server.dump()
    run = await call(server.app, "POST", f"{mount}/agent/desk/run?interrupts=loud", body)
    assert (run.status, run.json["error"]) == (400, "invalid_query")
    assert server.dump() == stored


@both
@requirement("LC-04", "LC-15")
async def test_an_answer_whose_run_fails_lets_the_page_go_on(
    server: Server, transport: str
) -> None:
    """CK-07: it has let go of its question before the work began, so it can be told the error."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Go?")
        raise RuntimeError("out of order")

    tab = page(server, agent, transport)
    await tab.say("go")
    run = await tab.resume(approve())
    assert (run.types[-1], "RUN_FINISHED" in run.types) == ("RUN_ERROR", False)
    assert tab.model.pending == []
    other = tab.again()
    connected = await other.connect()
    assert (connected.types, connected.outcome) == (SHOWN, "success")
    # A run that answers nothing has nothing to let go of.
    replayed = await tab.run(tab.body(runId=tab.run_id, messages=[]))
    assert replayed.types[-1] == "RUN_ERROR"
    assert "RUN_FINISHED" not in replayed.types


@both
async def test_a_run_in_progress_is_followed_and_stopped_by_any_page(
    server: Server, transport: str
) -> None:
    """A page that was loaded anew, and one that follows, stop it by their own ids or by none."""
    going = asyncio.Event()
    never = asyncio.Event()

    async def wait() -> None:
        going.set()
        await never.wait()

    async def agent(turn: Turn) -> None:
        await turn.say("before")
        await turn.step.options(idempotent=True)(wait)

    tab = page(server, agent, transport)
    tab.user("go")
    running = tab.open()
    await asyncio.wait_for(going.wait(), PATIENCE)
    other = tab.again()
    other.user("me too")
    follows = other.open()
    await follows.until("MESSAGES_SNAPSHOT")
    assert (await tab.stop("another-run")).json["stopped"] is False
    assert (await other.stop(other.run_id)).json == {"stopped": True}
    assert (await running.end()).last["code"] == "abort"
    await follows.end()
    assert (await tab.stop()).json["stopped"] is False
    reloaded = await tab.again().connect()
    assert (reloaded.types, reloaded.outcome) == (SHOWN, "success")


@both
async def test_a_stopped_answer_ends_as_every_stopped_run(server: Server, transport: str) -> None:
    """In `abort`, never in a success; the page that has answered has let go before (CK-07)."""
    going = asyncio.Event()
    never = asyncio.Event()

    async def wait() -> None:
        going.set()
        await never.wait()

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Go?")
        await turn.step.options(idempotent=True)(wait)

    tab = page(server, agent, transport)
    await tab.say("go")
    given = tab.body(resume=tab.entries(approve()), runId=tab.run_id)
    resumed = asyncio.create_task(tab.run(given))
    await asyncio.wait_for(going.wait(), PATIENCE)
    assert (await tab.stop(tab.run_id)).json == {"stopped": True}
    run = await resumed
    assert (run.last["type"], run.last["code"]) == ("RUN_ERROR", "abort")
    assert "RUN_FINISHED" not in run.types
    assert tab.model.pending == []
    # Sent again, it is told the same of a run that is over.
    replayed = await tab.open(given).end()
    assert replayed.types[-2:] == ["RUN_FINISHED", "RUN_ERROR"]
    assert replayed.last["code"] == "abort"
    # A client of 1.0 is told it in its own words.
    newer = tab.again(version="1.0")
    told = await newer.open({**given, "protocolVersion": "1.0"}).end()
    assert told.last["outcome"] == {"type": "cancelled"}


@both
@requirement("CK-07", "LC-04")
async def test_a_page_lets_go_of_what_it_answered_before_the_work_begins(
    server: Server, transport: str
) -> None:
    """L1: a connection lost under the work leaves the page free; a twin is told the same."""
    going, go = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        going.set()
        await go.wait()

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Go?")
        await turn.step(work)
        await turn.interrupt("confirmation", "Again?")

    tab = page(server, agent, transport)
    await tab.say("go")
    asked = list(tab.model.pending)
    answers = tab.body(resume=tab.entries(approve()), runId=tab.run_id)
    running = tab.open(answers)
    await asyncio.wait_for(going.wait(), PATIENCE)
    twin = tab.open(answers)
    for exchange in (running, twin):
        begun = await exchange.until("MESSAGES_SNAPSHOT")
        assert [event["type"] for event in begun[:3]] == RELEASED
        assert begun[0]["runId"] != begun[2]["runId"] == tab.run_id
    await running.disconnect()
    tab.model.take(begun)
    assert tab.model.pending == []
    # What it says now waits for the work, which it is shown to its end.
    tab.user("hello")
    follows = tab.open(messages=tab.model.messages)
    shown = await follows.until("MESSAGES_SNAPSHOT")
    assert shown[0]["type"] == "RUN_STARTED" != shown[1]["type"]
    go.set()
    run = without_release(await twin.end())
    assert run.interrupts[0]["id"] != asked[0]["id"]
    await follows.end()


@both
@requirement("CL-08", "RE-12")
async def test_what_asks_after_an_answer_leaves_a_moment_after_it(
    server: Server, tools: Kit, transport: str
) -> None:
    """A page that draws both at once keeps the pressed card: so they come apart, and only they."""
    tab = page(server, tools.mailing, transport)

    async def apart(body: Json) -> bool:
        exchange = tab.open(body)
        await exchange.until("RUN_STARTED")
        begun = asyncio.get_running_loop().time()
        run = await exchange.end()
        tab.model.take(run.events)
        alone = run.last == events_of(exchange.sent[-1])[0]
        return alone and asyncio.get_running_loop().time() - begun > COPILOTKIT.pause / 2

    await tab.say("mail")
    shown = tab.open(action="/connect", messages=[])
    await shown.end()
    assert len(shown.sent) == 1
    problems = []
    for _ in range(3):
        wrong = tab.entries(answer({"approved": "yes"}), approve(), approve())
        assert await apart(tab.body(resume=wrong))
        problems.append(tab.model.pending[0]["metadata"]["sayso"]["problem"])
    first = {**problems[0], "id": None}
    assert all({**problem, "id": None} == first for problem in problems)
    assert len({problem["id"] for problem in problems}) == 3
    assert (await tab.resume(approve(), approve(), approve())).outcome == "success"


@both
async def test_a_stop_with_a_card_open_leaves_it_open(
    server: Server, tools: Kit, transport: str
) -> None:
    """Pages send a stop when nothing runs, and by themselves: that must decide nothing."""
    tab = page(server, tools.refunding, transport)
    await tab.say("refund")
    stored = server.dump()
    for run_id in (None, tab.run_id):
        assert (await tab.stop(run_id)).json["stopped"] is False
    assert server.dump() == stored
    assert (await tab.resume(approve())).outcome == "success"
