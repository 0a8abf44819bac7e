"""The errors of a value against its schema: JSON Pointers to members, with short messages.

The validator says whether a value fits, in linear time; listing all its errors is exponential for
recursive unions. So this walks down only along misfits, with a budget, and asks the validator of
each subschema. It never repeats the value in a message.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from jsonschema_rs import ValidationError

from sayso.base import jsonvalue
from sayso.schemas.subschemas import Subschemas

MAX_ERRORS: Final = 20
MAX_CHECKS: Final = 20_000
MAX_POINTER_CHARS: Final = 1_024
MAX_TEXT_CHARS: Final = 60
MAX_OPTIONS: Final = 12

LEAVES: Final = frozenset(
    {
        "const",
        "dependentRequired",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "pattern",
        "required",
        "type",
        "uniqueItems",
    }
)
"""Keywords that say something about a value without looking at what is inside it."""

_TAGS: Final = frozenset({"const", "enum"})
_KINDS: Final = _TAGS | {"type"}
"""Keywords whose failure says that a value was meant for another branch."""

_TYPES: Final = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}
_LIMITS: Final = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} members",
    "maxProperties": "must have at most {} members",
}

Path = tuple[str | int, ...]
Place = tuple[str, Any, Path]
"""Pointer of a schema, the value it applies to, and the path of that value."""


class SchemaViolation(NamedTuple):
    """An error at one member of a value; the whole value is the empty pointer."""

    pointer: str
    message: str


class ErrorFinder:
    """One search through one value.

    `fits(at, value)` asks the validator of the schema at a pointer, `leaves(at, value)` gives the
    errors of its leaf keywords alone, `matches(pattern, name)` applies a pattern.
    """

    def __init__(
        self,
        subschemas: Subschemas,
        fits: Callable[[str, Any], bool],
        leaves: Callable[[str, Any], Iterable[ValidationError]],
        matches: Callable[[str, str], bool],
    ) -> None:
        self._schemas = subschemas
        self._ask = fits
        self._leaves = leaves
        self._matches = matches
        self._checks = MAX_CHECKS
        self._faults: dict[SchemaViolation, None] = {}

    def search(self, value: Any) -> tuple[SchemaViolation, ...]:
        """List the errors of a value that does not fit: at least one, at most 20."""
        seen: set[tuple[str, Path]] = set()
        stack: list[Place] = [("", value, ())]
        while stack and len(self._faults) < MAX_ERRORS:
            place = stack.pop()
            pointer, _, path = place
            if (pointer, path) in seen:
                continue
            seen.add((pointer, path))
            before = len(self._faults)
            deeper = list(islice(self._visit(place), MAX_ERRORS))
            stack.extend(reversed(deeper))
            if not deeper and len(self._faults) == before:
                self._note(path, "does not fit what was asked")
        if not self._faults:
            self._note((), "does not fit what was asked")
        return tuple(self._faults)[:MAX_ERRORS]

    def _note(self, path: Path, message: str) -> None:
        where = jsonvalue.pointer(path)
        while len(where) > MAX_POINTER_CHARS:
            path = path[:-1]
            where = jsonvalue.pointer(path)
        self._faults[SchemaViolation(where, message)] = None

    def _fits(self, pointer: str, value: Any) -> bool:
        """True if a value fits, or the budget is spent: a value not looked at is not reported."""
        self._checks -= 1
        return self._checks < 0 or self._ask(pointer, value)

    def _visit(self, place: Place) -> Iterator[Place]:
        """Note the errors right here; yield the misfits to look into."""
        pointer, value, path = place
        schema = self._schemas.nodes[pointer]
        if schema is False:
            self._note(path, "is not allowed here")
        if not isinstance(schema, dict):
            return
        for error in self._leaves(pointer, value):
            self._note_leaf(error, path)
        yield from self._applied(schema, place)
        if isinstance(value, dict):
            yield from self._members(schema, place)
        elif isinstance(value, list):
            yield from self._items(schema, place)

    def _note_leaf(self, error: ValidationError, path: Path) -> None:
        kind: Any = error.kind
        if kind.name == "required":
            self._note((*path, kind.property), "is required")
        else:
            self._note(path, _words(kind))

    # what applies to the same value

    def _applied(self, schema: dict[str, Any], place: Place) -> Iterator[Place]:
        pointer, value, path = place
        plain = [f"{pointer}/allOf/{n}" for n in range(len(schema.get("allOf", ())))]
        if pointer in self._schemas.targets:
            plain.append(self._schemas.targets[pointer])
        if "if" in schema:
            branch = "then" if self._fits(f"{pointer}/if", value) else "else"
            if branch in schema:
                plain.append(f"{pointer}/{branch}")
        if isinstance(value, dict):
            plain += [
                pointer + jsonvalue.pointer(["dependentSchemas", name])
                for name in schema.get("dependentSchemas", ())
                if name in value
            ]
        for step in plain:
            if not self._fits(step, value):
                yield step, value, path
        if "not" in schema and self._fits(f"{pointer}/not", value):
            self._note(path, "has a form that is not allowed")
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                steps = [f"{pointer}/{keyword}/{n}" for n in range(len(schema[keyword]))]
                yield from self._choice(keyword, steps, value, path)

    def _choice(self, keyword: str, steps: list[str], value: Any, path: Path) -> Iterator[Place]:
        """Yield the one branch that the value is meant for, if one stands out."""
        fitting = sum(self._fits(step, value) for step in steps)
        if fitting > 1 and keyword == "oneOf":
            self._note(path, "fits more than one of the allowed forms")
        if fitting:
            return
        meant = [step for step in steps if self._meant(step, value)]
        if len(meant) == 1:
            yield meant[0], value, path
        else:
            self._note(path, self._allowed(steps))

    def _heads(self, pointer: str) -> list[tuple[str, dict[str, Any]]]:
        """The schema at a pointer and those that it refers to directly."""
        heads = []
        while isinstance(schema := self._schemas.nodes[pointer], dict):
            heads.append((pointer, schema))
            if pointer not in self._schemas.targets:
                break
            pointer = self._schemas.targets[pointer]
        return heads

    def _meant(self, step: str, value: Any) -> bool:
        """True if a branch has this kind of value: its type, its constants, its tag members."""
        if self._schemas.nodes[step] is False:
            return False
        for pointer, head in self._heads(step):
            if any(error.kind.name in _KINDS for error in self._leaves(pointer, value)):
                return False
            tags = head.get("properties", {}) if isinstance(value, dict) else {}
            for name, tag in tags.items():
                if name in value and isinstance(tag, dict) and not _TAGS.isdisjoint(tag):
                    where = pointer + jsonvalue.pointer(["properties", name])
                    if any(e.kind.name in _KINDS for e in self._leaves(where, value[name])):
                        return False
        return True

    def _allowed(self, steps: list[str]) -> str:
        types: list[list[str]] = []
        options: list[Any] = []
        for step in steps:
            heads = self._heads(step)
            options += [head["const"] for _, head in heads if "const" in head][:1]
            kinds = [head["type"] for _, head in heads if "type" in head][:1]
            types += [kinds[0] if isinstance(kinds[0], list) else kinds] if kinds else []
        if len(options) == len(steps):
            return _one_of(options)
        if len(types) == len(steps):
            return f"must be {_types(chain.from_iterable(types))}"
        return "fits none of the allowed forms"

    # what is inside

    def _members(self, schema: dict[str, Any], place: Place) -> Iterator[Place]:
        pointer, value, path = place
        properties = schema.get("properties", {})
        patterns = schema.get("patternProperties", {})
        for name, item in value.items():
            inside: list[tuple[str, ...]] = []
            if name in properties:
                inside.append(("properties", name))
            inside += [
                ("patternProperties", pattern)
                for pattern in patterns
                if self._matches(pattern, name)
            ]
            if not inside and "additionalProperties" in schema:
                inside.append(("additionalProperties",))
            for step in inside:
                where = pointer + jsonvalue.pointer(step)
                if not self._fits(where, item):
                    yield where, item, (*path, name)
            if "propertyNames" in schema and not self._fits(f"{pointer}/propertyNames", name):
                self._note((*path, name), "is not an allowed name")

    def _items(self, schema: dict[str, Any], place: Place) -> Iterator[Place]:
        pointer, value, path = place
        first = len(schema.get("prefixItems", ()))
        for n, item in enumerate(value):
            if n < first:
                where = f"{pointer}/prefixItems/{n}"
            elif "items" in schema:
                where = f"{pointer}/items"
            else:
                break
            if not self._fits(where, item):
                yield where, item, (*path, n)
        if "contains" in schema:
            fitting = sum(self._fits(f"{pointer}/contains", item) for item in value)
            least, most = schema.get("minContains", 1), schema.get("maxContains", fitting)
            if not least <= fitting <= most:
                bound = f"at least {least}" if fitting < least else f"at most {most}"
                self._note(path, f"must have {bound} of the items asked for")


def _types(names: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(_TYPES[name] for name in names))


def _one_of(options: list[Any]) -> str:
    words = [jsonvalue.encode(option).decode() for option in options]
    if len(words) > MAX_OPTIONS or any(len(word) > MAX_TEXT_CHARS for word in words):
        return "must be one of the allowed values"
    return f"must be {words[0]}" if len(words) == 1 else f"must be one of {', '.join(words)}"


def _words(kind: Any) -> str:
    name: str = kind.name
    if name in _LIMITS:
        words = _LIMITS[name].format(kind.limit)
        return words.removesuffix("s") if kind.limit == 1 else words
    match name:
        case "type":
            return f"must be {_types(kind.types)}"
        case "enum":
            return _one_of(kind.options)
        case "const":
            return _one_of([kind.expected_value])
        case "multipleOf":
            return f"must be a multiple of {kind.multiple_of}"
        case "pattern" if len(kind.pattern) <= MAX_TEXT_CHARS:
            return f"must match the pattern {kind.pattern}"
        case "pattern":
            return "must match the pattern of the schema"
        case "format":
            return f"must be a valid {kind.format}"
        case "uniqueItems":
            return "must not hold the same item twice"
    return f"breaks the rule {name!r}"
