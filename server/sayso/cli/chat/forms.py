"""Forms on a terminal: the fields of a schema, asked one by one by their types.

A field has a label, what can be chosen, and what was typed.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import typer

from sayso.base import digits, jsonvalue
from sayso.base.errors import DeclarationError
from sayso.cli.chat.terminal import Terminal
from sayso.client.answers import is_within, secrets_left
from sayso.schemas.schema import Schema, compile_schema

Json = dict[str, Any]
Options = list[tuple[Any, str]]
"""Values to choose from, with the words for each."""
GIVE_UP: Final = "/cancel"
_NOTHING: Final[Any] = object()
"""A field that was left out."""


class GivenUp(Exception):
    """The person cancels the question."""


def given_up(text: str) -> str:
    """The text, if it does not cancel the question."""
    if text == GIVE_UP:
        raise GivenUp
    return text


class Form:
    """The fields of one schema."""

    def __init__(self, root: Json, terminal: Terminal) -> None:
        self.root = root
        self._terminal = terminal
        self._now: Any = None

    def resolved(self, schema: Any) -> Any:
        """A schema without its references to other parts of the same document."""
        seen: set[str] = set()
        while isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
            target = schema["$ref"]
            if not target.startswith("#") or target in seen:
                return {}
            seen.add(target)
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            try:
                target_schema = jsonvalue.resolve(self.root, target[1:])
            except (LookupError, ValueError, TypeError):
                return {}
            schema = {**target_schema, **rest} if isinstance(target_schema, dict) else target_schema
        if isinstance(schema, dict) and isinstance(schema.get("anyOf"), list):
            kinds = [self.resolved(each) for each in schema["anyOf"]]
            real = [each for each in kinds if type_of(each) != "null"]
            if len(real) == 1 and isinstance(real[0], dict):
                merged = {**{k: v for k, v in schema.items() if k != "anyOf"}, **real[0]}
                if len(kinds) > 1 and isinstance(merged.get("type"), str):
                    merged["type"] = [merged["type"], "null"]
                return merged
        return schema

    def fields(
        self, schema: Json, answer: Json, *, skip: frozenset[str] = frozenset(), within: str = ""
    ) -> Json:
        """The answer with the fields that it does not have yet; `within` is what they belong to."""
        names = schema.get("properties")
        for name in names if isinstance(names, dict) else ():
            if name in answer or name in skip:
                continue
            part, needed = self._effective(schema, name, answer)
            if part is False:
                continue
            label = f"{within}{self._label(schema['properties'][name], part, name)}"
            value = self.value(label, part, needed=needed)
            if value is not _NOTHING:
                answer[name] = value
        return answer

    def _label(self, written: Any, part: Any, name: str) -> str:
        """A field's own title, or that of a rule about it; not that of a type which it shares."""
        for schema in (written, part):
            if schema is part and isinstance(written, dict) and written.keys() & {"$ref", "anyOf"}:
                break
            title = schema.get("title") if isinstance(schema, dict) else None
            if isinstance(title, str) and title:
                return title
        return name

    def _effective(self, schema: Json, name: str, answer: Json) -> tuple[Any, bool]:
        """A field's schema and whether it is needed, with what earlier fields bring about."""
        part = self.resolved(schema["properties"][name])
        needed = name in schema.get("required", ())
        rules = schema.get("allOf", [])
        for rule in [schema, *(rules if isinstance(rules, list) else [])]:
            if not isinstance(rule, dict) or not isinstance(rule.get("if"), dict):
                continue
            compiled = self._compiled(rule["if"])
            fits = compiled is not None and compiled.is_valid(answer)
            then = rule.get("then" if fits else "else")
            if isinstance(then, dict):
                needed |= name in then.get("required", ())
                more = self.resolved(then.get("properties", {}).get(name, {}))
                if more is False:
                    return False, False
                part = {**part, **more} if isinstance(part, dict) else more
        return part, needed

    def _compiled(self, schema: Any) -> Schema | None:
        """Compile a schema; None if it cannot be used: the whole answer is checked anyway."""
        if not isinstance(schema, dict):
            return None
        shared = {key: self.root[key] for key in ("$defs", "definitions") if key in self.root}
        try:
            return compile_schema({**shared, **schema})
        except DeclarationError:
            return None

    def value(self, label: str, schema: Any, *, needed: bool, typed: str = "") -> Any:
        """A value that fits a schema, or `_NOTHING` where none is needed.

        The whole answer has no label. `typed` stands on the line already. An empty line is the
        schema's default; without one it is null where a value is needed and may be null.
        """
        schema = self.resolved(schema)
        described = schema.get("description") if isinstance(schema, dict) else None
        if isinstance(described, str):
            self._terminal.say(f"  {described}")
        if type_of(schema) == "object" and schema.get("properties"):
            if not needed and not self.yes(f"Fill in {label}?"):
                return _NOTHING
            return self.fields(schema, {}, within=f"{label} / " if label else "")
        if shapes := [self.resolved(each) for each in shapes_of(schema)]:
            titles = [{"const": n, "title": _title(shape)} for n, shape in enumerate(shapes)]
            number = self._single(label or "Answer", {"oneOf": titles}, needed=needed, typed="")
            return number if number is _NOTHING else self._shaped(label, shapes[number])
        return self._single(label or "Answer", schema, needed=needed, typed=typed)

    def _shaped(self, label: str, shape: Json) -> Json:
        """An object of one shape of several, which its constants tell apart."""
        parts = shape["properties"].items()
        fixed = {
            n: part["const"] for n, part in parts if isinstance(part, dict) and "const" in part
        }
        return self.fields(shape, fixed, within=f"{label} / " if label else "")

    def _single(self, label: str, schema: Any, *, needed: bool, typed: str) -> Any:
        compiled, secret = self._compiled(schema), is_secret(schema)
        items = self.resolved(schema.get("items")) if type_of(schema) == "array" else None
        options = options_of(schema, items)
        for number, (_, words) in enumerate(options, 1):
            self._terminal.say(f"  {number}. {words}")
        default = default_of(schema, compiled)
        preset = "" if secret else shown_default(default, options)
        state = f" [{preset}]" if preset else "" if needed else " (optional)"
        # Of any type: what is no JSON are words.
        any_type = not options and type_of(schema) is None
        in_words = any_type and compiled is not None and compiled.is_valid("yes")
        shown_hint = " (words, or JSON)" if in_words else hint(schema, options)
        prompt = f"{label}{state}{shown_hint}:"
        while True:
            text = given_up(self._terminal.ask(prompt, typed=typed, secret=secret))
            if not text and default is not None and (needed or preset):
                return default
            if not text and not needed:
                return _NOTHING
            if not text and compiled is not None and compiled.is_valid(None):
                return None
            typed = text if typed else ""
            try:
                value = parsed(text, schema, options)
            except ValueError as error:
                if in_words and text:
                    return text
                self._terminal.say(str(error), typer.colors.RED)
                continue
            left = secrets_left(self._now, value)
            faults = [
                fault
                for fault in (compiled.errors(value) if compiled is not None else ())
                if not is_within(fault.pointer, left)
            ]
            if not faults:
                return value
            for fault in faults:
                self._terminal.say(f"{fault.pointer or label}: {fault.message}", typer.colors.RED)

    def edited(self, schema: Any, now: str) -> Any:
        """Ask for all arguments as one JSON object, on a line with the present ones (TB-05)."""
        if now:
            self._terminal.say(f"  Now: {now}")
            with suppress(ValueError):  # as a client may have written them
                self._now = jsonvalue.decode(now.encode())
        return self.value("All arguments", _bare(self.resolved(schema)), needed=True, typed=now)

    def may_be_null(self, schema: Any) -> bool:
        """True if a part of this schema takes null."""
        compiled = self._compiled(self.resolved(schema))
        return compiled is not None and compiled.is_valid(None)

    def yes(self, prompt: str) -> bool:
        """Ask a question of our own; True if the answer is yes."""
        while True:
            word = given_up(self._terminal.ask(f"{prompt} (y/n)")).lower()
            if word in ("y", "yes", "n", "no"):
                return word[0] == "y"
            self._terminal.say("Type y or n.", typer.colors.RED)


