"""Anthropic's messages: a request as they take it, and a reply out of the events of their stream.

Pure. Events are read by name, be they mappings or an SDK's objects.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from sayso.agents.providers.completions import Piece, read
from sayso.agents.providers.exchange import ModelRequest, ProviderError, Reply, RequestedCall
from sayso.agents.providers.history import Media, Said, conversation, parts_of
from sayso.base import jsonvalue

MAX_TOKENS = 8192
"""Tokens of one reply, where the settings do not say."""
_GIVEN = frozenset(
    {
        ("document", "application/pdf"),
        ("image", "image/gif"),
        ("image", "image/jpeg"),
        ("image", "image/png"),
        ("image", "image/webp"),
    }
)
"""Kinds and media types that can be given by their data."""


def body_of(request: ModelRequest) -> dict[str, Any]:
    """The body of a request for a stream; settings that are None are left out."""
    body: dict[str, Any] = {
        "model": request.model,
        "messages": _messages(request),
        "max_tokens": MAX_TOKENS,
        "stream": True,
        "system": request.system or None,
    }
    if request.tools:
        body["tools"] = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": {"type": "object", **tool.parameters},
            }
            for tool in request.tools
        ]
    body |= request.settings
    if request.notice is not None and request.tools:
        # A history with calls needs its tools; that none may be called is said apart.
        body["tool_choice"] = {"type": "none"}
    return {name: value for name, value in body.items() if value is not None}


def _messages(request: ModelRequest) -> list[dict[str, Any]]:
    """Two roles that take turns; results are blocks of the user's."""
    messages: list[dict[str, Any]] = []

    def add(role: str, blocks: list[dict[str, Any]]) -> None:
        if not blocks:
            return
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})

    for said in conversation(request):
        if said.role != "assistant":
            add("user", [_block(part) for part in said.content if part.get("text") != ""])
            continue
        add("assistant", _assistant(said))
        add("user", [_result(call_id, content) for call_id, content in said.results])
    if messages and messages[0]["role"] == "assistant":
        beginning = [{"type": "text", "text": "(The beginning is left out.)"}]
        messages.insert(0, {"role": "user", "content": beginning})
    return messages


def _assistant(said: Said) -> list[dict[str, Any]]:
    """The words of the model: its own blocks within a turn, made of text and calls otherwise."""
    calls = [
        {"type": "tool_use", "id": id, "name": name, "input": _object(arguments)}
        for id, name, arguments in said.calls
    ]
    own = said.raw.get("blocks") if isinstance(said.raw, Mapping) else None
    if own is None:
        return [*({"type": "text", "text": part["text"]} for part in said.content), *calls]
    made = iter(calls)
    return [dict(next(made)) if block["type"] == "tool_use" else dict(block) for block in own]


def _object(arguments: str) -> Any:
    try:
        value = jsonvalue.decode(arguments.encode())
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _result(call_id: str, content: Any) -> dict[str, Any]:
    blocks = content if isinstance(content, str) else [_block(part) for part in parts_of(content)]
    return {"type": "tool_result", "tool_use_id": call_id, "content": blocks or '""'}


