"""Whole numbers with all their digits, past clients that read every number as a double.

A double holds each integer up to 2^53 - 1. JavaScript rounds a larger one, shows it rounded and
sends it back rounded. So a question gives its large integers twice: as numbers, and as texts by
JSON Pointer (`exact_integers`); an answer may do the same. Pure, over JSON values.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from sayso.base import jsonvalue

_MAX_SAFE_INTEGER: Final = 2**53 - 1
_TEXT: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,19})", re.ASCII)
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*')
_LOST: Final = "\0lost"
"""Marks a number that would lose digits."""
_Path = tuple[str | int, ...]


def may_hold_large(data: bytes) -> bool:
    """True if JSON may hold an integer that a double does not; quick, with false alarms."""
    return jsonvalue.digits_in_a_row(data, 16)


def lost_digits(data: bytes) -> list[str]:
    """Pointers to the integers of JSON bytes that 64 bits do not hold, and a double only rounded.

    A number that was a double at the client comes with the digits of one, and is not among them.
    """
    return [jsonvalue.pointer(path) for path in _cut_at(data, decimals=False)]


def cuts_digits(text: str) -> bool:
    """True if typed JSON has a number that would lose digits, decimals included."""
    try:
        return any(True for _ in _cut_at(text.encode(), decimals=True))
    except ValueError:
        return False


def exact_integers(value: Any, path: _Path = ()) -> dict[str, str]:
    """The integers of a value beyond 2^53 - 1, either way, as texts by JSON Pointer."""
    return {
        jsonvalue.pointer((*path, *inner)): str(number)
        for inner, number in _numbers(value, ())
        if isinstance(number, int) and abs(number) > _MAX_SAFE_INTEGER
    }


def restore_integers(value: Any, texts: Mapping[str, Any]) -> tuple[Any, dict[str, str]]:
    """Put the integers that texts by JSON Pointer spell out into a value; also list wrong texts.

    Each text is an integer of 64 bits, and the value has the same number there, perhaps rounded:
    otherwise it would be two answers at once.
    """
    numbers = {jsonvalue.pointer(path): number for path, number in _numbers(value, ())}
    meant: dict[str, int] = {}
    wrong: dict[str, str] = {}
    for pointer, text in texts.items():
        whole = _integer(text)
        if whole is None:
            wrong[pointer] = "must be an integer of 64 bits in decimal digits, as text"
        elif pointer not in numbers:
            wrong[pointer] = "names no number of the payload"
        elif float(numbers[pointer]) != float(whole):
            wrong[pointer] = (
                f"is not the number that the payload has there, not even rounded: {text}"
            )
        else:
            meant[pointer] = whole
    return _replaced(value, "", meant) if meant else value, wrong


def rounded(value: Any, wholes: Iterable[int], spelt: frozenset[str]) -> dict[str, int]:
    """The numbers of a value that may be a rounded one of `wholes`: that one, by pointer.

    Numbers at the pointers `spelt` came in digits and were not rounded.
    """
    by_double: dict[float, list[int]] = {}
    for whole in wholes:
        by_double.setdefault(float(whole), []).append(whole)
    meant: dict[str, int] = {}
    for path, number in _numbers(value, ()):
        likely = [exact for exact in by_double.get(float(number), ()) if exact != number]
        if likely and (pointer := jsonvalue.pointer(path)) not in spelt:
            meant[pointer] = likely[0]
    return meant


def unrounded(sent: Any, kept: Any) -> Any:
    """Restore the digits of a value that came back from a client, from the one that it had.

    A number that equals the kept one at its place as a double is that one. An integer that moved is
    found by its value, if only one of the kept ones can be meant. Other differences are kept.
    """
    moved: dict[float, set[int]] = {}
    for _, number in _numbers(kept, ()):
        if isinstance(number, int) and abs(number) > _MAX_SAFE_INTEGER:
            moved.setdefault(float(number), set()).add(number)
    return _unrounded(sent, kept, moved)


def _unrounded(sent: Any, kept: Any, moved: Mapping[float, set[int]]) -> Any:
    if isinstance(sent, dict):
        before = kept if isinstance(kept, dict) else {}
        return {key: _unrounded(item, before.get(key), moved) for key, item in sent.items()}
    if isinstance(sent, list):
        stood = kept if isinstance(kept, list) else []
        return [
            _unrounded(item, stood[index] if index < len(stood) else None, moved)
            for index, item in enumerate(sent)
        ]
    if not _is_number(sent):
        return sent
    if _is_number(kept) and float(sent) == float(kept):
        return kept
    likely = moved.get(float(sent), set())
    return next(iter(likely)) if len(likely) == 1 else sent


def _replaced(value: Any, pointer: str, meant: Mapping[str, int]) -> Any:
    if isinstance(value, dict):
        return {
            key: _replaced(item, pointer + jsonvalue.pointer((key,)), meant)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_replaced(item, f"{pointer}/{place}", meant) for place, item in enumerate(value)]
    return meant.get(pointer, value) if _is_number(value) else value


def _numbers(value: Any, path: _Path) -> Iterator[tuple[_Path, int | float]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _numbers(item, (*path, place))
    elif _is_number(value):
        yield path, value


def _cut_at(data: bytes, *, decimals: bool) -> Iterator[_Path]:
    def marked(token: re.Match[bytes]) -> bytes:
        text = token[0].decode()
        is_number = text[0] != '"' and (decimals or text.lstrip("-").isdigit())
        return jsonvalue.encode(_LOST) if is_number and _loses(text) else token[0]

    return _found(jsonvalue.decode(_TOKEN.sub(marked, data)), ())


def _loses(text: str) -> bool:
    if _integer(text) is not None:
        return False
    try:
        double = float(text)
    except ValueError:  # no number at all, which the parser says
        return False
    kept = isfinite(double) and Decimal(text) in (Decimal(repr(double)), Decimal(double))
    return not kept


def _found(value: Any, path: _Path) -> Iterator[_Path]:
    if isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in inside:
            yield from _found(item, (*path, key))
    elif value == _LOST:
        yield path


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _integer(text: Any) -> int | None:
    if not isinstance(text, str) or _TEXT.fullmatch(text) is None:
        return None
    whole = int(text)
    return whole if -(2**63) <= whole < 2**64 else None
