"""What comes in: strict about what the protocol describes, forgiving about the rest."""

import json
import logging
from typing import Any

import pytest

from sayso import Limits, Turn
from tests.contract.requirements import requirement
from tests.contract.server import JSON, Server, answer, approve, served
from tests.contract.tools import Kit

Json = dict[str, Any]

MINIMAL: Json = {
    "threadId": "t",
    "runId": "r",
    "messages": [{"id": "u", "role": "user", "content": "go"}],
}


def without(name: str) -> Json:
    return {key: value for key, value in MINIMAL.items() if key != name}


@requirement("ER-01", "RE-02", "FC-03", "TR-14", "TR-38", "ER-09", "EN-16")
@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({**MINIMAL, "threadId": 5}, "/threadId"),
        ({**MINIMAL, "runId": ""}, "/runId"),
        ({**MINIMAL, "messages": {}}, "/messages"),
        ({**MINIMAL, "messages": [{"role": "user", "content": "x"}]}, "/messages/0/id"),
        ({**MINIMAL, "messages": [{"id": "u", "role": "user"}]}, "/messages/0/content"),
        ({**MINIMAL, "messages": ["x"]}, "/messages/0"),
        ({**MINIMAL, "tools": [{"name": "t"}]}, "/tools/0/description"),
        ({**MINIMAL, "resume": {}}, "/resume"),
        ({**MINIMAL, "resume": [{"status": "resolved"}]}, "/resume/0/interruptId"),
        ({**MINIMAL, "resume": [{"interruptId": "i", "status": "denied"}]}, "/resume/0/status"),
        (
            {**MINIMAL, "resume": [{"interruptId": 1, "status": "resolved"}]},
            "/resume/0/interruptId",
        ),
        (without("threadId"), "/threadId"),
        (without("runId"), "/runId"),
        (without("messages"), "/messages"),
        ([MINIMAL], ""),
        ("text", ""),
    ],
)
async def test_a_malformed_request_gets_a_problem_and_no_stream(
    server: Server, tools: Kit, body: Any, pointer: str
) -> None:
    """ER-01, RE-02, FC-03, TR-38: 422 with the place, no echo, nothing stored or run."""
    client = server.client(tools.greeting)
    stored = server.dump()
    data = json.dumps(body).encode()
    run = await server.request("POST", f"/agents/{client.agent}", data).end()
    assert (run.status, run.problem["code"]) == (422, "invalid_input")
    assert [e["pointer"] for e in run.problem["errors"]] == [pointer]
    assert (server.dump(), server.effects) == (stored, [])


@requirement("ER-01", "EN-16", "TR-14")
@pytest.mark.parametrize(
    ("data", "headers", "status", "code"),
    [
        (b"{", JSON, 400, "malformed_json"),
        (b"", JSON, 400, "malformed_json"),
        (b'{"threadId": NaN}', JSON, 400, "malformed_json"),
        (b'"\xff"', JSON, 400, "malformed_json"),
        (b"{}", {"content-type": "text/plain"}, 415, "unsupported_media_type"),
        (b"{}", {}, 415, "unsupported_media_type"),
        (b"[" * 5000 + b"]" * 5000, JSON, 422, "invalid_input"),
    ],
)
async def test_a_body_that_is_no_json_gets_a_problem(
    server: Server, tools: Kit, data: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    """EN-16: 4xx before anything else is looked at."""
    client = server.client(tools.greeting)
    run = await server.request("POST", f"/agents/{client.agent}", data, headers).end()
    assert (run.status, run.problem["code"]) == (status, code)


@requirement("ER-01")
@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("POST", "/agents/nobody", 404, "unknown_agent"),
        ("POST", "/agents/nobody/connect", 404, "unknown_agent"),
        ("GET", "/agents/nobody", 404, "unknown_agent"),
        ("GET", "/agents/nobody/capabilities", 404, "unknown_agent"),
        ("GET", "/agents/nobody/connect", 404, "unknown_agent"),
        ("DELETE", "/agents/nobody", 404, "unknown_agent"),
        ("GET", "/nothing", 404, "not_found"),
    ],
)
async def test_what_is_not_there_is_a_problem(
    server: Server, method: str, path: str, status: int, code: str
) -> None:
    """ER-09: an error is never a 200."""
    body = json.dumps(MINIMAL).encode() if method == "POST" else b""
    run = await server.request(method, path, body).end()
    assert (run.status, run.problem["code"]) == (status, code)


