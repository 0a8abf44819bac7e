"""Who may approve, and how many have to agree: by role, on every way in (OC-20, SE-02)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sayso import Principal, Turn, approval, current_call
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest, call
from tests.contract.server import Client, Server, answer, approve, cancel, deny, served
from tests.contract.test_inbox_stream import listening, told
from tests.contract.wire import Run
from tests.stores.backends import EMBEDDED

PEOPLE = {
    "ann": Principal(subject="ann", roles=("clerk",)),
    "lea": Principal(subject="lea", roles=("lead",)),
    "leo": Principal(subject="leo", roles=("lead", "finance")),
    "fay": Principal(subject="fay", roles=("finance",)),
    "bob": Principal(subject="bob"),
    "far": Principal(subject="far", roles=("lead",), scope="elsewhere"),
}


async def authenticate(scope: Any) -> Principal | None:
    token = dict(scope["headers"]).get(b"authorization", b"").decode()
    return PEOPLE.get(token.removeprefix("Bearer "))


@pytest.fixture(params=EMBEDDED)
async def company(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server that knows everybody's roles."""
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        yield server


def paying(server: Server, policy: approval.Policy, owner: str = "ann", **options: Any) -> Client:
    """The owner's client of an agent that pays once."""

    @server.app.tool(approval=policy, **options)
    async def pay(amount: float) -> str:
        known = current_call()
        server.effects.append((amount, known.principal.subject, known.approver, known.approvers))
        return "Paid."

    async def agent(turn: Turn) -> None:
        done = await turn.call(pay, amount=500.0)
        await turn.say(f"{done.status} by {done.by}")

    client = server.client(agent)
    client.headers["authorization"] = f"Bearer {owner}"
    return client


async def rest(server: Server, who: str, method: str, path: str, body: Any = None) -> Run:
    return await call(
        server.app,
        method,
        path,
        body,
        headers={"authorization": f"Bearer {who}", "content-type": "application/json"},
    )


async def says(server: Server, who: str, interrupt: Any, entry: dict[str, Any]) -> Run:
    return await rest(server, who, "POST", f"/interrupts/{interrupt['id']}/answer", entry)


async def open_for(server: Server, who: str) -> list[str]:
    run = await rest(server, who, "GET", "/interrupts")
    return [item["id"] for item in run.json["items"]]


@requirement("OC-20", "SE-02")
async def test_only_those_with_the_role_may_approve(company: Server) -> None:
    """Not the owner, whichever way it comes; whoever has the role sees it and decides."""
    client = paying(company, approval.always(by="lead"))
    (interrupt,) = (await client.say()).interrupts
    assert interrupt["metadata"]["sayso"]["approvers"] == {"by": ["lead"], "of": 1}
    path = f"/interrupts/{interrupt['id']}"
    stored = (await rest(company, "lea", "GET", path)).json
    refused = await client.resume(approve())
    assert refused.outcome == "not_an_approver"
    assert "'lead'" in refused.last["message"]
    by_rest = await says(company, "ann", interrupt, approve())
    assert (by_rest.status, by_rest.problem["code"]) == (403, "not_an_approver")
    for stranger in ("bob", "fay", "far"):
        assert await open_for(company, stranger) == []
        run = await says(company, stranger, interrupt, approve())
        assert (run.status, run.problem["code"]) == (404, "unknown_interrupt")
    assert ((await rest(company, "lea", "GET", path)).json, company.effects) == (stored, [])
    assert await open_for(company, "ann") == await open_for(company, "lea") == [interrupt["id"]]
    assert (await says(company, "lea", interrupt, approve())).status == 200
    await at_rest(company, client)
    assert company.effects == [(500.0, "ann", "lea", ())]


async def test_the_owner_may_withdraw_what_it_may_not_approve(company: Server) -> None:
    """There is always a way out of a question (D7)."""
    client = paying(company, approval.always(by="lead"))
    await client.say()
    assert (await client.resume(deny())).outcome == "not_an_approver"
    run = await client.resume(cancel())
    assert run.text == "cancelled by ann"
    assert company.effects == []


