"""`examples/strands_support.py` as it stands."""

import importlib.util
from pathlib import Path

import pytest

from sayso.testing import Conversation
from tests.sources import ROOT


def test_the_example_asks_and_refunds_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = ROOT / "examples" / "strands_support.py"
    spec = importlib.util.spec_from_file_location("strands_support", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with Conversation(module.app) as talk:
        assert talk.say("hello").text == "Say which order to refund."
        run = talk.say("refund A-17")
        assert run.text == "Let me see. I refund it. "
        assert talk.question.args == {"order_id": "A-17", "amount": 240.0}
        talk.restart()
        talk.question.edit(amount=20.0)
        assert "refunded 20.00 for A-17" in talk.texts[-1]
        assert [name for name in talk.effects if name != "model"] == ["look_up", "issue_refund"]
