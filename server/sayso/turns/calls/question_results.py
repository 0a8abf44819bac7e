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


class QuestionResults:
    """Settled questions with what came of their calls, for the turn's next commit."""

    def __init__(self, interrupts: Mapping[str, Interrupt]) -> None:
        self._interrupts = interrupts
        self._about: dict[str, list[Interrupt]] | None = None
        self._told: dict[str, Interrupt] = {}

    def tell(self, call_id: str, result: CallResult, decision: str | None = None) -> None:
        """Keep what came of a call, or how far it is; the question `decision` permitted it."""
        if self._about is None:
            self._about = {}
            for item in self._interrupts.values():
                if item.tool_call_id is not None and not is_call(item):
                    self._about.setdefault(item.tool_call_id, []).append(item)
        about = self._about.get(call_id, [])
        permit = None if decision is None else self._interrupts.get(decision)
        for item in about if permit is None or permit in about else (*about, permit):
            if item.status != "open":
                progress = copy_with(item.progress, result=result)
                self._told[item.id] = copy_with(item, progress=progress)

    def add(self, items: Iterable[Interrupt]) -> None:
        """Keep questions that have their results already."""
        self._told.update((item.id, item) for item in items)

    def take(self) -> tuple[Interrupt, ...]:
        """The questions with their results, once."""
        taken = tuple(self._told.values())
        self._told.clear()
        return taken


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
