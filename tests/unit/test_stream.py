"""Run streams: who gets which events, and how every body ends."""

from typing import Any

import orjson
import pytest

from sayso.protocol import frames
from sayso.protocol.guard import StreamOrderError
from sayso.streams.ending import Ending
from tests.bodies import MIB, NEW, OLD, attached, events, stream_of, types
from tests.contract.requirements import requirement
from tests.judge import model_faults, validator_faults
from tests.stream_checker import check

INTERRUPT = b'{"id":"int_1","reason":"confirmation","message":"Go on?"}'
USER = b'{"id":"u","role":"user","content":"hi"}'


async def test_the_text_of_a_message_is_what_was_written() -> None:
    """Its end gives the whole, as the store keeps it (design 3)."""
    stream = stream_of()
    reader = attached(stream)
    text = stream.text("m", role="assistant", name="Bo")
    for piece in ["hel", "", "lo"]:
        text.write(piece)
    assert text.end() == text.end() == "hello"
    stream.finish(Ending(type="success"))
    found = await events(reader)
    assert found[1:5] == [
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant", "name": "Bo"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "hel"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "lo"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    ]
    assert check(found) + model_faults(found) + validator_faults(found) == []


async def test_a_piece_that_is_too_long_for_one_frame_is_sent_as_several() -> None:
    """Clients refuse frames over ten megabytes (EN-09)."""
    stream = stream_of(unread=50 * MIB)
    reader = attached(stream)
    text = stream.text("m")
    text.write("ab" * 1_250_000)
    late = attached(stream, "late")
    assert text.end() == "ab" * 1_250_000
    stream.finish(Ending(type="success"))
    for each in (reader, late):
        found = await events(each)
        pieces = [event["delta"] for event in found if "delta" in event]
        assert len(pieces) == 3
        assert "".join(pieces) == "ab" * 1_250_000


async def test_what_one_reader_said_stays_with_it_until_the_thread_has_it() -> None:
    """Behind the thread's messages, once; what does not fit whole is there, cut (EN-09)."""
    stream = stream_of(unread=50 * MIB)
    long = b'{"id":"l","role":"user","content":"%b"}' % (b"x" * 6 * MIB)
    given: dict[str, Any] = {"messages": [], "state": None}
    readers = [
        stream.attach("a", NEW, **given, said=[USER]),
        stream.attach("b", OLD, **given, said=[long]),
        stream.attach("c", NEW, **given),
    ]
    other = b'{"id":"m","role":"assistant","content":"%b"}' % (b"y" * 5 * MIB)
    stream.snapshot(messages=[], state=None)
    stream.snapshot(messages=[other], state=None)
    stream.snapshot(messages=[other, USER], state=None)
    stream.finish(Ending(type="success"))
    shown = [
        [[m["id"] for m in e["messages"]] for e in await events(reader) if "messages" in e]
        for reader in readers
    ]
    assert shown == [
        [["u"], ["u"], ["m", "u"], ["m", "u"]],
        [["l"], ["l"], ["m", "l"], ["m", "u", "l"]],
        [[], [], ["m"], ["m", "u"]],
    ]


async def test_what_is_no_text_is_refused_and_nothing_is_sent() -> None:
    """A number would make a delta that kills the run at the client (TX-04, EN-08)."""
    stream = stream_of()
    reader = attached(stream)
    text = stream.text("m")
    for wrong in (5, None, b"x"):
        with pytest.raises(TypeError):
            text.write(wrong)  # type: ignore[arg-type]  # what an untyped author may pass
    text.write("x")
    stream.finish(Ending(type="success"))
    assert types(await events(reader)) == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]


async def test_an_event_that_cannot_be_encoded_does_not_count_as_sent() -> None:
    """Encoding comes before the guard's books (EN-08)."""
    stream = stream_of()
    reader = attached(stream)
    start = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "t"}
    with pytest.raises(TypeError):
        stream.emit({**start, "metadata": {"x": object()}})
    stream.emit(start)
    stream.finish(Ending(type="success"))
    assert types(await events(reader)) == [
        "RUN_STARTED",
        "TOOL_CALL_START",
        "TOOL_CALL_END",
        "RUN_FINISHED",
    ]


