"""What a turn leaves behind when it ends before its calls do (TC-16, H1)."""

from itertools import count
from typing import Any

from sayso import jsonvalue
from sayso.records import Entry, Message, Principal, Turn
from sayso.turns.leftovers import leftovers
from sayso.turns.results import call_message, tool_message


def turn(history: int = 0) -> Turn:
    return Turn(
        key="turn_1",
        agent="a",
        version="1",
        status="running",
        request=jsonvalue.encode({"history": history}),
        principal=Principal(),
        started_at=0,
    )


def call(place: str, status: Any, **data: Any) -> Entry:
    return Entry(
        place=place,
        kind="call",
        name="mail",
        fingerprint="call mail",
        status=status,
        data=jsonvalue.encode({"id": f"call_{place}", **data}),
    )


def proposed(*ids: str, message: str = "m") -> Message:
    return call_message(message, [(key, "mail", "{}") for key in ids])


def test_each_call_gets_one_result_that_says_how_far_it_came() -> None:
    """Asked, started, unsure, merely proposed; what has its result keeps it."""
    entries = [
        call("0", "asked", interrupt="int_1"),
        call("1", "started"),
        call("2", "asked", interrupt="int_2", why="unsure"),
        call("3", "done", value="sent"),
    ]
    history = [
        proposed(*(f"call_{n}" for n in range(6))),
        tool_message("r3", "call_3", "sent"),
        tool_message("r5", "call_5", "sent"),
    ]
    left = leftovers(turn(), entries, history, count(7).__next__, stopped=True)
    texts = {event["toolCallId"]: event["content"] for event in left.events}
    assert texts == {
        "call_0": "Not executed: the turn was stopped before anyone decided.",
        "call_1": "Unknown: the call was started and the turn was stopped before its outcome "
        "was known.",
        "call_2": "Unknown: the call was started and the turn was stopped before its outcome "
        "was known.",
        "call_4": "Not executed: the turn was stopped before this call began.",
    }
    assert [entry.status for entry in left.entries] == ["done"] * 3
    assert [jsonvalue.decode(entry.data)["end"] for entry in left.entries] == [7, 8, 9]
    told = {jsonvalue.decode(m.body)["toolCallId"]: m.id for m in left.messages}
    assert told == {event["toolCallId"]: event["messageId"] for event in left.events}
    assert len(set(told.values())) == 4


def test_calls_from_before_the_turn_are_left_alone() -> None:
    """What a client says an assistant called is text, and no call of ours (TB-13)."""
    history = [proposed("theirs", message="old"), proposed("ours", message="new")]
    left = leftovers(turn(history=1), [], history, count().__next__, stopped=False)
    (event,) = left.events
    assert event["toolCallId"] == "ours"
    assert event["content"] == "Not executed: the turn ended before this call began."
