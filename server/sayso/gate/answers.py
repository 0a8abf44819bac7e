"""One answer against one question: is it the same as the settled one, does it fit, how is it kept.

Pure and total: what cannot be compared or checked is not equal and not accepted.
"""

from collections.abc import Callable, Sequence
from typing import Any

from sayso import jsonvalue
from sayso.errors import DeclarationError
from sayso.limits import Limits
from sayso.making import changed
from sayso.protocol.runinput import ResumeEntry
from sayso.records import Interrupt, Principal
from sayso.schemas.schema import compile_bytes

__all__ = ["Judge", "alike", "problems", "repeats", "settled"]

Judge = Callable[[Interrupt, Any], Sequence[tuple[str, str]]]
"""Deeper validation of a payload by the interrupt's own tool: `(pointer, message)` problems."""


def alike(left: ResumeEntry, right: ResumeEntry) -> bool:
    """Whether two entries for one interrupt say the same; their metadata does not count."""
    if left.status != right.status:
        return False
    return left.status == "cancelled" or _equal_json(left.payload, right.payload)


def repeats(entry: ResumeEntry, decided: Interrupt) -> bool:
    """Whether an entry says what is settled; absent is null, `cancelled` has no payload (ID-05)."""
    if decided.status == "expired":
        return entry.status == "cancelled"
    if entry.status != decided.status:
        return False
    if entry.status == "cancelled":
        return True
    stored = None if decided.payload is None else jsonvalue.decode(decided.payload)
    return _equal_json(entry.payload, stored)


def _equal_json(left: Any, right: Any) -> bool:
    try:
        return jsonvalue.equal(left, right)
    except (TypeError, ValueError, RecursionError):
        return False


def problems(
    item: Interrupt, payload: Any, limits: Limits, judge: Judge | None
) -> list[tuple[str, str]]:
    """What is wrong with a `resolved` entry's payload, as `(pointer, message)` (CR-6, TR-25)."""
    try:
        size = len(jsonvalue.canonical(payload))
    except (TypeError, ValueError, RecursionError):
        return [("", "is no JSON value")]
    if size > limits.payload:
        return [("", f"has {size} bytes as JSON; {limits.payload} are allowed")]
    if item.response_schema is not None:
        try:
            wrong = compile_bytes(item.response_schema).problems(payload)
        except DeclarationError:
            return [("", "cannot be checked: the stored schema does not compile")]
        if wrong:
            return [(one.pointer, one.message) for one in wrong]
    elif item.reason == "confirmation" and not _confirms(payload):
        return [("", "must be true, false, or an object with nothing but a boolean `approved`")]
    if judge is None:
        return []
    try:
        return list(judge(item, payload))
    except Exception as error:
        # The judge runs code of the author. What cannot be checked is not accepted.
        return [("", f"could not be checked ({type(error).__name__})")]


def _confirms(payload: Any) -> bool:
    """TR-25: a confirmation without a schema takes exactly these two forms."""
    if isinstance(payload, dict):
        return payload.keys() == {"approved"} and isinstance(payload["approved"], bool)
    return isinstance(payload, bool)


def settled(
    item: Interrupt, entry: ResumeEntry, principal: Principal, channel: str, now: int
) -> Interrupt:
    """The interrupt with this answer on it (U2: who answered is never read from the payload)."""
    payload = None if entry.status == "cancelled" else entry.payload
    return changed(
        item,
        status=entry.status,
        held=None,
        payload=None if payload is None else jsonvalue.encode(payload),
        answer_metadata=None if entry.metadata is None else jsonvalue.encode(entry.metadata),
        decided_by=principal.subject,
        decided_at=now,
        channel=channel,
    )
