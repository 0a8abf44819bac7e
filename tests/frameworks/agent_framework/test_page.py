"""The page about Agent Framework: each block runs as it stands, but for its model."""

import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest
from agent_framework import Message

from sayso.testing import Conversation
from tests.frameworks.agent_framework.models import Planned, results_of
from tests.frameworks.shop import Reply, Wanted
from tests.sources import ROOT

CALLS: dict[str, dict[str, object]] = {
    "issue_refund": {"order_id": "A-17", "amount": 240.0},
    "delete_order": {"order_id": "A-17"},
    "ask_cashier": {"task": "pay"},
    "pay": {"amount": 5.0},
}


class OpenAIChatClient(Planned):
    """Stands for the client of that name: it calls each tool that it has, once."""

    def __init__(self, *, model: str) -> None:
        super().__init__(self.calls_all)
        self.names: list[str] = []

    def calls_all(self, messages: Sequence[Message]) -> Reply:
        results = results_of(messages)
        if results:
            return Reply(" ".join(results))
        calls = [Wanted(name, name, CALLS[name]) for name in self.names]
        return Reply("", tuple(calls))

    def _inner_get_response(self, *, options: Any, **others: Any) -> Any:
        self.names = [tool.name for tool in options["tools"]]
        return super()._inner_get_response(options=options, **others)


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The names that each block defines."""
    openai = ModuleType("agent_framework.openai")
    openai.__dict__["OpenAIChatClient"] = OpenAIChatClient
    monkeypatch.setitem(sys.modules, "agent_framework.openai", openai)
    text = (ROOT / "docs" / "agent-framework.md").read_text("utf-8")
    names: list[dict[str, Any]] = []
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        defined: dict[str, Any] = {"__name__": "page"}
        exec(block, defined)  # noqa: S102 - our own page
        names.append(defined)
    return names


def test_the_first_example_asks_about_both_of_its_tools(blocks: list[dict[str, Any]]) -> None:
    first, _ = blocks
    with Conversation(first["app"]) as talk:
        talk.say("go")
        assert [question.tool for question in talk.questions] == ["issue_refund", "delete_order"]
        assert talk.status == "suspended"


@pytest.mark.parametrize("approves", [True, False])
def test_the_second_example_asks_in_the_name_of_the_inner_agent(
    blocks: list[dict[str, Any]], approves: bool
) -> None:
    _, second = blocks
    with Conversation(second["app"]) as talk:
        run = talk.say("pay")
        assert talk.question.tool == "pay"
        assert run.of("SUBAGENT_STARTED")[0]["name"] == "cashier"
        question = talk.question
        assert (question.approve() if approves else question.deny()).outcome == "success"
