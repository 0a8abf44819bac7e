"""One answer against one question: does it repeat what is kept, and does it fit?

Pure and total: what cannot be compared is not equal, what cannot be checked is not accepted.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from sayso.base import digits, jsonvalue
from sayso.base.errors import DeclarationError
from sayso.base.fastrecords import copy_with
from sayso.base.limits import Limits
from sayso.base.records import Interrupt
from sayso.base.redaction import NOT_SHOWN, Path, replaced
from sayso.base.secretvalues import Vault, may_hold_secrets
from sayso.gate.client_tools import is_call
from sayso.protocol.interrupts import exact_of, ours_of
from sayso.protocol.runinput import ResumeEntry
from sayso.schemas.schema import Schema, compile_approval, compile_bytes

_PROPOSED: Final = "/metadata/sayso/arguments"
_EDITED: Final = ("/editedArgs", "/remember/arguments", "")
"""Pointers to arguments of the call in an answer: edited, to be remembered, or completed."""

_WHICH: Final = (
    f'does not say which secret is meant: send its {{"secret": id}} instead of "{NOT_SHOWN}", or '
    "another one"
)

PayloadCheck = Callable[[Interrupt, Any], Sequence[tuple[str, str]]]
"""Deeper validation of a payload by the interrupt's own tool: `(pointer, message)` problems."""


def same_entry(left: ResumeEntry, right: ResumeEntry) -> bool:
    """True if two entries for one interrupt say the same; their metadata does not count."""
    if left.status != right.status:
        return False
    return left.status == "cancelled" or _equal_json(left.payload, right.payload)


def same_result(left: ResumeEntry, right: ResumeEntry) -> bool:
    """True if two results of one call of the client say the same, under any message ids."""
    return same_entry(*(_without_id(entry) for entry in (left, right)))


def _without_id(entry: ResumeEntry) -> ResumeEntry:
    if not isinstance(entry.payload, dict):
        return entry
    return copy_with(entry, payload={**entry.payload, "id": None})


def holds_apart(item: Interrupt) -> bool:
    """True if something is kept apart from a question, or from the answers to it."""
    return item.terms.apart or may_hold_secrets(item.metadata or b"")


def taken_apart(entry: ResumeEntry, item: Interrupt | None, vault: Vault | None) -> ResumeEntry:
    """The entry without its secrets, if they are kept apart from the answers to its question."""
    if item is None or not item.terms.apart or item.response_schema is None:
        return entry
    if vault is None:
        raise ValueError(f"{item.id!r} keeps secrets apart, and there is no key for it")
    payload = whole = entry.payload
    with suppress(TypeError, ValueError, RecursionError):  # no JSON value, which is told later
        schema = jsonvalue.decode(item.response_schema)
        shown = ours_of(item).get("arguments")
        if isinstance(shown, dict):  # what an answer leaves as it is shown
            payload = vault.take(payload, schema, {"editedArgs": shown})
            whole = vault.put_back(payload, schema)
        else:
            payload = vault.take(payload, schema)
    return copy_with(entry, payload=payload, unsealed=whole)


def matches_settled(entry: ResumeEntry, decided: Interrupt) -> bool:
    """True if an entry equals the settled answer; absent is null, `cancelled` has none (ID-05)."""
    if decided.status == "expired":
        return entry.status == "cancelled"
    return same_entry(entry, _entry(decided.id, decided.status, decided.payload))


def matches_held(entry: ResumeEntry, item: Interrupt) -> bool:
    """True if this very answer is held: a retry changes neither who gave it nor when.

    Of a client's own call the result counts, under any message id.
    """
    if item.held is None:
        return False
    kept = _entry(item.id, item.held.status, item.held.payload)
    return same_result(kept, entry) if is_call(item) else same_entry(kept, entry)


def _entry(interrupt_id: str, status: Any, payload: bytes | None) -> ResumeEntry:
    value = None if payload is None else jsonvalue.decode(payload)
    return ResumeEntry(interrupt_id=interrupt_id, status=status, payload=value)


