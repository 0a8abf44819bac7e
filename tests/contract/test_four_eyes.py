"""`Sayso(four_eyes=True)`: who asks for something is no approver of it, wherever others decide."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sayso import (
    Approvers,
    AskFirst,
    Breakpoints,
    DeclarationError,
    FallbackAnswer,
    Sayso,
    Tool,
    Turn,
    approval,
    current_call,
)
from tests.contract.optional import past
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest
from tests.contract.server import Client, Server, answer, approve, cancel, served
from tests.contract.test_approvers import authenticate, rest, says
from tests.contract.test_asking_others import WAYS
from tests.stores.backends import BACKENDS

LEAD = Approvers(by="lead")
LIFTED = Approvers(by="lead", not_by=None)


@pytest.fixture(params=tuple(BACKENDS))
async def company(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server on which nobody approves what it asked for."""
    options = {"authenticate": authenticate, "four_eyes": True}
    async with served(request.param, tmp_path, **options) as server:
        yield server


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Server]:
    """The same in memory."""
    options = {"authenticate": authenticate, "four_eyes": True}
    async with served("memory", tmp_path, **options) as server:
        yield server


def leads_client(server: Server, way: str, who: Approvers) -> Client:
    """A lead's client of an agent that asks leads in a certain way."""
    ask, *_ = WAYS.get(way, (None,))

    def ship() -> None:
        server.effects.append("shipped")

    def broken() -> str:
        raise RuntimeError("no")

    def paid() -> str:
        return "Paid."

    pay: Tool[..., Any] = Tool(paid, name="pay", approval=approval.always(approvers=who))

    def unsure() -> str:
        if current_call().answer is None:
            raise AskFirst("Sure?")
        return "Paid."

    fail: Tool[..., Any] = Tool(broken, name="fail", on_error="ask", approvers=who)
    first: Tool[..., Any] = Tool(unsure, name="first", approvers=who)
    called = {"tool": pay, "failed": fail, "first": first}
    server.app.add_tools(*called.values())

    async def agent(turn: Turn) -> None:
        if ask is not None:
            server.effects.append(await ask(turn, who))
        elif way == "breakpoint":
            await turn.step(ship)
        elif way == "elsewhere":
            gone = await turn.ask_elsewhere("https://bank.example.org", "Sign in.", approvers=who)
            server.effects.append(gone.value)
        else:
            server.effects.append((await turn.call(called[way])).status)

    options: dict[str, Any] = {"breakpoints": Breakpoints(before="*", approvers=who)}
    server.app.agent("asker", **(options if way == "breakpoint" else {}))(agent)
    client = server.client("asker")
    client.headers["authorization"] = "Bearer lea"
    return client


PAYLOADS = {
    **{way: payload for way, (_, payload, _, _) in WAYS.items()},
    "tool": {"approved": True},
    "failed": {"action": "skip"},
    "first": {"approved": True},
    "elsewhere": {"action": "done"},
    "breakpoint": {"action": "continue"},
}


@requirement("OC-20", "SE-02")
async def test_a_lead_does_not_approve_what_it_asked_for(company: Server) -> None:
    """On every store."""
    await only_another_lead_answers(company, "tool")


@requirement("OC-20", "SE-02")
@pytest.mark.parametrize("way", PAYLOADS)
async def test_a_lead_does_not_answer_what_it_asked_for(office: Server, way: str) -> None:
    """Whatever asks."""
    await only_another_lead_answers(office, way)


async def only_another_lead_answers(company: Server, way: str) -> None:
    """Nobody offers an answer to the lead who asks; another lead gives it."""
    client = leads_client(company, way, LEAD)
    (asked,) = (await client.say()).interrupts
    terms = asked["metadata"]["sayso"]["approvers"]
    assert terms == {"by": ["lead"], "of": 1, "notBy": ["requester"]}
    shown = (await rest(company, "lea", "GET", f"/interrupts/{asked['id']}")).json
    details = shown["metadata"]["sayso"]
    assert (details["may"], details["waitsFor"]["you"]) == (["cancel"], "requester")
    yes = answer(PAYLOADS[way])
    assert (await client.resume(yes)).outcome == "own_request"
    refused = await says(company, "lea", asked, yes)
    assert (refused.status, refused.problem["code"]) == (403, "own_request")
    assert company.effects == []
    assert (await says(company, "leo", asked, yes)).status == 200
    await at_rest(company, client)
    assert len(company.effects) == 1


@pytest.mark.parametrize("way", PAYLOADS)
async def test_none_lifts_it(office: Server, way: str) -> None:
    """A word of the author's goes before that of the app."""
    client = leads_client(office, way, LIFTED)
    (asked,) = (await client.say()).interrupts
    assert asked["metadata"]["sayso"]["approvers"] == {"by": ["lead"], "of": 1}
    assert (await says(office, "lea", asked, answer(PAYLOADS[way]))).status == 200
    await at_rest(office, client)
    assert len(office.effects) == 1


