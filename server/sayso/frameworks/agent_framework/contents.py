"""Messages and their contents: from the thread, to clients, and as they are recorded. Pure.

The thread is the history: what it lost, edited or hid is not in it, and what a client made up
never was.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agent_framework import Content, Message
from pydantic_core import from_json, to_json, to_jsonable_python

from sayso import parts

_MAKE: Final = {"image": parts.image, "audio": parts.audio, "video": parts.video}
_MEDIA: Final = ("data", "uri")
_SEALED: Final = ("protected_data", "id", "additional_properties")


def history_of(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Messages in turn: neighbours of one role are one message."""
    history: list[Message] = []
    calls: set[str] = set()
    for message in messages:
        role, contents = _side(message, calls)
        if not contents:
            continue
        if history and history[-1].role == role and role in ("assistant", "tool"):
            history[-1].contents.extend(contents)
        else:
            history.append(Message(role, contents))
    return history


def dumped(contents: Sequence[Content]) -> list[dict[str, Any]]:
    """Contents as JSON."""
    made: list[dict[str, Any]] = to_jsonable_python(
        [content.to_dict() for content in contents], serialize_unknown=True
    )
    return made


def loaded(records: Sequence[Mapping[str, Any]]) -> list[Content]:
    """The contents of a record."""
    return [Content.from_dict(record) for record in records]


def told(contents: Sequence[Content]) -> str | list[parts.Part]:
    """A result as clients and later turns read it: text, or parts if it has media."""
    if not any(content.type in _MEDIA for content in contents):
        return "\n".join(_words(content) for content in contents)
    return [_part(content) for content in contents]


def content_of(part: str | Mapping[str, Any]) -> Content:
    """A part of a message of the thread."""
    if isinstance(part, str):
        return Content.from_text(part)
    if part["type"] == "text":
        return Content.from_text(str(part["text"]))
    source = part.get("source") or {}
    kind, value = source.get("type"), source.get("value")
    media = source.get("mimeType") or _any_of(part["type"])
    if kind == "data" and value is not None:
        return Content.from_data(base64.b64decode(value), media)
    if kind == "url" and value is not None:
        return Content.from_uri(value, media_type=media)
    return Content.from_text(f"[{part['type']}: {value or 'without content'}]")


def contents_of(content: str | Sequence[Mapping[str, Any]]) -> list[Content]:
    """The content of a message of the thread."""
    return [content_of(each) for each in ([content] if isinstance(content, str) else content)]


def sealed(thought: Content) -> str | None:
    """All that a provider wants back of a thought beside its words; None if there is nothing."""
    if not thought.protected_data:
        return None
    members = {name: getattr(thought, name) for name in _SEALED}
    kept = {name: value for name, value in members.items() if value}
    return to_json(kept, serialize_unknown=True).decode()


def unsealed(words: str, seal: str | None) -> Content | None:
    """The thought again; None where no provider would take it back."""
    if not seal:
        return None
    try:
        members = from_json(seal)
    except ValueError:
        return None
    if not isinstance(members, dict) or not members.get("protected_data"):
        return None
    kept = {name: members[name] for name in _SEALED if name in members}
    return Content.from_text_reasoning(text=words or None, **kept)


def _words(content: Content) -> str:
    if content.type == "text":
        return content.text or ""
    return to_json(content.to_dict(), serialize_unknown=True).decode()


def _part(content: Content) -> parts.Part:
    if content.type not in _MEDIA or content.uri is None:
        return parts.text(_words(content))
    media = content.media_type or "application/octet-stream"
    make = _MAKE.get(media.partition("/")[0], parts.document)
    if content.type == "uri":
        return make(url=content.uri, mime_type=media)
    return make(data=base64.b64decode(content.uri.partition(",")[2]), mime_type=media)


def _any_of(kind: str) -> str:
    """A media type where none is told."""
    return "application/octet-stream" if kind == "document" else f"{kind}/*"


def _side(message: Mapping[str, Any], calls: set[str]) -> tuple[str, list[Content]]:
    role, content = message["role"], message.get("content") or ""
    if role == "reasoning":
        thought = unsealed(content, message.get("encryptedValue"))
        return "assistant", [] if thought is None else [thought]
    if role == "tool":
        call = message["toolCallId"]
        if call not in calls:  # a result without its call, which no model takes
            return role, []
        result = contents_of(content)
        text = told(result)
        return role, [
            Content.from_function_result(call, result=text if isinstance(text, str) else result)
        ]
    if role != "assistant":
        return ("system" if role == "developer" else role), contents_of(content) if content else []
    contents = contents_of(content) if content else []
    for call in message.get("toolCalls") or ():
        function = call["function"]
        calls.add(call["id"])
        contents.append(
            Content.from_function_call(
                call["id"], function["name"], arguments=function["arguments"]
            )
        )
    return role, contents
