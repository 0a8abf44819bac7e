"""JSON values: one canonical spelling, equality, and JSON Pointers (RFC 6901).

Equality is that of JSON, not of Python: `1`, `1.0` and `1e0` are one number, `true` is none of
them, the order of keys does not matter (ID-05).
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import orjson

__all__ = [
    "canonical",
    "decode",
    "deeper_than",
    "digest",
    "encode",
    "encode_each",
    "equal",
    "pointer",
    "resolve",
    "rounds",
    "tokens",
    "verbatim",
]

_SORTED = orjson.OPT_SORT_KEYS
_CONTAINERS = (dict, list)
_OBJECTS = {dict}
_members: Callable[[Any], Iterable[Any]] = dict.values
_LINE = orjson.Fragment(b"\n")
_LEAVES = frozenset((str, int, float, bool, type(None)))
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')
_WHOLE = re.compile(rb"(?<![0-9.eE+-])-?[0-9]{19,}(?![0-9.eE])")
_EXACT = frozenset({str, int, bool, type(None)})
"""Kinds of values that have one spelling anyway."""


def encode(value: Any) -> bytes:
    """UTF-8 JSON of a JSON value; TypeError with the reason for anything else.

    NaN and infinities become null, as the protocol's strict JSON has none (EN-07).
    """
    try:
        # Copied, as what orjson gives holds the whole buffer that it wrote into, 4 kB at least,
        # for as long as somebody keeps it: to fetch that costs ten times what the copy does.
        return b"".join((orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATACLASS), b""))
    except orjson.JSONEncodeError as error:
        raise TypeError(str(error)) from None


def encode_each(values: Sequence[Any]) -> list[bytes]:
    """UTF-8 JSON of each of some JSON values; TypeError as `encode`.

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
    """The value of JSON bytes; ValueError if they are not JSON."""
    return orjson.loads(data)


def rounds(data: bytes) -> bool:
    """Whether `decode` would change a number: an integer beyond 64 bits, as most readers do."""
    if _WHOLE.search(data) is None:
        return False
    numbers = _WHOLE.findall(_TEXT.sub(b'""', data))
    return any(len(one) > 20 or not -(2**63) <= int(one) < 2**64 for one in numbers)


def verbatim(data: bytes) -> Any:
    """JSON bytes as a part of what `encode` is given: they go out as they are."""
    return orjson.Fragment(data)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if _EXACT.issuperset(map(type, value.values())):
            return value
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return value if _EXACT.issuperset(map(type, value)) else [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def canonical(value: Any) -> bytes:
    """The one spelling shared by all equal JSON values."""
    return orjson.dumps(_plain(value), option=_SORTED)


def equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same value."""
    return canonical(left) == canonical(right)


def digest(value: Any) -> str:
    """Sixteen hex digits that stand for a JSON value."""
    return hashlib.blake2b(canonical(value), digest_size=8).hexdigest()


def deeper_than(value: Any, limit: int) -> bool:
    """Whether arrays and objects are nested in more than `limit` levels; never recurses."""
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


def tokens(text: str) -> list[str]:
    """The reference tokens of a JSON Pointer; ValueError if it is none (SS-03)."""
    if text == "":
        return []
    if not text.startswith("/"):
        raise ValueError(f"{text!r} is no JSON Pointer: begin it with '/', or leave it empty")
    parts = text[1:].split("/")
    for part in parts:
        if "~" in part.replace("~0", "").replace("~1", ""):
            raise ValueError(f"{text!r} is no JSON Pointer: spell '~' as '~0' and '/' as '~1'")
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]


def resolve(value: Any, text: str) -> Any:
    """What a JSON Pointer names inside a value; LookupError if there is nothing."""
    for token in tokens(text):
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
