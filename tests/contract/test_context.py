"""Who decides about a call sees what led to it, cut, without secrets, and noted (SE-02)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from sayso import Approvers, Principal, Question, Turn, approval
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest
from tests.contract.server import Client, Server, approve, cancel, deny, served
from tests.contract.test_approvers import PEOPLE, authenticate, rest, says
from tests.stores.backends import EMBEDDED

PEOPLE["aud"] = Principal(subject="aud", roles=("auditor",))
HOUR = 3_600


@pytest.fixture(params=EMBEDDED)
async def company(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server that knows everybody's roles."""
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        yield server


def paying(server: Server, calls: int = 1) -> Client:
    @server.app.tool(effect="read")
    async def look_up(
        order: str, pin: Annotated[str, Field(json_schema_extra={"writeOnly": True})]
    ) -> str:
        return f"{order} came damaged"

    @server.app.tool(approval=approval.always(by="lead"), expires_in=9 * HOUR, on_expire="deny")
    async def pay(amount: float) -> str:
        server.effects.append(amount)
        return "Paid."

    async def agent(turn: Turn) -> None:
        await turn.say("Looking it up.")
        for number in range(calls):
            await turn.call(look_up, order=f"A-{number}", pin="pin-1234")
        await turn.call(pay, amount=100.0)
        await turn.call(pay, amount=50.0)

    client = server.client(agent)
    client.headers["authorization"] = "Bearer ann"
    return client


@requirement("SE-02")
async def test_what_a_client_makes_up_keeps_no_approver_from_the_context(company: Server) -> None:
    """Arguments that are no JSON, and calls that are none."""
    client = paying(company)
    for number, arguments in enumerate(("{broken", "")):
        call = {"id": f"c{number}", "type": "function"}
        made_up = {**call, "function": {"name": "look_up", "arguments": arguments}}
        client.model.messages.append(
            {"id": f"m{number}", "role": "assistant", "toolCalls": [made_up]}
        )
    odd = {"id": "m2", "role": "assistant", "content": "x", "metadata": {"toolCalls": 1}}
    client.model.messages.append(odd)
    (one,) = (await client.say("please refund A-17")).interrupts
    shown = await context(company, "lea", one)
    assert [did["args"]["order"] for did in shown["did"]] == ["A-0"]


async def context(server: Server, who: str, interrupt: Any) -> Any:
    run = await rest(server, who, "GET", f"/interrupts/{interrupt['id']}/context")
    assert run.status == 200, run.body
    return run.json


@requirement("SE-02")
async def test_an_approver_reads_what_led_to_the_question(company: Server) -> None:
    """What was asked for, said, done and decided before; and what becomes of it without a word."""
    client = paying(company)
    (one,) = (await client.say("please refund A-17")).interrupts
    shown = await context(company, "lea", one)
    assert (shown["request"]["text"], shown["turn"]) == ("please refund A-17", "waiting")
    assert [said["text"] for said in shown["said"]] == ["Looking it up."]
    (did,) = shown["did"]
    assert (did["name"], did["status"], did["effect"]) == ("look_up", "executed", "read")
    assert did["result"] == "A-0 came damaged"
    assert did["args"] == {"order": "A-0", "pin": "(not shown)"}
    assert shown["redacted"] == ["/did/0/args/pin"]
    assert (shown["asked"]["for"], shown["expires"]["then"]) == ("ann", "deny")
    assert (shown["siblings"], shown["earlier"]) == ([], [])
    await says(company, "leo", one, deny("wrong amount"))
    await at_rest(company, client)
    (two,) = (await client.connect()).interrupts
    (before,) = (await context(company, "lea", two))["earlier"]
    assert (before["by"], before["status"], before["reason"]) == ("leo", "denied", "wrong amount")
    assert "pin-1234" not in str(shown)


@requirement("SE-02")
async def test_nobody_else_does(company: Server) -> None:
    """The question is unknown to them, and so is what led to it; auditors read everything."""
    client = paying(company)
    (one,) = (await client.say()).interrupts
    stored = company.dump()
    for who in ("bob", "fay", "far"):
        run = await rest(company, who, "GET", f"/interrupts/{one['id']}/context")
        assert (run.status, run.problem["code"]) == (404, "unknown_interrupt")
    assert company.dump() == stored
    for who in ("ann", "lea", "aud"):
        assert (await context(company, who, one))["interruptId"] == one["id"]


async def test_a_question_beside_it_offers_what_is_taken(company: Server) -> None:
    """Whoever may not see that one may not cancel it either: nothing is offered."""

    async def asks(turn: Turn) -> None:
        await turn.interrupt_all(
            [
                Question(reason="shop:go", message="Go?", approvers=Approvers(by="lead")),
                Question(reason="shop:pay", message="Pay?", approvers=Approvers(by="finance")),
            ]
        )

    client = company.client(asks)
    client.headers["authorization"] = "Bearer ann"
    one, two = (await client.say()).interrupts
    for who, verbs, status in (
        ("lea", [], 404),
        ("aud", [], 404),
        ("ann", ["cancel"], 202),
    ):
        (beside,) = (await context(company, who, one))["siblings"]
        assert (beside["interruptId"], beside["may"]) == (two["id"], verbs)
        assert (await says(company, who, two, cancel())).status == status


async def test_each_look_is_in_the_trail_once_an_hour(company: Server) -> None:
    """Who, at which question, and the digest of what was shown; the turn goes on all the same."""
    client = paying(company)
    (one,) = (await client.say()).interrupts
    for who in ("lea", "lea", "leo"):
        await context(company, who, one)
    company.clock.jump(HOUR)
    await context(company, "lea", one)
    rows = (await rest(company, "ann", "GET", f"/audit?thread={client.thread}")).json["items"]
    seen = [row["content"] for row in rows if row["kind"] == "viewed"]
    assert [row["by"] for row in seen] == ["lea", "leo", "lea"]
    assert all(row["interruptId"] == one["id"] and len(row["digest"]) == 64 for row in seen)


async def test_a_look_hinders_no_answer_and_no_replay(company: Server) -> None:
    """It is no record of the turn's own, and a copy does not carry it."""
    client = paying(company)
    (one,) = (await client.say()).interrupts
    await context(company, "lea", one)
    path = f"/threads/{client.thread}/fork"
    assert (await rest(company, "ann", "POST", path, {"interruptId": one["id"]})).status == 201
    assert (await says(company, "lea", one, approve())).status == 200
    await at_rest(company, client)
    assert company.effects == [100.0]


async def test_much_is_cut_from_the_oldest_on(company: Server) -> None:
    """And counted, so that nobody takes it for all."""
    client = paying(company, calls=60)
    (one,) = (await client.say()).interrupts
    shown = await context(company, "lea", one)
    assert (len(shown["did"]), shown["omitted"]["did"]) == (50, 10)
    assert shown["did"][-1]["args"]["order"] == "A-59"
