"""A permitted call through crashes, other servers, deploys, edits, errors: once, as shown."""

from typing import Any

import pytest

from sayso import Option, ToolCall, Turn, approval
from sayso.agents.tools import Tool
from tests.contract.optional import past
from tests.contract.replicas import replica
from tests.contract.rest import get
from tests.contract.server import Client, Server, answer, approve, deny, eventually, taken_over
from tests.contract.test_approvers import company, rest, says  # noqa: F401 - a fixture
from tests.contract.test_consent import asked
from tests.contract.test_forks import forked

ALL = answer({"action": "all"})
LEAD = approval.always(by="lead", name="lead")


def cleaning(
    tool: Tool[..., Any], *, permitted: int = 3, made: tuple[int, ...] = (3,), pause: bool = False
) -> Any:
    """An agent that decides about so many files, and makes calls about such numbers of files."""

    async def agent(turn: Turn) -> None:
        permits = ToolCall(tool=tool, args={"files": permitted})
        await turn.decide(
            planned_action="Clean up",
            why="The disk is full",
            options=[Option("Delete all", "all", permits=permits), Option("Nothing", "none")],
        )
        if pause:
            await turn.interrupt("confirmation", "Now?")
        for files in made:
            done = await turn.call(tool, files=files)
            await turn.say(f"{done.status} by {done.by}; ")

    return agent


def delete(
    server: Server, policy: approval.Policy = approval.always, **options: Any
) -> Tool[..., Any]:
    """The tool, which writes down how many files it was given."""

    @server.app.tool(approval=policy, effect="irreversible", **options)
    async def delete(files: int) -> str:
        server.effects.append(files)
        if server.effects.count("fails"):
            server.effects.remove("fails")
            raise RuntimeError("disk busy")
        return "Deleted."

    return delete


def owned(server: Server, agent: Any, owner: str = "ann") -> Client:
    client = server.client(agent)
    client.headers["authorization"] = f"Bearer {owner}"
    return client


async def executed(server: Server, client: Client) -> list[dict[str, Any]]:
    owner = client.headers.get("authorization", "Bearer local").removeprefix("Bearer ")
    rows = (await rest(server, owner, "GET", f"/audit?thread={client.thread}")).json["items"]
    return [row["content"] for row in rows if row["kind"] == "executed"]


def starts_a_call(commit: Any) -> bool:
    return any(entry.status == "started" and entry.kind == "call" for entry in commit.entries)


@pytest.mark.every_store
async def test_a_choice_outlives_the_server_that_took_it(server: Server) -> None:
    """It dies between the choice and the call, which another one makes, once."""
    agent = cleaning(delete(server), made=(3, 3))
    client = server.client(agent)
    await client.say()
    dead: list[bool] = []

    async def is_dead() -> bool:
        return bool(dead)

    def dies() -> None:
        server.store.disconnect()
        dead.append(True)

    server.store.fail("commit", match=starts_a_call, hook=dies)
    gone = client.open(resume=client.entries(ALL))
    await eventually(is_dead)
    await gone.end()
    assert server.effects == []
    server.store.restore()
    async with replica(server, (client.agent, agent)) as other:
        there = client.again(app=other)
        await taken_over(server, client)
        (card,) = (await there.connect()).interrupts
        assert (card["reason"], server.effects) == ("tool_call", [3])
        assert (await there.resume(approve())).outcome == "success"
    assert server.effects == [3, 3]


@pytest.mark.every_store
async def test_a_choice_at_one_server_permits_at_another_and_once(server: Server) -> None:
    """The second equal call asks on whichever it is made."""
    agent = cleaning(delete(server), made=(3, 3), pause=True)
    client = server.client(agent)
    await client.say()
    await client.resume(ALL)
    async with replica(server, (client.agent, agent)) as other:
        there = client.again(app=other)
        await there.connect()
        (card,) = (await there.resume(approve())).interrupts
        assert (card["reason"], server.effects) == ("tool_call", [3])
        back = client.again()
        await back.connect()
        assert (await back.resume(approve())).outcome == "success"
    assert server.effects == [3, 3]


