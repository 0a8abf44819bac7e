"""The ways to talk to one thread of a server: each opens, shows and answers it in its own words.

`opens` asks for a refund and returns when the question is there; `shows` loads the thread anew:
does it wait for an answer, and what is said; `answers` approves what it waits for.
"""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from typing import Any, Protocol, TypeVar
from unittest.mock import patch

import httpx

from sayso.cli.chat.conversation import TerminalChat
from sayso.client import Client
from tests.patience import PATIENCE
from tests.server import DemoServer, Event, events_of, run_input

__all__ = ["ALL", "TEXT", "Dialect"]

Value = TypeVar("Value")
TEXT = "refund"
YES = {"approved": True}


class Dialect(Protocol):
    """One way to talk to a server."""

    def opens(self, server: DemoServer, thread: str) -> None:
        """Begin a thread that ends in a question."""

    def shows(self, server: DemoServer, thread: str) -> tuple[bool, str]:
        """Whether the thread, loaded anew, has an open question; and all its texts."""

    def answers(self, server: DemoServer, thread: str) -> None:
        """Load the thread, and approve what it asks."""


class PythonClient:
    """`sayso.client`."""

    def _with(
        self,
        server: DemoServer,
        thread: str,
        does: Callable[[Client], Coroutine[Any, Any, Value]],
    ) -> Value:
        async def run() -> Value:
            async with Client(f"{server.url}/agents/ops", thread_id=thread) as client:
                return await does(client)

        return asyncio.run(run())

    def opens(self, server: DemoServer, thread: str) -> None:
        async def begin(client: Client) -> None:
            await _drain(client.run(TEXT))
            assert client.outcome == "interrupt"

        self._with(server, thread, begin)

    def shows(self, server: DemoServer, thread: str) -> tuple[bool, str]:
        async def look(client: Client) -> tuple[bool, str]:
            await _drain(client.connect())
            return bool(client.pending), _texts(client.messages)

        return self._with(server, thread, look)

    def answers(self, server: DemoServer, thread: str) -> None:
        async def decide(client: Client) -> None:
            await _drain(client.connect())
            (asked,) = client.pending
            await _drain(client.resume({asked["id"]: YES}))
            assert (client.outcome, client.pending) == ("success", [])

        self._with(server, thread, decide)


class Terminal:
    """`sayso chat`, through a pipe."""

    def _talk(self, server: DemoServer, thread: str, *lines: str, reopen: bool) -> tuple[int, str]:
        typed = io.StringIO("".join(f"{line}\n" for line in lines))
        client = Client(f"{server.url}/agents/ops", thread_id=thread)
        quiet = redirect_stderr(io.StringIO())
        with redirect_stdout(io.StringIO()) as out, quiet, patch("sys.stdin", typed):
            code = TerminalChat(client, again="", events=False).hold(reopen=reopen)
        return code, out.getvalue()

    def opens(self, server: DemoServer, thread: str) -> None:
        code, out = self._talk(server, thread, TEXT, reopen=False)
        assert (code, out.count("(y/n/e)")) == (1, 1), out

    def shows(self, server: DemoServer, thread: str) -> tuple[bool, str]:
        code, out = self._talk(server, thread, reopen=True)
        assert bool(code) is ("(y/n/e)" in out), out
        return bool(code), out

    def answers(self, server: DemoServer, thread: str) -> None:
        code, out = self._talk(server, thread, "y", reopen=True)
        assert code == 0, out


class Session:
    """The session dialect, as curl speaks it."""

    def _frames(self, answer: httpx.Response) -> list[Event]:
        assert answer.status_code == 200, answer.text
        return list(events_of(answer.text.splitlines()))

    def _show(self, server: DemoServer, thread: str) -> list[Event]:
        return self._frames(_http().get(f"{server.url}/api/v1/chat", params={"session_id": thread}))

    def _post(self, server: DemoServer, path: str, **body: Any) -> list[Event]:
        return self._frames(_http().post(f"{server.url}/api/v1/chat{path}", json=body))

    def opens(self, server: DemoServer, thread: str) -> None:
        frames = self._post(server, "", message=TEXT, session_id=thread)
        assert frames[-1]["type"] == "interrupt"

    def shows(self, server: DemoServer, thread: str) -> tuple[bool, str]:
        frames = self._show(server, thread)
        return frames[-1]["type"] == "interrupt", _texts(frames)

    def answers(self, server: DemoServer, thread: str) -> None:
        assert self._show(server, thread)[-1]["type"] == "interrupt"
        frames = self._post(server, "/resume", session_id=thread, answer="yes")
        assert frames[-1]["type"] == "done"


