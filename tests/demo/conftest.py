"""The demo in process: over ASGI, in memory, on a clock that stands still, as fast as it goes."""

from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from sayso.demo.app import demo_app
from sayso.demo.settings import Settings
from sayso.demo.tools import Delay
from sayso.testing import FakeClock
from tests.judge import model_faults, validator_faults
from tests.server import Event, interrupts, run_input
from tests.stream_checker import check, events_of

EXPIRES_IN = 60.0


@dataclass
class Demo:
    """The agent `ops`, as a client and its ledger's reader see it."""

    client: httpx.AsyncClient
    clock: FakeClock
    data: Path

    async def run(self, *, thread: str = "t-1", path: str = "", **parts: Any) -> list[Event]:
        """Every event of a run, held against all judges of streams; parts as in `run_input`."""
        answer = await self.client.post(f"/agents/ops{path}", json=run_input(thread, **parts))
        assert answer.status_code == 200, answer.text
        events = events_of(answer.content)
        assert [*check(events), *model_faults(events), *validator_faults(events)] == []
        return events

    async def connect(self, thread: str = "t-1") -> list[Event]:
        """The thread as it stands, once it stands."""
        return await self.run(thread=thread, path="/connect")

    async def ask(self, text: str, **parts: Any) -> list[Event]:
        """The questions that a message leads to."""
        return interrupts(await self.run(text=text, **parts))

    async def answer(self, *answers: Event, **parts: Any) -> list[Event]:
        """What a run does with answers."""
        return await self.run(resume=answers, **parts)

    async def effects(self, **filters: str) -> list[Event]:
        """What the ledger holds."""
        answer = await self.client.get("/demo/effects", params=filters)
        assert answer.status_code == 200
        found: list[Event] = answer.json()["effects"]
        return found

    async def done(self, **filters: str) -> list[tuple[str, Any]]:
        """The effects as kind and args."""
        return [(effect["kind"], effect["args"]) for effect in await self.effects(**filters)]

    async def kinds(self) -> list[str]:
        """The kinds of the effects."""
        return [kind for kind, _ in await self.done()]


def said(events: Iterable[Event]) -> str:
    """All text of a run, message by message, a line each."""
    lines: dict[str, str] = {}
    for event in events:
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            lines[event["messageId"]] = lines.get(event["messageId"], "") + event["delta"]
    return "\n".join(lines.values())


def results(events: Iterable[Event]) -> dict[str, str]:
    """The text of each call's result, by the call's id."""
    return {e["toolCallId"]: e["content"] for e in events if e["type"] == "TOOL_CALL_RESULT"}


def settings(data: Path, **changes: Any) -> Settings:
    """The demo's settings for tests."""
    given: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": 8000,
        "store": "memory:",
        "data": str(data),
        "expires_in": EXPIRES_IN,
        "keep_alive": 15.0,
    }
    return Settings(**{**given, **changes})


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of whoever runs the tests is not used."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def never_die() -> None:
    """Stands for `os.kill`, where the process that would die is the test's."""


@pytest.fixture
def die() -> Callable[[], None]:
    return never_die


@pytest.fixture
async def demo(tmp_path: Path, die: Callable[[], None]) -> AsyncIterator[Demo]:
    """A started demo."""
    clock = FakeClock()
    app = demo_app(settings(tmp_path), clock=clock, pace=Delay(piece=0, work=0), die=die)
    transport = httpx.ASGITransport(app=app)
    async with (
        app.lifespan(),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield Demo(client, clock, tmp_path)
