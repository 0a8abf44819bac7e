"""What a consumer makes of streams, by rules; `test_conformance` goes by the protocol's suite."""

from typing import Any

import pytest

from sayso.client import ProtocolViolation
from sayso.client.frames import Frames
from tests.client.agent import FINISHED, STARTED, Agent, Event, run_of
from tests.client.events import (
    ARGS,
    CALL,
    CALLED,
    CHUNK,
    CUSTOM,
    END,
    ERROR,
    HELPED,
    HELPER,
    MORE,
    RAW,
    REST,
    START,
    TEXT,
    activity,
    delta,
    owned,
    state,
)
from tests.contract.requirements import requirement

KEPT = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}

FATAL: dict[str, tuple[list[Event], str]] = {
    "LC-01 first event": ([CUSTOM, *run_of()], "first event"),
    "LC-03 nested run": ([STARTED, *run_of()], "going on"),
    "LC-04 after the end": ([*run_of(), CUSTOM], "after RUN_FINISHED"),
    "LC-05 after an error": ([STARTED, ERROR, FINISHED], "after RUN_ERROR"),
    "LC-05 two errors": ([STARTED, ERROR, ERROR], "after RUN_ERROR"),
    "LC-06 open message": (run_of(START, MORE), "still open"),
    "LC-06 open subagent": (run_of(HELPER), "still open"),
    "LC-06 open call": (run_of(CALL), "still open"),
    "LC-08 another thread": (
        [*run_of(), {**STARTED, "threadId": "other"}, {**FINISHED, "threadId": "other"}],
        "another thread",
    ),
    "LC-08 another run": ([STARTED, {**FINISHED, "runId": "other"}], "another run"),
    "TX-01 opened twice": (run_of(START, START), "opened before"),
    "TX-02 content alone": (run_of(MORE), "no text message"),
    "TX-03 unknown role": (run_of({**START, "role": "narrator"}), "role"),
    "TX-04 delta null": (run_of(START, {**MORE, "delta": None}), "delta"),
    "TX-05 somebody else's": (run_of(*TEXT, {**START, "role": "user"}), "somebody else"),
    "TX-06 chunk without id": (run_of(REST), "messageId"),
    "TX-06 chunk of another role": (run_of(CHUNK, {**REST, "role": "user"}), "does not match"),
    "TX-07 custom closes": (run_of(CHUNK, CUSTOM, REST), "messageId"),
    "TC-01 args alone": (run_of(ARGS), "no tool call"),
    "TC-06 content object": (
        run_of({"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": {}}),
        "list",
    ),
    "TC chunk without name": (run_of({"type": "TOOL_CALL_CHUNK", "toolCallId": "c"}), "Name"),
    "TC chunk of another name": (
        run_of(
            {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "a"},
            {"type": "TOOL_CALL_CHUNK", "toolCallName": "b"},
        ),
        "does not match",
    ),
    "RS-01 thought alone": (
        run_of({"type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": "hm"}),
        "no reasoning message",
    ),
    "RS-02 role": (
        run_of({"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "assistant"}),
        "role",
    ),
    "ST-01 step never begun": (run_of({"type": "STEP_FINISHED", "stepName": "s"}), "no step"),
    "SS-03 pointer": (run_of(delta({"op": "remove", "path": "a"})), "pointer"),
    "SS-03 no value": (run_of(delta({"op": "add", "path": "/a"})), "value"),
    "OU-02 outcome a list": ([STARTED, {**FINISHED, "outcome": []}], "object"),
    "OU-04 no interrupts": (
        [STARTED, {**FINISHED, "outcome": {"type": "interrupt", "interrupts": []}}],
        "1 or more",
    ),
    "OU-05 one id twice": (
        [
            STARTED,
            {
                **FINISHED,
                "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x"}] * 2},
            },
        ],
        "one id",
    ),
    "FC-07 call of another type": (
        run_of(
            {
                "type": "MESSAGES_SNAPSHOT",
                "messages": [
                    {"id": "a", "role": "assistant", "toolCalls": [{**KEPT, "type": "x"}]}
                ],
            }
        ),
        "/toolCalls/0/type",
    ),
    "IN-10 message null": (
        [
            STARTED,
            {
                **FINISHED,
                "outcome": {
                    "type": "interrupt",
                    "interrupts": [{"id": "i", "reason": "x", "message": None}],
                },
            },
        ],
        "message",
    ),
    "PT-01 no value": (run_of({"type": "CUSTOM", "name": "n"}), "value"),
    "LC-26 fraction": (run_of({**CUSTOM, "timestamp": 1.5}), "timestamp"),
    "SA-09 another owner": (run_of(owned(CALL), owned(CALLED, "z")), "does not match"),
    "SA never started": (run_of(HELPED), "no subagent"),
    "SA-05 used again": (run_of(HELPER, HELPED, HELPER), "opened before"),
    "SA-08 no name": (run_of({"type": "SUBAGENT_STARTED", "subagentRunId": "s"}), "name"),
    "EN-05 no object": ([None], "object"),  # type: ignore[list-item]
    "FC-07 known and wrong": (run_of({**START, "messageId": 7}), "messageId"),
}


