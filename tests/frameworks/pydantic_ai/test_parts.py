"""Agents that the tools of an agent run: parts of the turn that ask, or the inside of an effect."""

import pytest
from pydantic_ai import Agent, RunContext

from sayso import DeclarationError, approval
from sayso.pydantic_ai import SaysoDurability
from sayso.testing import Conversation
from tests.frameworks.pydantic_ai.models import once
from tests.frameworks.pydantic_ai.served import app_of


def inner_of(effects: list[str], *, durable: bool = True) -> Agent[None, str]:
    capabilities = [SaysoDurability(name="cashier")] if durable else []
    inner = Agent(once("pay", {"n": 1}), name="cashier", capabilities=capabilities)

    @inner.tool_plain(requires_approval=durable)
    def pay(n: int) -> str:
        effects.append("paid")
        return "it is paid"

    return inner


def outer_of(inner: Agent[None, str]) -> Agent[None, str]:
    outer = Agent(once("ask_cashier", {"what": "pay"}), name="desk")

    @outer.tool
    async def ask_cashier(ctx: RunContext[None], what: str) -> str:
        return str((await inner.run(what, usage=ctx.usage)).output)

    return outer


def test_an_inner_agent_asks_and_its_effect_happens_once() -> None:
    effects: list[str] = []
    inner = inner_of(effects)
    with Conversation(app_of(outer_of(inner), parts={"ask_cashier": inner})) as talk:
        run = talk.say("pay")
        assert (run.outcome, effects) == ("interrupt", [])
        assert talk.question.tool == "pay"
        (started,) = run.of("SUBAGENT_STARTED")
        assert started["name"] == "cashier"
        talk.restart()
        assert talk.question.approve().outcome == "success"
        assert talk.texts[-1] == "Done: Done: it is paid"
    assert effects == ["paid"]


def test_a_death_inside_an_inner_agent_is_asked_about() -> None:
    effects: list[str] = []
    inner = inner_of(effects)
    with Conversation(app_of(outer_of(inner), parts={"ask_cashier": inner})) as talk:
        talk.say("pay")
        talk.crash_after("pay")
        assert talk.question.approve().outcome == "crashed"
        talk.restart()
        assert talk.question.reason == "sayso:indeterminate"
        talk.answer({"action": "skip", "result": "it was paid"})
        assert talk.texts[-1] == "Done: Done: it was paid"
    assert effects == ["paid"]


def test_the_mount_s_policies_hold_for_the_tools_of_inner_agents() -> None:
    effects: list[str] = []
    inner = inner_of(effects)
    app = app_of(outer_of(inner), parts={"ask_cashier": inner}, approve={"pay": approval.never})
    with Conversation(app) as talk:
        assert talk.say("pay").outcome == "success"
    assert effects == ["paid"]


def test_an_inner_agent_that_cannot_ask_is_refused_with_the_line_to_add() -> None:
    inner = inner_of([], durable=False)
    with pytest.raises(DeclarationError, match=r'capabilities=\[SaysoDurability\(name="cashier"\)'):
        app_of(outer_of(inner), parts={"ask_cashier": inner})


def test_an_agent_inside_a_tool_that_is_one_effect_runs_once() -> None:
    effects: list[str] = []
    outer = outer_of(inner_of(effects, durable=False))
    with Conversation(app_of(outer, approve={"ask_cashier": approval.always})) as talk:
        talk.say("pay")
        talk.restart()
        talk.question.approve()
        talk.restart()
    assert effects == ["paid"]


async def test_elsewhere_the_capability_changes_nothing() -> None:
    """Outside of a turn a call that needs an approval is left open, as without it."""
    effects: list[str] = []
    inner = inner_of(effects, durable=False)
    durable = Agent(
        once("pay", {"n": 1}), name="cashier", capabilities=[SaysoDurability(name="cashier")]
    )

    @durable.tool_plain
    def pay(n: int) -> str:
        effects.append("paid")
        return "it is paid"

    app_of(outer_of(inner))  # a mount changes nothing either
    assert (await inner.run("pay")).output == (await durable.run("pay")).output
    assert effects == ["paid", "paid"]
