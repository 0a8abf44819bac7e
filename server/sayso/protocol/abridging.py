"""A history that is longer than one frame may be, shown all the same (EN-09).

What is stored stays whole, and wins by its id over what a client sends back. Pure.
"""

from collections.abc import Iterable
from typing import Any, Final

from sayso import jsonvalue

__all__ = ["fitted"]

_LENGTHS: Final = (16_384, 2_048, 256, 32)
"""Characters that a text keeps, tried one after another until all fits."""
_NAMES: Final = frozenset(
    ("activityType", "id", "interruptId", "name", "role", "subagentRunId", "toolCallId", "type")
)
"""Members that are no text: they say what something is, or what it belongs to."""


def fitted(bodies: Iterable[bytes], room: int) -> list[bytes]:
    """The messages in at most `room` bytes, commas included, if cutting their texts achieves it.

    The oldest are cut first, so that the newest stay whole as long as they can. A message that was
    cut says so in `metadata.sayso.abridged`.
    """
    found = list(bodies)
    size = sum(map(len, found)) + len(found)
    for longest in _LENGTHS:
        for at, body in enumerate(found):
            if size <= room:
                return found
            if len(body) > longest and len(shorter := _abridged(body, longest)) < len(body):
                size += len(shorter) - len(body)
                found[at] = shorter
    return found


def _abridged(body: bytes, longest: int) -> bytes:
    message = _cut(jsonvalue.decode(body), longest)
    # Sealed for whoever sealed it: a part of it is worth nothing.
    message.pop("encryptedValue", None)
    metadata = message.get("metadata") or {}
    ours = metadata.get("sayso")
    told = {**(ours if isinstance(ours, dict) else {}), "abridged": True}
    message["metadata"] = {**metadata, "sayso": told}
    return jsonvalue.encode(message)


def _cut(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return _short(value, longest)
    if isinstance(value, list):
        return [_cut(item, longest) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: member
        if name in _NAMES
        else _arguments(member, longest)
        if name == "arguments" and isinstance(member, str)
        else _cut(member, longest)
        for name, member in value.items()
    }


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"


def _arguments(text: str, longest: int) -> str:
    """Those of a tool call are JSON in a text, and stay it."""
    if len(text) <= longest:
        return text
    try:
        value = jsonvalue.decode(text.encode())
    except ValueError:
        return _short(text, longest)
    return jsonvalue.encode(_cut(value, longest)).decode()