async def test_owners_answer_what_waits_for_owners(office: Server) -> None:
    """It bars nobody where no role and nobody else is named."""
    client = leads_client(office, "tool", Approvers())
    await client.say()
    assert (await client.resume(approve())).outcome == "success"
    assert office.effects == ["executed"]


async def test_whoever_asked_may_withdraw(office: Server) -> None:
    client = leads_client(office, "tool", LEAD)
    await client.say()
    await client.resume(cancel())
    assert office.effects == ["cancelled"]


LEADS = approval.always(by="lead")
ANY_LEAD = approval.always(by="lead", not_by=None)


@pytest.mark.parametrize(
    ("default", "policy", "who", "works"),
    [
        (approval.never, LEADS, None, False),
        (approval.never, None, LEAD, False),
        (LEADS, None, None, False),
        (approval.never, ANY_LEAD, None, True),
        (approval.never, None, LIFTED, True),
        (ANY_LEAD, None, None, True),
    ],
)
def test_silence_is_no_yes_of_anybody_else(
    default: approval.Policy, policy: approval.Policy | None, who: Approvers | None, works: bool
) -> None:
    """A tool that runs by itself once its time is up, and whose requester is barred."""
    app = Sayso(store="memory:", four_eyes=True, default_approval=default)
    tool: Tool[..., Any] = Tool(
        lambda: "Paid.", name="pay", on_expire="approve", approval=policy, approvers=who
    )
    if works:
        app.add_tools(tool)
        return
    with pytest.raises(DeclarationError, match="silence cannot count"):
        app.add_tools(tool)


async def test_an_answer_that_nobody_gives_is_no_approvers_either(office: Server) -> None:
    refused: list[str] = []

    async def agent(turn: Turn) -> None:
        try:
            await turn.interrupt(
                "shop:go", "Go?", approvers=LEAD, on_expire=FallbackAnswer({"go": True})
            )
        except ValueError as error:
            refused.append(str(error))

    client = office.client(agent)
    client.headers["authorization"] = "Bearer ann"
    await client.say()
    assert len(refused) == 1
    assert "cannot stand for" in refused[0]


async def test_a_yes_from_before_does_not_stand_under_it(tmp_path: Path) -> None:
    """Turning it on changes whom rules ask, so they ask again."""

    def paying(server: Server) -> Client:
        policy = approval.always(by="lead", remember=True)

        @server.app.tool(approval=policy)
        def pay() -> str:
            server.effects.append("paid")
            return "Paid."

        async def agent(turn: Turn) -> None:
            await turn.call(pay)

        server.app.agent("payer")(agent)
        client = server.client("payer")
        client.headers["authorization"] = "Bearer lea"
        return client

    async with served("sqlite", tmp_path, authenticate=authenticate) as server:
        client = paying(server)
        (asked,) = (await client.say()).interrupts
        assert (await says(server, "lea", asked, approve(remember=True))).status == 200
        await at_rest(server, client)
        assert (await client.again(thread="another").say()).outcome == "success"
        assert server.effects == ["paid", "paid"]
    async with served("sqlite", tmp_path, authenticate=authenticate, four_eyes=True) as server:
        (asked,) = (await paying(server).say()).interrupts
        assert [row["givenBy"] for row in asked["metadata"]["sayso"]["stale"]] == ["lea"]
        assert server.effects == []


async def copied(server: Server, client: Client, settled: dict[str, Any]) -> tuple[Client, Any]:
    """Lea's copy of a thread of hers where it waited for that answer, and what it asks."""
    path, body = f"/threads/{client.thread}/fork", {"interruptId": settled["id"]}
    made = await rest(server, "lea", "POST", path, body)
    copy = client.again(thread=made.json["threadId"])
    (asked,) = (await rest(server, "lea", "GET", f"/threads/{copy.thread}")).json["interrupts"]
    return copy, asked


