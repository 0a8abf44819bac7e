"""A no of somebody who may decide is the end of it, and a yes is its author's (OC-20, SE-02)."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso import ToolCall, Turn, approval
from tests.contract.replicas import replica
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest, call
from tests.contract.server import (
    Client,
    Server,
    approve,
    cancel,
    deny,
    eventually,
    served,
)
from tests.contract.test_approvers import authenticate, rest, says
from tests.contract.wire import Run
from tests.stores.backends import BACKENDS, EMBEDDED

LEAD = approval.always(by="lead")
CALLS = (1.0, 2.0)


@pytest.fixture(params=tuple(BACKENDS))
async def company(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server that knows everybody's roles."""
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        yield server


def paying(
    server: Server,
    policy: approval.Policy = LEAD,
    *,
    amounts: tuple[float, ...] = CALLS,
    owner: str = "ann",
    agent: dict[str, Any] | None = None,
    **options: Any,
) -> Client:
    """The owner's client of an agent that pays several amounts at once."""

    @server.app.tool(approval=policy, **options)
    async def pay(amount: float) -> str:
        server.effects.append(amount)
        return "Paid."

    async def act(turn: Turn) -> None:
        done = await turn.call_all([ToolCall(pay, {"amount": one}) for one in amounts])
        await turn.say("; ".join(f"{one.status} by {one.by}" for one in done))

    server.app.agent("payer", **(agent or {}))(act)
    client = server.client("payer")
    client.headers["authorization"] = f"Bearer {owner}"
    return client


async def takes_back(server: Server, who: str, interrupt: Any) -> Run:
    return await rest(server, who, "DELETE", f"/interrupts/{interrupt['id']}/answer")


async def decided(server: Server, client: Client) -> dict[str, tuple[str, str | None, Any]]:
    """How each question of the thread ended: status, by whom, the payload."""
    path = f"/threads/{client.thread}/history"
    asked = (await rest(server, "ann", "GET", path)).json["interrupts"]
    return {
        one["id"]: (one["status"], one["answer"].get("by"), one["answer"].get("payload"))
        for one in asked
        if one["status"] != "open"
    }


@requirement("OC-20")
async def test_a_no_that_is_kept_stands_whatever_anybody_sends(company: Server) -> None:
    """Another's yes is refused with who said no; another no, and a withdrawal, change nothing."""
    client = paying(company)
    one, two = (await client.say()).interrupts
    assert (await says(company, "lea", one, deny("fraud"))).status == 202
    for who in ("ann", "lea", "leo"):
        run = await takes_back(company, who, one)
        assert (run.status, run.problem["code"]) == (409, "already_resolved")
    yes = await says(company, "leo", one, approve())
    assert (yes.status, yes.problem["code"], yes.problem["by"]) == (409, "already_resolved", "lea")
    assert (await says(company, "lea", one, approve())).status == 409
    assert (await says(company, "leo", one, deny("also"))).status == 202
    assert (await says(company, "ann", one, cancel())).status == 202
    assert (await says(company, "leo", two, approve())).status == 200
    await at_rest(company, client)
    assert company.effects == [2.0]
    said = {"approved": False, "reason": "fraud"}
    assert (await decided(company, client))[one["id"]] == ("resolved", "lea", said)
    rows = (await rest(company, "ann", "GET", f"/audit?thread={client.thread}")).json["items"]
    ended = [row["content"] for row in rows if row["kind"] == "denied"]
    assert [(row["by"], row["reason"]) for row in ended] == [("lea", "fraud")]


@requirement("OC-20")
async def test_a_yes_that_is_kept_gives_way_to_a_no_alone(company: Server) -> None:
    """The same yes of another changes nothing, another yes is refused; its author takes it back."""
    client = paying(company, editable=True)
    one, _ = (await client.say()).interrupts
    assert (await says(company, "lea", one, approve())).status == 202
    same = await says(company, "leo", one, approve(reason="I agree"))
    assert (same.status, same.json) == (202, {"remaining": 1})
    other = await says(company, "leo", one, approve(editedArgs={"amount": 7}))
    assert (other.status, other.problem["by"]) == (409, "lea")
    for who in ("ann", "leo"):
        run = await takes_back(company, who, one)
        assert (run.status, run.problem["code"]) == (403, "not_an_approver")
    assert (await takes_back(company, "lea", one)).json == {"remaining": 2}
    assert (await takes_back(company, "lea", one)).status == 403
    await says(company, "lea", one, approve())
    await company.clock.advance(1)
    assert (await says(company, "leo", one, deny("no"))).status == 202
    shown = (await rest(company, "ann", "GET", f"/interrupts/{one['id']}")).json
    assert (shown["answer"]["by"], shown["answer"]["payload"]["approved"]) == ("leo", False)
    assert shown["metadata"]["sayso"]["may"] == []


