"""Questions of an author that others than the owner answer: who may, how many, on every way in."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from sayso import (
    Approvers,
    Breakpoints,
    DeclarationError,
    FallbackAnswer,
    Option,
    Question,
    Turn,
)
from tests.contract.optional import client_of
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest
from tests.contract.server import Client, Server, answer, cancel, served
from tests.contract.test_approvers import authenticate, open_for, rest, says
from tests.stores.backends import BACKENDS, EMBEDDED

LEADS = Approvers(by="lead")
TWO = Approvers(approvals={"lead": 1, "finance": 1})


class Price(BaseModel):
    """What a person sets."""

    amount: float
    note: str = ""


async def interrupted(turn: Turn, who: Approvers) -> object:
    got = await turn.interrupt("shop:price", "Which price?", schema=Price, approvers=who)
    return got.value and got.value.amount, got.by, got.approvers


async def asked_together(turn: Turn, who: Approvers) -> object:
    (got,) = await turn.interrupt_all(
        [Question(reason="shop:price", message="Which price?", schema=Price, approvers=who)]
    )
    return got.value and got.value.amount, got.by, got.approvers


async def decided(turn: Turn, who: Approvers) -> object:
    options = [Option("Ship", "ship"), Option("Wait", "wait")]
    got = await turn.decide(
        why="It is late.", planned_action="Ship it", options=options, approvers=who
    )
    return got.action, got.by, got.approvers


async def clarified(turn: Turn, who: Approvers) -> object:
    options = [Option("This one", "this"), Option("All", "all")]
    got = await turn.clarify("Which?", options=options, approvers=who)
    return got.action, got.by, got.approvers


Asking = Callable[[Turn, Approvers], Awaitable[object]]
WAYS: dict[str, tuple[Asking, Any, Any, object]] = {
    # how it is asked; an answer; the same with another remark; what the code gets
    "interrupt": (interrupted, {"amount": 2.5, "note": ""}, None, 2.5),
    "interrupt_all": (asked_together, {"amount": 2.5, "note": ""}, None, 2.5),
    "decide": (decided, {"action": "ship"}, {"action": "ship", "note": "Fine."}, "ship"),
    "clarify": (clarified, {"action": "all"}, {"action": "all", "note": "Fine."}, "all"),
}


@pytest.fixture(params=tuple(BACKENDS))
async def company(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server that knows everybody's roles, on every store."""
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        yield server


