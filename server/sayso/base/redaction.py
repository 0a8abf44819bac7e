"""Values without what their schema marks as secret: `writeOnly`, or the format `password`. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import unquote

from sayso.base import jsonvalue

Json = Mapping[str, Any]

_MAX_DEPTH: Final = 32
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_MARKS: Final = (b"writeOnly", b'"password"')
_SECRET: Final = object()
_NOT_SHOWN: Final = "(not shown)"


def marks_secrets(schema: bytes | None) -> bool:
    """True if a schema, as JSON, may mark anything as secret."""
    return schema is not None and any(mark in schema for mark in _MARKS)


def redacted(payload: Any, schema: Json | None) -> Any:
    """The payload without what its schema marks as secret; a secret whole is `(not shown)`."""
    if not schema or not any(mark in jsonvalue.encode(schema) for mark in _MARKS):
        return payload
    shown = _without_secrets(payload, [schema], schema, 0)
    return _NOT_SHOWN if shown is _SECRET else shown


def _without_secrets(value: Any, schemas: Iterable[Json], root: Json, depth: int) -> Any:
    about = list(_applying(schemas, root))
    if any(
        subschema.get("writeOnly") is True or subschema.get("format") == "password"
        for subschema in about
    ):
        return _SECRET
    if depth >= _MAX_DEPTH:
        return value
    if isinstance(value, dict):
        parts = {
            name: _without_secrets(item, _members(about, name), root, depth + 1)
            for name, item in value.items()
        }
        return {name: _NOT_SHOWN if item is _SECRET else item for name, item in parts.items()}
    if isinstance(value, list):
        items = [
            subschema["items"] for subschema in about if isinstance(subschema.get("items"), dict)
        ]
        inside = [_without_secrets(item, items, root, depth + 1) for item in value]
        return [_NOT_SHOWN if item is _SECRET else item for item in inside]
    return value


def _members(schemas: Iterable[Json], name: str) -> list[Json]:
    subschemas: list[Json] = []
    for schema in schemas:
        properties = schema.get("properties")
        member = properties.get(name) if isinstance(properties, dict) else None
        member = schema.get("additionalProperties") if member is None else member
        if isinstance(member, dict):
            subschemas.append(member)
    return subschemas


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