async def test_an_approver_does_not_get_the_thread(company: Server) -> None:
    """Design 7: a foreign thread is unknown, the run path included."""
    client = paying(company, approval.always(by="lead"))
    await client.say()
    lea = client.again(headers={"authorization": "Bearer lea"})
    run = await lea.run(resume=client.entries(approve()))
    assert (run.status, run.problem["code"]) == (404, "unknown_thread")
    assert (await rest(company, "lea", "GET", f"/threads/{client.thread}")).status == 404


@requirement("OC-20")
async def test_several_people_have_to_agree(company: Server) -> None:
    """Two different ones: the first yes is counted and the question stays open."""
    client = paying(company, approval.always(by="lead", approvals=2))
    (interrupt,) = (await client.say()).interrupts
    first = await says(company, "lea", interrupt, approve())
    assert (first.status, first.json["remaining"]) == (202, 1)
    waits = first.json["waitsFor"]
    assert (waits["need"], waits["missing"], waits["you"]) == (2, 1, "agreed")
    again = await says(company, "lea", interrupt, approve(reason="really"))
    assert (again.status, again.json["remaining"]) == (202, 1)
    shown = await rest(company, "ann", "GET", f"/interrupts/{interrupt['id']}")
    assert [one["by"] for one in shown.json["agreed"]] == ["lea"]
    assert shown.json["status"] == "open"
    assert company.effects == []
    assert (await says(company, "leo", interrupt, approve())).status == 200
    await at_rest(company, client)
    assert company.effects == [(500.0, "ann", "leo", ("lea", "leo"))]


async def test_others_hear_of_each_who_has_agreed(company: Server) -> None:
    """Q4, U1: at once, with how many there are by now; and the trail says who, and when."""
    client = paying(company, approval.always(by="lead", approvals=2), editable=True)
    (interrupt,) = (await client.say()).interrupts
    async with listening(company.app, authorization="Bearer leo") as exchange:
        await says(company, "lea", interrupt, approve())
        await says(company, "lea", interrupt, approve(reason="really"))
        (event,) = await told(exchange, "agreed")
        assert event["interruptId"] == interrupt["id"]
        assert [one["by"] for one in event["interrupt"]["agreed"]] == ["lea"]
        await rest(company, "lea", "DELETE", f"/interrupts/{interrupt['id']}/answer")
        (_, event) = await told(exchange, "agreed", "withdrawn")
        assert "agreed" not in event["interrupt"]
        await says(company, "lea", interrupt, approve())
        await says(company, "leo", interrupt, approve(editedArgs={"amount": 5.0}))
        await rest(company, "lea", "DELETE", f"/interrupts/{interrupt['id']}/answer")
        kinds = ["agreed", "withdrawn", "agreed", "agreed"]
        assert [v["by"] for v in (await told(exchange, *kinds))[-1]["interrupt"]["agreed"]] == [
            "leo"
        ]
    rows = (await rest(company, "ann", "GET", f"/audit?thread={client.thread}")).json["items"]
    votes = [(row["kind"], row["content"]) for row in rows if row["kind"] in kinds]
    assert [(kind, one["by"], [v["by"] for v in one.get("agreed", [])]) for kind, one in votes] == [
        ("agreed", "lea", ["lea"]),
        ("withdrawn", "lea", []),
        ("agreed", "lea", ["lea"]),
        ("agreed", "leo", ["leo"]),
    ]


async def test_one_no_is_enough(company: Server) -> None:
    """A denial waits for nobody."""
    client = paying(company, approval.always(by="lead", approvals=2))
    (interrupt,) = (await client.say()).interrupts
    await says(company, "lea", interrupt, approve())
    assert (await says(company, "leo", interrupt, deny("no"))).status == 200
    await at_rest(company, client)
    assert company.effects == []


