"""A small ASGI client for tests: whole exchanges, or one that the test holds in its hands."""

import asyncio
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import orjson

from sayso.http.asgi import App, Scope
from tests.patience import PATIENCE

__all__ = ["JSON", "Answer", "Exchange", "call", "run_body", "scope_of"]

JSON = {"content-type": "application/json"}


@dataclass
class Answer:
    """A response. `headers` has lower-case names; a name that came twice is joined by commas."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    chunks: list[bytes] = field(default_factory=list)
    ended: bool = False

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return orjson.loads(self.body)


def scope_of(
    method: str, path: str, headers: dict[str, str] | None = None, *, root_path: str = ""
) -> Scope:
    """An HTTP scope for localhost, unless the headers name another host."""
    sent = {"host": "localhost:8000", **(headers or {})}
    path, _, query = path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": root_path + unquote(path),
        "raw_path": (root_path + path).encode(),
        "query_string": query.encode(),
        "root_path": root_path,
        "headers": [
            (name.lower().encode(), value.encode("latin-1")) for name, value in sent.items()
        ],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8000),
    }


class Exchange:
    """One request as the server sees it; `send_gate` closed makes the app wait in `send`."""

    def __init__(self, chunks: Iterable[bytes] = (b"",)) -> None:
        self.answer = Answer()
        self.asked = 0
        self.gone = asyncio.Event()
        self.send_gate = asyncio.Event()
        self.send_gate.set()
        self._progress = asyncio.Event()
        pieces = list(chunks)
        self._requests: list[MutableMapping[str, Any]] = [
            {"type": "http.request", "body": piece, "more_body": position < len(pieces) - 1}
            for position, piece in enumerate(pieces)
        ]

    async def receive(self) -> MutableMapping[str, Any]:
        """The request, piece by piece, then nothing until the client is gone."""
        self.asked += 1
        if self._requests:
            return self._requests.pop(0)
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Note what the app sends, and hold it to the order that ASGI wants."""
        await self.send_gate.wait()
        answer = self.answer
        assert not answer.ended, "something was sent after the end of the body"
        if message["type"] == "http.response.start":
            assert answer.status == 0, "two responses"
            answer.status = message["status"]
            for name, value in message["headers"]:
                key, text = name.decode(), value.decode("latin-1")
                known = answer.headers.get(key)
                answer.headers[key] = text if known is None else f"{known}, {text}"
        else:
            assert answer.status, "a body before the start"
            answer.body += message["body"]
            answer.chunks.append(message["body"])
            answer.ended = not message.get("more_body", False)
        self._progress.set()

    async def until(self, marker: bytes) -> None:
        """Wait until the body contains the marker."""
        async with asyncio.timeout(PATIENCE):
            while marker not in self.answer.body:
                self._progress.clear()
                await self._progress.wait()


async def call(
    app: App,
    method: str,
    path: str,
    *,
    headers: dict[str, str] | None = None,
    body: bytes | Iterable[bytes] = b"",
    root_path: str = "",
) -> Answer:
    """One whole exchange."""
    exchange = Exchange([body] if isinstance(body, bytes) else body)
    async with asyncio.timeout(PATIENCE):
        await app(
            scope_of(method, path, headers, root_path=root_path), exchange.receive, exchange.send
        )
    assert exchange.answer.ended or exchange.answer.status == 0
    return exchange.answer


def run_body(**members: Any) -> bytes:
    """A minimal `RunAgentInput` with these members beside or instead of its own."""
    message = {"id": "u", "role": "user", "content": "hi"}
    return orjson.dumps({"threadId": "t", "runId": "r", "messages": [message], **members})