async def test_an_owner_says_otherwise_to_a_question_of_its_own(company: Server) -> None:
    """Until the set is complete, as before."""
    client = paying(company, approval.always)
    one, two = (await client.say()).interrupts
    await says(company, "ann", one, deny("no"))
    await says(company, "ann", one, approve())
    assert (await takes_back(company, "ann", one)).json == {"remaining": 2}
    assert (await takes_back(company, "ann", one)).json == {"remaining": 2}
    await says(company, "ann", one, approve())
    await says(company, "ann", two, approve())
    await at_rest(company, client)
    assert company.effects == [1.0, 2.0]


async def stopped(server: Server, client: Client) -> None:
    assert (await rest(server, "ann", "POST", f"/threads/{client.thread}/stop")).status == 200


async def withdrawn(server: Server, client: Client) -> None:
    run = await client.resume(*[cancel(interruptId=one["id"]) for one in client.model.pending])
    assert run.outcome == "success"


async def steered(server: Server, client: Client) -> None:
    await client.say("never mind")


async def expired(server: Server, client: Client) -> None:
    server.clock.jump(3600)

    async def over() -> bool:
        await server.clock.advance(1)  # the next look for what is due
        return len(await decided(server, client)) == len(CALLS)

    await eventually(over)


@pytest.mark.parametrize("end", [stopped, withdrawn, steered, expired])
async def test_whatever_ends_the_turn_a_no_before_it_is_what_is_told(
    company: Server, end: Callable[[Server, Client], Awaitable[None]]
) -> None:
    """In the history, in the trail, and to the model: who denied it, and not who ended the rest."""
    client = paying(company, expires_in=600, agent={"on_message": "cancel"})
    one, _ = (await client.say()).interrupts
    await says(company, "lea", one, deny("fraud"))
    await end(company, client)
    await at_rest(company, client)
    assert company.effects == []
    how = (await decided(company, client))[one["id"]]
    assert how == ("resolved", "lea", {"approved": False, "reason": "fraud"})
    path = f"/threads/{client.thread}/history"
    messages = (await rest(company, "ann", "GET", path)).json["messages"]
    told = {one["toolCallId"]: one["content"] for one in messages if one["role"] == "tool"}
    assert "denied" in told[one["toolCallId"]]
    assert "fraud" in told[one["toolCallId"]]


async def test_whoever_has_voted_takes_back_its_own_word_and_no_other(company: Server) -> None:
    """What several gave together falls with one of them; a vote for another answer drops others."""
    client = paying(company, approval.always(by="lead", approvals=2), editable=True)
    one, _ = (await client.say()).interrupts
    await says(company, "lea", one, approve())
    assert (await takes_back(company, "ann", one)).status == 403
    less = await says(company, "leo", one, approve(editedArgs={"amount": 5}))
    assert (less.status, less.json["withdrawn"]) == (202, ["lea"])
    (vote,) = less.json["waitsFor"]["agreed"]
    assert vote["changes"] == [{"path": "/amount", "from": 1.0, "to": 5}]
    assert (await says(company, "lea", one, approve(editedArgs={"amount": 5}))).status == 202
    assert (await takes_back(company, "leo", one)).json == {"remaining": 2}
    shown = (await rest(company, "lea", "GET", f"/interrupts/{one['id']}")).json
    assert "answer" not in shown
    assert [vote["by"] for vote in shown["agreed"]] == ["lea"]