async def test_a_deploy_that_permits_another_call_asks_about_it(server: Server) -> None:
    """What counts is what the person was shown, and exactly that."""
    tool = delete(server)
    client = server.client(cleaning(tool))
    await client.say()
    newer = cleaning(tool, permitted=500, made=(500, 3))
    async with replica(server, (client.agent, newer)) as other:
        there = client.again(app=other)
        await there.connect()
        (card,) = (await there.resume(ALL)).interrupts
        assert (card["metadata"]["sayso"]["arguments"], server.effects) == ({"files": 500}, [])
        assert (await there.resume(deny())).outcome == "success"
    assert server.effects == [3]


async def test_a_later_turn_runs_on_no_choice_of_an_earlier_one(server: Server) -> None:
    """Once in this turn: an unused permission ends with it."""
    tool = delete(server)

    async def agent(turn: Turn) -> None:
        if turn.input.text == "decide":
            await cleaning(tool, made=())(turn)
        else:
            await turn.call(tool, files=3)

    client = server.client(agent)
    await client.say("decide")
    assert (await client.resume(ALL)).outcome == "success"
    (card,) = (await client.say("delete")).interrupts
    assert (card["reason"], server.effects) == ("tool_call", [])


async def test_a_call_that_is_made_again_after_an_error_has_used_the_choice(
    server: Server,
) -> None:
    """Whoever says "retry" approves the second attempt; another equal call asks all the same."""
    client = server.client(cleaning(delete(server, on_error="ask"), made=(3, 3)))
    server.effects.append("fails")
    await client.say()
    (failed,) = (await client.resume(ALL)).interrupts
    assert failed["reason"] == "sayso:failed"
    (card,) = (await client.resume(answer({"action": "retry"}))).interrupts
    assert (card["reason"], server.effects) == ("tool_call", [3, 3])
    assert (await client.resume(deny())).outcome == "success"
    (ran,) = await executed(server, client)
    assert ("decision" in ran, ran["attempt"]) == (False, 2)


async def test_another_attempt_is_not_permitted_by_the_choice_for_the_first(
    company: Server,  # noqa: F811
) -> None:
    """Others who have to agree to it are asked again."""
    both = approval.all_of(approval.always(by="finance", name="finance"), LEAD)
    client = owned(company, cleaning(delete(company, both, on_error="ask")), "leo")
    company.effects.append("fails")
    await client.say()
    (failed,) = (await client.resume(ALL)).interrupts
    assert failed["reason"] == "sayso:failed"
    # Fay has finance only: the lead's word was for the first attempt.
    assert (await says(company, "fay", failed, answer({"action": "retry"}))).status == 200
    card = await asked(company, client)
    assert card is not None
    assert (card["metadata"]["sayso"]["rule"], company.effects) == ("lead", [3])


async def test_what_an_approver_has_changed_did_not_run_on_the_choice(
    company: Server,  # noqa: F811
) -> None:
    """Lea agrees to other files than ann has chosen: the row says so, and the choice is used up."""
    both = approval.all_of(approval.always, LEAD)
    client = owned(company, cleaning(delete(company, both, editable=True), made=(3, 3)))
    await client.say()
    (card,) = (await client.resume(ALL)).interrupts
    edited = approve(editedArgs={"files": 2})
    assert (await says(company, "lea", card, edited)).status == 200
    second = await asked(company, client)
    assert second is not None
    assert (second["metadata"]["sayso"]["rule"], company.effects) == ("always", [2])
    (ran,) = await executed(company, client)
    assert ("decision" in ran, ran["by"]) == (False, "lea")


async def test_who_has_chosen_did_not_deny_what_expired(company: Server) -> None:  # noqa: F811
    """Nobody said no to the part that was left to others."""
    both = approval.all_of(approval.always, LEAD)
    client = owned(company, cleaning(delete(company, both, expires_in=60, on_expire="deny")))
    await client.say()
    await client.resume(ALL)
    await past(company, client, 60)
    assert await asked(company, client) is None
    run = await client.again(headers=client.headers).connect()
    assert "denied by None" in str(run.snapshot)
    assert company.effects == []


