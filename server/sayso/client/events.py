"""The events, messages and outcomes of AG-UI 1.0, as a consumer reads them (FC-07, FC-12). Pure."""

from typing import Any, Final

from sayso.client.errors import ProtocolViolation
from sayso.client.fields import (
    DROPPED,
    Notes,
    Reader,
    anything,
    boolean,
    either,
    integer,
    listing,
    literal,
    mapping,
    pointer,
    record,
    text,
    union,
)
from sayso.protocol.forward_compat import ReadReport
from sayso.protocol.messages import media_of

_OWNED: Final[dict[str, Reader]] = {"metadata": mapping, "subagentRunId": text}
_COMMON: Final[dict[str, Reader]] = {
    "type": text,
    "timestamp": integer,
    "rawEvent": anything,
    "metadata": mapping,
}

_SOURCE = union(
    "type",
    {
        "data": record({"type": text, "value": text, "mimeType": text}),
        "url": record({"type": text, "value": text}, {"mimeType": text}),
        "file": record({"type": text, "value": text}, {"mimeType": text, "provider": text}),
    },
)
_PART: Final[dict[str, Reader]] = {"id": text, "metadata": mapping}
_MEDIA = record({"type": text, "source": _SOURCE}, _PART)
_PARTS = listing(
    union(
        "type",
        {
            "text": record({"type": text, "text": text}, _PART),
            **dict.fromkeys(("image", "audio", "video", "document"), _MEDIA),
        },
    )
)
_CONTENT = either(text, _PARTS)

_SEALED: Final[dict[str, Reader]] = {"encryptedValue": text, "encryptedValueType": text}
_CALL = record(
    {
        "id": text,
        "type": literal("function"),
        "function": record({"name": text, "arguments": text}),
    },
    {**_SEALED, "metadata": mapping, "subagentRunId": text},
)
_HEAD: Final[dict[str, Reader]] = {"id": text, "role": text}
_NAMED: Final[dict[str, Reader]] = {**_OWNED, **_SEALED, "name": text}
_SPOKEN = record({**_HEAD, "content": text}, _NAMED)
_MESSAGE = union(
    "role",
    {
        "developer": _SPOKEN,
        "system": _SPOKEN,
        "user": record({**_HEAD, "content": _CONTENT}, _NAMED),
        "assistant": record(_HEAD, {**_NAMED, "content": text, "toolCalls": listing(_CALL)}),
        "tool": record(
            {**_HEAD, "content": _CONTENT, "toolCallId": text},
            {**_OWNED, **_SEALED, "error": text},
        ),
        "activity": record({**_HEAD, "activityType": text, "content": mapping}, _OWNED),
        "reasoning": record({**_HEAD, "content": text}, {**_OWNED, **_SEALED}),
    },
)

_VALUED = record({"op": text, "path": pointer, "value": anything}, opened=True)
_MOVED = record({"op": text, "path": pointer, "from": pointer}, opened=True)
_PATCH = listing(
    union(
        "op",
        {
            **dict.fromkeys(("add", "replace", "test"), _VALUED),
            **dict.fromkeys(("move", "copy"), _MOVED),
            "remove": record({"op": text, "path": pointer}, opened=True),
        },
    )
)

_INTERRUPT = record(
    {"id": text, "reason": text},
    {
        "message": text,
        "toolCallId": text,
        "responseSchema": mapping,
        "expiresAt": text,
        "metadata": mapping,
        "subagentRunId": text,
    },
)
_OUTCOME = union(
    "type",
    {
        "success": record({"type": text}, {"pendingToolCallIds": listing(text)}),
        "interrupt": record({"type": text, "interrupts": listing(_INTERRUPT, least=1)}),
        "cancelled": record({"type": text}),
    },
)
_ENDING = union(
    "type",
    {
        "success": record({"type": text}),
        "suspended": record({"type": text}, {"interruptIds": listing(text)}),
    },
)


def _event(required: dict[str, Reader], optional: dict[str, Reader] | None = None) -> Reader:
    """An event that a subagent may own."""
    return record(
        {"type": text, **required},
        {**_COMMON, **(optional or {}), "subagentRunId": text},
        absent=("rawEvent", "parentMessageId", "result", "outcome"),
    )


def _run_event(required: dict[str, Reader], optional: dict[str, Reader]) -> Reader:
    """An event of the run itself (SA-10)."""
    return record(
        {"type": text, **required},
        {**_COMMON, **optional},
        absent=("rawEvent", "result", "outcome"),
    )


_ID: Final[dict[str, Reader]] = {"messageId": text}
_CALL_ID: Final[dict[str, Reader]] = {"toolCallId": text}
_DELTA: Final[dict[str, Reader]] = {"delta": text}
_ROLE = literal("developer", "system", "assistant", "user")
_RUN: Final[dict[str, Reader]] = {"threadId": text, "runId": text}

