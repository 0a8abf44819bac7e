"""The stream guard: what it refuses, with which words, and how it closes what is open."""

from typing import Any

import pytest

from sayso.protocol.guard import StreamGuard, StreamOrderError
from tests.contract.requirements import requirement
from tests.spec.judge import schema_faults

Event = dict[str, Any]


def text(act: str, ident: str = "m", /, **members: Any) -> Event:
    extra = {"START": {"role": "assistant"}, "CONTENT": {"delta": "x"}, "END": {}}[act]
    return {"type": f"TEXT_MESSAGE_{act}", "messageId": ident, **extra, **members}


def call(act: str, ident: str = "c", /, **members: Any) -> Event:
    extra = {"START": {"toolCallName": "t"}, "ARGS": {"delta": "{}"}, "END": {}}[act]
    return {"type": f"TOOL_CALL_{act}", "toolCallId": ident, **extra, **members}


def result(message: str = "r", name: str = "c", **members: Any) -> Event:
    return {
        "type": "TOOL_CALL_RESULT",
        "messageId": message,
        "toolCallId": name,
        "content": "ok",
        **members,
    }


def step(act: str, ident: str = "s", /, **members: Any) -> Event:
    return {"type": f"STEP_{act}", "stepName": ident, **members}


def thought(act: str, name: str = "t") -> Event:
    extra = {"START": {"role": "reasoning"}, "CONTENT": {"delta": "x"}, "END": {}}[act]
    return {"type": f"REASONING_MESSAGE_{act}", "messageId": name, **extra}


def span(act: str, name: str = "t") -> Event:
    return {"type": f"REASONING_{act}", "messageId": name}


def subagent(act: str, ident: str = "sub", /, **members: Any) -> Event:
    extra = {"name": "inner"} if act == "STARTED" else {}
    return {"type": f"SUBAGENT_{act}", "subagentRunId": ident, **extra, **members}


def after(*events: Event) -> StreamGuard:
    guard = StreamGuard()
    for event in events:
        guard.check(event)
    return guard


NO_PARTS: tuple[Any, ...] = (
    "text",
    {"type": "text"},
    {"type": "text", "text": "x", "source": {"type": "url", "value": "u"}},
    {"type": "binary", "text": "x"},
    {"type": "image"},
    {"type": "image", "source": {"type": "data", "value": "eA=="}},
    {"type": "image", "source": {"type": "url", "value": 1}},
    {"type": "image", "source": {"type": "url", "value": "u", "provider": "p"}},
    {"type": "image", "source": {"type": "path", "value": "u"}},
)

