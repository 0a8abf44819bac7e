"""Copies that come to a call only after it was denied in another of them (OC-20)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sayso import ToolCall, Turn, approval
from sayso.base.records import InterruptFilter, PageRequest
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest
from tests.contract.server import Client, Server, approve, cancel, deny, served
from tests.contract.test_approvers import authenticate, rest, says
from tests.contract.test_denials import CALLS, LEAD, copied
from tests.patience import PATIENCE
from tests.stores.backends import BACKENDS

REFUSE = approval.always(approvers=approval.Approvers(by="lead", forks_of_denied="refuse"))


@pytest.fixture(params=tuple(BACKENDS))
async def company(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server that knows everybody's roles."""
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        yield server


def careful(server: Server, policy: approval.Policy = LEAD) -> Client:
    """The client of an agent that asks its owner first, and approvers behind that."""

    @server.app.tool(approval=policy)
    async def pay(amount: float) -> str:
        server.effects.append(amount)
        return "Paid."

    async def agent(turn: Turn) -> None:
        if (await turn.interrupt("confirmation", "Go on?")).status == "resolved":
            await turn.call(pay, amount=1.0)

    client = server.client(agent)
    client.headers["authorization"] = "Bearer ann"
    return client


async def asked_in(server: Server, thread: str) -> Any:
    """What a thread waits for."""
    (one,) = (await rest(server, "ann", "GET", f"/threads/{thread}")).json["interrupts"]
    return one


async def goes_on(server: Server, client: Client, thread: str) -> Any:
    """What approvers are asked in a thread once its owner has said that it goes on."""
    assert (await says(server, "ann", await asked_in(server, thread), approve())).status == 200
    await at_rest(server, client.again(thread=thread))
    return await asked_in(server, thread)


@requirement("OC-20")
@pytest.mark.parametrize("denied_in", ["thread", "copy", "further"])
@pytest.mark.parametrize("policy", [LEAD, REFUSE])
async def test_copies_that_wait_for_something_else_learn_of_the_no_when_they_come_to_it(
    company: Server, denied_in: str, policy: approval.Policy
) -> None:
    """In all copies, in copies of copies, and where it was copied from, whichever was first."""
    client = careful(company, policy)
    (one,) = (await client.say()).interrupts
    made = (await copied(company, "ann", client, one)).json["threadId"]
    beside = (await copied(company, "ann", client, one)).json["threadId"]
    again = client.again(thread=made)
    further = (await copied(company, "ann", again, await asked_in(company, made))).json["threadId"]
    where = {"thread": client.thread, "copy": made, "further": further}[denied_in]
    asked = await goes_on(company, client, where)
    assert "before" not in asked["metadata"]["sayso"]
    assert (await says(company, "lea", asked, deny("fraud"))).status == 200
    await at_rest(company, client.again(thread=where))
    for thread in {client.thread, made, beside, further} - {where}:
        asked = await goes_on(company, client, thread)
        for who in ("ann", "leo"):
            shown = (await rest(company, who, "GET", f"/interrupts/{asked['id']}")).json
            (said,) = shown["metadata"]["sayso"]["before"]
            assert (said["said"], said["by"], said["reason"]) == ("denied", "lea", "fraud")
            assert said["threadId"] == where
        yes = await says(company, "leo", asked, approve())
        if policy is REFUSE:
            assert (yes.status, yes.problem["code"], yes.problem["by"]) == (
                409,
                "denied_before",
                "lea",
            )
        else:
            assert yes.status == 200
            await at_rest(company, client.again(thread=thread))
    assert company.effects == ([] if policy is REFUSE else [1.0, 1.0, 1.0])


@requirement("OC-20")
@pytest.mark.parametrize("then", ["restart", "say"])
async def test_a_copy_that_begins_anew_is_still_one(company: Server, then: str) -> None:
    """By a restart, or by another message, and copied again after that."""
    client = careful(company, REFUSE)
    (one,) = (await client.say()).interrupts
    made = (await copied(company, "ann", client, one)).json["threadId"]
    there = client.again(thread=made)
    if then == "restart":
        assert (await rest(company, "ann", "POST", f"/threads/{made}/restart")).status == 200
        await at_rest(company, there)
    else:
        await there.connect()
        await there.resume(cancel())
        await there.say("once more")
    further = (await copied(company, "ann", there, await asked_in(company, made))).json["threadId"]
    asked = await goes_on(company, client, client.thread)
    assert (await says(company, "lea", asked, deny("fraud"))).status == 200
    await at_rest(company, client)
    for thread in (made, further):
        asked = await goes_on(company, client, thread)
        (said,) = asked["metadata"]["sayso"]["before"]
        assert (said["by"], said["threadId"]) == ("lea", client.thread)
        yes = await says(company, "leo", asked, approve())
        assert (yes.status, yes.problem["code"]) == (409, "denied_before")