_EVENTS: Final[dict[str, Reader]] = {
    "RUN_STARTED": _run_event(
        _RUN,
        {
            "parentRunId": text,
            "protocolVersion": text,
            "input": record({}, {"messages": listing(_MESSAGE)}, opened=True),
        },
    ),
    "RUN_FINISHED": _run_event(_RUN, {"result": anything, "outcome": _OUTCOME, "usage": anything}),
    "RUN_ERROR": _run_event(
        {"message": text}, {"code": text, "usage": anything, "threadId": text, "runId": text}
    ),
    "STEP_STARTED": _event({"stepName": text}),
    "STEP_FINISHED": _event({"stepName": text}),
    "TEXT_MESSAGE_START": _event(_ID, {"role": _ROLE, "name": text}),
    "TEXT_MESSAGE_CONTENT": _event({**_ID, **_DELTA}),
    "TEXT_MESSAGE_END": _event(_ID),
    "TEXT_MESSAGE_CHUNK": _event({}, {**_ID, **_DELTA, "role": _ROLE, "name": text}),
    "TOOL_CALL_START": _event({**_CALL_ID, "toolCallName": text}, {"parentMessageId": text}),
    "TOOL_CALL_ARGS": _event({**_CALL_ID, **_DELTA}),
    "TOOL_CALL_END": _event(_CALL_ID),
    "TOOL_CALL_CHUNK": _event(
        {}, {**_CALL_ID, **_DELTA, "toolCallName": text, "parentMessageId": text}
    ),
    "TOOL_CALL_RESULT": _event(
        {**_ID, **_CALL_ID, "content": _CONTENT}, {"role": literal("tool"), "error": text}
    ),
    "REASONING_START": _event(_ID),
    "REASONING_END": _event(_ID),
    "REASONING_MESSAGE_START": _event({**_ID, "role": literal("reasoning")}),
    "REASONING_MESSAGE_CONTENT": _event({**_ID, **_DELTA}),
    "REASONING_MESSAGE_END": _event(_ID),
    "REASONING_MESSAGE_CHUNK": _event({}, {**_ID, **_DELTA}),
    "REASONING_ENCRYPTED_VALUE": _event(
        {"subtype": literal("message", "tool-call"), "entityId": text, "encryptedValue": text},
        {"encryptedValueType": text},
    ),
    "STATE_SNAPSHOT": _event({"snapshot": anything}),
    "STATE_DELTA": _event({"delta": _PATCH}),
    "MESSAGES_SNAPSHOT": _run_event({"messages": listing(_MESSAGE)}, {}),
    "ACTIVITY_SNAPSHOT": _event(
        {**_ID, "activityType": text, "content": mapping}, {"replace": boolean}
    ),
    "ACTIVITY_DELTA": _event({**_ID, "activityType": text, "patch": _PATCH}),
    "CUSTOM": _event({"name": text, "value": anything}),
    "RAW": _event({"event": anything}, {"source": text}),
    "SUBAGENT_STARTED": _event(
        {"subagentRunId": text, "name": text},
        {
            "description": text,
            "parentSubagentRunId": text,
            "parentToolCallId": text,
            "parentMessageId": text,
        },
    ),
    "SUBAGENT_FINISHED": _event({"subagentRunId": text}, {"result": anything, "outcome": _ENDING}),
    "SUBAGENT_ERROR": _event({"subagentRunId": text, "message": text}, {"code": text}),
}
_EVENT = union("type", _EVENTS)


def read_event(value: Any, notes: Notes) -> dict[str, Any] | None:
    """An event with what the protocol describes, or None for one that it does not.

    Raises `ProtocolViolation` for a known member with a wrong value.
    """
    try:
        read = _EVENT(value, "", notes)
    except ProtocolViolation as error:
        kind = value.get("type") if isinstance(value, dict) else None
        raise ProtocolViolation(f"{kind or 'an event'}: {error}") from None
    return None if read is DROPPED else read


def read_message(value: Any, notes: Notes) -> dict[str, Any]:
    """A message that is fit to be sent (FC-11); `ProtocolViolation` for any other.

    What the protocol does not describe is left out of it and noted; the retired `binary` part goes
    as the media part that says the same.
    """
    message = _MESSAGE(_with_media(value), "", notes)
    if message is DROPPED:
        raise ProtocolViolation(f"the message cannot be sent: {notes[-1]}")
    result: dict[str, Any] = message
    return result


def _with_media(message: Any) -> Any:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return message
    findings, parts = ReadReport(), []
    for position, part in enumerate(content):
        if isinstance(part, dict) and part.get("type") == "binary":
            parts.append(media_of(part, ("content", position), findings))
        else:
            parts.append(part)
    faults = [f"{each['pointer']} {each['message']}" for each in findings.errors]
    if faults or findings.warnings:
        raise ProtocolViolation(f"the message cannot be sent: {[*faults, *findings.warnings][0]}")
    return {**message, "content": parts}
