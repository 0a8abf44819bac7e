"""What is published with a question, and how its payload is read (design 3; case G)."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from sayso import DeclarationError
from sayso.base import jsonvalue
from sayso.schemas.responses import (
    approval_schema,
    confirmation,
    indeterminate_schema,
    response_type,
)
from sayso.schemas.schema import compile_approval, compile_schema


class Closing(BaseModel):
    close: bool
    note: str | None = Field(default=None, alias="theNote")


def fits(schema: dict[str, Any], payload: Any) -> bool:
    return not compile_schema(schema).errors(payload)


def test_one_declaration_publishes_and_reads() -> None:
    """A model, a type, a JSON Schema object, nothing."""
    model = response_type(Closing)
    assert model.schema is not None
    assert fits(model.schema, {"close": True, "theNote": "x"})
    assert model.decode({"close": True, "theNote": "x"}) == Closing(close=True, theNote="x")
    numbers = response_type(list[int])
    assert numbers.schema == {"items": {"type": "integer"}, "type": "array"}
    assert numbers.decode([1, 2]) == [1, 2]
    given = {"type": "object"}
    assert response_type(given).schema == given
    assert response_type(given).decode({"a": 1}) == {"a": 1}
    assert response_type(None).schema is None
    assert response_type(None).decode([1]) == [1]


def test_a_payload_that_the_type_refuses_is_named() -> None:
    """A validator of the author may refuse more than the schema does."""
    with pytest.raises(ValueError, match="/close"):
        response_type(Closing).decode({"close": []})


@pytest.mark.parametrize(
    "response", [open, {"type": "nonsense"}, {"$ref": "https://example.org/x"}]
)
def test_what_has_no_usable_schema_fails_where_it_is_declared(response: Any) -> None:
    """Design 7: no remote references, nothing that cannot be compiled."""
    with pytest.raises(DeclarationError):
        response_type(response)


@pytest.mark.parametrize(
    ("payload", "value"), [({"approved": True}, True), ({"approved": False}, False)]
)
def test_a_plain_confirmation_is_a_yes_or_a_no(payload: Any, value: bool) -> None:
    """TR-25: the schema is always there."""
    form = confirmation()
    assert form.schema is not None
    assert fits(form.schema, payload)
    assert form.decode(payload) is value
    for wrong in (None, True, {}, {"approved": "yes"}, {"approved": True, "more": 1}):
        assert not fits(form.schema, wrong)


def test_an_approval_takes_a_boolean_a_reason_and_nothing_else() -> None:
    """TB-06, TB-08: no edits unless they are offered; what is published has plain keywords."""
    published = approval_schema(None)
    assert not {"additionalProperties", "maxLength"} & {
        *published,
        *(keyword for member in published["properties"].values() for keyword in member),
    }
    holds = compile_approval(jsonvalue.encode(published)).errors
    assert not holds({"approved": True})
    assert not holds({"approved": False, "reason": "too dear"})
    for wrong in (
        {},
        None,
        {"approved": 1},
        {"approved": "true"},
        {"approved": None},
        {"approved": True, "editedArgs": {}},
        {"approved": True, "reason": 5},
        {"approved": True, "reason": "x" * 2001},
    ):
        assert holds(wrong), wrong


def test_offered_edits_are_checked_by_the_tool_s_own_schema() -> None:
    """TB-05, TB-07: definitions move along."""
    parameters = {
        "type": "object",
        "properties": {"to": {"$ref": "#/$defs/Address"}},
        "required": ["to"],
        "additionalProperties": False,
        "$defs": {"Address": {"type": "object", "required": ["street"]}},
    }
    schema = approval_schema(parameters)
    assert fits(schema, {"approved": True, "editedArgs": {"to": {"street": "x"}}})
    assert not fits(schema, {"approved": True, "editedArgs": {"to": {}}})
    assert not fits(schema, {"approved": True, "editedArgs": {}})
    assert "$defs" in parameters, "the tool's own schema is left as it was"


@pytest.mark.parametrize(
    ("optional", "payload", "good"),
    [
        (False, {"action": "run_again"}, True),
        (False, {"action": "stop"}, True),
        (False, {"action": "skip", "result": "x"}, True),
        (False, {"action": "skip"}, False),
        (False, {"action": "skip", "result": 5}, False),
        (True, {"action": "skip"}, True),
        (True, {"action": "else"}, False),
        (True, {}, False),
        (True, {"action": "stop", "more": 1}, False),
    ],
)
def test_an_unsure_effect_has_three_ways_on(optional: bool, payload: Any, good: bool) -> None:
    """Design 3, rule 5: run again, skip with a result of the effect's type, stop."""
    assert fits(indeterminate_schema({"type": "string"}, optional=optional), payload) is good


@pytest.mark.parametrize(
    ("result", "offered"),
    [({"type": "string"}, False), ({"type": ["string", "null"]}, True), (None, True)],
)
def test_no_result_is_offered_where_it_is_taken(
    result: dict[str, Any] | None, offered: bool
) -> None:
    """Whoever reads the field is not sent to an answer that is refused."""
    schema = indeterminate_schema(result, optional=False)
    said = schema["properties"]["result"]["description"]
    assert ("null" in said) is offered
    assert fits(schema, {"action": "skip", "result": None}) is offered


def test_an_effect_without_a_type_takes_any_result() -> None:
    """Then the schema can say no more."""
    assert fits(indeterminate_schema(None, optional=True), {"action": "skip", "result": [1]})
