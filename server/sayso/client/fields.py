"""Readers of JSON values: what is unknown is dropped and noted, what is known and wrong is refused.

Pure. A reader takes a value, where it stands (a JSON pointer) and the notes; it returns the value
without what the protocol does not describe, or `DROPPED` for an unknown member of a union, which
goes from the nearest place that can do without it (FC-07).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sayso import jsonvalue
from sayso.client.errors import ProtocolViolation

__all__ = [
    "DROPPED",
    "Notes",
    "Reader",
    "anything",
    "boolean",
    "either",
    "integer",
    "listing",
    "literal",
    "mapping",
    "pointer",
    "record",
    "text",
    "union",
]

Notes = list[str]
Reader = Callable[[Any, str, Notes], Any]
DROPPED: Final[Any] = object()
_SAFE: Final = 2**53 - 1


def _wrong(at: str, wanted: str, value: Any) -> ProtocolViolation:
    kind = "null" if value is None else type(value).__name__
    return ProtocolViolation(f"{at or 'the event'} must be {wanted}, not {kind}")


def anything(value: Any, at: str, notes: Notes) -> Any:
    """Any JSON value, null too."""
    return value


def text(value: Any, at: str, notes: Notes) -> Any:
    """A string."""
    if not isinstance(value, str):
        raise _wrong(at, "a string", value)
    return value


def boolean(value: Any, at: str, notes: Notes) -> Any:
    """True or false."""
    if not isinstance(value, bool):
        raise _wrong(at, "a boolean", value)
    return value


def integer(value: Any, at: str, notes: Notes) -> Any:
    """A whole number that every client holds exactly (LC-26); 1.0 is one in JSON."""
    whole = isinstance(value, float) and value.is_integer()
    if (type(value) is not int and not whole) or abs(value) > _SAFE:
        raise _wrong(at, "a whole number within 2^53", value)
    return value


def mapping(value: Any, at: str, notes: Notes) -> Any:
    """An object whose members are data."""
    if not isinstance(value, dict):
        raise _wrong(at, "an object", value)
    return value


def pointer(value: Any, at: str, notes: Notes) -> Any:
    """A JSON pointer (SS-03)."""
    try:
        jsonvalue.tokens(text(value, at, notes))
    except ValueError:
        raise ProtocolViolation(f"{at} must be a JSON pointer") from None
    return value


def literal(*choices: str) -> Reader:
    """One of some strings; another one is refused, as the official client does."""

    def read(value: Any, at: str, notes: Notes) -> Any:
        if not isinstance(value, str) or value not in choices:
            raise ProtocolViolation(f"{at} must be one of {', '.join(choices)}")
        return value

    return read


def either(first: Reader, second: Reader) -> Reader:
    """The first kind for strings, the second for everything else."""
    return lambda value, at, notes: (first if isinstance(value, str) else second)(value, at, notes)


def listing(item: Reader, least: int = 0) -> Reader:
    """A list; unknown members of it are left out."""

    def read(value: Any, at: str, notes: Notes) -> Any:
        if not isinstance(value, list):
            raise _wrong(at, "a list", value)
        if len(value) < least:
            raise ProtocolViolation(f"{at} must have {least} or more items")
        found = [item(each, f"{at}/{position}", notes) for position, each in enumerate(value)]
        return [each for each in found if each is not DROPPED]

    return read


def record(
    required: Mapping[str, Reader],
    optional: Mapping[str, Reader] | None = None,
    *,
    absent: Sequence[str] = (),
    opened: bool = False,
) -> Reader:
    """An object with these members. Those in `absent` may be null, which says nothing (FC-12)."""
    readers = {**(optional or {}), **required}

    def read(value: Any, at: str, notes: Notes) -> Any:
        members = mapping(value, at, notes)
        for name in required:
            if name not in members:
                raise ProtocolViolation(f"{at or 'the event'} has no {name!r}")
        result = {}
        for name, member in members.items():
            place = at + jsonvalue.pointer([name])
            if name not in readers:
                if opened:
                    result[name] = member
                else:
                    notes.append(f"{place} is not described by the protocol and was left out")
            elif member is None and name in absent:
                notes.append(f"{place} is null and was read as absent")
            else:
                found = readers[name](member, place, notes)
                if found is not DROPPED:
                    result[name] = found
                elif name in required:
                    return DROPPED
        return result

    return read


def union(tag: str, arms: Mapping[str, Reader]) -> Reader:
    """An object that is told apart by the string at `tag`."""

    def read(value: Any, at: str, notes: Notes) -> Any:
        kind = mapping(value, at, notes).get(tag)
        if not isinstance(kind, str):
            raise ProtocolViolation(f"{at or 'the event'} has no {tag!r} that is a string")
        if kind not in arms:
            notes.append(f"{at or 'an event'}: {tag} {kind!r} is unknown and was left out")
            return DROPPED
        return arms[kind](value, at, notes)

    return read
