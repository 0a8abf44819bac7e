"""One field of a form on a terminal: its label, what can be chosen, and what was typed. Pure."""

from collections.abc import Mapping
from typing import Any

from sayso import jsonvalue
from sayso.schemas.schema import Schema

__all__ = [
    "Options",
    "default_of",
    "hint",
    "is_secret",
    "options_of",
    "parsed",
    "shown_default",
    "type_of",
]

Options = list[tuple[Any, str]]
"""Values to choose from, with the words for each."""


def type_of(schema: Any) -> str | None:
    """The one type that a value has, null aside; None where there are more or none."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(kind, list):
        real = [each for each in kind if each != "null"]
        kind = real[0] if len(real) == 1 else None
    return kind if isinstance(kind, str) else None


def options_of(schema: Any, items: Any = None) -> Options:
    """What can be chosen; for a list of chosen ones `items` is the schema of one of them."""
    if type_of(schema) == "array":
        return _options(items)
    return _options(schema)


def _options(schema: Any) -> Options:
    if not isinstance(schema, dict):
        return []
    if isinstance(schema.get("enum"), list):
        return [(value, _spoken(value)) for value in schema["enum"]]
    found = schema.get("oneOf")
    if not isinstance(found, list) or not all(
        isinstance(each, Mapping) and "const" in each for each in found
    ):
        return []
    options = []
    for each in found:
        told = str(each.get("title", _spoken(each["const"])))
        options.append(
            (each["const"], f"{told}: {each['description']}" if "description" in each else told)
        )
    return options


def is_secret(schema: Any) -> bool:
    """Whether it is not to be seen while it is typed."""
    return isinstance(schema, dict) and (
        schema.get("writeOnly") is True or schema.get("format") == "password"
    )


def default_of(schema: Any, compiled: Schema | None) -> Any:
    """What an empty line stands for; None where the schema says nothing, or what would not fit."""
    value = schema.get("default") if isinstance(schema, dict) else None
    if value is None or (compiled is not None and not compiled.fits(value)):
        return None
    return value


def shown_default(value: Any, options: Options) -> str:
    """A default in the words in which it could be typed; nothing for an empty one, or none."""
    if value is None:
        return ""
    if options and isinstance(value, list):
        return ", ".join(map(_spoken, value))
    for position, (option, _) in enumerate(options, 1):
        if jsonvalue.equal(option, value):
            return str(position)
    if isinstance(value, bool):
        return "y" if value else "n"
    return "" if value in ("", [], {}) else _spoken(value)


def hint(schema: Any, options: Options) -> str:
    """How to type it, behind its label."""
    kind = type_of(schema)
    if options:
        numbers = f"1-{len(options)}"
        return f" ({numbers}, several by commas)" if kind == "array" else f" ({numbers})"
    return {"boolean": " (y/n)", "string": "", "integer": "", "number": ""}.get(
        kind or "", " (JSON)"
    )


def parsed(text: str, schema: Any, options: Options) -> Any:
    """What was typed, as the type of its field; ValueError with what to type instead."""
    if not text:
        raise ValueError("This one is needed.")
    kind = type_of(schema)
    if options and kind == "array":
        if text.startswith("["):
            return _json(text, kind)
        return [_chosen(each.strip(), options) for each in text.split(",") if each.strip()]
    if options:
        return _chosen(text, options)
    if kind == "string":
        return text
    if kind == "boolean":
        if text.lower() in ("y", "yes", "true"):
            return True
        if text.lower() in ("n", "no", "false"):
            return False
        raise ValueError("Type y or n.")
    value = _json(text, kind)
    if kind in ("integer", "number") and (
        isinstance(value, bool) or not isinstance(value, int | float)
    ):
        raise ValueError("Type a number.")
    return value


def _json(text: str, kind: str | None) -> Any:
    try:
        return jsonvalue.decode(text.encode())
    except ValueError:
        if kind in ("integer", "number"):
            raise ValueError("Type a number.") from None
        like = {"array": '; a list is written ["a", "b"]', "object": '; write {"name": "value"}'}
        raise ValueError(f"This is not JSON{like.get(kind or '', '')}.") from None


def _chosen(text: str, options: Options) -> Any:
    """An option that is named by its number, or in its own words."""
    if text.isascii() and text.isdigit() and 1 <= int(text) <= len(options):
        return options[int(text) - 1][0]
    for value, _ in options:
        if text == _spoken(value):
            return value
    raise ValueError(f"Type a number from 1 to {len(options)}.")


def _spoken(value: Any) -> str:
    return value if isinstance(value, str) else jsonvalue.encode(value).decode()
