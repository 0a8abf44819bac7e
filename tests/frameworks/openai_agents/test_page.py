"""The page about the Agents SDK: its block runs as it stands, with a model that needs no key."""

import re
from typing import Any

from sayso.testing import Conversation
from tests.frameworks.openai_agents.models import once
from tests.frameworks.shop import Wanted
from tests.sources import ROOT


def test_the_example_asks_about_both_of_its_tools() -> None:
    text = (ROOT / "docs" / "openai-agents.md").read_text("utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.S)
    page: dict[str, Any] = {"__name__": "page"}
    model = once("issue_refund", {"order_id": "A-17", "amount": 240.0}, _DELETE)
    block = block.replace('model="gpt-5-mini"', "model=model")
    page["model"] = model
    exec(block, page)  # noqa: S102 - our own page
    with Conversation(page["app"]) as talk:
        talk.say("go")
        assert [question.tool for question in talk.questions] == ["issue_refund", "delete_order"]
        talk.questions[0].approve()
        assert talk.status == "suspended"


_DELETE = Wanted("call_2", "delete_order", {"order_id": "A-17"})
