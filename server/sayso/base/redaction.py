"""Values without what their schema marks as secret: `writeOnly`, or the format `password`. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import unquote

from sayso.base import jsonvalue

Json = Mapping[str, Any]

_MAX_DEPTH: Final = 32
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_MARKS: Final = (b"writeOnly", b'"password"')
NOT_SHOWN: Final = "(not shown)"
"""What stands in place of a secret where people read."""

Path = tuple[str | int, ...]
"""The members and positions that lead to a part of a value."""


def marks_secrets(schema: bytes | None) -> bool:
    """True if a schema, as JSON, may mark anything as secret."""
    return schema is not None and any(mark in schema for mark in _MARKS)


def redacted(payload: Any, schema: Json | None) -> Any:
    """The payload without what its schema marks as secret; a secret whole is `(not shown)`."""
    return replaced(payload, schema, lambda value, path: NOT_SHOWN)


def replaced(payload: Any, schema: Json | None, instead: Callable[[Any, Path], Any]) -> Any:
    """The payload with what `instead` makes of each part that its schema marks as secret.

    It is given the part, and the path to it.
    """
    if not schema or not any(mark in jsonvalue.encode(schema) for mark in _MARKS):
        return payload
    return _replaced(payload, [schema], schema, instead, ())


def _replaced(
    value: Any, schemas: Iterable[Json], root: Json, instead: Callable[[Any, Path], Any], path: Path
) -> Any:
    about = list(_applying(schemas, root))
    # What lies too deep to be looked at may be a secret as well.
    if len(path) >= _MAX_DEPTH or any(
        subschema.get("writeOnly") is True or subschema.get("format") == "password"
        for subschema in about
    ):
        return instead(value, path)
    if isinstance(value, dict):
        return {
            name: _replaced(item, _members(about, name), root, instead, (*path, name))
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [
            _replaced(item, _items(about, position), root, instead, (*path, position))
            for position, item in enumerate(value)
        ]
    return value


def _members(schemas: Iterable[Json], name: str) -> list[Json]:
    """The schemas that may say something about a member, by whatever pattern."""
    subschemas: list[Any] = []
    for schema in schemas:
        properties, patterns = schema.get("properties"), schema.get("patternProperties")
        if isinstance(properties, dict) and name in properties:
            subschemas.append(properties[name])
        else:
            subschemas.append(schema.get("additionalProperties"))
        subschemas += patterns.values() if isinstance(patterns, dict) else ()
    return [subschema for subschema in subschemas if isinstance(subschema, dict)]


def _items(schemas: Iterable[Json], position: int) -> list[Json]:
    """The schemas that may say something about an item: the first ones may have their own."""
    subschemas: list[Any] = []
    for schema in schemas:
        items = schema.get("items")
        first = schema.get("prefixItems", items if isinstance(items, list) else ())
        rest = schema.get("additionalItems") if isinstance(items, list) else items
        subschemas.append(first[position] if position < len(first) else rest)
    return [subschema for subschema in subschemas if isinstance(subschema, dict)]


def _applying(schemas: Iterable[Json], root: Json) -> Iterable[Json]:
    """The schemas that may say something about a value, references and branches included."""
    waiting = list(schemas)
    seen: set[int] = set()
    while waiting:
        schema = waiting.pop()
        if id(schema) in seen:
            continue
        seen.add(id(schema))
        yield schema
        branches = [branch for key in _LISTS for branch in schema.get(key) or ()]
        branches += [schema.get(key) for key in ("then", "else")]
        branches.append(_target(schema.get("$ref"), root))
        waiting += [branch for branch in branches if isinstance(branch, dict)]


def _target(reference: Any, root: Json) -> Any:
    """Follow a reference inside the document; others were refused when it was declared."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    try:
        return jsonvalue.resolve(root, unquote(reference[1:]))
    except (LookupError, ValueError):
        return None