async def test_people_agree_on_the_same_answer(company: Server) -> None:
    """Who edits begins a new count: nobody has approved what the other has not seen."""
    client = paying(company, approval.always(by="lead", approvals=2), editable=True)
    (interrupt,) = (await client.say()).interrupts
    await says(company, "lea", interrupt, approve())
    less = approve(editedArgs={"amount": 5})
    assert (await says(company, "leo", interrupt, less)).status == 202
    assert (await says(company, "lea", interrupt, less)).status == 200
    await at_rest(company, client)
    assert company.effects == [(5.0, "ann", "lea", ("leo", "lea"))]


async def test_roles_may_be_counted_each(company: Server) -> None:
    """One lead and one of finance, and nobody sits on two chairs."""
    client = paying(company, approval.always(approvals={"lead": 1, "finance": 1}))
    (interrupt,) = (await client.say()).interrupts
    assert interrupt["metadata"]["sayso"]["approvers"]["of"] == {"lead": 1, "finance": 1}
    assert (await says(company, "leo", interrupt, approve())).status == 202
    assert (await says(company, "lea", interrupt, approve())).status == 200
    await at_rest(company, client)
    assert company.effects == [(500.0, "ann", "lea", ("leo", "lea"))]


async def test_a_yes_can_be_taken_back_until_there_are_enough(company: Server) -> None:
    """By the one who gave it."""
    client = paying(company, approval.always(by="lead", approvals=2))
    (interrupt,) = (await client.say()).interrupts
    await says(company, "lea", interrupt, approve())
    path = f"/interrupts/{interrupt['id']}/answer"
    assert (await rest(company, "lea", "DELETE", path)).json == {"remaining": 1}
    assert (await says(company, "leo", interrupt, approve())).status == 202
    assert company.effects == []


async def test_an_owner_with_the_role_counts_as_one(company: Server) -> None:
    """On the run path the run ends in the same question, which has been agreed to once."""
    client = paying(company, approval.always(by="lead", approvals=2), owner="lea")
    (interrupt,) = (await client.say()).interrupts
    run = await client.resume(approve())
    assert [one["id"] for one in run.interrupts] == [interrupt["id"]]
    again = await client.resume(approve())
    assert [one["id"] for one in again.interrupts] == [interrupt["id"]]
    assert company.effects == []
    assert (await says(company, "leo", interrupt, approve())).status == 200
    await at_rest(company, client)
    assert company.effects == [(500.0, "lea", "leo", ("lea", "leo"))]


async def test_another_rule_may_need_other_people(company: Server) -> None:
    """Two rules ask: what one's people have agreed to is still the other's to decide."""
    policy = approval.all_of(
        approval.when(lambda amount: amount > 100, name="large", by="lead"),
        approval.when(lambda amount: amount > 400, name="huge", by="finance"),
    )
    client = paying(company, policy)
    (first,) = (await client.say()).interrupts
    assert (await says(company, "lea", first, approve())).status == 200
    await at_rest(company, client)
    (second,) = (await client.connect()).interrupts
    assert second["metadata"]["sayso"]["rule"] == "huge"
    assert company.effects == []
    assert (await says(company, "lea", second, approve())).status == 404
    assert (await says(company, "fay", second, approve())).status == 200
    await at_rest(company, client)
    assert [effect[0] for effect in company.effects] == [500.0]


async def test_a_copy_of_the_thread_counts_nobody_s_agreement(company: Server) -> None:
    """Design 3: what is asked anew is agreed to anew, by each of them."""
    client = paying(company, approval.always(by="lead", approvals=2))
    (interrupt,) = (await client.say()).interrupts
    assert (await says(company, "lea", interrupt, approve())).status == 202
    made = await rest(
        company, "ann", "POST", f"/threads/{client.thread}/fork", {"interruptId": interrupt["id"]}
    )
    there = await rest(company, "ann", "GET", f"/threads/{made.json['threadId']}")
    (copied,) = there.json["interrupts"]
    assert (await says(company, "leo", copied, approve())).status == 202
    assert company.effects == []
    assert (await says(company, "leo", interrupt, approve())).status == 200