def _block(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    media = Media.of(part)
    has_form = media.data is not None and (media.kind, media.mime_type) in _GIVEN
    source: dict[str, Any] | None = None
    if media.kind == "image" and media.url:
        source = {"type": "url", "url": media.url}
    elif has_form:
        source = {"type": "base64", "media_type": media.mime_type, "data": media.data}
    elif media.kind == "document" and (text := _plain(media)) is not None:
        source = {"type": "text", "media_type": "text/plain", "data": text}
    if source is None:
        return {"type": "text", "text": media.described()}
    named = {"title": media.name} if media.kind == "document" and media.name else {}
    return {"type": media.kind, "source": source, **named}


def _plain(media: Media) -> str | None:
    """The text of a document that is text; None for any other."""
    if not media.mime_type.startswith("text/") or media.data is None:
        return None
    try:
        return base64.b64decode(media.data).decode() or None
    except (binascii.Error, UnicodeDecodeError):
        return None


_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""Deltas that are added to a text of their block, by the name of both's member."""


class MessagesReader:
    """Puts a reply together from the events of a stream."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._finish = ""
        self._counts: dict[str, int] = {}

    def take(self, event: Any) -> list[Piece]:
        """Take one event; returns what it adds for people to read.

        A piece `sealed` is the signature of the thought that has ended.
        """
        match read(event, "type"):
            case "message_start":
                self._count(read(read(event, "message"), "usage"))
            case "content_block_start":
                return self._begin(read(event, "index"), _plain_block(read(event, "content_block")))
            case "content_block_delta":
                return self._delta(read(event, "index"), read(event, "delta"))
            case "content_block_stop":
                block = self._blocks.get(read(event, "index"), {})
                if block.get("type") == "thinking" and block.get("signature"):
                    return [("sealed", block["signature"])]
                if block.get("type") == "redacted_thinking" and block.get("data"):
                    return [("redacted", block["data"])]
            case "message_delta":
                self._count(read(event, "usage"))
                self._finish = read(read(event, "delta"), "stop_reason") or self._finish
        return []

    def _begin(self, index: int, block: dict[str, Any]) -> list[Piece]:
        self._blocks[index] = block
        if block["type"] == "tool_use":
            arguments = block.get("input")
            block["input"] = jsonvalue.encode(arguments).decode() if arguments else ""
        if block["type"] == "text" and block.get("text"):
            return [("text", block["text"])]
        return []

    def _delta(self, index: int, delta: Any) -> list[Piece]:
        kind, block = read(delta, "type"), self._blocks.setdefault(index, {"type": "text"})
        if kind == "input_json_delta":
            if not isinstance(block.get("input"), str):
                block["input"] = ""
            block["input"] += read(delta, "partial_json") or ""
        elif kind in _DELTAS:
            name = _DELTAS[kind]
            piece = read(delta, name) or ""
            block[name] = (block.get(name) or "") + piece
            if kind == "text_delta":
                return [("text", piece)]
            if kind == "thinking_delta":
                return [("thought", piece)]
        return []

    def _count(self, usage: Any) -> None:
        for name in (
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        ):
            if isinstance(count := read(usage, name), int):
                self._counts[name] = count

    def reply(self, host: str) -> Reply:
        """The whole reply.

        Raises:
            ProviderError: the stream ended without saying why: it broke off.
        """
        if not self._finish:
            raise ProviderError(host, problem="the answer broke off, without a stop_reason")
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        calls = tuple(
            RequestedCall(str(block.get("id") or ""), str(block.get("name")), block["input"])
            for block in blocks
            if block["type"] == "tool_use"
        )
        text = "".join(block.get("text") or "" for block in blocks if block["type"] == "text")
        raw = {"blocks": list(_kept(blocks))}
        return Reply(text, calls, self._finish, self.usage, raw)

    @property
    def usage(self) -> dict[str, int]:
        """The tokens that were reported so far; those of a cache are a part of the input."""
        counts = dict(self._counts)
        cached = counts.pop("cache_read_input_tokens", 0)
        written = counts.pop("cache_creation_input_tokens", 0)
        if "input_tokens" in counts:
            counts["input_tokens"] += cached + written
        more = {"cached_input_tokens": cached, "cache_write_input_tokens": written}
        return counts | {name: count for name, count in more.items() if count}


def _plain_block(block: Any) -> dict[str, Any]:
    """A block as a mapping of its own."""
    if isinstance(block, Mapping):
        return dict(block)
    members: dict[str, Any] = block.model_dump(mode="json", exclude_none=True)
    return members


def _kept(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The blocks that go back: no empty text, which is refused; calls are put in by their ids."""
    for block in blocks:
        if block["type"] == "tool_use":
            yield {"type": "tool_use"}
        elif block["type"] == "server_tool_use":
            value = block.get("input")
            yield {**block, "input": _object(value) if isinstance(value, str) else value or {}}
        elif block["type"] != "text" or block.get("text"):
            yield block
