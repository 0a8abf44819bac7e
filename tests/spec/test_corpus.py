"""The cases of the frozen specification, in bodies of our own: what its schemas say, what we do.

The names are those under which the specification keeps its fixtures.
"""

import json
from typing import Any

import pytest

from sayso.base.errors import Problem
from sayso.base.limits import Limits
from sayso.protocol import frames
from sayso.protocol.client_profile import ClientProfile
from sayso.protocol.events import EVENTS
from sayso.protocol.guard import StreamOrderError, row_of
from sayso.protocol.runinput import decode_run_input
from sayso.streams.ending import Ending
from tests.contract.requirements import requirement
from tests.spec.judge import event_members, event_types, schema_faults, shape_faults
from tests.stream_checker import events_of

Json = dict[str, Any]
RUN = {"threadId": "t", "runId": "r"}
ANYTHING: tuple[Any, ...] = ([1], 5, "x", {"a": None})
ASKED = {"id": "i", "reason": "r"}
FILE = {"type": "image", "source": {"type": "file", "value": "f", "provider": "p"}}


def delta(*operations: Any) -> Json:
    return {"type": "STATE_DELTA", "delta": list(operations)}


def result(**members: Any) -> Json:
    return {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", **members}


def activity(**members: Any) -> Json:
    return {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "p", **members}


def changed(**members: Any) -> Json:
    return {"type": "ACTIVITY_DELTA", "messageId": "m", "activityType": "p", **members}


def finished(**members: Any) -> Json:
    return {"type": "RUN_FINISHED", **RUN, **members}


def failed(**members: Any) -> Json:
    return {"type": "RUN_ERROR", "message": "m", **members}


OPERATIONS = (
    {"op": "add", "path": "/a", "value": None},
    {"op": "remove", "path": "/a", "value": "ignored"},
    {"op": "replace", "path": "/a", "value": 1},
    {"op": "move", "from": "/a", "path": "/b"},
    {"op": "copy", "from": "/a", "path": "/b"},
    {"op": "test", "path": "/a", "value": 1},
)

VALID: dict[str, Json] = {
    "activity-delta patch-every-operation": changed(patch=list(OPERATIONS)),
    "activity-snapshot minimal": activity(content={}),
    "activity-snapshot replace-false": activity(content={}, replace=False),
    **{
        f"custom value-{type(value).__name__}": {"type": "CUSTOM", "name": "a:b", "value": value}
        for value in (None, *ANYTHING)
    },
    "state-delta patch-empty": delta(),
    "state-delta patch-escaped-pointer": delta({"op": "remove", "path": "/a~1b~0c"}),
    "state-delta patch-whole-document-pointer": delta({"op": "add", "path": "", "value": {}}),
    **{f"state-delta patch-{operation['op']}": delta(operation) for operation in OPERATIONS},
    "tool-call-result minimal": result(content="x"),
    "tool-call-result parts-content": result(content=[{"type": "text", "text": "x"}]),
    "tool-call-result file-source-part": result(content=[FILE]),
}
INVALID: dict[str, Json] = {
    "activity-snapshot content-not-an-object": activity(content=[]),
    "custom name-missing": {"type": "CUSTOM", "value": 1},
    "custom value-missing": {"type": "CUSTOM", "name": "a:b"},
    "state-delta delta-not-an-array": {"type": "STATE_DELTA", "delta": {}},
    "state-delta patch-add-without-value": delta({"op": "add", "path": "/a"}),
    "state-delta patch-copy-without-from": delta({"op": "copy", "path": "/a"}),
    "state-delta patch-move-without-from": delta({"op": "move", "path": "/a"}),
    "state-delta patch-path-missing": delta({"op": "remove"}),
    "state-delta patch-pointer-bad-tilde-escape": delta({"op": "remove", "path": "/a~2"}),
    "state-delta patch-pointer-without-leading-slash": delta({"op": "remove", "path": "a"}),
    "state-delta patch-replace-without-value": delta({"op": "replace", "path": "/a"}),
    "state-delta patch-test-without-value": delta({"op": "test", "path": "/a"}),
    "state-delta patch-unknown-op": delta({"op": "swap", "path": "/a"}),
    "text-message-end timestamp-float": {
        "type": "TEXT_MESSAGE_END",
        "messageId": "m",
        "timestamp": 1.5,
    },
    "tool-call-result content-object": result(content={"a": 1}),
    "tool-call-result content-part-unknown-type": result(content=[{"type": "3d"}]),
    "tool-call-result role-not-tool": result(content="x", role="user"),
    "tool-call-start parent-message-id-null": {
        "type": "TOOL_CALL_START",
        "toolCallId": "c",
        "toolCallName": "t",
        "parentMessageId": 5,
    },
    "retired thinking": {"type": "THINKING_START"},
    "attributed snapshot": {"type": "MESSAGES_SNAPSHOT", "messages": [], "subagentRunId": "s"},
}


@requirement("LC-23", "SS-03", "PT-01", "TC-06", "AC-01", "RS-05", "SA-10", "MS-05")
@pytest.mark.parametrize("name", [*VALID, *INVALID])
def test_what_may_be_emitted_is_what_the_specification_takes(name: str) -> None:
    """LC-23: the product refuses an event where the schema does, and sends it where it does not."""
    valid = name in VALID
    event = {**VALID, **INVALID}[name]
    assert (schema_faults([event]) == []) is valid
    assert (_fault(event) is None) is valid


ENDINGS: dict[str, tuple[bool, Json]] = {
    "outcome-absent": (True, finished()),
    "outcome-success": (True, finished(outcome={"type": "success"})),
    "outcome-cancelled": (True, finished(outcome={"type": "cancelled"})),
    "outcome-interrupt": (True, finished(outcome={"type": "interrupt", "interrupts": [ASKED]})),
    "usage-cache-breakdown": (
        True,
        finished(usage=[{"inputTokens": 3, "cachedInputTokens": 1, "cacheWriteInputTokens": 1}]),
    ),
    "result-array": (True, finished(result=[None])),
    "outcome-null": (False, finished(outcome=None)),
    "outcome-interrupt-with-no-interrupts": (
        False,
        finished(outcome={"type": "interrupt", "interrupts": []}),
    ),
    "outcome-interrupt-item-not-an-interrupt": (
        False,
        finished(outcome={"type": "interrupt", "interrupts": [{"id": "i"}]}),
    ),
    "outcome-interrupt-carrying-pending-tool-call-ids": (
        False,
        finished(outcome={"type": "interrupt", "interrupts": [ASKED], "pendingToolCallIds": ["c"]}),
    ),
    "outcome-success-carrying-interrupts": (
        False,
        finished(outcome={"type": "success", "interrupts": [ASKED]}),
    ),
    "outcome-cancelled-carrying-interrupts": (
        False,
        finished(outcome={"type": "cancelled", "interrupts": [ASKED]}),
    ),
    "usage-negative-token-count": (False, finished(usage=[{"inputTokens": -1}])),
    "usage-item-not-a-token-usage": (False, failed(usage=["many"])),
    "run-error minimal": (True, failed()),
    "run-error code-null": (False, failed(code=None)),
}


@requirement("OU-01", "OU-04", "OU-06", "ER-05", "LC-22")
@pytest.mark.parametrize("name", ENDINGS)
def test_the_judge_knows_a_right_ending_from_a_wrong_one(name: str) -> None:
    """OU-01: so that it finds ours right for a reason."""
    valid, event = ENDINGS[name]
    assert (schema_faults([event]) == []) is valid


@requirement("OU-01", "OU-11", "LC-22", "OC-03")
@pytest.mark.parametrize("versioned", [True, False])
def test_every_ending_that_we_have_words_for_is_a_right_one(versioned: bool) -> None:
    """OU-01: with everything in it that it may have, to both generations."""
    usage = ({"provider": "p", "inputTokens": 1},)
    asked = (json.dumps(ASKED).encode(),)
    found = [
        event
        for ending in (
            Ending(type="success"),
            Ending(type="success", result=b"[null]", usage=usage),
            Ending(type="success", result=b"null"),
            Ending(type="interrupt", interrupts=asked, usage=usage),
            Ending(type="cancelled", usage=usage),
            Ending(type="error", message="m", usage=usage),
            Ending(type="error", code="c", message="m", details={"code": "c", "x": None}),
        )
        for event in events_of(ending.last_frames("t", "r", ClientProfile(speaks_v1=versioned)))
    ]
    assert schema_faults(found) == []
    assert schema_faults(events_of(frames.run_started("t", "r"))) == []


@requirement("LC-23")
def test_nothing_can_be_emitted_that_the_protocol_has_no_name_for() -> None:
    """LC-23: what the guard lets through is the protocol's; chunks are not among it."""
    allowed = {
        name for name in event_types() if "no event to emit" not in (_fault({"type": name}) or "")
    }
    assert allowed == {
        name for name in event_types() if not name.startswith("RUN_") and "CHUNK" not in name
    }
    for name in ("THINKING_START", "META", "run_started", ""):
        assert "no event to emit" in (_fault({"type": name}) or "")


BEYOND = {
    "REASONING_ENCRYPTED_VALUE": {"encryptedValueType"},  # of 1.1
    "RUN_ERROR": {"threadId", "runId"},  # of producers from before 1.0
}


@requirement("LC-23", "SA-10")
@pytest.mark.parametrize("name", EVENTS)
def test_the_table_of_events_is_that_of_the_specification(name: str) -> None:
    """LC-23: every event, each of its members, and which of them it needs; SA-10: its owner."""
    row = EVENTS[name]
    members, required = event_members(name)
    assert set(row.sent.checks) == members | BEYOND.get(name, set())
    assert set(row.taken.required) == required
    assert EVENTS.keys() == event_types()


def _fault(event: Json) -> str | None:
    try:
        row_of(event)
    except StreamOrderError as error:
        return str(error)
    return None


def body(**members: Any) -> Json:
    return {**RUN, "messages": [], **members}


def said(role: str, **members: Any) -> Json:
    return body(messages=[{"id": "m", "role": role, **members}])


TAKEN, WARNED, REFUSED = "taken", "taken with a warning", "refused"

INPUTS: dict[str, tuple[bool, str, Json]] = {
    "minimal": (True, TAKEN, body()),
    "without-tools-or-context": (True, TAKEN, body(state={}, forwardedProps={})),
    **{
        f"{member} {type(value).__name__}": (True, TAKEN, body(**{member: value}))
        for member in ("state", "forwardedProps")
        for value in ANYTHING
    },
    "messages-missing": (False, REFUSED, dict(RUN)),
    "messages-item-not-a-message": (False, REFUSED, body(messages=["hi"])),
    "context-item-not-a-context": (False, REFUSED, body(context=[{"value": "v"}])),
    "tools-item-not-a-tool": (False, REFUSED, body(tools=[5])),
    "resume-item-not-a-resume-entry": (False, REFUSED, body(resume=["i"])),
    "resume resolved": (
        True,
        TAKEN,
        body(resume=[{"interruptId": "i", "status": "resolved", "payload": {"a": None}}]),
    ),
    # Sent by clients before 1.0, and read as absent (RE-05).
    "resume payload-null": (
        False,
        TAKEN,
        body(resume=[{"interruptId": "i", "status": "resolved", "payload": None}]),
    ),
    "resume cancelled": (True, TAKEN, body(resume=[{"interruptId": "i", "status": "cancelled"}])),
    "resume unknown-status": (
        False,
        REFUSED,
        body(resume=[{"interruptId": "i", "status": "denied"}]),
    ),
    "tool name-missing": (False, REFUSED, body(tools=[{"description": "d"}])),
    **{
        f"tool parameters-{type(value).__name__}": (
            True,
            TAKEN,
            body(tools=[{"name": "t", "description": "d", "parameters": value}]),
        )
        for value in ANYTHING
    },
    "tool parameters-absent": (True, TAKEN, body(tools=[{"name": "t", "description": "d"}])),
    "user text-content": (True, TAKEN, said("user", content="x")),
    "user multimodal-content": (
        True,
        TAKEN,
        said(
            "user",
            content=[
                {"type": "text", "text": "x"},
                {"type": "image", "source": {"type": "url", "value": "u"}},
                {"type": "audio", "source": {"type": "data", "value": "", "mimeType": "a/b"}},
            ],
        ),
    ),
    "user file-source-content": (True, TAKEN, said("user", content=[FILE])),
    "user content-missing": (False, REFUSED, said("user")),
    "user content-number": (False, REFUSED, said("user", content=5)),
    "user content-part-not-an-object": (False, REFUSED, said("user", content=["x"])),
    "user file-source-value-missing": (
        False,
        REFUSED,
        said("user", content=[{"type": "image", "source": {"type": "file"}}]),
    ),
    # Valid for clients before 1.0 (FC-05), or newer than the schema (FC-02): read, and warned of.
    "user legacy-binary-part": (
        False,
        TAKEN,
        said("user", content=[{"type": "binary", "mimeType": "a/b", "data": "x"}]),
    ),
    "user part-shaped-like-media-with-unknown-type": (
        False,
        WARNED,
        said("user", content=[{"type": "3d", "source": {"type": "url", "value": "u"}}]),
    ),
    "user part-shaped-like-text-with-unknown-type": (
        False,
        WARNED,
        said("user", content=[{"type": "poem", "text": "x"}]),
    ),
    "tool-message minimal": (True, TAKEN, said("tool", toolCallId="c", content="x")),
    "tool-message empty-parts-content": (True, TAKEN, said("tool", toolCallId="c", content=[])),
    "tool-message file-source-part": (True, TAKEN, said("tool", toolCallId="c", content=[FILE])),
    "tool-message content-object": (False, REFUSED, said("tool", toolCallId="c", content={})),
    "tool-message tool-call-id-missing": (False, REFUSED, said("tool", content="x")),
    "tool-message content-part-unknown-type": (
        False,
        WARNED,
        said("tool", toolCallId="c", content=[{"type": "3d"}]),
    ),
    "unknown role": (False, WARNED, said("critic", content="x")),
    "unknown member": (False, WARNED, body(priority=5)),
    "metadata-null": (False, TAKEN, said("user", content="x", metadata=None)),
}


@requirement(
    "FC-01", "FC-02", "FC-03", "FC-04", "FC-05", "FC-06", "FC-10", "RE-01", "RE-02", "RE-05"
)
@pytest.mark.parametrize("name", INPUTS)
def test_inputs_are_read_as_the_specification_asks(name: str) -> None:
    """FC-03: malformed is refused; FC-01, FC-02: what is merely unknown is left out, and said."""
    valid, verdict, sent = INPUTS[name]
    assert (shape_faults("RunAgentInput", sent) == []) is valid
    try:
        read = decode_run_input(json.dumps(sent).encode(), Limits())
    except Problem as problem:
        assert verdict == REFUSED, problem.errors
    else:
        assert verdict == (WARNED if read.warnings else TAKEN), read.warnings