REFUSED = [
    ("text start while open", [text("START")], text("START"), "send TEXT_MESSAGE_END first"),
    ("text reopened", [text("START"), text("END")], text("START"), "use a new messageId"),
    ("content without start", [], text("CONTENT"), "send TEXT_MESSAGE_START first"),
    ("content after end", [text("START"), text("END")], text("CONTENT"), "no text message"),
    ("end without start", [], text("END"), "send TEXT_MESSAGE_START first"),
    ("end twice", [text("START"), text("END")], text("END"), "no text message"),
    ("role tool", [], text("START", role="tool"), "must be one of"),
    ("no role", [], {"type": "TEXT_MESSAGE_START", "messageId": "m"}, "/role is required"),
    ("delta null", [text("START")], text("CONTENT", delta=None), "must be a string"),
    ("empty id", [], text("START", ""), "not empty"),
    ("args without start", [], call("ARGS"), "send TOOL_CALL_START first"),
    ("call twice", [call("START"), call("END")], call("START"), "append to it"),
    ("result of open call", [call("START")], result(), "send TOOL_CALL_END first"),
    ("two results", [result()], result("r2"), "clients would keep both"),
    ("result under a used id", [text("START")], result("m"), "use a new id"),
    ("result content object", [], result(content={}), "TOOL_CALL_RESULT: /content"),
    *(
        (f"result part {at}", [], result(content=[part]), "TOOL_CALL_RESULT: /content")
        for at, part in enumerate(NO_PARTS)
    ),
    ("parent is a result", [result()], call("START", "d", parentMessageId="r"), "assistant"),
    ("parent number", [], call("START", parentMessageId=5), "must be a string"),
    ("thought without start", [], thought("CONTENT"), "send REASONING_MESSAGE_START first"),
    ("thought role", [], thought("START") | {"role": "assistant"}, "'reasoning'"),
    ("span twice", [span("START")], span("START"), "send REASONING_END first"),
    ("thought under a text's id", [text("START")], thought("START", "m"), "use a new id"),
    ("step never opened", [], step("FINISHED"), "send STEP_STARTED first"),
    (
        "step of another owner",
        [step("STARTED")],
        step("FINISHED", subagentRunId="x"),
        "with the same subagentRunId",
    ),
    (
        "activity delta first",
        [],
        {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "p", "patch": []},
        "send ACTIVITY_SNAPSHOT first",
    ),
    (
        "activity under a text's id",
        [text("START")],
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "p", "content": {}},
        "use a new id",
    ),
    (
        "patch with a bad pointer",
        [],
        {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "a"}]},
        "/delta/0/path must be a JSON pointer",
    ),
    (
        "patch without value",
        [],
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a"}]},
        "/delta/0/value is required",
    ),
    ("custom without value", [], {"type": "CUSTOM", "name": "a:b"}, "/value is required"),
    ("unknown type", [], {"type": "THINKING_START"}, "send a CUSTOM event"),
    ("no type", [], {}, "no event to emit"),
    ("unknown member", [], text("START", colour="red"), "put it into 'metadata'"),
    ("snake case", [], {"type": "TEXT_MESSAGE_END", "message_id": "m"}, "/message_id is no member"),
    ("chunk", [], {"type": "TEXT_MESSAGE_CHUNK"}, "send TEXT_MESSAGE_START"),
    ("run start", [], {"type": "RUN_STARTED"}, "by the engine"),
    ("run end", [], {"type": "RUN_FINISHED"}, "return from the agent function"),
    ("timestamp", [], text("START", timestamp=1.5), "/timestamp must be"),
    ("reserved metadata", [], text("START", metadata={"ag-ui": 1}), "reserved"),
    (
        "snapshot owner",
        [],
        {"type": "MESSAGES_SNAPSHOT", "messages": [], "subagentRunId": "x"},
        "/subagentRunId is no member",
    ),
    (
        "snapshot over open text",
        [text("START")],
        {"type": "MESSAGES_SNAPSHOT", "messages": []},
        "send TEXT_MESSAGE_END first",
    ),
    ("subagent twice", [subagent("STARTED")], subagent("STARTED"), "SUBAGENT_FINISHED first"),
    (
        "subagent again",
        [subagent("STARTED"), subagent("FINISHED")],
        subagent("STARTED"),
        "use a new subagentRunId",
    ),
    (
        "subagent announced late",
        [text("START", subagentRunId="sub")],
        subagent("STARTED"),
        "send SUBAGENT_STARTED before",
    ),
    (
        "unknown parent",
        [],
        subagent("STARTED", parentSubagentRunId="other"),
        "not announced",
    ),
    (
        "ended owner",
        [subagent("STARTED"), subagent("FINISHED")],
        text("START", subagentRunId="sub"),
        "has ended",
    ),
    (
        "subagent with open text",
        [subagent("STARTED"), text("START", subagentRunId="sub")],
        subagent("FINISHED"),
        "send TEXT_MESSAGE_END first",
    ),
    (
        "subagent with open step",
        [subagent("STARTED"), step("STARTED", subagentRunId="sub")],
        subagent("ERROR", message="x"),
        "send STEP_FINISHED first",
    ),
    (
        "ids on success",
        [subagent("STARTED")],
        subagent("FINISHED", outcome={"type": "success", "interruptIds": []}),
        "/outcome/interruptIds is no member",
    ),
    (
        "another owner inside",
        [text("START", subagentRunId="x")],
        text("CONTENT", subagentRunId="y"),
        "does not match",
    ),
    (
        "call and message of two owners",
        [text("START")],
        call("START", parentMessageId="m", subagentRunId="x"),
        "different owners",
    ),
]


