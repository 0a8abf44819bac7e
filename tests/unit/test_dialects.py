"""Schemas that declare an older dialect: taken where they mean the same, else the member is named.

The validators of the older dialects themselves are asked whether they judge alike.
"""

from typing import Any

import pytest
from jsonschema_rs import Draft7Validator, Draft201909Validator

from sayso.base.errors import DeclarationError
from sayso.schemas.schema import compile_schema
from tests.contract.requirements import requirement

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"

VALUES: list[Any] = [
    None,
    True,
    0,
    3,
    2.5,
    "x",
    "Q2",
    "2024-02-30",
    [],
    ["x", 3],
    ["x", "x"],
    {},
    {"a": "x"},
    {"a": 3, "b": ["x"]},
    {"a": "x", "child": {"a": "x"}},
    {"a": "x", "child": {"a": 3}},
    {"c": 1},
]

SCHEMAS: list[dict[str, Any]] = [
    {},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    {"type": ["integer", "null"], "minimum": 1},
    {"enum": ["Q1", "Q2", 3]},
    {"const": {"a": "x"}},
    {"type": "string", "format": "date"},
    {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "additionalItems": False},
    {"contains": {"const": "x"}},
    {"if": {"type": "object"}, "then": {"minProperties": 1}, "else": {"not": {"type": "null"}}},
    {
        "propertyNames": {"pattern": "^[ab]$"},
        "additionalProperties": False,
        "properties": {"a": {}},
    },
    {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]},
    {
        "$ref": "#/definitions/node",
        "title": "From a generator",
        "definitions": {
            "node": {
                "type": "object",
                "properties": {
                    "a": {"type": "string", "default": "x"},
                    "child": {"$ref": "#/definitions/node", "description": "The next one."},
                },
                "required": ["a"],
            }
        },
    },
    {"$defs": {"s": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/s"}}},
]


@requirement("IN-08")
@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize(
    ("dialect", "validator"),
    [
        (DRAFT_7, Draft7Validator),
        ("https://json-schema.org/draft-07/schema", Draft7Validator),
        (DRAFT_2019, Draft201909Validator),
        (DRAFT_2019 + "#", Draft201909Validator),
    ],
)
def test_a_schema_of_an_older_dialect_judges_as_it_did_there(
    schema: dict[str, Any], dialect: str, validator: Any
) -> None:
    """Generators write the line whatever is below it (typescript-sdk's and mastra's fault)."""
    there = validator(schema, validate_formats=True)
    here = compile_schema({"$schema": dialect, **schema})
    for value in VALUES:
        assert here.is_valid(value) is there.is_valid(value), value
        assert (here.errors(value) == ()) is here.is_valid(value), value


@pytest.mark.parametrize(
    ("dialect", "schema", "at", "member"),
    [
        (DRAFT_7, {"items": [{"type": "string"}]}, "#", "items"),
        (
            DRAFT_7,
            {"properties": {"a": {"dependencies": {"b": ["c"]}}}},
            "#/properties/a",
            "depend",
        ),
        (DRAFT_7, {"dependentRequired": {"a": ["b"]}}, "#", "dependentRequired"),
        (DRAFT_7, {"unevaluatedProperties": False}, "#", "unevaluatedProperties"),
        (DRAFT_7, {"contentEncoding": "base64"}, "#", "contentEncoding"),
        (
            DRAFT_7,
            {"anyOf": [{"$ref": "#/definitions/s", "minLength": 2}], "definitions": {"s": {}}},
            "#/anyOf/0",
            "minLength",
        ),
        (DRAFT_2019, {"items": [{}]}, "#", "items"),
        (DRAFT_2019, {"prefixItems": [{}]}, "#", "prefixItems"),
        (DRAFT_2019, {"$recursiveRef": "#"}, "#", "recursiveRef"),
        (
            DRAFT_2019,
            {"contains": {"const": 1}, "unevaluatedItems": False},
            "#",
            "unevaluatedItems",
        ),
    ],
)
def test_a_member_that_has_changed_its_meaning_is_named(
    dialect: str, schema: dict[str, Any], at: str, member: str
) -> None:
    """Rather than read with another meaning, or not read at all."""
    with pytest.raises(DeclarationError, match=member) as refused:
        compile_schema({"$schema": dialect, **schema})
    assert repr(at) in str(refused.value)


def test_one_document_has_one_dialect() -> None:
    inner = {"$schema": DRAFT_7, "type": "string"}
    compile_schema({"$schema": DRAFT_7, "properties": {"a": inner}})
    with pytest.raises(DeclarationError, match=r"#/properties/a.*another dialect than the whole"):
        compile_schema({"properties": {"a": inner}})
