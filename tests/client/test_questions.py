"""Questions put on a terminal: schemas of all kinds, and words that would move a cursor."""

import io
import sys
from typing import Any

import pytest

from sayso.client import CANCEL
from sayso.clock import iso
from sayso.commands.questions import LookAgain, put
from sayso.commands.terminal import Terminal

NOW = 1_800_000_000_000


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What becomes of a question with these lines typed."""

    def ask(schema: Any, *lines: str, reason: str = "x:y", **more: Any) -> Any:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        interrupt = {"id": "i", "reason": reason, **more}
        if schema is not None:
            interrupt["responseSchema"] = schema
        return put(interrupt, None, Terminal(), lambda: NOW)

    return ask


def form(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def test_without_a_schema_the_answer_is_text_or_a_boolean(asked: Any) -> None:
    """IN-07, IN-12: free text for reasons that nobody knows."""
    assert asked(None, "as you like") == "as you like"
    assert asked(None, "y", reason="confirmation") is True
    assert asked(None, "n", reason="confirmation") is False
    assert asked(None, "/cancel") is CANCEL
    assert asked(None, "c", reason="confirmation") is CANCEL


def test_fields_have_their_types(asked: Any) -> None:
    """CL-05: nested, referred to, nullable, of a list; optional ones may be left out."""
    schema = {
        **form(
            "name",
            "place",
            "tags",
            "sure",
            name={"$ref": "#/$defs/name"},
            place=form("city", city={"type": "string"}, zip={"type": "integer"}),
            tags={"type": "array", "items": {"type": "string"}},
            sure={"type": "boolean"},
            note={"anyOf": [{"type": "string"}, {"type": "null"}]},
        ),
        "$defs": {"name": {"type": "string", "minLength": 2}},
    }
    answer = asked(schema, "A", "Ada", "Bonn", "", "x", '["a"]', "perhaps", "n", "")
    assert answer == {"name": "Ada", "place": {"city": "Bonn"}, "tags": ["a"], "sure": False}


def test_what_is_asked_depends_on_what_was_chosen(asked: Any) -> None:
    """Design 3: details only for the option that has any."""
    chosen = {"properties": {"action": {"const": "some"}}, "required": ["action"]}
    few = form("count", count={"type": "integer"})
    schema = {
        **form(
            "action", action={"oneOf": [{"const": "all"}, {"const": "some"}]}, params={"title": "P"}
        ),
        "allOf": [
            {
                "if": chosen,
                "then": {"properties": {"params": few}, "required": ["params"]},
                "else": {"properties": {"params": False}},
            }
        ],
    }
    assert asked(schema, "2", "7") == {"action": "some", "params": {"count": 7}}
    assert asked(schema, "1") == {"action": "all"}


def test_an_answer_that_does_not_fit_as_a_whole_is_asked_again(
    asked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """CL-05: what no single field can know."""
    schema = {**form(a={"type": "integer"}, b={"type": "integer"}), "minProperties": 1}
    assert asked(schema, "", "", "1", "") == {"a": 1}
    assert "The answer:" in capsys.readouterr().out


def test_an_expired_question_is_only_cancelled(asked: Any) -> None:
    """EX-02: at the very moment; who does not cancel it may look what became of it."""
    assert asked(None, "y", reason="confirmation", expiresAt=iso(NOW)) is CANCEL
    with pytest.raises(LookAgain):
        asked(None, "x", "n", reason="confirmation", expiresAt=iso(NOW))


def test_an_empty_line_is_null_where_null_is_an_answer(asked: Any) -> None:
    """RE-05: text or null, directly and by reference; elsewhere something has to be typed."""
    either = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert asked(either, "") is None
    assert asked(either, "x") == "x"
    assert asked({"type": ["string", "null"]}, "") is None
    schema = {**form("name", name={"$ref": "#/$defs/n"}), "$defs": {"n": either}}
    assert asked(schema, "") == {"name": None}
    assert asked({"type": "string"}, "", "x") == "x"


def test_long_arguments_have_a_line_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """CL-18: all on one line if they fit, also in a narrow window."""
    call = {"function": {"name": "send", "arguments": '{"to": "ada", "body": "Dear Ada"}'}}
    for columns, told in ((80, 'Arguments: {"to":"ada","body":"Dear Ada"}'), (30, "    to: ")):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
        put({"id": "i", "reason": "tool_call"}, call, Terminal(), lambda: NOW)
        assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(1, "1 seconds"), (119, "119 seconds"), (7_199, "119 minutes"), (90_000, "25 hours")],
)
def test_the_time_that_is_left_is_told(
    asked: Any, capsys: pytest.CaptureFixture[str], seconds: int, told: str
) -> None:
    """EX-01: in words that a person reads at a glance."""
    asked(None, "n", reason="confirmation", expiresAt=iso(NOW + seconds * 1000))
    assert f"({told} left)" in capsys.readouterr().out


def test_words_of_a_stranger_move_no_cursor(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """IN-14: control characters are spelled out, lines are kept."""
    asked(None, "ok", message="one\n\x1b[2Jtwo")
    out = capsys.readouterr().out
    assert "one\n\\u001b[2Jtwo" in out
    assert "\x1b" not in out


def test_a_pipe_that_ends_is_no_answer(asked: Any) -> None:
    """TB-10: nothing is approved by silence."""
    with pytest.raises(EOFError):
        asked(form("approved", approved={"type": "boolean"}))
