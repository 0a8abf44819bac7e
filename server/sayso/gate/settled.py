"""A settled question in the history: one activity message, which no model takes for text.

The words are not the user's, so it is not a user message (design 3). A question about a tool call
has that call's result instead, right behind the call. An answer that was typed stays as it was
typed. Pure.
"""

from dataclasses import replace
from typing import Any, Final

from sayso.agents.summaries import answer_text, consequence, summarize
from sayso.base import jsonvalue
from sayso.base.clock import format_time
from sayso.base.ids import identify
from sayso.base.records import Interrupt, Message
from sayso.base.redaction import redacted
from sayso.gate.interrupts import settled_by_expiry
from sayso.protocol.interrupts import ours_of
from sayso.protocol.reasons import BREAKPOINT

SETTLED: Final = "sayso:settled"
"""The activity type of such messages."""
BY_MESSAGE: Final = "message"
"""The channel of an answer that a chat message gave."""
_MAX_ANSWER_SIZE: Final = 16_384
"""Bytes of an answer, or characters of its text, in the history; the interrupt has it whole."""


def settled_message(item: Interrupt) -> Message | None:
    """The message about a settled question, under the same id each time; None if there is none.

    Its content: `interruptId`, `reason`, `question`, `status`, `sentence`; `answer` (the payload
    without its secrets) and `said` (the same in words) when it was answered; `by`, `at`, `channel`.
    """
    body = _body(item)
    if body is None:
        return None
    return Message(id=body["id"], role="activity", body=jsonvalue.encode(body))


def settled_event(item: Interrupt) -> dict[str, Any] | None:
    """The same as an event, for clients that are attached."""
    body = _body(item)
    if body is None:
        return None
    return {
        "type": "ACTIVITY_SNAPSHOT",
        "messageId": body["id"],
        "activityType": SETTLED,
        "content": body["content"],
    }


def hidden_message(item: Interrupt) -> Message | None:
    """The same message, hidden: the question is open again."""
    message = settled_message(item)
    return None if message is None else replace(message, visibility="hidden")


def as_model_text(body: dict[str, Any]) -> dict[str, Any] | None:
    """A settled question as user text for a model; None for any other activity.

    Breakpoints are between a person and the agent's code: no model is told of them.
    """
    if body.get("activityType") != SETTLED or body["content"]["reason"] == BREAKPOINT:
        return None
    return {"id": body["id"], "role": "user", "content": body["content"]["sentence"]}


def _body(item: Interrupt) -> dict[str, Any] | None:
    typed = item.status == "resolved" and item.channel == BY_MESSAGE
    if item.status == "open" or item.tool_call_id is not None or typed:
        return None
    lapsed = settled_by_expiry(item)
    content: dict[str, Any] = {
        "interruptId": item.id,
        "reason": item.reason,
        "question": _question(item),
        "status": item.status,
    }
    words = follows = ""
    if item.status == "resolved":
        schema = jsonvalue.decode(item.response_schema) if item.response_schema else None
        payload = jsonvalue.decode(item.payload) if item.payload is not None else None
        answer = redacted(payload, schema)
        if len(jsonvalue.encode(answer)) <= _MAX_ANSWER_SIZE:
            content["answer"] = answer
        words = _short(answer_text(payload, schema))
        follows = consequence(payload, schema)
        content["said"] = words
    content["sentence"] = summarize(
        content["question"],
        item.status,
        words,
        by=item.decided_by,
        lapsed=lapsed,
        meaning=follows,
    )
    if item.decided_by is not None:
        content["by"] = item.decided_by
    if item.decided_at is not None:
        content["at"] = format_time(item.decided_at)
    if item.channel is not None:
        content["channel"] = item.channel
    return {
        "id": identify(item.run_key or "", "act", item.id),
        "role": "activity",
        "activityType": SETTLED,
        "content": content,
    }


def _question(item: Interrupt) -> str:
    """The question as it was asked, without the details that follow in a decision's message."""
    message = item.message or ""
    informs = ours_of(item).get("kind") in ("decision", "clarification")
    return message.partition("\n")[0] if informs else message


def _short(text: str) -> str:
    return text if len(text) <= _MAX_ANSWER_SIZE else f"{text[:_MAX_ANSWER_SIZE]}…"
