"""Holds: what a keeper keeps is not deleted, not even by its owner (design 7)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sayso import Principal, Retention, Turn
from sayso.base.errors import DeclarationError
from tests.contract.rest import call
from tests.contract.server import Client, Server, served
from tests.stores.backends import EMBEDDED

PEOPLE = {
    "ann": Principal(subject="ann"),
    "kay": Principal(subject="kay", roles=("keeper",)),
    "ken": Principal(subject="ken", roles=("keeper", "auditor")),
    "far": Principal(subject="far", roles=("keeper",), scope="elsewhere"),
}


async def authenticate(scope: Any) -> Principal | None:
    token = dict(scope["headers"]).get(b"authorization", b"").decode()
    return PEOPLE.get(token.removeprefix("Bearer "))


@pytest.fixture(params=EMBEDDED)
async def office(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server that knows its keepers."""
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        yield server


def waiting(server: Server, owner: str = "ann") -> Client:
    """The client of somebody whose agent asks."""

    async def agent(turn: Turn) -> None:
        await turn.interrupt("input_required", "Go on?", schema=bool)

    client = server.client(agent)
    client.headers["authorization"] = f"Bearer {owner}"
    return client


async def says(server: Server, who: str, method: str, path: str, body: Any = None) -> Any:
    run = await call(server.app, method, path, body, headers={"authorization": f"Bearer {who}"})
    return run.status, run.json if run.body else None


async def test_a_thread_on_hold_is_not_deleted_before_a_keeper_lifts_that(office: Server) -> None:
    """Its owner reads by whom and why, in the thread and in the list; it works as before."""
    tab = waiting(office)
    await tab.say("hello")
    thread, hold = f"/threads/{tab.thread}", f"/threads/{tab.thread}/hold"
    assert "onHold" not in (await says(office, "ann", "GET", "/threads"))[1]["items"][0]
    status, put = await says(office, "kay", "POST", hold, {"reason": "case 7"})
    assert (status, put["hold"]["by"], put["hold"]["reason"]) == (200, "kay", "case 7")
    again = await says(office, "ken", "POST", hold, {"reason": "case 8"})
    assert again == (200, put)
    status, problem = await says(office, "ann", "DELETE", thread)
    assert (status, problem["code"]) == (409, "on_hold")
    assert (await says(office, "ann", "GET", thread))[1]["hold"] == put["hold"]
    assert (await says(office, "ann", "GET", "/threads"))[1]["items"][0]["onHold"] is True
    assert (await says(office, "ken", "DELETE", hold, {"reason": "closed"})) == (204, None)
    assert (await says(office, "ken", "DELETE", hold, {"reason": "closed"})) == (204, None)
    assert "hold" not in (await says(office, "ann", "GET", thread))[1]
    assert (await says(office, "ann", "DELETE", thread))[0] == 204
    rows = (await says(office, "ken", "GET", f"/audit?thread={tab.thread}"))[1]["items"]
    assert [(row["kind"], row["content"]) for row in rows[1:]] == [
        ("hold", {"reason": "case 7", "by": "kay"}),
        ("unhold", {"reason": "closed", "by": "ken"}),
        ("deleted", {"by": "ann"}),
    ]
    assert (await says(office, "ken", "GET", f"/audit/{tab.thread}"))[1]["intact"] is True


async def test_only_keepers_of_the_tenant_hold_threads(office: Server) -> None:
    """The owner may not, and a keeper of another tenant finds no such thread."""
    tab = waiting(office)
    await tab.say("hello")
    path = f"/threads/{tab.thread}/hold"
    for method in ("POST", "DELETE"):
        for who, thread, expected in (
            ("ann", path, (403, "not_allowed")),
            ("ann", "/threads/nobody-s/hold", (404, "unknown_thread")),
            ("far", path, (404, "unknown_thread")),
            ("kay", "/threads/nobody-s/hold", (404, "unknown_thread")),
        ):
            status, problem = await says(office, who, method, thread, {"reason": "audit"})
            assert (status, problem["code"]) == expected
    assert "hold" not in (await says(office, "ann", "GET", f"/threads/{tab.thread}"))[1]


async def test_a_keeper_does_not_lift_the_hold_of_an_own_thread(office: Server) -> None:
    """Whom a thread is about needs another keeper."""
    tab = waiting(office, owner="kay")
    await tab.say("hello")
    path = f"/threads/{tab.thread}/hold"
    assert (await says(office, "kay", "POST", path, {"reason": "case 7"}))[0] == 200
    status, problem = await says(office, "kay", "DELETE", path, {"reason": "closed"})
    assert (status, problem["code"]) == (403, "not_allowed")
    assert (await says(office, "kay", "DELETE", f"/threads/{tab.thread}"))[0] == 409
    assert (await says(office, "ken", "DELETE", path, {"reason": "closed"}))[0] == 204


@pytest.mark.parametrize("reason", [None, "", " ", "x" * 2_001, 7])
async def test_a_hold_says_why(office: Server, reason: Any) -> None:
    """A reason that is missing, empty or too long puts nothing on hold."""
    tab = waiting(office)
    await tab.say("hello")
    body = {} if reason is None else {"reason": reason}
    status, problem = await says(office, "kay", "POST", f"/threads/{tab.thread}/hold", body)
    assert (status, problem["errors"][0]["pointer"]) == (422, "/reason")
    assert "hold" not in (await says(office, "ann", "GET", f"/threads/{tab.thread}"))[1]


def test_a_keeper_is_a_role_or_a_person() -> None:
    """`role:…`, or a subject; anything else is refused where it is written."""
    lawyer = Principal(subject="lou", roles=("lawyer",))
    assert Retention(keeper="role:lawyer").is_keeper(lawyer)
    assert Retention(keeper="lou").is_keeper(lawyer)
    assert not Retention().is_keeper(lawyer)
    assert not Retention(keeper="role:lou").is_keeper(lawyer)
    nobody: Any
    for nobody in ("", "role:", " ", 7):
        with pytest.raises(DeclarationError, match="keeper"):
            Retention(keeper=nobody)
