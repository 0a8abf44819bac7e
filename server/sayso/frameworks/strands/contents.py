"""Messages and results of tools: from the thread, to clients, and as they are recorded. Pure.

The thread is the history: what it lost, edited or hid is not in it, and what a client made up
never was.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic_core import from_json, to_json, to_jsonable_python

from sayso import Told, parts

_BYTES: Final = "sayso:bytes"
_MAKE: Final = {"image": parts.image, "video": parts.video, "document": parts.document}
_IMAGES: Final = ("gif", "jpeg", "png", "webp")

Block = dict[str, Any]


def history_of(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Messages in turn: neighbours of one side are one message."""
    history: list[Any] = []
    calls: set[str] = set()
    for message in messages:
        role = "assistant" if message["role"] in ("assistant", "reasoning") else "user"
        blocks = _blocks(message, calls)
        if not blocks:
            continue
        if history and history[-1]["role"] == role:
            history[-1]["content"].extend(blocks)
        else:
            history.append({"role": role, "content": blocks})
    return history


def returned(result: Mapping[str, Any]) -> Told[Any]:
    """The record of a result of a tool, and its text for clients."""
    content = result["content"]
    return Told({"status": result["status"], "content": _dumped(content)}, _told(content))


def from_person(value: Any) -> Told[Any]:
    """The record of a result that a person gives in place of the tool's own."""
    block = {"text": value} if isinstance(value, str) else {"json": value}
    return returned({"status": "success", "content": [block]})


def restored(record: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a record, but for the id of its call."""
    return {"status": record["status"], "content": _loaded(record["content"])}


def _blocks(message: Mapping[str, Any], calls: set[str]) -> list[Block]:
    role, content = message["role"], message.get("content") or ""
    if role == "user":
        return _content(content)
    if role == "reasoning":
        seal = message.get("encryptedValue")
        thought = {"text": content, "signature": seal}
        return [{"reasoningContent": {"reasoningText": thought}}] if seal else []
    if role == "tool":
        use = message["toolCallId"]
        if use not in calls:  # a result without its call, which no model takes
            return []
        result = {"toolUseId": use, "status": "success", "content": _content(content)}
        return [{"toolResult": result}]
    if role != "assistant":
        return []
    blocks = _content(content)
    for call in message.get("toolCalls") or ():
        function = call["function"]
        calls.add(call["id"])
        arguments = from_json(function["arguments"] or "{}")
        use = {"toolUseId": call["id"], "name": function["name"], "input": arguments}
        blocks.append({"toolUse": use})
    return blocks


def _content(content: str | Sequence[Mapping[str, Any]]) -> list[Block]:
    if isinstance(content, str):
        return [{"text": content}] if content else []
    return [_block(part) for part in content]


def _block(part: Mapping[str, Any]) -> Block:
    if part["type"] == "text":
        return {"text": str(part["text"])}
    source = part.get("source") or {}
    kind = (source.get("mimeType") or "").partition("/")[2]
    if source.get("type") == "data" and source.get("value") is not None:
        data = {"bytes": base64.b64decode(source["value"])}
        if part["type"] == "image" and kind in _IMAGES:
            return {"image": {"format": kind, "source": data}}
        if part["type"] == "document" and kind == "pdf":
            return {"document": {"format": kind, "name": "document", "source": data}}
    return {"text": f"[{part['type']}: {source.get('value') or 'without content'}]"}


def _told(content: Sequence[Block]) -> str | list[parts.Part]:
    """A result as clients and later turns read it: text, or parts if it has media."""
    if not any(_media(block) for block in content):
        return "\n".join(_words(block) for block in content)
    return [_part(block) for block in content]


def _media(block: Block) -> str | None:
    """The kind of a block that has bytes of its own."""
    for kind in _MAKE:
        if isinstance(block.get(kind, {}).get("source", {}).get("bytes"), bytes):
            return kind
    return None


def _part(block: Block) -> parts.Part:
    kind = _media(block)
    if kind is None:
        return parts.text(_words(block))
    media = block[kind]
    top = "application" if kind == "document" else kind
    return _MAKE[kind](data=media["source"]["bytes"], mime_type=f"{top}/{media['format']}")


def _words(block: Block) -> str:
    if "text" in block:
        return str(block["text"])
    return to_json(block.get("json", block), serialize_unknown=True).decode()


def _dumped(value: Any) -> Any:
    """A value as JSON, with its bytes."""
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {str(key): _dumped(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_dumped(member) for member in value]
    return to_jsonable_python(value, serialize_unknown=True)


def _loaded(value: Any) -> Any:
    if isinstance(value, list):
        return [_loaded(member) for member in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_BYTES}:
        return base64.b64decode(value[_BYTES])
    return {key: _loaded(member) for key, member in value.items()}