@requirement("LC-13", "FC-07")
@pytest.mark.parametrize("case", FATAL)
async def test_a_stream_against_the_protocol_is_rejected(case: str) -> None:
    """LC-13, FC-07: rejected by name, and the client is free for the next run."""
    events, told = FATAL[case]
    agent = Agent()
    with pytest.raises(ProtocolViolation, match=told):
        await agent.heard(*events)
    await agent.heard(*run_of())
    assert agent.client.outcome == "success"


async def test_what_came_before_a_violation_is_kept() -> None:
    """LC-13: delivered and applied."""
    agent = Agent()
    agent.says(STARTED, *TEXT, MORE)
    heard = []
    with pytest.raises(ProtocolViolation):
        async for event in agent.client.run("go"):
            heard.append(event["type"])  # noqa: PERF401 - the loop raises
    assert heard == ["RUN_STARTED", *(event["type"] for event in TEXT)]
    assert agent.told == [{"id": "m", "role": "assistant", "content": "words"}]


TAKEN: dict[str, tuple[list[Event], list[Event]]] = {
    "triad": (TEXT, [{"content": "words"}]),
    "a role left out": ([{"type": "TEXT_MESSAGE_START", "messageId": "m"}, MORE, END], [{}]),
    "reopened": ([*TEXT, *TEXT], [{"content": "wordswords"}]),
    "chunks": ([CHUNK, REST], [{"content": "half and half"}]),
    "chunks that repeat": ([{**CHUNK, "role": "user"}, {**REST, "role": "user"}], []),
    "raw stands aside": ([CHUNK, RAW, REST], [{"content": "half and half"}]),
    "a subagent's end": (
        [HELPER, owned(CHUNK), owned(REST), HELPED],
        [{"content": "half and half", "subagentRunId": "s"}],
    ),
    "an owner not announced": ([owned(START), MORE, owned(END)], [{"subagentRunId": "s"}]),
    "metadata": (
        [
            {**START, "metadata": {"a": 1, "b": [1, 2]}},
            {**MORE, "metadata": {"b": [3], "c": None}},
            END,
        ],
        [{"metadata": {"a": 1, "b": [3], "c": None}}],
    ),
    "reasoning": (
        [
            {"type": "REASONING_START", "messageId": "z"},
            {"type": "REASONING_MESSAGE_START", "messageId": "z", "role": "reasoning"},
            {"type": "REASONING_MESSAGE_CONTENT", "messageId": "z", "delta": "hm"},
            {"type": "REASONING_MESSAGE_END", "messageId": "z"},
            {"type": "REASONING_END", "messageId": "z"},
            {
                "type": "REASONING_ENCRYPTED_VALUE",
                "subtype": "message",
                "entityId": "z",
                "encryptedValue": "e",
                "encryptedValueType": "maker.kind",
            },
            {
                "type": "REASONING_ENCRYPTED_VALUE",
                "subtype": "tool-call",
                "entityId": "nobody",
                "encryptedValue": "e",
            },
        ],
        [
            {
                "role": "reasoning",
                "content": "hm",
                "encryptedValue": "e",
                "encryptedValueType": "maker.kind",
            }
        ],
    ),
    "a seal without a type in place of one that had it": (
        [
            {"type": "REASONING_MESSAGE_START", "messageId": "z", "role": "reasoning"},
            {"type": "REASONING_MESSAGE_END", "messageId": "z"},
            *(
                {
                    "type": "REASONING_ENCRYPTED_VALUE",
                    "subtype": "message",
                    "entityId": "z",
                    "encryptedValue": value,
                    **more,
                }
                for value, more in (("e", {"encryptedValueType": "maker.kind"}), ("f", {}))
            ),
        ],
        [{"role": "reasoning", "content": "", "encryptedValue": "f"}],
    ),
    "activity": (
        [
            activity({"done": 1}),
            {
                "type": "ACTIVITY_DELTA",
                "messageId": "a",
                "activityType": "plan",
                "patch": [{"op": "replace", "path": "/done", "value": 2}],
            },
        ],
        [{"role": "activity", "activityType": "plan", "content": {"done": 2}}],
    ),
    "activity that stays": (
        [activity({"a": 1}), activity({"b": 2}, activityType="other", replace=False)],
        [{"activityType": "plan", "content": {"a": 1}}],
    ),
}


