"""Policies at work: what runs, asks, and is refused, under which rule (design 3, cases J, V)."""

from typing import Any

import pytest

from sayso import Turn, approval
from tests.contract.optional import past
from tests.contract.requirements import requirement
from tests.contract.rest import get
from tests.contract.server import Client, Server, answer, approve, cancel, deny
from tests.contract.tools import Kit


def payer(server: Server, policy: approval.Policy, **options: Any) -> Any:
    """A tool under a policy."""

    @server.app.tool(approval=policy, **options)
    async def pay(amount: float, to: str = "ann") -> str:
        server.effects.append((amount, to))
        return f"Paid {amount:g} to {to}."

    return pay


def paying(server: Server, tool: Any, *amounts: float) -> Client:
    """A client of an agent that pays, again and again."""

    async def agent(turn: Turn) -> None:
        for amount in amounts:
            done = await turn.call(tool, amount=amount)
            await turn.say(f"{done.status} by {done.rule}: {done}")

    return server.client(agent)


async def test_a_call_that_a_rule_denies_has_a_result_that_says_so(server: Server) -> None:
    """Deny: no card, one result, and the author is told which rule spoke."""
    policy = approval.all_of(
        approval.deny(lambda amount: amount > 1000, name="limit"), approval.always
    )
    client = paying(server, payer(server, policy), 2000.0)
    run = await client.say()
    assert run.outcome == "success"
    (content,) = run.results.values()
    assert content.startswith("Not executed: the rules of this server do not allow this call.")
    assert "Rule: limit" in content
    assert run.text.startswith("denied by limit: ")
    assert server.effects == []


async def test_every_decision_names_its_rule(server: Server) -> None:
    """U3: in the card, and in the journal beside the call, also of one that ran by itself."""
    large = approval.when(lambda amount: amount > 100, name="large")
    client = paying(server, payer(server, large, effect="irreversible", scale="amount"), 5, 500)
    (interrupt,) = (await client.say()).interrupts
    told = interrupt["metadata"]["sayso"]
    assert (told["rule"], told["effect"], told["scale"]) == ("large", "irreversible", 500.0)
    journal = (await get(server, f"/threads/{client.thread}/state"))["journal"]
    rules = {e["status"]: e["data"]["rule"] for e in journal if e["kind"] == "call"}
    assert rules == {"done": "large", "asked": "large"}


async def test_tools_without_a_policy_are_as_the_server_says(server: Server) -> None:
    """V6: gate everything with few exceptions, tools included that nobody has thought of."""
    app = server.another(
        default_approval=approval.Policy(allow=["look_*"], deny=["drop_*"], otherwise="ask")
    )
    for name in ("look_up", "drop_table", "brand_new"):

        @app.tool(name=name)
        async def tool() -> str:
            server.effects.append("ran")
            return "ran"

    @app.tool(approval=approval.never, name="own")
    async def own() -> str:
        return "ran"

    @app.agent("all")
    async def agent(turn: Turn) -> None:
        for called in app.tools:
            await turn.call(called)

    run = await Client(app, "all").say()
    assert [text.partition(":")[0] for text in run.results.values()] == ["ran", "Not executed"]
    assert run.interrupts[0]["metadata"]["sayso"]["rule"] == "otherwise:ask"
    assert server.effects == ["ran"]


@requirement("TB-07")
async def test_edits_are_held_against_the_rules_before_anything_is_committed(
    server: Server,
) -> None:
    """J2, TB-07: what a rule denies is refused at /editedArgs; the card stays, and nothing ran."""
    policy = approval.all_of(
        approval.deny(lambda amount: amount > 1000, name="limit"), approval.always
    )
    client = paying(server, payer(server, policy, editable=True), 500)
    await client.say()
    stored = server.dump()
    run = await client.resume(approve(editedArgs={"amount": 5000}))
    assert run.outcome == "invalid_payload"
    (problem,) = run.details["interrupts"][0]["problems"]
    assert problem["pointer"] == "/editedArgs"
    assert "'limit'" in problem["message"]
    assert (server.dump(), server.effects) == (stored, [])
    await client.resume(approve(editedArgs={"amount": 1000}))
    assert server.effects == [(1000.0, "ann")]


async def test_another_rule_asks_again_about_what_a_reviewer_wrote(server: Server) -> None:
    """Design 3: the rule that asked is satisfied; one that the edit wakes has its own question."""
    policy = approval.all_of(
        approval.when(lambda amount: amount > 100, name="large"),
        approval.when(lambda to: to != "ann", name="stranger"),
    )
    client = paying(server, payer(server, policy, editable=True), 500)
    (first,) = (await client.say()).interrupts
    assert first["metadata"]["sayso"]["rule"] == "large"
    (second,) = (await client.resume(approve(editedArgs={"amount": 300, "to": "bob"}))).interrupts
    assert second["metadata"]["sayso"]["rule"] == "stranger"
    assert second["metadata"]["sayso"]["arguments"] == {"amount": 300.0, "to": "bob"}
    assert (second["toolCallId"], second["id"] != first["id"]) == (first["toolCallId"], True)
    assert server.effects == []
    run = await client.resume(approve())
    assert server.effects == [(300.0, "bob")]
    (content,) = run.results.values()
    assert "reviewer changed" in content
    assert '"to":"bob"' in content


