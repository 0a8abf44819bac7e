"""Downgrades for clients of older versions (VN-07, TR-13).

Pure apart from log lines. A downgrade leaves out and never invents: ids, order and outcome stay.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from sayso.base import jsonvalue
from sayso.protocol.client_profile import ClientProfile

_log = logging.getLogger("sayso.protocol")
_PARTS: Final = b'"content":['
_KIND: Final = "encryptedValueType"
_KIND_OF_VALUE: Final = b'"encryptedValueType":'


def as_text(content: Any) -> str:
    """The text of a content that may be a list of parts; what is no text is left out (TC-15)."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def needs_v1(event: Mapping[str, Any]) -> bool:
    """True if older clients cannot read the event as it is (TC-07)."""
    return event["type"] == "TOOL_CALL_RESULT" and not isinstance(event["content"], str)


def is_for_all(event: Mapping[str, Any]) -> bool:
    """True if every client can read the event as it is, as most events are."""
    kind: str = event["type"]
    if kind == "TOOL_CALL_RESULT" and not isinstance(event["content"], str):
        return False
    return _KIND not in event and not kind.startswith("SUBAGENT_")


def downgrade(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event that `needs_v1` for older clients."""
    _warn(event["messageId"])
    return {**event, "content": as_text(event["content"])}


def needs_v1_1(event: Mapping[str, Any]) -> bool:
    """True if the event names the type of a sealed value, which 1.1 has added."""
    return _KIND in event


def downgrade_typed(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event that `needs_v1_1` for clients that did not declare 1.1: the value alone is valid."""
    return {name: member for name, member in event.items() if name != _KIND}


def bodies_for(bodies: Iterable[bytes], peer: ClientProfile) -> list[bytes]:
    """The messages of a snapshot as a reader can take them."""
    downgraded = list(bodies)
    if peer.speaks_v1 and peer.speaks_v1_1:
        return downgraded
    # Bodies are written without spaces, so most histories are seen through without decoding.
    whole = b",".join(downgraded)
    if not peer.speaks_v1 and _PARTS in whole:
        downgraded = [_older(body) if _PARTS in body else body for body in downgraded]
    if not peer.speaks_v1_1 and _KIND_OF_VALUE in whole:
        downgraded = [_untyped(body) if _KIND_OF_VALUE in body else body for body in downgraded]
    return downgraded


def _untyped(body: bytes) -> bytes:
    message = downgrade_typed(jsonvalue.decode(body))
    if "toolCalls" in message:
        message["toolCalls"] = [downgrade_typed(call) for call in message["toolCalls"]]
    return jsonvalue.encode(message)


def _older(body: bytes) -> bytes:
    message = jsonvalue.decode(body)
    content = message.get("content")
    if message["role"] == "tool" and isinstance(content, list):
        _warn(message["id"])
        return jsonvalue.encode({**message, "content": as_text(content)})
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
