"""Agents that the tools of an agent run: parts of the turn that ask, or the inside of an effect."""

import asyncio
from typing import Any

import pytest
from agent_framework import Agent, tool

from sayso import DeclarationError, approval
from sayso.testing import Conversation
from tests.frameworks.agent_framework.models import once
from tests.frameworks.agent_framework.served import app_of


def inner_of(effects: list[str], mode: Any = "always_require") -> Agent[Any]:
    @tool(approval_mode=mode)
    def pay(n: int) -> str:
        effects.append("paid")
        return "it is paid"

    return Agent(once("pay", {"n": 1}), name="cashier", tools=[pay])


def outer_of(inner: Agent[Any]) -> Agent[Any]:
    ask = inner.as_tool(name="ask_cashier", arg_name="what")
    return Agent(once("ask_cashier", {"what": "pay"}), name="desk", tools=[ask])


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


def test_a_part_is_named_after_a_tool_and_is_an_agent() -> None:
    inner = inner_of([])
    with pytest.raises(DeclarationError, match="no tool 'ask_cashire'"):
        app_of(outer_of(inner), parts={"ask_cashire": inner})
    with pytest.raises(DeclarationError, match="part ask_cashier' is not an agent_framework"):
        app_of(outer_of(inner), parts={"ask_cashier": "cashier"})


def test_an_agent_inside_a_tool_that_is_one_effect_runs_once() -> None:
    effects: list[str] = []
    inner = inner_of(effects, "never_require")
    app_of(outer_of(inner), parts={"ask_cashier": inner})  # it is a part elsewhere
    with Conversation(app_of(outer_of(inner), approve={"ask_cashier": approval.always})) as talk:
        talk.say("pay")
        talk.restart()
        talk.question.approve()
        talk.restart()
        assert talk.texts[-1] == "Done: Done: it is paid"
    assert effects == ["paid"]


def test_an_inner_agent_that_wants_to_ask_and_is_no_part_fails_its_call() -> None:
    effects: list[str] = []
    with Conversation(app_of(outer_of(inner_of(effects)))) as talk:
        talk.say("pay")
        assert effects == []
        assert talk.texts[-1].startswith("Done: ")
        assert "paid" not in talk.texts[-1]


def test_an_inner_agent_is_as_before_outside_of_a_turn() -> None:
    effects: list[str] = []
    inner = inner_of(effects)
    with Conversation(app_of(outer_of(inner), parts={"ask_cashier": inner})) as talk:
        talk.say("pay")
        talk.question.approve()
    response = asyncio.run(inner.run("pay"))
    assert [each.type for each in response.user_input_requests] == ["function_approval_request"]
    assert effects == ["paid"]