@requirement("FC-06", "EN-01")
async def test_three_members_are_a_request(server: Server, tools: Kit) -> None:
    """FC-06: everything else has a default."""
    client = server.client(tools.greeting)
    run = await client.run({**MINIMAL, "threadId": client.thread})
    assert run.text == "Hello, go."


@requirement("FC-01", "FC-10", "RE-06", "FC-09")
async def test_unknown_members_are_left_out_with_a_warning(
    server: Server, tools: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """FC-01: at every level; `forwardedProps` is passed on untouched (FC-10)."""

    async def agent(turn: Turn) -> None:
        server.effects.append((turn.input.messages, turn.input.forwarded_props))
        await turn.interrupt("confirmation", "?")

    client = server.client(agent)
    odd = {"id": "u", "role": "user", "content": "go", "foo": 1}
    tool = {"name": "t", "description": "d", "foo": 1}
    with caplog.at_level(logging.WARNING, "sayso"):
        await client.run(
            messages=[odd], tools=[tool], foo={"deep": 1}, forwardedProps={"foo": [None]}
        )
    assert server.effects == [(({"id": "u", "role": "user", "content": "go"},), {"foo": [None]})]
    assert sum("no member of the protocol" in message for message in caplog.messages) == 3
    run = await client.resume(answer({"approved": True}, foo=1))
    assert run.outcome == "success"


@requirement("FC-02", "TR-21", "FC-05", "TC-15")
async def test_unknown_roles_and_parts_are_left_out_and_the_rest_is_served(
    server: Server, tools: Kit
) -> None:
    """FC-02, FC-05, TR-21: dropped where they stand; `binary` becomes a media part."""
    client = server.client(tools.filing)
    binary = {"type": "binary", "mimeType": "image/png", "data": "aGk="}
    parts = [{"type": "text", "text": "look"}, {"type": "3d", "mesh": []}, binary]
    messages = [
        {"id": "c", "role": "critic", "content": "no"},
        {"id": "u", "role": "user", "content": parts},
    ]
    run = await client.run(messages=messages)
    (user,) = run.snapshot
    assert [part["type"] for part in user["content"]] == ["text", "image"]


@requirement("FC-04")
async def test_nulls_of_old_clients_are_absent(server: Server, tools: Kit) -> None:
    """FC-04: what 0.0.59 really sends."""
    client = server.client(tools.refunding, version=None)
    nothing = dict.fromkeys(
        ("state", "forwardedProps", "tools", "context", "resume", "parentRunId")
    )
    assert (await client.say(**nothing)).outcome == "interrupt"
    entry = {**client.entries(approve())[0], "metadata": None}
    assert (await client.resume(entry, state=None)).outcome == "success"


@requirement("FC-09")
async def test_snake_case_is_read_and_camelcase_wins(server: Server, tools: Kit) -> None:
    """FC-09: on input only."""
    client = server.client(tools.greeting)
    body = {"thread_id": "no", "threadId": client.thread, "run_id": "r", "messages": []}
    user = MINIMAL["messages"]
    run = await client.open({**body, "messages": user}).end()
    assert run.judged(client.thread, "r").outcome == "success"


@requirement("VN-03", "VN-04", "VN-06", "VN-01", "OC-21")
@pytest.mark.parametrize("version", [None, "1.0", "1.7", "1.10", "1", "1.0.0", "soon", "0.9", ""])
async def test_every_version_of_our_line_is_served_with_our_own(
    server: Server, tools: Kit, version: str | None
) -> None:
    """VN-03 to VN-06: newer minors and odd spellings proceed; never an echo."""
    client = server.client(tools.greeting, version=version)
    run = await client.say("ann")
    assert run.outcome == "success"
    assert run.events[0]["protocolVersion"] == "1.0"


@requirement("VN-05")
@pytest.mark.parametrize("version", ["2.0", "10.3"])
async def test_another_major_line_is_refused_before_the_run(
    server: Server, tools: Kit, version: str
) -> None:
    """VN-05: HTTP, no stream."""
    client = server.client(tools.greeting, version=version)
    run = await client.say("ann")
    assert (run.status, run.problem["code"]) == (422, "unsupported_version")
    assert server.effects == []


@requirement("VN-07", "VN-10", "TR-13", "OC-02", "TC-07", "OC-17")
async def test_an_old_peer_gets_the_same_run(server: Server, tools: Kit) -> None:
    """VN-07, TR-13: the same events in the same order, and none that is fatal to it."""
    shapes = []
    for version in ("1.0", None):
        client = server.client(tools.mailing, version=version)
        runs = [await client.say(), await client.resume(approve(), approve(), approve())]
        shapes.append([(e["type"], sorted(e)) for run in runs for e in run.events])
        assert all("pendingToolCallIds" not in run.last["outcome"] for run in runs)
        assert all("input" not in run.events[0] for run in runs)
        assert all(isinstance(e["content"], str) for e in runs[1].of("TOOL_CALL_RESULT"))
    assert shapes[0] == shapes[1]


@requirement("ER-01")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_what_is_too_much_is_refused(tmp_path: Any, kind: str) -> None:
    """Design 4, limits: body, depth, messages, payload, history; a code for each."""
    limits = Limits(body=20_000, depth=8, messages=3, payload=100, history=6_000)
    async with served(kind, tmp_path, limits=limits) as server:

        async def agent(turn: Turn) -> None:
            await turn.interrupt("shop:any", "?", schema={"title": "Any"})

        client = server.client(agent)
        first = await client.say()
        stored = server.dump()
        texts = [{"id": f"new-{n}", "role": "user", "content": "x"} for n in range(4)]
        deep: Any = 0
        for _ in range(9):
            deep = [deep]
        for members, status, code in (
            ({"state": "x" * 20_000}, 413, "body_too_large"),
            ({"state": deep}, 422, "invalid_input"),
            ({"messages": texts}, 422, "invalid_input"),
            ({"resume": client.entries(answer("x" * 100))}, 422, "invalid_input"),
        ):
            run = await client.run(**members)
            assert (run.status, run.problem["code"]) == (status, code)
            assert server.dump() == stored
        long = {"id": "long", "role": "user", "content": "x" * 7_000}
        refused = await client.resume(answer(1), messages=[long])
        assert refused.outcome == "thread_too_large"
        assert server.dump() == stored
        assert (await client.connect()).interrupts == first.interrupts


@requirement("EN-08")
@pytest.mark.parametrize("number", [2**53 + 1, -(2**63), 2**64, 10**400, 1e308])
async def test_huge_numbers_come_through_or_are_refused(
    server: Server, tools: Kit, number: Any
) -> None:
    """EN-08: a client's numbers never break a stream."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "?")

    client = server.client(agent)
    run = await client.say(state={"n": number})
    if run.status == 200:
        assert run.outcome == "interrupt"
        assert (await client.connect()).outcome == "interrupt"
    else:
        assert run.problem["code"] in ("malformed_json", "invalid_input")


@requirement("EN-08", "TX-04")
@pytest.mark.parametrize("text", ["\ud800", "a\0b", "\r\n\u2028\u2029\x7f", "𝄞" * 10])
async def test_any_text_of_a_client_comes_through_or_is_refused(
    server: Server, tools: Kit, text: str
) -> None:
    """EN-08, EN-20: a lone surrogate is no text; everything else is kept to the letter."""
    client = server.client(tools.filing)
    body = client.body(messages=[{"id": "u", "role": "user", "content": text}])
    run = await client.run(body)
    if text == "\ud800":
        assert run.status in (400, 422)
    else:
        assert run.snapshot[0]["content"] == text
        assert (await client.again().connect()).snapshot == run.snapshot
