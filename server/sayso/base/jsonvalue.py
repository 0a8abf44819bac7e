"""JSON values: one canonical spelling, equality, and JSON Pointers (RFC 6901).

Equality is that of JSON, not of Python: `1`, `1.0` and `1e0` are one number, `true` is none of
them, the order of keys does not matter (ID-05).
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

import orjson

from sayso.base.texts import to_utf8_safe_deep

_SORTED = orjson.OPT_SORT_KEYS
_CONTAINERS = (dict, list)
_OBJECTS = {dict}
_members: Callable[[Any], Iterable[Any]] = dict.values
_HALVES = "surrogates not allowed"
_LINE = orjson.Fragment(b"\n")
_LEAVES = frozenset((str, int, float, bool, type(None)))
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')
_WHOLE = re.compile(rb"(?<![0-9.eE+-])-?[0-9]{19,}(?![0-9.eE])")
_DIGITS = bytes(ord("0") if byte in b"0123456789" else ord(" ") for byte in range(256))
_EXACT = frozenset({str, int, bool, type(None)})
"""Kinds of values that have one spelling anyway."""


def encode(value: Any) -> bytes:
    """Encode a JSON value as UTF-8.

    NaN and infinities become null, as the protocol's strict JSON has none (EN-07), and texts are
    made fit (`texts`).

    Raises:
        TypeError: it is not a JSON value; the message has the reason.
    """
    try:
        # Copied, as what orjson gives holds the whole buffer that it wrote into, 4 kB at least,
        # for as long as somebody keeps it: to fetch that costs ten times what the copy does.
        return b"".join((orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATACLASS), b""))
    except orjson.JSONEncodeError as error:
        if _HALVES not in str(error):
            raise TypeError(str(error)) from None
    return encode(to_utf8_safe_deep(value))


def encode_all(values: Sequence[Any]) -> list[bytes]:
    """Encode each of some JSON values, as `encode` does.

    They are encoded together, with lines between them: a line feed inside a string is escaped.
    """
    if not values:
        return []
    lined: list[Any] = [_LINE] * (2 * len(values) - 1)
    lined[::2] = values
    try:
        bodies = orjson.dumps(lined, option=orjson.OPT_PASSTHROUGH_DATACLASS).split(b",\n,")
    except orjson.JSONEncodeError as error:
        raise TypeError(str(error)) from None
    bodies[0] = bodies[0][1:]
    bodies[-1] = bodies[-1][:-1]
    return bodies


def decode(data: bytes) -> Any:
    """Decode JSON bytes.

    Raises:
        ValueError: they are not JSON.
    """
    return orjson.loads(data)


def digits_in_a_row(data: bytes, count: int) -> bool:
    """True if so many digits stand side by side; most bodies are let through by this alone."""
    # A tenth of what a pattern costs that is tried at each byte.
    return len(data) >= count and data.translate(_DIGITS).find(b"0" * count) >= 0


def loses_digits(data: bytes) -> bool:
    """True if `decode` would change a number: an integer beyond 64 bits, as most readers do."""
    if not digits_in_a_row(data, 19):
        return False
    numbers = _WHOLE.findall(_TEXT.sub(b'""', data))
    return any(len(number) > 20 or not -(2**63) <= int(number) < 2**64 for number in numbers)


def raw_json(data: bytes) -> Any:
    """JSON bytes as a part of what `encode` is given: they go out as they are."""
    return orjson.Fragment(data)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if _EXACT.issuperset(map(type, value.values())):
            return value
        return {key: item if type(item) in _EXACT else _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return value if _EXACT.issuperset(map(type, value)) else [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**64:
        # As it is written, and comes back from a browser: the double itself has more digits.
        whole = int(Decimal(repr(value)))
        return whole if -(2**63) <= whole < 2**64 else value
    return value


def canonical(value: Any) -> bytes:
    """The one spelling shared by all equal JSON values."""
    return orjson.dumps(_plain(value), option=_SORTED)


def equal(left: Any, right: Any) -> bool:
    """True if two JSON values are the same value."""
    if encode(left) == encode(right):  # as mostly, and found without a line of Python
        return True
    return canonical(left) == canonical(right)


def digest(value: Any) -> str:
    """Sixteen hex digits that stand for a JSON value."""
    return hashlib.blake2b(canonical(value), digest_size=8).hexdigest()


def exceeds_depth(value: Any, limit: int) -> bool:
    """True if arrays and objects are nested in more than `limit` levels; never recurses."""
    level = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(limit):
        # Histories are long levels of objects alone, which are passed without a line of Python.
        insides: Iterable[Iterable[Any]]
        insides = map(_members, level) if set(map(type, level)) == _OBJECTS else map(_in, level)
        inside = list(chain.from_iterable(insides))
        kinds = set(map(type, inside))
        if _LEAVES.issuperset(kinds):
            return False
        level = inside
        if kinds != _OBJECTS:
            level = [child for child in inside if isinstance(child, _CONTAINERS)]
    return bool(level)


def _in(container: Any) -> Iterable[Any]:
    return _members(container) if isinstance(container, dict) else container


def pointer(path: Iterable[str | int]) -> str:
    """The JSON Pointer of a path of keys and positions; the whole value is the empty string."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def parse_pointer(text: str) -> list[str]:
    """Split a JSON Pointer into its reference tokens (SS-03).

    Raises:
        ValueError: it is not a JSON Pointer.
    """
    if text == "":
        return []
    if not text.startswith("/"):
        raise ValueError(f"{text!r} is not a JSON Pointer: begin it with '/', or leave it empty")
    parts = text[1:].split("/")
    for part in parts:
        if "~" in part.replace("~0", "").replace("~1", ""):
            raise ValueError(f"{text!r} is not a JSON Pointer: spell '~' as '~0' and '/' as '~1'")
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]


def resolve(value: Any, text: str) -> Any:
    """Resolve a JSON Pointer inside a value.

    Raises:
        LookupError: nothing is there.
    """
    for token in parse_pointer(text):
        if isinstance(value, dict):
            if token not in value:
                raise LookupError(f"nothing at {text!r}")
            value = value[token]
        elif isinstance(value, list):
            if not token.isdigit() or int(token) >= len(value):
                raise LookupError(f"nothing at {text!r}")
            value = value[int(token)]
        else:
            raise LookupError(f"nothing at {text!r}")
    return value
