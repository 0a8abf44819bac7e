"""Requests of the CopilotKit mount that are malformed, foreign, or for what is not there.

Each is told in that protocol's words, `{"error", "message", …}`, and changes nothing.
"""

import json
from typing import Any

import pytest

from sayso import CopilotKit, DeclarationError, Principal, Sayso
from tests.contract.requirements import requirement
from tests.contract.rest import call, get
from tests.contract.runtime import TRANSPORTS, Page, page
from tests.contract.server import Server, approve
from tests.contract.tools import Kit
from tests.contract.wire import Run

RUN = "/copilotkit/agent/desk/run"
CONNECT = "/copilotkit/agent/desk/connect"
STOP = "/copilotkit/agent/desk/stop/t"
SINGLE = "/copilotkit"
BODY: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}
TEXT = {"content-type": "text/plain"}


def told(run: Run, status: int, code: str) -> dict[str, Any]:
    """The error of a response; it is one of this dialect."""
    assert run.headers["content-type"] == "application/json"
    body: dict[str, Any] = run.json
    assert (run.status, body["error"]) == (status, code), body
    assert isinstance(body["message"], str)
    assert body["message"]
    return body


def enveloped(method: Any, params: Any = None, body: Any = None) -> dict[str, Any]:
    members = {"method": method, "params": params, "body": body}
    return {name: value for name, value in members.items() if value is not None}


AT = {"agentId": "desk"}
STOPS = {"agentId": "desk", "threadId": "t"}


@requirement("EN-16", "ER-01", "ER-14")
@pytest.mark.parametrize(
    ("path", "body", "status", "code", "pointers"),
    [
        (RUN, b"", 400, "malformed_json", []),
        (RUN, b"{", 400, "malformed_json", []),
        (RUN, b"\xff", 400, "malformed_json", []),
        (RUN, [], 422, "invalid_input", [""]),
        (RUN, None, 415, "unsupported_media_type", []),
        (RUN, {**BODY, "threadId": 5}, 422, "invalid_input", ["/threadId"]),
        (RUN, {**BODY, "resume": [{"status": "maybe"}]}, 422, "invalid_input", None),
        (RUN, {**BODY, "protocolVersion": "2.0"}, 422, "unsupported_version", []),
        (CONNECT, {"messages": []}, 422, "invalid_input", ["/threadId", "/runId"]),
        ("/copilotkit/agent/nobody/run", BODY, 404, "unknown_agent", []),
        ("/copilotkit/agent/nobody/connect", BODY, 404, "unknown_agent", []),
        ("/copilotkit/agent/nobody/stop/t", b"", 404, "unknown_agent", []),
        ("/copilotkit/agent/default/stop", b"", 404, "not_found", []),
        (STOP, b"nonsense", 400, "malformed_json", []),
        (STOP, {"runId": 7}, 422, "invalid_input", ["/runId"]),
        (STOP, [1], 422, "invalid_input", [""]),
        (SINGLE, b"", 400, "malformed_json", []),
        (SINGLE, b"[", 400, "malformed_json", []),
        (SINGLE, [], 422, "invalid_input", [""]),
        (SINGLE, {}, 422, "invalid_input", ["/method"]),
        (SINGLE, BODY, 422, "invalid_input", ["/method"]),
        (SINGLE, enveloped(5), 422, "invalid_input", ["/method"]),
        (SINGLE, enveloped("agent/dance"), 422, "invalid_input", []),
        (SINGLE, enveloped("resource/request", {}, {}), 422, "invalid_input", []),
        (SINGLE, enveloped("agent/run", [], BODY), 422, "invalid_input", ["/params"]),
        (SINGLE, enveloped("agent/run", None, BODY), 422, "invalid_input", ["/params/agentId"]),
        (SINGLE, enveloped("agent/run", {"agentId": "nobody"}, BODY), 404, "unknown_agent", []),
        (SINGLE, enveloped("agent/run", AT), 422, "invalid_input", ["/body"]),
        (
            SINGLE,
            enveloped("agent/connect", AT, {**BODY, "runId": ""}),
            422,
            "invalid_input",
            ["/body/runId"],
        ),
        (SINGLE, enveloped("agent/stop", AT), 422, "invalid_input", ["/params/threadId"]),
        (
            SINGLE,
            enveloped("agent/stop", STOPS, {"runId": []}),
            422,
            "invalid_input",
            ["/body/runId"],
        ),
    ],
)
async def test_a_malformed_request_says_where_and_changes_nothing(
    server: Server, tools: Kit, path: str, body: Any, status: int, code: str, pointers: Any
) -> None:
    """Design 5: in that dialect's words; no stack, no echo."""
    tab = page(server, tools.refunding, "rest", description="Secretive.")
    await tab.say("refund")
    stored = server.dump()
    headers = TEXT if body is None else {}
    run = await call(server.app, "POST", path, b"{}" if body is None else body, headers=headers)
    error = told(run, status, code)
    if pointers is not None:
        assert [one["pointer"] for one in error.get("errors", [])] == pointers
    assert server.dump() == stored
    assert b"Traceback" not in run.body
    assert (await tab.resume(approve())).outcome == "success"


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/copilotkit/info", "GET"),
        ("GET", "/copilotkit", "POST"),
        ("GET", RUN, "POST"),
        ("GET", STOP, "POST"),
        ("DELETE", "/copilotkit/threads", "GET"),
    ],
)
async def test_another_method_is_told_which_one_is_taken(
    server: Server, tools: Kit, method: str, path: str, allow: str
) -> None:
    """405 with Allow, also here."""
    page(server, tools.greeting, "rest")
    run = await call(server.app, method, path)
    told(run, 405, "method_not_allowed")
    assert run.headers["allow"] == allow


