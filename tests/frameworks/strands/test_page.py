"""The page about Strands: its block runs as it stands, but for its model."""

import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest

from sayso.testing import Conversation
from tests.frameworks.shop import Reply, Wanted
from tests.frameworks.strands.models import Message, Planned, results_of
from tests.sources import ROOT


class OpenAIModel(Planned):
    """Stands for the model of that name: it calls both tools, once."""

    def __init__(self, *, model_id: str) -> None:
        super().__init__(self.calls_both)

    def calls_both(self, messages: Sequence[Message]) -> Reply:
        results = results_of(messages)
        if results:
            return Reply(" ".join(results))
        refund = Wanted("c1", "issue_refund", {"order_id": "A-17", "amount": 240.0})
        return Reply("", (refund, Wanted("c2", "delete_order", {"order_id": "A-17"})))


def test_the_example_asks_about_both_of_its_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    openai = ModuleType("strands.models.openai")
    openai.__dict__["OpenAIModel"] = OpenAIModel
    monkeypatch.setitem(sys.modules, "strands.models.openai", openai)
    (block,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "strands.md").read_text("utf-8"), re.S
    )
    names: dict[str, Any] = {"__name__": "page"}
    exec(block, names)  # noqa: S102 - our own page
    with Conversation(names["app"]) as talk:
        talk.say("go")
        assert [question.tool for question in talk.questions] == ["issue_refund", "delete_order"]
        assert talk.status == "suspended"
