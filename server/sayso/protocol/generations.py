"""What clients from before protocol 1.0 cannot read, in words that they can (VN-07, TR-13).

Pure apart from log lines. A downgrade leaves out and never invents: ids, order and outcome stay.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from sayso import jsonvalue

__all__ = ["flat", "is_new", "older_event", "shown_to"]

_log = logging.getLogger("sayso.protocol")
_PARTS: Final = b'"content":['


def flat(content: Any) -> str:
    """The text of a content that may be a list of parts; what is no text is left out (TC-15)."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def is_new(event: Mapping[str, Any]) -> bool:
    """Whether older clients cannot read the event as it is (TC-07)."""
    return event["type"] == "TOOL_CALL_RESULT" and not isinstance(event["content"], str)


def older_event(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event that `is_new` for older clients."""
    _warn(event["messageId"])
    return {**event, "content": flat(event["content"])}


def shown_to(versioned: bool, bodies: Iterable[bytes]) -> list[bytes]:
    """The messages of a snapshot as a reader can take them; `versioned`: it declared 1.0."""
    given = list(bodies)
    # Bodies are written without spaces, so most histories are seen through without decoding.
    if versioned or _PARTS not in b",".join(given):
        return given
    return [_older(body) if _PARTS in body else body for body in given]


def _older(body: bytes) -> bytes:
    message = jsonvalue.decode(body)
    content = message.get("content")
    if message["role"] == "tool" and isinstance(content, list):
        _warn(message["id"])
        return jsonvalue.encode({**message, "content": flat(content)})
    if message["role"] == "user" and isinstance(content, list):
        kept = [part for part in content if part.get("source", {}).get("type") != "file"]
        if len(kept) < len(content):
            _log.warning(
                "message %r: parts of a provider's own files were left out for a client from "
                "before protocol 1.0, which cannot read them",
                message["id"],
            )
            return jsonvalue.encode({**message, "content": kept})
    return body


def _warn(message_id: str) -> None:
    _log.warning(
        "tool result %r: its content parts were flattened to their text for a client from before "
        "protocol 1.0, which cannot read a list",
        message_id,
    )
