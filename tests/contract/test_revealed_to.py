"""Whom a secret of a call is shown to: who may answer at that moment, and nobody else."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from sayso import Principal, approval
from sayso.turns.journal import journal
from tests.contract.rest import JSON, at_rest, call
from tests.contract.server import Client, Server, approve, served
from tests.contract.test_secret_arguments import ANN, calling, login
from tests.stores.backends import ENCRYPTED

PASSWORD = ANN["password"]
Roles = dict[str, tuple[str, ...]]


class House:
    """A server on which everybody has the roles that they have at that moment."""

    def __init__(self, server: Server, roles: Roles) -> None:
        self.server, self.roles = server, roles

    def asks(self, who: str, policy: approval.Policy, **options: Any) -> Client:
        """Somebody's client of an agent that makes a call with a secret."""
        tool = login(self.server, reveal=True, approval=policy, **options)
        return self.server.client(calling(tool, ANN), headers={"authorization": who})

    async def rest(
        self, who: str, method: str, path: str, body: Any = None, app: Any = None
    ) -> Any:
        headers = {"authorization": who, **JSON}
        return await call(app or self.server.app, method, path, body, headers=headers)

    async def shown(self, who: str, asked: str, app: Any = None) -> tuple[int, Any]:
        """The status, and the value or the code."""
        run = await self.rest(
            who, "POST", f"/interrupts/{asked}/reveal", {"pointer": "/password"}, app
        )
        return run.status, run.json["value"] if run.status == 200 else run.problem["code"]

    async def rows(self, client: Client) -> list[tuple[str, str, str]]:
        """The kind, person and code or pointer of the rows behind the question."""
        items = (await self.rest("aud", "GET", f"/audit?limit=99&thread={client.thread}")).json[
            "items"
        ]
        assert (await self.rest("aud", "GET", f"/audit/{client.thread}")).json["intact"] is True
        return [
            (item["kind"], content["by"], content.get("code") or content.get("pointer"))
            for item in items
            if item["kind"] in ("refused", "revealed")
            for content in [item["content"]]
        ]


@pytest.fixture(params=ENCRYPTED)
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    """Two leads, of whom either may ask, and an auditor."""
    roles: Roles = {"aud": ("auditor",), "lea": ("lead",), "leo": ("lead",)}

    async def authenticate(scope: Any) -> Principal:
        subject = dict(scope["headers"])[b"authorization"].decode()
        return Principal(subject=subject, roles=roles.get(subject, ()))

    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        yield House(server, roles)


async def test_an_owner_who_may_answer_is_shown_it(house: House) -> None:
    """And the trail says so, as of anybody else."""
    client = house.asks("ann", approval.always())
    (asked,) = (await client.say()).interrupts
    assert await house.shown("ann", asked["id"]) == (200, PASSWORD)
    assert await house.shown("lea", asked["id"]) == (404, "unknown_interrupt")
    assert await house.rows(client) == [("revealed", "ann", "/password")]


async def test_a_requester_who_does_not_decide_is_not_shown_it(house: House) -> None:
    """Though a lead; the other lead is."""
    client = house.asks("lea", approval.always(by="lead", not_by="requester"))
    (asked,) = (await client.say()).interrupts
    assert await house.shown("lea", asked["id"]) == (403, "own_request")
    assert await house.shown("leo", asked["id"]) == (200, PASSWORD)
    assert await house.rows(client) == [
        ("refused", "lea", "own_request"),
        ("revealed", "leo", "/password"),
    ]


async def test_who_has_lost_the_role_is_shown_it_no_more(house: House) -> None:
    """The owner is refused, with a row; to others the question is not there any more."""
    client = house.asks("lea", approval.always(by="lead"))
    (asked,) = (await client.say()).interrupts
    for who in ("lea", "leo"):
        assert await house.shown(who, asked["id"]) == (200, PASSWORD)
        house.roles[who] = ()
    assert await house.shown("lea", asked["id"]) == (403, "not_an_approver")
    assert await house.shown("leo", asked["id"]) == (404, "unknown_interrupt")
    assert await house.rows(client) == [
        ("revealed", "lea", "/password"),
        ("revealed", "leo", "/password"),
        ("refused", "lea", "not_an_approver"),
    ]


async def test_no_secret_leaves_with_an_export_of_the_trail(house: House) -> None:
    """Whatever became of its call: one was shown and made, one was refused and denied."""
    secret = "correct horse"  # noqa: S105 - a text to look for
    client = house.asks("lea", approval.always(by="lead"), editable=True)
    (asked,) = (await client.say()).interrupts
    await house.shown("lea", asked["id"])
    await house.shown("aud", asked["id"])
    edited = approve(editedArgs={"user": "ann", "password": secret})
    assert (
        await house.rest("leo", "POST", f"/interrupts/{asked['id']}/answer", edited)
    ).status == 200
    await at_rest(house.server, client)
    assert house.server.effects == [("ann", secret)]
    exported = (await house.rest("aud", "GET", "/audit/export")).body.decode()
    kinds = [json.loads(line).get("kind") for line in exported.splitlines()]
    assert {"asked", "revealed", "resolved", "executed"} <= {*kinds}
    assert PASSWORD not in exported
    assert secret not in exported


async def test_two_replicas_show_it_to_one_person_as_often_as_one_would(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is counted in the store, and for each person."""
    assert journal.MAX_REVEALED == 50
    monkeypatch.setattr(journal, "MAX_REVEALED", 6)
    client = house.asks("lea", approval.always(by="lead"))
    (asked,) = (await client.say()).interrupts
    other = house.server.another()
    async with other.lifespan():

        async def looks(app: Any) -> list[Any]:
            """Look until it is refused; who comes in between may say that the thread is busy."""
            shown: list[Any] = []
            while (look := await house.shown("lea", asked["id"], app)) != (429, "too_many"):
                shown += [look[1]] if look != (409, "thread_busy") else []
            return shown

        shown = await asyncio.gather(looks(house.server.app), looks(other))
        assert [*chain(*shown)] == [PASSWORD] * 6
        assert await house.shown("leo", asked["id"], other) == (200, PASSWORD)
        assert len(await house.rows(client)) == 7
