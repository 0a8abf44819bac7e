"""The parse rules of the older dialect, row by row (LG-04 to LG-07, TR-27)."""

import json
from typing import Any

import orjson
import pytest

from sayso.base.limits import Limits
from sayso.protocol.legacy import Command, interrupt_id_of, legacy_event, parse_answer, read_command
from sayso.protocol.runinput import decode_run_input
from sayso.schemas.schema import compile_schema
from tests.contract.requirements import requirement
from tests.stream_checker import events_of


@requirement("LG-05", "LG-06", "TR-27")
@pytest.mark.parametrize(
    ("props", "found"),
    [
        (None, None),
        ([], None),
        ("command", None),
        ({}, None),
        ({"command": None}, None),
        ({"command": "go"}, None),
        ({"command": [1]}, None),
        ({"command": {}}, None),
        ({"command": {"resume": None}}, None),
        ({"command": {"interruptEvent": None}}, None),
        ({"command": {"resume": None, "interruptEvent": None}}, None),
        ({"command": {"resume": False}}, Command(False, None)),
        ({"command": {"resume": 0}}, Command(0, None)),
        ({"command": {"resume": ""}}, Command("", None)),
        ({"command": {"resume": {}}}, Command({}, None)),
        ({"command": {"resume": []}}, Command([], None)),
        ({"command": {"interruptEvent": "Where?"}}, Command(None, "Where?")),
        ({"command": {"interruptEvent": ""}}, Command(None, "")),
        ({"command": {"resume": None, "interruptEvent": 0}}, Command(None, 0)),
        ({"command": {"resume": 1, "interruptEvent": {"id": "i"}}}, Command(1, {"id": "i"})),
    ],
)
def test_presence_makes_an_answer_and_truth_does_not(props: Any, found: Command | None) -> None:
    """A null `resume` alone is an absent one; beside an event it is the answer null."""
    assert read_command(props) == found


@pytest.mark.parametrize(
    ("event", "named"),
    [
        ({"id": "i1"}, "i1"),
        ({"id": "i1", "message": "What?"}, "i1"),
        ('{"id":"i1"}', "i1"),
        ('"i1"', None),
        ("i1", None),
        ("[]", None),
        ("{", None),
        ({"id": ""}, None),
        ({"id": 1}, None),
        ({"id": None}, None),
        ({"id": "x" * 513}, None),
        ({"id": "x\0"}, None),
        ({"ID": "i1"}, None),
        ([{"id": "i1"}], None),
        (True, None),
    ],
)
def test_an_event_names_what_it_was_asked_for(event: Any, named: str | None) -> None:
    """LG-03: hooks hand the value on as text or parsed; both name the same interrupt."""
    assert interrupt_id_of(event) == named
    assert Command(1, event).names == ([] if named is None else [named])


def test_a_map_names_each_of_its_keys() -> None:
    """LG-14: as an object or as its JSON text; with an event it is a payload like any other."""
    assert Command({"i1": True, "i2": None, "": 1}, None).names == ["i1", "i2"]
    assert Command('{"i1": true}', None).by_id == {"i1": True}
    for other in ("text", "[1]", 3, [{"i1": True}], None):
        assert Command(other, None).by_id is None
    assert Command({"i1": True}, {"id": "i9"}).by_id is None
    assert Command({"i1": True}, {"id": "i9"}).names == ["i9"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("null", None),
        ("123", 123),
        ('{"a":1}', {"a": 1}),
        ('"x"', "x"),
        (" [1] ", [1]),
        ("yes", "yes"),
        ("", ""),
        ("{", "{"),
        ("NaN", "NaN"),
        ("\ud800", "\ud800"),
        ("[" * 65 + "]" * 65, "[" * 65 + "]" * 65),
        ("[" * 5000, "[" * 5000),
    ],
)
def test_a_string_is_json_only_where_no_string_fits(text: str, value: Any) -> None:
    """G3: what is no JSON, or nests too deeply, stays what it is and meets the schema so."""
    assert parse_answer(text, takes_text=False) == value
    assert parse_answer(text, takes_text=True) == text
    assert parse_answer(7, takes_text=False) == parse_answer(7, takes_text=True) == 7


NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}


@pytest.mark.parametrize(
    ("schema", "takes"),
    [
        ({}, True),
        ({"type": "string"}, True),
        ({"type": ["null", "string"]}, True),
        ({"type": ["null", "integer"]}, False),
        ({"type": "object"}, False),
        ({"enum": ["a", 1]}, True),
        ({"enum": [1, None]}, False),
        ({"const": "a"}, True),
        ({"const": True}, False),
        ({"pattern": "^x$"}, True),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, True),
        ({"oneOf": [{"type": "integer"}, {"const": False}]}, False),
        ({"anyOf": [{}], "oneOf": [{"type": "null"}]}, False),
        ({"allOf": [{}, {"type": "boolean"}]}, False),
        ({"allOf": [{}, {"maxLength": 3}]}, True),
        ({"anyOf": [False, {"type": "string"}]}, True),
        ({"anyOf": [False, True]}, True),
        ({"$ref": "#/$defs/s", "$defs": {"s": {"type": "string"}}}, True),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "number"}}}, False),
        ({"$ref": "#/$defs/node", "$defs": {"node": NODE}}, False),
        ({"not": {"type": "string"}}, True),
    ],
)
def test_a_schema_says_whether_some_string_may_fit(schema: Any, takes: bool) -> None:
    """Never False for one that takes a string: its text would change its type."""
    assert compile_schema(schema).accepts_string is takes


@requirement("LG-01", "LG-02")
def test_a_question_by_event_is_text() -> None:
    """The interrupt as JSON, or its message; the message of one that has none is the JSON."""
    body = '{"id":"i1","reason":"confirmation","message":"Grüße?\\n"}'
    said = {"interrupt": body, "message": "Grüße?\n"}
    for form in ("interrupt", "message"):
        (event,) = events_of(legacy_event(body.encode(), form))
        assert event == {"type": "CUSTOM", "name": "on_interrupt", "value": said[form]}
    bare = b'{"id":"i1","reason":"confirmation"}'
    (event,) = events_of(legacy_event(bare, "message"))
    assert event["value"] == bare.decode()
    with pytest.raises(ValueError, match="CUSTOM event"):
        legacy_event(b'{"id":"i","message":"' + b"x" * 10_000_000 + b'"}', "interrupt")


@requirement("LG-07")
def test_the_list_of_answers_wins() -> None:
    """An empty list counts as absent; one warning says what was ignored."""
    command = {"command": {"resume": True, "interruptEvent": {"id": "i2"}}}
    body: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}
    body["forwardedProps"] = command
    for resume, ids in (([], ["i2"]), ([{"interruptId": "i1", "status": "cancelled"}], ["i1"])):
        request = decode_run_input(orjson.dumps({**body, "resume": resume}), Limits())
        assert request.answered_ids == ids
        assert (request.command is None) is bool(resume)
        assert [json.dumps("command") for w in request.warnings if "command" in w] == (
            ['"command"'] if resume else []
        )
