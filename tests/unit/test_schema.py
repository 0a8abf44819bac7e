"""Schemas for answers: which declarations are refused, and where they are wrong."""

import time
from typing import Any

import pytest

from sayso.base.errors import DeclarationError
from sayso.schemas.schema import compile_bytes, compile_schema
from tests.contract.requirements import requirement
from tests.recursive import EXPRESSION


def problems(schema: Any, value: Any) -> dict[str, str]:
    return dict(compile_schema(schema).errors(value))


@requirement("IN-08")
@pytest.mark.parametrize("schema", [True, False, None, [], "object", 3])
def test_only_a_json_object_is_a_schema(schema: Any) -> None:
    """Boolean schemas are legal JSON Schema and fatal in every client."""
    with pytest.raises(DeclarationError, match="JSON object"):
        compile_schema(schema)


@requirement("IN-08")
@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({"type": "nope"}, "/type"),
        ({"properties": {"a": {"minLength": -1}}}, "/properties/a/minLength"),
        ({"properties": [1]}, "/properties"),
        ({"required": "a"}, "/required"),
        ({"$defs": {"a": {"type": 3}}}, "/$defs/a/type"),
        ({"items": {"pattern": "("}}, "/items/pattern"),
        ({"items": [{}]}, "/items"),
    ],
)
def test_a_schema_that_breaks_the_meta_schema_is_refused_where_it_breaks(
    schema: Any, where: str
) -> None:
    """The author is told the place, at the declaration (design 7)."""
    with pytest.raises(DeclarationError, match=f"'{where.replace('$', '[$]')}'"):
        compile_schema(schema)


@pytest.mark.parametrize("pattern", ["(?=a)b", "(?<!a)b", r"(a)\1", "(a{1000}){1000}"])
def test_patterns_that_are_not_linear_are_refused(pattern: str) -> None:
    """Also as a name in `patternProperties`: an answer must not be able to stall the server."""
    schemas: list[Any] = [{"pattern": pattern}, {"patternProperties": {pattern: {}}}]
    for schema in schemas:
        with pytest.raises(DeclarationError, match="regular expression"):
            compile_schema(schema)


def test_a_pattern_that_backtracks_elsewhere_takes_no_time_here() -> None:
    """The classical trap for backtracking engines, on a long answer."""
    began = time.process_time()
    assert problems({"pattern": "^(a+)+$"}, "a" * 100_000 + "!")
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.com/schema",
        "http://127.0.0.1:1/schema",
        "file:///etc/passwd",
        "other.json#/$defs/a",
        "urn:x",
        "https://json-schema.org/draft/2020-12/schema",
    ],
)
def test_a_reference_out_of_the_document_is_refused(reference: str) -> None:
    """Nothing is ever fetched (design 7)."""
    with pytest.raises(DeclarationError, match="outside itself"):
        compile_schema({"properties": {"a": {"$ref": reference}}})


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/none"},
        {"$ref": "#none"},
        {"$ref": "#/enum/0", "enum": [{"type": "string"}]},
        {"$ref": "#/a~2b"},
        {"$ref": 3},
    ],
)
def test_a_reference_to_nothing_is_refused(schema: Any) -> None:
    """A value inside `enum` is no schema either."""
    with pytest.raises(DeclarationError, match=r"no schema|no string"):
        compile_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"type": "string", "allOf": [{"$ref": "#"}]},
        {"properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}, {"type": "string"}]}}},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"not": {"$ref": "#"}},
        {"if": {"$ref": "#"}, "then": False},
        {"dependentSchemas": {"a": {"oneOf": [{"$ref": "#"}]}}},
        {"$anchor": "me", "allOf": [{"$ref": "#me"}]},
    ],
)
def test_a_cycle_that_consumes_nothing_is_refused(schema: Any) -> None:
    """Validators accept everything behind one, or never end (design 7)."""
    with pytest.raises(DeclarationError, match="never ends"):
        compile_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#"}}},
        {"items": {"$ref": "#"}},
        {"additionalProperties": {"$ref": "#"}},
        EXPRESSION,
    ],
)
def test_a_cycle_that_consumes_is_a_tree_and_allowed(schema: Any) -> None:
    """Recursive models are ordinary."""
    compile_schema(schema)


def test_a_schema_that_expands_without_bound_is_refused() -> None:
    """Twenty definitions that each name the next one twice are a million schemas."""
    defs: dict[str, Any] = {
        f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(20)
    }
    with pytest.raises(DeclarationError, match="10000"):
        compile_schema({"$ref": "#/$defs/a0", "$defs": {**defs, "a20": {}}})
    compile_schema({"allOf": [{"type": "string"}] * 9_000})


def test_a_deep_schema_is_refused() -> None:
    """Depth is measured without recursion."""
    schema: Any = {}
    for _ in range(20_000):
        schema = {"not": schema}
    with pytest.raises(DeclarationError):
        compile_schema(schema)
    shallow: Any = {}
    for _ in range(100):
        shallow = {"not": shallow}
    with pytest.raises(DeclarationError, match="64"):
        compile_schema(shallow)


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "http://json-schema.org/draft-04/schema#"},
        {"$schema": 7},
        {"$defs": {"a": {"$id": "https://example.com/a"}}},
        {"$defs": {"a": {"$dynamicRef": "#a"}}},
        {"default": {1, 2}},
    ],
)
def test_what_this_dialect_cannot_express_is_refused(schema: Any) -> None:
    """Rather than read with another meaning."""
    with pytest.raises(DeclarationError):
        compile_schema(schema)


def test_names_that_look_like_keywords_are_names() -> None:
    """Properties and constants may be called anything."""
    schema = {
        "properties": {"$ref": {"type": "string"}, "not": {"const": {"$ref": "https://x"}}},
        "x-unknown": {"$ref": "https://x"},
        "enumNames": ["a"],
    }
    assert problems(schema, {"$ref": 1}) == {"/$ref": "must be a string"}


def test_equal_bytes_are_compiled_once() -> None:
    """A gate checks the same schema for every answer."""
    assert compile_bytes(b'{"type":"null"}') is compile_bytes(b'{"type":"null"}')
    assert compile_bytes(b'{"type":"null"}').is_valid(None)
    for data in (b"{", b"true"):
        with pytest.raises(DeclarationError):
            compile_bytes(data)
