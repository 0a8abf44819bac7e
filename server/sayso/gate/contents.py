"""The content of a message: its text, media and calls, read from its stored bytes. Pure."""

from typing import Any, Final

from sayso.base import jsonvalue
from sayso.base.fastrecords import copy_with
from sayso.base.records import Message
from sayso.protocol.forward_compat import MAX_ID_CHARS

_CALLS: Final = b'"toolCalls"'

Says = tuple[str, str, tuple[bytes, ...]]
"""Role, text and media of a message: two with the same say the same."""


def calls(message: Message) -> bool:
    """True if it is an assistant message that may make tool calls."""
    # By `find`, for each message of a thread: see `frames.one_line`.
    return message.role == "assistant" and message.body.find(_CALLS) >= 0


def call_ids(message: Message) -> list[str]:
    """The ids of the tool calls that an assistant message makes."""
    if message.body.find(_CALLS) < 0:
        return []
    made: list[dict[str, Any]] = jsonvalue.decode(message.body).get("toolCalls") or []
    return [call["id"] for call in made]


def answered_call(message: Message) -> str:
    """The id of the call that a tool message answers."""
    call: str = jsonvalue.decode(message.body)["toolCallId"]
    return call


def under_own_id(message: Message, what: str) -> Message:
    """The message under an id of its own, made of `what` it says: the same for a retry (ID-01)."""
    named = f"{message.id[: MAX_ID_CHARS - 9]}~{jsonvalue.digest(what)[:8]}"
    body = {**jsonvalue.decode(message.body), "id": named}
    return copy_with(message, id=named, body=jsonvalue.encode(body))


def says(message: Message) -> Says:
    """The role, text and media of a message: two that have them in common say the same.

    Text parts are joined and outer blanks ignored; media count by type and source.
    """
    content = jsonvalue.decode(message.body).get("content")
    media: tuple[bytes, ...] = ()
    if isinstance(content, list):
        media = tuple(
            jsonvalue.canonical([part["type"], part.get("source")])
            for part in content
            if part["type"] != "text"
        )
    return message.role, text_of_content(content), media


def text_of_content(content: Any) -> str:
    """The text of a content, its parts on lines of their own, without outer blanks."""
    if isinstance(content, list):
        texts = [part["text"] for part in content if part["type"] == "text"]
        return "\n".join(texts).strip()
    return content.strip() if isinstance(content, str) else ""


def plain_text(message: Message) -> str | None:
    """The typed text; None for a message without text, or with more than text."""
    content: Any = jsonvalue.decode(message.body).get("content")
    if isinstance(content, list):
        if any(part.get("type") != "text" for part in content):
            return None
        content = "\n".join(part["text"] for part in content)
    return content if isinstance(content, str) and content.strip() else None