@requirement("TX-01", "TX-02", "TX-03", "TX-04", "TX-05", "TX-06", "TC-01", "TC-02", "TC-07")
@requirement("RS-01", "RS-02", "RS-05", "ST-01", "ST-03", "SS-03", "AC-01", "AC-02", "PT-01")
@requirement("LC-23", "LC-26", "MD-01", "MS-05", "MS-06", "SA-05", "SA-08", "SA-09", "SA-10")
@pytest.mark.parametrize(
    ("before", "event", "words"),
    [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)
def test_what_clients_reject_is_refused_with_what_to_send(
    before: list[Event], event: Event, words: str
) -> None:
    """The sentence is for the author; the event is never sent (rules 1 to 8)."""
    with pytest.raises(StreamOrderError, match=words.replace("(", r"\(")):
        after(*before).check(event)


def test_a_refused_event_changes_nothing() -> None:
    """The author may go on as if it had not been tried (design 5)."""
    for _, before, event, _ in REFUSED:
        guard = after(*before)
        with pytest.raises(StreamOrderError):
            guard.check(event)
        assert guard.close_all() == after(*before).close_all()


def test_what_is_right_is_sent() -> None:
    """One of everything, in order (LC, TX, TC, RS, ST)."""
    events = [
        step("STARTED"),
        subagent("STARTED"),
        span("START"),
        thought("START"),
        thought("CONTENT"),
        thought("END"),
        span("END"),
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "t",
         "encryptedValue": "x"},
        text("START", name="Bo", subagentRunId="sub"),
        text("CONTENT", subagentRunId="sub"),
        text("CONTENT"),
        text("END"),
        call("START", parentMessageId="m", subagentRunId="sub"),
        call("ARGS"),
        call("END"),
        result(role="tool", subagentRunId="sub"),
        subagent("FINISHED", result=None, outcome={"type": "success"}),
        {"type": "STATE_SNAPSHOT", "snapshot": None},
        {"type": "STATE_DELTA", "delta": [
            {"op": "add", "path": "/a~1b", "value": None},
            {"op": "move", "from": "/a~1b", "path": ""},
            {"op": "remove", "path": "/x/0"},
        ]},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "p", "content": {}},
        {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "p", "patch": []},
        {"type": "CUSTOM", "name": "a:b", "value": None},
        {"type": "RAW", "event": {"x": 1}, "source": "s"},
        step("FINISHED"),
    ]  # fmt: skip
    guard = StreamGuard()
    assert [event for event in events if not guard.check(event)] == []
    assert guard.close_all() == []
    assert schema_faults([event for event in events if event.get("result", 0) is not None]) == []


@requirement("AC-01")
def test_a_new_reader_is_shown_each_activity_as_it_is_now() -> None:
    """AC-01: so that the deltas to come apply; what does not apply changes nothing."""
    named = {"messageId": "a", "activityType": "p"}
    shown: Event = {"type": "ACTIVITY_SNAPSHOT", **named, "content": {"n": 1}}
    delta: Event = {"type": "ACTIVITY_DELTA", **named}
    guard = after(shown, delta | {"patch": [{"op": "add", "path": "/m", "value": 2}]})
    for patch, words in (
        ([{"op": "remove", "path": "/nowhere"}], "operation 0"),
        ([{"op": "replace", "path": "", "value": []}], "stays one"),
    ):
        with pytest.raises(StreamOrderError, match=words):
            guard.check(delta | {"patch": patch})
    assert list(guard.replay_open()) == [shown | {"content": {"n": 1, "m": 2}}]
    guard.check(shown | {"content": {}, "replace": False})
    assert list(guard.replay_open()) == [shown | {"content": {"n": 1, "m": 2}}]
    guard.check(shown | {"content": {"k": 3}})
    assert list(guard.replay_open()) == [shown | {"content": {"k": 3}}]