async def test_a_path_that_is_not_there_is_told_in_the_same_words(
    server: Server, tools: Kit
) -> None:
    """What the runtime of CopilotKit's own makes of threads is not offered."""
    page(server, tools.greeting, "rest")
    for path in ("/copilotkit/threads/t", "/copilotkit/transcribe", "/copilotkit/agent/desk"):
        told(await call(server.app, "GET", path), 404, "not_found")


async def test_a_body_over_the_limit_is_refused_in_both_transports(
    server: Server, tools: Kit
) -> None:
    """The envelope counts: it is what has to be held."""
    page(server, tools.greeting, "rest")
    body = {**BODY, "state": {"x": "y" * 33_600_000}}
    told(await call(server.app, "POST", RUN, body), 413, "body_too_large")
    envelope = enveloped("agent/run", AT, body)
    told(await call(server.app, "POST", SINGLE, envelope), 413, "body_too_large")


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_members_that_this_version_does_not_know_do_no_harm(
    server: Server, tools: Kit, transport: str
) -> None:
    """FC-01: a newer page may say more."""
    tab = page(server, tools.greeting, transport)
    said = tab.user("Ann")
    body = {**tab.body(), "messages": [said], "sessionColour": "blue", "state": None}
    assert (await tab.run(body)).outcome == "success"
    more = {**enveloped("info", {"verbose": True}), "traceId": "1"}
    assert (await call(server.app, "POST", SINGLE, more)).status == 200
    gone = {**enveloped("agent/stop", {**STOPS, "why": "?"}), "body": None}
    assert (await call(server.app, "POST", SINGLE, gone)).json["stopped"] is False


async def test_strangers_threads_are_neither_shown_stopped_nor_run(
    server: Server, tools: Kit
) -> None:
    """A thread id is all that connect has, so whose it is decides, on every route."""

    async def whoever(scope: Any) -> Principal | None:
        name = dict(scope["headers"]).get(b"x-user")
        return None if name is None else Principal(subject=name.decode())

    app = server.another(authenticate=whoever)
    app.add_tools(tools.refund)
    app.agent("desk")(tools.refunding)
    app.mount(CopilotKit())
    async with app.lifespan():
        mine = Page(app, "desk", transport="rest", headers={"x-user": "ann"})
        await mine.say("refund")
        theirs = mine.again(headers={**mine.headers, "x-user": "eve"})
        stored = server.dump()
        shown = await theirs.connect()  # as a thread that nobody has
        assert (shown.outcome, shown.of("MESSAGES_SNAPSHOT")) == ("success", [])
        told(await theirs.say("hello"), 404, "unknown_thread")
        stop = await call(
            app, "POST", f"/copilotkit/agent/desk/stop/{mine.thread}", headers={"x-user": "eve"}
        )
        assert stop.json["stopped"] is False
        listed = await call(app, "GET", "/copilotkit/threads", headers={"x-user": "eve"})
        assert listed.json == {"threads": [], "nextCursor": None}
        assert server.dump() == stored
        for path in ("/copilotkit/info", "/copilotkit/threads"):
            told(await call(app, "GET", path), 401, "unauthenticated")
        assert (await mine.resume(approve())).outcome == "success"