class Older:
    """A hook from before interrupts were in the protocol: asked by event, answers by command."""

    def _run(self, server: DemoServer, thread: str, path: str = "", **parts: Any) -> list[Event]:
        return _posted(f"{server.url}/agents/ops{path}?interrupts=legacy", thread, **parts)

    def opens(self, server: DemoServer, thread: str) -> None:
        assert len(_asked(self._run(server, thread, messages=_message()))) == 1

    def shows(self, server: DemoServer, thread: str) -> tuple[bool, str]:
        events = self._run(server, thread, "/connect")
        return bool(_asked(events)), _shown(events)

    def answers(self, server: DemoServer, thread: str) -> None:
        (value,) = _asked(self._run(server, thread, "/connect"))
        command = {"resume": YES, "interruptEvent": value}
        events = self._run(server, thread, forwardedProps={"command": command})
        assert events[-1]["type"] == "RUN_FINISHED"
        assert _asked(events) == []


class Runtime:
    """CopilotKit's runtime protocol, in one of its transports, as its page speaks it."""

    def __init__(self, *, single: bool) -> None:
        self._single = single

    def _do(self, server: DemoServer, action: str, thread: str, **parts: Any) -> list[Event]:
        url = f"{server.url}/copilotkit"
        if not self._single:
            return _posted(f"{url}/agent/ops/{action}", thread, **parts)
        call = {"method": f"agent/{action}", "params": {"agentId": "ops"}}
        return _posted(url, thread, envelope=call, **parts)

    def opens(self, server: DemoServer, thread: str) -> None:
        assert _open(self._do(server, "run", thread, messages=_message()))

    def shows(self, server: DemoServer, thread: str) -> tuple[bool, str]:
        events = self._do(server, "connect", thread)
        return bool(_open(events)), _shown(events)

    def answers(self, server: DemoServer, thread: str) -> None:
        (asked,) = _open(self._do(server, "connect", thread))
        own = {"role": "tool", "toolCallId": asked["toolCallId"], "content": json.dumps(YES)}
        entry = {"interruptId": asked["id"], "status": "resolved", "payload": YES}
        events = self._do(server, "run", thread, messages=[{"id": "own", **own}], resume=[entry])
        assert _open(events) == []
        assert events[-1]["type"] == "RUN_FINISHED"


ALL: dict[str, Dialect] = {
    "client": PythonClient(),
    "terminal": Terminal(),
    "session": Session(),
    "older": Older(),
    "copilotkit": Runtime(single=False),
    "copilotkit-single": Runtime(single=True),
}


@cache
def _http() -> httpx.Client:
    """One for all: each new one reads the certificates of the machine first."""
    return httpx.Client(timeout=PATIENCE)


async def _drain(events: AsyncIterator[Event]) -> None:
    async for _ in events:
        pass


def _message() -> list[Event]:
    return [{"id": "m-1", "role": "user", "content": TEXT}]


def _posted(url: str, thread: str, *, envelope: Event | None = None, **parts: Any) -> list[Event]:
    body = run_input(thread, **parts)
    sent = body if envelope is None else {**envelope, "body": body}
    answer = _http().post(url, json=sent, headers={"accept": "text/event-stream"})
    assert answer.status_code == 200, answer.text
    return list(events_of(answer.text.splitlines()))


def _open(events: list[Event]) -> list[Event]:
    found: list[Event] = events[-1].get("outcome", {}).get("interrupts", [])
    return found


def _asked(events: list[Event]) -> list[str]:
    assert "outcome" not in events[-1] or events[-1]["outcome"]["type"] != "interrupt"
    return [event["value"] for event in events if event.get("name") == "on_interrupt"]


def _shown(events: list[Event]) -> str:
    return _texts(each for event in events for each in event.get("messages", ()))


def _texts(messages: Iterator[Event] | list[Event]) -> str:
    contents = (message.get("content") for message in messages)
    return "\n".join(content for content in contents if isinstance(content, str))