@pytest.fixture(params=EMBEDDED)
async def office(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """The same on the stores that are fast to begin."""
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        yield server


def asking(server: Server, ask: Asking, who: Approvers) -> Client:
    """Ann's client of an agent that asks others, and notes what it was told."""

    async def agent(turn: Turn) -> None:
        server.effects.append(await ask(turn, who))

    client = server.client(agent)
    client.headers["authorization"] = "Bearer ann"
    return client


@requirement("OC-20", "SE-02")
@pytest.mark.parametrize("way", WAYS)
async def test_only_its_approvers_answer_a_question(company: Server, way: str) -> None:
    """Neither the owner nor a stranger, whichever way it comes; they find it in their inbox."""
    ask, payload, _, value = WAYS[way]
    client = asking(company, ask, LEADS)
    (interrupt,) = (await client.say()).interrupts
    assert interrupt["metadata"]["sayso"]["approvers"] == {"by": ["lead"], "of": 1}
    path = f"/interrupts/{interrupt['id']}"
    stored = (await rest(company, "lea", "GET", path)).json
    assert (await client.resume(answer(payload))).outcome == "not_an_approver"
    refused = await says(company, "ann", interrupt, answer(payload))
    assert (refused.status, refused.problem["code"]) == (403, "not_an_approver")
    for stranger in ("bob", "fay", "far"):
        assert await open_for(company, stranger) == []
        refused = await says(company, stranger, interrupt, answer(payload))
        assert (refused.status, refused.problem["code"]) == (404, "unknown_interrupt")
    assert ((await rest(company, "lea", "GET", path)).json, company.effects) == (stored, [])
    assert await open_for(company, "ann") == await open_for(company, "lea") == [interrupt["id"]]
    listed = (await rest(company, "lea", "GET", f"/interrupts/{interrupt['id']}")).json
    assert "answer" in listed["metadata"]["sayso"]["may"]
    assert (await says(company, "lea", interrupt, answer(payload))).status == 200
    await at_rest(company, client)
    assert company.effects == [(value, "lea", ())]


@requirement("OC-20")
@pytest.mark.parametrize("way", WAYS)
async def test_several_have_to_say_the_same(office: Server, way: str) -> None:
    """A remark beside a choice is no other answer; whoever says something else begins anew."""
    ask, payload, remarked, value = WAYS[way]
    client = asking(office, ask, TWO)
    (interrupt,) = (await client.say()).interrupts
    assert (await says(office, "lea", interrupt, answer(payload))).status == 202
    assert office.effects == []
    assert (await says(office, "fay", interrupt, answer(remarked or payload))).status == 200
    await at_rest(office, client)
    assert office.effects == [(value, "fay", ("lea", "fay"))]


@requirement("OC-20")
async def test_an_authors_note_is_part_of_the_answer(office: Server) -> None:
    """In a type of the author's own every member counts, whatever its name."""
    client = asking(office, interrupted, TWO)
    (interrupt,) = (await client.say()).interrupts
    one, other = ({"amount": 1.0, "note": note} for note in ("paid by Ada", "paid by Eve"))
    assert (await says(office, "lea", interrupt, answer(one))).status == 202
    again = await says(office, "fay", interrupt, answer(other))
    assert again.status == 202
    assert office.effects == []


async def test_the_owner_may_withdraw_what_others_are_asked(office: Server) -> None:
    """There is always a way out of a question."""
    client = asking(office, interrupted, LEADS)
    await client.say()
    await client.resume(cancel())
    assert office.effects == [(None, "ann", ())]


async def test_the_requester_does_not_answer_itself(office: Server) -> None:
    """Role or not, where `not_by` says so."""
    client = asking(office, decided, Approvers(by="lead", not_by="requester"))
    client.headers["authorization"] = "Bearer leo"
    (interrupt,) = (await client.say()).interrupts
    refused = await says(office, "leo", interrupt, answer({"action": "ship"}))
    assert (refused.status, refused.problem["code"]) == (403, "own_request")
    assert (await says(office, "lea", interrupt, answer({"action": "ship"}))).status == 200
    await at_rest(office, client)
    assert office.effects == [("ship", "lea", ())]


async def test_a_person_is_named_without_a_role(company: Server) -> None:
    """`people` finds it in its inbox as well, and nobody else does."""
    client = asking(company, decided, Approvers(people=["bob"]))
    (interrupt,) = (await client.say()).interrupts
    assert await open_for(company, "lea") == []
    assert await open_for(company, "bob") == [interrupt["id"]]
    assert (await says(company, "bob", interrupt, answer({"action": "wait"}))).status == 200
    await at_rest(company, client)
    assert company.effects == [("wait", "bob", ())]


def at_a_breakpoint(server: Server, when: str) -> Client:
    """Ann's client of an agent that leads let on."""

    async def agent(turn: Turn) -> None:
        state = turn.state
        await turn.step.options(name="pay")(server.effects.append, state.get("amount"))

    points = Breakpoints(**{when: "pay"}, approvers=Approvers(by="lead", approvals=2))
    client = client_of(server, agent, breakpoints=points)
    client.headers["authorization"] = "Bearer ann"
    return client


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_breakpoint_waits_for_its_approvers(office: Server, when: str) -> None:
    """The owner neither passes it nor changes what they look at; cancelling ends the turn."""
    client = at_a_breakpoint(office, when)
    (interrupt,) = (await client.say(state={"amount": 1})).interrupts
    assert interrupt["metadata"]["sayso"]["approvers"] == {"by": ["lead"], "of": 2}
    go = answer({"action": "continue"})
    assert (await client.resume(go)).outcome == "not_an_approver"
    path = f"/threads/{client.thread}/state"
    edit = await rest(office, "ann", "PATCH", path, {"values": {"amount": 9}})
    assert (edit.status, edit.problem["code"]) == (403, "not_an_approver")
    assert (await says(office, "lea", interrupt, go)).status == 202
    assert (await says(office, "leo", interrupt, go)).status == 200
    await at_rest(office, client)
    assert office.effects == [1]


async def test_nobody_edits_what_others_have_agreed_to(office: Server) -> None:
    """An owner who is an approver may edit the state until another one has said continue."""
    client = at_a_breakpoint(office, "before")
    client.headers["authorization"] = "Bearer leo"
    (interrupt,) = (await client.say(state={"amount": 1})).interrupts
    path = f"/threads/{client.thread}/state"
    assert (await rest(office, "leo", "PATCH", path, {"values": {"amount": 2}})).status == 200
    go = answer({"action": "continue"})
    assert (await says(office, "lea", interrupt, go)).status == 202
    edit = await rest(office, "leo", "PATCH", path, {"values": {"amount": 9}})
    assert (edit.status, edit.problem["code"]) == (409, "already_resolved")
    assert (await says(office, "leo", interrupt, go)).status == 200
    await at_rest(office, client)
    assert office.effects == [2]


def test_approvers_of_another_kind_are_no_breakpoints() -> None:
    """Said when they are declared."""
    wrong: Any = "lead"
    with pytest.raises(DeclarationError, match="is an Approvers, not 'lead'"):
        Breakpoints(before="*", approvers=wrong)


@pytest.mark.parametrize("who", [TWO, Approvers(by="lead", not_by="requester")])
async def test_silence_is_no_answer_of_several_people(office: Server, who: Approvers) -> None:
    """A fallback answer would get round whoever has to agree."""

    async def agent(turn: Turn) -> None:
        with pytest.raises(ValueError, match="cannot stand for several people"):
            await turn.interrupt(
                "shop:price", "?", schema=int, approvers=who, on_expire=FallbackAnswer(1)
            )
        wrong: Any = "lead"
        with pytest.raises(ValueError, match="is an Approvers, not 'lead'"):
            await turn.interrupt("shop:price", "?", schema=int, approvers=wrong)
        office.effects.append("told")

    client = office.client(agent)
    client.headers["authorization"] = "Bearer ann"
    await client.say()
    assert office.effects == ["told"]
