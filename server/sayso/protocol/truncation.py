"""A history that is longer than one frame may be, shown all the same (EN-09).

What is stored stays whole, and wins by its id over what a client sends back. Pure.
"""

from collections.abc import Iterable
from typing import Any, Final

from sayso.base import jsonvalue

_LENGTHS: Final = (16_384, 2_048, 256, 32)
"""Characters that a text keeps, tried one after another until all fits."""
_NAMES: Final = frozenset(
    ("activityType", "id", "interruptId", "name", "role", "subagentRunId", "toolCallId", "type")
)
"""Members that are no text: they say what something is, or what it belongs to."""


def truncate_to_fit(bodies: Iterable[bytes], room: int) -> list[bytes]:
    """The messages in at most `room` bytes, commas included, if cutting their texts achieves it.

    The oldest are cut first, so that the newest stay whole as long as they can. A message that was
    cut says so in `metadata.sayso.truncated`.
    """
    fitted = list(bodies)
    size = sum(map(len, fitted)) + len(fitted)
    for longest in _LENGTHS:
        for index, body in enumerate(fitted):
            if size <= room:
                return fitted
            if len(body) > longest and len(shorter := _truncated(body, longest)) < len(body):
                size += len(shorter) - len(body)
                fitted[index] = shorter
    return fitted


def is_truncation_of(text: str, whole: str) -> bool:
    """True if `text` is what `truncate_to_fit` may have made of `whole` for a client."""
    kept = text.removesuffix("…")
    return len(kept) in _LENGTHS and kept != text and whole.startswith(kept)


def _truncated(body: bytes, longest: int) -> bytes:
    message = _cut(jsonvalue.decode(body), longest)
    # Sealed for whoever sealed it: a part of it is worth nothing.
    for sealed in ("encryptedValue", "encryptedValueType"):
        message.pop(sealed, None)
    metadata = message.get("metadata") or {}
    ours = metadata.get("sayso")
    marked = {**(ours if isinstance(ours, dict) else {}), "truncated": True}
    message["metadata"] = {**metadata, "sayso": marked}
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
