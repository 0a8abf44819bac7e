"""`examples/openai_loop.py`, `anthropic_loop.py`, `chat.yaml`: models behind HTTP."""

from pathlib import Path

import pytest

from sayso.ops.agentfile import app_of
from sayso.testing import Conversation, FakeCall, FakeProvider, FakeReply
from tests.examples.conftest import Load


@pytest.mark.parametrize("name", ["openai_loop", "anthropic_loop"])
def test_a_model_is_told_what_became_of_each_of_its_calls(load: Load, name: str) -> None:
    example = load(name)
    with Conversation(example) as agent:
        run = agent.say("void what is unpaid")
        assert (run.outcome, run.text) == ("interrupt", "Let me see.")
        assert [question.args["number"] for question in agent.questions] == ["R-1", "R-3"]
        agent.restart()
        first, second = agent.questions
        first.deny("it was paid in cash")
        assert second.approve().outcome == "success"
        assert "R-3 is void." in agent.texts[-1]
        assert "it was paid in cash" in agent.texts[-1]


def test_a_file_alone_serves_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(__file__).parents[2] / "examples"
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    calls = [FakeCall("void_invoice", {"number": "R-1"})]
    with FakeProvider([FakeReply(calls=calls), FakeReply("Done.")]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        with Conversation(app_of(folder / "chat.yaml", store="memory:"), "clerk") as agent:
            assert agent.say("void R-1").outcome == "interrupt"
            assert agent.question.approve().text == "Done."
            assert agent.results == ["R-1 is void."]
