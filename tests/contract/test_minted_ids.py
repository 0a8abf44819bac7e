"""Over HTTP: clients that mint ids for what they hold, or use an id twice, run no turn again."""

from typing import Any

import pytest

from sayso import Turn
from tests.contract.rest import at_rest
from tests.contract.server import Client, Server, answer, approve
from tests.contract.tools import Kit

Json = dict[str, Any]


def minted(messages: list[Json], tag: str) -> list[Json]:
    """The same under ids of the client's own."""
    return [{**one, "id": f"{tag}-{n}"} for n, one in enumerate(messages)]


@pytest.mark.every_store
async def test_an_approval_with_its_history_under_new_ids_ships_once(
    server: Server, tools: Kit
) -> None:
    """Nor does the message that asks for the same once more lose what was said before."""
    tab = server.client(tools.refunding)
    await tab.say("refund")
    run = await tab.resume(approve(), messages=minted(tab.model.messages, "a"))
    assert run.outcome == "success"
    assert server.effects == [("refund", "A-17", 240.0)]
    history = list(tab.model.messages)
    typed = {"id": "b-new", "role": "user", "content": "refund"}
    run = await tab.run(messages=[*minted(history, "b"), typed])
    assert run.interrupts
    assert tab.model.messages[: len(history)] == history
    assert [m["role"] for m in tab.model.messages].count("user") == 2


async def test_a_remark_beside_the_answer_is_heard_and_nothing_else(
    server: Server, tools: Kit
) -> None:
    """The one message that the thread does not have waits for the turn's end."""
    heard: list[str] = []

    async def desk(turn: Turn) -> None:
        heard.append(turn.input.text)
        await turn.call(tools.refund, order_id="A-17", amount=240.0)

    tab = server.client(desk)
    await tab.say("refund")
    remark = {"id": "mine", "role": "user", "content": "and hurry"}
    await tab.resume(approve(), messages=[*minted(tab.model.messages, "a"), remark])
    assert heard == ["refund", "refund", "and hurry"]
    assert server.effects == [("refund", "A-17", 240.0)]


async def test_a_used_id_loses_no_words(server: Server, tools: Kit) -> None:
    """A page that counts from 1 again: its words are in the history, and the agent's input."""

    async def desk(turn: Turn) -> None:
        users = [m["content"] for m in turn.input.messages if m["role"] == "user"]
        await turn.say(f"{turn.input.text} | {', '.join(users)}")

    tab = server.client(desk)
    await tab.run(messages=[{"id": "1", "role": "user", "content": "hello"}])
    body = tab.body(messages=[{"id": "1", "role": "user", "content": "cancel my order"}])
    run = await tab.run(body)
    assert run.types[1] == "MESSAGES_SNAPSHOT"
    assert run.text == "cancel my order | hello, cancel my order"
    assert "was used before" in run.events[0]["metadata"]["sayso"]["warnings"][0]
    await at_rest(server, tab)
    again = await tab.run(body)  # a retry
    assert [m["content"] for m in again.snapshot] == [
        "hello",
        "hello | hello",
        "cancel my order",
        "cancel my order | hello, cancel my order",
    ]


@pytest.mark.parametrize("version", [None, "1.0"])
async def test_a_used_id_loses_no_picture(server: Server, tools: Kit, version: str | None) -> None:
    """The same words beside another picture are another message; what comes back is the same."""

    def shown(url: str) -> dict[str, Any]:
        image = {"type": "image", "source": {"type": "url", "value": url}}
        text = {"type": "text", "text": "book this receipt"}
        return {"id": "1", "role": "user", "content": [text, image]}

    async def desk(turn: Turn) -> None:
        users = [m["content"] for m in turn.input.messages if m["role"] == "user"]
        await turn.say(str([part["source"]["value"] for part in users[-1] if "source" in part]))

    tab = server.client(desk, version=version)
    assert (await tab.run(messages=[shown("https://x/one.png")])).text == "['https://x/one.png']"
    body = tab.body(messages=[shown("https://x/two.png")])
    assert (await tab.run(body)).text == "['https://x/two.png']"
    await tab.connect()
    before = [m["id"] for m in tab.model.messages]
    assert len(before) == 4
    await tab.run()
    await tab.connect()
    assert [m["id"] for m in tab.model.messages][:3] == before[:3]


async def test_a_used_id_beside_an_answer_loses_no_words(server: Server, tools: Kit) -> None:
    """It waits like any remark; refused, it stays where the client sees it."""
    tab = server.client(tools.asking_twice)
    await tab.run(messages=[{"id": "1", "role": "user", "content": "deploy"}])
    remark = {"id": "1", "role": "user", "content": "slowly"}
    await tab.resume(answer({"approved": True}), messages=[remark])
    waiting = [m for m in tab.model.messages if m["role"] == "user"]
    assert [m["content"] for m in waiting] == ["deploy", "slowly"]
    refused = Client(server.app, tab.agent, thread=tab.thread)
    run = await refused.run(messages=[{"id": "1", "role": "user", "content": "stop"}])
    assert run.last["code"] == "interrupts_pending"
