"""Calls of tools that the client runs, as a thread waits for them (design 4; TC-11, TC-14). Pure.

Such a call is kept as an interrupt that no person is shown: its id never leaves the server. Its
answer is the tool message that a later request carries; a user message without it says that no
answer will come. Neither is an entry of `resume`, which answers people's questions only.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sayso import jsonvalue
from sayso.protocol.runinput import ResumeEntry
from sayso.records import Interrupt, Message

__all__ = [
    "FRONT_END",
    "answers",
    "belated",
    "called",
    "is_call",
    "message_of",
    "results_of",
    "unanswered",
]

FRONT_END: Final = "sayso:frontend"
"""The reason of an interrupt that is a call of the client's own tool."""


def is_call(item: Interrupt) -> bool:
    """Whether an interrupt is a call that the client runs, and no question to a person."""
    return item.reason == FRONT_END


def called(item: Interrupt) -> str:
    """The tool call's id, by which clients know it."""
    return item.tool_call_id or ""


def answers(
    calls: Mapping[str, Interrupt], messages: Iterable[Message]
) -> tuple[dict[str, ResumeEntry], tuple[str, ...]]:
    """The calls' answers among a request's messages, by interrupt id, and warnings.

    The first tool message for a call counts; the payload of its entry is the whole message.
    """
    waiting = {called(item): key for key, item in calls.items()}
    found: dict[str, ResumeEntry] = {}
    warnings = []
    for message in messages:
        if message.role != "tool":
            continue
        body: dict[str, Any] = jsonvalue.decode(message.body)
        key = waiting.get(body["toolCallId"])
        if key is None:
            continue
        if key in found:
            warnings.append(
                f"tool message {message.id[:64]!r} is a second answer to a call of the client's "
                "own tool and was ignored"
            )
            continue
        found[key] = ResumeEntry(interrupt_id=key, status="resolved", payload=body)
    return found, tuple(warnings)


def unanswered(key: str) -> ResumeEntry:
    """What a user message says of a call whose answer did not come with it."""
    return ResumeEntry(interrupt_id=key, status="cancelled")


def belated(
    items: Iterable[Interrupt], messages: Iterable[Message], stored: Iterable[Message]
) -> bool:
    """Whether a request brings an answer to a call that waits for none any more."""
    over = {called(item) for item in items if is_call(item) and item.status != "open"}
    if not over:
        return False
    known = {message.id for message in stored}
    return any(
        jsonvalue.decode(message.body)["toolCallId"] in over
        for message in messages
        if message.role == "tool" and message.id not in known
    )


def message_of(entry: ResumeEntry) -> Message:
    """The tool message that an answer of `answers` is."""
    return _message(jsonvalue.encode(entry.payload))


def results_of(items: Iterable[Interrupt]) -> tuple[Message, ...]:
    """The tool messages that settled calls were answered with, in order."""
    return tuple(
        _message(item.payload)
        for item in items
        if is_call(item) and item.status == "resolved" and item.payload is not None
    )


def _message(body: bytes) -> Message:
    return Message(id=jsonvalue.decode(body)["id"], role="tool", body=body)
