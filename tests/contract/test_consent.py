"""A yes is to these arguments, for this rule, by these people: also when a call is made again."""

import asyncio
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso import OutcomeUnknown, Turn, approval, current_call
from sayso.base import jsonvalue
from sayso.gate.quorum import met_by
from sayso.turns.journal import consent
from tests.contract.requirements import requirement
from tests.contract.rest import at_rest
from tests.contract.server import (
    Client,
    Server,
    answer,
    approve,
    cancel,
    eventually,
    served,
    taken_over,
)
from tests.contract.test_approvers import PEOPLE, authenticate, rest, says
from tests.patience import PATIENCE
from tests.stores.backends import BACKENDS
from tests.time_limits import TimeLimits

BOTH = approval.all_of(
    approval.always(by="finance", name="fin"), approval.always(by="lead", name="lead")
)


@pytest.fixture(params=tuple(BACKENDS))
async def company(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """A server that knows everybody's roles."""
    async with served(request.param, tmp_path, authenticate=authenticate) as server:
        yield server


def paying(
    server: Server,
    policy: approval.Policy,
    fails: Callable[[int], None] = lambda attempt: None,
    owner: str = "ann",
    **options: Any,
) -> Client:
    """The owner's client of an agent that pays once, told by what ran and on whose word."""

    @server.app.tool(approval=policy, **options)
    async def pay(amount: float) -> str:
        said = {(one.rule, one.by) for one in current_call().approvals}
        server.effects.append((amount, said))
        fails(len(server.effects))
        return "Paid."

    async def agent(turn: Turn) -> None:
        done = await turn.call(pay, amount=100.0)
        await turn.say(f"{done.status} by {done.by}")

    client = server.client(agent)
    client.headers["authorization"] = f"Bearer {owner}"
    return client


async def asked(server: Server, client: Client) -> dict[str, Any] | None:
    """What the thread waits for, once it rests."""
    await at_rest(server, client)
    owner = client.headers["authorization"].removeprefix("Bearer ")
    path = f"/threads/{client.thread}"
    shown: list[dict[str, Any]] = (await rest(server, owner, "GET", path)).json["interrupts"]
    return shown[0] if shown else None


@requirement("OC-20")
async def test_who_changes_the_arguments_takes_the_others_yes_away(company: Server) -> None:
    """Four eyes: what runs was approved by both, as it runs."""
    client = paying(company, BOTH, editable=True)
    (first,) = (await client.say()).interrupts
    assert (await says(company, "fay", first, approve())).status == 200
    second = await asked(company, client)
    assert second is not None
    assert [(one["rule"], one["by"]) for one in second["metadata"]["sayso"]["approved"]] == [
        ("fin", "fay")
    ]
    more = approve(editedArgs={"amount": 1e6})
    assert (await says(company, "lea", second, more)).status == 200
    third = await asked(company, client)
    assert third is not None
    assert company.effects == []
    told = third["metadata"]["sayso"]
    assert (told["rule"], told["arguments"]) == ("fin", {"amount": 1e6})
    assert [(one["rule"], one["by"]) for one in told["approved"]] == [("lead", "lea")]
    assert (await says(company, "lea", third, approve())).status == 404
    assert (await says(company, "fay", third, approve())).status == 200
    await at_rest(company, client)
    assert company.effects == [(1e6, {("fin", "fay"), ("lead", "lea")})]
    rows = (await rest(company, "ann", "GET", f"/audit?thread={client.thread}")).json["items"]
    (ran,) = [row["content"] for row in rows if row["kind"] == "executed"]
    assert sorted((one["rule"], one["by"]) for one in ran["approvals"] if one) == [
        ("fin", "fay"),
        ("fin", "fay"),
        ("lead", "lea"),
    ]


async def test_no_other_arguments_stand_for_those_that_somebody_has_said_yes_to(
    company: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor those with the same sixteen digits, which hours of work find: here all have the same."""
    monkeypatch.setattr(jsonvalue, "digest", lambda value: "0123456789abcdef")
    client = paying(company, BOTH, editable=True)
    (first,) = (await client.say()).interrupts
    assert (await says(company, "fay", first, approve())).status == 200
    second = await asked(company, client)
    more = approve(editedArgs={"amount": 1e6})
    assert (await says(company, "lea", second, more)).status == 200
    third = await asked(company, client)
    assert third is not None
    assert (third["metadata"]["sayso"]["rule"], company.effects) == ("fin", [])


async def test_a_yes_that_an_earlier_release_has_noted_counts(
    company: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its digest of the arguments is shorter; the call is the approvers' to make again as well."""

    def fails(attempt: int) -> None:
        if attempt == 1:
            raise RuntimeError("the bank hung up")

    client = paying(company, BOTH, fails, editable=True, on_error="ask")
    with monkeypatch.context() as before:
        before.setattr(consent, "_digest", jsonvalue.digest)
        (first,) = (await client.say()).interrupts
        assert (await says(company, "fay", first, approve())).status == 200
        second = await asked(company, client)
    assert (await says(company, "lea", second, approve())).status == 200
    failed = await asked(company, client)
    assert failed is not None
    assert company.effects == [(100.0, {("fin", "fay"), ("lead", "lea")})]
    again = answer({"action": "retry"})
    assert (await says(company, "ann", failed, again)).problem["code"] == "not_an_approver"
    assert (await says(company, "fay", failed, again)).status == 200
    third = await asked(company, client)
    assert (await says(company, "lea", third, approve())).status == 200
    await at_rest(company, client)
    assert company.effects[1:] == [(100.0, {("fin", "fay"), ("lead", "lea")})]


async def test_who_may_speak_for_both_changes_it_alone(company: Server) -> None:
    """An edit leaves standing what its author could have satisfied alone."""
    client = paying(company, BOTH, editable=True)
    (first,) = (await client.say()).interrupts
    await says(company, "fay", first, approve())
    second = await asked(company, client)
    assert second is not None
    less = approve(editedArgs={"amount": 1})
    assert (await says(company, "leo", second, less)).status == 200
    assert await asked(company, client) is None
    assert company.effects == [(1.0, {("fin", "leo"), ("lead", "leo")})]


@requirement("OC-20")
async def test_whoever_asks_does_not_edit_away_the_yes_of_others(company: Server) -> None:
    """It has the role, and may approve for another rule: it is the requester all the same."""
    policy = approval.all_of(
        approval.always(by="lead", not_by="requester", name="lead"),
        approval.always(by="finance", name="fin"),
    )
    client = paying(company, policy, owner="leo", editable=True)
    (first,) = (await client.say()).interrupts
    assert (await says(company, "leo", first, approve())).problem["code"] == "own_request"
    assert (await says(company, "lea", first, approve())).status == 200
    second = await asked(company, client)
    more = approve(editedArgs={"amount": 1e6})
    assert (await says(company, "leo", second, more)).status == 200
    third = await asked(company, client)
    assert third is not None
    assert (third["metadata"]["sayso"]["rule"], company.effects) == ("lead", [])
    assert (await says(company, "leo", third, approve())).problem["code"] == "own_request"
    assert (await says(company, "lea", third, approve())).status == 200
    await at_rest(company, client)
    assert company.effects == [(1e6, {("fin", "leo"), ("lead", "lea")})]


async def test_what_came_of_a_call_is_for_those_to_say_whom_it_was_asked_of(
    company: Server,
) -> None:
    """Where its owner had to say yes first, and others after that: for the others."""
    policy = approval.all_of(approval.always, approval.always(by="lead", name="lead"))
    client = paying(company, policy, too_late, on_error="ask")
    (first,) = (await client.say()).interrupts
    await says(company, "ann", first, approve())
    second = await asked(company, client)
    await says(company, "lea", second, approve())
    failed = await asked(company, client)
    assert failed is not None
    for action in ("retry", "skip"):
        run = await says(company, "ann", failed, answer({"action": action}))
        assert run.problem["code"] == "not_an_approver"
    assert (await says(company, "leo", failed, answer({"action": "skip"}))).status == 200
    assert await asked(company, client) is None
    assert len(company.effects) == 1


@requirement("OC-20")
async def test_an_edit_back_to_what_was_proposed_is_an_edit(company: Server) -> None:
    """What the last one said yes to is what runs, and the one before is asked about it."""
    client = paying(company, BOTH, editable=True)
    (first,) = (await client.say()).interrupts
    assert (await says(company, "fay", first, approve(editedArgs={"amount": 5}))).status == 200
    second = await asked(company, client)
    assert second is not None
    assert second["metadata"]["sayso"]["arguments"] == {"amount": 5.0}
    assert (await says(company, "lea", second, approve(editedArgs={"amount": 100}))).status == 200
    third = await asked(company, client)
    assert third is not None
    assert company.effects == []
    told = third["metadata"]["sayso"]
    assert (told["rule"], told["arguments"]) == ("fin", {"amount": 100.0})
    assert (await says(company, "fay", third, approve())).status == 200
    await at_rest(company, client)
    assert company.effects == [(100.0, {("fin", "fay"), ("lead", "lea")})]


def too_late(attempt: int) -> None:
    raise TimeoutError("the bank did not answer")


@requirement("OC-20")
@pytest.mark.parametrize("who", ["ann", "fay", "bob"])
async def test_whoever_may_not_approve_a_call_has_it_not_made_again(
    company: Server, who: str
) -> None:
    """Nor says what came of it; the owner may end it."""
    client = paying(company, approval.always(by="lead"), too_late, on_error="ask")
    (first,) = (await client.say()).interrupts
    await says(company, "lea", first, approve())
    failed = await asked(company, client)
    assert failed is not None
    assert failed["metadata"]["sayso"]["approvers"] == {"by": ["lead"], "of": 1}
    for action in ("retry", "skip", "stop"):
        run = await says(company, who, failed, answer({"action": action}))
        assert run.problem["code"] == ("not_an_approver" if who == "ann" else "unknown_interrupt")
    assert len(company.effects) == 1
    if who == "ann":
        assert (await client.connect()).interrupts[0]["metadata"]["sayso"]["may"] == ["cancel"]
        refused = await client.resume(answer({"action": "retry"}))
        assert refused.outcome == "not_an_approver"
        assert (await client.resume(cancel())).outcome == "cancelled"
    else:
        assert (await says(company, "leo", failed, answer({"action": "retry"}))).status == 200
        await asked(company, client)
        assert company.effects[1:] == [(100.0, {("always", "leo")})]
        rows = (await rest(company, "ann", "GET", f"/audit?thread={client.thread}")).json["items"]
        begun = [row["content"] for row in rows if row["kind"] == "started"]
        assert [(one["by"], one.get("attempt")) for one in begun] == [("lea", None), ("leo", 2)]


async def test_another_attempt_is_asked_of_all_who_were_asked(company: Server) -> None:
    """`retry` is the yes of the first rule's people; then the other's say theirs again."""

    def once(attempt: int) -> None:
        if attempt == 1:
            raise TimeoutError("the bank did not answer")

    client = paying(company, BOTH, once, on_error="ask")
    (first,) = (await client.say()).interrupts
    await says(company, "fay", first, approve())
    second = await asked(company, client)
    await says(company, "lea", second, approve())
    failed = await asked(company, client)
    assert failed is not None
    assert (await says(company, "lea", failed, answer({"action": "retry"}))).status == 404
    assert (await says(company, "fay", failed, answer({"action": "retry"}))).status == 200
    again = await asked(company, client)
    assert again is not None
    assert (again["reason"], again["metadata"]["sayso"]["rule"]) == ("tool_call", "lead")
    assert len(company.effects) == 1
    assert (await says(company, "lea", again, approve())).status == 200
    assert await asked(company, client) is None
    assert len(company.effects) == 2


async def test_several_have_to_agree_to_another_attempt_as_well(company: Server) -> None:
    """One of two who may skip it does not."""
    client = paying(company, approval.always(by="lead", approvals=2), too_late, on_error="ask")
    (first,) = (await client.say()).interrupts
    await says(company, "lea", first, approve())
    await says(company, "leo", first, approve())
    failed = await asked(company, client)
    skip = answer({"action": "skip"})
    assert (await says(company, "lea", failed, skip)).status == 202
    assert (await says(company, "leo", failed, skip)).status == 200
    assert await asked(company, client) is None
    assert len(company.effects) == 1


async def test_a_call_that_no_rule_asked_about_has_the_approvers_of_its_tool(
    company: Server,
) -> None:
    """For what went wrong with it; the owner, unless it names some."""
    leads = approval.Approvers(by="lead")
    client = paying(company, approval.never, too_late, on_error="ask", approvers=leads)
    (failed,) = (await client.say()).interrupts
    assert (await says(company, "ann", failed, answer({"action": "skip"}))).status == 403
    assert (await says(company, "lea", failed, answer({"action": "skip"}))).status == 200


@requirement("OC-20")
async def test_a_call_that_ran_past_its_time_is_the_approvers_to_judge(
    company: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`sayso:indeterminate` has the people of the approval."""
    limits, going = TimeLimits(monkeypatch), threading.Event()

    @company.app.tool(approval=approval.always(by="lead"), timeout=5)
    def pay(amount: float) -> str:
        company.effects.append(amount)
        limits.run_out()
        going.wait(PATIENCE)
        return "Paid."

    async def agent(turn: Turn) -> None:
        await turn.call(pay, amount=100.0)

    client = company.client(agent)
    client.headers["authorization"] = "Bearer ann"
    (first,) = (await client.say()).interrupts
    await says(company, "lea", first, approve())

    async def waits() -> bool:
        path = f"/threads/{client.thread}"
        return bool((await rest(company, "ann", "GET", path)).json["interrupts"])

    try:
        await eventually(waits)
        unsure = await asked(company, client)
        assert unsure is not None
        again = answer({"action": "run_again"})
        skipped = answer({"action": "skip", "result": "Paid."})
        for word in (again, skipped):
            assert (await says(company, "ann", unsure, word)).problem["code"] == "not_an_approver"
        assert (await says(company, "leo", unsure, skipped)).status == 200
    finally:
        going.set()
    await at_rest(company, client)
    assert company.effects == [100.0]


@requirement("OC-20")
async def test_what_came_of_a_step_of_a_call_is_the_approvers_of_the_call_to_say(
    company: Server,
) -> None:
    """A tool that takes the turn makes its effects in steps; `deciders` says whose the call is."""

    def charge(amount: float) -> str:
        company.effects.append((amount, current_call().deciders.roles))
        raise OutcomeUnknown("the line broke")

    @company.app.tool(approval=approval.always(by="lead"))
    async def pay(turn: Turn, amount: float) -> str:
        assert current_call().deciders.roles == ("lead",)
        return await turn.step(charge, amount)

    async def agent(turn: Turn) -> None:
        await turn.say(str(await turn.call(pay, amount=100.0)))
        await turn.step(charge, 1.0)

    client = company.client(agent)
    client.headers["authorization"] = "Bearer ann"
    (first,) = (await client.say()).interrupts
    assert (await says(company, "lea", first, approve())).status == 200
    unsure = await asked(company, client)
    assert unsure is not None
    assert unsure["reason"] == "sayso:indeterminate"
    skip = answer({"action": "skip", "result": "Paid."})
    assert (await says(company, "ann", unsure, skip)).problem["code"] == "not_an_approver"
    assert (await says(company, "lea", unsure, skip)).status == 200
    own = await asked(company, client)
    assert own is not None
    assert (await says(company, "ann", own, skip)).status == 200
    assert company.effects == [(100.0, ("lead",)), (1.0, ())]


async def test_a_turn_that_a_call_begins_elsewhere_is_not_decided_about_by_its_approvers(
    company: Server,
) -> None:
    """Another turn of this process runs in the context of the call, and is no part of it."""

    def charge() -> str:
        raise OutcomeUnknown("the line broke")

    async def other(turn: Turn) -> None:
        await turn.step(charge)

    asks = company.client(other)
    asks.headers["authorization"] = "Bearer bob"

    @company.app.tool(approval=approval.always(by="lead"))
    async def start(turn: Turn) -> None:
        await asks.say()

    async def agent(turn: Turn) -> None:
        await turn.call(start)

    client = company.client(agent)
    client.headers["authorization"] = "Bearer ann"
    (first,) = (await client.say()).interrupts
    assert (await says(company, "lea", first, approve())).status == 200
    await at_rest(company, client)
    unsure = await asked(company, asks)
    assert unsure is not None
    assert "approvers" not in unsure["metadata"]["sayso"]


def records_an_end(commit: Any) -> bool:
    return any(entry.status == "done" and entry.kind == "call" for entry in commit.entries)


async def dies_in_it(server: Server, client: Client, *word: Any) -> dict[str, Any]:
    """The server dies after the effect and before its record; what another one asks then."""
    dead: list[bool] = []

    async def is_dead() -> bool:
        return bool(dead)

    def dies() -> None:
        server.store.disconnect()
        dead.append(True)

    server.store.fail("commit", match=records_an_end, hook=dies)
    assert (await says(server, *word)).status == 200
    await eventually(is_dead)
    server.store.restore()
    await taken_over(server, client)
    unsure = await asked(server, client)
    assert unsure is not None
    return unsure


@requirement("OC-20")
@pytest.mark.parametrize("of", [1, 2])
async def test_a_call_that_died_half_way_is_made_again_by_its_approvers_alone(
    company: Server, of: int
) -> None:
    """`run_again` is their word each time, as many of them as it took; and `skip` is theirs too."""
    client = paying(company, approval.always(by="lead", approvals=of))
    question: Any = (await client.say()).interrupts[0]
    word = approve()
    for attempt in (1, 2):
        refused = await says(company, "ann", question, word)
        assert refused.problem["code"] == "not_an_approver"
        assert len(company.effects) == attempt - 1
        if of == 2:
            assert (await says(company, "lea", question, word)).status == 202
        question = await dies_in_it(company, client, "leo", question, word)
        assert question["reason"] == "sayso:indeterminate"
        assert question["metadata"]["sayso"]["approvers"] == {"by": ["lead"], "of": of}
        assert question["metadata"]["sayso"]["may"] == ["cancel"]
        word = answer({"action": "run_again"})
    for said in (word, answer({"action": "skip", "result": "Paid."}), answer({"action": "stop"})):
        assert (await says(company, "ann", question, said)).status == 403
    assert (await says(company, "ann", question, cancel())).status == 200
    await at_rest(company, client)
    assert [said for _, said in company.effects] == [
        {("always", who) for who in ("lea", "leo")[2 - of :]}
    ] * 2
    rows = (await rest(company, "ann", "GET", f"/audit?thread={client.thread}")).json["items"]
    begun = [row["content"] for row in rows if row["kind"] == "started"]
    assert [(one["by"], one.get("attempt")) for one in begun] == [("leo", None), ("leo", 2)]


RULES = {
    "owner": approval.always(name="owner"),
    "lead": approval.always(by="lead", name="lead"),
    "others": approval.always(by="lead", not_by="requester", name="others"),
    "two": approval.always(by=("lead", "finance"), approvals=2, name="two"),
    "large": approval.when(lambda amount: amount > 50, by="finance", name="large"),
    "huge": approval.when(
        lambda amount: amount > 500, approvals={"lead": 1, "finance": 1}, name="huge"
    ),
}


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(("ann", "leo")),
    st.lists(st.sampled_from(sorted(RULES)), min_size=1, max_size=3, unique=True),
    st.lists(
        st.tuples(
            st.sampled_from(("ann", "lea", "leo", "fay")),
            st.sampled_from((None, 1.0, 60.0, 600.0)),
        ),
        max_size=8,
    ),
)
def test_what_runs_was_approved_as_it_runs_by_whom_each_rule_asks_for(
    owner: str, rules: list[str], words: list[tuple[str, float | None]]
) -> None:
    """Whatever sets of rules, people and edits there are; in the end everybody says yes.

    Whoever asks may have the roles.
    """

    async def play(folder: Path) -> None:
        async with served("memory", folder, authenticate=authenticate) as server:
            policy = approval.all_of(*(RULES[name] for name in rules))
            client = paying(server, policy, owner=owner, editable=True)
            await client.say()
            rest_of = [(who, None) for _ in range(4) for who in ("ann", "lea", "leo", "fay")]
            for who, amount in [*words, *rest_of]:
                question = await asked(server, client)
                if question is None:
                    break
                edits = {} if amount is None else {"editedArgs": {"amount": amount}}
                await says(server, who, question, approve(**edits))
            assert len(server.effects) == 1
            ((amount, said),) = server.effects
            people = [(by, PEOPLE[by].roles) for by in {by for _, by in said}]
            for name in rules:
                if (name == "large" and amount <= 50) or (name == "huge" and amount <= 500):
                    continue
                (approvers,) = [rule.asking.approvers for rule in RULES[name].rules]
                assert met_by(approvers, people, [owner]), (name, amount, said)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder)))
