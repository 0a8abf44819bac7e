"""The thread's messages as Pydantic AI has them. Pure.

The thread is the history: what it lost, edited or hid is not in it, and what a client made up
never was.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    DocumentUrl,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
    VideoUrl,
)

from sayso.frameworks.pydantic_ai.thinking import unsealed

Prompt = str | Sequence[UserContent] | None
_URLS: dict[str, Any] = {
    "image": ImageUrl,
    "audio": AudioUrl,
    "video": VideoUrl,
    "document": DocumentUrl,
}
_REQUESTING = {"user", "system", "developer", "tool"}


def prompt_and_history(messages: Sequence[Mapping[str, Any]]) -> tuple[Prompt, list[ModelMessage]]:
    """Part the user's newest words from all before; None if somebody else spoke last."""
    if messages and messages[-1]["role"] == "user":
        return content_of(messages[-1]["content"]), history_of(messages[:-1])
    return None, history_of(messages)


def history_of(messages: Sequence[Mapping[str, Any]]) -> list[ModelMessage]:
    """Requests and responses in turn: neighbours of one side are one message."""
    history: list[ModelMessage] = []
    names: dict[str, str] = {}
    for message in messages:
        if message["role"] in _REQUESTING:
            request = _request_part(message, names)
            if request is None:
                continue
            if history and isinstance(history[-1], ModelRequest):
                history[-1] = ModelRequest([*history[-1].parts, request])
            else:
                history.append(ModelRequest([request]))
        elif response := _response_parts(message, names):
            if history and isinstance(history[-1], ModelResponse):
                history[-1] = ModelResponse([*history[-1].parts, *response])
            else:
                history.append(ModelResponse(response))
    return history


def content_of(content: str | Sequence[Mapping[str, Any]]) -> str | list[UserContent]:
    """Convert the words of a user: a text, or text and media."""
    if isinstance(content, str):
        return content
    return [_content(part) for part in content]


def _request_part(message: Mapping[str, Any], names: dict[str, str]) -> ModelRequestPart | None:
    role, content = message["role"], message.get("content") or ""
    if role == "user":
        return UserPromptPart(content_of(content))
    if role != "tool":
        return SystemPromptPart(content)
    name = names.get(message["toolCallId"])
    if name is None:  # a result without its call, which no model takes
        return None
    result = content_of(content)
    return ToolReturnPart(name, result, tool_call_id=message["toolCallId"])


def _response_parts(message: Mapping[str, Any], names: dict[str, str]) -> list[ModelResponsePart]:
    if message["role"] == "reasoning":
        return [unsealed(message.get("content") or "", message.get("encryptedValue"))]
    if message["role"] != "assistant":
        return []
    parts: list[ModelResponsePart] = []
    if content := message.get("content"):
        parts.append(TextPart(content))
    for call in message.get("toolCalls") or ():
        function = call["function"]
        names[call["id"]] = function["name"]
        parts.append(ToolCallPart(function["name"], function["arguments"], tool_call_id=call["id"]))
    return parts


def _content(part: Mapping[str, Any]) -> UserContent:
    if part["type"] == "text":
        return str(part["text"])
    source = part.get("source") or {}
    kind, value, media = source.get("type"), source.get("value"), source.get("mimeType")
    if kind == "data" and value is not None:
        return BinaryContent(
            base64.b64decode(value), media_type=media or "application/octet-stream"
        )
    if kind == "url" and value is not None and part["type"] in _URLS:
        made: UserContent = _URLS[part["type"]](value, media_type=media)
        return made
    return f"[{part['type']}: {value or 'without content'}]"
