"""A run's events in the words of the session dialect. Pure: frames in, frames out.

    {"type": "message", "message_id", "role", "content"}     a whole message
    {"type": "message", "message_id", "role", "delta"}       a piece of one, for those who ask
    {"type": "tool_call", "tool_call_id", "name", "args"}
    {"type": "tool_result", "tool_call_id", "content"}
    {"type": "interrupt", "interrupt_id", "reason", "prompt", "schema"?, "tool_call_id"?,
     "expires_at"?, "metadata"?, "remaining", "problem"?}    the first open question
    {"type": "error", "code"?, "message"}
    {"type": "done", "session_id", "result"?}

One of the last three ends a body. A message whose id came before stands for the same message.
"""

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from sayso import jsonvalue

__all__ = ["Translator", "error_frame", "session_frame"]

Event = dict[str, Any]


def session_frame(value: Event) -> bytes:
    """One frame."""
    return b"data: " + orjson.dumps(value) + b"\n\n"


def error_frame(code: str, message: str) -> bytes:
    """The end of a body that failed."""
    return session_frame({"type": "error", "code": code, "message": message})


class Translator:
    """Reads one run's frames. `asked` is the id of the question that its body ended with.

    `history`: the first snapshot is told as well, user messages included. `pieces`: messages are
    told piece by piece too. `problem` goes with the question.
    """

    def __init__(
        self,
        session_id: str,
        *,
        history: bool = False,
        pieces: bool = False,
        problem: Event | None = None,
    ) -> None:
        self.asked: str | None = None
        self.on_asked: Callable[[str], None] = lambda _: None  # told before the frame goes out
        self._session_id = session_id
        self._history = history
        self._pieces = pieces
        self._problem = problem
        self._known: set[tuple[str, str]] = set()
        self._snapshots = 0
        self._texts: dict[str, tuple[str, list[str]]] = {}
        self._calls: dict[str, tuple[str, list[str]]] = {}

    def read(self, frames: bytes) -> bytes:
        """The frames that whole frames of a run become; empty if nothing is to be told."""
        told = [
            session_frame(value)
            for block in frames.split(b"\n\n")
            if block.startswith(b"data: ")
            for value in self._event(orjson.loads(block[6:]))
        ]
        return b"".join(told)

    def _event(self, event: Event) -> Iterator[Event]:
        match event["type"]:
            case "TEXT_MESSAGE_START":
                self._texts[event["messageId"]] = (event["role"], [])
            case "TEXT_MESSAGE_CONTENT":
                yield from self._piece(event["messageId"], event["delta"])
            case "TEXT_MESSAGE_END":
                role, parts = self._texts.pop(event["messageId"])
                self._known.add(("message", event["messageId"]))
                yield _message(event["messageId"], role, "".join(parts))
            case "TOOL_CALL_START":
                self._calls[event["toolCallId"]] = (event["toolCallName"], [])
            case "TOOL_CALL_ARGS":
                self._calls[event["toolCallId"]][1].append(event["delta"])
            case "TOOL_CALL_END":
                name, parts = self._calls.pop(event["toolCallId"])
                yield from self._call(event["toolCallId"], name, "".join(parts))
            case "TOOL_CALL_RESULT":
                yield from self._result(event["messageId"], event["toolCallId"], event["content"])
            case "MESSAGES_SNAPSHOT":
                yield from self._snapshot(event["messages"])
            case "RUN_FINISHED":
                yield self._end(event)
            case "RUN_ERROR":
                yield _without_none(
                    {"type": "error", "code": event.get("code"), "message": event["message"]}
                )

    def _piece(self, message_id: str, delta: str) -> Iterator[Event]:
        role, parts = self._texts[message_id]
        parts.append(delta)
        if self._pieces:
            yield {"type": "message", "message_id": message_id, "role": role, "delta": delta}

    def _call(self, call_id: str, name: str, arguments: str) -> Iterator[Event]:
        if self._is_new("call", call_id):
            yield {
                "type": "tool_call",
                "tool_call_id": call_id,
                "name": name,
                "args": _arguments(arguments),
            }

    def _result(self, message_id: str, call_id: str, content: Any) -> Iterator[Event]:
        if self._is_new("message", message_id):
            yield {"type": "tool_result", "tool_call_id": call_id, "content": content}

    def _snapshot(self, messages: list[Event]) -> Iterator[Event]:
        """What a snapshot holds and this body has not told; the first one is where it begins."""
        self._snapshots += 1
        told = self._history or self._snapshots > 1
        for message in messages:
            for value in self._shown(message):
                if told and (value.get("role") != "user" or self._history):
                    yield value

    def _shown(self, message: Event) -> Iterator[Event]:
        if message["role"] == "tool":
            yield from self._result(message["id"], message["toolCallId"], message["content"])
        elif message["role"] in ("assistant", "user"):
            content = message.get("content")
            if self._is_new("message", message["id"]) and content:
                yield _message(message["id"], message["role"], content)
            for call in message.get("toolCalls", ()):
                function = call["function"]
                yield from self._call(call["id"], function["name"], function["arguments"])

    def _is_new(self, kind: str, identifier: str) -> bool:
        new = (kind, identifier) not in self._known
        self._known.add((kind, identifier))
        return new

    def _end(self, event: Event) -> Event:
        interrupts = event.get("outcome", {}).get("interrupts")
        if interrupts:
            return self._interrupt(interrupts[0], len(interrupts) - 1)
        done = {"type": "done", "session_id": self._session_id}
        return done | ({"result": event["result"]} if "result" in event else {})

    def _interrupt(self, asked: Event, remaining: int) -> Event:
        self.asked = asked["id"]
        self.on_asked(asked["id"])
        return _without_none(
            {
                "type": "interrupt",
                "interrupt_id": asked["id"],
                "reason": asked["reason"],
                "prompt": asked.get("message", ""),
                "schema": asked.get("responseSchema"),
                "tool_call_id": asked.get("toolCallId"),
                "expires_at": asked.get("expiresAt"),
                "metadata": asked.get("metadata"),
                "remaining": remaining,
                "problem": self._problem,
            }
        )


def _message(message_id: str, role: str, content: Any) -> Event:
    return {"type": "message", "message_id": message_id, "role": role, "content": content}


def _arguments(text: str) -> Any:
    """The arguments of a call; as text if they are no JSON, which only a client's own can be."""
    try:
        return jsonvalue.decode(text.encode())
    except ValueError:
        return text


def _without_none(value: Event) -> Event:
    return {name: member for name, member in value.items() if member is not None}
