"""The subschemas of a JSON Schema by pointer, their references, and a check that these end.

What counts as one is said by the dialect: older ones than 2020-12 ignore some members, and have
others.

Only references inside the document are allowed, to places that are schemas. A cycle of schemas that
apply to one and the same value says nothing about it, and expansion is bounded, so that the cost
of a check is bounded by the author's own declaration (design 7).
"""

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from sayso.base import jsonvalue
from sayso.base.errors import DeclarationError

OWN_DIALECT: Final = "json-schema.org/draft/2020-12/schema"
_DRAFT_7: Final = "json-schema.org/draft-07/schema"
_2019: Final = "json-schema.org/draft/2019-09/schema"

_UNKNOWN: Final = {
    _DRAFT_7: {
        "$anchor",
        "$recursiveRef",
        "dependentRequired",
        "dependentSchemas",
        "maxContains",
        "minContains",
        "prefixItems",
        "unevaluatedItems",
        "unevaluatedProperties",
    },
    _2019: {"prefixItems"},
}
"""Members that a dialect ignores and 2020-12 does not."""
_GONE: Final = {
    _DRAFT_7: {"contentEncoding", "contentMediaType", "dependencies"},
    _2019: {"$recursiveAnchor", "$recursiveRef", "dependencies"},
}
"""Members that say something about a value in a dialect, and nothing in 2020-12."""
_BESIDE_A_REFERENCE: Final = {
    "$comment",
    "$defs",
    "$ref",
    "$schema",
    "default",
    "definitions",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
}
"""Members beside a `$ref` that say nothing about a value. Draft-07 ignores all others there."""


def known_dialect(declared: Any) -> str | None:
    """The dialect that a `$schema` names, if it can be read here."""
    if not isinstance(declared, str):
        return None
    name = declared.removeprefix("https://").removeprefix("http://").removesuffix("#")
    return name if name in (OWN_DIALECT, *_UNKNOWN) and name != declared else None


def changed_member(nodes: Mapping[str, Any], dialect: str) -> tuple[str, str] | None:
    """The first member of a document's schemas that means something else in 2020-12.

    `nodes` are the schemas by pointer; returned are the pointer of one and the member's name.
    """
    if dialect == OWN_DIALECT:
        return None
    contains = any(isinstance(node, dict) and "contains" in node for node in nodes.values())
    for pointer, node in nodes.items():
        if isinstance(node, dict):
            for name in _changed(node, dialect, contains=contains):
                return pointer, name
    return None


def _changed(node: dict[str, Any], dialect: str, *, contains: bool) -> Iterable[str]:
    other = _UNKNOWN[dialect] | _GONE[dialect]
    if dialect == _2019 and contains:  # what `contains` has found counts as evaluated since
        other = other | {"unevaluatedItems"}
    yield from (name for name in node if name in other)
    if isinstance(node.get("items"), list):
        yield "items"
    if dialect == _DRAFT_7 and "$ref" in node:
        yield from (name for name in node if name not in _BESIDE_A_REFERENCE)


MAX_NODES: Final = 10_000

