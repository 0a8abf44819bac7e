"""What rules decide in a person's place about calls of an agent elsewhere is in the audit trail."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso, agui, approval
from sayso.base import jsonvalue
from tests.contract.rest import call
from tests.frameworks.agui import producers as far
from tests.frameworks.agui.scripted import asks_to_pay, asks_to_pay_or_less
from tests.turns.driver import Conversation, World

SMALL = approval.all_of(
    approval.when(lambda n: n > 5), approval.deny(lambda n: n > 100, name="large")
)


def world_of(folder: Path, script: far.Script, policy: approval.Policy) -> World:
    """A world with an agent elsewhere whose tool `pay` has a policy."""
    produce = far.agent(script)
    return World(
        "sqlite",
        folder,
        lambda app: agui.mount_events(app, "agent", produce, approve={"pay": policy}),
    )


async def decisions(talk: Conversation) -> list[dict[str, Any]]:
    """The rows of what rules decided."""
    rows = (await call(talk.world.app, "GET", f"/audit?thread={talk.thread}")).json["items"]
    calls = {row["content"]["toolCallId"] for row in rows if row["kind"] == "reported_call"}
    found = [row["content"] for row in rows if row["kind"] == "reported_decision"]
    assert {content["toolCallId"] for content in found} <= calls
    return [{n: c[n] for n in ("tool", "arguments", "status", "rule")} for c in found]


@pytest.mark.parametrize(
    ("policy", "status", "rule"),
    [
        (approval.never, "allowed", "never"),
        (approval.deny(lambda n: n > 5, name="large"), "denied", "large"),
    ],
)
async def test_a_rule_that_answers_for_a_person_is_named(
    tmp_path: Path, policy: approval.Policy, status: str, rule: str
) -> None:
    async with world_of(tmp_path, asks_to_pay, policy) as world:
        talk = Conversation(world)
        assert (await talk.say("go")).outcome == "success"
        paid = {"tool": "pay", "arguments": jsonvalue.digest({"n": 7})}
        assert await decisions(talk) == [{**paid, "status": status, "rule": rule}]


@pytest.mark.parametrize(("edited", "named"), [(900, ["large"]), (9, []), (3, [])])
async def test_a_rule_that_denies_what_a_person_edited_is_named_and_else_none(
    tmp_path: Path, edited: int, named: list[str]
) -> None:
    """Where a person said yes, the answer to the question is in the trail."""
    async with world_of(tmp_path, asks_to_pay_or_less, SMALL) as world:
        talk = Conversation(world)
        (card,) = (await talk.say("go")).interrupts
        await talk.restart()
        yes = {"approved": True, "editedArgs": {"n": edited}}
        assert (await talk.send([talk.entry(card["id"], yes)])).outcome == "success"
        rows = await decisions(talk)
        assert [row["rule"] for row in rows] == named
        assert all(row["arguments"] == jsonvalue.digest({"n": edited}) for row in rows)


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        ({"approved": True}, {"approved": True}),
        ({"approved": False, "reason": "no"}, {"approved": False, "reason": "no"}),
        ({"approved": True, "editedArgs": {"n": 3}}, {"approved": True, "editedArgs": {"n": 3}}),
    ],
)
async def test_an_answer_stands_where_rules_allow_by_now(
    tmp_path: Path, answer: dict[str, Any], sent: dict[str, Any]
) -> None:
    seen: list[far.Given] = []
    produce = far.agent(asks_to_pay_or_less, seen)

    def allows(app: Sayso) -> None:
        agui.mount_events(app, "agent", produce, approve={"pay": approval.never})

    async with world_of(tmp_path, asks_to_pay_or_less, approval.always) as world:
        talk = Conversation(world)
        (card,) = (await talk.say("go")).interrupts
        await talk.restart(allows)
        run = await talk.send([talk.entry(card["id"], answer)])
        assert run.outcome == "success", run.last
        assert [given.resume[0].payload for given in seen] == [sent]
        assert await decisions(talk) == []


async def test_a_rule_that_denies_by_now_goes_before_an_answer(tmp_path: Path) -> None:
    denies = {"pay": approval.deny(lambda n: n > 5, name="large")}
    seen: list[far.Given] = []
    produce = far.agent(asks_to_pay, seen)
    async with world_of(tmp_path, asks_to_pay, approval.always) as world:
        talk = Conversation(world)
        (card,) = (await talk.say("go")).interrupts
        await talk.restart(lambda app: agui.mount_events(app, "agent", produce, approve=denies))
        run = await talk.send([talk.entry(card["id"], {"approved": True})])
        assert run.outcome == "success"
        assert seen[-1].resume[0].payload["approved"] is False
        assert [row["rule"] for row in await decisions(talk)] == ["large"]


def asks_twice(given: far.Given) -> Iterator[Any]:
    """Asks about a call of its own, then something else."""
    asked = {"id": "i2", "reason": "far:sure", "message": "Sure?"}
    if given.resume and given.resume[0].interrupt_id == "i1":
        yield far.asks(asked)
    elif given.resume:
        yield far.result("c1", "paid")
    else:
        yield from asks_to_pay(given)


async def test_a_rule_of_later_code_is_not_named_for_what_was_answered_before(
    tmp_path: Path,
) -> None:
    async with world_of(tmp_path, asks_twice, approval.never) as world:
        talk = Conversation(world)
        (card,) = (await talk.say("go")).interrupts
        denies = {"pay": approval.deny(lambda n: n > 5, name="large")}
        produce = far.agent(asks_twice)
        await talk.restart(lambda app: agui.mount_events(app, "agent", produce, approve=denies))
        assert (await talk.send([talk.entry(card["id"], "yes")])).outcome == "success"
        assert [row["rule"] for row in await decisions(talk)] == ["never"]