@requirement("OC-20")
async def test_whoever_asked_may_be_kept_from_deciding(company: Server) -> None:
    """Separation of duties: with the role, alone or as one of two; it may withdraw all the same."""
    client = paying(company, approval.always(by="lead", not_by="requester"), owner="lea")
    one, two = (await client.say()).interrupts
    assert one["metadata"]["sayso"]["approvers"] == {
        "by": ["lead"],
        "of": 1,
        "notBy": ["requester"],
    }
    assert one["metadata"]["sayso"]["may"] == ["cancel"]
    assert one["metadata"]["sayso"]["waitsFor"]["you"] == "requester"
    refused = await says(company, "lea", one, approve())
    assert (refused.status, refused.problem["code"]) == (403, "own_request")
    both = await client.resume(approve(), approve())
    assert both.outcome == "own_request"
    assert (await says(company, "lea", one, deny())).status == 403
    assert (await says(company, "leo", one, approve())).status == 202
    assert (await says(company, "lea", two, cancel())).status == 200
    await at_rest(company, client)
    assert company.effects == [1.0]


async def test_a_copy_and_a_restart_are_requests_as_well(company: Server) -> None:
    """Whoever made either may not approve it."""
    client = paying(company, approval.always(by="lead", not_by="requester"), owner="lea")
    one, _ = (await client.say()).interrupts
    path = f"/threads/{client.thread}"
    made = await rest(company, "lea", "POST", f"{path}/fork", {"interruptId": one["id"]})
    there = await rest(company, "lea", "GET", f"/threads/{made.json['threadId']}")
    run = await says(company, "lea", there.json["interrupts"][0], approve())
    assert run.problem["code"] == "own_request"
    await rest(company, "lea", "POST", f"{path}/restart")
    await at_rest(company, client)
    again = (await rest(company, "lea", "GET", path)).json["interrupts"]
    assert (await says(company, "lea", again[0], approve())).problem["code"] == "own_request"
    assert company.effects == []


async def test_time_and_assignment_are_the_approvers_to_give(company: Server) -> None:
    """The owner of a thread that waits for others neither hurries nor delays them."""
    client = paying(company, expires_in=600)
    one, _ = (await client.say()).interrupts
    for action, body in (("extend", {"seconds": 60}), ("assign", {"to": "leo"})):
        path = f"/interrupts/{one['id']}/{action}"
        refused = await rest(company, "ann", "POST", path, body)
        assert (refused.status, refused.problem["code"]) == (403, "not_an_approver")
        assert (await rest(company, "lea", "POST", path, body)).status == 200
    path = f"/interrupts/{one['id']}/extend"
    far = await rest(company, "lea", "POST", path, {"expiresAt": "2099-01-01T00:00:00Z"})
    assert (far.status, far.problem["code"]) == (422, "invalid_input")


@requirement("OC-20")
async def test_people_may_be_named_beside_roles(company: Server) -> None:
    """They see it and decide it; nobody else of their kind does."""
    policy = approval.always(approvers=approval.Approvers(people=["bob"], by="lead"))
    client = paying(company, policy, amounts=(1.0,))
    (one,) = (await client.say()).interrupts
    assert (await says(company, "fay", one, approve())).status == 404
    listed = await rest(company, "bob", "GET", "/interrupts")
    assert [item["id"] for item in listed.json["items"]] == [one["id"]]
    assert (await says(company, "bob", one, approve())).status == 200
    await at_rest(company, client)
    assert company.effects == [1.0]


WHO = ("ann", "bob", "lea", "leo", "fay")
WORDS = {
    "yes": approve(),
    "less": approve(editedArgs={"amount": 0.5}),
    "no": deny("no"),
    "cancel": cancel(),
}
said = st.lists(
    st.tuples(
        st.sampled_from(WHO),
        st.sampled_from((*WORDS, "back", "extend", "stop", "restart")),
        st.integers(0, 2),
        st.integers(0, 1),
    ),
    max_size=5,
)


