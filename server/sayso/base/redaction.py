"""Values without what their schema marks as secret: `writeOnly`, or the format `password`. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import unquote

from sayso.base import jsonvalue

Json = Mapping[str, Any]

_MAX_DEPTH: Final = 32
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_BRANCHES: Final = ("if", "then", "else")
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
    if len(path) >= _MAX_DEPTH or any(_is_marked(schema, root) for schema in about):
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
            # What no other branch has evaluated cannot be told without a check: it may be this.
            rest = ("additionalProperties", "unevaluatedProperties")
            subschemas += map(schema.get, rest)
        subschemas += patterns.values() if isinstance(patterns, dict) else ()
    return [subschema for subschema in subschemas if isinstance(subschema, dict)]


def _items(schemas: Iterable[Json], position: int) -> list[Json]:
    """The schemas that may say something about an item: the first ones may have their own."""
    subschemas: list[Any] = []
    for schema in schemas:
        items = schema.get("items")
        first = schema.get("prefixItems", items if isinstance(items, list) else ())
        rest = schema.get("additionalItems") if isinstance(items, list) else items
        others = (rest, schema.get("unevaluatedItems"))
        subschemas += first[position : position + 1] or others
        subschemas.append(schema.get("contains"))
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
        branches += map(schema.get, _BRANCHES)
        dependent = schema.get("dependentSchemas")
        branches += dependent.values() if isinstance(dependent, dict) else ()
        branches.append(_target(schema.get("$ref"), root))
        waiting += [branch for branch in branches if isinstance(branch, dict)]


def _target(reference: Any, root: Json) -> Any:
    """Follow a reference inside the document; others were refused when it was declared."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    fragment = unquote(reference[1:])
    if fragment[:1] not in ("", "/"):
        named = (part for part in _within(root) if part.get("$anchor") == fragment)
        return next(named, None)
    try:
        return jsonvalue.resolve(root, fragment)
    except (LookupError, ValueError):
        return None


def _within(schema: Any, root: Json | None = None) -> Iterable[Json]:
    """All objects of a schema, with those that it refers to in a document."""
    waiting: list[Any] = [schema]
    seen: set[int] = set()
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict) and id(part) not in seen:
            seen.add(id(part))
            yield part
            waiting += part.values()
            if root is not None:
                waiting.append(_target(part.get("$ref"), root))


def _is_marked(schema: Json, root: Json) -> bool:
    """True if a schema marks a value as secret, or a part of what a text has as its content."""
    content = schema.get("contentSchema")
    return _marks(schema) or any(map(_marks, () if content is None else _within(content, root)))


def _marks(schema: Json) -> bool:
    return schema.get("writeOnly") is True or schema.get("format") == "password"