@requirement("ST-01")
def test_a_step_that_two_branches_opened_is_said_once() -> None:
    """Branches share the name, clients know it once (ST-01)."""
    guard = StreamGuard()
    said = [
        guard.check(event)
        for event in [
            step("STARTED"),
            step("STARTED"),
            step("FINISHED"),
            step("FINISHED"),
            step("STARTED"),
        ]
    ]
    assert said == [True, False, False, True, True]


@requirement("LC-06", "RS-06", "SA-01", "ST-02", "SB-02")
def test_the_boundary_closes_everything_in_one_order() -> None:
    """Text, tool calls, reasoning, subagents with their steps, steps (design 5)."""
    guard = after(
        step("STARTED"),
        subagent("STARTED"),
        subagent("STARTED", "deep", parentSubagentRunId="sub"),
        step("STARTED", "inner", subagentRunId="deep"),
        span("START"),
        thought("START"),
        call("START"),
        text("START", subagentRunId="sub"),
    )
    assert guard.close_all() == [
        {"type": "TEXT_MESSAGE_END", "messageId": "m", "subagentRunId": "sub"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "REASONING_MESSAGE_END", "messageId": "t"},
        {"type": "REASONING_END", "messageId": "t"},
        {"type": "STEP_FINISHED", "stepName": "inner", "subagentRunId": "deep"},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "deep", "outcome": {"type": "suspended"}},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "sub", "outcome": {"type": "suspended"}},
        {"type": "STEP_FINISHED", "stepName": "s"},
    ]
    assert guard.close_all() == []


def test_an_end_that_comes_after_the_boundary_is_taken_and_not_sent() -> None:
    """A `finally` of the author must not fail because the boundary was first (design 3, rule 1)."""
    guard = after(step("STARTED"), step("STARTED"), text("START"), call("START"))
    guard.close_all()
    late = [text("END"), call("END"), step("FINISHED"), step("FINISHED")]
    assert [guard.check(event) for event in late] == [False] * 4
    for event in late:
        with pytest.raises(StreamOrderError):
            guard.check(event)
    with pytest.raises(StreamOrderError, match="no text message"):
        guard.check(text("CONTENT"))


def test_a_step_that_is_opened_again_after_the_boundary_is_closed_by_its_own_end() -> None:
    """The end that the boundary came before may still come, or never (ST-01)."""
    guard = after(step("STARTED"))
    guard.close_all()
    events = [step("STARTED"), step("FINISHED"), step("FINISHED")]
    assert [guard.check(event) for event in events] == [True, True, False]
    with pytest.raises(StreamOrderError, match="no step"):
        guard.check(step("FINISHED"))


def test_what_is_open_is_restated_with_its_text_so_far() -> None:
    """A late reader sees each start, with its members, and one content (design 5, Readers)."""
    guard = after(
        subagent("STARTED"),
        step("STARTED", subagentRunId="sub"),
        text("START", name="Bo", subagentRunId="sub"),
        text("CONTENT", delta="ab"),
        text("CONTENT", delta="cd"),
        text("START", "done"),
        text("END", "done"),
        call("START"),
    )
    assert list(guard.replay_open()) == [
        subagent("STARTED"),
        step("STARTED", subagentRunId="sub"),
        text("START", name="Bo", subagentRunId="sub"),
        text("CONTENT", delta="abcd", subagentRunId="sub"),
        call("START"),
    ]
    other = StreamGuard()
    assert all(other.check(event) for event in guard.replay_open())