@requirement("LC-08", "LC-12")
async def test_a_late_reader_gets_snapshots_what_is_open_and_then_live_events() -> None:
    """Under its own run id; what is history is never streamed again (LC-12)."""
    stream = stream_of()
    first = attached(stream, "r1")
    stream.emit({"type": "STEP_STARTED", "stepName": "s"})
    text = stream.text("m")
    text.write("a")
    text.write("b")
    late = stream.attach("r2", OLD, messages=[USER], state=b'{"n":null}')
    text.write("c")
    text.end()
    stream.finish(Ending(type="success"))
    assert await events(late) == [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r2", "protocolVersion": "1.0"},
        {"type": "MESSAGES_SNAPSHOT", "messages": [orjson.loads(USER)]},
        {"type": "STATE_SNAPSHOT", "snapshot": {"n": None}},
        {"type": "STEP_STARTED", "stepName": "s"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "ab"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "c"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "STEP_FINISHED", "stepName": "s"},
        {
            "type": "RUN_FINISHED",
            "threadId": "t",
            "runId": "r2",
            "outcome": {"type": "success"},
        },
    ]
    assert [event["delta"] for event in await events(first) if "delta" in event] == ["a", "b", "c"]


async def test_a_reader_after_the_end_gets_snapshots_and_the_ending() -> None:
    """A replay needs no stream of its own (design 5, Readers)."""
    stream = stream_of()
    stream.finish(Ending(type="interrupt", interrupts=(INTERRUPT,)))
    reader = stream.attach("r", NEW, messages=[USER], state=b"{}")
    found = await events(reader)
    assert types(found) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_FINISHED"]
    assert found[-1]["outcome"]["interrupts"] == [orjson.loads(INTERRUPT)]
    assert reader.complete


@requirement("LC-02", "OU-07", "OU-10", "TR-13")
async def test_each_reader_hears_the_end_in_words_that_it_takes() -> None:
    """`cancelled` is fatal before 1.0, so those peers hear of an abort (OC-03)."""
    stream = stream_of()
    new, old = attached(stream, "n", NEW), attached(stream, "o", OLD)
    stream.finish(Ending(type="cancelled"))
    stream.finish(Ending(type="success"))
    told, aborted = (await events(new))[-1], (await events(old))[-1]
    assert told["outcome"] == {"type": "cancelled"}
    assert (aborted["type"], aborted["code"]) == ("RUN_ERROR", "abort")
    assert model_faults([told, aborted]) == []


@requirement("LC-06", "SB-02", "MS-06")
async def test_the_boundary_is_closers_snapshots_outcome() -> None:
    """In this order, with nothing open under a snapshot (design 5)."""
    stream = stream_of()
    reader = attached(stream)
    stream.emit({"type": "STEP_STARTED", "stepName": "s"})
    text = stream.text("m")
    text.write("x")
    with pytest.raises(StreamOrderError, match="TEXT_MESSAGE_END"):
        stream.snapshot(messages=[USER], state=b"{}")
    stream.close_open()
    stream.snapshot(messages=[USER], state=b"{}")
    stream.finish(Ending(type="interrupt", interrupts=(INTERRUPT,)))
    assert text.end() == "x"
    found = await events(reader)
    assert types(found) == [
        "RUN_STARTED",
        "STEP_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "STEP_FINISHED",
        "STATE_SNAPSHOT",
        "MESSAGES_SNAPSHOT",
        "RUN_FINISHED",
    ]
    assert check(found) + model_faults(found) + validator_faults(found) == []


@requirement("LC-04", "LC-05")
async def test_nothing_follows_the_end() -> None:
    """Late emissions of abandoned branches are refused (LC-04)."""
    stream = stream_of()
    reader = attached(stream)
    text = stream.text("m")
    stream.finish(Ending(type="error", code="agent_error", message="It failed."))
    with pytest.raises(StreamOrderError, match="closed"):
        text.write("x")
    with pytest.raises(StreamOrderError, match="ended"):
        stream.emit({"type": "CUSTOM", "name": "a:b", "value": 1})
    with pytest.raises(StreamOrderError, match="ended"):
        stream.snapshot(messages=[], state=None)
    stream.close_open()
    assert text.end() == ""
    assert types(await events(reader)) == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_END",
        "RUN_ERROR",
    ]
    assert stream.ended


async def test_an_ending_without_a_frame_still_ends_the_run() -> None:
    """Too large a result must not leave a body open (LC-02)."""
    stream = stream_of()
    reader = attached(stream)
    huge = b'"' + b"x" * frames.MAX_FRAME_BYTES + b'"'
    stream.finish(Ending(type="success", result=huge))
    assert (await events(reader))[-1]["code"] == "internal_error"