async def test_roles_that_nothing_waits_for_cost_no_look_at_others(company: Server) -> None:
    """Whoever has roles and approves nothing reads an inbox of its own alone, by its index."""
    client = paying(company, approval.always)
    (interrupt,) = (await client.say()).interrupts
    company.store.calls.clear()
    assert await open_for(company, "leo") == []
    assert await open_for(company, "ann") == [interrupt["id"]]
    assert [one.point for one in company.store.calls].count("interrupts") == 2


def mixed(server: Server) -> Client:
    """Ann's client of an agent that asks her and a lead in one turn."""

    @server.app.tool(approval=approval.always(by="lead"))
    async def pay(amount: float) -> str:
        server.effects.append(amount)
        return "Paid."

    async def agent(turn: Turn) -> None:
        told, done = await turn.gather(
            turn.interrupt("confirmation", "By post?"), turn.call(pay, amount=500.0)
        )
        await turn.say(f"{told} {done.status} by {done.by}")

    client = server.client(agent)
    client.headers["authorization"] = "Bearer ann"
    return client


async def test_an_owners_own_answer_beside_others_questions_is_told_as_held(
    company: Server,
) -> None:
    """After a reload, too: it waits for the lead alone, and is taken back or sent on."""
    client = mixed(company)
    own, others = (await client.say()).interrupts
    assert (await says(company, "ann", own, answer({"approved": True}))).status == 202
    run = await client.connect()
    (waits,) = run.interrupts
    (kept,) = run.last["metadata"]["sayso"]["held"]
    assert (waits["id"], kept["id"]) == (others["id"], own["id"])
    assert kept["metadata"]["sayso"]["held"]["by"] == "ann"
    assert "takeBack" in kept["metadata"]["sayso"]["may"]
    assert "waitsFor" not in kept["metadata"]["sayso"]
    path = f"/interrupts/{own['id']}/answer"
    assert (await rest(company, "ann", "DELETE", path)).status == 200
    run = await client.connect()
    assert len(run.interrupts) == 2
    assert "held" not in run.last.get("metadata", {}).get("sayso", {})
    assert (await says(company, "ann", own, answer({"approved": True}))).status == 202
    assert (await says(company, "lea", others, approve())).status == 200
    await at_rest(company, client)
    assert company.effects == [500.0]


async def test_a_resume_leaves_out_what_others_have_answered_before(company: Server) -> None:
    """A held answer is complete by the rest alone."""
    client = mixed(company)
    own, others = (await client.say()).interrupts
    assert (await says(company, "lea", others, approve())).status == 202
    looked = await client.connect()
    (kept,) = looked.last["metadata"]["sayso"]["held"]
    assert kept["metadata"]["sayso"]["waitsFor"]["held"]["by"] == "lea"
    assert [one["id"] for one in looked.interrupts] == [own["id"]]
    run = await client.run(resume=[{"interruptId": own["id"], **answer({"approved": True})}])
    assert run.text.endswith("executed by lea")


async def test_who_asks_what_is_large_keeps_nobody_from_reading_lists(company: Server) -> None:
    """A page ends after some megabytes, and the next one goes on behind it; each comes once."""

    @company.app.tool(approval=approval.always(by="lead"))
    async def pay(note: str) -> str:
        return note

    async def agent(turn: Turn) -> None:
        await turn.call(pay, note="z" * 500_000)

    name = company.client(agent).agent
    for _ in range(25):
        client = Client(company.app, name)
        client.headers["authorization"] = "Bearer ann"
        await client.say()

    async def pages(who: str, path: str) -> list[list[Any]]:
        read, cursor = [], ""
        while True:
            page = await rest(company, who, "GET", f"{path}?limit=100{cursor}")
            read.append(page.json["items"])
            assert len(page.body) < 11_000_000
            if "nextCursor" not in page.json:
                return read
            cursor = f"&cursor={quote(page.json['nextCursor'])}"

    questions = await pages("lea", "/interrupts")
    assert len(questions) > 2
    assert len({one["id"] for page in questions for one in page}) == 25
    rows = await pages("ann", "/audit")
    assert len(rows) > 2
    assert len([one for page in rows for one in page if one["kind"] == "asked"]) == 25
