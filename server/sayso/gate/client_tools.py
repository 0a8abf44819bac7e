"""Calls of the client's own tools, while a thread waits for them (design 4; TC-11, TC-14). Pure.

Such a call is kept as an interrupt that no person is shown: its id never leaves the server. Its
answer is the tool message that a later request carries; a user message without it says that no
answer will come. Neither is an entry of `resume`, which answers people's questions only.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sayso.base import jsonvalue
from sayso.base.fastrecords import copy_with
from sayso.base.records import Interrupt, Message
from sayso.gate.contents import answered_call, under_own_id
from sayso.protocol.reasons import CLIENT_TOOL
from sayso.protocol.runinput import ResumeEntry


def is_call(item: Interrupt) -> bool:
    """True if an interrupt is a call that the client runs, not a question to a person."""
    return item.reason == CLIENT_TOOL


def call_id(item: Interrupt) -> str:
    """The tool call's id, by which clients know it."""
    return item.tool_call_id or ""


def results(
    calls: Mapping[str, Interrupt], messages: Iterable[Message]
) -> tuple[dict[str, ResumeEntry], tuple[str, ...]]:
    """Read the calls' answers from a request's messages: by interrupt id, and warnings.

    The first tool message for a call counts; the payload of its entry is the whole message.
    """
    waiting = {call_id(item): key for key, item in calls.items()}
    entries: dict[str, ResumeEntry] = {}
    warnings = []
    for message in messages:
        if message.role != "tool":
            continue
        body: dict[str, Any] = jsonvalue.decode(message.body)
        key = waiting.get(body["toolCallId"])
        if key is None:
            continue
        if key in entries:
            warnings.append(
                f"tool message {message.id[:64]!r} is a second answer to a call of the client's "
                "own tool and was ignored"
            )
            continue
        entries[key] = ResumeEntry(interrupt_id=key, status="resolved", payload=body)
    return entries, tuple(warnings)


def no_result(key: str) -> ResumeEntry:
    """The entry that a user message stands for, for a call whose answer did not come with it."""
    return ResumeEntry(interrupt_id=key, status="cancelled")


def late_results(items: Iterable[Interrupt], new: Iterable[Message]) -> bool:
    """True if a request's new messages answer a call that no longer waits for an answer."""
    over = {call_id(item) for item in items if is_call(item) and item.status != "open"}
    return bool(over) and any(
        message.role == "tool" and answered_call(message) in over for message in new
    )


def results_of(items: Iterable[Interrupt]) -> tuple[Message, ...]:
    """The tool messages that answered settled calls, in order, as they came."""
    return tuple(
        _message(item.payload)
        for item in items
        if is_call(item) and item.status == "resolved" and item.payload is not None
    )


def joining(
    results: Sequence[Message], stored: Iterable[Message], beside: Iterable[Message] = ()
) -> tuple[Message, ...]:
    """The results as they join a history, each under an id of its own; `beside` join it too.

    A client that counts its messages from 1 again after a reload sends a result under an id that
    another message has; without the result the history would have a call and no result (H2). A call
    that had a result and waits again, because new code could not read it, keeps the first one.
    """
    if not results:
        return ()
    before = tuple(stored)
    of_call = {answered_call(message): message for message in before if message.role == "tool"}
    taken = {message.id for message in (*before, *beside)}
    messages = []
    for message in results:
        call = answered_call(message)
        if call in of_call:
            message = copy_with(of_call[call], visibility="visible")
        elif message.id in taken:
            message = under_own_id(message, call)
        taken.add(message.id)
        messages.append(message)
    return tuple(messages)


def _message(body: bytes) -> Message:
    return Message(id=jsonvalue.decode(body)["id"], role="tool", body=body)
