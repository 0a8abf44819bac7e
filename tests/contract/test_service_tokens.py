"""Services that call with a token of this server: who they are, what they may, how they end."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sayso import Approvers, Turn, approval
from sayso.base.service_tokens import ServiceToken, new_token
from tests.contract.rest import at_rest, call
from tests.contract.server import JSON, Client, Server, answer, approve, served
from tests.contract.test_approvers import authenticate, rest, says
from tests.contract.test_sign_ins import MINUTE, Slow, bearer, begun, ends, lasts
from tests.contract.wire import Exchange, Run
from tests.stores.backends import EMBEDDED


@pytest.fixture(params=EMBEDDED)
async def shop(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server where people have tokens of their own."""
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        yield server


async def added(server: Server, name: str = "ci", **members: Any) -> tuple[str, ServiceToken]:
    tokens = server.app._engine.service_tokens
    return await tokens.add(members.pop("scope", "default"), name, by="ann", **members)


async def revoke(server: Server, name: str) -> int:
    return len(await server.app._engine.service_tokens.revoke("default", name, by="ann"))


async def lists(server: Server, token: str) -> Run:
    return await rest(server, token, "GET", "/threads")


def deploying(server: Server, token: str, *tools: str) -> Client:
    """A service's client of an agent that calls these tools."""
    for name in tools:

        def run(name: str = name) -> str:
            server.effects.append(name)
            return "done"

        server.app.tool(name=name, approval=approval.never)(run)

    async def deploys(turn: Turn) -> None:
        for name in tools:
            done = await turn.call(name, {})
            await turn.say(f"{name} {done.status}")

    client = server.client(deploys)
    client.headers |= bearer(token)
    return client


async def test_a_token_is_a_service_beside_people(shop: Server) -> None:
    """Its beginning decides who is asked; what nobody made lets nobody in."""
    token, kept = await added(shop, roles=["asker"])
    assert token not in shop.dump()
    assert kept.digest in shop.dump()
    assert (await lists(shop, token)).status == 200
    assert (await lists(shop, "ann")).status == 200
    for wrong in (token[:-1], token + "x", token.upper(), new_token(), "sayso_sk_", "sayso_sk_ü"):
        headers = {"authorization": f"Bearer {wrong}"}
        assert (await call(shop.app, "GET", "/threads", headers=headers)).status == 401
    client = deploying(shop, token, "deploy_api")
    assert (await client.say()).outcome == "success"
    (thread,) = (await lists(shop, token)).json["items"]
    assert thread["threadId"] == client.thread
    assert (await lists(shop, "ann")).json["items"] == []
    rows = (await rest(shop, token, "GET", f"/audit?thread={client.thread}")).json["items"]
    assert {row["owner"] for row in rows} == {"service:ci"}


async def test_a_service_decides_nothing(shop: Server) -> None:
    """Whatever roles it has: a person has to."""
    token, _ = await added(shop, roles=["lead"])

    @shop.app.tool(approval=approval.always(by="lead"))
    async def pay() -> str:
        shop.effects.append("paid")
        return "Paid."

    async def pays(turn: Turn) -> None:
        await turn.call(pay)

    client = shop.client(pays)
    client.headers |= bearer("ann")
    (asked,) = (await client.say()).interrupts
    run = await says(shop, token, asked, approve())
    assert (run.status, run.problem["code"]) == (403, "person_required")
    assert shop.effects == []


async def test_a_service_calls_its_own_tools_alone(shop: Server) -> None:
    """Also in a turn that a person lets go on, and without a hook of the app."""
    token, _ = await added(shop, tools=["deploy_*", "read"])
    client = deploying(shop, token, "deploy_api", "drop_table", "read", "ready", "deploy")
    run = await client.say()
    assert shop.effects == ["deploy_api", "read"]
    assert "drop_table denied" in run.text

    async def later(turn: Turn) -> None:
        await turn.interrupt("shop:go", "Go on?", approvers=Approvers(by="lead"))
        done = await turn.call("drop_table", {})
        shop.effects.append((done.status, done.rule))

    client = shop.client(later)
    client.headers |= bearer(token)
    (asked,) = (await client.say()).interrupts
    assert (await says(shop, "lea", asked, answer({}))).status == 200
    await at_rest(shop, client)
    assert shop.effects == ["deploy_api", "read", ("denied", "authorize")]


async def test_a_token_ends_by_itself_and_by_being_revoked(shop: Server) -> None:
    """Within ten seconds for requests, within a minute for streams; another one goes on."""
    short, _ = await added(shop, seconds=100)
    token, kept = await added(shop)
    again, _ = await added(shop)
    await shop.clock.advance(101)
    assert (await lists(shop, short)).status == 401
    assert (await lists(shop, token)).status == 200
    slow = Slow(shop, token)
    began = await slow.begin()
    inbox = Exchange(shop.app, "GET", "/interrupts/stream", b"", JSON | bearer(token))
    other = Exchange(shop.app, "GET", "/interrupts/stream", b"", JSON | bearer(again))
    for stream in (inbox, other):
        await stream.until("connected")
    assert await revoke(shop, kept.id) == 1
    assert await revoke(shop, kept.id) == 0
    for stream in (inbox, began):
        assert (await ends(shop, stream, within=MINUTE + 1))["code"] == "token_expired"
    assert (await lists(shop, token)).status == 401
    assert (await lists(shop, again)).status == 200
    await lasts(shop, other, MINUTE)
    assert await revoke(shop, "ci") == 1
    assert (await ends(shop, other, within=MINUTE + 1))["code"] == "token_expired"
    slow.go.set()
    await at_rest(shop, slow.client)


async def test_a_body_that_was_begun_before_a_revocation_begins_nothing(shop: Server) -> None:
    """However long it takes to come."""
    token, _ = await added(shop)
    client = deploying(shop, token, "deploy")
    client.user("go")
    path = f"/agents/{client.agent}"
    async with begun(shop, token, path, client.body()) as run:
        await revoke(shop, "ci")
        await shop.clock.advance(MINUTE)
        assert await run.status() == 401
    assert shop.effects == []


async def test_a_token_opens_its_own_scope(shop: Server) -> None:
    token, _ = await added(shop, scope="elsewhere")
    client = deploying(shop, token, "deploy_api")
    await client.say()
    mine, _ = await added(shop)
    assert len((await lists(shop, token)).json["items"]) == 1
    assert (await lists(shop, mine)).json["items"] == []
    assert await revoke(shop, "ci") == 1
    assert (await lists(shop, token)).status == 200


async def test_the_trail_of_the_scope_tells_of_tokens(shop: Server) -> None:
    """Who made and who revoked them; never the token, nor its digest."""
    token, kept = await added(shop, roles=["asker"], tools=["deploy_*"], seconds=60)
    await revoke(shop, "ci")
    page = await shop.store.audit("default", thread_id="")
    assert [row.kind for row in page.items] == ["service_added", "service_revoked"]
    told = b"".join(row.content or b"" for row in page.items)
    assert kept.id.encode() in told
    assert token.encode() not in told
    assert kept.digest.encode() not in told


async def test_words_about_a_token_are_asked_for_once_in_ten_seconds(shop: Server) -> None:
    token, _ = await added(shop)
    before = len([c for c in shop.store.calls if c.point == "service_token"])
    for _ in range(5):
        assert (await lists(shop, token)).status == 200
    await shop.clock.advance(10)
    assert (await lists(shop, token)).status == 200
    assert len([c for c in shop.store.calls if c.point == "service_token"]) == before + 2