def _bare(schema: Any) -> Json:
    """A schema that is asked for whole, not field by field."""
    return {"allOf": [schema], "description": "They replace the arguments above."}


def type_of(schema: Any) -> str | None:
    """The one type that a value has, null aside; None where there are more or none."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(kind, list):
        real = [each for each in kind if each != "null"]
        kind = real[0] if len(real) == 1 else None
    return kind if isinstance(kind, str) else None


def options_of(schema: Any, items: Any = None) -> Options:
    """Return the options of a field; of a list, `items` is the schema of one item."""
    if type_of(schema) == "array":
        return _options(items)
    return _options(schema)


def _options(schema: Any) -> Options:
    if not isinstance(schema, dict):
        return []
    if isinstance(schema.get("enum"), list):
        return [(value, _spoken(value)) for value in schema["enum"]]
    choices = schema.get("oneOf")
    if not isinstance(choices, list) or not all(
        isinstance(each, Mapping) and "const" in each for each in choices
    ):
        return []
    options = []
    for each in choices:
        label = str(each.get("title", _spoken(each["const"])))
        options.append(
            (each["const"], f"{label}: {each['description']}" if "description" in each else label)
        )
    return options


def shapes_of(schema: Any) -> list[Json]:
    """The objects that a value may be one of; none where something else may be it as well."""
    shapes = schema.get("oneOf") if isinstance(schema, dict) else None
    if not isinstance(shapes, list) or len(shapes) < 2:
        return []
    are_objects = all(
        type_of(shape) == "object" and isinstance(shape.get("properties"), dict) for shape in shapes
    )
    return shapes if are_objects else []


def _title(shape: Json) -> str:
    """The words for a shape: its title, else its constants."""
    title = shape.get("title")
    if isinstance(title, str) and title:
        return title
    parts = shape["properties"].values()
    fixed = [_spoken(p["const"]) for p in parts if isinstance(p, dict) and "const" in p]
    return ", ".join(fixed) or ", ".join(shape["properties"])


def is_secret(schema: Any) -> bool:
    """True if a value must not be visible while it is typed."""
    return isinstance(schema, dict) and (
        schema.get("writeOnly") is True or schema.get("format") == "password"
    )


def default_of(schema: Any, compiled: Schema | None) -> Any:
    """Return the value of an empty line; None without a default, or with an invalid one."""
    value = schema.get("default") if isinstance(schema, dict) else None
    if value is None or (compiled is not None and not compiled.is_valid(value)):
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
    """The hint behind its label on how to type it."""
    kind = type_of(schema)
    if options:
        numbers = f"1-{len(options)}"
        return f" ({numbers}, several by commas)" if kind == "array" else f" ({numbers})"
    return {"boolean": " (y/n)", "string": "", "integer": "", "number": ""}.get(
        kind or "", " (JSON)"
    )


def parsed(text: str, schema: Any, options: Options) -> Any:
    """Parse typed text as the type of its field; ValueError says what to type instead."""
    if not text:
        raise ValueError("Required. Type a value.")
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
    if digits.cuts_digits(text):
        raise ValueError("This number has too many digits. Write it shorter.")
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
