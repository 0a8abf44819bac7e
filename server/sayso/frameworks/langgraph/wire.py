"""Messages between AG-UI and LangChain: histories, what is said, and what is thought."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)

Body = Mapping[str, Any]


def langchain_messages(history: Iterable[Body]) -> list[AnyMessage]:
    """The history of a thread as LangChain's messages, under the same ids."""
    messages: list[AnyMessage] = []
    for body in history:
        message = _langchain_message(body)
        if message is None:
            continue
        last = messages[-1] if messages else None
        if isinstance(message, AIMessage) and isinstance(last, AIMessage) and not last.tool_calls:
            # A text and the calls behind it are one message of a model.
            messages[-1] = AIMessage(
                _joined(last.text, message.text), id=last.id, tool_calls=message.tool_calls
            )
        else:
            messages.append(message)
    return messages


def _joined(first: str, second: str) -> str:
    return f"{first}\n{second}" if first and second else first or second


def _langchain_message(body: Body) -> AnyMessage | None:
    """One message; None for what no model is told."""
    role, message_id, content = body["role"], body["id"], body.get("content")
    if role == "user":
        return HumanMessage(human_content(content), id=message_id)
    if role == "assistant":
        calls = [_langchain_call(call) for call in body.get("toolCalls") or ()]
        return AIMessage(content or "", id=message_id, tool_calls=calls)
    if role == "tool":
        return ToolMessage(
            _text(content),
            id=message_id,
            tool_call_id=body["toolCallId"],
            status="error" if body.get("error") else "success",
        )
    if role in ("system", "developer"):
        return SystemMessage(_text(content), id=message_id)
    return None


def _langchain_call(call: Body) -> Any:
    try:
        arguments = orjson.loads(call["function"]["arguments"] or b"{}")
    except orjson.JSONDecodeError:
        arguments = {}
    return {
        "id": call["id"],
        "name": call["function"]["name"],
        "args": arguments if isinstance(arguments, dict) else {},
        "type": "tool_call",
    }


def _text(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


def human_content(content: Any) -> Any:
    """The content of a user's message: its text, or LangChain's blocks of its parts."""
    if not isinstance(content, list):
        return content or ""
    blocks = [_block(part) for part in content]
    if all(block["type"] == "text" for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return blocks


_KINDS = {"image": "image", "audio": "audio", "video": "video", "document": "file"}


def _block(part: Body) -> dict[str, Any]:
    """A part as one of LangChain's standard blocks; told by its name where there is none."""
    if part.get("type") == "text":
        return {"type": "text", "text": part["text"]}
    source = part.get("source") or {}
    kind = _KINDS.get(part.get("type", ""))
    if kind is None or source.get("type") not in ("url", "data"):
        return {"type": "text", "text": f"[{part.get('type', 'attachment')}]"}
    block: dict[str, Any] = {"type": kind}
    if source.get("mimeType"):
        block["mime_type"] = source["mimeType"]
    block["url" if source["type"] == "url" else "base64"] = source["value"]
    return block


def spoken(message: BaseMessage) -> Iterator[tuple[str, str, str | None]]:
    """The pieces of a model's message, as `text` or `reasoning`, with its sealed form."""
    content = message.content
    if isinstance(content, str) and not message.additional_kwargs.get("reasoning_content"):
        if content:
            yield "text", content, None
        return
    for block in message.content_blocks:
        if block["type"] == "text" and block["text"]:
            yield "text", block["text"], None
        elif block["type"] == "reasoning":
            sealed = block.get("extras", {}).get("signature")
            if block.get("reasoning") or sealed:
                yield "reasoning", block.get("reasoning", ""), sealed


def said_whole(value: Any) -> list[AIMessage]:
    """The messages of a model among what a node wrote to a channel of messages."""
    items = value if isinstance(value, list) else [value]
    plain = [item for item in items if not isinstance(item, RemoveMessage)]
    return [message for message in convert_to_messages(plain) if isinstance(message, AIMessage)]