@requirement("OC-20", "SE-02")
@pytest.mark.parametrize("way", sorted({*PAYLOADS} - {"tool"}))
async def test_a_copy_asks_whom_the_app_has_asked_since(tmp_path: Path, way: str) -> None:
    """What was answered before it was turned on, and after; who is barred is on the card."""
    yes = answer(PAYLOADS[way])
    async with served("sqlite", tmp_path, authenticate=authenticate) as server:
        client = leads_client(server, way, LEAD)
        (settled,) = (await client.say()).interrupts
        assert (await says(server, "lea", settled, yes)).status == 200
        await at_rest(server, client)
    async with served("sqlite", tmp_path, authenticate=authenticate, four_eyes=True) as server:
        leads_client(server, way, LEAD)
        copy, asked = await copied(server, client, settled)
        shown = asked["metadata"]["sayso"]
        assert shown["approvers"] == {"by": ["lead"], "of": 1, "notBy": ["requester"]}
        refused = await says(server, "lea", asked, yes)
        assert (refused.status, refused.problem["code"]) == (403, "own_request")
        assert (await says(server, "leo", asked, yes)).status == 200
        await at_rest(server, copy)
        assert len(server.effects) == 1
    async with served("sqlite", tmp_path, authenticate=authenticate) as server:
        leads_client(server, way, LEAD)
        copy, again = await copied(server, copy, asked)
        assert again["metadata"]["sayso"]["approvers"] == {"by": ["lead"], "of": 1}
        assert (await says(server, "lea", again, yes)).status == 200
        await at_rest(server, copy)


@requirement("OC-20", "SE-02")
async def test_what_silence_would_have_answered_before_goes_on_and_expires_in_a_copy(
    tmp_path: Path,
) -> None:
    """What was asked is not refused on replay; in a copy nobody's word stands for an approver's."""

    def asking(server: Server) -> Client:
        async def agent(turn: Turn) -> None:
            fallback = FallbackAnswer({"go": True})
            said = await turn.interrupt(
                "shop:go", "Go?", approvers=LEAD, on_expire=fallback, expires_in=60
            )
            server.effects.append(said.status)

        server.app.agent("asker")(agent)
        client = server.client("asker")
        client.headers["authorization"] = "Bearer lea"
        return client

    async with served("sqlite", tmp_path, authenticate=authenticate) as server:
        client = asking(server)
        (asked,) = (await client.say()).interrupts
    async with served("sqlite", tmp_path, authenticate=authenticate, four_eyes=True) as server:
        asking(server)
        copy, _ = await copied(server, client, asked)
        assert (await says(server, "leo", asked, answer({"go": True}))).status == 200
        await at_rest(server, client)
        assert server.effects == ["resolved"]
        await past(server, copy, 61)
        assert server.effects == ["resolved", "expired"]


@pytest.mark.parametrize("who", [LIFTED, Approvers(by="lead", not_by="requester")])
async def test_a_copy_keeps_to_what_its_author_said(tmp_path: Path, who: Approvers) -> None:
    """A word of the author's goes before that of the app there as well."""
    yes, options = answer(PAYLOADS["decide"]), {"authenticate": authenticate}
    async with served("sqlite", tmp_path, **options, four_eyes=who.barred != ()) as server:
        client = leads_client(server, "decide", who)
        (settled,) = (await client.say()).interrupts
        assert (await says(server, "leo", settled, yes)).status == 200
        await at_rest(server, client)
    async with served("sqlite", tmp_path, **options, four_eyes=who.barred == ()) as server:
        leads_client(server, "decide", who)
        _, asked = await copied(server, client, settled)
        said = await says(server, "lea", asked, yes)
        assert said.status == (403 if who.barred else 200)


async def test_a_copy_of_what_was_approved_before_is_no_way_round_it(tmp_path: Path) -> None:
    """A question in a copy has the terms that it had; what runs is held to the rules of now."""

    def paying(server: Server) -> Client:
        @server.app.tool(approval=approval.always(by="lead"))
        def pay() -> str:
            server.effects.append("paid")
            return "Paid."

        async def agent(turn: Turn) -> None:
            await turn.call(pay)

        server.app.agent("payer")(agent)
        client = server.client("payer")
        client.headers["authorization"] = "Bearer lea"
        return client

    async def open_of(server: Server, thread: str) -> dict[str, Any]:
        shown = (await rest(server, "lea", "GET", f"/threads/{thread}")).json
        (asked,) = shown["interrupts"]
        return dict(asked)

    async with served("sqlite", tmp_path, authenticate=authenticate) as server:
        client = paying(server)
        (settled,) = (await client.say()).interrupts
        assert (await says(server, "lea", settled, approve())).status == 200
        await at_rest(server, client)
        assert server.effects == ["paid"]
    async with served("sqlite", tmp_path, authenticate=authenticate, four_eyes=True) as server:
        paying(server)
        path = f"/threads/{client.thread}/fork"
        made = await rest(server, "lea", "POST", path, {"interruptId": settled["id"]})
        copy = client.again(thread=made.json["threadId"])
        asked = await open_of(server, copy.thread)
        assert (await says(server, "lea", asked, approve())).status == 200
        await at_rest(server, copy)
        assert server.effects == []
        again = await open_of(server, copy.thread)
        refused = await says(server, "lea", again, approve())
        assert (refused.status, refused.problem["code"]) == (403, "own_request")
        assert (await says(server, "leo", again, approve())).status == 200
        await at_rest(server, copy)
        assert server.effects == ["paid"]
