"""The thread's messages as input items of the SDK, each call with its result behind it. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Message = Mapping[str, Any]
Item = dict[str, Any]

_UNANSWERED = "Unanswered: nobody said what came of this call."


def items_of(messages: Sequence[Message]) -> list[Any]:
    """The history as a model of the SDK takes it; what a model thought is left out."""
    results = {m["toolCallId"]: m["content"] for m in messages if m["role"] == "tool"}
    return [item for message in messages for item in _items(message, results)]


def _items(message: Message, results: Mapping[str, Any]) -> Iterator[Item]:
    role, content = message["role"], message.get("content")
    if role in ("system", "developer", "assistant") and content:
        yield {"role": role, "content": content}
    elif role == "user":
        yield {"role": role, "content": _content(content or "")}
    if role != "assistant":
        return
    for call in message.get("toolCalls") or ():
        function = call["function"]
        named = {"name": function["name"], "arguments": function["arguments"]}
        yield {"type": "function_call", "call_id": call["id"], **named}
        output = _content(results.get(call["id"], _UNANSWERED))
        yield {"type": "function_call_output", "call_id": call["id"], "output": output}


def _content(content: str | Sequence[Message]) -> str | list[Item]:
    return content if isinstance(content, str) else [_part(part) for part in content]


def _part(part: Message) -> Item:
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    source = part.get("source") or {}
    value, is_data = source.get("value"), source.get("type") == "data"
    data = f"data:{source.get('mimeType') or 'application/octet-stream'};base64,{value}"
    if part["type"] == "image" and value:
        return {"type": "input_image", "image_url": data if is_data else value, "detail": "auto"}
    if part["type"] == "document" and value:
        name = (part.get("metadata") or {}).get("filename") or "document"
        file = {"filename": name, "file_data": data} if is_data else {"file_url": value}
        return {"type": "input_file", **file}
    words = f"[{part['type']}]" if is_data or not value else f"[{part['type']}: {value}]"
    return {"type": "input_text", "text": words}
