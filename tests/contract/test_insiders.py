"""An insider, a lead, wants its own request approved under four eyes, by all that leads may do."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sayso import DirectoryPerson, Principal, approval, directory
from sayso.testing import FakeClock
from tests.contract.payers import payer
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest
from tests.contract.server import Client, Server, answer, approve, served
from tests.contract.test_approvers import rest
from tests.contract.wire import Run
from tests.stores.backends import BACKENDS

NOW = FakeClock().now()
PEOPLE = {
    "lea": Principal(subject="lea", roles=("lead",), auth_time=NOW),
    "lea-long-ago": Principal(subject="lea", roles=("lead",), auth_time=0),
    "robot-of-lea": Principal(subject="svc-lea", roles=("lead",), kind="service"),
    "leo": Principal(subject="leo", roles=("lead",), auth_time=NOW),
}
STAFF = [DirectoryPerson(subject=who, roles=["lead"]) for who in ("lea", "leo", "svc-lea")]


async def authenticate(scope: Any) -> Principal | None:
    token = dict(scope["headers"]).get(b"authorization", b"").decode()
    return PEOPLE.get(token.removeprefix("Bearer "))


@pytest.fixture(params=tuple(BACKENDS))
async def company(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server under four eyes, with a directory."""
    options = {
        "authenticate": authenticate,
        "four_eyes": True,
        "directory": directory.fixed(STAFF),
    }
    async with served(request.param, tmp_path, **options) as server:
        yield server


def paying(server: Server) -> Client:
    """Lea's client of an agent that pays once; the bank fails the first time."""

    def pay() -> str:
        server.effects.append("paid")
        if len(server.effects) == 1:
            raise ConnectionError("the bank is down")
        return "Paid."

    return payer(server, "lea", pay, approval.always(by="lead"), on_error="ask")


async def says(server: Server, who: str, asked: str, entry: dict[str, Any]) -> Run:
    return await rest(server, who, "POST", f"/interrupts/{asked}/answer", entry)


async def open_of(server: Server, thread: str) -> str:
    shown = (await rest(server, "lea", "GET", f"/threads/{thread}")).json
    (asked,) = shown["interrupts"]
    identifier: str = asked["id"]
    return identifier


async def by_copying(server: Server, client: Client, asked: str) -> str:
    path = f"/threads/{client.thread}/fork"
    made = await rest(server, "lea", "POST", path, {"interruptId": asked})
    assert made.status == 201
    return await open_of(server, made.json["threadId"])


async def by_copying_twice(server: Server, client: Client, asked: str) -> str:
    path = f"/threads/{client.thread}/fork"
    made = (await rest(server, "lea", "POST", path, {"interruptId": asked})).json["threadId"]
    path = f"/threads/{made}/fork"
    body = {"interruptId": await open_of(server, made)}
    again = (await rest(server, "lea", "POST", path, body)).json["threadId"]
    return await open_of(server, again)


async def by_restarting(server: Server, client: Client, asked: str) -> str:
    assert (await rest(server, "lea", "POST", f"/threads/{client.thread}/restart")).status == 200
    await at_rest(server, client)
    return await open_of(server, client.thread)


async def by_assigning(server: Server, client: Client, asked: str) -> str:
    for to in ("lea", "role:lead", "svc-lea"):
        run = await rest(server, "lea", "POST", f"/interrupts/{asked}/assign", {"to": to})
        assert (run.status, run.problem["code"]) == (403, "own_request")
    return asked


async def by_an_assignment_of_another(server: Server, client: Client, asked: str) -> str:
    """A colleague cannot assign it to her either: she may not answer."""
    run = await rest(server, "leo", "POST", f"/interrupts/{asked}/assign", {"to": "lea"})
    assert (run.status, run.problem["code"]) == (422, "unknown_person")
    return asked


async def by_patience(server: Server, client: Client, asked: str) -> str:
    run = await rest(server, "lea", "POST", f"/interrupts/{asked}/extend", {"seconds": 1e6})
    assert (run.status, run.problem["code"]) == (403, "own_request")
    return asked


async def as_it_is(server: Server, client: Client, asked: str) -> str:
    return asked


TRICKS: dict[str, Callable[[Server, Client, str], Awaitable[str]]] = {
    trick.__name__: trick
    for trick in (
        as_it_is,
        by_copying,
        by_copying_twice,
        by_restarting,
        by_assigning,
        by_an_assignment_of_another,
        by_patience,
    )
}


@requirement("OC-20", "SE-02")
@pytest.mark.parametrize("trick", TRICKS)
async def test_no_trick_gets_an_insider_its_own_yes(company: Server, trick: str) -> None:
    """Neither herself, nor by an old token, nor by her service; in the end a colleague decides."""
    client = paying(company)
    (interrupt,) = (await client.say()).interrupts
    asked = await TRICKS[trick](company, client, interrupt["id"])
    for who, code in (
        ("lea", "own_request"),
        ("lea-long-ago", "own_request"),
        ("robot-of-lea", "person_required"),
    ):
        run = await says(company, who, asked, approve())
        assert (run.status, run.problem["code"]) == (403, code)
    assert company.effects == []
    assert (await says(company, "leo", asked, approve())).status == 200


@requirement("OC-20")
@pytest.mark.parametrize("action", ["retry", "skip"])
async def test_an_insider_does_not_have_it_made_again(company: Server, action: str) -> None:
    """What a colleague approved once is the colleague's to approve once more."""
    client = paying(company)
    (first,) = (await client.say()).interrupts
    assert (await says(company, "leo", first["id"], approve())).status == 200
    await at_rest(company, client)
    asked = await open_of(company, client.thread)
    for who, code in (("lea", "own_request"), ("robot-of-lea", "person_required")):
        run = await says(company, who, asked, answer({"action": action}))
        assert (run.status, run.problem["code"]) == (403, code)
    assert company.effects == ["paid"]
    assert (await says(company, "leo", asked, answer({"action": action}))).status == 200
    await at_rest(company, client)
    assert company.effects == ["paid"] * (2 if action == "retry" else 1)