@pytest.mark.parametrize("kind", EMBEDDED)
@settings(max_examples=12, deadline=None)
@given(st.integers(2, 3), st.sampled_from((1, 2)), said)
def test_once_somebody_entitled_has_said_no_its_call_never_runs(
    kind: str, questions: int, of: int, words: list[tuple[str, str, int, int]]
) -> None:
    """Five people say anything to anything, through two servers on one store."""

    async def play(folder: Path) -> None:
        async with AsyncExitStack() as stack:
            server = await stack.enter_async_context(
                served(kind, folder, authenticate=authenticate)
            )
            amounts = tuple(float(n + 1) for n in range(questions))
            policy = approval.always(by="lead", approvals=of)
            client = paying(server, policy, amounts=amounts, editable=True, expires_in=600)
            agent = server.app._engine._services.agents.newest("payer")
            assert agent is not None
            other = await stack.enter_async_context(replica(server, ("payer", agent.function)))
            asked = (await client.say()).interrupts
            denied: dict[str, str] = {}
            # Somebody says no first, and in the end two who may decide say yes to everything.
            first = [("lea", "no", 0, 0)]
            last = [(who, "yes", n, n % 2) for n in range(questions) for who in ("lea", "leo")]
            for who, word, which, door in [*first, *words, *last]:
                one = asked[which % len(asked)]
                app = (server.app, other)[door]
                run = await spoken(app, client, who, word, one)
                lead = who in ("lea", "leo")
                if word == "no" and lead and run.status in (200, 202):
                    denied.setdefault(one["id"], who)
                if word == "restart" or (run.status == 200 and word != "back"):
                    await at_rest(server, client)
                    if word == "restart":
                        break  # what is asked now is asked anew
            ended = await decided(server, client)
            for identifier, by in denied.items():
                place = [one["id"] for one in asked].index(identifier)
                assert amounts[place] not in server.effects
                if identifier in ended:
                    assert ended[identifier][:2] == ("resolved", by)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder)))


async def spoken(app: Any, client: Client, who: str, word: str, asked: Any) -> Run:
    headers = {"authorization": f"Bearer {who}", "content-type": "application/json"}
    path = f"/interrupts/{asked['id']}"
    if word in WORDS:
        return await call(app, "POST", f"{path}/answer", WORDS[word], headers=headers)
    if word == "back":
        return await call(app, "DELETE", f"{path}/answer", headers=headers)
    if word == "extend":
        return await call(app, "POST", f"{path}/extend", {"seconds": 60}, headers=headers)
    return await call(app, "POST", f"/threads/{client.thread}/{word}", headers=headers)


async def copied(server: Server, who: str, client: Client, interrupt: Any) -> Run:
    path = f"/threads/{client.thread}/fork"
    return await rest(server, who, "POST", path, {"interruptId": interrupt["id"]})


@requirement("OC-20")
async def test_who_is_asked_again_is_told_what_was_said_before(company: Server) -> None:
    """In a copy, in a copy of that, and after a restart: who denied it, when and why."""
    client = paying(company, amounts=(1.0,))
    (one,) = (await client.say()).interrupts
    await says(company, "lea", one, deny("fraud"))
    await at_rest(company, client)
    made = (await copied(company, "ann", client, one)).json["threadId"]
    (there,) = (await rest(company, "ann", "GET", f"/threads/{made}")).json["interrupts"]
    (said,) = there["metadata"]["sayso"]["before"]
    assert (said["said"], said["by"], said["reason"]) == ("denied", "lea", "fraud")
    assert said["threadId"] == client.thread
    shown = (await rest(company, "leo", "GET", f"/interrupts/{there['id']}")).json
    assert shown["metadata"]["sayso"]["before"] == [said]
    further = await copied(company, "ann", client.again(thread=made), there)
    path = f"/threads/{further.json['threadId']}"
    (again,) = (await rest(company, "ann", "GET", path)).json["interrupts"]
    assert again["metadata"]["sayso"]["before"] == [said]
    assert (await rest(company, "ann", "POST", f"{path}/restart")).status == 200
    await at_rest(company, client.again(thread=further.json["threadId"]))
    (anew,) = (await rest(company, "ann", "GET", path)).json["interrupts"]
    assert anew["metadata"]["sayso"]["before"] == [said]
    assert company.effects == []


async def test_approvers_may_refuse_to_be_asked_again(company: Server) -> None:
    """What was denied is neither copied nor begun anew; before that it is."""
    people = approval.Approvers(by="lead", forks_of_denied="refuse")
    client = paying(company, approval.always(approvers=people))
    one, _ = (await client.say()).interrupts
    assert (await copied(company, "ann", client, one)).status == 201
    await says(company, "lea", one, deny("fraud"))
    stored = company.dump()
    for run in (
        await copied(company, "ann", client, one),
        await rest(company, "ann", "POST", f"/threads/{client.thread}/restart"),
    ):
        assert (run.status, run.problem["code"]) == (409, "denied_before")
    assert company.dump() == stored


