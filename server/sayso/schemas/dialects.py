"""Older dialects of JSON Schema, where they mean the same as draft 2020-12. Pure.

Generators declare draft-07 or 2019-09 for schemas that use nothing that has changed since. Such a
schema is taken as what it is in 2020-12; a member that means something else there is named.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

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
