"""The result of a call that a person decided: told to who may see the question, after its turn."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from sayso import ToolFailed, Turn, approval
from tests.contract.rest import at_rest
from tests.contract.server import Client, Server, approve, deny, served
from tests.contract.test_approvers import authenticate, rest, says
from tests.contract.test_inbox_stream import listening
from tests.stores.backends import BACKENDS

Json = dict[str, Any]


class Receipt(BaseModel):
    """A receipt with a number that is nobody's business."""

    number: str
    pin: Annotated[str, Field(json_schema_extra={"writeOnly": True})]


@pytest.fixture(params=BACKENDS)
async def company(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server that knows everybody's roles, on each store."""
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        yield server


def refunding(server: Server, running: list[Any] | None = None) -> Client:
    """Ann's client of an agent that pays 240 back, as a lead decides; 13 fails.

    `running` gets the results that are told while it runs.
    """

    @server.app.tool(approval=approval.always(by="lead"), editable=True)
    async def refund(amount: float) -> str | Receipt:
        if amount == 13:
            raise ToolFailed("the bank said no")
        if amount == 7:
            return Receipt(number="R-1", pin="pin-1234")
        if running is not None:
            listed = (await rest(server, "lea", "GET", "/interrupts?status=all")).json["items"]
            running.extend(item.get("result") for item in listed)
        await server.clock.advance(0.3)
        return "x" * 3_000 if amount == 3_000 else f"Refunded {amount:.2f}"

    async def agent(turn: Turn) -> None:
        if turn.input.text != "hello":
            await turn.call(refund, amount=float(turn.input.text))

    client = server.client(agent)
    client.headers["authorization"] = "Bearer ann"
    return client


async def result(server: Server, interrupt: Json, who: str = "lea") -> Any:
    run = await rest(server, who, "GET", f"/interrupts/{interrupt['id']}")
    assert run.status == 200, run.body
    return run.json.get("result")


async def test_the_result_outlives_the_turn_and_strangers_are_told_nothing(company: Server) -> None:
    """While it runs, once it ended, and after the next turn has taken the journal."""
    running: list[Any] = []
    client = refunding(company, running)
    (one,) = (await client.say("240")).interrupts
    assert await result(company, one) is None
    async with listening(company.app, authorization="Bearer lea") as exchange:
        await says(company, "lea", one, approve())
        await at_rest(company, client)
        await exchange.until("result")
        await exchange.when(lambda events: [e["type"] for e in events].count("result") == 2)
        ran = exchange.events[-1]["interrupt"]["result"]
    assert running == [{"status": "running", "at": "2023-11-14T22:13:20.000Z"}]
    ended = {"status": "executed", "text": "Refunded 240.00", "ms": 300}
    assert ran == {**ended, "at": "2023-11-14T22:13:20.300Z"}
    await client.say("hello")
    assert await result(company, one) == ran
    listed = (await rest(company, "lea", "GET", "/interrupts?status=all")).json["items"]
    assert [item["result"] for item in listed] == [ran]
    assert await result(company, one, "ann") == ran
    for stranger in ("bob", "fay", "far"):
        path = f"/interrupts/{one['id']}"
        assert (await rest(company, stranger, "GET", path)).status == 404


@pytest.mark.parametrize("company", ["memory"], indirect=True)
async def test_a_failure_a_refusal_and_a_secret_are_told_in_words(company: Server) -> None:
    """For people: without the words about an edit, without secrets, cut."""
    client = refunding(company)
    (one,) = (await client.say("240")).interrupts
    await says(company, "lea", one, approve(editedArgs={"amount": 13.0}))
    await at_rest(company, client)
    failed = await result(company, one)
    assert (failed["status"], failed["text"]) == ("failed", "the bank said no")
    (two,) = (await client.say("240")).interrupts
    await says(company, "lea", two, deny("wrong address"))
    await at_rest(company, client)
    denied = await result(company, two)
    assert denied == {"status": "not_run", "text": "wrong address", "at": failed["at"]}
    (three,) = (await client.say("240")).interrupts
    await says(company, "lea", three, approve(editedArgs={"amount": 7.0}))
    await at_rest(company, client)
    secret = await result(company, three)
    assert secret["text"] == '{"number":"R-1","pin":"(not shown)"}'
    (four,) = (await client.say("3000")).interrupts
    await says(company, "lea", four, approve())
    await at_rest(company, client)
    assert len((await result(company, four))["text"]) == 2_000


@pytest.mark.parametrize("company", ["memory"], indirect=True)
async def test_a_call_that_its_turn_left_behind_did_not_run(company: Server) -> None:
    """An approved call waits for another question; the turn is stopped: that is its result."""

    @company.app.tool(approval=approval.always(by="lead"))
    async def pay(amount: float) -> str:
        return "Paid."

    async def agent(turn: Turn) -> None:
        await asyncio.gather(turn.call(pay, amount=1.0), turn.call(pay, amount=2.0))

    client = company.client(agent)
    client.headers["authorization"] = "Bearer ann"
    one, two = (await client.say("both")).interrupts
    await says(company, "lea", one, deny("no"))
    await rest(company, "ann", "POST", f"/threads/{client.thread}/stop")
    await at_rest(company, client)
    assert await result(company, two) is None