async def test_a_copy_counts_no_yes_that_others_had_said_for_other_rules(company: Server) -> None:
    """Each yes would run it once more: whoever said it is asked again, in every copy."""
    both = approval.all_of(
        approval.always(by="finance", name="fin"), approval.always(by="lead", name="lead")
    )
    client = paying(company, both, amounts=(1.0,))
    (first,) = (await client.say()).interrupts
    await says(company, "fay", first, approve())
    await at_rest(company, client)
    path = f"/threads/{client.thread}"
    (second,) = (await rest(company, "ann", "GET", path)).json["interrupts"]
    made = (await copied(company, "ann", client, second)).json["threadId"]
    there = client.again(thread=made)
    (asked,) = (await rest(company, "ann", "GET", f"/threads/{made}")).json["interrupts"]
    assert "approved" not in asked["metadata"]["sayso"]
    assert (await says(company, "lea", asked, approve())).status == 200
    await at_rest(company, there)
    assert company.effects == []
    (again,) = (await rest(company, "ann", "GET", f"/threads/{made}")).json["interrupts"]
    assert again["metadata"]["sayso"]["rule"] == "fin"
    assert (await says(company, "fay", again, approve())).status == 200
    await at_rest(company, there)
    assert company.effects == [1.0]
    assert (await says(company, "lea", second, approve())).status == 200
    await at_rest(company, client)
    assert company.effects == [1.0, 1.0]


@requirement("OC-20")
@pytest.mark.parametrize("of", [1, 2])
@pytest.mark.parametrize("end", ["rollback", "stop"])
async def test_a_no_outlives_code_that_cannot_read_it(company: Server, end: str, of: int) -> None:
    """A deploy in the middle: the question has its no, and the code that fits goes on with it."""
    client = paying(company, approval.always(by="lead", approvals=of), amounts=(1.0,))

    async def other_code(turn: Turn) -> None:
        await turn.call("pay", {"amount": 9.0})

    (one,) = (await client.say()).interrupts
    if of == 2:
        assert (await says(company, "leo", one, approve())).status == 202
    async with replica(company, ("payer", other_code)) as new:
        run = await spoken(new, client, "lea", "no", one)
        assert run.status == 200
        await at_rest(company, client)
        shown = (await rest(company, "ann", "GET", f"/threads/{client.thread}")).json
        assert shown["problem"]["code"] == "replay_mismatch"
        for app in (new, company.app):
            for who in ("lea", "leo"):
                yes = await spoken(app, client, who, "yes", one)
                assert (yes.status, yes.problem["by"]) == (409, "lea")
            back = await spoken(app, client, "lea", "back", one)
            assert back.status == 409
        if end == "stop":
            await spoken(new, client, "ann", "stop", one)

    async def over() -> bool:
        await company.clock.advance(1)  # the next look for what can go on
        return one["id"] in await decided(company, client)

    await eventually(over)
    await at_rest(company, client)
    assert (await decided(company, client))[one["id"]][:2] == ("resolved", "lea")
    assert company.effects == []


@requirement("OC-20")
@pytest.mark.parametrize("amounts", [(1.0,), (1.0, 2.0)])
@pytest.mark.parametrize("denied_in", ["thread", "copy"])
async def test_copies_that_were_made_before_a_no_are_told_of_it(
    company: Server, denied_in: str, amounts: tuple[float, ...]
) -> None:
    """Whoever copies first and asks everybody gets one word: in copies of copies, and at home."""
    client = paying(company, amounts=amounts)
    first = (await client.say()).interrupts[0]

    async def question(thread: str) -> Any:
        shown = (await rest(company, "ann", "GET", f"/threads/{thread}")).json["interrupts"]
        return shown[0]

    made = (await copied(company, "ann", client, first)).json["threadId"]
    beside = (await copied(company, "ann", client, first)).json["threadId"]
    again = client.again(thread=made)
    further = (await copied(company, "ann", again, await question(made))).json["threadId"]
    threads = {client.thread, made, beside, further}
    where = client.thread if denied_in == "thread" else further
    run = await says(company, "lea", await question(where), deny("fraud"))
    assert run.status == (200 if len(amounts) == 1 else 202)
    for thread in threads - {where}:
        asked = await question(thread)
        shown = (await rest(company, "leo", "GET", f"/interrupts/{asked['id']}")).json
        for told in (asked, shown):
            (said,) = told["metadata"]["sayso"]["before"]
            assert (said["said"], said["by"], said["reason"]) == ("denied", "lea", "fraud")
            assert said["threadId"] == where
    # What is copied or begun anew after that tells of it once.
    other = made if where != made else beside
    late = await copied(company, "ann", client.again(thread=other), await question(other))
    (said,) = (await question(late.json["threadId"]))["metadata"]["sayso"]["before"]
    assert said["by"] == "lea"
    assert (await rest(company, "ann", "POST", f"/threads/{other}/restart")).status == 200
    await at_rest(company, client.again(thread=other))
    (said,) = (await question(other))["metadata"]["sayso"]["before"]
    assert said["by"] == "lea"