@requirement("OC-20")
@pytest.mark.parametrize("before", [False, True], ids=["first", "copied before"])
async def test_a_copy_made_while_the_thread_runs_takes_no_no_away_with_it(
    company: Server, before: bool
) -> None:
    """Nothing can be noted on a thread that runs, so it is copied once it waits, or was before."""
    arrived, release = asyncio.Event(), asyncio.Event()

    @company.app.tool(approval=REFUSE)
    async def pay(amount: float) -> str:
        company.effects.append(amount)
        return "Paid."

    async def slow() -> None:
        arrived.set()
        await release.wait()

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Begin?")
        await turn.interrupt("confirmation", "Go on?")
        await turn.step(slow)
        await turn.call(pay, amount=1.0)

    client = company.client(agent)
    client.headers["authorization"] = "Bearer ann"
    (begin,) = (await client.say()).interrupts
    one = await goes_on(company, client, client.thread)
    if before:
        assert (await copied(company, "ann", client, begin)).status == 201
    assert (await says(company, "ann", one, approve())).status == 200
    async with asyncio.timeout(PATIENCE):
        await arrived.wait()
    early = await copied(company, "ann", client, one)
    if not before:
        assert (early.status, early.problem["code"]) == (409, "thread_busy")
    release.set()
    await at_rest(company, client)
    late = early if before else await copied(company, "ann", client, one)
    made = late.json["threadId"]
    asked = await goes_on(company, client, made)
    assert (await says(company, "lea", asked, deny("fraud"))).status == 200
    await at_rest(company, client.again(thread=made))
    yes = await says(company, "leo", await asked_in(company, client.thread), approve())
    assert (yes.status, yes.problem["code"]) == (409, "denied_before")
    assert company.effects == []


@requirement("OC-20")
async def test_whoever_looks_for_denials_and_checks_trails_reads_few_large_ones_at_once(
    company: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions and rows may have half a megabyte each, of every thread that somebody has."""
    limits: list[int] = []

    def noted(read: Any) -> Any:
        async def noting(*args: Any, **options: Any) -> Any:
            limits.extend(each.limit for each in args if isinstance(each, PageRequest))
            return await read(*args, **options)

        return noting

    for name in ("interrupts", "audit"):
        monkeypatch.setattr(company.store, name, noted(getattr(company.store, name)))
    client = careful(company)
    (one,) = (await client.say()).interrupts
    made = (await copied(company, "ann", client, one)).json["threadId"]
    asked = await goes_on(company, client, made)
    assert (await says(company, "lea", asked, deny("fraud"))).status == 200
    await at_rest(company, client.again(thread=made))
    assert (await goes_on(company, client, client.thread))["metadata"]["sayso"]["before"]
    trail = await rest(company, "ann", "GET", f"/audit/{client.thread}")
    assert trail.json["intact"]
    assert len(limits) > 8
    assert max(limits) <= 20


@requirement("OC-20")
async def test_whoever_deletes_where_it_was_denied_deletes_no_no(company: Server) -> None:
    """The trail of the thread that was copied tells its copies."""
    client = careful(company, REFUSE)
    (one,) = (await client.say()).interrupts
    made = (await copied(company, "ann", client, one)).json["threadId"]
    asked = await goes_on(company, client, client.thread)
    assert (await says(company, "lea", asked, deny("fraud"))).status == 200
    await at_rest(company, client)
    assert (await rest(company, "ann", "DELETE", f"/threads/{client.thread}")).status == 204
    asked = await goes_on(company, client, made)
    (said,) = asked["metadata"]["sayso"]["before"]
    assert (said["said"], said["by"], said["reason"]) == ("denied", "lea", "fraud")
    assert said["threadId"] == client.thread
    yes = await says(company, "leo", asked, approve())
    assert (yes.status, yes.problem["code"], yes.problem["by"]) == (409, "denied_before", "lea")


@requirement("OC-20")
async def test_a_no_that_is_kept_is_told_to_copies_that_come_to_it_later(company: Server) -> None:
    """Its own thread waits for another answer still."""

    @company.app.tool(approval=LEAD)
    async def pay(amount: float) -> str:
        company.effects.append(amount)
        return "Paid."

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Go on?")
        await turn.call_all([ToolCall(pay, {"amount": one}) for one in CALLS])

    client = company.client(agent)
    client.headers["authorization"] = "Bearer ann"
    (one,) = (await client.say()).interrupts
    made = (await copied(company, "ann", client, one)).json["threadId"]
    assert (await says(company, "ann", one, approve())).status == 200
    await at_rest(company, client)
    path = f"/threads/{client.thread}"
    first, _ = (await rest(company, "ann", "GET", path)).json["interrupts"]
    assert (await says(company, "lea", first, deny("fraud"))).status == 202
    assert (await says(company, "ann", await asked_in(company, made), approve())).status == 200
    await at_rest(company, client.again(thread=made))
    shown = (await rest(company, "ann", "GET", f"/threads/{made}")).json["interrupts"]
    told = [item["metadata"]["sayso"].get("before", []) for item in shown]
    assert [[said["by"] for said in one] for one in told] == [["lea"], []]


async def test_a_thread_without_copies_is_judged_by_its_own_questions(
    company: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many others its owner has: only what is a copy, or was copied, looks for more."""
    client = careful(company)
    (one,) = (await client.say()).interrupts
    asked: list[str | None] = []
    store = company.app._engine._services.store
    interrupts = store.interrupts

    async def counting(scope: str, wanted: InterruptFilter, page: PageRequest) -> Any:
        asked.append(wanted.thread_id)
        return await interrupts(scope, wanted, page)

    with monkeypatch.context() as watched:
        watched.setattr(store, "interrupts", counting)
        await client.resume(approve())
    assert asked == [client.thread]
    other = client.again(thread="another")
    (one,) = (await other.say()).interrupts
    made = (await copied(company, "ann", other, one)).json["threadId"]
    with monkeypatch.context() as watched:
        watched.setattr(store, "interrupts", counting)
        await goes_on(company, other, made)
    assert None in asked
