"""What a person was shown who decided: by every way in, and not what has changed since."""

from typing import Any

import pytest

from sayso import approval
from sayso.base import jsonvalue
from tests.contract.rest import at_rest
from tests.contract.server import Client, Server, approve, deny
from tests.contract.sessions import Session
from tests.contract.test_approvers import company, paying, rest, says
from tests.contract.test_audit_refused import trail
from tests.contract.test_inbox_stream import listening, told

__all__ = ("company",)


def digest(interrupt: Any) -> str:
    text: str = interrupt["metadata"]["sayso"]["digest"]
    return text


def seen(entry: dict[str, Any], shown: str) -> dict[str, Any]:
    """An answer of somebody who was shown this."""
    return {**entry, "metadata": {"sayso": {"shown": shown}}}


async def row_of_the_answer(server: Server, client: Client) -> dict[str, Any]:
    await at_rest(server, client)
    (content,) = [content for kind, content in await trail(server, client) if kind == "resolved"]
    return content


@pytest.mark.parametrize("way", ["request", "inbox", "session", "silent"])
async def test_a_decision_is_recorded_with_what_was_shown_or_that_nobody_said(
    company: Server, way: str
) -> None:
    """Metadata of the client's own stays, and the digest is not among it."""
    client = paying(company, approval.always)
    if way == "session":
        headers = {"authorization": "Bearer ann"}
        session = Session(company.app, agent=client.agent, headers=headers)
        question = (await session.say())[-1]
        client.thread = session.id or ""
        refused = await session.send("yes", interrupt_id=question["interrupt_id"], shown="f" * 64)
        assert (refused.status, refused.json["code"]) == (409, "out_of_date")
        await session.answer("yes", shown=digest(question))
    else:
        (interrupt,) = (await client.say()).interrupts
        entry = seen(approve(), digest(interrupt))
        entry["metadata"]["via"] = "phone"
        if way == "request":
            assert (await client.resume(entry)).outcome == "success"
        else:
            entry = approve() if way == "silent" else entry
            assert (await says(company, "ann", interrupt, entry)).status == 200
    decided = await row_of_the_answer(company, client)
    (asked,) = [content for kind, content in await trail(company, client) if kind == "asked"]
    shown = None if way == "silent" else asked["digest"]
    assert decided["proof"] == {"kind": "person", "shown": shown}
    assert decided.get("metadata") == ({"via": "phone"} if way in ("request", "inbox") else None)


async def test_who_was_shown_the_question_before_an_edit_decides_nothing(company: Server) -> None:
    """The refusal and the stream have it as it is now; then the same people decide."""
    client = paying(company, approval.always(by="lead", approvals=2), editable=True)
    (interrupt,) = (await client.say()).interrupts
    before = digest(interrupt)
    less = approve(editedArgs={"amount": 5.0})
    async with listening(company.app, authorization="Bearer leo") as heard:
        assert (await says(company, "lea", interrupt, seen(less, before))).status == 202
        (event,) = await told(heard, "agreed")
    now = digest(event["interrupt"])
    assert now != before
    late = await says(company, "leo", interrupt, seen(approve(), before))
    assert (late.status, late.problem["code"]) == (409, "out_of_date")
    (changed,) = late.problem["interrupts"]
    ours = changed["interrupt"]["metadata"]["sayso"]
    assert (changed["interruptId"], ours["digest"]) == (interrupt["id"], now)
    assert ours["waitsFor"]["agreed"][0]["changes"] == [
        {"path": "/amount", "from": 500.0, "to": 5.0}
    ]
    again = await says(company, "lea", interrupt, seen(less, before))  # whose answer got lost
    assert (again.status, company.effects) == (202, [])
    assert (await says(company, "leo", interrupt, seen(less, now))).status == 200
    proof = (await row_of_the_answer(company, client))["proof"]
    assert (proof["shown"], company.effects) == (now, [(5.0, "ann", "leo", ("lea", "leo"))])
    rows = await trail(company, client)
    (ran,) = [content for kind, content in rows if kind == "started"]
    assert (proof["argumentsBefore"], proof["argumentsAfter"]) == (
        ran["arguments"],
        jsonvalue.digest(ran["editedArgs"]),
    )
    (vote,) = next(content for kind, content in rows if kind == "agreed")["agreed"]
    assert vote["proof"] == {**proof, "shown": before}


async def test_a_plain_yes_leaves_the_question_as_it_was_shown(company: Server) -> None:
    """Who has an open card still decides; and one who takes an edit back makes it what it was."""
    client = paying(company, approval.always(by="lead", approvals=2), editable=True)
    (interrupt,) = (await client.say()).interrupts
    less = seen(approve(editedArgs={"amount": 5.0}), digest(interrupt))
    assert (await says(company, "lea", interrupt, less)).status == 202
    path = f"/interrupts/{interrupt['id']}/answer"
    assert (await rest(company, "lea", "DELETE", path)).status == 200
    for person, status in (("lea", 202), ("leo", 200)):
        answer = await says(company, person, interrupt, seen(approve(), digest(interrupt)))
        assert answer.status == status


async def test_a_request_with_an_answer_to_another_question_is_asked_again(
    company: Server,
) -> None:
    """A denial too: nothing is decided about what its author did not see. A withdrawal counts."""
    client = paying(company, approval.always)
    (interrupt,) = (await client.say()).interrupts
    for payload in ({"approved": True}, {"approved": False}):
        run = await client.resume(seen({"status": "resolved", "payload": payload}, "0" * 64))
        assert run.outcome == "out_of_date"
        assert digest(run.last["metadata"]["sayso"]["interrupts"][0]["interrupt"]) == digest(
            interrupt
        )
    wrong = await says(company, "ann", interrupt, seen(approve(), 7))  # type: ignore[arg-type]
    assert (wrong.status, wrong.problem["errors"][0]["pointer"]) == (
        422,
        "/metadata/sayso/shown",
    )
    assert (await client.resume(seen({"status": "cancelled"}, "0" * 64))).outcome == "success"
    assert company.effects == []


async def test_who_was_shown_a_copy_before_it_was_denied_elsewhere_decides_nothing(
    company: Server,
) -> None:
    """An open card knows nothing of the no, which the refusal brings; a look at it is enough."""
    client = paying(company, approval.always(by="lead"))
    (interrupt,) = (await client.say()).interrupts
    path = f"/threads/{client.thread}/fork"
    made = await rest(company, "ann", "POST", path, {"interruptId": interrupt["id"]})
    thread = made.json["threadId"]
    (copy,) = (await rest(company, "ann", "GET", f"/threads/{thread}")).json["interrupts"]
    assert (await says(company, "lea", interrupt, deny("fraud"))).status == 200
    late = await says(company, "leo", copy, seen(approve(), digest(copy)))
    assert (late.status, late.problem["code"], company.effects) == (409, "out_of_date", [])
    (changed,) = late.problem["interrupts"]
    ours = changed["interrupt"]["metadata"]["sayso"]
    assert [(said["by"], said["reason"]) for said in ours["before"]] == [("lea", "fraud")]
    assert (await says(company, "leo", copy, seen(approve(), ours["digest"]))).status == 200
