"""The inbox: what waits for a person, across threads; extended and assigned (design 5; A, R)."""

from pathlib import Path
from typing import Any

import pytest

from sayso import Turn
from tests.contract.optional import client_of
from tests.contract.requirements import requirement
from tests.contract.rest import call, get, inbox, post
from tests.contract.server import Client, Server, answer, approve, deny, eventually, served
from tests.contract.tools import Kit, kit


async def asking(turn: Turn) -> None:
    """One question that lives for a minute."""
    got = await turn.interrupt("confirmation", "Sure?", expires_in=60)
    await turn.say(got.status)


async def one(server: Server, client: Client) -> dict[str, Any]:
    """The thread's only open interrupt, as the inbox has it."""
    (item,) = await inbox(server, f"?threadId={client.thread}")
    return item


@requirement("IN-02")
async def test_it_lists_what_is_open_oldest_first(server: Server, tools: Kit) -> None:
    """A5, A7: with everything that the stream said of it, and where it belongs."""
    first, second = server.client(tools.refunding), server.client(tools.filing)
    asked = (await first.say()).interrupts
    await server.clock.advance(1)
    asked += (await second.say()).interrupts
    listed = await inbox(server)
    assert [item["id"] for item in listed] == [item["id"] for item in asked]
    for item, body, client in zip(listed, asked, (first, second), strict=True):
        ours = {**body.get("metadata", {}).get("sayso", {}), "may": ["answer", "cancel", "assign"]}
        told = {**body, "metadata": {"sayso": ours}}
        assert {name: item[name] for name in told} == told
        assert item["threadId"] == client.thread
        assert item["agent"] == client.agent
        assert (item["owner"], item["status"]) == ("local", "open")
        assert "answer" not in item
    assert listed[0]["createdAt"] == "2023-11-14T22:13:20.000Z"
    assert await get(server, f"/interrupts/{listed[0]['id']}") == listed[0]


async def test_it_is_filtered_and_paged(server: Server, tools: Kit) -> None:
    """Design 5: by agent, reason, thread and status; each once."""
    mail, form = server.client(tools.mailing), server.client(tools.filing)
    await mail.say()
    await form.say()
    await form.resume(answer({"quarter": "Q1", "year": 2020}))
    await form.say()
    assert len(await inbox(server)) == 4
    assert len(await inbox(server, "?reason=tool_call")) == 3
    assert len(await inbox(server, f"?agent={form.agent}")) == 1
    assert len(await inbox(server, f"?threadId={form.thread}&status=all")) == 2
    assert len(await inbox(server, "?status=resolved")) == 1
    assert await inbox(server, "?agent=nobody") == []
    page = await get(server, "/interrupts?limit=3")
    rest = await get(server, f"/interrupts?limit=3&cursor={page['nextCursor']}")
    ids = [item["id"] for item in page["items"] + rest["items"]]
    assert len(page["items"]) == 3
    assert "nextCursor" not in rest
    assert ids == [item["id"] for item in await inbox(server)]


@pytest.mark.parametrize("kind", ["sqlite"])
async def test_a_restart_changes_nothing_in_it(tmp_path: Path, kind: str) -> None:
    """A4, A7: same ids and bindings."""
    async with served(kind, tmp_path) as server:
        await server.client(kit(server).mailing).say()
        before = await inbox(server)
    async with served(kind, tmp_path) as server:
        assert await inbox(server) == before


@requirement("IN-02")
async def test_a_client_that_left_before_the_end_is_no_loss(server: Server, tools: Kit) -> None:
    """A5: gone right after TOOL_CALL_END; the inbox has the question, and takes the answer."""
    client = server.client(tools.refunding)
    client.user("go")
    exchange = client.open()
    await exchange.until("TOOL_CALL_END")
    await exchange.disconnect()

    async def listed() -> bool:
        return len(await inbox(server)) == 1

    await eventually(listed)
    item = await one(server, client)
    run = await post(server, f"/interrupts/{item['id']}/answer", approve())
    assert run.status == 200


@pytest.mark.parametrize(
    ("method", "action"),
    [
        ("GET", ""),
        ("POST", "/answer"),
        ("DELETE", "/answer"),
        ("POST", "/extend"),
        ("POST", "/assign"),
    ],
)
async def test_an_unknown_interrupt_is_404(server: Server, method: str, action: str) -> None:
    """D1: on every path."""
    bodies = {"/answer": approve(), "/extend": {"seconds": 1}, "/assign": {"to": "bob"}}
    body = bodies.get(action) if method == "POST" else None
    run = await call(server.app, method, f"/interrupts/int_nope{action}", body)
    assert (run.status, run.problem["code"]) == (404, "unknown_interrupt")


@pytest.mark.every_store
async def test_an_extension_moves_the_end(server: Server) -> None:
    """R1: by seconds from its present end, or to a time; then it expires there and no earlier."""
    client = server.client(asking)
    await client.say()
    item = await one(server, client)
    assert item["expiresAt"] == "2023-11-14T22:14:20.000Z"
    path = f"/interrupts/{item['id']}/extend"
    run = await post(server, path, {"seconds": 30})
    assert (run.status, run.json["expiresAt"]) == (200, "2023-11-14T22:14:50.000Z")
    run = await post(server, path, {"expiresAt": "2023-11-15T00:15:20+01:00"})
    assert run.json["expiresAt"] == "2023-11-14T23:15:20.000Z"
    assert await one(server, client) == run.json
    fresh = client.again()
    assert (await fresh.connect()).interrupts[0]["expiresAt"] == "2023-11-14T23:15:20.000Z"
    server.clock.jump(3_718)
    await server.clock.advance(1)  # the next look for what is due
    assert (await client.resume(answer({"approved": True}))).text == "resolved"