_HERE_ONE: Final = ("not", "if", "then", "else")
_HERE_LIST: Final = ("allOf", "anyOf", "oneOf")
_HERE_MAP: Final = ("dependentSchemas",)
_INSIDE_ONE: Final = (
    "additionalProperties",
    "contains",
    "items",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_INSIDE_LIST: Final = ("prefixItems",)
_INSIDE_MAP: Final = ("properties", "patternProperties")
_STORED_ONE: Final = ("contentSchema",)
_STORED_MAP: Final = ("$defs", "definitions")

Step = tuple[tuple[str | int, ...], Any]


def _of(schema: dict[str, Any], single: tuple[str, ...], many: tuple[str, ...]) -> Iterator[Step]:
    for key in single:
        if key in schema:
            yield (key,), schema[key]
    for key in many:
        held = schema.get(key)
        if isinstance(held, dict):
            for name, item in held.items():
                yield (key, name), item
        elif isinstance(held, list):
            for index, item in enumerate(held):
                yield (key, index), item


def _here(schema: dict[str, Any]) -> Iterator[Step]:
    """Subschemas that apply to the same value."""
    return _of(schema, _HERE_ONE, _HERE_LIST + _HERE_MAP)


def children(schema: Any) -> Iterator[Step]:
    """Every direct subschema, with its path of keys and positions."""
    if isinstance(schema, dict):
        yield from _here(schema)
        yield from _of(schema, _INSIDE_ONE, _INSIDE_LIST + _INSIDE_MAP)
        yield from _of(schema, _STORED_ONE, _STORED_MAP)


@dataclass(frozen=True, slots=True)
class Subschemas:
    """All schemas of a document by JSON Pointer, and the pointer that each reference means."""

    nodes: dict[str, Any]
    targets: dict[str, str]
    """The targets of references, by the pointer of the schema that holds the `$ref`."""

    def applied(self, pointer: str, *, inside: bool) -> Iterator[str]:
        """Pointers of what applies with the schema at `at`: to the value, or also inside it."""
        schema = self.nodes[pointer]
        if not isinstance(schema, dict):
            return
        if pointer in self.targets:
            yield self.targets[pointer]
        for path, _ in _here(schema):
            yield pointer + jsonvalue.pointer(path)
        if inside:
            for path, _ in _of(schema, _INSIDE_ONE, _INSIDE_LIST + _INSIDE_MAP):
                yield pointer + jsonvalue.pointer(path)


def subschemas(schema: dict[str, Any]) -> Subschemas:
    """Index a schema document.

    Raises:
        DeclarationError: Another dialect, a reference that leaves the document or names nothing, a
            cycle that consumes nothing, or more than 10,000 schemas when references are expanded.
    """
    nodes: dict[str, Any] = {"": schema}
    unread = [""]
    while unread:
        pointer = unread.pop()
        for path, child in children(nodes[pointer]):
            where = pointer + jsonvalue.pointer(path)
            nodes[where] = child
            unread.append(where)
    _check_dialect(nodes)
    anchors: dict[str, str] = {}
    for pointer, node in nodes.items():
        if isinstance(node, dict):
            _check_identity(pointer, node)
            if isinstance(anchor := node.get("$anchor"), str):
                anchors[anchor] = pointer
    targets = {
        pointer: _target(pointer, node["$ref"], nodes, anchors)
        for pointer, node in nodes.items()
        if isinstance(node, dict) and "$ref" in node
    }
    subschemas = Subschemas(nodes, targets)
    _check_cycles(subschemas)
    _check_expansion(subschemas)
    return subschemas


def accepts_string(schemas: Subschemas, pointer: str = "") -> bool:
    """True if some string may fit; never False for a schema that takes one.

    Types, fixed values, references and combinations are looked at; `not` and `if` are not.
    """
    node = schemas.nodes[pointer]
    if not isinstance(node, dict):
        return node is not False
    kinds = node.get("type", "string")
    fixed = [node["const"]] if "const" in node else node.get("enum", [""])
    if "string" not in ([kinds] if isinstance(kinds, str) else kinds):
        return False
    if not any(isinstance(value, str) for value in fixed):
        return False
    if pointer in schemas.targets and not accepts_string(schemas, schemas.targets[pointer]):
        return False

    def parts(key: str) -> list[bool]:
        return [
            accepts_string(schemas, f"{pointer}/{key}/{n}") for n in range(len(node.get(key, ())))
        ]

    return all(parts("allOf")) and all(any(parts(key)) for key in ("anyOf", "oneOf") if key in node)


def _refuse(pointer: str, what: str) -> DeclarationError:
    return DeclarationError(f"the schema at {'#' + pointer!r} {what}")


def _check_dialect(nodes: dict[str, Any]) -> None:
    """Refuse a schema of another dialect that means something else there."""
    declared = nodes[""].get("$schema", f"https://{OWN_DIALECT}")
    dialect = known_dialect(declared)
    if dialect is None:
        raise _refuse(
            "", "declares a dialect other than 2020-12, 2019-09 and draft-07: omit $schema"
        )
    for pointer, node in nodes.items():
        if isinstance(node, dict) and known_dialect(node.get("$schema", declared)) != dialect:
            raise _refuse(pointer, "declares another dialect than the whole: omit $schema there")
    change = changed_member(nodes, dialect)
    if change is not None:
        pointer, name = change
        raise _refuse(
            pointer,
            f"has {name!r}, which means something else in {declared} than in 2020-12: write it in "
            "2020-12, or leave it out",
        )


def _check_identity(pointer: str, node: dict[str, Any]) -> None:
    if pointer and "$id" in node:
        raise _refuse(pointer, "has an $id of its own: move it into $defs and refer to '#/$defs/…'")
    if "$dynamicRef" in node:
        raise _refuse(pointer, "uses $dynamicRef: use $ref")


def _target(pointer: str, ref: Any, nodes: dict[str, Any], anchors: dict[str, str]) -> str:
    if not isinstance(ref, str):
        raise _refuse(pointer, "has a $ref that is no string")
    if not ref.startswith("#"):
        raise _refuse(pointer, f"refers to {ref[:100]!r}, outside itself: copy that into $defs")
    fragment = unquote(ref[1:])
    where = anchors.get(fragment)
    if where is None and fragment[:1] in ("", "/"):
        where = fragment
    if where is None or where not in nodes:
        raise _refuse(pointer, f"refers to {ref[:100]!r}, where there is no schema")
    return where


def _check_cycles(schemas: Subschemas) -> None:
    done: set[str] = set()
    for start in schemas.nodes:
        active: dict[str, None] = {}
        stack = [(start, False)]
        while stack:
            pointer, leaving = stack.pop()
            if leaving:
                del active[pointer]
                done.add(pointer)
            elif pointer in active:
                raise _refuse(
                    pointer, "refers to itself for one and the same value, so it never ends"
                )
            elif pointer not in done:
                active[pointer] = None
                stack.append((pointer, True))
                stack.extend((step, False) for step in schemas.applied(pointer, inside=False))


def _check_expansion(schemas: Subschemas) -> None:
    count = 0
    active: set[str] = set()
    stack = [("", False)]
    while stack:
        pointer, leaving = stack.pop()
        if leaving:
            active.discard(pointer)
            continue
        count += 1
        if count > MAX_NODES:
            raise _refuse("", f"expands to more than {MAX_NODES} schemas: simplify it")
        if pointer not in active:
            active.add(pointer)
            stack.append((pointer, True))
            stack.extend((step, False) for step in schemas.applied(pointer, inside=True))


def strip_keywords(schema: dict[str, Any], *keywords: str) -> dict[str, Any]:
    """A copy of a JSON Schema without these keywords, at any depth.

    Providers differ in what they take: `strip_keywords(tool.parameters, "additionalProperties")`
    is for the model, while forms and checks keep the schema as it is. Properties, definitions and
    values that are called like a keyword stay.
    """
    cleaned = copy.deepcopy(schema)
    unread: list[Any] = [cleaned]
    while unread:
        node = unread.pop()
        if isinstance(node, dict):
            for keyword in keywords:
                node.pop(keyword, None)
            unread.extend(child for _, child in children(node))
    return cleaned
