"""A thread as long as it may be is answered and continued by clients that send it back whole."""

import json
from typing import Any

import httpx
import pytest

from sayso import CopilotKit, Turn
from sayso.client import Client as PythonClient
from tests.contract.runtime import Page
from tests.contract.server import Client, Server, answer, approve
from tests.contract.wire import Run

KINDS = ("memory",)

MANY = (45, 100_000), (5_003, 3)
"""How many texts, of how many characters: too many bytes, or too many messages, for one body."""


def telling(count: int, size: int) -> Any:
    """An agent that says much the first time, and then asks once for each kind of client."""

    async def agent(turn: Turn) -> None:
        if len(turn.input.messages) == 1:
            for number in range(count):
                await turn.say(f"{number:0{size}}")
        for number in range(4):
            await turn.interrupt("confirmation", f"Question {number}?")
        await turn.say("Done.")

    return agent


def taken(client: Client, run: Run) -> Run:
    """A run, looked at for what it ends in alone: judges would read megabytes many times."""
    assert run.status == 200, run.body[:300]
    for event in run.events:
        if event["type"] == "MESSAGES_SNAPSHOT":
            client.model.messages = event["messages"]
    client.model.pending = run.interrupts
    return run


@pytest.mark.parametrize(("count", "size"), MANY)
async def test_every_client_can_answer_and_go_on(server: Server, count: int, size: int) -> None:
    """openai/codex's fault: no answer was small enough, and so no later message either."""
    agent = telling(count, size)
    server.app.agent("desk")(agent)
    server.app.mount(CopilotKit())
    client = Client(server.app, "desk")
    client.user("go")
    taken(client, await client.open().end())
    assert len(json.dumps(client.body())) > 4 * 2**20 or len(client.model.messages) > 5_000

    body = client.body(resume=client.entries(approve()))
    taken(client, await client.open(body).end())
    assert client.model.pending[0]["message"] == "Question 1?"

    event = json.dumps(client.model.pending[0])
    props = {"command": {"resume": {"approved": True}, "interruptEvent": event}}
    taken(client, await client.open(forwardedProps=props).end())
    assert client.model.pending[0]["message"] == "Question 2?"

    page = Page(server.app, "desk", transport="single", thread=client.thread)
    page.model.messages = client.model.messages
    page.model.pending = client.model.pending
    entries = page.entries(answer({"approved": True}))
    taken(page, await page.open(resume=entries).end())
    assert page.model.pending[0]["message"] == "Question 3?"

    transport = httpx.ASGITransport(app=server.app)
    async with httpx.AsyncClient(transport=transport) as http:
        url = "http://localhost/agents/desk"
        python = PythonClient(url, thread_id=client.thread, http=http)
        async for _ in python.connect():
            pass
        assert len(python.messages) > count
        async for _ in python.resume({python.pending[0]["id"]: {"approved": True}}):
            pass
        assert python.outcome == "success"
        async for _ in python.run("and now?"):
            pass
        assert python.outcome == "interrupt"
        client.model.messages = python.messages
    shown = await client.open(action="/connect").end()
    assert taken(client, shown).interrupts[0]["message"] == "Question 0?"


async def test_a_new_message_that_a_full_thread_has_no_room_for_says_so(server: Server) -> None:
    """In so many words, as part of the protocol: not by the size of a body."""
    client = server.client(telling(45, 100_000))
    client.user("go")
    taken(client, await client.open().end())
    client.user("x" * 5_000_000)
    run = await client.open(resume=client.entries(approve())).end()
    assert (run.status, run.last["code"]) == (200, "thread_too_large")


async def test_new_messages_beyond_the_limit_are_counted_without_those_of_the_thread(
    server: Server,
) -> None:
    client = server.client(telling(1, 1))
    client.model.messages = [
        {"id": f"m-{n}", "role": "user", "content": "hello"} for n in range(5_001)
    ]
    run = await client.open().end()
    assert (run.status, run.problem["code"]) == (422, "invalid_input")
    assert run.problem["errors"] == [
        {"pointer": "/messages", "message": "has more than 5000 new messages"}
    ]
    del client.model.messages[0]
    taken(client, await client.open().end())
    assert client.model.pending
