"""Where a value breaks its schema, and what finding that costs."""

import time
from typing import Any

import pytest

from sayso.schemas.schema import compile_schema
from tests.contract.requirements import requirement
from tests.recursive import EXPRESSION

APPROVAL = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string", "maxLength": 5}},
    "required": ["approved"],
    "additionalProperties": False,
}


def problems(schema: Any, value: Any) -> dict[str, str]:
    return dict(compile_schema(schema).errors(value))


def nested(levels: int, value: Any = 1) -> Any:
    for _ in range(levels):
        value = {"kind": "and", "items": [value]}
    return value


@pytest.mark.parametrize(
    ("format", "good", "bad"),
    [
        ("date", "2026-02-28", "2026-02-30"),
        ("date-time", "2026-02-28T10:00:00Z", "2026-02-28T10:00:00"),
        ("email", "a@example.com", "a"),
        ("uuid", "00000000-0000-4000-8000-000000000000", "0"),
        ("uri", "https://example.com", "example"),
    ],
)
def test_formats_are_asserted(format: str, good: str, bad: str) -> None:
    """By default the validator would take them as remarks; unknown ones still are (S4)."""
    assert problems({"format": format}, good) == {}
    assert problems({"format": format}, bad) == {"": f"must be a valid {format}"}
    assert problems({"format": "x-ours"}, bad) == {}


@requirement("CR-6")
@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (APPROVAL, {"approved": True}, {}),
        (APPROVAL, {}, {"/approved": "is required"}),
        (
            APPROVAL,
            {"approved": "true", "reason": "too long", "editedArgs": {}},
            {
                "/approved": "must be true or false",
                "/reason": "must have at most 5 characters",
                "/editedArgs": "is not allowed here",
            },
        ),
        (APPROVAL, None, {"": "must be an object"}),
        (APPROVAL, {"approved": 1}, {"/approved": "must be true or false"}),
        ({"properties": {"a/~": {"minimum": 3}}}, {"a/~": 2}, {"/a~1~0": "must be at least 3"}),
        ({"type": ["string", "null"]}, 1, {"": "must be null or a string"}),
        ({"enum": ["Q1", 2]}, "Q3", {"": 'must be one of "Q1", 2'}),
        ({"enum": list(range(50))}, 99, {"": "must be one of the allowed values"}),
        ({"const": {"a": 1}}, 2, {"": 'must be {"a":1}'}),
        ({"exclusiveMinimum": 0, "multipleOf": 0.5}, -0.2, {
            "": "must be a multiple of 0.5"}),
        ({"pattern": "^A-[0-9]+$"}, "B", {"": "must match the pattern ^A-[0-9]+$"}),
        ({"pattern": "a" * 99}, "B", {"": "must match the pattern of the schema"}),
        ({"minItems": 1}, [], {"": "must have at least 1 item"}),
        ({"uniqueItems": True}, [1, 1.0], {"": "must not hold the same item twice"}),
        ({"maxProperties": 0}, {"a": 1}, {"": "must have at most 0 members"}),
        ({"items": {"type": "string"}}, ["a", 1, "b", 2], {
            "/1": "must be a string", "/3": "must be a string"}),
        ({"prefixItems": [{"type": "string"}], "items": False}, [1, 2], {
            "/0": "must be a string", "/1": "is not allowed here"}),
        ({"contains": {"type": "string"}}, [1], {
            "": "must have at least 1 of the items asked for"}),
        ({"contains": {}, "maxContains": 1}, [1, 2], {
            "": "must have at most 1 of the items asked for"}),
        ({"additionalProperties": False}, {"x": 1, "y": 2}, {
            "/x": "is not allowed here", "/y": "is not allowed here"}),
        ({"additionalProperties": {"type": "null"}, "properties": {"a": {}}}, {"a": 1, "b": 2}, {
            "/b": "must be null"}),
        ({"patternProperties": {"^x": {"type": "null"}}, "additionalProperties": False}, {
            "x1": 1, "y": 2}, {"/x1": "must be null", "/y": "is not allowed here"}),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, {"/ab": "is not an allowed name"}),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, {"/b": "is required"}),
        ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}, {"/b": "is required"}),
        ({"allOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, {
            "/a": "is required", "/b": "is required"}),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, {
            "/b": "is required"}),
        ({"if": {"required": ["a"]}, "else": {"required": ["b"]}}, {}, {"/b": "is required"}),
        ({"not": {"type": "null"}}, None, {"": "has a form that is not allowed"}),
        ({"oneOf": [{}, {}]}, 1, {"": "fits more than one of the allowed forms"}),
        ({"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}, "c", {
            "": 'must be one of "a", "b"'}),
        ({"anyOf": [{"type": "string", "maxLength": 2}, {"type": "null"}]}, "abc", {
            "": "must have at most 2 characters"}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, {"": "must be a string or null"}),
        (
            {"anyOf": [{"type": ["string", "null"]}, {"type": "boolean"}]},
            1,
            {"": "must be a string or null or true or false"},
        ),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, {
            "": "fits none of the allowed forms"}),
        ({"unevaluatedProperties": False}, {"a": 1}, {"": "does not fit what was asked"}),
        ({"$ref": "#/$defs/a%20b~1c", "$defs": {"a b/c": {"type": "null"}}}, 1, {
            "": "must be null"}),
        ({"$ref": "#n", "$defs": {"x": {"$anchor": "n", "type": "null"}}}, 1, {
            "": "must be null"}),
        ({"type": "null"}, None, {}),
        ({"type": "integer"}, 1.0, {}),
        ({}, {"anything": [None]}, {}),
    ],
)  # fmt: skip
def test_a_misfit_is_reported_at_the_offending_member(
    schema: Any, value: Any, expected: dict[str, str]
) -> None:
    """The pointer is that of the member to correct, also when it is missing (design 4)."""
    assert problems(schema, value) == expected


