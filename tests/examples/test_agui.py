"""`examples/agui_events.py` and `remote_agent.py`: agents that are streams of AG-UI events."""

import importlib

import httpx
import pytest

from sayso import Sayso
from sayso.agui import mount_remote
from sayso.testing import Conversation


def test_the_agent_of_events_refunds_what_was_approved() -> None:
    app: Sayso = importlib.import_module("examples.agui_events").app
    with Conversation(app.replace(store="memory:")) as talk:
        run = talk.say("refund A-17")
        assert run.text == "Let me see."
        talk.restart()
        assert "refunded 20.00" in talk.question.edit(amount=20.0).text


def test_the_agent_elsewhere_is_asked_over_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("examples.remote_agent")
    assert [agent.name for agent in module.app.agents] == ["partner"]
    monkeypatch.setenv("PARTNER_TOKEN", "")
    far: Sayso = importlib.import_module("examples.agui_events").app.replace(store="memory:")
    http = httpx.AsyncClient(transport=httpx.ASGITransport(far))
    app = Sayso(store="memory:")
    mount_remote(app, "partner", module.url, headers=module.headers, http=http)
    with Conversation(app) as talk:
        talk.say("refund A-17")
        assert talk.question.metadata["arguments"] == {"order_id": "A-17", "amount": 240.0}
        talk.restart()
        talk.question.answer({"approved": True})
        assert "refunded 240.00" in talk.texts[-1]
