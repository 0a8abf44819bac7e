"""What a turn leaves behind when it ends before its calls do (TC-16, H1)."""

from dataclasses import replace
from itertools import count
from typing import Any

from sayso.base import jsonvalue
from sayso.base.progress import CallResult
from sayso.base.records import Entry, Interrupt, Message, Principal, TurnRecord
from sayso.turns.calls.dangling import close_dangling
from sayso.turns.calls.results import call_message, tool_message


def turn(history: int = 0) -> TurnRecord:
    return TurnRecord(
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
        call("2", "asked", interrupt="int_2", why="indeterminate"),
        call("3", "done", value="sent"),
    ]
    history = [
        proposed(*(f"call_{n}" for n in range(6))),
        tool_message("r3", "call_3", "sent"),
        tool_message("r5", "call_5", "sent"),
    ]
    left = close_dangling(
        turn(), entries, history, count(7).__next__, stopped=True, interrupts={}, now=5
    )
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


def decided(name: str, status: Any, payload: Any = None, by: str | None = "ann") -> Interrupt:
    return Interrupt(
        id=name,
        turn_key="turn_1",
        place="0",
        reason="tool_call",
        created_at=0,
        status=status,
        payload=None if payload is None else jsonvalue.encode(payload),
        decided_by=by,
    )


def test_what_was_decided_about_a_call_is_told_though_it_was_not_carried_out() -> None:
    """Nobody is told that nobody decided, and nobody that a tool did not run which had failed."""
    asked = {
        "yes": decided("yes", "resolved", {"approved": True}),
        "yes by nobody": decided("yes by nobody", "resolved", {"approved": True}, by=None),
        "no": decided("no", "resolved", {"approved": False, "reason": "too dear"}),
        "withdrawn": decided("withdrawn", "cancelled"),
        "late": decided("late", "expired", by=None),
        "open": decided("open", "open", by=None),
    }
    entries = [call(name, "asked", interrupt=name) for name in asked]
    entries.append(call("broken", "asked", interrupt="open", why="failed", error="OSError: no"))
    left = close_dangling(
        turn(), entries, [], count().__next__, stopped=False, interrupts=asked, now=5
    )
    told = {event["toolCallId"].removeprefix("call_"): event["content"] for event in left.events}
    assert told == {
        "yes": "Approved by ann; not executed: the turn ended before the call began.",
        "yes by nobody": "Approved; not executed: the turn ended before the call began.",
        "no": "Not executed: a reviewer denied this call. Reason: too dear",
        "withdrawn": "Not executed: the request for approval was cancelled; nobody approved the "
        "call.",
        "late": "Not executed: the request for approval expired before anyone decided, and nobody "
        "was there for the turn to go on.",
        "open": "Not executed: the turn ended before anyone decided.",
        "broken": "Failed: OSError: no",
    }


def test_the_questions_about_calls_that_are_left_behind_have_their_results() -> None:
    """In words for people; a question that nobody answered has none."""
    items = {
        name: replace(decided(name, "resolved", {"approved": yes}), tool_call_id=f"call_{name}")
        for name, yes in (("yes", True), ("no", False), ("begun", True), ("broken", True))
    }
    items["open"] = replace(decided("open", "open"), tool_call_id="call_open")
    entries = [
        call("yes", "asked", interrupt="yes"),
        call("no", "asked", interrupt="no"),
        call("open", "asked", interrupt="open"),
        call("begun", "started"),
        call("broken", "asked", interrupt="open", why="failed", error="OSError: no"),
    ]
    left = close_dangling(
        turn(), entries, [], count().__next__, stopped=True, interrupts=items, now=5
    )
    results = {item.id: item.progress.result for item in left.interrupts}
    assert results == {
        "yes": CallResult(
            status="not_run", moment=5, text="The turn was stopped before the call began."
        ),
        "no": CallResult(status="not_run", moment=5, text="A reviewer denied this call."),
        "begun": CallResult(status="unknown", moment=5),
        "broken": CallResult(status="failed", moment=5, text="OSError: no"),
    }


def test_calls_from_before_the_turn_are_left_alone() -> None:
    """What a client says an assistant called is text, and no call of ours (TB-13)."""
    history = [proposed("theirs", message="old"), proposed("ours", message="new")]
    left = close_dangling(
        turn(history=1), [], history, count().__next__, stopped=False, interrupts={}, now=5
    )
    (event,) = left.events
    assert event["toolCallId"] == "ours"
    assert event["content"] == "Not executed: the turn ended before this call began."