@requirement("TX-08")
@pytest.mark.parametrize("case", TAKEN)
async def test_events_make_messages(case: str) -> None:
    """TX-05 to TX-08, RS-03, AC-01, MD-02, SA: in silence."""
    events, wanted = TAKEN[case]
    agent = Agent()
    await agent.heard(*run_of(*events))
    assert agent.client.outcome == "success"
    assert agent.warnings == []
    for message, members in zip(agent.told, wanted, strict=True):
        assert {**message, **members} == message


async def test_a_call_and_its_result_stand_together() -> None:
    """TC-03, TC-09, MD-02: the call on its message, with its metadata, the result right after."""
    agent = Agent()
    result = {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "found"}
    await agent.heard(
        *run_of(
            {**CALL, "parentMessageId": "p", "metadata": {"n": 1}},
            ARGS,
            {**CALLED, "metadata": {"n": 2}},
            *TEXT,
            result,
        )
    )
    assert [message["id"] for message in agent.told] == ["p", "r", "m"]
    assert agent.client.call("c") == {
        "id": "c",
        "type": "function",
        "function": {"name": "look", "arguments": '{"q":1}'},
        "metadata": {"n": 2},
    }


STATES: dict[str, tuple[list[Event], Any]] = {
    "replaced": ([state({"a": 1}), state({"b": 2})], {"b": 2}),
    "null": ([state(None)], None),
    "falsy": ([state(0)], 0),
    "delta": ([state({}), delta({"op": "add", "path": "/a", "value": None})], {"a": None}),
    "extras": ([state([1]), delta({"op": "remove", "path": "/0", "value": 1})], []),
}


@requirement("SS-01")
@pytest.mark.parametrize("case", STATES)
async def test_state_follows_its_events(case: str) -> None:
    """SS-01, SS-02: any value, and what a patch leaves of it."""
    events, wanted = STATES[case]
    agent = Agent()
    await agent.heard(*run_of(*events))
    assert agent.client.state == wanted
    assert agent.warnings == []


