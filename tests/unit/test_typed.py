"""Schemas from Python types, and the way of a value to JSON and back."""

import dataclasses
import enum
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import pytest
import typing_extensions
from pydantic import BaseModel, Field, field_validator

from sayso.base.errors import DeclarationError
from sayso.schemas.schema import compile_schema
from sayso.schemas.typed import hoist_definitions, schema_of


class Colour(enum.Enum):
    RED = "red"


class Node(BaseModel):
    name: str
    children: "list[Node]" = []


class Ticket(BaseModel):
    quarter: Literal["Q1", "Q2"]
    due: datetime
    note: str | None = None
    tree: Node | None = None
    people: int = Field(default=1, alias="headCount")

    @field_validator("note")
    @classmethod
    def no_shouting(cls, value: str | None) -> str | None:
        if value is not None and value.isupper():
            raise ValueError("do not shout")
        return value


@dataclasses.dataclass
class Point:
    x: int


class Row(typing_extensions.TypedDict):
    n: int


@pytest.mark.parametrize(
    ("kind", "value", "encoded"),
    [
        (bool, False, False),
        (str | None, None, None),
        (list[int], [1], [1]),
        (Literal["a", 1], "a", "a"),
        (Colour, Colour.RED, "red"),
        (Point, Point(x=1), {"x": 1}),
        (Row, {"n": 1}, {"n": 1}),
        (tuple[int, str], (1, "a"), [1, "a"]),
        (datetime, datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
        (Node, Node(name="a", children=[Node(name="b")]), {
            "name": "a", "children": [{"name": "b", "children": []}]}),
        (Any, {"a": [None]}, {"a": [None]}),
        (None, None, None),
        ({"type": "string"}, "a", "a"),
    ],
)  # fmt: skip
def test_a_type_gives_a_schema_that_its_values_fit_and_survive(
    kind: Any, value: Any, encoded: Any
) -> None:
    """Live equals replay: what comes back is what went in (design 3)."""
    schema, conversion = schema_of(kind)
    assert conversion.encode(value) == encoded
    assert compile_schema(schema).errors(encoded) == ()
    assert conversion.decode(encoded) == value
    assert conversion.errors(encoded) == ()


@pytest.mark.parametrize("kind", [3, object(), enum])
def test_what_has_no_schema_is_refused_where_it_is_declared(kind: Any) -> None:
    """The message says what to use instead."""
    with pytest.raises(DeclarationError, match="use a pydantic model"):
        schema_of(kind)


@pytest.mark.parametrize(
    "kind",
    [True, {"type": "nope"}, {"$ref": "#"}, Annotated[str, Field(json_schema_extra={"type": 3})]],
)
def test_a_schema_that_cannot_work_is_refused_where_it_is_declared(kind: Any) -> None:
    """Also when a type makes it."""
    with pytest.raises(DeclarationError):
        schema_of(kind)


def test_what_a_model_refuses_is_named_by_member_and_not_repeated() -> None:
    """Pydantic's own names for branches are no members of the value (ER-14)."""
    schema, conversion = schema_of(Ticket)
    value = {
        "quarter": "Q9",
        "due": "soon",
        "note": "SECRET",
        "tree": {"name": "a", "children": [{"name": "b"}, {}]},
        "headCount": "many",
    }
    found = dict(conversion.errors(value))
    assert set(found) == {"/quarter", "/due", "/note", "/tree/children/1/name", "/headCount"}
    assert not any("SECRET" in message for message in found.values())
    with pytest.raises(ValueError, match=r"^/quarter: ") as caught:
        conversion.decode(value)
    assert "Q9" not in str(caught.value)
    fitting = {"quarter": "Q1", "due": "2026-01-02T00:00:00Z", "note": "SECRET"}
    assert compile_schema(schema).errors(fitting) == ()
    assert dict(conversion.errors(fitting)) == {"/note": "do not shout"}


def test_a_value_that_the_type_does_not_have_is_not_encoded() -> None:
    """Nothing is stored that could not be read back."""
    _, conversion = schema_of(list[int])
    with pytest.raises(ValueError, match="serialize"):
        conversion.encode({"a": object()})


def test_a_hoisted_schema_works_inside_another() -> None:
    """Its definitions move to the document that holds it, under names of their own."""
    schema, _ = schema_of(Ticket)
    first, first_defs = hoist_definitions(schema, "first")
    second, second_defs = hoist_definitions(schema, "second")
    assert "$defs" not in first
    whole = compile_schema(
        {
            "type": "object",
            "properties": {"a": first, "b": second},
            "$defs": {**first_defs, **second_defs},
        }
    )
    bad = {"quarter": "Q1", "due": "2026-01-02T00:00:00Z", "tree": {"name": "a", "children": [1]}}
    assert dict(whole.errors({"a": bad, "b": bad})) == {
        "/a/tree/children/0": "must be an object",
        "/b/tree/children/0": "must be an object",
    }


def test_a_hoisted_schema_that_refers_to_itself_becomes_a_definition() -> None:
    """By the whole, by a place inside, by an anchor or by an old name for definitions."""
    tree = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "children": {"type": "array", "items": {"$ref": "#"}},
            "n": {"$anchor": "count", "type": "integer", "enum": [{"$ref": "#"}, 1]},
            "m": {"$ref": "#count"},
            "k": {"$ref": "#/properties/n"},
            "o": {"$ref": "#/definitions/a~1b"},
        },
        "definitions": {"a/b": {"type": "null"}},
        "additionalProperties": False,
    }
    part, defs = hoist_definitions(tree, "tree")
    whole = compile_schema({"properties": {"t": part}, "$defs": defs})
    assert whole.errors({"t": {"children": [{"n": 1, "m": 1, "k": 1, "o": None}]}}) == ()
    bad = {"t": {"children": [{"n": "1", "m": 2, "k": 2, "o": 1, "p": 1}]}}
    assert {fault.pointer for fault in whole.errors(bad)} == {
        f"/t/children/0/{name}" for name in "nmkop"
    }
    assert "$anchor" not in str(defs)
