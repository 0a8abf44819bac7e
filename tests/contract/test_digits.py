"""Integers that a double does not hold: what is asked, answered and run is one value."""

import json
from typing import Any

import pytest

from sayso import CopilotKit, Turn, approval
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest, inbox, post
from tests.contract.runtime import Page
from tests.contract.server import Client, Server, answer, approve
from tests.contract.sessions import PATH, Session
from tests.contract.wire import undigested

BIG = 2**53 + 1
AT = "/metadata/sayso/arguments/account"


def spelt(**texts: Any) -> dict[str, Any]:
    """The metadata of an answer that spells out edited arguments."""
    return {"sayso": {"exact": {f"/editedArgs/{name}": str(n) for name, n in texts.items()}}}


def transferring(server: Server) -> Any:
    """An agent with one gated, editable transfer."""

    @server.app.tool(approval=approval.always, editable=True)
    async def transfer(account: int, amount: float) -> str:
        server.effects.append((account, amount))
        return f"moved to {account}"

    async def agent(turn: Turn) -> None:
        done = await turn.call(transfer, account=BIG, amount=10.5)
        await turn.say(f"{done.edited}: {done}")

    return agent


@requirement("EN-08")
async def test_a_question_spells_out_integers_beyond_a_double(server: Server) -> None:
    """On the wire and in the inbox, in its schema and its text; the number has its digits too."""
    client = server.client(transferring(server))
    await client.say()
    (asked,) = client.model.pending
    assert asked["metadata"]["sayso"]["arguments"]["account"] == BIG
    assert asked["metadata"]["sayso"]["exact"] == {AT: str(BIG)}
    assert str(BIG) in asked["message"]
    (listed,) = await inbox(server)
    assert listed["metadata"]["sayso"]["exact"] == {AT: str(BIG)}


async def test_a_question_without_large_integers_spells_out_nothing(server: Server) -> None:
    async def agent(turn: Turn) -> None:
        schema = {"type": "integer", "default": 2**53 - 1, "title": "9007199254740993"}
        await turn.interrupt("input_required", "Which?", schema=schema)

    client = server.client(agent)
    await client.say()
    assert undigested(client.model.pending[0]) == {}


async def test_what_a_client_rounds_is_refused_where_it_stands_and_stays_open(
    server: Server,
) -> None:
    """Whoever edits the amount does not change the account (nansen-cli's fault), in any dialect."""
    agent = transferring(server)
    client = server.client(agent)
    await client.say()
    (asked,) = client.model.pending
    edited = {"account": BIG - 1, "amount": 20}
    refused = (await client.resume(approve(editedArgs=edited))).last
    assert refused["code"] == "invalid_payload"
    (problem,) = refused["metadata"]["sayso"]["interrupts"][0]["problems"]
    assert problem["pointer"] == "/editedArgs/account"
    assert problem["message"].startswith(f"{BIG} was asked; your client rounds it")
    path = f"/interrupts/{asked['id']}/answer"
    single = await post(server, path, approve(editedArgs=edited))
    assert (single.status, single.problem["code"]) == (422, "invalid_payload")
    assert single.problem["errors"][0]["pointer"] == "/payload/editedArgs/account"
    entry = {"interruptId": asked["id"], **approve(editedArgs=edited)}
    together = await post(server, "/interrupts/answers", {"answers": [entry]})
    assert together.problem["errors"][0]["pointer"] == "/answers/0/payload/editedArgs/account"
    command = {"command": {"resume": entry["payload"], "interruptEvent": json.dumps(asked)}}
    legacy = (await client.run(forwardedProps=command)).last
    assert legacy["code"] == "invalid_payload"
    server.app.mount(CopilotKit())
    page = Page(server.app, client.agent, transport="rest", thread=client.thread)
    await page.connect()
    recovered = (await page.resume(approve(editedArgs=edited))).last
    assert recovered["outcome"]["interrupts"][0]["metadata"]["sayso"]["problem"]["problems"]
    assert server.effects == []
    await client.resume(approve())
    assert server.effects == [(BIG, 10.5)]


@pytest.mark.parametrize(("sent", "meant"), [(BIG - 1, BIG), (BIG, BIG), (BIG - 1, BIG - 1)])
async def test_digits_beside_a_rounded_number_are_what_runs(
    server: Server, sent: int, meant: int
) -> None:
    """Also the neighbour, for who means that; what is kept of the answer has the digits alone."""
    client = server.client(transferring(server))
    await client.say()
    edited = {"account": sent, "amount": 20}
    metadata = {**spelt(account=meant), "from": "phone"}
    run = await client.resume({**approve(editedArgs=edited), "metadata": metadata})
    assert server.effects == [(meant, 20.0)]
    assert str(meant) in run.of("TOOL_CALL_RESULT")[0]["content"]
    (item,) = await inbox(server, "?status=all")
    assert item["answer"]["payload"]["editedArgs"]["account"] == meant
    assert item["answer"]["metadata"] == {"from": "phone"}


