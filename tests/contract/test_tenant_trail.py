"""What belongs to no thread: rows of the whole tenant, for auditors, and out of anybody's reach."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sayso import CopilotKit, Principal, approval
from tests.contract.rest import at_rest
from tests.contract.server import Client, Server, approve, served
from tests.contract.test_approvers import PEOPLE, authenticate, paying, rest
from tests.contract.test_directory import assign
from tests.stores.backends import BACKENDS

TENANT = "/audit?of=tenant"


@pytest.fixture(params=tuple(BACKENDS))
async def company(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Server]:
    """A server with an auditor, and with all dialects."""
    monkeypatch.setitem(PEOPLE, "aud", Principal(subject="aud", roles=("auditor",)))
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        server.app.mount(CopilotKit())
        yield server


async def remembered(company: Server) -> tuple[Client, str]:
    """Let ann say yes for all her calls; her client, and the id of that approval."""
    client = paying(company, approval.always(remember=True))
    await client.say()
    await client.resume(approve(remember={"arguments": "any", "scope": "user"}))
    await at_rest(company, client)
    (kept,) = (await rest(company, "ann", "GET", "/approvals")).json["items"]
    return client, kept["id"]


async def test_what_is_remembered_and_revoked_is_told(company: Server) -> None:
    """By whom, for which tool and calls: given in its thread, revoked among the tenant's rows."""
    client, kept = await remembered(company)
    path = f"/audit?thread={client.thread}"
    rows = (await rest(company, "ann", "GET", path)).json["items"]
    (given,) = [row["content"] for row in rows if row["kind"] == "remembered"]
    assert (given["approvalId"], given["by"], given["for"]) == (kept, "ann", "ann")
    assert (given["tool"], given["scope"]) == ("pay", "user")
    assert (await rest(company, "ann", "GET", f"/audit/{client.thread}")).json["intact"]
    assert (await rest(company, "aud", "GET", TENANT)).json["items"] == []
    for _ in range(2):
        assert (await rest(company, "ann", "DELETE", f"/approvals/{kept}")).status == 200
    checked = (await rest(company, "aud", "GET", f"{TENANT}&check=true")).json
    (row,) = checked["items"]
    assert checked["chain"] == {"rows": 1, "head": row["digest"], "intact": True}
    assert (await rest(company, "aud", "GET", TENANT)).json == {"items": [row]}
    assert (row["threadId"], row["owner"], row["number"], row["kind"]) == ("", "", 1, "revoked")
    pattern = given["pattern"]
    told = {"approvalId": kept, "tool": "pay", "pattern": pattern, "for": "ann", "by": "ann"}
    assert row["content"] == told
    assert (await rest(company, "aud", "GET", "/audit?limit=500")).json["items"][-1] == row


async def test_whoever_is_no_auditor_reads_none_of_it(company: Server) -> None:
    """Neither who is named in it, nor by the list of all of its own rows."""
    _, kept = await remembered(company)
    await rest(company, "ann", "DELETE", f"/approvals/{kept}")
    for who in ("ann", "lea"):
        refused = await rest(company, who, "GET", TENANT)
        assert (refused.status, refused.problem["code"]) == (403, "not_allowed")
        items = (await rest(company, who, "GET", "/audit?limit=500")).json["items"]
        assert [row for row in items if row["threadId"] == ""] == []
    assert (await rest(company, "aud", "GET", "/audit?of=company")).status == 422


async def test_no_name_of_a_thread_reaches_it(company: Server) -> None:
    """Not for its auditor either: by whatever way a client names a thread, none has no name."""
    client, kept = await remembered(company)
    await rest(company, "ann", "DELETE", f"/approvals/{kept}")
    (before,) = (await rest(company, "aud", "GET", TENANT)).json["items"]
    begin = {"threadId": "", "runId": "r", "messages": [{"id": "u", "role": "user", "content": ""}]}
    agent = client.agent
    doors: list[tuple[str, str, Any]] = [
        *[("GET", f"/threads//{what}", None) for what in ("state", "history")],
        *[("POST", f"/threads//{what}", {}) for what in ("stop", "restart", "fork")],
        ("PATCH", "/threads//state", {"state": {}}),
        ("DELETE", "/threads/", None),
        ("GET", "/audit/%2F", None),
        ("POST", f"/agents/{agent}", begin),
        *[("POST", f"/copilotkit/agent/{agent}/{what}", begin) for what in ("run", "connect")],
        ("POST", f"/copilotkit/agent/{agent}/stop/", {}),
        ("POST", "/api/v1/chat", {"message": "a", "session_id": ""}),
        ("GET", "/api/v1/chat?session_id=", None),
    ]
    for who in ("ann", "aud"):
        for method, path, body in doors:
            run = await rest(company, who, method, path, body)
            assert 400 <= run.status < 500, (method, path, run.status)
            assert b"revoked" not in run.body
        assert (await rest(company, who, "GET", "/audit?thread=")).json == {"items": []}
    assert b"revoked" not in (await rest(company, "ann", "GET", "/audit/")).body
    assert (await rest(company, "aud", "GET", TENANT)).json["items"] == [before]


async def test_a_copy_that_keeps_to_whom_a_question_was_given_says_so(company: Server) -> None:
    """Who reads the copy's rows alone knows why that person may answer there."""
    client = paying(company, approval.always)
    (asked,) = (await client.say()).interrupts
    assert (await assign(company, "ann", asked, "bob")).status == 200
    path = f"/threads/{client.thread}/fork"
    copy = (await rest(company, "ann", "POST", path, {"interruptId": asked["id"]})).json["threadId"]
    rows = (await rest(company, "ann", "GET", f"/audit?thread={copy}")).json["items"]
    kinds = {row["kind"]: row["content"] for row in rows}
    assert [*kinds] == ["forked", "asked", "assigned"]
    assert kinds["assigned"]["to"] == "bob"
    chain = (await rest(company, "ann", "GET", f"/audit/{copy}")).json
    assert (chain["intact"], chain.get("differs")) == (True, None)
