"""The end of a call as people read it, kept with the questions about it.

The journal goes with the next turn, and a result message is written for a model: without the words
of a person who changed the arguments, and with secrets left out, this is for who decided. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sayso.base import jsonvalue, redaction
from sayso.base.fastrecords import copy_with
from sayso.base.progress import CallResult
from sayso.base.records import Interrupt
from sayso.gate.client_tools import is_call
from sayso.protocol.compat import as_text

MAX_CHARS: Final = 2_000
"""Characters of a result."""
_NOT_RUN: Final = "ot executed: "


def questions_of(
    items: Iterable[Interrupt], call_id: str, result: CallResult, decision: str | None = None
) -> tuple[Interrupt, ...]:
    """The settled questions about a call, with its result; `decision` is one that permitted it."""
    return tuple(
        copy_with(item, progress=copy_with(item.progress, result=result))
        for item in items
        if item.status != "open"
        and (item.tool_call_id == call_id or item.id == decision)
        and not is_call(item)
    )


def ended(
    data: Mapping[str, Any], schema: Mapping[str, Any] | None, now: int, began: int | None
) -> CallResult:
    """The result of a call by its record; `schema` is that of what its tool returns."""
    status, reason = data["status"], data.get("reason")
    if status in ("executed", "failed"):
        text = _returned(data, schema) if status == "executed" else reason
        ms = None if began is None else max(0, now - began)
        return CallResult(status=status, moment=now, text=_cut(text), ms=ms)
    if reason is None and "forbidden" in data:
        reason = "The rules of this server do not allow this call."
    return CallResult(status="not_run", moment=now, text=_cut(reason))


def left_behind(data: Mapping[str, Any], now: int, *, unknown: bool) -> CallResult:
    """The result of a call that its turn left behind, by its record with the model's `text`."""
    if unknown:
        return CallResult(status="unknown", moment=now)
    if data["status"] == "failed":
        return CallResult(status="failed", moment=now, text=_cut(data["reason"]))
    why = data.get("reason") or data["text"].rpartition(_NOT_RUN)[2]
    return CallResult(status="not_run", moment=now, text=_cut(why[:1].upper() + why[1:]))


def _returned(data: Mapping[str, Any], schema: Mapping[str, Any] | None) -> str | None:
    if "unrecorded" in data:
        return "Its result could not be recorded."
    words = data.get("words")
    if words is not None:
        return words if isinstance(words, str) else as_text(words)
    value = redaction.redacted(data.get("value"), schema)
    if value is None or isinstance(value, str):
        return value
    if data.get("parts"):
        parts: Sequence[Any] = value if isinstance(value, list) else [value]
        return as_text(list(parts))
    return jsonvalue.encode(value).decode()


def _cut(text: str | None) -> str | None:
    return text[:MAX_CHARS] if text else None
