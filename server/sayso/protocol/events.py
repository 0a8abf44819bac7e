"""The events of AG-UI 1.0 as one table: what each holds, and what it opens, continues or closes.

Pure. A new event is a row here. Two policies read the table: `protocol/guard` holds what is sent to
it (LC-23), `client/events` takes what comes (FC-07, FC-12).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sayso.base import jsonvalue
from sayso.protocol.forward_compat import (
    Check,
    Path,
    ReadReport,
    Shape,
    anything,
    each,
    flag,
    identifier,
    obj,
    tagged,
    text,
)
from sayso.protocol.messages import content, message

Event = dict[str, Any]
_Members = Mapping[str, Check]
_SAFE: Final = 2**53 - 1


def _integer(value: Any, path: Path, report: ReadReport) -> Any:
    """A whole number that every client holds exactly (LC-26); 1.0 is one in JSON."""
    whole = type(value) is int or (
        type(value) is float and value.is_integer() and not report.strict
    )
    if whole and -_SAFE <= value <= _SAFE:
        return value
    return report.error(path, "must be a whole number within 2^53")


def _boolean(value: Any, path: Path, report: ReadReport) -> Any:
    return value if type(value) is bool else report.error(path, "must be a boolean")


def _metadata(value: Any, path: Path, report: ReadReport) -> Any:
    if type(value) is dict and not (report.strict and "ag-ui" in value):
        return value
    return report.error(path, "must be an object without the reserved key 'ag-ui'")


_OPERATIONS: Final = {
    **dict.fromkeys(("add", "replace", "test"), ("path", "value")),
    **dict.fromkeys(("move", "copy"), ("path", "from")),
    "remove": ("path",),
}


def _operation(value: Any, path: Path, report: ReadReport) -> Any:
    """An operation of JSON Patch (SS-03). What it has besides is data and stays."""
    if type(value) is not dict or type(value.get("op")) is not str:
        return report.error(path, "must be an object with an 'op' that is a string")
    needed = _OPERATIONS.get(value["op"])
    if needed is None:
        return report.drop(path, "is no operation of JSON Patch")
    for name in needed:
        if name not in value:
            return report.error((*path, name), "is required")
        if name != "value" and not _is_pointer(value[name]):
            return report.error((*path, name), "must be a JSON pointer")
    return value


def _is_pointer(value: Any) -> bool:
    if type(value) is not str:
        return False
    if value.startswith("/") and "~" not in value:
        return True
    try:
        jsonvalue.parse_pointer(value)
    except ValueError:
        return False
    return True


def _input(value: Any, path: Path, report: ReadReport) -> Any:
    """The request that a run answers, of which only the messages are looked at."""
    if type(value) is not dict or "messages" not in value:
        return obj(value, path, report)
    return {**value, "messages": _MESSAGES(value["messages"], (*path, "messages"), report)}


_PATCH = each(_operation)
_MESSAGES = each(message)
_INTERRUPT = Shape(
    {
        "id": text,
        "reason": text,
        "message": text,
        "toolCallId": text,
        "responseSchema": obj,
        "expiresAt": text,
        "metadata": obj,
        "subagentRunId": text,
    },
    ("id", "reason"),
)
_OUTCOME = tagged(
    "type",
    {
        "success": Shape({"type": text, "pendingToolCallIds": each(text)}).read,
        "interrupt": Shape(
            {"type": text, "interrupts": each(_INTERRUPT.read, least=1)}, ("interrupts",)
        ).read,
        "cancelled": Shape({"type": text}).read,
    },
    "an outcome",
)
_SUBAGENT_OUTCOME = tagged(
    "type",
    {
        "success": Shape({"type": text}).read,
        "suspended": Shape({"type": text, "interruptIds": each(text)}).read,
    },
    "an outcome",
)


@dataclass(slots=True, eq=False)
class Space:
    """A kind of thing with a start, maybe contents, and an end; `member` of an event names one."""

    noun: str
    member: str
    start: str = ""
    content: str = ""
    end: str = ""


TEXT: Final = Space("text message", "messageId")
CALL: Final = Space("tool call", "toolCallId")
THOUGHT: Final = Space("reasoning message", "messageId")
SPAN: Final = Space("reasoning span", "messageId")
STEP: Final = Space("step", "stepName")
SUBAGENT: Final = Space("subagent", "subagentRunId")
SPACES: Final = (TEXT, CALL, THOUGHT, SPAN, SUBAGENT, STEP)
"""In the order in which a boundary closes what is open (LC-06)."""


@dataclass(slots=True, eq=False)
class EventType:
    """A row of the table. Every event may also have the members in `_COMMON`."""

    name: str
    required: _Members
    optional: _Members = field(default_factory=dict)
    opens: Space | None = None
    continues: Space | None = None
    closes: Space | None = None
    always_sent: tuple[str, ...] = ()
    """Optional members that are never missing in what is sent."""
    never_sent: tuple[str, ...] = ()
    """Optional members that are taken from others, and that 1.0 does not have."""
    instead: str = ""
    """What an author does instead of sending it; empty if a server may send it as an agent's."""
    owned: bool = True
    """False for an event of the run itself, which no subagent owns (SA-10)."""
    space: Space | None = field(init=False)
    sent: Shape = field(init=False)
    taken: Shape = field(init=False)

    def __post_init__(self) -> None:
        """Derive what both policies read, and give the spaces the names of their events."""
        if self.opens:
            self.opens.start = self.name
        if self.continues:
            self.continues.content = self.name
        if self.closes:
            self.closes.end = self.closes.end or self.name
        owner = {"subagentRunId": identifier} if self.owned else {}
        members = {**_COMMON, **owner, **self.required, **self.optional}
        sent = {name: check for name, check in members.items() if name not in self.never_sent}
        self.space = self.opens or self.continues or self.closes
        self.sent = Shape(sent, ("type", *self.required, *self.always_sent))
        self.taken = Shape(members, ("type", *self.required))


