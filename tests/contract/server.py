"""A Sayso in process over any store, and clients that keep a thread as browsers do."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

from sayso import Sayso, Turn
from sayso.testing import FaultyStore
from tests.apps import app_with
from tests.contract.client_model import ClientModel
from tests.contract.dump import dump
from tests.contract.wire import Exchange, Run
from tests.patience import PATIENCE
from tests.stores.backends import BACKENDS, ENCRYPTED
from tests.stores.watched import PatientClock, WatchedStore

__all__ = [
    "Client",
    "Server",
    "answer",
    "approve",
    "cancel",
    "deny",
    "eventually",
    "served",
    "taken_over",
]

JSON = {"content-type": "application/json", "accept": "text/event-stream"}

Json = dict[str, Any]


class Server:
    """An app over a store that can break, with a clock that stands still.

    `effects` is what tools and steps of the tests write down; `turns` counts entries into agents.
    """

    def __init__(self, kind: str, folder: Path, **options: Any) -> None:
        self.kind = kind
        self.folder = folder
        self.clock = PatientClock()
        self.watched = WatchedStore((BACKENDS | ENCRYPTED)[kind](folder, self.clock), self.clock)
        self.store = FaultyStore(self.watched)
        self.effects: list[Any] = []
        self.options = {"console": False, "keep_alive": None, **options}
        self.app = self.another()
        self._agents = count()

    def another(self, **options: Any) -> Sayso:
        """A further app on the same store: another replica, or this one after a restart."""
        return app_with(store=self.store, clock=self.clock, **{**self.options, **options})

    def client(self, agent: Callable[[Turn], Awaitable[Any]] | str, **options: Any) -> "Client":
        """A client on a new thread of an agent: a name, or a function that gets one."""
        if not isinstance(agent, str):
            name = f"agent-{next(self._agents)}"
            self.app.agent(name)(agent)
            agent = name
        return Client(self.app, agent, **options)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | Mapping[str, Any] = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Exchange:
        """Begin any request."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return Exchange(self.app, method, path, data, JSON if headers is None else headers)

    def dump(self) -> str:
        """All that is stored, as text."""
        return dump(self.watched.inner, self.folder)


@asynccontextmanager
async def served(kind: str, folder: Path, **options: Any) -> AsyncIterator[Server]:
    """A started server; stopped at the end."""
    server = Server(kind, folder, **options)
    try:
        async with server.app.lifespan():
            yield server
    finally:
        await server.store.inner.close()  # a test may have opened it again


class Client:
    """One thread as its client keeps it: messages, state, pending interrupts.

    `version` is what it declares; None is a client of 0.0.x. Every stream it gets is judged.
    """

    def __init__(
        self,
        app: Any,
        agent: str,
        *,
        thread: str | None = None,
        version: str | None = "1.0",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.app = app
        self.agent = agent
        self.thread = thread or f"thread-{uuid4().hex[:8]}"
        self.version = version
        self.headers = {**JSON, **(headers or {})}
        self.model = ClientModel()

    def again(self, **changes: Any) -> "Client":
        """A client that knows nothing but the thread: a reload, or another tab."""
        same = {"thread": self.thread, "version": self.version, "headers": self.headers}
        return Client(changes.pop("app", self.app), self.agent, **{**same, **changes})

    def body(self, **members: Any) -> Json:
        """The request that this client would send now."""
        body = {
            "threadId": self.thread,
            "runId": f"run-{uuid4().hex[:8]}",
            "messages": [m for m in self.model.messages if m["role"] != "activity"],
            "state": self.model.state,
            "tools": [],
            "context": [],
            "forwardedProps": {},
        }
        if self.version is not None:
            body["protocolVersion"] = self.version
        return {**body, **members}

    def user(self, text: Any) -> Json:
        """A user message, which the client keeps from now on."""
        message = {"id": f"user-{uuid4().hex[:8]}", "role": "user", "content": text}
        self.model.messages.append(message)
        return message

    def open(self, body: Json | None = None, *, action: str = "", **members: Any) -> Exchange:
        """Begin a run with the client's own request, changed by `members`."""
        sent = self.body(**members) if body is None else body
        data = json.dumps(sent).encode()
        return Exchange(self.app, "POST", f"/agents/{self.agent}{action}", data, self.headers)

    async def run(self, body: Json | None = None, *, action: str = "", **members: Any) -> Run:
        """A whole run, judged, and taken into this client's model."""
        sent = self.body(**members) if body is None else body
        run = await self.open(sent, action=action).end()
        if run.is_stream:
            run.judged(sent["threadId"], sent["runId"], newer=self.version == "1.1")
            assert self.version is not None or not run.lists, "TC-07: parts for an older client"
            self.model.take(run.events)
        return run

    async def say(self, text: Any = "go", **members: Any) -> Run:
        """Send a user message."""
        self.user(text)
        return await self.run(**members)

    async def resume(self, *entries: Json, **members: Any) -> Run:
        """Answer; an entry without an id answers the first pending interrupt."""
        return await self.run(resume=self.entries(*entries), **members)

    def entries(self, *entries: Json) -> list[Json]:
        """Entries with ids put in, in the order of the pending interrupts."""
        ids = [interrupt["id"] for interrupt in self.model.pending]
        return [
            {"interruptId": ids[at], **entry} if "interruptId" not in entry else entry
            for at, entry in enumerate(entries)
        ]

    async def connect(self) -> Run:
        """Load the thread."""
        return await self.run(self.body(messages=[], state={}), action="/connect")


def answer(payload: Any = None, **more: Any) -> Json:
    """A resolved entry."""
    return {"status": "resolved", "payload": payload, **more}


def approve(**more: Any) -> Json:
    """Yes, with further members of the payload."""
    return answer({"approved": True, **more})


def deny(reason: str | None = None) -> Json:
    """No."""
    return answer({"approved": False} | ({"reason": reason} if reason else {}))


def cancel(**more: Any) -> Json:
    """Nobody decides."""
    return {"status": "cancelled", **more}


async def taken_over(server: Server, client: Client) -> None:
    """Let time pass until the thread has another holder than now, if any; then until it is idle.

    Not further than that: the new holder's lease is as long on this clock as the old one's was.
    """
    old = await server.store.load("default", client.thread)
    assert old is not None

    async def has_changed_hands() -> bool:
        view = await server.store.load("default", client.thread)
        assert view is not None
        if view.thread.holder is None or view.thread.fence > old.thread.fence:
            return True
        await server.clock.advance(1)
        return False

    async def is_idle() -> bool:
        view = await server.store.load("default", client.thread)
        return view is not None and view.thread.holder is None

    await eventually(has_changed_hands)
    await eventually(is_idle)


async def eventually(true: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something that runs by itself has come about."""
    async with asyncio.timeout(PATIENCE):
        while not await true():  # noqa: ASYNC110 - the store's thread tells nobody
            await asyncio.sleep(0.002)
