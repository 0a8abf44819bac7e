"""Frames: what the bytes are."""

import json
import math
from typing import Any

import orjson
import pytest

from sayso.protocol import frames
from tests.contract.requirements import requirement
from tests.judge import model_faults
from tests.stream_checker import events_of


@requirement("EN-04", "EN-05", "EN-20")
def test_a_frame_is_one_object_on_one_line_that_ends_with_line_feeds() -> None:
    """Clients split at two line feeds and know nothing else (EN-04)."""
    data = frames.frame({"type": "CUSTOM", "name": "a:b", "value": "x\ny\r\n\u2028"})
    assert data.startswith(b"data: {")
    assert data.endswith(b"}\n\n")
    assert data.count(b"\n") == 2
    assert b"\r" not in data
    assert events_of(data) == [{"type": "CUSTOM", "name": "a:b", "value": "x\ny\r\n\u2028"}]


@requirement("LC-22", "TR-12")
def test_absent_members_are_left_out_and_null_data_stays() -> None:
    """One null in an optional member kills the run at the client (LC-22)."""
    event = {
        "type": "TOOL_CALL_START",
        "toolCallId": "c",
        "toolCallName": "t",
        "parentMessageId": None,
        "metadata": {"kept": None},
    }
    assert events_of(frames.frame(event)) == [
        {
            "type": "TOOL_CALL_START",
            "toolCallId": "c",
            "toolCallName": "t",
            "metadata": {"kept": None},
        }
    ]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "CUSTOM", "name": "a:b", "value": None},
        {"type": "RAW", "event": None},
        {"type": "STATE_SNAPSHOT", "snapshot": None},
    ],
)
def test_null_stays_where_it_is_the_value(event: dict[str, Any]) -> None:
    """A CUSTOM without its value is fatal to clients (PT-01)."""
    assert events_of(frames.frame(event)) == [event]


@requirement("EN-07")
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_has_not_become_null(number: float) -> None:
    """NaN in a frame is fatal to clients (EN-07)."""
    assert events_of(frames.frame({"type": "CUSTOM", "name": "n", "value": [number]}))[0] == {
        "type": "CUSTOM",
        "name": "n",
        "value": [None],
    }


@requirement("EN-08")
@pytest.mark.parametrize("value", [object(), b"\xff", "\ud800", 2**64, {1: 2}])
def test_what_has_no_json_form_is_named_and_nothing_is_written(value: object) -> None:
    """The author hears which event it was (EN-08)."""
    with pytest.raises(TypeError, match="CUSTOM event"):
        frames.frame({"type": "CUSTOM", "name": "n", "value": value})


@requirement("EN-09")
def test_a_frame_that_clients_would_refuse_is_refused_here() -> None:
    """Over ten megabytes in one frame is fatal in 1.0.0 (EN-09)."""
    with pytest.raises(ValueError, match="STATE_SNAPSHOT"):
        frames.state_snapshot(b'"' + b"x" * frames.MAX_FRAME_BYTES + b'"')


def test_the_fast_path_of_text_writes_what_the_slow_one_does() -> None:
    """Prefix, delta and tail are one frame (design 5)."""
    for name, delta in [("m", "hé\n\"'\\"), ('m"1', "\U0001f600")]:
        fast = frames.text_prefix(name) + orjson.dumps(delta) + frames.TEXT_TAIL
        assert fast == frames.frame(
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": delta}
        )


@requirement("VN-01", "LC-08")
def test_a_run_opens_with_its_ids_and_our_version() -> None:
    """Never an echo of the peer's version (VN-01)."""
    assert events_of(frames.run_started("t", "r")) == [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
    ]


def test_snapshots_are_joined_from_kept_bytes_even_when_those_have_line_feeds() -> None:
    """Stored JSON may be pretty; a frame must not be (EN-05)."""
    pretty = json.dumps({"id": "u", "role": "user", "content": "a"}, indent=2).encode()
    body = frames.messages_snapshot([pretty, pretty]) + frames.state_snapshot(b'{\r\n"a": 1}')
    messages, state = events_of(body)
    assert [message["id"] for message in messages["messages"]] == ["u", "u"]
    assert state["snapshot"] == {"a": 1}
    assert frames.messages_snapshot([]) == b'data: {"type":"MESSAGES_SNAPSHOT","messages":[]}\n\n'


@requirement("OU-11")
def test_a_result_is_sent_unless_it_is_null() -> None:
    """A whole null is left out (OU-11)."""
    with_result = events_of(frames.run_finished("t", "r", b'{"type":"success"}', b'{"a":null}'))
    without = events_of(frames.run_finished("t", "r", b'{"type":"success"}', b" null "))
    assert with_result[0]["result"] == {"a": None}
    assert "result" not in without[0]
    assert not model_faults([*with_result, *without])


@requirement("ER-05")
def test_an_error_has_a_message_and_a_code_or_none_at_all() -> None:
    """An empty code is left out, details are ours alone (ER-05)."""
    bare = events_of(frames.run_error("", "It broke."))[0]
    full = events_of(frames.run_error("partial_resume", "Answer all.", {"open": ["int_1"]}))[0]
    assert bare == {"type": "RUN_ERROR", "message": "It broke."}
    assert full["code"] == "partial_resume"
    assert full["metadata"] == {"sayso": {"open": ["int_1"]}}
    assert not model_faults([bare, full])


@requirement("EN-06", "TR-16")
def test_the_sign_of_life_is_a_comment() -> None:
    """Anything else as keep-alive is fatal (TR-16)."""
    assert frames.KEEP_ALIVE == b": keep-alive\n\n"
    assert events_of(frames.KEEP_ALIVE) == []