async def test_threads_are_listed_as_use_threads_reads_them(server: Server, tools: Kit) -> None:
    """The last active first, by agent, page by page."""
    first = page(server, tools.refunding, "rest")
    await first.say("refund")
    await server.clock.advance(1)
    second = Page(server.app, "desk", transport="single")
    await second.say("refund")
    found = await get(server, "/copilotkit/threads?agentId=default")
    assert [one["id"] for one in found["threads"]] == [second.thread, first.thread]
    assert found["nextCursor"] is None
    assert set(found["threads"][0]) == {
        "id",
        "name",
        "agentId",
        "organizationId",
        "createdById",
        "archived",
        "createdAt",
        "updatedAt",
    }
    assert {one["agentId"] for one in found["threads"]} == {"default"}
    one = await get(server, "/copilotkit/threads?agentId=desk&limit=1&includeArchived=true")
    rest = await get(server, f"/copilotkit/threads?limit=1&cursor={one['nextCursor']}")
    assert [t["id"] for t in one["threads"] + rest["threads"]] == [second.thread, first.thread]


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("agentId=nobody", 404, "unknown_agent"),
        ("limit=0", 422, "invalid_input"),
        ("limit=x", 422, "invalid_input"),
        ("cursor=nonsense", 422, "invalid_input"),
        ("includeArchived=perhaps", 422, "invalid_input"),
    ],
)
async def test_a_list_of_threads_is_asked_for_in_order(
    server: Server, tools: Kit, query: str, status: int, code: str
) -> None:
    """Nothing is guessed from what does not fit."""
    page(server, tools.greeting, "rest")
    told(await call(server.app, "GET", f"/copilotkit/threads?{query}"), status, code)


@requirement("EN-18")
async def test_pages_of_another_origin_may_call_when_they_are_named(
    server: Server, tools: Kit
) -> None:
    """Errors carry CORS headers too, or the page would only see that it failed to fetch."""
    app = server.another(origins=["https://shop.example"])
    app.agent("desk")(tools.greeting)
    app.mount(CopilotKit())
    origin = {"origin": "https://shop.example"}
    async with app.lifespan():
        asked = {
            **origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type,x-tenant",
        }
        preflight = await call(app, "OPTIONS", RUN, headers=asked)
        assert preflight.status == 204
        assert preflight.headers["access-control-allow-headers"] == "content-type,x-tenant"
        for run in (
            await call(app, "GET", "/copilotkit/info", headers=origin),
            await call(app, "POST", RUN, b"{", headers=origin),
        ):
            assert run.headers["access-control-allow-origin"] == "https://shop.example"


@pytest.mark.parametrize("path", ["copilotkit", "/", "/ck/", "/a//b", "/agents/ck", "/threads"])
def test_a_path_that_cannot_be_its_own_is_refused_at_once(path: str) -> None:
    """Declared wrongly, it would serve nothing, or shadow something."""
    with pytest.raises(DeclarationError):
        Sayso(store="memory:").mount(CopilotKit(path))


def test_two_mounts_have_two_paths() -> None:
    """And each its own options; nothing else than the documented values."""
    app = Sayso(store="memory:")
    app.mount(CopilotKit())
    with pytest.raises(DeclarationError):
        app.mount(CopilotKit())
    app.mount(CopilotKit("/strict", refusals="error"))
    wrong: Any = "maybe"
    with pytest.raises(DeclarationError):
        app.mount(CopilotKit("/other", refusals=wrong))


async def test_the_mount_works_below_a_prefix(server: Server, tools: Kit) -> None:
    """The whole app may itself be mounted somewhere (design 6)."""
    page(server, tools.greeting, "rest")

    async def outer(scope: Any, receive: Any, send: Any) -> None:
        assert scope["path"].startswith("/desk")
        await server.app({**scope, "root_path": "/desk"}, receive, send)

    info = await call(outer, "GET", "/desk/copilotkit/info")
    assert "desk" in info.json["agents"]
    single = await call(outer, "POST", "/desk/copilotkit/", json.dumps(enveloped("info")).encode())
    assert single.json == info.json
