"""The author's view of the request that began a turn, or of one that answered it. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sayso.base import jsonvalue
from sayso.base.records import Message
from sayso.gate.history import paired
from sayso.gate.settled import as_model_text
from sayso.protocol.runinput import RunInput

_UNANSWERED = "Unanswered: nobody said what came of this call."


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInput:
    """A run input in Python's words, the same for the whole turn (design 3).

    `messages` are the visible history as JSON objects, oldest first, without activities, which are
    shown and not said (MS-08), but for settled questions, told as user text, and with a word after
    each call that was never answered (TC-16); `text` the newest user message's text. `state`,
    `tools`, `context` and `forwarded_props` are as the client sent them.
    """

    thread_id: str
    run_id: str
    text: str = ""
    history: "History" = field(default_factory=lambda: History(), repr=False)
    state: Any = field(default_factory=dict)
    tools: tuple[Mapping[str, Any], ...] = ()
    context: tuple[Mapping[str, Any], ...] = ()
    forwarded_props: Any = None

    @property
    def messages(self) -> tuple[Mapping[str, Any], ...]:
        """The visible history, oldest first."""
        return self.history.said

    @classmethod
    def from_request(cls, request: RunInput, state: Any, text: str) -> "TurnInput":
        """The author's view of a request; its messages are those of the stored thread."""
        return cls(
            thread_id=request.thread_id,
            run_id=request.run_id,
            text=text,
            state=state,
            tools=request.tools,
            context=request.context,
            forwarded_props=request.forwarded_props,
        )

    @classmethod
    def from_json(
        cls, thread_id: str, stored: Mapping[str, Any], messages: Sequence[Message]
    ) -> "TurnInput":
        """The author's view again: of what `to_json` stored, and the messages of the thread."""
        return cls(
            thread_id=thread_id,
            run_id=stored["runId"],
            text=stored["text"],
            history=History(messages[: stored["history"]]),
            state=stored["state"],
            tools=tuple(stored["tools"]),
            context=tuple(stored["context"]),
            forwarded_props=stored["forwardedProps"],
        )

    def to_json(self, state: bytes, history: int) -> bytes:
        """The stored form, with the state as the thread has it.

        `history` is how many messages the thread had when the turn began.
        """
        return jsonvalue.encode(
            {
                "runId": self.run_id,
                "text": self.text,
                "state": jsonvalue.raw_json(state),
                "tools": self.tools,
                "context": self.context,
                "forwardedProps": self.forwarded_props,
                "history": history,
            }
        )


class History:
    """The list behind `TurnInput.messages`: stored messages, decoded for agents that read them.

    Or what an agent is told instead, as `said`.
    """

    def __init__(
        self, stored: Sequence[Message] = (), said: tuple[Mapping[str, Any], ...] | None = None
    ) -> None:
        self._stored = stored
        self._told = said

    @cached_property
    def said(self) -> tuple[Mapping[str, Any], ...]:
        """The messages as the agent is given them."""
        return tuple(_said(self._stored)) if self._told is None else self._told


def _said(messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    """The visible history; a call that nobody has answered is followed by a word about that.

    Models refuse a history with a call left open. Only the agent gets to read the word: it is no
    result, and none of the client's messages (design 4, TC-11).
    """
    answered = {
        jsonvalue.decode(message.body)["toolCallId"]
        for message in messages
        if message.role == "tool"
    }
    for message in paired(messages):
        if message.visibility == "hidden":
            continue
        body: dict[str, Any] = jsonvalue.decode(message.body)
        text = as_model_text(body) if message.role == "activity" else body
        if text is not None:
            yield text
        for call in body.get("toolCalls") or () if message.role == "assistant" else ():
            if call["id"] not in answered:
                yield {
                    "id": f"{call['id']}-unanswered",
                    "role": "tool",
                    "toolCallId": call["id"],
                    "content": _UNANSWERED,
                }


def text_of_messages(messages: Sequence[Message]) -> str:
    """The text of the newest user message; its text parts joined by line breaks."""
    for message in reversed(messages):
        if message.role == "user":
            content = jsonvalue.decode(message.body)["content"]
            if isinstance(content, str):
                return content
            return "\n".join(part["text"] for part in content if part["type"] == "text")
    return ""
