"""A settled question as the history shows it: one activity message, which no model takes for text.

The words are not the user's, so it is no user message (design 3). A question about a tool call has
that call's result instead, right behind the call, and an answer that was typed stands there as it
was typed. Pure.
"""

from dataclasses import replace
from typing import Any, Final

from sayso import jsonvalue
from sayso.agents.wording import meaning, open_part, said, sentence
from sayso.clock import iso
from sayso.gate.expiry import by_expiry
from sayso.records import Interrupt, Message
from sayso.turns.journal import identify

__all__ = [
    "BY_MESSAGE",
    "SETTLED",
    "settled_event",
    "settled_message",
    "told_to_models",
    "withdrawn",
]

SETTLED: Final = "sayso:settled"
"""The activity type of such messages."""
BY_MESSAGE: Final = "message"
"""The channel of what was decided by saying something."""
_LONGEST: Final = 16_384
"""Bytes of an answer that the history holds; a longer one is found with its interrupt."""


def settled_message(item: Interrupt) -> Message | None:
    """The message that tells of a settled question, under the same id each time; None for others.

    Its content: `interruptId`, `reason`, `question`, `status`, `sentence`; `answer` (the payload
    without its secrets) and `said` (the same in words) when it was answered; `by`, `at`, `channel`.
    """
    body = _body(item)
    if body is None:
        return None
    return Message(id=body["id"], role="activity", body=jsonvalue.encode(body))


def settled_event(item: Interrupt) -> dict[str, Any] | None:
    """The event that shows it to a client that is attached."""
    body = _body(item)
    if body is None:
        return None
    return {
        "type": "ACTIVITY_SNAPSHOT",
        "messageId": body["id"],
        "activityType": SETTLED,
        "content": body["content"],
    }


def withdrawn(item: Interrupt) -> Message | None:
    """The same message, hidden: the question is open again."""
    message = settled_message(item)
    return None if message is None else replace(message, visibility="hidden")


def told_to_models(body: dict[str, Any]) -> dict[str, Any] | None:
    """A settled question as user text for a model; None for any other activity.

    Breakpoints are between a person and the agent's code: no model hears of them.
    """
    if body.get("activityType") != SETTLED or body["content"]["reason"] == "sayso:breakpoint":
        return None
    return {"id": body["id"], "role": "user", "content": body["content"]["sentence"]}


def _body(item: Interrupt) -> dict[str, Any] | None:
    typed = item.status == "resolved" and item.channel == BY_MESSAGE
    if item.status == "open" or item.tool_call_id is not None or typed:
        return None
    lapsed = by_expiry(item)
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
        answer = open_part(payload, schema)
        if len(jsonvalue.encode(answer)) <= _LONGEST:
            content["answer"] = answer
        words = _short(said(payload, schema))
        follows = meaning(payload, schema)
        content["said"] = words
    content["sentence"] = sentence(
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
        content["at"] = iso(item.decided_at)
    if item.channel is not None:
        content["channel"] = item.channel
    return {
        "id": identify(item.run_key or "", "act", item.id),
        "role": "activity",
        "activityType": SETTLED,
        "content": content,
    }


def _question(item: Interrupt) -> str:
    """What was asked; without what a decision tells beside it, in lines of their own."""
    message = item.message or ""
    told = jsonvalue.decode(item.metadata).get("sayso") if item.metadata else None
    informs = isinstance(told, dict) and told.get("kind") in ("decision", "clarification")
    return message.partition("\n")[0] if informs else message


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
