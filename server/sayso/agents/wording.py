"""A settled question in words: for the history, for a model, for whoever looks later. Pure.

What a person gave is told by the titles of the schema that asked for it. Members that the schema
marks as secret (`writeOnly`, or the format `password`) are never told.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import unquote

from sayso import jsonvalue

__all__ = ["meaning", "open_part", "said", "sentence"]

Json = Mapping[str, Any]

_DEEPEST: Final = 32
_LISTS: Final = ("allOf", "anyOf", "oneOf")
_MARKS: Final = (b"writeOnly", b'"password"')
_SECRET: Final = object()
_NOT_SHOWN: Final = "(not shown)"


def sentence(
    question: str,
    status: str,
    answer: str = "",
    *,
    by: str | None = None,
    lapsed: bool = False,
    meaning: str = "",
) -> str:
    """What became of a question, in words for a model.

    `lapsed`: nobody answered, and a rule spoke. `meaning`: what follows from the answer.
    """
    asked = f'Asked "{question}"' if question else "Asked"
    if status == "expired":
        return f"{asked}, nobody answered in time. Nothing was decided."
    if status == "cancelled":
        how = "nobody answered in time, and it was withdrawn" if lapsed else _withdrawn(by)
        return f"{asked}, {how}. Nothing was decided."
    who = "nobody answered in time; what was agreed for that" if lapsed else by or "a person"
    told = f"{asked}, {who} {'was' if lapsed else 'answered'}: {answer}{_stop(answer)}"
    return f"{told} That means: {meaning}" if meaning else told


def _withdrawn(by: str | None) -> str:
    return f"{by} withdrew the question without an answer" if by else "the question was withdrawn"


def _stop(text: str) -> str:
    return "" if text.endswith((".", "!", "?", "…")) else "."


def said(payload: Any, schema: Json | None) -> str:
    """A payload in a few words: `yes`, `Delete the temporary ones`, `Quarter: Q3; Year: 2026`."""
    shown = open_part(payload, schema)
    if not isinstance(shown, dict):
        return _value(shown)
    properties = (schema or {}).get("properties")
    known: Json = properties if isinstance(properties, dict) else {}
    parts = []
    for name, value in shown.items():
        part = known.get(name)
        described: Json = part if isinstance(part, dict) else {}
        if name == "approved" and isinstance(value, bool):
            parts.append(_value(value))
        elif name == "action" and (title := _title_of(value, described)) is not None:
            parts.append(title)
        else:
            parts.append(f"{described.get('title') or name}: {_value(value)}")
    return "; ".join(parts) or "nothing"


def meaning(payload: Any, schema: Json | None) -> str:
    """What a schema says of the `action` that a payload chose; often nothing."""
    properties = (schema or {}).get("properties")
    choices = properties.get("action") if isinstance(properties, dict) else None
    if not isinstance(payload, dict) or not isinstance(choices, dict):
        return ""
    chosen = _choice(payload.get("action"), choices)
    return str(chosen.get("description") or "") if chosen else ""


def _choice(value: Any, schema: Json) -> Json | None:
    for choice in schema.get("oneOf") or ():
        if isinstance(choice, dict) and choice.get("const") == value:
            return choice
    return None


def _title_of(value: Any, schema: Json) -> str | None:
    """How the schema calls one of the values that it lists."""
    choice = _choice(value, schema)
    if choice is None:
        return None
    title = choice.get("title")
    return f"{title} ({value})" if title and title != value else str(value)


def _value(value: Any) -> str:
    if value is _SECRET:
        return _NOT_SHOWN
    if value is None or value == "":
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else jsonvalue.encode(value).decode()


def open_part(payload: Any, schema: Json | None) -> Any:
    """The payload without what its schema marks as secret; a secret whole is `(not shown)`."""
    if not schema or not any(mark in jsonvalue.encode(schema) for mark in _MARKS):
        return payload
    found = _without_secrets(payload, [schema], schema, 0)
    return _NOT_SHOWN if found is _SECRET else found


def _without_secrets(value: Any, schemas: Iterable[Json], root: Json, depth: int) -> Any:
    about = list(_applying(schemas, root))
    if any(one.get("writeOnly") is True or one.get("format") == "password" for one in about):
        return _SECRET
    if depth >= _DEEPEST:
        return value
    if isinstance(value, dict):
        parts = {
            name: _without_secrets(item, _members(about, name), root, depth + 1)
            for name, item in value.items()
        }
        return {name: _NOT_SHOWN if item is _SECRET else item for name, item in parts.items()}
    if isinstance(value, list):
        items = [one["items"] for one in about if isinstance(one.get("items"), dict)]
        inside = [_without_secrets(item, items, root, depth + 1) for item in value]
        return [_NOT_SHOWN if item is _SECRET else item for item in inside]
    return value


def _members(schemas: Iterable[Json], name: str) -> list[Json]:
    found: list[Json] = []
    for one in schemas:
        properties = one.get("properties")
        member = properties.get(name) if isinstance(properties, dict) else None
        member = one.get("additionalProperties") if member is None else member
        if isinstance(member, dict):
            found.append(member)
    return found


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
    """What a reference inside the document leads to; others were refused when it was declared."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    try:
        return jsonvalue.resolve(root, unquote(reference[1:]))
    except (LookupError, ValueError):
        return None