async def test_the_rule_that_asked_is_not_asked_about_its_edit(server: Server) -> None:
    """Design 3: 500 is still large, and a person has seen it."""
    large = approval.when(lambda amount: amount > 100, name="large")
    client = paying(server, payer(server, large, editable=True), 500)
    await client.say()
    assert (await client.resume(approve(editedArgs={"amount": 400}))).outcome == "success"
    assert server.effects == [(400.0, "ann")]


async def test_arguments_beside_a_denial_are_told_and_not_run(server: Server) -> None:
    """Nothing is lost: a denial that says what would be better reaches author and model."""
    seen: list[Any] = []
    tool = payer(server, approval.always, editable=True)

    async def agent(turn: Turn) -> None:
        done = await turn.call(tool, amount=500)
        seen.append((done.status, done.reason, done.args["amount"], done.suggested))

    client = server.client(agent)
    await client.say()
    run = await client.resume(
        answer({"approved": False, "reason": "less", "editedArgs": {"amount": 50}})
    )
    assert seen == [("denied", "less", 500.0, {"amount": 50.0, "to": "ann"})]
    (content,) = run.results.values()
    assert "Reason: less" in content
    assert '"amount":50.0' in content
    assert server.effects == []


async def test_a_refused_call_is_refused_again_without_a_card(server: Server) -> None:
    """V4: the model repeats it three times: one card, three denials with the reason."""
    client = paying(server, payer(server, approval.always), 5, 5, 5)
    assert len((await client.say()).interrupts) == 1
    run = await client.resume(deny("never to her"))
    assert run.outcome == "success"
    contents = list(run.results.values())
    assert len(contents) == 3
    assert all("Reason: never to her" in content for content in contents)
    assert "nobody was asked again" in contents[2]
    assert run.text.count("denied") >= 3
    assert server.effects == []


async def test_the_user_speaks_and_may_be_asked_again(server: Server) -> None:
    """V4: a message begins a turn in which the same call is a new question."""
    client = paying(server, payer(server, approval.always), 5)
    await client.say()
    await client.resume(deny())
    assert len((await client.say("do it now")).interrupts) == 1
    await client.resume(approve())
    assert server.effects == [(5.0, "ann")]


async def test_an_answered_question_is_the_user_speaking(server: Server) -> None:
    """V4: who is asked "again?" and says yes is asked to approve."""
    tool = payer(server, approval.always)

    async def agent(turn: Turn) -> None:
        await turn.call(tool, amount=5)
        if (await turn.interrupt("confirmation", "Shall I ask once more?")).value:
            await turn.call(tool, amount=5)

    client = server.client(agent)
    await client.say()
    await client.resume(deny())
    run = await client.resume(answer({"approved": True}))
    assert run.interrupts[0]["reason"] == "tool_call"


@pytest.mark.parametrize("how", [{"amount": 6}, {"amount": 5, "to": "bob"}])
async def test_another_call_is_no_repetition(server: Server, how: dict[str, Any]) -> None:
    """V4: identical means the same tool with the same effective arguments."""
    tool = payer(server, approval.always)

    async def agent(turn: Turn) -> None:
        await turn.call(tool, amount=5)
        await turn.call(tool, how)

    client = server.client(agent)
    await client.say()
    assert len((await client.resume(deny())).interrupts) == 1


@pytest.mark.parametrize("entry", [cancel(), approve()])
async def test_only_a_refusal_is_remembered_as_one(server: Server, entry: Any) -> None:
    """A withdrawn question was not answered, an approved call may be wanted twice."""
    client = paying(server, payer(server, approval.always), 5, 5)
    await client.say()
    assert (await client.resume(entry)).outcome == "interrupt"


async def test_an_expiry_is_no_refusal(server: Server) -> None:
    """R3, R4: `on_expire="deny"` denies the call, but nobody has said no."""
    tool = payer(server, approval.always(expires_in=60), on_expire="deny")
    client = paying(server, tool, 5, 5)
    (first,) = (await client.say()).interrupts
    fresh = await past(server, client, 60)
    assert [one["id"] != first["id"] for one in fresh.model.pending] == [True]
    assert server.effects == []


async def test_a_rejected_call_cannot_be_run_by_another_way(server: Server, tools: Kit) -> None:
    """H8, H9: the body is entered after a yes alone, whatever the agent does about a no."""

    async def agent(turn: Turn) -> None:
        for _ in range(3):
            done = await turn.call(tools.email, to="ann")
            assert not done.executed
        with pytest.raises(TypeError):
            tools.email(to="ann")

    client = server.client(agent)
    await client.say()
    assert (await client.resume(deny())).outcome == "success"
    assert server.effects == []
