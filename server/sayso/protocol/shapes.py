"""What each event may hold: names and kinds of its members (LC-23, FC-12).

Pure. Unknown events and members are refused here because clients drop them or reject the run.
`fault` answers with a sentence for the author, or None.
"""

from collections.abc import Callable
from typing import Any, Final

from sayso.base import jsonvalue

_Kind = tuple[str, Callable[[Any], bool]]
_SAFE: Final = 2**53 - 1
_MEDIA: Final = ("image", "audio", "video", "document")
_PART: Final = frozenset({"type", "id", "metadata"})
_SOURCES: Final[dict[str, tuple[frozenset[str], frozenset[str]]]] = {
    "data": (frozenset({"value", "mimeType"}), frozenset()),
    "url": (frozenset({"value"}), frozenset({"mimeType"})),
    "file": (frozenset({"value"}), frozenset({"mimeType", "provider"})),
}
_TEXT_ROLES: Final = ("developer", "system", "assistant", "user")


def _is_integer(value: Any) -> bool:
    return type(value) is int and -_SAFE <= value <= _SAFE


def _is_metadata(value: Any) -> bool:
    return isinstance(value, dict) and "ag-ui" not in value


def _is_pointer(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        jsonvalue.parse_pointer(value)
    except ValueError:
        return False
    return True


def _is_operation(value: Any) -> bool:
    if not isinstance(value, dict) or not _is_pointer(value.get("path")):
        return False
    match value.get("op"):
        case "add" | "replace" | "test":
            return "value" in value
        case "move" | "copy":
            return _is_pointer(value.get("from"))
        case "remove":
            return True
    return False


def _is_patch(value: Any) -> bool:
    return isinstance(value, list) and all(_is_operation(item) for item in value)


def _is_content(value: Any) -> bool:
    if isinstance(value, str):
        return True
    return isinstance(value, list) and all(map(_is_part, value))


def _is_part(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if value.get("type") == "text":
        return isinstance(value.get("text"), str) and set(value) <= _PART | {"text"}
    source = value.get("source")
    if value.get("type") not in _MEDIA or not set(value) <= _PART | {"source"}:
        return False
    if not isinstance(source, dict) or source.get("type") not in _SOURCES:
        return False
    required, optional = _SOURCES[source["type"]]
    names = set(source) - {"type"}
    return required <= names <= required | optional and all(
        isinstance(source[name], str) for name in names
    )


def _is_suspension(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("type") not in ("success", "suspended"):
        return False
    if value["type"] == "success":
        return set(value) <= {"type"}
    ids = value.get("interruptIds", [])
    return isinstance(ids, list) and all(isinstance(item, str) for item in ids)


_ID: Final[_Kind] = ("a string that is not empty", lambda v: isinstance(v, str) and v != "")
_TEXT: Final[_Kind] = ("a string", lambda v: isinstance(v, str))
_CONTENT: Final[_Kind] = ("a string or a list of content parts", _is_content)
_ANY: Final[_Kind] = ("any JSON value", lambda _: True)
_OBJECT: Final[_Kind] = ("an object", lambda v: isinstance(v, dict))
_LIST: Final[_Kind] = ("a list", lambda v: isinstance(v, list))
_FLAG: Final[_Kind] = ("a boolean", lambda v: isinstance(v, bool))
_INTEGER: Final[_Kind] = ("an integer", _is_integer)
_METADATA: Final[_Kind] = ("an object without the reserved key 'ag-ui'", _is_metadata)
_PATCH: Final[_Kind] = ("a JSON Patch (RFC 6902)", _is_patch)
_ENDING: Final[_Kind] = ("a success or suspended outcome", _is_suspension)
_ROLE: Final[_Kind] = ("one of " + ", ".join(_TEXT_ROLES), lambda v: v in _TEXT_ROLES)
_TOOL: Final[_Kind] = ("'tool'", lambda v: v == "tool")
_THINKER: Final[_Kind] = ("'reasoning'", lambda v: v == "reasoning")
_SUBTYPE: Final[_Kind] = ("'message' or 'tool-call'", lambda v: v in ("message", "tool-call"))

_COMMON: Final[dict[str, _Kind]] = {
    "timestamp": _INTEGER,
    "rawEvent": _ANY,
    "metadata": _METADATA,
    "subagentRunId": _ID,
}

_Shape = tuple[dict[str, _Kind], dict[str, _Kind]]
_SHAPES: Final[dict[str, _Shape]] = {
    "TEXT_MESSAGE_START": ({"messageId": _ID, "role": _ROLE}, {"name": _TEXT}),
    "TEXT_MESSAGE_CONTENT": ({"messageId": _ID, "delta": _TEXT}, {}),
    "TEXT_MESSAGE_END": ({"messageId": _ID}, {}),
    "TOOL_CALL_START": ({"toolCallId": _ID, "toolCallName": _ID}, {"parentMessageId": _ID}),
    "TOOL_CALL_ARGS": ({"toolCallId": _ID, "delta": _TEXT}, {}),
    "TOOL_CALL_END": ({"toolCallId": _ID}, {}),
    "TOOL_CALL_RESULT": (
        {"messageId": _ID, "toolCallId": _ID, "content": _CONTENT},
        {"role": _TOOL},
    ),
    "REASONING_START": ({"messageId": _ID}, {}),
    "REASONING_END": ({"messageId": _ID}, {}),
    "REASONING_MESSAGE_START": ({"messageId": _ID, "role": _THINKER}, {}),
    "REASONING_MESSAGE_CONTENT": ({"messageId": _ID, "delta": _TEXT}, {}),
    "REASONING_MESSAGE_END": ({"messageId": _ID}, {}),
    "REASONING_ENCRYPTED_VALUE": (
        {"subtype": _SUBTYPE, "entityId": _ID, "encryptedValue": _TEXT},
        {"encryptedValueType": _TEXT},
    ),
    "STEP_STARTED": ({"stepName": _ID}, {}),
    "STEP_FINISHED": ({"stepName": _ID}, {}),
    "STATE_SNAPSHOT": ({"snapshot": _ANY}, {}),
    "STATE_DELTA": ({"delta": _PATCH}, {}),
    "MESSAGES_SNAPSHOT": ({"messages": _LIST}, {}),
    "ACTIVITY_SNAPSHOT": (
        {"messageId": _ID, "activityType": _ID, "content": _OBJECT},
        {"replace": _FLAG},
    ),
    "ACTIVITY_DELTA": ({"messageId": _ID, "activityType": _ID, "patch": _PATCH}, {}),
    "CUSTOM": ({"name": _ID, "value": _ANY}, {}),
    "RAW": ({"event": _ANY}, {"source": _TEXT}),
    "SUBAGENT_STARTED": (
        {"subagentRunId": _ID, "name": _ID},
        {
            "description": _TEXT,
            "parentSubagentRunId": _ID,
            "parentToolCallId": _ID,
            "parentMessageId": _ID,
        },
    ),
    "SUBAGENT_FINISHED": ({"subagentRunId": _ID}, {"result": _ANY, "outcome": _ENDING}),
    "SUBAGENT_ERROR": ({"subagentRunId": _ID, "message": _TEXT}, {"code": _ID}),
}

_INSTEAD: Final = {
    "RUN_STARTED": "the run is opened by the engine",
    "RUN_FINISHED": "return from the agent function, or ask a question, to end the run",
    "RUN_ERROR": "raise an exception to end the run with an error",
    "TEXT_MESSAGE_CHUNK": "send TEXT_MESSAGE_START, TEXT_MESSAGE_CONTENT and TEXT_MESSAGE_END",
    "TOOL_CALL_CHUNK": "send TOOL_CALL_START, TOOL_CALL_ARGS and TOOL_CALL_END",
    "REASONING_MESSAGE_CHUNK": (
        "send REASONING_MESSAGE_START, REASONING_MESSAGE_CONTENT and REASONING_MESSAGE_END"
    ),
}


def fault(event: dict[str, Any]) -> str | None:
    """Why this event can never be sent, whatever came before it; None if it can.

    A member that is None counts as absent, except where null is a value (LC-22).
    """
    kind = event.get("type")
    if not isinstance(kind, str) or kind not in _SHAPES:
        instead = _INSTEAD.get(kind) if isinstance(kind, str) else None
        return f"{kind!r} is no event to emit: {instead or 'send a CUSTOM event'}"
    required, optional = _SHAPES[kind]
    for name, (wording, holds) in required.items():
        if name not in event:
            return f"{kind} needs {name!r}: add it as {wording}"
        if not holds(event[name]):
            return f"{name!r} of {kind} must be {wording}"
    for name, value in event.items():
        if name == "type" or name in required:
            continue
        rule = optional.get(name) or _COMMON.get(name)
        if rule is None or (kind == "MESSAGES_SNAPSHOT" and name == "subagentRunId"):
            return f"{kind} has no member {name!r}: put it into 'metadata'"
        if value is not None and not rule[1](value):
            return f"{name!r} of {kind} must be {rule[0]}"
    return None
