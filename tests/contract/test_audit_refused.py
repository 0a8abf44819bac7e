"""Who was refused an answer that is not theirs to give, and as whom others decided (design 7)."""

from typing import Any

import pytest

from sayso import Principal, ToolCall, Turn, approval
from tests.contract.rest import at_rest
from tests.contract.server import Client, Server, approve
from tests.contract.test_approvers import PEOPLE, company, paying, rest, says

__all__ = ("company",)


async def trail(server: Server, client: Client) -> list[tuple[str, dict[str, Any]]]:
    """The rows of a thread, and that they are what was written."""
    items = (await rest(server, "ann", "GET", f"/audit?thread={client.thread}")).json["items"]
    chain = (await rest(server, "ann", "GET", f"/audit/{client.thread}")).json
    assert (chain["intact"], chain["rows"], chain.get("differs")) == (True, len(items), None)
    return [(item["kind"], item["content"]) for item in items]


async def test_who_may_not_approve_leaves_a_row_and_five_at_most(company: Server) -> None:
    """By every way in, with the roles that the person had; nothing else comes of it."""
    client = paying(company, approval.always(by="lead"))
    (interrupt,) = (await client.say()).interrupts
    for _ in range(4):
        assert (await says(company, "ann", interrupt, approve())).status == 403
    for _ in range(3):
        assert (await client.resume(approve())).last["code"] == "not_an_approver"
    kinds, contents = zip(*await trail(company, client), strict=True)
    assert kinds == ("asked", *["refused"] * 5)
    refused = {"interruptId": interrupt["id"], "code": "not_an_approver", "by": "ann"}
    refused |= {"roles": ["clerk"]}
    channels = ["inbox"] * 4 + ["run"]
    assert [*contents[1:]] == [refused | {"channel": channel} for channel in channels]
    assert (await says(company, "leo", interrupt, approve())).status == 200
    await at_rest(company, client)
    rows = await trail(company, client)
    assert [kind for kind, _ in rows[6:]] == ["resolved", "started", "executed"]
    assert (rows[6][1]["by"], rows[6][1]["roles"]) == ("leo", ["finance", "lead"])


async def test_a_refusal_of_another_person_or_code_is_a_row_of_its_own(company: Server) -> None:
    """The requester, where another has to decide; strangers see nothing and leave nothing."""
    client = paying(company, approval.always(by="lead", not_by="requester"), owner="lea")
    (interrupt,) = (await client.say()).interrupts
    assert (await says(company, "lea", interrupt, approve())).status == 403
    assert (await says(company, "bob", interrupt, approve())).status == 404
    path = f"/interrupts/{interrupt['id']}/answer"
    assert (await rest(company, "leo", "DELETE", path)).status == 403
    rows = (await rest(company, "lea", "GET", f"/audit?thread={client.thread}")).json["items"]
    refused = [
        (row["content"]["by"], row["content"]["code"]) for row in rows if row["kind"] == "refused"
    ]
    assert refused == [("lea", "own_request"), ("leo", "not_an_approver")]


async def test_decisions_votes_and_refusals_say_how_somebody_was_known(
    company: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By which issuer, token and session; what the app does not tell is left out."""
    told: dict[str, Any] = {"issuer": "https://login.example", "session": "s-1", "auth_time": 1_000}
    for person, token in (("lea", "t-1"), ("leo", "t-2")):
        known = Principal(subject=person, roles=("lead",), token_id=token, **told)
        monkeypatch.setitem(PEOPLE, person, known)
    monkeypatch.setitem(PEOPLE, "ann", Principal(subject="ann", issuer="https://login.example"))
    client = paying(company, approval.always(by="lead", approvals=2))
    (interrupt,) = (await client.say()).interrupts
    assert (await says(company, "ann", interrupt, approve())).status == 403
    assert (await says(company, "lea", interrupt, approve())).status == 202
    assert (await says(company, "leo", interrupt, approve())).status == 200
    await at_rest(company, client)
    rows = dict(await trail(company, client))
    proof = {
        "kind": "person",
        "issuer": "https://login.example",
        "session": "s-1",
        "authTime": 1_000,
        "shown": None,
    }
    assert rows["refused"]["proof"] == {"kind": "person", "issuer": "https://login.example"}
    assert [vote["proof"] for vote in rows["agreed"]["agreed"]] == [proof | {"tokenId": "t-1"}]
    assert rows["resolved"]["proof"] == proof | {"tokenId": "t-2"}


async def test_an_owner_and_a_held_answer_have_their_proof_too(
    company: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one that is kept until its set is complete, that of when it was given."""

    @company.app.tool(approval=approval.always)
    async def pay(amount: float) -> str:
        return "Paid."

    async def agent(turn: Turn) -> None:
        await turn.call_all([ToolCall(tool="pay", args={"amount": float(n)}) for n in range(2)])

    client = company.client(agent, headers={"authorization": "Bearer ann"})
    first, second = (await client.say()).interrupts
    for interrupt, token in ((first, "t-1"), (second, "t-2")):
        monkeypatch.setitem(PEOPLE, "ann", Principal(subject="ann", token_id=token))
        assert (await says(company, "ann", interrupt, approve())).status in (200, 202)
    await at_rest(company, client)
    rows = await trail(company, client)
    (held,) = [content["answer"] for kind, content in rows if kind == "held"]
    assert held["proof"] == {"kind": "person", "tokenId": "t-1", "shown": None}
    settled = {
        content["interruptId"]: content["proof"] for kind, content in rows if kind == "resolved"
    }
    assert {name: proof["tokenId"] for name, proof in settled.items()} == {
        first["id"]: "t-1",
        second["id"]: "t-2",
    }
