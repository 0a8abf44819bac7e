"""A client against bodies that a test wrote: what it makes of them, and what it sent."""

import json
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import httpx

from sayso.client import Client
from sayso.testing import FakeClock

Event = dict[str, Any]
Answer = httpx.Response | Exception | Callable[[httpx.Request], httpx.Response]
TOKEN = "a-token-of-tests"  # noqa: S105 - opens nothing
URL = "http://agent.test/agents/ops"
STARTED: Event = {
    "type": "RUN_STARTED",
    "threadId": "t",
    "runId": "r",
    "protocolVersion": "1.0",
}
FINISHED: Event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def sse(events: Iterable[Event]) -> bytes:
    """A body of frames."""
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def run_of(*events: Event) -> list[Event]:
    """A whole run around events."""
    return [STARTED, *events, FINISHED]


def asking(*interrupts: Event) -> list[Event]:
    """A run that ends in questions."""
    outcome = {"type": "interrupt", "interrupts": list(interrupts)}
    return [STARTED, {**FINISHED, "outcome": outcome}]


@dataclass
class Agent:
    """Answers request after request with what `answers` holds; keeps what it was sent."""

    answers: list[Answer] = field(default_factory=list)
    sent: list[httpx.Request] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        http = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))
        self.client = Client(
            URL,
            thread_id="t",
            token=TOKEN,
            http=http,
            clock=self.clock,
            warn=self.warnings.append,
        )

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx.Response) else answer(request)

    def says(self, *events: Event) -> None:
        """The next request is answered with these events."""
        self.body(sse(events))

    def echoes(self, *events: Event) -> None:
        """The same, with the run's own id wherever an event has `r`."""

        def answer(request: httpx.Request) -> httpx.Response:
            own = json.loads(request.content)["runId"]
            told = [{**e, "runId": own} if e.get("runId") == "r" else e for e in events]
            headers = {"content-type": "text/event-stream"}
            return httpx.Response(200, content=sse(told), headers=headers)

        self.answers.append(answer)

    def body(
        self, data: bytes, kind: str = "text/event-stream", status: int = 200, **fields: str
    ) -> None:
        """The next request is answered with this body, and these further headers."""
        headers = {"content-type": kind, **fields}
        self.answers.append(httpx.Response(status, content=data, headers=headers))

    def pieces(self, pieces: Iterable[bytes]) -> None:
        """The next request is answered with a stream in these pieces."""
        headers = {"content-type": "text/event-stream; charset=utf-8"}
        self.answers.append(httpx.Response(200, content=_each(pieces), headers=headers))

    def requests(self) -> list[Event]:
        """The bodies of all requests."""
        return [json.loads(request.content) for request in self.sent]

    async def heard(self, *events: Event) -> list[Event]:
        """What the client hands on of one run's events."""
        self.says(*events)
        return [event async for event in self.client.run("go")]

    @property
    def told(self) -> list[Event]:
        """The messages but the one that the client began with."""
        return [message for message in self.client.messages if message["role"] != "user"]


async def _each(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
