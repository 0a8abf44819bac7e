"""Forms on a terminal: the fields of a schema, asked one by one by their types."""

from typing import Any, Final

import typer

from sayso import jsonvalue
from sayso.commands.fields import (
    default_of,
    hint,
    is_secret,
    options_of,
    parsed,
    shown_default,
    type_of,
)
from sayso.commands.terminal import Terminal
from sayso.errors import DeclarationError
from sayso.schemas.schema import Schema, compile_schema

__all__ = ["GIVE_UP", "Form", "GivenUp", "given_up"]

Json = dict[str, Any]
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
                found = jsonvalue.resolve(self.root, target[1:])
            except (LookupError, ValueError, TypeError):
                return {}
            schema = {**found, **rest} if isinstance(found, dict) else found
        if isinstance(schema, dict) and isinstance(schema.get("anyOf"), list):
            kinds = [self.resolved(each) for each in schema["anyOf"]]
            real = [each for each in kinds if type_of(each) != "null"]
            if len(real) == 1 and isinstance(real[0], dict):
                one = {**{k: v for k, v in schema.items() if k != "anyOf"}, **real[0]}
                if len(kinds) > 1 and isinstance(one.get("type"), str):
                    one["type"] = [one["type"], "null"]
                return one
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
            fits = compiled is not None and compiled.fits(answer)
            then = rule.get("then" if fits else "else")
            if isinstance(then, dict):
                needed |= name in then.get("required", ())
                more = self.resolved(then.get("properties", {}).get(name, {}))
                if more is False:
                    return False, False
                part = {**part, **more} if isinstance(part, dict) else more
        return part, needed

    def _compiled(self, schema: Any) -> Schema | None:
        """Nothing for one that cannot be used: the whole answer is checked anyway."""
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
            if not needed and not self._yes(f"Fill in {label}?"):
                return _NOTHING
            return self.fields(schema, {}, within=f"{label} / " if label else "")
        return self._single(label or "Answer", schema, needed=needed, typed=typed)

    def _single(self, label: str, schema: Any, *, needed: bool, typed: str) -> Any:
        compiled, secret = self._compiled(schema), is_secret(schema)
        items = self.resolved(schema.get("items")) if type_of(schema) == "array" else None
        options = options_of(schema, items)
        for number, (_, told) in enumerate(options, 1):
            self._terminal.say(f"  {number}. {told}")
        default = default_of(schema, compiled)
        preset = "" if secret else shown_default(default, options)
        state = f" [{preset}]" if preset else "" if needed else " (optional)"
        prompt = f"{label}{state}{hint(schema, options)}:"
        while True:
            text = given_up(self._terminal.ask(prompt, typed=typed, secret=secret))
            if not text and default is not None and (needed or preset):
                return default
            if not text and not needed:
                return _NOTHING
            if not text and compiled is not None and compiled.fits(None):
                return None
            typed = text if typed else ""
            try:
                value = parsed(text, schema, options)
            except ValueError as error:
                self._terminal.say(str(error), typer.colors.RED)
                continue
            faults = compiled.problems(value) if compiled is not None else ()
            if not faults:
                return value
            for fault in faults:
                self._terminal.say(f"{fault.pointer or label}: {fault.message}", typer.colors.RED)

    def edited(self, schema: Any, now: str) -> Any:
        """All arguments anew, as one JSON object on a line, where those of now stand (TB-05)."""
        if now:
            self._terminal.say(f"  Now: {now}")
        return self.value("All arguments", _bare(self.resolved(schema)), needed=True, typed=now)

    def _yes(self, prompt: str) -> bool:
        while True:
            word = given_up(self._terminal.ask(f"{prompt} (y/n)")).lower()
            if word in ("y", "yes", "n", "no"):
                return word[0] == "y"
            self._terminal.say("Type y or n.", typer.colors.RED)


def _bare(schema: Any) -> Json:
    """A schema that is asked for whole, not field by field."""
    return {"allOf": [schema], "description": "They replace the arguments above."}
