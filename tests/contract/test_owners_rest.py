"""Who may see, answer, stop and delete: the owner, on every path of threads and the inbox (O)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso
from tests.contract.requirements import requirement
from tests.contract.rest import call, routes_of
from tests.contract.server import Server, approve, served
from tests.contract.test_owners import authenticate, calling, waiting
from tests.stores.backends import BACKENDS, EMBEDDED

Case = tuple[str, str, Any, str]

CASES: list[Case] = [
    ("GET", "/threads/{t}", None, "unknown_thread"),
    ("GET", "/threads/{t}/state", None, "unknown_thread"),
    ("GET", "/threads/{t}/history", None, "unknown_thread"),
    ("POST", "/threads/{t}/stop", None, "unknown_thread"),
    ("POST", "/threads/{t}/stop", {"runId": "r"}, "unknown_thread"),
    ("DELETE", "/threads/{t}", None, "unknown_thread"),
    ("POST", "/threads/{t}/hold", {"reason": "audit"}, "unknown_thread"),
    ("DELETE", "/threads/{t}/hold", {"reason": "closed"}, "unknown_thread"),
    ("PATCH", "/threads/{t}/state", {"values": {}}, "unknown_thread"),
    ("POST", "/threads/{t}/fork", {"interruptId": "{i}"}, "unknown_thread"),
    ("POST", "/threads/{t}/restart", None, "unknown_thread"),
    ("GET", "/interrupts/{i}", None, "unknown_interrupt"),
    ("GET", "/interrupts/{i}/context", None, "unknown_interrupt"),
    ("POST", "/interrupts/{i}/answer", approve(), "unknown_interrupt"),
    ("POST", "/interrupts/{i}/answer", {"status": "cancelled"}, "unknown_interrupt"),
    ("DELETE", "/interrupts/{i}/answer", None, "unknown_interrupt"),
    ("POST", "/interrupts/{i}/extend", {"seconds": 60}, "unknown_interrupt"),
    ("POST", "/interrupts/{i}/assign", {"to": "bob"}, "unknown_interrupt"),
    ("POST", "/interrupts/{i}/reveal", {"pointer": "/order_id"}, "unknown_interrupt"),
    (
        "POST",
        "/interrupts/answers",
        {"answers": [{"interruptId": "{i}", **approve()}]},
        "unknown_interrupt",
    ),
]


@pytest.fixture(params=EMBEDDED)
async def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server that knows three callers."""
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        yield server


def test_every_path_of_a_thread_or_a_question_has_a_case() -> None:
    """A route that is new needs a row above."""
    routes = routes_of(Sayso(store="memory:"))
    served = {
        (method, path.replace("{thread:path}", "{t}").replace("{interrupt}", "{i}"))
        for method, path in routes
        if path.startswith(("/threads/", "/interrupts/{"))
    }
    assert served - {(method, path) for method, path, _, _ in CASES} == set()


def bearer(who: str) -> dict[str, str]:
    return {"authorization": f"Bearer {who}"}


@requirement("SE-02")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]}")
async def test_what_is_another_s_does_not_exist(guarded: Server, case: Case) -> None:
    """SE-02, O1: the same 404 as for what nobody has, whoever asks; nothing is changed."""
    method, path, body, code = case
    client = await waiting(guarded)
    interrupt = client.model.pending[0]["id"]
    stored = guarded.dump()

    def at(thread: str, asked: str) -> tuple[str, Any]:
        sent = body
        if body is not None and "answers" in body:
            sent = {"answers": [{**body["answers"][0], "interruptId": asked}]}
        if body is not None and "interruptId" in body:
            sent = {"interruptId": asked}
        return path.format(t=thread, i=asked), sent

    told = set()
    for who in ("bob", "eve"):
        for thread, asked in ((client.thread, interrupt), ("nobody", "int_nope")):
            where, sent = at(thread, asked)
            run = await call(guarded.app, method, where, sent, headers=bearer(who))
            assert (run.status, run.problem["code"]) == (404, code)
            told.add(run.body)
    assert len(told) == 1, "a foreign one is told apart from one that does not exist"
    assert (guarded.dump(), guarded.effects) == (stored, [])
    assert (await client.again().connect()).outcome == "interrupt"


@requirement("SE-02")
async def test_lists_hold_nothing_of_others(guarded: Server) -> None:
    """SE-02: the owner's own, and no more."""
    client = await waiting(guarded)
    for who, count in (("ann", 1), ("bob", 0), ("eve", 0)):
        for path in ("/threads", "/interrupts", "/interrupts?status=all"):
            run = await call(guarded.app, "GET", path, headers=bearer(who))
            assert len(run.json["items"]) == count
        path = f"/interrupts?threadId={client.thread}"
        run = await call(guarded.app, "GET", path, headers=bearer(who))
        assert len(run.json["items"]) == count


@requirement("SE-02")
@pytest.mark.parametrize("kind", BACKENDS)
async def test_no_list_tells_that_another_s_thread_is_there(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page of nothing that goes on would."""
    monkeypatch.setattr("sayso.stores.pagination._WALK", 0)
    async with served(kind, tmp_path, authenticate=authenticate) as guarded:
        client = await waiting(guarded)
        assert (await client.resume(approve())).outcome == "success"
        await client.say("refund it again")
        bob = calling(guarded, client, "bob").again(thread="bob's")
        assert (await bob.say("refund it")).outcome == "interrupt"
        for path in ("/audit?limit=1&thread=", "/interrupts?limit=1&status=all&threadId="):
            own = await call(guarded.app, "GET", path + client.thread, headers=bearer("ann"))
            assert (len(own.json["items"]), "nextCursor" in own.json) == (1, True)
            for thread in (client.thread, "nobody"):
                run = await call(guarded.app, "GET", path + thread, headers=bearer("bob"))
                assert run.json == {"items": []}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]}")
async def test_nobody_gets_in_without_credentials(guarded: Server, case: Case) -> None:
    """Design 7: before the body is read."""
    method, path, _, _ = case
    run = await call(guarded.app, method, path.format(t="t", i="i"), b"{")
    assert (run.status, run.problem["code"]) == (401, "unauthenticated")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]}")
async def test_no_page_of_another_site_gets_in(guarded: Server, case: Case) -> None:
    """O5, design 7: neither across origins nor by a name that points here."""
    method, path, body, _ = case
    client = await waiting(guarded)
    where = path.format(t=client.thread, i=client.model.pending[0]["id"])
    stored = guarded.dump()
    for headers, code in (
        ({"origin": "https://evil.example"}, "forbidden_origin"),
        ({"host": "evil.example"}, "forbidden_host"),
    ):
        run = await call(guarded.app, method, where, body, headers={**bearer("ann"), **headers})
        assert run.problem["code"] == code
    assert guarded.dump() == stored