@pytest.mark.parametrize(("owner", "of"), [("bob", 1), ("ann", 1), ("lea", 2)])
async def test_a_choice_is_no_yes_of_those_who_have_to_agree(
    company: Server,  # noqa: F811
    owner: str,
    of: int,
) -> None:
    """By somebody without the role, or by one of two: all who are needed are asked."""
    client = owned(
        company, cleaning(delete(company, approval.always(by="lead", approvals=of))), owner
    )
    await client.say()
    (card,) = (await client.resume(ALL)).interrupts
    assert (card["reason"], company.effects) == ("tool_call", [])
    if of == 2:
        assert (await says(company, "lea", card, approve())).json["remaining"] == 1
        assert company.effects == []
    assert (await says(company, "leo", card, approve())).status == 200
    assert await asked(company, client) is None
    (ran,) = await executed(company, client)
    assert (company.effects, "decision" in ran) == ([3], False)


async def test_whoever_copies_a_thread_cannot_choose_what_they_may_not_approve(
    company: Server,  # noqa: F811
) -> None:
    """`not_by="requester"`: the copy has the question again, and its requester is barred there."""
    policy = approval.always(by="lead", not_by="requester")
    client = owned(company, cleaning(delete(company, policy)), "lea")
    (decision,) = (await client.say()).interrupts
    made = await rest(
        company, "lea", "POST", f"/threads/{client.thread}/fork", {"interruptId": decision["id"]}
    )
    copy = client.again(thread=made.json["threadId"], headers=client.headers)
    await copy.connect()
    (card,) = (await copy.resume(ALL)).interrupts
    assert (card["reason"], company.effects) == ("tool_call", [])
    assert (await says(company, "lea", card, approve())).problem["code"] == "own_request"
    assert (await says(company, "leo", card, approve())).status == 200
    assert await asked(company, copy) is None
    assert company.effects == [3]


async def test_a_choice_that_waits_in_a_copy_is_made_there_anew(server: Server) -> None:
    """Taking it back in a copy lets nothing run there, and takes nothing back here."""
    client = server.client(cleaning(delete(server), pause=True))
    (decision,) = (await client.say()).interrupts
    await client.resume(ALL)
    copy = await forked(server, client, decision["id"])
    await copy.resume(answer({"action": "none"}))
    (card,) = (await copy.resume(approve())).interrupts
    assert (card["reason"], server.effects) == ("tool_call", [])
    assert (await client.resume(approve())).outcome == "success"
    assert server.effects == [3]


async def test_a_remembered_approval_is_left_alone_where_a_choice_is_enough(
    server: Server,
) -> None:
    """It is not noted as used, and the row names the choice."""
    tool = delete(server, approval.always(remember=True))

    async def once(turn: Turn) -> None:
        await turn.call(tool, files=3)

    first = server.client(once)
    await first.say()
    await first.resume(approve(remember=True))
    client = server.client(cleaning(tool))
    await client.say()
    assert (await client.resume(ALL)).outcome == "success"
    (ran,) = await executed(server, client)
    assert ("decision" in ran, "approval" in ran) == (True, False)
    (standing,) = (await get(server, "/approvals"))["items"]
    assert not standing.get("uses")


@pytest.mark.parametrize("metadata", [{"permits": {"all": 1}}, {"sayso": {"permits": 3}}, {}])
async def test_a_question_that_only_looks_like_a_decision_permits_nothing(
    server: Server, metadata: dict[str, Any]
) -> None:
    """An author may ask with that reason, and write what they like beside it."""
    tool = delete(server)

    async def agent(turn: Turn) -> None:
        await turn.interrupt("sayso:decision", "Which?", schema=str, metadata=metadata)
        await turn.interrupt("confirmation", "Now?")
        await turn.call(tool, files=3)

    client = server.client(agent)
    await client.say()
    (now,) = (await client.resume(answer("all"))).interrupts
    copy = await forked(server, client, now["id"])
    for one in (copy, client):
        (card,) = (await one.resume(approve())).interrupts
        assert (card["reason"], server.effects) == ("tool_call", [])