async def test_what_was_extended_expires_all_the_same(server: Server) -> None:
    """R1: silence is no answer, however often it was given more time."""
    client = server.client(asking)
    await client.say()
    path = f"/interrupts/{(await one(server, client))['id']}/extend"
    await post(server, path, {"seconds": 30})
    await server.clock.advance(75)
    assert (await one(server, client))["status"] == "open"
    await server.clock.advance(20)

    async def expired() -> bool:
        await server.clock.advance(1)
        return len(await inbox(server, "?status=expired")) == 1

    await eventually(expired)
    run = await post(server, path, {"seconds": 30})
    assert (run.status, run.problem["code"]) == (410, "interrupt_expired")


@requirement("EX-04")
async def test_what_has_expired_cannot_be_extended(server: Server) -> None:
    """EX-04: at its very end it is over, swept or not."""
    client = server.client(asking)
    await client.say()
    item = await one(server, client)
    server.clock._elapsed += 60 * 1_000_000_000
    run = await post(server, f"/interrupts/{item['id']}/extend", {"seconds": 30})
    assert (run.status, run.problem["code"]) == (410, "interrupt_expired")
    assert run.problem["at"] == item["expiresAt"]


async def test_what_its_policy_left_open_can_be_extended_and_approved(server: Server) -> None:
    """R4: held open, it takes a cancellation only, until it is given more time."""

    async def agent(turn: Turn) -> None:
        got = await turn.interrupt("confirmation", "Sure?", expires_in=60)
        await turn.say(got.status)

    client = client_of(server, agent, on_expire="hold")
    await client.say()
    item = await one(server, client)
    await server.clock.advance(62)

    async def lapsed() -> bool:
        await server.clock.advance(1)
        return "lapsedAt" in await one(server, client)

    await eventually(lapsed)
    path = f"/interrupts/{item['id']}"
    run = await post(server, f"{path}/answer", answer({"approved": True}))
    assert (run.status, run.problem["code"]) == (410, "interrupt_expired")
    run = await post(server, f"{path}/extend", {"seconds": 3_600})
    assert (run.status, "lapsedAt" in run.json) == (200, False)
    assert (await post(server, f"{path}/answer", answer({"approved": True}))).status == 200


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, None),
        ({"seconds": 1, "expiresAt": "2030-01-01T00:00:00Z"}, None),
        ({"seconds": 0}, "/seconds"),
        ({"seconds": -1}, "/seconds"),
        ({"seconds": True}, "/seconds"),
        ({"seconds": "60"}, "/seconds"),
        ({"seconds": 1e300}, "/seconds"),
        ({"expiresAt": "2030-01-01T00:00:00"}, "/expiresAt"),
        ({"expiresAt": "soon"}, "/expiresAt"),
        ({"expiresAt": 1}, "/expiresAt"),
        ({"expiresAt": "2023-11-14T22:14:00Z"}, None),
    ],
)
async def test_an_extension_that_is_none_is_422(
    server: Server, body: dict[str, Any], pointer: str | None
) -> None:
    """EX-07: a time has an offset; the end never comes nearer."""
    client = server.client(asking)
    await client.say()
    item = await one(server, client)
    run = await post(server, f"/interrupts/{item['id']}/extend", body)
    assert (run.status, run.problem["code"]) == (422, "invalid_input")
    if pointer is not None:
        assert run.problem["errors"][0]["pointer"] == pointer
    assert await one(server, client) == item


async def test_what_never_expires_needs_no_extension(server: Server, tools: Kit) -> None:
    """R2: more time must not become less."""
    client = server.client(tools.refunding)
    await client.say()
    item = await one(server, client)
    run = await post(server, f"/interrupts/{item['id']}/extend", {"seconds": 60})
    assert (run.status, run.problem["code"]) == (422, "invalid_input")


async def test_an_interrupt_can_be_assigned_and_taken_back(server: Server, tools: Kit) -> None:
    """Design 5: who should answer it, which anybody's list can be filtered by."""
    client = server.client(tools.mailing)
    await client.say()
    first, second, _ = await inbox(server)
    run = await post(server, f"/interrupts/{first['id']}/assign", {"to": "bob"})
    assert (run.status, run.json["assignedTo"]) == (200, "bob")
    await post(server, f"/interrupts/{second['id']}/assign", {"to": "cyd"})
    assert [i["id"] for i in await inbox(server, "?assignedTo=bob")] == [first["id"]]
    run = await post(server, f"/interrupts/{first['id']}/assign", {"to": None})
    assert "assignedTo" not in run.json
    for wrong in ({}, {"to": ""}, {"to": 1}, {"to": "x" * 300}):
        run = await post(server, f"/interrupts/{first['id']}/assign", wrong)
        assert (run.status, run.problem["errors"][0]["pointer"]) == (422, "/to")


async def test_what_is_settled_changes_no_more(server: Server, tools: Kit) -> None:
    """ID-06: neither its end nor its assignee; who decided is said."""
    client = server.client(tools.refunding)
    await client.say()
    item = await one(server, client)
    await client.resume(deny())
    for action, body in (("extend", {"seconds": 1}), ("assign", {"to": "bob"})):
        run = await post(server, f"/interrupts/{item['id']}/{action}", body)
        assert (run.status, run.problem["code"]) == (409, "already_resolved")
        assert (run.problem["by"], run.problem["at"]) == ("local", "2023-11-14T22:13:20.000Z")
