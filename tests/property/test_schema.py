"""Schemas against an oracle of few lines, and against values that nobody planned."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.base import jsonvalue
from sayso.base.errors import DeclarationError
from sayso.schemas.schema import compile_schema
from sayso.schemas.typed import hoist_definitions
from tests.contract.requirements import requirement
from tests.recursive import EXPRESSION
from tests.share import share

NAMES = st.sampled_from(["a", "b", "c/~"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0]), st.text("xy")
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
TYPES: dict[str, Any] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: is_number(value) and value == int(value),
    "number": lambda value: is_number(value),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def leaf_schemas() -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.builds(lambda kind: {"type": kind}, st.sampled_from(sorted(TYPES))),
        st.builds(lambda value: {"const": value}, SCALARS),
        st.builds(lambda values: {"enum": values}, st.lists(SCALARS, min_size=1, max_size=3)),
        st.builds(lambda bound: {"minimum": bound}, st.integers(-2, 2)),
        st.builds(lambda bound: {"maxLength": bound}, st.integers(0, 2)),
        st.builds(lambda names: {"required": names}, st.lists(NAMES, unique=True)),
        st.just({}),
    )


def wider(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    some = st.lists(inner, min_size=1, max_size=3)
    objects = st.builds(
        lambda properties, others: {"properties": properties, "additionalProperties": others},
        st.dictionaries(NAMES, inner, max_size=3),
        st.one_of(st.just(False), inner),
    )
    return st.one_of(
        objects,
        objects,
        st.builds(lambda schema: {"items": schema}, inner),
        st.builds(lambda schemas: {"anyOf": schemas}, some),
        st.builds(lambda schemas: {"oneOf": schemas}, some),
        st.builds(lambda schemas: {"allOf": schemas}, some),
        st.builds(lambda schema: {"not": schema}, inner),
        st.builds(lambda one, two, three: {"if": one, "then": two, "else": three}, *[inner] * 3),
        st.builds(lambda one, two: {**one, **two}, inner, inner),
        st.builds(lambda schema: {"$ref": "#/$defs/d", "$defs": {"d": schema}}, leaf_schemas()),
    )


SCHEMAS = st.recursive(leaf_schemas(), wider, max_leaves=10).map(
    lambda schema: jsonvalue.decode(jsonvalue.encode(raised(schema)))
)


def raised(schema: dict[str, Any]) -> dict[str, Any]:
    """The same with all its definitions at the top, where references look for them."""
    whole, defs = lift(schema, [])
    return {**whole, "$defs": {f"d{n}": one for n, one in enumerate(defs)}}


def lift(schema: Any, defs: list[Any]) -> tuple[Any, list[Any]]:
    if isinstance(schema, list):
        return [lift(one, defs)[0] for one in schema], defs
    if not isinstance(schema, dict):
        return schema, defs
    moved = dict(schema)
    if "$defs" in moved:
        defs.append(moved.pop("$defs")["d"])
        moved["$ref"] = f"#/$defs/d{len(defs) - 1}"
    return {key: lift(one, defs)[0] for key, one in moved.items()}, defs


def holds(schema: Any, value: Any, root: Any) -> bool:
    """The oracle: what the few keywords of this family mean, word by word."""
    if isinstance(schema, bool):
        return schema

    def fits(inner: Any, of: Any = value) -> bool:
        return holds(inner, of, root)

    branch = "then" if "if" in schema and fits(schema["if"]) else "else"
    rules = [
        "type" not in schema or TYPES[schema["type"]](value),
        "const" not in schema or jsonvalue.equal(schema["const"], value),
        "enum" not in schema or any(jsonvalue.equal(one, value) for one in schema["enum"]),
        not is_number(value) or value >= schema.get("minimum", value),
        not isinstance(value, str) or len(value) <= schema.get("maxLength", len(value)),
        all(fits(one) for one in schema.get("allOf", [])),
        "anyOf" not in schema or any(fits(one) for one in schema["anyOf"]),
        "oneOf" not in schema or sum(fits(one) for one in schema["oneOf"]) == 1,
        "not" not in schema or not fits(schema["not"]),
        "if" not in schema or fits(schema.get(branch, True)),
        "$ref" not in schema or fits(jsonvalue.resolve(root, schema["$ref"][1:])),
    ]
    if isinstance(value, list):
        rules += [fits(schema.get("items", True), one) for one in value]
    if isinstance(value, dict):
        known = schema.get("properties", {})
        rules += [name in value for name in schema.get("required", [])]
        rules += [
            fits(known[name] if name in known else schema.get("additionalProperties", True), one)
            for name, one in value.items()
        ]
    return all(rules)


@requirement("CR-6")
@given(SCHEMAS, VALUES)
@settings(max_examples=share(300, of=3), deadline=None)
def test_a_value_has_problems_exactly_when_it_does_not_fit(schema: Any, value: Any) -> None:
    """And each is named at a member that is there, or is missing from one that is."""
    compiled = compile_schema(schema)
    found = compiled.errors(value)
    assert (not found) == compiled.is_valid(value) == holds(schema, value, schema)
    assert len(found) == len(set(found)) <= 20
    for fault in found:
        assert fault.message
        *parent, _ = jsonvalue.parse_pointer(fault.pointer) or [""]
        assert jsonvalue.resolve(value, jsonvalue.pointer(parent)) is not ...


@given(SCHEMAS, VALUES)
@settings(max_examples=share(150, of=3), deadline=None)
def test_a_hoisted_schema_means_what_it_meant(schema: Any, value: Any) -> None:
    """Two parts of one document, neither of which sees the other's definitions."""
    left, left_defs = hoist_definitions(schema, "left")
    right, right_defs = hoist_definitions(EXPRESSION, "right")
    whole = compile_schema(
        {"properties": {"l": left, "r": right}, "$defs": {**left_defs, **right_defs}}
    )
    alone = compile_schema(schema).errors(value)
    assert [("/l" + fault.pointer, fault.message) for fault in alone] == list(
        whole.errors({"l": value, "r": "x"})
    )


ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(st.characters(codec=None), max_size=5),
        st.binary(max_size=3),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(NAMES, st.integers()), inner, max_size=3),
        st.tuples(inner),
    ),
    max_leaves=10,
)


@given(SCHEMAS, ANYTHING)
@settings(max_examples=share(150, of=3), deadline=None)
def test_no_python_value_makes_a_schema_raise(schema: Any, value: Any) -> None:
    """What fits has no problems, whatever it was."""
    compiled = compile_schema(schema)
    assert compiled.is_valid(value) == (compiled.errors(value) == ())


WORDS = st.sampled_from(
    [
        "type",
        "$ref",
        "$defs",
        "properties",
        "items",
        "anyOf",
        "pattern",
        "required",
        "enum",
        "#",
        "a",
    ]
)
RUBBISH = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2), WORDS, st.text(max_size=3)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@requirement("IN-08")
@given(RUBBISH, ANYTHING)
@settings(max_examples=share(300, of=3), deadline=None)
def test_rubbish_is_compiled_or_refused_as_a_declaration(schema: Any, value: Any) -> None:
    """Nothing else comes out, and what was compiled is total."""
    try:
        compiled = compile_schema(schema)
    except DeclarationError:
        return
    assert isinstance(schema, dict)
    assert compiled.is_valid(value) == (compiled.errors(value) == ())


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_the_oracle_can_tell(keyword: str) -> None:
    """It knows a fit from a misfit, so that agreeing with it means something."""
    schema = {keyword: [{"type": "string"}]}
    assert holds(schema, "x", schema)
    assert not holds(schema, 1, schema)
