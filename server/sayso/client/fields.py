"""Readers of JSON values: what is unknown is dropped and noted, what is known and wrong is refused.

Pure. A reader takes a value, where it stands (a JSON pointer) and the notes; it returns the value
without what the protocol does not describe, or `DROPPED` for an unknown member of a union, which
goes from the nearest place that can do without it (FC-07).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sayso.base import jsonvalue
from sayso.client.errors import ProtocolViolation

Notes = list[str]
Reader = Callable[[Any, str, Notes], Any]
DROPPED: Final[Any] = object()
_SAFE: Final = 2**53 - 1


def _wrong(pointer: str, expected: str, value: Any) -> ProtocolViolation:
    kind = "null" if value is None else type(value).__name__
    return ProtocolViolation(f"{pointer or 'the event'} must be {expected}, not {kind}")


def anything(value: Any, pointer: str, notes: Notes) -> Any:
    """Any JSON value, null too."""
    return value


def text(value: Any, pointer: str, notes: Notes) -> Any:
    """A string."""
    if not isinstance(value, str):
        raise _wrong(pointer, "a string", value)
    return value


def boolean(value: Any, pointer: str, notes: Notes) -> Any:
    """True or false."""
    if not isinstance(value, bool):
        raise _wrong(pointer, "a boolean", value)
    return value


def integer(value: Any, pointer: str, notes: Notes) -> Any:
    """A whole number that every client holds exactly (LC-26); 1.0 is one in JSON."""
    whole = isinstance(value, float) and value.is_integer()
    if (type(value) is not int and not whole) or abs(value) > _SAFE:
        raise _wrong(pointer, "a whole number within 2^53", value)
    return value


def mapping(value: Any, pointer: str, notes: Notes) -> Any:
    """An object whose members are data."""
    if not isinstance(value, dict):
        raise _wrong(pointer, "an object", value)
    return value


def pointer(value: Any, where: str, notes: Notes) -> Any:
    """A JSON pointer (SS-03)."""
    try:
        jsonvalue.parse_pointer(text(value, where, notes))
    except ValueError:
        raise ProtocolViolation(f"{where} must be a JSON pointer") from None
    return value


def literal(*choices: str) -> Reader:
    """One of some strings; another one is refused, as the official client does."""

    def read(value: Any, pointer: str, notes: Notes) -> Any:
        if not isinstance(value, str) or value not in choices:
            raise ProtocolViolation(f"{pointer} must be one of {', '.join(choices)}")
        return value

    return read


def either(first: Reader, second: Reader) -> Reader:
    """The first kind for strings, the second for everything else."""
    return lambda value, at, notes: (first if isinstance(value, str) else second)(value, at, notes)


def listing(item: Reader, least: int = 0) -> Reader:
    """A list; unknown members of it are left out."""

    def read(value: Any, pointer: str, notes: Notes) -> Any:
        if not isinstance(value, list):
            raise _wrong(pointer, "a list", value)
        if len(value) < least:
            raise ProtocolViolation(f"{pointer} must have {least} or more items")
        items = [item(each, f"{pointer}/{position}", notes) for position, each in enumerate(value)]
        return [each for each in items if each is not DROPPED]

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

    def read(value: Any, pointer: str, notes: Notes) -> Any:
        members = mapping(value, pointer, notes)
        for name in required:
            if name not in members:
                raise ProtocolViolation(f"{pointer or 'the event'} has no {name!r}")
        result = {}
        for name, member in members.items():
            place = pointer + jsonvalue.pointer([name])
            if name not in readers:
                if opened:
                    result[name] = member
                else:
                    notes.append(f"{place} is not described by the protocol and was left out")
            elif member is None and name in absent:
                notes.append(f"{place} is null and was read as absent")
            else:
                read_members = readers[name](member, place, notes)
                if read_members is not DROPPED:
                    result[name] = read_members
                elif name in required:
                    return DROPPED
        return result

    return read


def union(tag: str, arms: Mapping[str, Reader]) -> Reader:
    """An object that is told apart by the string at `tag`."""

    def read(value: Any, pointer: str, notes: Notes) -> Any:
        kind = mapping(value, pointer, notes).get(tag)
        if not isinstance(kind, str):
            raise ProtocolViolation(f"{pointer or 'the event'} has no {tag!r} that is a string")
        if kind not in arms:
            notes.append(f"{pointer or 'an event'}: {tag} {kind!r} is unknown and was left out")
            return DROPPED
        return arms[kind](value, pointer, notes)

    return read
