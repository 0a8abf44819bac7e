"""Values that survive their JSON form: a function gets what its call was given. Pure.

The arguments that are proposed, shown, approved and recorded are JSON, and the function gets what
is read from that. A type whose JSON is another value would run another call than was made.
"""

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any, Final

from pydantic import BaseModel, SecretBytes, SecretStr

from sayso.base.jsonvalue import pointer

_SECRETS: Final = (SecretBytes, SecretStr)
_PLAIN: Final = frozenset((str, int, float, bool))
_LEFT_OUT: Final = ("serialization_exclude", "serialization_exclude_if")


def hidden(schema: Any) -> str | None:
    """Name a part of a pydantic core schema that JSON lacks, and where; None if there is none."""
    return next(_hidden(schema, ()), None)


def _hidden(node: Any, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(node, list | tuple):
        for item in node:
            yield from _hidden(item, path)
    if not isinstance(node, dict):
        return
    where = f" at {pointer(path)!r}" if path else ""
    if any(node.get(name) for name in _LEFT_OUT):
        yield f"a field{where} that is left out of JSON (`exclude`)"
    if isinstance(kind := node.get("cls"), type) and issubclass(kind, _SECRETS):
        yield f"a {kind.__name__}{where}, of which JSON has the stars alone"
        return
    for name, part in node.items():
        if name == "fields" and isinstance(part, dict):
            for field, inner in part.items():
                yield from _hidden(inner, (*path, str(field)))
        elif name == "fields" and isinstance(part, list):
            for inner in part:
                named = inner.get("name") if isinstance(inner, dict) else None
                yield from _hidden(inner, path if named is None else (*path, str(named)))
        elif name not in ("metadata", "ref", "default"):
            yield from _hidden(part, path)


def same(sent: Any, read: Any) -> bool:
    """True if a validated value and the one read from its JSON are the same to a function.

    Models and dataclasses are compared by their fields, also without an `__eq__` of their own. A
    tuple and a list are the same where the annotation does not say which it is.
    """
    if sent is read:
        return True
    if type(sent) in _PLAIN and type(sent) is type(read):
        return bool(sent == read)
    if isinstance(sent, list | tuple) and isinstance(read, list | tuple):
        return len(sent) == len(read) and all(map(same, sent, read))
    if isinstance(sent, BaseModel) and type(sent) is type(read):
        more = same(sent.__pydantic_extra__ or {}, read.__pydantic_extra__ or {})
        return more and same(sent.__dict__, read.__dict__)
    if isinstance(sent, Mapping) and isinstance(read, Mapping):
        return sent.keys() == read.keys() and all(same(sent[key], read[key]) for key in sent)
    if type(sent) is type(read) and _has_plain_fields(sent):
        return same(vars(sent), vars(read))
    return isinstance(sent, bool) == isinstance(read, bool) and bool(sent == read)


def _has_plain_fields(value: Any) -> bool:
    compares = any("__eq__" in vars(kind) for kind in type(value).__mro__[:-1])
    return hasattr(value, "__dict__") and (is_dataclass(value) or not compares)
