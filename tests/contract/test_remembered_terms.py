"""A remembered yes stands for the rule that it was given for, as that was (design 3, V5)."""

from typing import Any

import pytest

from sayso import Turn, approval
from tests.contract.rest import get
from tests.contract.server import Client, Server, approve
from tests.contract.test_approvers import paying as gated
from tests.contract.test_approvers import says
from tests.contract.test_consent import company  # noqa: F401 - a fixture

LIMIT = 10.0
"""What a rule below reads."""


def large(amount: float) -> bool:
    return amount > LIMIT


def paying(server: Server, policy: approval.Policy) -> Client:
    @server.app.tool(approval=policy)
    async def pay(amount: float) -> str:
        server.effects.append(amount)
        return "Paid."

    async def agent(turn: Turn) -> None:
        await turn.call("pay", {"amount": float(turn.input.text)})

    return server.client(agent)


def deployed(server: Server, policy: approval.Policy) -> None:
    """The same tool under another policy, as a later release of the server has it."""

    async def pay(amount: float) -> str:
        server.effects.append(amount)
        return "Paid."

    (before,) = server.app.tools
    server.app._tools.remove(before)
    server.app.tool(approval=policy)(pay)


ANY = {"arguments": "any", "scope": "user"}
ASKS = approval.always(remember=True)


@pytest.mark.every_store
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ASKS, approval.always(by="lead", approvals=2, remember=True)),
        (ASKS, approval.always(by="lead", remember=True)),
        (ASKS, approval.always(remember=approval.Remember(arguments=("same",)))),
        (ASKS, approval.always(remember=approval.Remember(scopes=("thread",)))),
        (ASKS, approval.always(remember=approval.Remember(expires_in=60))),
        (ASKS, approval.always(remember=True, version=2)),
        (
            approval.when(lambda amount: amount > 0, remember=True),
            approval.when(lambda amount: amount > 1, remember=True),
        ),
    ],
)
async def test_a_rule_that_changed_is_asked_about_again(
    server: Server, before: approval.Policy, after: approval.Policy
) -> None:
    """And the card, and the list, say that a yes was given to the one before."""
    client = paying(server, before)
    await client.say("5")
    await client.resume(approve(remember=ANY))
    assert server.effects == [5.0]
    deployed(server, after)
    run = await client.again(thread="other").say("1000000")
    assert server.effects == [5.0]
    (stale,) = run.interrupts[0]["metadata"]["sayso"]["stale"]
    (listed,) = (await get(server, "/approvals"))["items"]
    assert (stale["id"], listed["stale"]) == (listed["id"], True)
    assert "say yes again" in listed["why"]


async def test_a_constant_that_a_rule_reads_is_part_of_it(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it calls is not: `version=` says so."""
    client = paying(server, approval.when(large, remember=True))
    await client.say("50")
    await client.resume(approve(remember=ANY))
    assert (await client.again(thread="two").say("60")).outcome == "success"
    monkeypatch.setattr(f"{__name__}.LIMIT", 20.0)
    assert (await client.again(thread="three").say("70")).outcome == "interrupt"
    monkeypatch.undo()
    assert (await client.again(thread="four").say("80")).outcome == "success"
    assert server.effects == [50.0, 60.0, 80.0]


@pytest.mark.every_store
async def test_an_equal_rule_that_moved_stands(server: Server) -> None:
    """A release that says the same elsewhere asks nobody again."""
    client = paying(server, approval.when(lambda amount: amount > 0, remember=True))
    await client.say("5")
    await client.resume(approve(remember=ANY))
    deployed(server, approval.when(lambda amount: amount > 0, remember=True))
    assert (await client.again(thread="other").say("6")).outcome == "success"
    (listed,) = (await get(server, "/approvals"))["items"]
    assert "stale" not in listed


async def test_what_several_agree_to_is_not_offered_to_be_remembered(
    company: Server,  # noqa: F811 - the fixture
) -> None:
    """Nobody alone lets it pass for later."""
    client = gated(company, approval.always(by="lead", approvals=2, remember=True))
    (one,) = (await client.say()).interrupts
    assert "remember" not in one["responseSchema"]["properties"]
    wanted: Any = approve(remember=True)
    assert (await says(company, "lea", one, wanted)).status == 422