def _equal_json(left: Any, right: Any) -> bool:
    try:
        return jsonvalue.equal(left, right)
    except (TypeError, ValueError, RecursionError):
        return False


def payload_errors(
    item: Interrupt, entry: ResumeEntry, limits: Limits, judge: PayloadCheck | None
) -> list[tuple[str, str]]:
    """List the problems of a `resolved` entry's payload, as `(pointer, message)` (CR-6, TR-25)."""
    payload = entry.unsealed if item.terms.apart else entry.payload
    try:
        size = len(jsonvalue.canonical(payload))
    except (TypeError, ValueError, RecursionError):
        return [("", "is not a JSON value")]
    if size > limits.payload:
        return [("", f"has {size} bytes as JSON; {limits.payload} are allowed")]
    if unclear := [*_rounded(item, payload, entry.exact), *_not_told(item, payload)]:
        return unclear
    if item.response_schema is not None:
        try:
            wrong = _held_against(item)(item.response_schema).errors(payload)
        except DeclarationError:
            return [("", "cannot be checked: the stored schema does not compile")]
        if wrong:
            return [(problem.pointer, problem.message) for problem in wrong]
    elif item.reason == "confirmation" and not _confirms(payload):
        return [("", "must be true, false, or an object with nothing but a boolean `approved`")]
    if judge is None:
        return []
    try:
        return list(judge(item, payload))
    except Exception as error:
        # The judge runs code of the author. What cannot be checked is not accepted.
        return [("", f"could not be checked ({type(error).__name__})")]


def _not_told(item: Interrupt, payload: Any) -> list[tuple[str, str]]:
    """Problems of arguments that are to keep a secret, and do not say which."""
    unsaid: list[tuple[str, str]] = []
    if not item.terms.apart or not isinstance(payload, dict) or "editedArgs" not in payload:
        return unsaid

    def note(value: Any, path: Path) -> Any:
        if value == NOT_SHOWN and path[:1] == ("editedArgs",):
            unsaid.append((jsonvalue.pointer(path), _WHICH))
        return value

    replaced(payload, jsonvalue.decode(item.response_schema or b"{}"), note)
    return unsaid


def _held_against(item: Interrupt) -> Callable[[bytes], Schema]:
    """The compiler of a question's schema; that of a gated call says less than is checked."""
    gated = item.reason == "tool_call" and item.tool_call_id is not None
    return compile_approval if gated else compile_bytes


def asks_for_text(item: Interrupt) -> bool:
    """True if its schema wants a string, so that a text that does not fit is a wrong answer."""
    if item.response_schema is None:
        return False
    kinds = jsonvalue.decode(item.response_schema).get("type")
    return kinds == "string" or (isinstance(kinds, list) and "string" in kinds)


def _rounded(item: Interrupt, payload: Any, spelt: frozenset[str]) -> list[tuple[str, str]]:
    """Problems of large integers that the client may have rounded.

    Such a number is refused unless its digits came beside it, or the very same number is proposed
    at its place. Otherwise somebody who was shown a neighbour of the number and sent it back would
    have the neighbour run.
    """
    exact = exact_of(item)
    if not exact:
        return []
    rounded = digits.rounded(payload, map(int, exact.values()), spelt)
    return [
        (
            pointer,
            f"{whole} was asked; your client rounds it. Say which integer is meant, in digits, "
            "in metadata.sayso.exact of the answer",
        )
        for pointer, whole in rounded.items()
        if not any(
            exact.get(f"{_PROPOSED}{pointer.removeprefix(within)}") == _spelt(payload, pointer)
            for within in _EDITED
            if pointer.startswith(within)
        )
    ]


def _spelt(payload: Any, pointer: str) -> str:
    return str(jsonvalue.resolve(payload, pointer))


def _confirms(payload: Any) -> bool:
    """True if it is one of the two forms that a confirmation without a schema takes (TR-25)."""
    if isinstance(payload, dict):
        return payload.keys() == {"approved"} and isinstance(payload["approved"], bool)
    return isinstance(payload, bool)
