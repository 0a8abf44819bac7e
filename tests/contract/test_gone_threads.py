"""A page that outlived its thread: what it answers begins nothing, and what was deleted stays so.

Another tab deleted the thread, or its store is another one now; the page still shows the card.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from sayso import Turn
from tests.apps import app_with
from tests.contract.requirements import requirement
from tests.contract.rest import call, delete, get, post
from tests.contract.runtime import TRANSPORTS, Page, page
from tests.contract.server import Client, Server, answer, approve
from tests.contract.tools import Kit
from tests.contract.wire import Run

Json = dict[str, Any]
GONE = "This conversation is no longer here. Nothing was done."


def charging(server: Server, tools: Kit) -> Callable[[Turn], Awaitable[None]]:
    """An agent with an effect before its question."""

    async def shop(turn: Turn) -> None:
        await turn.step(server.effects.append, "charged")
        await turn.say("One moment.")
        await turn.call(tools.refund, order_id="A-17", amount=240.0)

    return shop


def refused(run: Run) -> None:
    """It says so, lets go, and is marked as a refusal."""
    assert run.types == ["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"]
    assert "outcome" not in run.events[1]
    assert run.last["code"] == "unknown_interrupt"
    assert run.last["message"] == GONE
    assert run.details["refused"] is True


async def nothing_is_stored(server: Server, thread: str) -> None:
    assert (await get(server, "/threads"))["items"] == []
    assert (await get(server, "/interrupts?status=open"))["items"] == []
    assert (await call(server.app, "GET", f"/threads/{thread}")).status == 404


@requirement("OC-01")
@pytest.mark.every_store
async def test_an_answer_to_a_deleted_thread_begins_nothing(server: Server, tools: Kit) -> None:
    """D2: alone, with its history, beside a message, by the older command; then one new turn."""
    tab = server.client(charging(server, tools))
    await tab.say("order")
    other = tab.again()
    await other.connect()
    assert (await delete(server, f"/threads/{tab.thread}")).status == 204
    remark = {"id": "remark", "role": "user", "content": "and hurry"}
    held = list(tab.model.messages)
    for messages in ([], held, [*held, remark], [remark]):
        refused(await tab.open(tab.body(messages=messages, resume=tab.entries(approve()))).end())
    command = {"command": {"resume": {"approved": True}}}
    older = await tab.open(tab.body(messages=[], forwardedProps=command)).end()
    refused(older)
    entry = other.entries(approve())[0]
    by_inbox = await post(
        server, f"/interrupts/{entry['interruptId']}/answer", answer({"approved": True})
    )
    assert by_inbox.status == 404
    assert server.effects == ["charged"]
    await nothing_is_stored(server, tab.thread)

    run = await tab.run(messages=[*held, {**remark, "content": "order again"}])
    assert run.interrupts
    assert server.effects == ["charged", "charged"]
    assert [m["content"] for m in tab.model.messages if m["role"] == "user"] == ["order again"]


async def test_an_answer_to_a_store_that_is_another_one_begins_nothing(
    server: Server, tools: Kit
) -> None:
    """The server was started again over a store that does not have it."""
    agent = charging(server, tools)
    tab = server.client(agent)
    await tab.say("order")
    elsewhere = app_with(store="memory:", clock=server.clock, **server.options)
    elsewhere.add_tools(tools.refund)
    elsewhere.agent(tab.agent)(agent)
    async with elsewhere.lifespan():
        lost = Client(elsewhere, tab.agent, thread=tab.thread)
        lost.model = tab.model
        refused(await lost.open(lost.body(resume=lost.entries(approve()))).end())
    assert server.effects == ["charged"]


async def test_an_answer_to_a_call_that_the_other_store_never_made_begins_nothing(
    server: Server, tools: Kit
) -> None:
    """Both conversations begin with the same words, under whatever ids: the calls tell."""

    async def agent(turn: Turn) -> None:
        if turn.input.text == "hello":
            await turn.say("Hello, what shall I order?")
            return
        await charging(server, tools)(turn)

    tab = server.client(agent)
    await tab.say("hello")
    await tab.say("order")
    elsewhere = app_with(store="memory:", clock=server.clock, **server.options)
    elsewhere.add_tools(tools.refund)
    elsewhere.agent(tab.agent)(agent)
    async with elsewhere.lifespan():
        fresh = Client(elsewhere, tab.agent, thread=tab.thread)
        await fresh.say("hello")
        lost = Client(elsewhere, tab.agent, thread=tab.thread)
        lost.model = tab.model
        refused(await lost.open(lost.body(resume=lost.entries(approve()))).end())
        again = await fresh.say("order")
        assert again.interrupts
    assert server.effects == ["charged", "charged"]


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_page_of_copilotkit_is_shown_that_it_is_gone(
    server: Server, tools: Kit, transport: str
) -> None:
    """It is free afterwards: its next message is a turn, without what was deleted."""
    tab = page(server, charging(server, tools), transport)
    await tab.say("order")
    await delete(server, f"/threads/{tab.thread}")
    run = await tab.resume(approve())
    assert run.outcome == "success"
    assert [m["content"] for m in run.snapshot if m["role"] == "assistant"] == [GONE]
    assert server.effects == ["charged"]
    await nothing_is_stored(server, tab.thread)
    run = await tab.say("order again")
    assert run.interrupts
    assert server.effects == ["charged", "charged"]


@pytest.mark.every_store
async def test_a_result_for_a_thread_that_is_gone_begins_nothing(
    server: Server, tools: Kit
) -> None:
    """The client ran its own tool while its thread was deleted."""

    async def desk(turn: Turn) -> None:
        server.effects.append("entered")
        await turn.client_tool("pick", {}, schema=str)

    tab = server.client(desk)
    offered = [{"name": "pick", "description": "", "parameters": {}}]
    await tab.say("go", tools=offered)
    call_id = tab.model.messages[-1]["toolCalls"][0]["id"]
    came = {"id": "mine", "role": "tool", "toolCallId": call_id, "content": "Monday"}
    await delete(server, f"/threads/{tab.thread}")
    body = tab.body(messages=[*tab.model.messages, came], tools=offered)
    refused(await tab.open(body).end())
    assert server.effects == ["entered"]
    await nothing_is_stored(server, tab.thread)


@pytest.mark.every_store
async def test_an_answer_to_another_conversation_of_that_id_begins_nothing(
    server: Server, tools: Kit
) -> None:
    """A ticket's number is used again: the old page knows none of what stands there now."""
    tab = server.client(charging(server, tools))
    await tab.say("order")
    await delete(server, f"/threads/{tab.thread}")
    fresh = tab.again()
    await fresh.say("something else")
    before = list(server.effects)
    remark = {"id": "remark", "role": "user", "content": "and hurry"}
    body = tab.body(messages=[*tab.model.messages, remark], resume=tab.entries(approve()))
    run = await tab.open(body).end()
    assert run.last["code"] == "unknown_interrupt"
    assert server.effects == before
    assert (await fresh.resume(approve())).outcome == "success"


