"""A thread's history, as every provider wants it: calls with their results, parts by kind. Pure."""

import functools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from sayso.agents.providers.exchange import ModelRequest, distinct_ids

_log = logging.getLogger("sayso.model")

Message = Mapping[str, Any]
UNANSWERED = "Unanswered: nobody said what came of this call."


@dataclass(slots=True)
class Said:
    """The words of one side: text, calls with their results, and for a user content parts.

    `blocks` is what a provider gave for this very reply, `None` for what came from the history.
    """

    role: str
    content: list[Mapping[str, Any]] = field(default_factory=list)
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    """Id, name, and arguments as JSON text."""
    results: list[tuple[str, Any]] = field(default_factory=list)
    """Id of the call, and the content of its result."""
    reasoning: str = ""
    raw: Any = None

    @property
    def text(self) -> str:
        """Its text parts, on lines of their own."""
        return "\n".join(part["text"] for part in self.content if part["type"] == "text")


def conversation(request: ModelRequest) -> list[Said]:
    """The history and the rounds of this turn, each call with exactly one result behind it.

    Neighbouring messages of the assistant are one, as models have it.
    """
    said = list(_history(request.messages))
    for ids, one_round in zip(distinct_ids(request), request.rounds, strict=True):
        reply = one_round.reply
        raw = reply.raw if isinstance(reply.raw, Mapping) else {}
        said.append(
            Said(
                "assistant",
                parts_of(reply.text),
                [
                    (own, call.name, "{}" if call.object() is None else call.arguments or "{}")
                    for own, call in zip(ids, reply.calls, strict=True)
                ],
                list(zip(ids, one_round.results, strict=True)),
                str(raw.get("reasoning") or ""),
                raw,
            )
        )
    if request.notice is not None:
        said.append(Said("user", parts_of(request.notice)))
    return said


def _history(messages: Sequence[Message]) -> Iterator[Said]:
    results = {
        message["toolCallId"]: message["content"]
        for message in messages
        if message["role"] == "tool"
    }
    open_turn: Said | None = None
    thought = ""
    for message in messages:
        role = message["role"]
        if role == "reasoning":
            thought = f"{thought}\n{message.get('content') or ''}".strip()
        elif role == "assistant":
            if open_turn is None:
                open_turn = Said("assistant", reasoning=thought)
            thought = ""
            _add(open_turn, message, results)
        else:
            if open_turn is not None:
                yield open_turn
                open_turn = None
            if role in ("user", "system", "developer"):
                thought = ""
                yield Said(role, parts_of(message.get("content")))
    if open_turn is not None:
        yield open_turn


def _add(said: Said, message: Message, results: Mapping[str, Any]) -> None:
    said.content += [part for part in parts_of(message.get("content")) if part["text"]]
    for call in message.get("toolCalls") or ():
        function = call["function"]
        said.calls.append((call["id"], function["name"], function.get("arguments") or "{}"))
        said.results.append((call["id"], results.get(call["id"], UNANSWERED)))


def parts_of(content: Any) -> list[Mapping[str, Any]]:
    """A content as parts; a text is one of them, and an empty one none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or ())


def last(count: int) -> Callable[[Sequence[Message]], Sequence[Message]]:
    """Trim a history to its last messages: `turn.chat(…, messages=last(100))`.

    It is cut where a message of the user begins, so that no call loses its result. The newest one
    is always kept, with all that came behind it.

    Raises:
        ValueError: less than one message.
    """
    if count < 1:
        raise ValueError(f"last() keeps one message at least, not {count!r}")

    def trimmed(messages: Sequence[Message]) -> Sequence[Message]:
        begins = [index for index, message in enumerate(messages) if message["role"] == "user"]
        if len(messages) <= count or not begins:
            return messages
        first = len(messages) - count
        return messages[next((index for index in begins if index >= first), begins[-1]) :]

    return trimmed


@dataclass(frozen=True, slots=True)
class Media:
    """A content part that is no text: its kind, its media type, its data or its URL."""

    kind: str
    mime_type: str
    name: str
    data: str | None = None
    url: str | None = None

    @classmethod
    def of(cls, part: Mapping[str, Any]) -> "Media":
        """Read a part, which may be of a kind that nobody here knows."""
        source = part.get("source")
        source = source if isinstance(source, Mapping) else {}
        value = source.get("value")
        url = value if source.get("type") == "url" else None
        filename = part.get("metadata")
        filename = filename.get("filename") if isinstance(filename, Mapping) else None
        if not isinstance(filename, str) or not filename:
            filename = unquote(urlsplit(url).path.rpartition("/")[2]) if url else ""
        return cls(
            kind=str(part.get("type")),
            mime_type=str(source.get("mimeType") or ""),
            name=filename,
            data=value if source.get("type") == "data" else None,
            url=url,
        )

    @property
    def data_uri(self) -> str:
        """The data in a URI of its own."""
        return f"data:{self.mime_type or 'application/octet-stream'};base64,{self.data}"

    def described(self) -> str:
        """The part in words, for a model that cannot be given it."""
        _warn(self.kind, "a URL" if self.url else "data")
        named = " ".join(word for word in (self.kind, self.name or self.mime_type) if word)
        return f"[{named}: {self.url}]" if self.url else f"[{named}]"


@functools.cache
def _warn(kind: str, way: str) -> None:
    """Log it once for each kind in the life of the process: every request holds the history."""
    _log.warning("a provider takes no %s by %s: models are told its name instead", kind, way)