NOTED: dict[str, tuple[list[Event], str]] = {
    "FC-07 event": (run_of({"type": "FROM_THE_FUTURE"}), "FROM_THE_FUTURE"),
    "FC-07 member": (run_of(START, {**MORE, "later": 1}, END), "/later"),
    "OU-10 outcome": ([STARTED, {**FINISHED, "outcome": {"type": "paused"}}], "/outcome"),
    "OU-02 outcome null": ([STARTED, {**FINISHED, "outcome": None}], "/outcome"),
    "the type of a seal that is not there": (
        run_of(
            {
                "type": "MESSAGES_SNAPSHOT",
                "messages": [{"id": "a", "role": "assistant", "encryptedValueType": "maker.kind"}],
            }
        ),
        "/messages/0/encryptedValueType",
    ),
    "the owner of a call, which its message has": (
        run_of(
            {
                "type": "MESSAGES_SNAPSHOT",
                "messages": [
                    {"id": "a", "role": "assistant", "toolCalls": [{**KEPT, "subagentRunId": "s"}]}
                ],
            }
        ),
        "/toolCalls/0/subagentRunId",
    ),
    "SS-04 delta": (run_of(delta({"op": "remove", "path": "/none"})), "does not apply"),
    "SS unknown op": (run_of(delta({"op": "increment", "path": "/n"})), "/delta/0"),
    "AC-01 no target": (
        run_of(
            {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan", "patch": []},
        ),
        "not there",
    ),
    "VN-08 newer": ([{**STARTED, "protocolVersion": "1.10"}, FINISHED], "1.10"),
    "VN-08 no version": ([{**STARTED, "protocolVersion": "1"}, FINISHED], "'1'"),
}


@requirement("FC-07", "SS-04", "VN-08")
@pytest.mark.parametrize("case", NOTED)
async def test_what_is_unknown_is_told_and_the_run_goes_on(case: str) -> None:
    """FC-07, FC-12, SS-04, VN-08: one warning, and a run that succeeds."""
    events, told = NOTED[case]
    agent = Agent()
    await agent.heard(*events)
    assert agent.client.outcome == "success"
    (warning,) = agent.warnings
    assert told in warning


async def test_nothing_unknown_reaches_the_application() -> None:
    """FC-07: neither events, nor members, nor parts and messages of lists."""
    agent = Agent()
    part = {"type": "text", "text": "seen"}
    snapshot = [
        {"id": "u", "role": "user", "content": [part, {"type": "hologram"}]},
        {"id": "x", "role": "critic", "content": "no"},
    ]
    heard = await agent.heard(
        *run_of(
            {"type": "LATER"},
            {"type": "MESSAGES_SNAPSHOT", "messages": snapshot, "mood": "good"},
        )
    )
    kept = [{"id": "u", "role": "user", "content": [part]}]
    assert heard == run_of({"type": "MESSAGES_SNAPSHOT", "messages": kept})
    assert agent.client.messages == kept
    assert len(agent.warnings) == 4


@requirement("MS-02")
async def test_a_snapshot_replaces_by_id_and_leaves_activities() -> None:
    """MS-02: replaced in place, added in order, dropped when absent, activities kept."""
    agent = Agent()
    said = {"id": "m", "role": "assistant", "content": "corrected"}
    more = {"id": "n", "role": "assistant", "content": "new"}
    await agent.heard(
        *run_of(activity({}), *TEXT, {"type": "MESSAGES_SNAPSHOT", "messages": [more, said]})
    )
    assert [message["id"] for message in agent.client.messages] == ["a", "m", "n"]
    assert agent.client.messages[1] == said


async def test_an_error_is_an_event_and_no_success() -> None:
    """LC-05, LC-07, LC-14: first, in the middle of a message, or after the end."""
    for events in ([ERROR], [STARTED, START, ERROR], [*run_of(*TEXT), ERROR]):
        agent = Agent()
        heard = await agent.heard(*events)
        assert heard[-1] == ERROR
        assert agent.client.outcome == "error"
        assert agent.client.error == {"message": "gone", "code": "x"}


async def test_the_last_of_several_runs_decides() -> None:
    """LC-11: one body may hold more than one, also after a failed one."""
    agent = Agent()
    await agent.heard(STARTED, ERROR, *run_of(*TEXT))
    assert (agent.client.outcome, agent.client.error) == ("success", None)


@requirement("EN-19")
async def test_frames_may_come_in_any_pieces() -> None:
    """EN-06, EN-19, EN-20: comments, other fields, CRLF, lines of data, cut anywhere."""
    body = (
        b": hello\n\nid: 1\r\nevent: x\r\ndata: "
        + b'{"type":"RUN_STARTED",\r\ndata: "threadId":"t","runId":"r"}\r\n\r\n'
        + 'data:{"type":"CUSTOM","name":"n","value":"ü"}\n\n'.encode()
        + b'data: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}\n\n'
    )
    for size in (1, 2, 7, len(body)):
        agent = Agent()
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        agent.pieces(pieces)
        heard = [event async for event in agent.client.run()]
        assert [event["type"] for event in heard] == ["RUN_STARTED", "CUSTOM", "RUN_FINISHED"]
        assert heard[1]["value"] == "ü"


@pytest.mark.parametrize("data", [b"[DONE]", b"", b"NaN", b"\xff", b'{"type":'])
async def test_a_frame_that_is_no_event_is_rejected(data: bytes) -> None:
    """EN-05, EN-07: no JSON, no object, no UTF-8."""
    agent = Agent()
    agent.body(b"data: " + data + b"\n\n")
    with pytest.raises(ProtocolViolation):
        _ = [event async for event in agent.client.run()]


@requirement("EN-09")
@pytest.mark.parametrize("line", [b"data:\n", b"x"])
def test_a_frame_without_an_end_takes_little_memory(line: bytes) -> None:
    """However its lines are cut: each takes memory of its own, also an empty one."""
    frames, taken = Frames(), 0
    with pytest.raises(ProtocolViolation, match="a frame has more than"):
        while taken < 64_000_000:
            frames.take(line * (65_536 // len(line)))
            taken += 65_536
    assert len(frames._data) < 1_000_000


@requirement("LC-18", "LC-27")
async def test_neither_timestamps_nor_raw_events_decide_anything() -> None:
    """Events count as they arrive, whatever they say of their time and of where they come from."""
    agent = Agent()
    raw = {"type": "RUN_ERROR", "message": "not ours"}
    await agent.heard(
        *run_of(
            START,
            {**MORE, "delta": "first ", "timestamp": 2000, "rawEvent": raw},
            {**MORE, "delta": "second", "timestamp": 1000},
            {**RAW, "event": raw},
            END,
        )
    )
    assert agent.told == [{"id": "m", "role": "assistant", "content": "first second"}]
    assert agent.client.outcome == "success"
