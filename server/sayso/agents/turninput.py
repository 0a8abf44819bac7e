"""What an author sees of the request that began a turn, or of one that answered it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sayso import jsonvalue
from sayso.gate.history import paired
from sayso.protocol.runinput import RunInput
from sayso.records import Message

__all__ = ["TurnInput", "begun_with", "request_of", "text_of", "turn_input"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInput:
    """A run input in Python's words, the same for the whole turn (design 3).

    `messages` is the visible history as JSON objects, oldest first, without activities, which are
    shown and not said (MS-08); `text` the newest user message's text. `state`, `tools`, `context`
    and `forwarded_props` are as the client sent them.
    """

    thread_id: str
    run_id: str
    text: str = ""
    messages: tuple[Mapping[str, Any], ...] = ()
    state: Any = field(default_factory=dict)
    tools: tuple[Mapping[str, Any], ...] = ()
    context: tuple[Mapping[str, Any], ...] = ()
    forwarded_props: Any = None


def begun_with(request: RunInput, state: Any, text: str) -> TurnInput:
    """The author's view of a request; its messages are those of the stored thread."""
    return TurnInput(
        thread_id=request.thread_id,
        run_id=request.run_id,
        text=text,
        state=state,
        tools=request.tools,
        context=request.context,
        forwarded_props=request.forwarded_props,
    )


def request_of(given: TurnInput, history: int) -> bytes:
    """The stored form; `history` is how many messages the thread had when the turn began."""
    return jsonvalue.encode(
        {
            "runId": given.run_id,
            "text": given.text,
            "state": given.state,
            "tools": given.tools,
            "context": given.context,
            "forwardedProps": given.forwarded_props,
            "history": history,
        }
    )


def turn_input(thread_id: str, stored: bytes, messages: Sequence[Message]) -> TurnInput:
    """The author's view again, from what `request_of` stored and the messages of the thread."""
    request = jsonvalue.decode(stored)
    return TurnInput(
        thread_id=thread_id,
        run_id=request["runId"],
        text=request["text"],
        messages=tuple(
            jsonvalue.decode(message.body)
            for message in paired(messages[: request["history"]])
            if message.visibility != "hidden" and message.role != "activity"
        ),
        state=request["state"],
        tools=tuple(request["tools"]),
        context=tuple(request["context"]),
        forwarded_props=request["forwardedProps"],
    )


def text_of(messages: Sequence[Message]) -> str:
    """The text of the newest user message; its text parts joined by line breaks."""
    for message in reversed(messages):
        if message.role == "user":
            content = jsonvalue.decode(message.body)["content"]
            if isinstance(content, str):
                return content
            return "\n".join(part["text"] for part in content if part["type"] == "text")
    return ""