async def test_the_same_digits_again_are_the_same_answer(server: Server) -> None:
    """ID-05: compared is what was meant, not what the sender's JSON made of it."""
    client = server.client(transferring(server))
    await client.say()
    (asked,) = client.model.pending
    path = f"/interrupts/{asked['id']}/answer"
    rounded = {
        **approve(editedArgs={"account": BIG - 1, "amount": 20}),
        "metadata": spelt(account=BIG),
    }
    assert (await post(server, path, rounded)).status == 200
    await at_rest(server, client)
    same = await post(server, path, approve(editedArgs={"account": BIG, "amount": 20}))
    assert same.status == 200
    other = {**rounded, "metadata": spelt(account=BIG - 1)}
    again = await post(server, path, other)
    assert (again.status, again.problem["code"]) == (409, "already_resolved")
    assert server.effects == [(BIG, 20.0)]


@pytest.mark.parametrize(
    "exact",
    [["/editedArgs/account"], {"/editedArgs/account": BIG}, {"/account": str(BIG)}, {"": "1"}],
)
async def test_digits_that_fit_no_number_of_the_payload_are_malformed(
    server: Server, exact: Any
) -> None:
    """They would be a second answer beside the payload; the pointer names the text."""
    client = server.client(transferring(server))
    await client.say()
    entry = approve(editedArgs={"account": BIG - 1, "amount": 20})
    run = await client.resume({**entry, "metadata": {"sayso": {"exact": exact}}})
    assert run.status == 422
    assert run.problem["code"] == "invalid_input"
    assert run.problem["errors"][0]["pointer"].startswith("/resume/0/metadata/sayso/exact")
    await client.resume(approve())
    assert server.effects == [(BIG, 10.5)]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "default": BIG},
        {"type": "integer", "enum": [BIG, 5]},
        {"const": BIG},
    ],
)
async def test_a_form_with_a_large_default_option_or_constant_can_be_answered(
    server: Server, schema: dict[str, Any]
) -> None:
    """By a client that spells it out, and by one that keeps digits; the rounded one is refused."""
    seen = []

    async def agent(turn: Turn) -> None:
        response = {"type": "object", "properties": {"id": schema}, "required": ["id"]}
        seen.append((await turn.interrupt("input_required", "Which?", schema=response)).value)

    async def asked() -> Client:
        client = server.client(agent)
        await client.say()
        return client

    client = await asked()
    assert str(BIG) in client.model.pending[0]["metadata"]["sayso"]["exact"].values()
    refused = await client.resume(answer({"id": BIG - 1}))
    assert refused.last["code"] == "invalid_payload"
    assert str(BIG) in json.dumps(refused.last["metadata"])
    exact = {"sayso": {"exact": {"/id": str(BIG)}}}
    await client.resume({**answer({"id": BIG - 1}), "metadata": exact})
    await (await asked()).resume(answer({"id": BIG}))
    assert seen == [{"id": BIG}, {"id": BIG}]


async def test_an_integer_that_the_server_would_round_is_refused_by_every_door(
    server: Server,
) -> None:
    """It is exact to 64 bits, and says no to what it cannot keep."""
    seen = []

    async def agent(turn: Turn) -> None:
        asked = await turn.interrupt("input_required", "n?", schema={"type": "integer"})
        seen.append(asked.value)

    client = server.client(agent)
    await client.say()
    (asked,) = client.model.pending
    beyond = 2**64 + 1
    run = await client.resume(answer(beyond))
    assert (run.status, run.problem["errors"][0]["pointer"]) == (422, "/resume/0/payload")
    run = await post(server, f"/interrupts/{asked['id']}/answer", answer(beyond))
    assert (run.status, run.problem["errors"][0]["pointer"]) == (422, "/payload")
    session = Session(server.app, session_id=client.thread, agent=client.agent)
    body = {"session_id": client.thread, "answer": beyond}
    told = await session.open("POST", f"{PATH}/resume", body).end()
    assert (told.status, told.json["code"]) == (422, "invalid_input")
    await client.resume(answer(2**64 - 1))
    assert seen == [2**64 - 1]


async def test_a_pattern_to_remember_has_the_digits_of_its_call(server: Server) -> None:
    """Rounded it would fit no call; a neighbour's is not remembered."""

    @server.app.tool(approval=approval.always(remember=True))
    async def pay(account: int) -> None:
        server.effects.append(account)

    async def agent(turn: Turn) -> None:
        await turn.call(pay, account=BIG)

    client = server.client(agent)
    await client.say()
    pattern = {"approved": True, "remember": {"arguments": {"account": BIG - 1}}}
    refused = (await client.resume(answer(pattern))).last
    (problem,) = refused["metadata"]["sayso"]["interrupts"][0]["problems"]
    assert problem["pointer"] == "/remember/arguments/account"
    exact = {"sayso": {"exact": {"/remember/arguments/account": str(BIG)}}}
    await client.resume({**answer(pattern), "metadata": exact})
    await client.say()
    assert server.effects == [BIG, BIG]
