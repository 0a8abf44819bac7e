"""Questions put on a terminal: schemas of all kinds, and words that would move a cursor."""

import io
import sys
from typing import Any

import pytest

from sayso.base.clock import format_time
from sayso.cli.chat.questions import LookAgain, ask_person
from sayso.cli.chat.terminal import Terminal
from sayso.client import CANCEL

NOW = 1_800_000_000_000


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What becomes of a question with these lines typed."""

    def ask(schema: Any, *lines: str, reason: str = "x:y", **more: Any) -> Any:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        interrupt = {"id": "i", "reason": reason, **more}
        if schema is not None:
            interrupt["responseSchema"] = schema
        return ask_person(interrupt, None, Terminal(), lambda: NOW)

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


@pytest.mark.parametrize("schema", [{}, {"description": "Go on?"}, {"type": ["string", "object"]}])
def test_words_answer_what_may_be_of_any_type(asked: Any, schema: Any) -> None:
    assert asked(schema, "yes") == "yes"
    assert asked(schema, '{"go": "on"}') == {"go": "on"}


def test_one_of_several_objects_is_a_choice_then_its_fields(
    asked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A review of LangChain: what is decided, then the words for it."""
    shapes = [
        {"title": "Approve", **form("type", type={"const": "approve"})},
        {"title": "Reject", **form("type", type={"const": "reject"}, message={"type": "string"})},
        form("type", "text", type={"const": "respond"}, text={"type": "string"}),
    ]
    assert asked({"oneOf": shapes}, "1") == {"type": "approve"}
    assert asked({"oneOf": shapes}, "4", "2", "no") == {"type": "reject", "message": "no"}
    assert asked({"oneOf": shapes}, "respond", "3", "later") == {"type": "respond", "text": "later"}
    assert asked({"oneOf": shapes}, "/cancel") is CANCEL
    out = capsys.readouterr().out
    assert "1. Approve" in out
    assert "3. respond" in out
    nested = form("review", review={"oneOf": shapes})
    assert asked(nested, "2", "") == {"review": {"type": "reject"}}


def test_fields_within_an_object_say_so_and_go_by_their_own_names(
    asked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """CL-05: two fields of one type are told from each other."""
    street = {"type": "string", "title": "Street"}
    place = {"title": "Address", **form("street", street=street)}
    either = {"anyOf": [{"$ref": "#/$defs/place"}, {"type": "null"}]}
    schema = {
        **form("to", to={"$ref": "#/$defs/place"}, back=either, third=either),
        "$defs": {"place": place},
    }
    answer = asked(schema, "Main", "y", "Side", "n")
    assert answer == {"to": {"street": "Main"}, "back": {"street": "Side"}}
    told = capsys.readouterr().out
    for prompt in ("to / Street:", "Fill in back? (y/n)", "back / Street:", "Fill in third? (y/n)"):
        assert prompt in told


def test_an_empty_line_is_the_default(asked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """S1, S2: shown, and sent as it is; what does not fit its own schema is no default."""
    schema = form(
        "sure",
        sure={"type": "boolean", "default": True},
        rate={"type": "number", "default": 0.5},
        size={"enum": ["s", "m"], "default": "m"},
        days={"type": "array", "items": {"enum": ["Mon", "Tue"]}, "default": ["Tue"]},
        note={"type": "string", "default": ""},
        odd={"type": "integer", "default": "none"},
    )
    answer = asked(schema, "", "", "", "", "", "")
    assert answer == {"sure": True, "rate": 0.5, "size": "m", "days": ["Tue"]}
    told = capsys.readouterr().out
    prompts = ("sure [y] (y/n):", "rate [0.5]:", "size [2] (1-2):", "days [Tue] (1-2", "note (opt")
    for prompt in (*prompts, "odd (optional):"):
        assert prompt in told


def test_several_are_chosen_by_their_numbers(
    asked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """S3: a list of options by numbers, words or JSON; each says which there are."""
    titled = {"oneOf": [{"const": n, "title": title} for n, title in ((1, "Mon"), (2, "Tue"))]}
    for items, lines, wanted in (
        ({"enum": ["x", "y", "z"]}, ["4", "1, z"], ["x", "z"]),
        ({"$ref": "#/$defs/day"}, ["2,1"], [2, 1]),
        (titled, ["[2]"], [2]),
        ({"type": "string"}, ["a, b", '["a"]'], ["a"]),
    ):
        days = {"type": "array", "items": items, "uniqueItems": True}
        schema = {**form("days", days=days), "$defs": {"day": titled}}
        assert asked(schema, *lines) == {"days": wanted}
    told = capsys.readouterr().out
    for words in ("3. z", "(1-3, several by commas):", "2. Tue", "Type a number from 1 to 3."):
        assert words in told
    assert 'This is not JSON; a list is written ["a", "b"].' in told


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
    assert asked(None, "y", reason="confirmation", expiresAt=format_time(NOW)) is CANCEL
    with pytest.raises(LookAgain):
        asked(None, "x", "n", reason="confirmation", expiresAt=format_time(NOW))


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
        ask_person({"id": "i", "reason": "tool_call"}, call, Terminal(), lambda: NOW)
        assert told in capsys.readouterr().out


def test_arguments_that_were_edited_are_shown_and_edited_again_as_they_will_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A call is announced once; another rule, or its failure, asks about what it has become."""
    call = {"function": {"name": "pay", "arguments": '{"amount": 5}'}}
    ours = {"tool": "pay", "arguments": {"amount": 999}, "rule": "big"}
    properties = {"approved": {"type": "boolean"}, "editedArgs": {"type": "object"}}
    interrupt = {
        "id": "i",
        "reason": "tool_call",
        "metadata": {"sayso": ours},
        "responseSchema": form("approved", **properties),
    }
    monkeypatch.setattr(sys, "stdin", io.StringIO('e\n{"amount": 7}\n'))
    answer = ask_person(interrupt, call, Terminal(), lambda: NOW)
    out = capsys.readouterr().out
    assert 'Arguments: {"amount":999}' in out
    assert 'Now: {"amount":999}' in out
    assert answer == {"approved": True, "editedArgs": {"amount": 7}}


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(1, "1 seconds"), (119, "119 seconds"), (7_199, "119 minutes"), (90_000, "25 hours")],
)
def test_the_time_that_is_left_is_told(
    asked: Any, capsys: pytest.CaptureFixture[str], seconds: int, told: str
) -> None:
    """EX-01: in words that a person reads at a glance."""
    asked(None, "n", reason="confirmation", expiresAt=format_time(NOW + seconds * 1000))
    assert f"({told} left)" in capsys.readouterr().out


def test_the_rule_that_asks_is_named_if_its_author_named_it(
    asked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for rule in ("large-refunds", "always", "always#2", "when:<lambda>", "pay"):
        told = {"sayso": {"rule": rule, "tool": "pay"}}
        asked({"type": "boolean"}, "y", reason="tool_call", metadata=told)
        named = "Asked by rule large-refunds" in capsys.readouterr().out
        assert named == (rule == "large-refunds")
    told = {"sayso": {"rule": "when:large", "because": "Rule 'large' asks about this call."}}
    asked({"type": "boolean"}, "y", reason="tool_call", metadata=told)
    assert "Asked by" not in capsys.readouterr().out


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