_COMMON: Final[_Members] = {
    "type": text,
    "timestamp": _integer,
    "rawEvent": anything,
    "metadata": _metadata,
}
_ID: Final[_Members] = {"messageId": identifier}
_CALL_ID: Final[_Members] = {"toolCallId": identifier}
_STEP: Final[_Members] = {"stepName": identifier}
_SUBAGENT_ID: Final[_Members] = {"subagentRunId": identifier}
_DELTA: Final[_Members] = {"delta": text}
_ROLE: Final[_Members] = {"role": flag("developer", "system", "assistant", "user")}
_THINKER: Final[_Members] = {"role": flag("reasoning")}
_PARENT: Final[_Members] = {"parentMessageId": identifier}
_ACTIVITY: Final[_Members] = {**_ID, "activityType": identifier}
_RUN: Final[_Members] = {"threadId": text, "runId": text}

_ROWS: Final = (
    EventType(
        "RUN_STARTED",
        _RUN,
        {
            "parentRunId": text,
            "protocolVersion": text,
            "input": _input,
        },
        instead="the run is opened by the engine",
        owned=False,
    ),
    EventType(
        "RUN_FINISHED",
        _RUN,
        {"result": anything, "outcome": _OUTCOME, "usage": anything},
        instead="return from the agent function, or ask a question, to end the run",
        owned=False,
    ),
    EventType(
        "RUN_ERROR",
        {"message": text},
        {**_RUN, "code": text, "usage": anything},
        instead="raise an exception to end the run with an error",
        owned=False,
    ),
    EventType("STEP_STARTED", _STEP, opens=STEP),
    EventType("STEP_FINISHED", _STEP, closes=STEP),
    EventType(
        "TEXT_MESSAGE_START",
        _ID,
        {**_ROLE, "name": text},
        opens=TEXT,
        always_sent=("role",),
    ),
    EventType("TEXT_MESSAGE_CONTENT", {**_ID, **_DELTA}, continues=TEXT),
    EventType("TEXT_MESSAGE_END", _ID, closes=TEXT),
    EventType(
        "TEXT_MESSAGE_CHUNK",
        {},
        {**_ID, **_DELTA, **_ROLE, "name": text},
        instead="send TEXT_MESSAGE_START, TEXT_MESSAGE_CONTENT and TEXT_MESSAGE_END",
    ),
    EventType("TOOL_CALL_START", {**_CALL_ID, "toolCallName": identifier}, _PARENT, opens=CALL),
    EventType("TOOL_CALL_ARGS", {**_CALL_ID, **_DELTA}, continues=CALL),
    EventType("TOOL_CALL_END", _CALL_ID, closes=CALL),
    EventType(
        "TOOL_CALL_CHUNK",
        {},
        {**_CALL_ID, **_DELTA, "toolCallName": identifier, **_PARENT},
        instead="send TOOL_CALL_START, TOOL_CALL_ARGS and TOOL_CALL_END",
    ),
    EventType(
        "TOOL_CALL_RESULT",
        {**_ID, **_CALL_ID, "content": content},
        {"role": flag("tool"), "error": text},
        never_sent=("error",),
    ),
    EventType("REASONING_START", _ID, opens=SPAN),
    EventType("REASONING_END", _ID, closes=SPAN),
    EventType("REASONING_MESSAGE_START", {**_ID, **_THINKER}, opens=THOUGHT),
    EventType("REASONING_MESSAGE_CONTENT", {**_ID, **_DELTA}, continues=THOUGHT),
    EventType("REASONING_MESSAGE_END", _ID, closes=THOUGHT),
    EventType(
        "REASONING_MESSAGE_CHUNK",
        {},
        {**_ID, **_DELTA},
        instead=(
            "send REASONING_MESSAGE_START, REASONING_MESSAGE_CONTENT and REASONING_MESSAGE_END"
        ),
    ),
    EventType(
        "REASONING_ENCRYPTED_VALUE",
        {
            "subtype": flag("message", "tool-call"),
            "entityId": identifier,
            "encryptedValue": text,
        },
        {"encryptedValueType": text},
    ),
    EventType("STATE_SNAPSHOT", {"snapshot": anything}),
    EventType("STATE_DELTA", {"delta": _PATCH}),
    EventType("MESSAGES_SNAPSHOT", {"messages": _MESSAGES}, owned=False),
    EventType("ACTIVITY_SNAPSHOT", {**_ACTIVITY, "content": obj}, {"replace": _boolean}),
    EventType("ACTIVITY_DELTA", {**_ACTIVITY, "patch": _PATCH}),
    EventType("CUSTOM", {"name": identifier, "value": anything}),
    EventType("RAW", {"event": anything}, {"source": text}),
    EventType(
        "SUBAGENT_STARTED",
        {**_SUBAGENT_ID, "name": identifier},
        {
            "description": text,
            "parentSubagentRunId": identifier,
            "parentToolCallId": identifier,
            **_PARENT,
        },
        opens=SUBAGENT,
    ),
    EventType(
        "SUBAGENT_FINISHED",
        _SUBAGENT_ID,
        {"result": anything, "outcome": _SUBAGENT_OUTCOME},
        closes=SUBAGENT,
    ),
    EventType(
        "SUBAGENT_ERROR",
        {**_SUBAGENT_ID, "message": text},
        {"code": identifier},
        closes=SUBAGENT,
    ),
)
EVENTS: Final = {row.name: row for row in _ROWS}
"""Every event of the protocol, by name."""
