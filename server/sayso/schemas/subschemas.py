"""Where the subschemas of a JSON Schema are, what refers to what, and whether that ends.

Only references inside the document are allowed, to places that are schemas. A cycle of schemas that
apply to one and the same value says nothing about it, and expansion is bounded, so that the cost
of a check is bounded by the author's own declaration (design 7).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from sayso import jsonvalue
from sayso.errors import DeclarationError

__all__ = ["Subschemas", "children", "subschemas", "takes_text"]

MOST_NODES: Final = 10_000
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

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


def _of(schema: dict[str, Any], one: tuple[str, ...], many: tuple[str, ...]) -> Iterator[Step]:
    for key in one:
        if key in schema:
            yield (key,), schema[key]
    for key in many:
        held = schema.get(key)
        if isinstance(held, dict):
            for name, item in held.items():
                yield (key, name), item
        elif isinstance(held, list):
            for at, item in enumerate(held):
                yield (key, at), item


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
    """By the pointer of the schema that holds the `$ref`."""

    def applied(self, at: str, *, inside: bool) -> Iterator[str]:
        """Pointers of what applies with the schema at `at`: to the value, or also inside it."""
        schema = self.nodes[at]
        if not isinstance(schema, dict):
            return
        if at in self.targets:
            yield self.targets[at]
        for path, _ in _here(schema):
            yield at + jsonvalue.pointer(path)
        if inside:
            for path, _ in _of(schema, _INSIDE_ONE, _INSIDE_LIST + _INSIDE_MAP):
                yield at + jsonvalue.pointer(path)


def subschemas(schema: dict[str, Any]) -> Subschemas:
    """Index a schema document.

    Raises:
        DeclarationError: Another dialect, a reference that leaves the document or names nothing, a
            cycle that consumes nothing, or more than 10,000 schemas when references are expanded.
    """
    nodes: dict[str, Any] = {"": schema}
    unread = [""]
    while unread:
        at = unread.pop()
        for path, child in children(nodes[at]):
            where = at + jsonvalue.pointer(path)
            nodes[where] = child
            unread.append(where)
    anchors: dict[str, str] = {}
    for at, node in nodes.items():
        if isinstance(node, dict):
            _check_identity(at, node)
            if isinstance(anchor := node.get("$anchor"), str):
                anchors[anchor] = at
    targets = {
        at: _target(at, node["$ref"], nodes, anchors)
        for at, node in nodes.items()
        if isinstance(node, dict) and "$ref" in node
    }
    found = Subschemas(nodes, targets)
    _check_cycles(found)
    _check_expansion(found)
    return found


def takes_text(found: Subschemas, at: str = "") -> bool:
    """Whether some string may fit; never False for a schema that takes one.

    Types, fixed values, references and combinations are looked at; `not` and `if` are not.
    """
    node = found.nodes[at]
    if not isinstance(node, dict):
        return node is not False
    kinds = node.get("type", "string")
    fixed = [node["const"]] if "const" in node else node.get("enum", [""])
    if "string" not in ([kinds] if isinstance(kinds, str) else kinds):
        return False
    if not any(isinstance(value, str) for value in fixed):
        return False
    if at in found.targets and not takes_text(found, found.targets[at]):
        return False

    def parts(key: str) -> list[bool]:
        return [takes_text(found, f"{at}/{key}/{n}") for n in range(len(node.get(key, ())))]

    return all(parts("allOf")) and all(any(parts(key)) for key in ("anyOf", "oneOf") if key in node)


def _refuse(at: str, what: str) -> DeclarationError:
    return DeclarationError(f"the schema at {'#' + at!r} {what}")


def _check_identity(at: str, node: dict[str, Any]) -> None:
    if node.get("$schema", DIALECT) not in (DIALECT, DIALECT + "#"):
        raise _refuse(at, f"declares another dialect than {DIALECT}: rewrite it, or omit $schema")
    if at and "$id" in node:
        raise _refuse(at, "has an $id of its own: move it into $defs and refer to '#/$defs/…'")
    if "$dynamicRef" in node:
        raise _refuse(at, "uses $dynamicRef: use $ref")


def _target(at: str, ref: Any, nodes: dict[str, Any], anchors: dict[str, str]) -> str:
    if not isinstance(ref, str):
        raise _refuse(at, "has a $ref that is no string")
    if not ref.startswith("#"):
        raise _refuse(at, f"refers to {ref[:100]!r}, outside itself: copy that into $defs")
    fragment = unquote(ref[1:])
    where = anchors.get(fragment)
    if where is None and fragment[:1] in ("", "/"):
        where = fragment
    if where is None or where not in nodes:
        raise _refuse(at, f"refers to {ref[:100]!r}, where there is no schema")
    return where


def _check_cycles(found: Subschemas) -> None:
    done: set[str] = set()
    for start in found.nodes:
        active: dict[str, None] = {}
        stack = [(start, False)]
        while stack:
            at, leaving = stack.pop()
            if leaving:
                del active[at]
                done.add(at)
            elif at in active:
                raise _refuse(at, "refers to itself for one and the same value, so it never ends")
            elif at not in done:
                active[at] = None
                stack.append((at, True))
                stack.extend((step, False) for step in found.applied(at, inside=False))


def _check_expansion(found: Subschemas) -> None:
    count = 0
    active: set[str] = set()
    stack = [("", False)]
    while stack:
        at, leaving = stack.pop()
        if leaving:
            active.discard(at)
            continue
        count += 1
        if count > MOST_NODES:
            raise _refuse("", f"expands to more than {MOST_NODES} schemas: simplify it")
        if at not in active:
            active.add(at)
            stack.append((at, True))
            stack.extend((step, False) for step in found.applied(at, inside=True))
