"""`sayso demo` with a model: a provider on loopback, and a key that stays inside."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from sayso.testing import FakeCall, FakeProvider, FakeReply, FakeRequest
from tests.server import DemoServer, interrupts, resolved

KEY = "sk-never-told-to-anybody"


def model(request: FakeRequest) -> FakeReply:
    """Looks an order up and refunds it, then says what it heard."""
    if request.results:
        return FakeReply("Done: " + " | ".join(request.results))
    calls = [
        FakeCall("order_status", {"order_id": "A-17"}),
        FakeCall("issue_refund", {"order_id": "A-17", "amount": 240.0}),
    ]
    return FakeReply("Let me see.", calls)


@contextmanager
def served(folder: Path, *options: str, **environment: str) -> Iterator[DemoServer]:
    """The demo with these options and variables, and none of the machine's own."""
    server = DemoServer(folder, options=options, agent="assistant")
    server.environment |= environment
    with server:
        yield server


def effects(server: DemoServer) -> dict[str, object]:
    """All that the demo says of its effects."""
    shown: dict[str, object] = httpx.get(f"{server.url}/demo/effects").json()
    return shown


def test_an_edited_refund_outlives_a_killed_server_and_asks_no_model_again(tmp_path: Path) -> None:
    with (
        FakeProvider(model) as provider,
        served(
            tmp_path, "--model", "fake-1", OPENAI_BASE_URL=provider.url, OPENAI_API_KEY=KEY
        ) as server,
    ):
        assert f"model fake-1 at {provider.url[7:-3]}" in server.output()
        agents = httpx.get(f"{server.url}/agents").json()
        assert [agent["name"] for agent in agents["items"]] == ["assistant", "ops"]
        assert not provider.requests
        (question,) = interrupts(server.run("t-1", text="refund A-17"))
        assert effects(server)["model"] == {"name": "fake-1", "asked": 1}
        server.kill_worker()
        server.wait_healthy()
        assert interrupts(server.connect("t-1")) == [question]
        assert effects(server)["model"] == {"name": "fake-1", "asked": 1}
        edited = {"approved": True, "editedArgs": {"order_id": "A-17", "amount": 20.0}}
        events = server.run("t-1", resume=[resolved(question, edited)])
        assert events[-1]["outcome"] == {"type": "success"}
        assert server.kinds() == ["lookup", "refund"]
        assert effects(server)["model"] == {"name": "fake-1", "asked": 2}
        assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert KEY not in server.output()
        assert KEY not in str(agents)


@pytest.mark.parametrize("wrong", ["key", "gone"])
def test_a_model_that_cannot_be_asked_is_told_without_the_key(tmp_path: Path, wrong: str) -> None:
    with FakeProvider([FakeReply(status=401)]) as provider:
        url = provider.url if wrong == "key" else "http://127.0.0.1:1/v1"
        with served(tmp_path, "--base-url", url, OPENAI_API_KEY=KEY) as server:
            last = server.run("t-1", text="hello")[-1]
            assert last["type"] == "RUN_ERROR"
            assert "127.0.0.1" in last["message"]
            assert ("answered 401" in last["message"]) == (wrong == "key")
            assert KEY not in str(last)
            assert KEY not in server.output()


@pytest.mark.parametrize("options", [(), ("--no-model",)])
def test_without_a_model_all_is_as_before(tmp_path: Path, options: tuple[str, ...]) -> None:
    variables = {"OPENAI_API_KEY": KEY} if options else {}
    with served(tmp_path, *options, **variables) as server:
        agents = httpx.get(f"{server.url}/agents").json()["items"]
        assert [agent["name"] for agent in agents] == ["ops"]
        assert "No key and no network needed." in server.output()
        assert effects(server) == {"effects": []}
