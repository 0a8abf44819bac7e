"""Interrupts put to a person, line by line, until there is an answer that fits."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import typer

from sayso import jsonvalue
from sayso.client.answers import CANCEL, Answer, expires_at, is_expired, misfits
from sayso.clock import iso
from sayso.commands.terminal import Terminal
from sayso.errors import DeclarationError
from sayso.schemas.schema import Schema, compile_schema

__all__ = ["LookAgain", "put"]

Json = dict[str, Any]
_APPROVAL: Final = frozenset({"approved", "reason", "editedArgs", "remember"})
_GIVE_UP: Final = "/cancel"
_NOTHING: Final[Any] = object()
"""A field that was left out."""


class LookAgain(Exception):
    """The question is over, and the person would rather see what became of the thread."""


class _GivenUp(Exception):
    """The person cancels the question."""


def put(interrupt: Json, call: Json | None, terminal: Terminal, now: Callable[[], int]) -> Answer:
    """Show an interrupt, with the call that it is about, and ask until an answer fits.

    `now` tells milliseconds since the epoch. Returns `CANCEL` where the person cancels; raises
    `LookAgain` for a question whose time is over and that they do not cancel.
    """
    _show(interrupt, call, terminal, now())
    terminal.forget_typed()
    while not is_expired(interrupt, now()):
        try:
            answer = _answer(interrupt, call, terminal)
        except _GivenUp:
            return CANCEL
        faults = misfits(interrupt, answer)
        if not faults and not is_expired(interrupt, now()):
            return answer
        for at, message in faults:
            terminal.say(f"{at or 'The answer'}: {message}", typer.colors.RED)
    terminal.say("Its time is over: it can only be cancelled.", typer.colors.YELLOW)
    if terminal.confirm("Cancel it? No shows how the thread stands."):
        return CANCEL
    raise LookAgain


def _show(interrupt: Json, call: Json | None, terminal: Terminal, now: int) -> None:
    message = interrupt.get("message")
    terminal.say(message or f"The agent asks ({interrupt['reason']}).", bold=True)
    if call is not None:
        terminal.say(f"  Tool: {call['function']['name']}")
        line = f"  Arguments: {_arguments(call)}"
        if len(line) <= terminal.width:
            terminal.say(line)
        else:
            terminal.say("  Arguments:")
            for name, value in _members(call):
                terminal.say(f"    {name}: {value}")
    end = expires_at(interrupt)
    if end is not None:
        terminal.say(f"  Until: {iso(end)} ({_left(end - now)})")


def _left(milliseconds: int) -> str:
    """How much time there is, in words that get coarser with its length."""
    seconds = milliseconds // 1000
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit} left"
    return f"{seconds} seconds left" if seconds > 0 else "over"


def _arguments(call: Json) -> str:
    """The arguments as they are meant, or as they stand if they are no JSON (CL-18)."""
    text: str = call["function"]["arguments"]
    try:
        return jsonvalue.encode(jsonvalue.decode(text.encode())).decode()
    except ValueError:
        return text


def _members(call: Json) -> list[tuple[str, str]]:
    """The arguments one by one; all in one where they are no object."""
    text = _arguments(call)
    try:
        value = jsonvalue.decode(text.encode())
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return [("all", text)]
    return [(name, jsonvalue.encode(each).decode()) for name, each in value.items()]


def _answer(interrupt: Json, call: Json | None, terminal: Terminal) -> Any:
    schema = interrupt.get("responseSchema")
    if schema is None:
        if interrupt["reason"] in ("confirmation", "tool_call"):
            return _verdict("yn", terminal) == "y"
        return _given_up(terminal.ask(f"Answer ({_GIVE_UP} to cancel):"))
    properties = schema.get("properties")
    form = _Form(schema, terminal)
    if isinstance(properties, dict) and _type(form.resolved(properties.get("approved"))) == (
        "boolean"
    ):
        return _approval(properties, form, call, terminal)
    terminal.say(f"  {_GIVE_UP} cancels.")
    return form.value("Answer", schema, needed=True)


def _approval(properties: Json, form: "_Form", call: Json | None, terminal: Terminal) -> Json:
    offered = "yn" + ("e" if "editedArgs" in properties else "")
    offered += "r" if "remember" in properties else ""
    verdict = _verdict(offered, terminal)
    answer: Json = {"approved": verdict != "n"}
    if verdict == "e":
        answer["editedArgs"] = form.edited(properties["editedArgs"], call)
    if verdict == "r":
        answer["remember"] = True
    if verdict == "n" and "reason" in properties:
        reason = terminal.ask("Reason (may be empty):")
        answer |= {"reason": reason} if reason else {}
    return form.fields(form.root, answer, skip=_APPROVAL)


def _verdict(offered: str, terminal: Terminal) -> str:
    """One of the offered letters; `c` gives up."""
    meanings = {
        "y": "approve",
        "n": "deny",
        "e": "edit the arguments",
        "r": "approve, and do not ask about just this again",
        "c": "cancel",
    }
    listed = ", ".join(f"{letter}: {meanings[letter]}" for letter in f"{offered}c")
    terminal.say(f"  {listed}")
    while True:
        word = terminal.ask(f"Approve this action? ({'/'.join(offered)})").lower()
        word = {"yes": "y", "no": "n", "edit": "e", "cancel": "c", _GIVE_UP: "c"}.get(word, word)
        if word == "c":
            raise _GivenUp
        if len(word) == 1 and word in offered:
            return word
        terminal.say(f"Type one of {', '.join(f'{offered}c')}.", typer.colors.RED)


def _yes(terminal: Terminal, prompt: str) -> bool:
    while True:
        word = _given_up(terminal.ask(f"{prompt} (y/n)")).lower()
        if word in ("y", "yes", "n", "no"):
            return word[0] == "y"
        terminal.say("Type y or n.", typer.colors.RED)


def _given_up(text: str) -> str:
    if text == _GIVE_UP:
        raise _GivenUp
    return text


class _Form:
    """The fields of one schema, asked one by one by their types."""

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
            real = [each for each in kinds if _type(each) != "null"]
            if len(real) == 1 and isinstance(real[0], dict):
                one = {**{k: v for k, v in schema.items() if k != "anyOf"}, **real[0]}
                if len(kinds) > 1 and isinstance(one.get("type"), str):
                    one["type"] = [one["type"], "null"]
                return one
        return schema

    def fields(self, schema: Json, answer: Json, *, skip: frozenset[str] = frozenset()) -> Json:
        """The answer with the fields that it does not have yet."""
        names = schema.get("properties")
        for name in names if isinstance(names, dict) else ():
            if name in answer or name in skip:
                continue
            part, needed = self._effective(schema, name, answer)
            if part is False:
                continue
            title = part.get("title", name) if isinstance(part, dict) else name
            value = self.value(str(title), part, needed=needed)
            if value is not _NOTHING:
                answer[name] = value
        return answer

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

    def value(self, title: str, schema: Any, *, needed: bool, typed: str = "") -> Any:
        """A value that fits a schema, or `_NOTHING` where none is needed.

        `typed` stands on the line already. An empty line is null where a value is needed and may be
        null.
        """
        schema = self.resolved(schema)
        described = schema.get("description") if isinstance(schema, dict) else None
        if isinstance(described, str):
            self._terminal.say(f"  {described}")
        if _type(schema) == "object" and schema.get("properties"):
            if not needed and not _yes(self._terminal, f"Fill in {title}?"):
                return _NOTHING
            return self.fields(schema, {})
        options = _options(schema)
        for number, (_, told) in enumerate(options, 1):
            self._terminal.say(f"  {number}. {told}")
        compiled = self._compiled(schema)
        prompt = f"{title}{'' if needed else ' (optional)'}{_hint(schema, len(options))}:"
        while True:
            text = _given_up(self._terminal.ask(prompt, typed=typed))
            if not text:
                if not needed:
                    return _NOTHING
                if compiled is not None and compiled.fits(None):
                    return None
                self._terminal.say("This one is needed.", typer.colors.RED)
                continue
            typed = text if typed else ""
            try:
                value = options[_number(text, options)][0] if options else _parsed(text, schema)
            except ValueError as error:
                self._terminal.say(str(error), typer.colors.RED)
                continue
            faults = compiled.problems(value) if compiled is not None else ()
            if not faults:
                return value
            for fault in faults:
                self._terminal.say(f"{fault.pointer or title}: {fault.message}", typer.colors.RED)

    def edited(self, schema: Any, call: Json | None) -> Any:
        """All arguments anew, as one JSON object on a line (TB-05)."""
        now = "" if call is None else _arguments(call)
        if now:
            self._terminal.say(f"  Now: {now}")
        return self.value("All arguments", _bare(self.resolved(schema)), needed=True, typed=now)


def _bare(schema: Any) -> Json:
    """A schema that is asked for whole, not field by field."""
    return {"allOf": [schema], "description": "They replace the arguments above."}


def _type(schema: Any) -> str | None:
    kind = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(kind, list):
        real = [each for each in kind if each != "null"]
        kind = real[0] if len(real) == 1 else None
    return kind if isinstance(kind, str) else None


def _options(schema: Any) -> list[tuple[Any, str]]:
    """Values to choose from, with the words for each."""
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


def _spoken(value: Any) -> str:
    return value if isinstance(value, str) else jsonvalue.encode(value).decode()


def _number(text: str, options: list[tuple[Any, str]]) -> int:
    """The position of an option that is named by its number, or in its own words."""
    if text.isascii() and text.isdigit() and 1 <= int(text) <= len(options):
        return int(text) - 1
    for position, (value, _) in enumerate(options):
        if text == _spoken(value):
            return position
    raise ValueError(f"Type a number from 1 to {len(options)}.")


def _hint(schema: Any, options: int) -> str:
    if options:
        return f" (1-{options})"
    kind = _type(schema)
    return {"boolean": " (y/n)", "string": "", "integer": "", "number": ""}.get(
        kind or "", " (JSON)"
    )


def _parsed(text: str, schema: Any) -> Any:
    """What was typed, as the type of its field; ValueError with what to type instead."""
    kind = _type(schema)
    if kind == "string":
        return text
    if kind == "boolean":
        if text.lower() in ("y", "yes", "true"):
            return True
        if text.lower() in ("n", "no", "false"):
            return False
        raise ValueError("Type y or n.")
    try:
        value = jsonvalue.decode(text.encode())
    except ValueError:
        raise ValueError(
            "Type a number." if kind in ("integer", "number") else "This is not JSON."
        ) from None
    if kind in ("integer", "number") and (
        isinstance(value, bool) or not isinstance(value, int | float)
    ):
        raise ValueError("Type a number.")
    return value