@requirement("OC-20")
async def test_approvers_who_refuse_copies_of_what_was_denied_refuse_earlier_ones(
    company: Server,
) -> None:
    """A yes to one is refused by every way in; another no, and a withdrawal, are not."""
    people = approval.Approvers(by="lead", forks_of_denied="refuse")
    client = paying(company, approval.always(approvers=people), amounts=(1.0,), owner="lea")
    (one,) = (await client.say()).interrupts
    path = f"/threads/{client.thread}/fork"
    made = [
        (await rest(company, "lea", "POST", path, {"interruptId": one["id"]})).json["threadId"]
        for _ in range(2)
    ]
    assert (await says(company, "leo", one, deny("fraud"))).status == 200
    for thread in made:
        shown = (await rest(company, "lea", "GET", f"/threads/{thread}")).json
        (asked,) = shown["interrupts"]
        yes = await says(company, "lea", asked, approve())
        assert (yes.status, yes.problem["code"]) == (409, "denied_before")
        assert yes.problem["by"] == "leo"
        there = client.again(thread=thread)
        await there.connect()
        assert (await there.resume(approve())).outcome == "denied_before"
    assert (await says(company, "lea", asked, deny())).status == 200
    (asked,) = (await rest(company, "lea", "GET", f"/threads/{made[0]}")).json["interrupts"]
    assert (await says(company, "lea", asked, cancel())).status == 200
    await at_rest(company, client.again(thread=made[0]))
    assert company.effects == []


async def test_who_is_asked_again_in_the_same_turn_is_told_of_the_no(company: Server) -> None:
    """The owner's word about something else lets a call be asked again, and not of the unaware."""

    @company.app.tool(approval=LEAD)
    async def pay(amount: float) -> str:
        company.effects.append(amount)
        return "Paid."

    async def agent(turn: Turn) -> None:
        for _ in range(2):
            await turn.call(pay, amount=1.0)
            await turn.interrupt("confirmation", "Go on?")

    client = company.client(agent)
    client.headers["authorization"] = "Bearer ann"
    (one,) = (await client.say()).interrupts
    assert "before" not in one["metadata"]["sayso"]
    await says(company, "lea", one, deny("fraud"))
    await at_rest(company, client)
    await client.connect()
    (again,) = (await client.resume(approve())).interrupts
    (said,) = again["metadata"]["sayso"]["before"]
    assert (said["said"], said["by"], said["reason"]) == ("denied", "lea", "fraud")


async def test_who_is_asked_again_by_a_new_message_is_told_of_the_no(company: Server) -> None:
    """The same call in a later turn of the thread, with one in between; another call is another."""
    client = paying(company, amounts=(1.0,))
    (one,) = (await client.say()).interrupts
    await says(company, "lea", one, deny("fraud"))
    await at_rest(company, client)
    for _ in range(2):
        await client.connect()
        (again,) = (await client.say("please, once more")).interrupts
        (said,) = again["metadata"]["sayso"]["before"]
        assert (said["said"], said["by"], said["reason"]) == ("denied", "lea", "fraud")
        shown = (await rest(company, "leo", "GET", f"/interrupts/{again['id']}")).json
        assert shown["metadata"]["sayso"]["before"] == [said]
        await client.resume(cancel())
    assert company.effects == []


async def test_a_copy_that_was_being_made_is_told_of_the_no_as_well(company: Server) -> None:
    """It comes between the look at the thread and the copy."""
    client = paying(company)
    one, _ = (await client.say()).interrupts
    making = company.store.hold("claim")
    copy = asyncio.ensure_future(copied(company, "ann", client, one))
    await making.reached()
    assert (await says(company, "lea", one, deny("fraud"))).status == 202
    making.release()
    made = (await copy).json["threadId"]
    shown = (await rest(company, "ann", "GET", f"/threads/{made}")).json["interrupts"]
    told = [item["metadata"]["sayso"].get("before", []) for item in shown]
    assert [[said["by"] for said in one] for one in told] == [["lea"], []]
