"""Events that tests put streams together of."""

from typing import Any

from tests.client.agent import Event

START: Event = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
MORE: Event = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "words"}
END: Event = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
TEXT = [START, MORE, END]
CALL: Event = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"}
ARGS: Event = {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"q":1}'}
CALLED: Event = {"type": "TOOL_CALL_END", "toolCallId": "c"}
CHUNK: Event = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "half "}
REST: Event = {"type": "TEXT_MESSAGE_CHUNK", "delta": "and half"}
HELPER: Event = {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "helper"}
HELPED: Event = {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"}
ERROR: Event = {"type": "RUN_ERROR", "message": "gone", "code": "x"}
CUSTOM: Event = {"type": "CUSTOM", "name": "n:x", "value": None}
RAW: Event = {"type": "RAW", "event": None}


def owned(event: Event, owner: str = "s") -> Event:
    """An event of a subagent."""
    return {**event, "subagentRunId": owner}


def state(value: Any) -> Event:
    return {"type": "STATE_SNAPSHOT", "snapshot": value}


def delta(*operations: Event) -> Event:
    return {"type": "STATE_DELTA", "delta": list(operations)}


def activity(content: Event, **more: Any) -> Event:
    head = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan"}
    return {**head, "content": content, **more}
