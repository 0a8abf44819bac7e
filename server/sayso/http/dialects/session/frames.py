"""The frames of a session: what a run says, in the words of the session dialect."""

from collections.abc import Callable, Iterator
from typing import Any

from sayso.base import jsonvalue
from sayso.base.codes import Code
from sayso.protocol.frames import object_frame
from sayso.streams.reader import Reader
from sayso.turns.calls.streaming import OUTPUT

Json = dict[str, Any]


def error_frame(code: str, message: str) -> bytes:
    """The end of a body that failed."""
    return object_frame({"type": "error", "code": code, "message": message})


class SessionBody:
    """The body of an answer: the events of a run's reader, in the words of this dialect.

    `history`: the first snapshot is told as well, user messages included. `pieces`: messages are
    told piece by piece too, and what tools say while they run. `problem` goes with the question,
    whose id is `asked` once the body has ended with one. For the rest see `sse.FrameSource`.
    """

    def __init__(
        self,
        reader: Reader,
        session_id: str,
        *,
        history: bool = False,
        pieces: bool = False,
        problem: Json | None = None,
    ) -> None:
        self.reader = reader
        self.ended: bool = False
        self.complete: bool = False
        self.delivered = False
        self.asked: str | None = None
        self.on_asked: Callable[[str], None] = lambda _: None  # told before the frame goes out
        self._ready = b""
        self._woken = False
        self._session_id = session_id
        self._history = history
        self._pieces = pieces
        self._problem = problem
        self._known: set[tuple[str, str]] = set()
        self._snapshots = 0
        self._texts: dict[str, tuple[str, list[str]]] = {}
        self._calls: dict[str, tuple[str, list[str]]] = {}
        self._outputs: dict[str, Json] = {}

    async def readable(self) -> None:
        """Wait for something to tell: most events of a run say nothing to a session."""
        self._woken = False
        while not (self._ready or self._woken or self.reader.ended):
            await self.reader.readable()
            self._ready += self._read()

    def drain(self) -> bytes:
        """All frames that are ready now."""
        ready = self._ready + self._read()
        self._ready = b""
        self.ended, self.complete = self.reader.ended, self.reader.complete
        return ready

    def wake(self) -> None:
        """End the waiting, although nothing is ready."""
        self._woken = True
        self.reader.wake()

    def detach(self) -> None:
        """The body is over; idempotent."""
        self.reader.detach()
        self.ended = True

    def _read(self) -> bytes:
        frames = [
            object_frame(frame)
            for event in self.reader.drain_events()
            for frame in self._event(event)
        ]
        return b"".join(frames)

    def _event(self, event: Json) -> Iterator[Json]:
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
            case "ACTIVITY_SNAPSHOT" | "ACTIVITY_DELTA":
                yield from self._activity(event)
            case "MESSAGES_SNAPSHOT":
                yield from self._snapshot(event["messages"])
            case "RUN_FINISHED":
                yield self._end(event)
            case "RUN_ERROR":
                yield _failure(event)

    def _piece(self, message_id: str, delta: str) -> Iterator[Json]:
        role, parts = self._texts[message_id]
        parts.append(delta)
        if self._pieces:
            yield {"type": "message", "message_id": message_id, "role": role, "delta": delta}

    def _call(self, call_id: str, name: str, arguments: str) -> Iterator[Json]:
        if self._is_new("call", call_id):
            yield {
                "type": "tool_call",
                "tool_call_id": call_id,
                "name": name,
                "args": _arguments(arguments),
            }

    def _result(self, message_id: str, call_id: str, content: Any) -> Iterator[Json]:
        if self._is_new("message", message_id):
            yield {"type": "tool_result", "tool_call_id": call_id, "content": content}

    def _activity(self, event: Json) -> Iterator[Json]:
        if event["activityType"] != OUTPUT:
            return
        if "content" in event:
            yield from self._output(event["messageId"], event["content"])
        else:
            for change in event["patch"]:
                yield from self._said(event["messageId"], change["value"])

    def _output(self, message_id: str, content: Json) -> Iterator[Json]:
        """Tell the output of a tool that begins to speak, or continues where this body begins."""
        continues = message_id in self._outputs
        self._outputs[message_id] = content
        if not continues:
            yield from self._said(message_id, "".join(content["chunks"]))

    def _said(self, message_id: str, delta: str) -> Iterator[Json]:
        content = self._outputs[message_id]
        if self._pieces:
            yield {
                "type": "tool_output",
                "tool_call_id": content["toolCallId"],
                "name": content["tool"],
                "delta": delta,
            }

    def _snapshot(self, messages: list[Json]) -> Iterator[Json]:
        """Tell what is new in a snapshot; the first one is where this body begins."""
        self._snapshots += 1
        shows = self._history or self._snapshots > 1
        over = {message["toolCallId"] for message in messages if message["role"] == "tool"}
        for message in messages:
            if message.get("activityType") == OUTPUT:
                if message["content"]["toolCallId"] not in over:
                    yield from self._output(message["id"], message["content"])
                continue
            for value in self._shown(message):
                if shows and (value.get("role") != "user" or self._history):
                    yield value

    def _shown(self, message: Json) -> Iterator[Json]:
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

    def _end(self, event: Json) -> Json:
        interrupts = event.get("outcome", {}).get("interrupts")
        if interrupts:
            return self._interrupt(interrupts[0], len(interrupts) - 1)
        ours = event.get("metadata", {}).get("sayso", {})
        if event.get("outcome", {}).get("type") == "cancelled":
            return _failure({"code": Code.ABORT.value, "message": ours["message"]})
        if "problem" in ours:  # of the last run, which a look finds at the end of the session
            return _failure(ours["problem"])
        done = {"type": "done", "session_id": self._session_id}
        return done | ({"result": event["result"]} if "result" in event else {})

    def _interrupt(self, interrupt: Json, remaining: int) -> Json:
        self.asked = interrupt["id"]
        self.on_asked(interrupt["id"])
        return _without_none(
            {
                "type": "interrupt",
                "interrupt_id": interrupt["id"],
                "reason": interrupt["reason"],
                "prompt": interrupt.get("message", ""),
                "schema": interrupt.get("responseSchema"),
                "tool_call_id": interrupt.get("toolCallId"),
                "expires_at": interrupt.get("expiresAt"),
                "metadata": interrupt.get("metadata"),
                "remaining": remaining,
                "problem": self._problem,
            }
        )


def _failure(of: Json) -> Json:
    return _without_none({"type": "error", "code": of.get("code"), "message": of["message"]})


def _message(message_id: str, role: str, content: Any) -> Json:
    return {"type": "message", "message_id": message_id, "role": role, "content": content}


def _arguments(text: str) -> Any:
    """The arguments of a call; as text if they are no JSON, which only a client's own can be."""
    try:
        return jsonvalue.decode(text.encode())
    except ValueError:
        return text


def _without_none(value: Json) -> Json:
    return {name: member for name, member in value.items() if member is not None}