def test_a_tagged_union_is_reported_inside_the_meant_branch() -> None:
    """The member that says which form it is picks the branch, also behind references."""
    schema = {
        "oneOf": [{"$ref": "#/$defs/card"}, {"$ref": "#/$defs/cash"}],
        "$defs": {
            "card": {
                "properties": {"kind": {"const": "card"}, "number": {"type": "string"}},
                "required": ["kind", "number"],
            },
            "cash": {"properties": {"kind": {"enum": ["cash", "coin"]}}, "required": ["kind"]},
        },
    }
    assert problems(schema, {"kind": "card", "number": 7}) == {"/number": "must be a string"}
    assert problems(schema, {"kind": "cash"}) == {}
    assert problems(schema, {"kind": "cheque"}) == {"": "fits none of the allowed forms"}


@pytest.mark.parametrize("levels", [1, 12, 60])
def test_an_error_deep_in_a_recursive_union_is_found_in_no_time(levels: int) -> None:
    """Every form of a union is looked into only where the value is meant for it."""
    began = time.process_time()
    assert problems(EXPRESSION, nested(levels)) == {
        "/items/0" * levels: "must be an object or a string"
    }
    assert time.process_time() - began < 1


def test_a_twice_recursive_schema_is_searched_once() -> None:
    """The same place of a schema and a value is visited once."""
    twice = {"properties": {"n": {"$ref": "#"}}}
    schema = {**twice, "allOf": [twice, twice], "type": "object"}
    value: Any = 1
    for _ in range(60):
        value = {"n": value}
    began = time.process_time()
    assert problems(schema, value) == {"/n" * 60: "must be an object"}
    assert time.process_time() - began < 1


def test_a_large_misfit_costs_little_and_says_little() -> None:
    """Twenty problems at most, and a bounded search."""
    began = time.process_time()
    assert len(problems({"items": {"type": "string"}}, list(range(100_000)))) == 20
    union = {"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}
    assert problems(union, [None] * 100_000 + [1]) == {"": "does not fit what was asked"}
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "value",
    [
        10**400,
        -(10**30),
        1e308,
        float("nan"),
        float("inf"),
        "\ud800",
        {1: 2},
        {"a": {1, 2}},
        object(),
        b"x",
    ],
)
def test_no_value_makes_a_schema_raise(value: Any) -> None:
    """A value that is not JSON is a problem like any other."""
    rules = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]}
    assert problems(rules, value)
    assert not compile_schema(rules).is_valid(value)


@pytest.mark.parametrize("levels", [129, 5_000])
def test_a_value_nested_too_deeply_is_a_problem(levels: int) -> None:
    """Deeper ones would exhaust the validator."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    assert problems({"items": {"$ref": "#"}}, value) == {"": "nests more than 128 levels"}
    assert not compile_schema({}).is_valid(value)


@requirement("ER-14")
def test_a_problem_never_repeats_the_value() -> None:
    """Answers may hold secrets, and errors travel and are logged."""
    rules: dict[str, Any] = {
        "a": {"type": "integer"},
        "b": {"enum": [1]},
        "c": {"const": 1},
        "d": {"pattern": "^x$"},
        "e": {"format": "email"},
        "f": {"maxLength": 1},
        "g": {"anyOf": [{"type": "null"}, {"type": "integer"}]},
        "h": {"not": {"type": "string"}},
    }
    found = problems({"properties": rules}, dict.fromkeys(rules, "hunter2"))
    assert len(found) == 8
    assert not any("hunter2" in message for message in found.values())


def test_a_long_member_name_is_not_repeated() -> None:
    """The problem moves to the object that holds the name."""
    found = problems({"additionalProperties": False}, {"x" * 5_000: 1})
    assert found == {"": "is not allowed here"}
