"""Threads over HTTP: listed, shown, inspected, remembered, deleted (design 3, 5; cases A, L)."""

import asyncio
import threading
from typing import Any

import pytest

from sayso import Breakpoints, Question, Turn
from tests.contract.requirements import requirement
from tests.contract.rest import call, delete, get, inbox, post, reached, stop
from tests.contract.server import Server, answer, approve, cancel, deny
from tests.contract.tools import Kit
from tests.patience import PATIENCE
from tests.time_limits import TimeLimits


async def test_threads_are_listed_the_last_active_first(server: Server, tools: Kit) -> None:
    """Design 5: what a thread is, how it stands, how much of it waits for a person."""
    done = server.client(tools.greeting, thread="done")
    waits = server.client(tools.mailing, thread="waits")
    await done.say()
    await server.clock.advance(1)
    await waits.say()
    first, second = (await get(server, "/threads"))["items"]
    assert first == {
        "threadId": "waits",
        "agent": waits.agent,
        "status": "suspended",
        "running": False,
        "outcome": "interrupt",
        "openInterrupts": 3,
        "createdAt": "2023-11-14T22:13:21.000Z",
        "updatedAt": "2023-11-14T22:13:21.000Z",
    }
    assert (second["threadId"], second["status"], second["outcome"]) == (
        "done",
        "finished",
        "success",
    )


async def test_lists_are_filtered_and_paged(server: Server, tools: Kit) -> None:
    """Design 5: every thread once, whatever the size of a page."""
    clients = [server.client(tools.refunding, thread=f"t{n}") for n in range(5)]
    for client in clients:
        await client.say()
        await server.clock.advance(1)
    await clients[2].resume(deny())
    seen: list[str] = []
    cursor = ""
    while True:
        page = await get(server, f"/threads?limit=2&status=suspended{cursor}")
        assert len(page["items"]) <= 2
        seen += [item["threadId"] for item in page["items"]]
        if "nextCursor" not in page:
            break
        cursor = f"&cursor={page['nextCursor']}"
    assert seen == ["t4", "t3", "t1", "t0"]
    (finished,) = (await get(server, "/threads?status=finished"))["items"]
    assert finished["threadId"] == "t2"
    named = (await get(server, f"/threads?agent={clients[1].agent}"))["items"]
    assert [item["threadId"] for item in named] == ["t1"]
    assert len((await get(server, "/threads?status=all"))["items"]) == 5


@pytest.mark.parametrize(
    "query",
    ["status=odd", "limit=0", "limit=1001", "limit=x", "limit=", "cursor=odd", "cursor=i1.1"],
)
@pytest.mark.parametrize("path", ["/threads", "/interrupts"])
async def test_a_malformed_query_is_422(server: Server, path: str, query: str) -> None:
    """ER-01: neither a wrong list nor a server error; nor the cursor of another list."""
    query = query.replace("i1.1", "t1.1") if path == "/interrupts" else query
    run = await call(server.app, "GET", f"{path}?{query}")
    assert (run.status, run.problem["code"]) == (422, "invalid_input")


async def test_one_thread_shows_what_it_waits_for(server: Server, tools: Kit) -> None:
    """A7: the same ids and bindings as in the stream."""
    client = server.client(tools.refunding)
    client.user("go")
    asked = (await client.run(runId="mine")).interrupts
    shown = await get(server, f"/threads/{client.thread}")
    assert (shown["runId"], shown["status"], shown["openInterrupts"]) == ("mine", "suspended", 1)
    (item,) = shown["interrupts"]
    assert item["metadata"]["sayso"].pop("may"), "what this reader may do is told here alone"
    assert {name: item[name] for name in asked[0]} == asked[0]


async def test_a_thread_s_id_is_taken_as_it_is(server: Server, tools: Kit) -> None:
    """Design 2: the client's id is the key, slashes included."""
    client = server.client(tools.refunding, thread="team/7 ü")
    await client.say()
    assert (await get(server, f"/threads/{client.thread}"))["threadId"] == "team/7 ü"
    assert (await get(server, f"/threads/{client.thread}/state"))["next"] == ["issue_refund"]
    assert await stop(server, client)
    assert (await delete(server, f"/threads/{client.thread}")).status == 204


async def _next(server: Server, thread: str) -> tuple[list[str], list[str]]:
    """What the state of a thread says comes next, and how its journal shows what was asked."""
    state = await get(server, f"/threads/{thread}/state")
    open_ones = (await get(server, f"/threads/{thread}"))["interrupts"]
    asked = [one for one in state["journal"] if one["status"] in ("asked", "answered")]
    waiting = [one["data"]["interrupt"] for one in asked if one["status"] == "asked"]
    assert waiting == [one["id"] for one in open_ones], "what is shown as asked is what is open"
    for one in asked:
        if one["status"] == "answered":
            assert one["answer"].keys() >= {"status", "by", "at"}
    return state["next"], [one["status"] for one in asked]