@pytest.mark.every_store
async def test_what_was_deleted_is_not_stored_again(server: Server, tools: Kit) -> None:
    """A page that still shows it sends it with its next message, and with those after it."""
    tab = server.client(tools.greeting)
    await tab.say("my secret")
    held = list(tab.model.messages)
    await delete(server, f"/threads/{tab.thread}")
    run = await tab.say("hello")
    assert run.types[1] == "MESSAGES_SNAPSHOT"
    assert "was deleted before" in run.events[0]["metadata"]["sayso"]["warnings"][0]
    assert [m["content"] for m in tab.model.messages] == ["hello", "Hello, hello."]
    # A client that takes no snapshots sends its own list again.
    typed = {"id": "next", "role": "user", "content": "again"}
    await tab.run(messages=[*held, *tab.model.messages, typed])
    shown = (await tab.again().connect()).snapshot
    assert [m["content"] for m in shown] == ["hello", "Hello, hello.", "again", "Hello, again."]
    assert "my secret" not in json.dumps(await get(server, f"/threads/{tab.thread}/history"))


@pytest.mark.every_store
async def test_a_list_without_anything_new_does_not_bring_a_deleted_thread_back(
    server: Server, tools: Kit
) -> None:
    """A client that only sends what it shows has said nothing."""
    tab = server.client(tools.greeting)
    await tab.say("hello")
    await delete(server, f"/threads/{tab.thread}")
    refused(await tab.open(tab.body()).end())
    assert server.effects == ["greeted"]


@pytest.mark.every_store
async def test_another_conversation_may_be_brought_along(server: Server, tools: Kit) -> None:
    """A history of elsewhere joins a thread of its own, as it always did."""
    tab = server.client(tools.greeting)
    imported = [
        {"id": "u1", "role": "user", "content": "earlier"},
        {"id": "a1", "role": "assistant", "content": "noted"},
        {"id": "u2", "role": "user", "content": "now"},
    ]
    await tab.run(messages=imported)
    shown = (await tab.again().connect()).snapshot
    assert [m["content"] for m in shown] == ["earlier", "noted", "now", "Hello, now."]


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_second_tab_that_looks_is_shown_an_empty_thread(
    server: Server, tools: Kit, transport: str
) -> None:
    """`connect` after a deletion, as for any thread that nobody knows."""
    tab = page(server, tools.greeting, transport)
    await tab.say("hello")
    await delete(server, f"/threads/{tab.thread}")
    again = Page(server.app, "desk", transport=transport, thread=tab.thread)
    run = await again.run(again.body(messages=[], state={}), action="/connect")
    assert run.types == ["RUN_STARTED", "RUN_FINISHED"]
