"""Requests of the session dialect that are malformed, or that name what is not there (design 5)."""

from typing import Any

import pytest

from sayso import CopilotKit, DeclarationError, Sessions
from tests.contract.server import Server
from tests.contract.sessions import PATH, Session, frames_of, session_of, told
from tests.contract.tools import Kit


async def test_of_several_agents_one_is_named(server: Server, tools: Kit) -> None:
    """A server of one agent needs no name; an unknown one is 404."""
    only = server.client(tools.greeting)
    assert told(await Session(server.app).say("Ann")) == ["Hello, Ann."]
    server.client(tools.refunding)
    session = Session(server.app)
    run = await session.call("POST", PATH, {"message": "go"})
    assert (run.status, run.json["errors"][0]["pointer"]) == (422, "/agent")
    assert run.headers["x-session-id"]
    run = await session.call("POST", PATH, {"message": "go", "agent": "nobody"})
    assert (run.status, run.json["code"]) == (404, "unknown_agent")
    assert told(await Session(server.app, agent=only.agent).say("Ben")) == ["Hello, Ben."]


async def test_another_agent_waits_for_its_turn(server: Server, tools: Kit) -> None:
    """Design 4: `wrong_agent` while the session waits; the resume needs no agent."""
    session = session_of(server, tools.refunding)
    await session.say()
    other = server.client(tools.greeting)
    run = await session.call("POST", PATH, session.chat_body("hi", agent=other.agent))
    assert (run.status, run.json["code"]) == (409, "wrong_agent")
    assert (await session.answer("no"))[-1]["type"] == "done"


MALFORMED: list[tuple[str, Any, int]] = [
    ("", b"{", 400),
    ("", b"", 400),
    ("", b"[]", 422),
    ("", b'"text"', 422),
    ("", {}, 422),
    ("", {"message": None}, 422),
    ("", {"message": 1}, 422),
    ("", {"message": "x", "session_id": 7}, 422),
    ("", {"message": "x", "session_id": ""}, 422),
    ("", {"message": "x", "session_id": "a b"}, 422),
    ("", {"message": "x", "session_id": "a\r\nb: c"}, 422),
    ("", {"message": "x", "session_id": "ü"}, 422),
    ("", {"message": "x", "session_id": "x" * 513}, 422),
    ("", {"message": "x", "agent": 1}, 422),
    ("", {"message": "x", "stream": "yes"}, 422),
    ("/resume", b"nothing", 400),
    ("/resume", [], 422),
    ("/resume", {}, 422),
    ("/resume", {"answer": "yes"}, 422),
    ("/resume", {"session_id": None, "answer": "yes"}, 422),
    ("/resume", {"session_id": "waits"}, 422),
    ("/resume", {"session_id": ["waits"], "answer": "yes"}, 422),
    ("/resume", {"session_id": "waits", "answer": "yes", "interrupt_id": 1}, 422),
    ("/resume", {"session_id": "waits", "answer": "yes", "interrupt_id": ""}, 422),
    ("/resume", {"session_id": "waits", "answer": "x" * 300_000}, 422),
    ("/resume", {"session_id": "waits", "answer": "yes", "status": "maybe"}, 422),
    ("/resume", {"session_id": "waits", "answer": "yes", "status": "cancelled"}, 422),
    ("/resume", {"session_id": "waits", "status": "resolved"}, 422),
    ("/resume", {"session_id": "waits", "status": 1}, 422),
]


@pytest.mark.parametrize(("below", "body", "status"), MALFORMED)
async def test_malformed_requests_change_nothing(
    server: Server, tools: Kit, below: str, body: Any, status: int
) -> None:
    """This dialect's error, with pointers, and the session where it was."""
    session = session_of(server, tools.refunding, session_id="waits")
    await session.say()
    stored = server.dump()
    run = await Session(server.app).call("POST", PATH + below, body)
    assert run.status == status, run.body
    assert run.headers["content-type"] == "application/json"
    assert {"detail", "code", "message"} <= run.json.keys()
    if status == 422:
        assert run.json["errors"]
    if not below:
        assert "\n" not in run.headers["x-session-id"]
    assert (server.dump(), server.effects) == (stored, [])
    assert (await session.answer("yes"))[-1]["type"] == "done"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", PATH, 405),
        ("GET", f"{PATH}/resume", 405),
        ("POST", f"{PATH}/other", 404),
        ("GET", PATH, 422),
        ("GET", f"{PATH}?session_id=a%20b", 422),
    ],
)
async def test_other_requests_are_told_so(
    server: Server, method: str, path: str, status: int
) -> None:
    """In this dialect's words as well."""
    run = await Session(server.app).call(method, path)
    assert (run.status, run.headers["content-type"]) == (status, "application/json")
    assert run.json["detail"]


async def test_the_session_is_named_in_errors_that_come_before_it_is_looked_at(
    server: Server, tools: Kit
) -> None:
    """Design 5: `X-Session-Id` of every response about one, as far as its head tells."""

    async def nobody(_: Any) -> None:
        return None

    app = server.another(authenticate=nobody)
    app.agent("desk")(tools.greeting)
    named = Session(app, headers={"x-session-id": "s-1"})
    for session, path in ((named, PATH), (Session(app), f"{PATH}?session_id=s-1")):
        run = await session.call("POST" if session is named else "GET", path, {"message": "x"})
        assert (run.status, run.headers["x-session-id"]) == (401, "s-1")
    forged = await Session(app, headers={"x-session-id": "a b"}).call("POST", PATH, {})
    assert (forged.status, "x-session-id" in forged.headers) == (401, False)


async def test_the_dialect_can_be_elsewhere_or_nowhere(server: Server, tools: Kit) -> None:
    """By `mount`; a path that is taken is refused where it is declared."""
    client = server.client(tools.greeting)
    moved = server.another()
    moved.mount(Sessions("/talk"))
    moved.agent(client.agent)(tools.greeting)
    run = await Session(moved).call("POST", "/talk", {"message": "Ann"})
    assert told(frames_of(run)) == ["Hello, Ann."]
    nowhere = server.another()
    nowhere.mount(Sessions(None))
    for app in (nowhere, moved):
        assert (await Session(app).call("POST", PATH, {"message": "x"})).status == 404
    for taken in ("/threads", "/threads/x", "/agents", "/healthz", "talk", "/"):
        with pytest.raises(DeclarationError):
            server.another().mount(Sessions(taken))
    with pytest.raises(DeclarationError, match="ttl of Sessions"):
        Sessions(ttl=0)
    server.another().mount(CopilotKit(path="/api/copilotkit"))