async def test_what_was_answered_long_ago_is_not_what_comes_next(server: Server) -> None:
    """`next` names what is open, and the journal who answered the rest, and when."""

    async def agent(turn: Turn) -> None:
        for reason in ("confirmation", "shop:a", "shop:b"):
            await turn.interrupt(reason, "Go on?", schema=bool)

    client = server.client(agent)
    await client.say()
    for number, name in enumerate(("confirmation", "shop:a", "shop:b")):
        found = await _next(server, client.thread)
        assert found == ([name], [*["answered"] * number, "asked"])
        if number == 1:
            path = f"/threads/{client.thread}/fork"
            body = {"interruptId": client.model.pending[0]["id"]}
            copy = await post(server, path, body)
            assert (await _next(server, copy.json["threadId"]))[0] == ["shop:a"]
        await client.resume(answer(True))
    assert await _next(server, client.thread) == ([], ["answered"] * 3)


async def test_what_holds_an_answer_is_still_open(server: Server) -> None:
    """One of a set that was answered from the inbox waits for the others."""

    async def agent(turn: Turn) -> None:
        asked = [Question(reason=f"shop:{name}", message="?", schema=bool) for name in "ab"]
        await turn.interrupt_all(asked)

    client = server.client(agent)
    first, second = (await client.say()).interrupts
    assert (await post(server, f"/interrupts/{first['id']}/answer", answer(True))).status == 202
    assert (await _next(server, client.thread))[0] == ["shop:a", "shop:b"]
    await client.resume({"interruptId": second["id"], **answer(True)})
    assert await _next(server, client.thread) == ([], ["answered"] * 2)


async def test_behind_a_breakpoint_what_it_stands_at_has_ended(server: Server) -> None:
    """Before `write`, `write` comes next; after it, what comes next is `after write`."""

    async def write() -> str:
        return "written"

    async def agent(turn: Turn) -> None:
        await turn.step.options(name="write")(write)

    server.app.agent("stops", breakpoints=Breakpoints(before=["write"], after=["write"]))(agent)
    client = server.client("stops")
    await client.say()
    assert (await _next(server, client.thread))[0] == ["write"]
    await client.resume(answer({"action": "continue"}))
    assert (await _next(server, client.thread))[0] == ["after write"]
    await client.resume(answer({"action": "continue"}))
    assert await _next(server, client.thread) == ([], ["answered"] * 2)


