"""The page about LangGraph and its example, as they stand."""

import re
from pathlib import Path
from typing import Any

import pytest

from sayso.testing import Conversation
from tests.examples.conftest import app_of
from tests.sources import ROOT


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apps name files as their stores."""
    monkeypatch.chdir(tmp_path)


def test_the_page_serves_a_graph_whose_refund_waits_for_a_person() -> None:
    (block,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "langgraph.md").read_text("utf-8"), re.DOTALL
    )
    names: dict[str, Any] = {"__name__": "page"}
    exec(block, names)  # noqa: S102 - our own page
    with Conversation(names["app"]) as talk:
        talk.say("refund A-17")
        talk.restart()
        assert talk.question.args == {"order_id": "A-17", "amount": 240}
        assert talk.question.edit(amount=20).text == "Done: refunded 20.00 for A-17"


def test_the_example_refunds_what_was_approved_and_hears_a_reason() -> None:
    with Conversation(app_of("langgraph_support")) as talk:
        talk.say("refund A-17 and A-18")
        first, second = talk.questions
        first.approve()
        run = second.deny("it was paid in cash")
        assert "refunded 240.00 for A-17" in run.text
        assert "it was paid in cash" in run.text
