"""The page about Pydantic AI: each block runs as it stands."""

import re
from typing import Any

import pytest
from pydantic_ai.models.test import TestModel

from sayso.testing import Conversation
from tests.sources import ROOT


def blocks() -> list[dict[str, Any]]:
    """The names that each block defines."""
    text = (ROOT / "docs" / "pydantic-ai.md").read_text("utf-8")
    names: list[dict[str, Any]] = []
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        defined: dict[str, Any] = {"__name__": "page"}
        exec(block, defined)  # noqa: S102 - our own page
        names.append(defined)
    return names


def test_the_first_example_asks_about_both_of_its_tools() -> None:
    first, _ = blocks()
    replaced = first["agent"].override(model=TestModel())  # as tests of agents do
    with replaced, Conversation(first["app"]) as talk:
        talk.say("go")
        assert [question.tool for question in talk.questions] == [
            "issue_refund",
            "delete_order",
        ]
        assert talk.status == "suspended"


@pytest.mark.parametrize("approves", [True, False])
def test_the_second_example_asks_in_the_name_of_the_inner_agent(approves: bool) -> None:
    _, second = blocks()
    with Conversation(second["app"]) as talk:
        run = talk.say("pay")
        assert talk.question.tool == "pay"
        assert run.of("SUBAGENT_STARTED")[0]["name"] == "cashier"
        question = talk.question
        assert (question.approve() if approves else question.deny()).outcome == "success"