async def test_an_effect_of_which_nobody_knows_comes_next(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked about, not running."""
    limits, go_on = TimeLimits(monkeypatch), threading.Event()

    def charge() -> None:
        limits.run_out()
        go_on.wait(PATIENCE)

    async def agent(turn: Turn) -> None:
        await turn.step.options(name="charge", timeout=5)(charge)

    client = server.client(agent)
    await client.say()
    assert await _next(server, client.thread) == (["charge"], ["asked"])
    go_on.set()
    await client.resume(answer({"action": "skip", "result": None}))
    assert await _next(server, client.thread) == ([], [])


async def test_an_open_thread_can_be_inspected(server: Server, tools: Kit) -> None:
    """Design 3: what it goes on with, the state, and what it has recorded."""

    async def lookup(order: str) -> dict[str, str]:
        return {"order": order}

    async def agent(turn: Turn) -> None:
        await turn.set("/step", 1)
        await turn.step.options(name="lookup")(lookup, "A-17")
        await turn.call(tools.refund, order_id="A-17", amount=240.0)

    client = server.client(agent)
    await client.say()
    state = await get(server, f"/threads/{client.thread}/state")
    assert state["next"] == ["issue_refund"]
    assert state["values"] == {"step": 1}
    assert state["metadata"]["status"] == "suspended"
    assert state["metadata"]["agent"] == client.agent
    recorded = {entry["name"]: entry for entry in state["journal"] if entry["name"]}
    assert recorded["lookup"]["data"] == {"value": {"order": "A-17"}}
    assert recorded["issue_refund"]["status"] == "asked"
    asked = recorded["issue_refund"]["data"]["interrupt"]
    assert asked == client.model.pending[0]["id"]
    await client.resume(deny())
    over = await get(server, f"/threads/{client.thread}/state")
    assert (over["next"], over["values"]) == ([], {"step": 1})
    # What it recorded can be looked at, and copied from, until the next turn begins.
    ended = {entry["name"]: entry["status"] for entry in over["journal"] if entry["name"]}
    assert ended == {"lookup": "done", "issue_refund": "done"}
    await client.say()
    anew = await get(server, f"/threads/{client.thread}/state")
    assert {entry["status"] for entry in anew["journal"] if entry["name"] == "issue_refund"} == {
        "asked"
    }


@requirement("OC-16")
async def test_the_history_says_who_decided_what_when_and_how(server: Server, tools: Kit) -> None:
    """Design 2, U: runs with their outcomes, messages, and each question with its answer."""
    client = server.client(tools.mailing)
    await client.say("mail them")
    await server.clock.advance(60)
    await client.resume(approve(), deny("not ben"), cancel())
    await client.say("again")
    await stop(server, client)
    past = await get(server, f"/threads/{client.thread}/history")
    assert [run["outcome"]["type"] for run in past["runs"]] == [
        "interrupt",
        "success",
        "interrupt",
        "cancelled",
    ]
    assert past["runs"][1]["startedAt"] == "2023-11-14T22:14:20.000Z"
    users = [m["content"] for m in past["messages"] if m["role"] == "user"]
    assert users == ["mail them", "again"]
    decided = [_told(item["answer"]) for item in past["interrupts"]]
    assert decided == [
        ("resolved", {"approved": True}, "local", "2023-11-14T22:14:20.000Z", "run"),
        (
            "resolved",
            {"approved": False, "reason": "not ben"},
            "local",
            "2023-11-14T22:14:20.000Z",
            "run",
        ),
        ("cancelled", None, "local", "2023-11-14T22:14:20.000Z", "run"),
        *[("cancelled", None, "local", "2023-11-14T22:14:20.000Z", "stop")] * 3,
    ]
    turns = {item["turnId"] for item in past["interrupts"]}
    assert turns == {run["turnId"] for run in past["runs"]}


def _told(given: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(given.get(name) for name in ("status", "payload", "by", "at", "channel"))


async def test_a_long_history_comes_in_pages(server: Server, tools: Kit) -> None:
    """Design 5: its runs, oldest first."""
    client = server.client(tools.greeting)
    for _ in range(5):
        await client.say()
    path = f"/threads/{client.thread}/history?limit=2"
    page = await get(server, path)
    runs = [run["runId"] for run in page["runs"]]
    while "nextCursor" in page:
        page = await get(server, f"{path}&cursor={page['nextCursor']}")
        runs += [run["runId"] for run in page["runs"]]
    assert len(runs) == len(set(runs)) == 5
    run = await call(server.app, "GET", f"{path}&cursor=t1.1")
    assert run.problem["code"] == "invalid_input"


@pytest.mark.every_store
async def test_a_deleted_thread_is_gone_with_its_questions(server: Server, tools: Kit) -> None:
    """L6: nothing lists it, nobody can answer it, and its id begins anew."""
    client = server.client(tools.refunding)
    await client.say()
    entries = client.entries(approve())
    assert (await delete(server, f"/threads/{client.thread}")).status == 204
    for method, path in (
        ("GET", f"/threads/{client.thread}"),
        ("GET", f"/threads/{client.thread}/state"),
        ("GET", f"/threads/{client.thread}/history"),
        ("DELETE", f"/threads/{client.thread}"),
    ):
        run = await call(server.app, method, path)
        assert (run.status, run.problem["code"]) == (404, "unknown_thread")
    assert await inbox(server, "?status=all") == []
    assert (await get(server, "/threads"))["items"] == []
    late = await client.again().run(resume=entries)
    assert late.outcome == "unknown_interrupt"
    assert (await client.again().say("anew")).outcome == "interrupt"
    assert server.effects == []


async def test_a_running_thread_is_not_deleted(server: Server) -> None:
    """Design 5: 409 until it has ended."""
    begun, wakes = asyncio.Event(), asyncio.Event()

    async def agent(turn: Turn) -> None:
        begun.set()
        await wakes.wait()
        await turn.say("done")

    client = server.client(agent)
    client.user("go")
    exchange = client.open()
    await reached(begun)
    run = await delete(server, f"/threads/{client.thread}")
    assert (run.status, run.problem["code"]) == (409, "thread_busy")
    shown = await get(server, f"/threads/{client.thread}")
    assert (shown["running"], shown["status"], "outcome" in shown) == (True, "running", False)
    wakes.set()
    assert (await exchange.end()).outcome == "success"
    assert (await delete(server, f"/threads/{client.thread}")).status == 204


async def test_methods_and_paths_are_told_apart(server: Server) -> None:
    """ER-01: a wrong method is 405 and says which are right."""
    run = await call(server.app, "PUT", "/threads/t", b"{}")
    assert (run.status, run.problem["code"]) == (405, "method_not_allowed")
    run = await call(server.app, "POST", "/interrupts", b"{}")
    assert run.status == 405
    run = await call(server.app, "GET", "/threads/t/stop")
    assert (run.status, run.problem["code"]) == (404, "unknown_thread")


async def test_a_question_put_twice_is_two_in_the_history(server: Server, tools: Kit) -> None:
    """OC-14: an answered one stays beside its successor."""
    client = server.client(tools.asking_twice)
    await client.say()
    await client.resume(answer({"approved": True}))
    past = await get(server, f"/threads/{client.thread}/history")
    assert [item["status"] for item in past["interrupts"]] == ["resolved", "open"]
    assert "answer" not in past["interrupts"][1]
