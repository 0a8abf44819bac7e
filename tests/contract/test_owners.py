"""Who may answer: the owner of a thread, by what authentication says (section 24, case O)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sayso import Principal, Turn, approval, current_call
from tests.contract.requirements import requirement
from tests.contract.server import Client, Server, answer, approve, served
from tests.contract.tools import kit
from tests.stores.backends import EMBEDDED

SUBJECTS = {
    "ann": Principal(subject="ann"),
    "bob": Principal(subject="bob"),
    "eve": Principal(subject="ann", scope="elsewhere"),
}


async def authenticate(scope: Any) -> Principal | None:
    """The bearer's name is the token."""
    token = dict(scope["headers"]).get(b"authorization", b"").decode()
    return SUBJECTS.get(token.removeprefix("Bearer "))


@pytest.fixture(params=EMBEDDED)
async def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server that knows three callers."""
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        yield server


def calling(server: Server, client: Client, who: str) -> Client:
    """The same thread, asked for by somebody else."""
    return client.again(headers={"authorization": f"Bearer {who}"})


async def waiting(server: Server) -> Client:
    """Ann's thread, waiting for her approval."""
    client = server.client(kit(server).refunding)
    client.headers["authorization"] = "Bearer ann"
    await client.say("refund it")
    return client


@requirement("SE-02", "CR-1")
async def test_nobody_else_s_answer_or_message_is_taken(guarded: Server) -> None:
    """O1, O2, SE-02: 404 on every path; nothing is consumed, stored or told."""
    client = await waiting(guarded)
    stored = guarded.dump()
    bob = calling(guarded, client, "bob")
    user = {"id": "mine", "role": "user", "content": "show me"}
    ways: tuple[dict[str, Any], ...] = (
        {"resume": client.entries(approve())},
        {"messages": [*client.model.messages, user]},
        {"messages": []},
    )
    for members in ways:
        run = await bob.run(client.body(**members))
        assert (run.status, run.problem["code"]) == (404, "unknown_thread")
        assert (guarded.dump(), guarded.effects) == (stored, [])
    fresh = client.again()
    assert (await fresh.connect()).interrupts == client.model.pending
    assert (await client.resume(approve())).outcome == "success"


async def test_a_foreign_thread_looks_like_one_that_does_not_exist(guarded: Server) -> None:
    """SE-02: no oracle: whoever looks from another scope, or from the same one, sees it empty."""
    client = await waiting(guarded)
    for somebody in ("eve", "bob"):
        other = calling(guarded, client, somebody)
        body = other.body(runId="r", messages=[])
        foreign = await other.run(body, action="/connect")
        assert foreign.types == ["RUN_STARTED", "RUN_FINISHED"]
        nobodys = await other.run({**body, "threadId": "nobody's"}, action="/connect")
        thread = client.thread.encode()
        assert foreign.body.replace(thread, b"nobody's") == nobodys.body


async def test_two_scopes_may_use_one_thread_id(guarded: Server) -> None:
    """Design 2: the key is the scope and the thread id."""
    client = await waiting(guarded)
    eve = calling(guarded, client, "eve")
    run = await eve.say("refund mine")
    assert run.outcome == "interrupt"
    assert run.interrupts[0]["id"] != client.model.pending[0]["id"]
    crossed = await eve.run(resume=client.entries(approve()))
    assert crossed.outcome == "unknown_interrupt"
    assert (await eve.resume(approve())).outcome == "success"
    assert guarded.effects == [("refund", "A-17", 240.0)]
    assert (await client.again().connect()).interrupts == client.model.pending


@requirement("ER-01")
@pytest.mark.parametrize("path", ["/agents", "/agents/a", "/agents/a/connect", "/me", "/nothing"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_authentication_comes_before_everything(
    guarded: Server, path: str, method: str
) -> None:
    """O5: bad JSON without a token is 401, and so is a path that does not exist."""
    for headers in ({}, {"authorization": "Bearer nobody"}):
        run = await guarded.request(method, path, b"{", headers).end()
        assert (run.status, run.problem["code"]) == (401, "unauthenticated")


@requirement("SE-05", "TB-14")
async def test_the_decider_comes_from_the_request_s_credentials(guarded: Server) -> None:
    """O6, U2: the tool sees who began the turn and who approved; the payload's word is nothing."""

    @guarded.app.tool(approval=approval.always)
    async def whoami() -> str:
        call = current_call()
        guarded.effects.append((call.principal.subject, call.approver))
        return "known"

    async def agent(turn: Turn) -> None:
        guarded.effects.append(turn.principal)
        await turn.call(whoami)
        got = await turn.interrupt("shop:any", "?", schema={"type": "object"})
        guarded.effects.append(got.by)

    client = guarded.client(agent)
    client.headers["authorization"] = "Bearer ann"
    await client.say()
    await client.resume(approve(reason="signed, bob"))
    await client.resume(answer({"by": "bob"}, metadata={"by": "bob"}))
    ann = SUBJECTS["ann"]
    assert guarded.effects == [ann, ann, ("ann", "ann"), ann, "ann"]


@requirement("EN-18")
async def test_no_other_origin_may_call_unless_it_is_named(server: Server) -> None:
    """O5, EN-18: no CORS by default, and a page of another site approves nothing."""
    client = server.client(kit(server).refunding)
    await client.say()
    stored = server.dump()
    client.headers["origin"] = "https://evil.example"
    run = await client.resume(approve())
    assert (run.status, run.problem["code"]) == (403, "forbidden_origin")
    assert not any(name.startswith("access-control") for name in run.headers)
    client.headers.pop("origin")
    client.headers["host"] = "rebound.example"
    run = await client.resume(approve())
    assert (run.status, run.problem["code"]) == (421, "forbidden_host")
    assert (server.dump(), server.effects) == (stored, [])


@requirement("EN-18", "EN-02")
async def test_a_named_origin_may_call(tmp_path: Path) -> None:
    """EN-18: preflight and run, for the headers that clients send."""
    origin = "https://app.example"
    async with served("memory", tmp_path, origins=[origin]) as server:
        client = server.client(kit(server).greeting)
        asked = {
            "origin": origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type, accept, authorization",
        }
        allowed = await server.request("OPTIONS", f"/agents/{client.agent}", b"", asked).end()
        assert allowed.status == 204
        assert allowed.headers["access-control-allow-origin"] == origin
        for name in ("content-type", "accept", "authorization"):
            assert name in allowed.headers["access-control-allow-headers"]
        client.headers["origin"] = origin
        run = await client.say("ann")
        assert run.headers["access-control-allow-origin"] == origin
        assert run.text == "Hello, ann."
