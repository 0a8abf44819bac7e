"""The traces of a tool call: its proposal, and exactly one result, which tells the truth."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sayso.base import jsonvalue
from sayso.base.records import Message
from sayso.protocol.compat import as_text

Content = str | list[dict[str, Any]]
"""A text, or content parts (TC-06)."""

EXPIRED = "the request for approval expired before anyone decided"
WITHDRAWN = (
    "Not executed: the state was changed while this call waited at a breakpoint, and the agent "
    "does not make it any more."
)
"""Of a call that was proposed, in whose place the code does something else."""
_LAPSED = {
    "denied": f"Not executed: this call counts as denied, because {EXPIRED}. "
    "It must be asked for again.",
    "cancelled": f"Not executed: {EXPIRED}, and was withdrawn. It must be asked for again.",
}
"""What a rule made of an expiry (`on_expire`): nobody refused."""
_NOT_RUN = {
    "denied": "Not executed: a reviewer denied this call.",
    "cancelled": "Not executed: the request for approval was cancelled; nobody approved the call.",
    "expired": f"Not executed: {EXPIRED}. It must be asked for again.",
}


UNANSWERED_FIRST = {
    "cancelled": "Not executed: the question that this call depends on was withdrawn.",
    "expired": "Not executed: nobody answered in time what this call depends on.",
}
"""Of a call whose tool asked for a value first, and got none."""
_FORBIDDEN = "Not executed: the rules of this server do not allow this call."
_AGAIN = (
    "Not executed: a reviewer has denied this very call already, so nobody was asked again. "
    "Do not repeat it unless the user asks for it."
)


def call_events(
    message_id: str, call_id: str, name: str, arguments: str
) -> Iterable[dict[str, Any]]:
    """A proposed call, whole: start, arguments, end."""
    return (
        {
            "type": "TOOL_CALL_START",
            "toolCallId": call_id,
            "toolCallName": name,
            "parentMessageId": message_id,
        },
        {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": arguments},
        {"type": "TOOL_CALL_END", "toolCallId": call_id},
    )


def call_message(message_id: str, calls: Sequence[tuple[str, str, str]]) -> Message:
    """The stored form of proposed calls: id, name and arguments of each."""
    body = {
        "id": message_id,
        "role": "assistant",
        "toolCalls": [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, name, arguments in calls
        ],
    }
    return Message(id=message_id, role="assistant", body=jsonvalue.encode(body))


def with_calls(text: Message, calls: Sequence[tuple[str, str, str]]) -> Message:
    """The stored form of a text that leads up to calls: one message with both."""
    made = jsonvalue.decode(call_message(text.id, calls).body)
    body = {**jsonvalue.decode(text.body), "toolCalls": made["toolCalls"]}
    return replace(text, body=jsonvalue.encode(body))


def tool_message(message_id: str, call_id: str, content: Content) -> Message:
    """The stored form of a call's result."""
    body = {"id": message_id, "role": "tool", "toolCallId": call_id, "content": content}
    return Message(id=message_id, role="tool", body=jsonvalue.encode(body))


def result_event(message_id: str, call_id: str, content: Content) -> dict[str, Any]:
    """The event that carries a call's result."""
    return {
        "type": "TOOL_CALL_RESULT",
        "messageId": message_id,
        "toolCallId": call_id,
        "content": content,
        "role": "tool",
    }


def content_parts(data: dict[str, Any], effective: dict[str, Any]) -> list[dict[str, Any]]:
    """The content parts that a tool returned, as clients get them (TC-06); empty for others."""
    parts: list[dict[str, Any]] = list(_parts(data))
    if parts and "edited" in data:
        parts.insert(0, {"type": "text", "text": _ran_with(effective).rstrip()})
    return parts


def _parts(data: dict[str, Any]) -> list[dict[str, Any]]:
    words = data.get("words")
    if words is not None or not data.get("parts"):
        return words if isinstance(words, list) else []
    value = data["value"]
    return value if isinstance(value, list) else [value]


def _ran_with(effective: dict[str, Any]) -> str:
    ran = jsonvalue.encode(effective).decode()
    return f"A reviewer changed the arguments; the call ran with {ran}. Result: "


def _not_run(data: dict[str, Any]) -> str:
    """Why a call did not run, in words that no model takes for another ending."""
    status, reason = data["status"], data.get("reason")
    if "forbidden" in data:
        return f"{_FORBIDDEN} Rule: {data['rule']}"
    text = _AGAIN if "again" in data else (_LAPSED if "lapsed" in data else _NOT_RUN)[status]
    if reason:
        text += f" Reason: {reason}"
    if "suggested" in data:
        rather = jsonvalue.encode(data["suggested"]).decode()
        text += f" The reviewer wrote other arguments beside it, which did not run: {rather}"
    return text


def result_text(data: dict[str, Any], effective: dict[str, Any]) -> str:
    """The result as a model reads it: which of the endings, and what really ran (J1, OC-10)."""
    if "text" in data:
        return str(data["text"])
    status, reason = data["status"], data.get("reason")
    if status in _NOT_RUN:
        return _not_run(data)
    if status == "failed":
        text = f"Failed: {reason}"
    elif "unrecorded" in data:
        kept = f"its result could not be recorded ({data['unrecorded']})"
        text = f"Executed; {kept}. Do not call it again."
    elif parts := _parts(data):
        text = as_text(parts)
    else:
        value = data["words"] or "" if "words" in data else data.get("value")
        # A result is never without text: a model would not know that the call is answered.
        text = (value if isinstance(value, str) else jsonvalue.encode(value).decode()) or '""'
    if "edited" in data:
        text = _ran_with(effective) + text
    return text
