"""One HTTP exchange with an ASGI app, as its client sees it: byte by byte, while it goes on."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from tests.contract.thread_checker import thread_faults
from tests.judge import model_faults, validator_faults
from tests.patience import PATIENCE
from tests.spec.judge import schema_faults
from tests.stream_checker import check, events_of

__all__ = ["Exchange", "Run", "undigested"]

Event = dict[str, Any]


def undigested(interrupt: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a question without its digest, which each has."""
    ours = dict(interrupt["metadata"]["sayso"])
    assert len(ours.pop("digest")) == 64
    rest = {name: value for name, value in interrupt["metadata"].items() if name != "sayso"}
    return {**rest, "sayso": ours} if ours else rest


@dataclass(frozen=True)
class Run:
    """A response that has ended. Streams have `events`, problems have `problem`."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    @property
    def events(self) -> list[Event]:
        assert self.is_stream, f"no stream but {self.status}: {self.body[:300]!r}"
        return events_of(self.body)

    @property
    def problem(self) -> dict[str, Any]:
        assert self.headers["content-type"] == "application/problem+json"
        value: dict[str, Any] = json.loads(self.body)
        assert value["status"] == self.status
        return value

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def of(self, *kinds: str) -> list[Event]:
        return [event for event in self.events if event["type"] in kinds]

    @property
    def last(self) -> Event:
        return self.events[-1]

    @property
    def outcome(self) -> str:
        """`success`, `interrupt`, `cancelled`, or the code of an error."""
        last = self.last
        kind: str = last["outcome"]["type"] if last["type"] == "RUN_FINISHED" else last["code"]
        return kind

    @property
    def silent(self) -> bool:
        """Whether the run finished without an outcome, as the older dialect has it."""
        return self.last["type"] == "RUN_FINISHED" and "outcome" not in self.last

    @property
    def asked(self) -> list[str]:
        """What the older dialect asks, by event."""
        return [e["value"] for e in self.of("CUSTOM") if e["name"] == "on_interrupt"]

    @property
    def interrupts(self) -> list[Event]:
        assert self.outcome == "interrupt", f"no interrupt but {self.last}"
        found: list[Event] = self.last["outcome"]["interrupts"]
        return found

    @property
    def details(self) -> dict[str, Any]:
        """What an error says about itself in `metadata.sayso`."""
        found: dict[str, Any] = self.last["metadata"]["sayso"]
        return found

    @property
    def results(self) -> dict[str, str]:
        """Tool results by call id."""
        return {e["toolCallId"]: e["content"] for e in self.of("TOOL_CALL_RESULT")}

    @property
    def lists(self) -> list[Any]:
        """Tool results that came as lists of parts, in events and in snapshots."""
        shown = [m for event in self.of("MESSAGES_SNAPSHOT") for m in event["messages"]]
        results = [*self.of("TOOL_CALL_RESULT"), *(m for m in shown if m["role"] == "tool")]
        return [r["content"] for r in results if isinstance(r["content"], list)]

    @property
    def snapshot(self) -> list[Event]:
        """The messages of the last snapshot."""
        found: list[Event] = self.of("MESSAGES_SNAPSHOT")[-1]["messages"]
        return found

    @property
    def text(self) -> str:
        """What was streamed as text, messages on lines of their own."""
        texts: dict[str, str] = {}
        for event in self.of("TEXT_MESSAGE_CONTENT"):
            texts[event["messageId"]] = texts.get(event["messageId"], "") + event["delta"]
        return "\n".join(texts.values())

    def judged(self, thread_id: str, run_id: str, *, newer: bool = False) -> "Run":
        """This run, after the schemas, the order rules and the third-party validator passed it.

        They know 1.0: of a run for a `newer` client they see what such a client would be left with.
        """
        events = _as_of_1_0(self.events) if newer else self.events
        if self.types[-2:] == ["RUN_FINISHED", "RUN_ERROR"] and "outcome" not in events[-2]:
            del events[-2]  # which lets go of what was answered, and says no more (CK-07)
        faults = [*check(events), *model_faults(events), *validator_faults(events)]
        faults += schema_faults(events)
        faults += thread_faults(events, thread_id=thread_id, run_id=run_id)
        listed = "\n".join([*faults, *(json.dumps(event)[:200] for event in events)])
        assert not faults, f"a stream against the rules:\n{listed}"
        return self


def _as_of_1_0(value: Any) -> Any:
    """What remains of events of 1.1 once its one further member is left out."""
    if isinstance(value, list):
        return [_as_of_1_0(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _as_of_1_0(v) for name, v in value.items() if name != "encryptedValueType"}


class Exchange:
    """A request under way."""

    def __init__(
        self,
        app: Any,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.sent: list[bytes] = []
        self.status = 0
        self.headers: dict[str, str] = {}
        self.ended = False
        self._body = [body]
        self._gone = asyncio.Event()
        self._changed = asyncio.Event()
        fields = {"host": "127.0.0.1:8000", **(headers or {})}
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(k.lower().encode(), v.encode()) for k, v in fields.items()],
            "client": ("127.0.0.1", 5000),
            "server": ("127.0.0.1", 8000),
        }
        self._task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if self._body:
            return {"type": "http.request", "body": self._body.pop(), "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if self._gone.is_set():
            raise OSError("the client is gone")
        assert not self.ended, "bytes after the end of the body"
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {k.decode(): v.decode() for k, v in message["headers"]}
        else:
            self.sent.append(message.get("body", b""))
            self.ended = not message.get("more_body", False)
        self._changed.set()

    @property
    def events(self) -> list[Event]:
        """What has come so far."""
        return events_of(b"".join(self.sent))

    async def until(self, *kinds: str) -> list[Event]:
        """Wait for an event of each of these types."""
        wanted = set(kinds)
        await self.when(lambda events: wanted <= {event["type"] for event in events})
        return self.events

    async def next_bytes(self) -> None:
        """Wait for anything more."""
        self._changed.clear()
        async with asyncio.timeout(PATIENCE):
            await self._changed.wait()

    async def when(self, true: Callable[[list[Event]], bool]) -> None:
        """Wait until this holds for the events that have come."""
        async with asyncio.timeout(PATIENCE):
            while not true(self.events):
                assert not self.ended, f"the body ended with {self.events[-1]}"
                await self.next_bytes()

    async def end(self) -> Run:
        """Wait for the end of the response and of the app's own work on it."""
        async with asyncio.timeout(PATIENCE):
            await self._task
        assert self.ended, "the response has no end"
        return Run(self.status, self.headers, b"".join(self.sent))

    async def disconnect(self) -> None:
        """Go away, as a closed tab does; returns when the app has noticed."""
        self._gone.set()
        async with asyncio.timeout(PATIENCE):
            await self._task

    async def cancel(self) -> Run:
        """Have the server cut the response, as it does on shutdown."""
        self._task.cancel()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(self._task, return_exceptions=True)
        return Run(self.status, self.headers, b"".join(self.sent))
