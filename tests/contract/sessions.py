"""A client of the session dialect: three plain requests, and frames that are JSON objects."""

import json
from collections.abc import Mapping
from typing import Any

from tests.contract.server import Server
from tests.contract.wire import Exchange, Run
from tests.stream_checker import events_of

__all__ = ["PATH", "Session", "frames_of", "session_of", "told"]

PATH = "/api/v1/chat"
JSON = {"content-type": "application/json"}

Json = dict[str, Any]


def frames_of(run: Run) -> list[Json]:
    """The frames of a stream, which ends in one of three ways and in no other (design 5)."""
    assert run.status == 200, (run.status, run.body)
    assert run.is_stream
    frames = events_of(run.body)
    ends = [frame["type"] in ("interrupt", "error", "done") for frame in frames]
    assert ends.count(True) == 1, frames
    assert ends[-1], frames
    return frames


def told(frames: list[Json]) -> list[str]:
    """The texts of whole messages."""
    return [f["content"] for f in frames if f["type"] == "message" and "content" in f]


class Session:
    """One session with an app. `id` is None until the server has named it."""

    def __init__(
        self,
        app: Any,
        *,
        session_id: str | None = None,
        agent: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.app = app
        self.id = session_id
        self.agent = agent
        self.headers = {**JSON, **(headers or {})}
        self.asked: Json = {}

    def open(self, method: str, path: str, body: Any = None) -> Exchange:
        """Begin any request."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body)
        sent = data if isinstance(data, bytes) else data.encode()
        return Exchange(self.app, method, path, sent, self.headers)

    async def call(self, method: str, path: str, body: Any = None) -> Run:
        """A whole request; the session is in its header."""
        run = await self.open(method, path, body).end()
        if self.id is not None and run.status != 401:
            assert run.headers.get("x-session-id") == self.id, run.headers
        return run

    def chat_body(self, message: str, **members: Any) -> Json:
        """What `say` sends."""
        body: Json = {"message": message, **members}
        if self.id is not None:
            body.setdefault("session_id", self.id)
        if self.agent is not None:
            body.setdefault("agent", self.agent)
        return body

    async def say(self, message: str = "go", **members: Any) -> list[Json]:
        """Begin a turn."""
        run = await self.call("POST", PATH, self.chat_body(message, **members))
        frames = frames_of(run)
        self.id = run.headers["x-session-id"]
        return self._took(frames)

    async def send(self, *answer: Any, **members: Any) -> Run:
        """Answer with what is given, if anything is, whatever comes."""
        body = {"session_id": self.id, **members}
        if answer:
            (body["answer"],) = answer
        return await self.call("POST", f"{PATH}/resume", body)

    async def answer(self, answer: Any, **members: Any) -> list[Json]:
        """Answer, and be taken."""
        return self._took(frames_of(await self.send(answer, **members)))

    async def cancel(self, **members: Any) -> list[Json]:
        """Withdraw the question, and be taken."""
        return self._took(frames_of(await self.send(status="cancelled", **members)))

    async def show(self) -> list[Json]:
        """The session as it stands."""
        return self._took(frames_of(await self.call("GET", f"{PATH}?session_id={self.id}")))

    def _took(self, frames: list[Json]) -> list[Json]:
        self.asked = frames[-1] if frames[-1]["type"] == "interrupt" else {}
        return frames


def session_of(server: Server, agent: Any, **options: Any) -> Session:
    """A session with an agent of its own."""
    client = server.client(agent)
    return Session(server.app, agent=client.agent, **options)
