"""Answers to interrupts as resume entries, built whole or not at all (RE-01, CR-3, CL-04).

Pure: the time is an argument.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Final

from sayso.base import digits, jsonvalue
from sayso.base.errors import DeclarationError
from sayso.base.redaction import NOT_SHOWN, Path
from sayso.base.secretvalues import secret_id
from sayso.client.errors import Expired, InvalidPayload, PartialAnswers
from sayso.schemas.schema import compile_schema


class _Cancel(Enum):
    CANCEL = "cancel"


CANCEL: Final = _Cancel.CANCEL
"""Instead of an answer: this interrupt is given up, and nothing of it is done."""

Answer = Any
"""A JSON value, or `CANCEL`."""


def entries(
    pending: Sequence[Mapping[str, Any]], answers: Mapping[str, Answer], now: int
) -> list[dict[str, Any]]:
    """The `resume` of a request, in the order of `pending`; `now` in milliseconds.

    Raises `PartialAnswers`, `Expired` or `InvalidPayload`, in this order, before anything is sent.
    """
    ids = [interrupt["id"] for interrupt in pending]
    missing = [each for each in ids if each not in answers]
    unknown = [each for each in answers if each not in ids]
    if missing or unknown:
        raise PartialAnswers(missing, unknown)
    resolved = [each for each in pending if answers[each["id"]] is not CANCEL]
    if late := [each["id"] for each in resolved if is_expired(each, now)]:
        raise Expired(late)
    for interrupt in resolved:
        if faults := errors(interrupt, answers[interrupt["id"]]):
            raise InvalidPayload(interrupt["id"], faults)
    return [_entry(each, answers[each["id"]]) for each in pending]


def _entry(interrupt: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
    ours: dict[str, Any] = {} if (shown := _digest(interrupt)) is None else {"shown": shown}
    entry: dict[str, Any] = {"interruptId": interrupt["id"], "status": "cancelled"}
    if answer is not CANCEL:
        entry["status"] = "resolved"
        # A null says as much as nothing, and is left out as everywhere (RE-05).
        if answer is not None:
            entry["payload"] = answer
        # This client keeps all digits; only these tell a server that it does not round.
        if exact := digits.exact_integers(answer):
            ours["exact"] = exact
    return entry | ({"metadata": {"sayso": ours}} if ours else {})


def _digest(interrupt: Mapping[str, Any]) -> str | None:
    """The digest of a question as it was shown, where its server says one."""
    digest = _ours(interrupt).get("digest")
    return digest if isinstance(digest, str) else None


def _ours(interrupt: Mapping[str, Any]) -> Mapping[str, Any]:
    """The members of a question's metadata that are a Sayso server's own."""
    metadata = interrupt.get("metadata")
    ours = metadata.get("sayso") if isinstance(metadata, Mapping) else None
    return ours if isinstance(ours, Mapping) else {}


def is_checkable(schema: Any) -> bool:
    """True for a schema that answers can be held to here."""
    try:
        compile_schema(schema)
    except DeclarationError:
        return False
    return True


def errors(interrupt: Mapping[str, Any], answer: Any) -> tuple[tuple[str, str], ...]:
    """List what `responseSchema` has against an answer, as (JSON pointer, message).

    Nothing without a schema, or with one that cannot be compiled: then the server is the judge.
    """
    schema = interrupt.get("responseSchema")
    if schema is None:
        return ()
    try:
        compiled = compile_schema(schema)
    except DeclarationError:
        return ()
    edited = answer.get("editedArgs") if isinstance(answer, Mapping) else None
    left = [f"/editedArgs{place}" for place in secrets_left(_arguments(interrupt), edited)]
    return tuple(
        (fault.pointer, fault.message)
        for fault in compiled.errors(answer)
        if not is_within(fault.pointer, left)
    )


def secrets_left(shown: Any, edited: Any) -> list[str]:
    """JSON Pointers to what stands in edited arguments for secrets that are left as they are.

    Of these a server shows `{"secret": id}`, which no schema takes. It knows what they are.
    """
    ids = {secret_id(value) for _, value in _parts(shown)} - {None}
    return [
        jsonvalue.pointer(path)
        for path, value in (_parts(edited) if ids else ())
        if value == NOT_SHOWN or secret_id(value) in ids
    ]


def is_within(pointer: str, places: Sequence[str]) -> bool:
    """True if a JSON Pointer leads to one of these places, or to a part of it."""
    return any(f"{pointer}/".startswith(f"{place}/") for place in places)


def _parts(value: Any) -> Iterator[tuple[Path, Any]]:
    """A JSON value and all that is in it, each with the path to it."""
    parts: list[tuple[Path, Any]] = [((), value)]
    while parts:
        path, part = parts.pop()
        yield path, part
        if isinstance(part, dict):
            parts += [((*path, name), item) for name, item in part.items()]
        elif isinstance(part, list):
            parts += [((*path, place), item) for place, item in enumerate(part)]


def _arguments(interrupt: Mapping[str, Any]) -> Any:
    """The arguments of the call that a question is about, as its server shows them."""
    return _ours(interrupt).get("arguments")


def expires_at(interrupt: Mapping[str, Any]) -> int | None:
    """When it expires, in milliseconds since the epoch; None for never, or for no time (EX-01)."""
    try:
        return round(datetime.fromisoformat(interrupt["expiresAt"]).timestamp() * 1000)
    except (KeyError, ValueError, OverflowError):
        return None


def is_expired(interrupt: Mapping[str, Any], now: int) -> bool:
    """True if its time is over; at the very moment it is."""
    end = expires_at(interrupt)
    return end is not None and end <= now
