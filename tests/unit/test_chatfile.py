"""Agents of a file that are models: `type: chat_model_agent`, and variables of the environment."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from sayso.ops.agentfile import app_of
from sayso.ops.yamlfile import YamlFileError
from sayso.testing import Conversation, FakeCall, FakeProvider, FakeReply, FakeRequest

KEY = "sk-never-told-to-anybody"
TOOLS = '''
from sayso import Tool, approval

RAN = []

async def issue_refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    RAN.append(order_id)
    return f"refunded {amount:g}"

refund = Tool(issue_refund, approval=approval.always, editable=True)
'''
FILE = """
store: ${SAYSO_STORE:-memory:}
agents:
  - name: clerk
    tools: [chat_shop]
    spec:
      type: chat_model_agent
      model:
        name: fake-1
        base_url: "${OPENAI_BASE_URL:-https://a.example}"
        api_key: "${OPENAI_API_KEY}"
      settings: {temperature: 0.2, stop: [a, b], metadata: {shop: "$${plain}"}}
      system: {file: clerk.md}
      rounds: 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tools and a system text."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "chat_shop", raising=False)
    (tmp_path / "chat_shop.py").write_text(TOOLS)
    (tmp_path / "clerk.md").write_text("You are a clerk.")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("OPENAI_BASE_URL", "SAYSO_STORE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def app(folder: Path, text: str) -> Any:
    path = folder / "agents.yaml"
    path.write_text(dedent(text))
    return app_of(path)


def clerk(request: FakeRequest) -> FakeReply:
    """A model that refunds an order."""
    if request.results:
        return FakeReply("Done: " + request.results[-1])
    return FakeReply(calls=[FakeCall("issue_refund", {"order_id": "A-17", "amount": 240.0})])


def test_a_file_alone_serves_a_model_that_asks_before_it_acts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart with a card open included."""
    with FakeProvider(clerk) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with Conversation(app(folder, FILE), "clerk") as agent:
            assert agent.say("refund").outcome == "interrupt"
            agent.restart(app(folder, FILE))
            assert agent.question.edit(amount=20.0).text.endswith("refunded 20")
        request = provider.requests[0]
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert request.body["messages"][0] == {"role": "system", "content": "You are a clerk."}
        assert (request.body["temperature"], request.body["stop"]) == (0.2, ["a", "b"])
        assert request.body["metadata"] == {"shop": "${plain}"}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("${OPENAI_API_KEY}", KEY, "put it into the environment"),
        ("${OPENAI_API_KEY}", "${OPENAI_API_KEY:-sk-x}", "put it into the environment"),
        ("${OPENAI_API_KEY}", "${NO_SUCH_KEY}", "the variable NO_SUCH_KEY is not set"),
        ("${OPENAI_API_KEY}", "${no such}", "is no variable"),
        ("${OPENAI_BASE_URL:-https://a.example}", "${OPENAI_API_KEY}", "begins with https"),
        ("        name: fake-1\n", "", "'name' is missing"),
        ("model:\n", "modell:\n", "unknown key 'modell'"),
        ("rounds: 3", "rounds: none", "a whole number from 1"),
        ("temperature: 0.2", "messages: []", "no setting"),
        ("clerk.md", "nobody.md", "cannot be read beside this file"),
        ("tools: [chat_shop]", "import: chat_shop:issue_refund", "has no code of its own"),
    ],
)
def test_each_problem_is_told_with_its_line_and_without_a_value(
    folder: Path, before: str, after: str, says: str
) -> None:
    assert before in FILE
    with pytest.raises(YamlFileError) as error:
        app(folder, FILE.replace(before, after))
    assert says in str(error.value)
    assert KEY not in str(error.value)
    assert " line " in str(error.value)
