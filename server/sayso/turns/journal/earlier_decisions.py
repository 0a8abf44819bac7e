"""Decisions about calls of a turn that is copied or restarted: who is asked again reads them.

`{"tool", "arguments": digest, "said": "approved" | "denied", "by", "at", "reason"?, "threadId"}`,
kept in the journal of the copy or of the new turn (`marks`), for that and for all made of it. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sayso.base import jsonvalue
from sayso.base.clock import format_time
from sayso.base.records import Entry, Interrupt
from sayso.gate.interrupts import as_answered
from sayso.gate.quorum import asks_others, denies
from sayso.turns.journal.journal import decided_before

Said = dict[str, Any]


def decisions(
    items: Iterable[Interrupt], entries: Iterable[Entry], thread_id: str
) -> tuple[Said, ...]:
    """Decisions of people about the calls of a turn, and of those that it was made of."""
    decided = decided_before(entries)
    for item in items:
        interrupt = as_answered(item)
        call = _call(item)
        if call is not None:
            decided += [{**call, **denial} for denial in item.progress.denied]
        if call is None or interrupt.status != "resolved" or interrupt.decided_by is None:
            continue
        payload = jsonvalue.decode(interrupt.payload) if interrupt.payload else None
        said: Said = {
            **call,
            "said": "denied" if denies(interrupt, payload) else "approved",
            "by": interrupt.decided_by,
            "at": format_time(interrupt.decided_at or 0),
            "threadId": thread_id,
        }
        if isinstance(payload, dict) and payload.get("reason"):
            said["reason"] = payload["reason"]
        decided.append(said)
    return tuple(decided)


def denials(items: Iterable[Interrupt], thread_id: str) -> tuple[Said, ...]:
    """Denials of just now about calls that others than the owner decide."""
    others = [item for item in items if asks_others(item)]
    decided = decisions(others, (), thread_id) if others else ()
    return tuple(word for word in decided if word["said"] == "denied")


def about(before: Iterable[Said], tool: str, arguments: Any) -> list[Said]:
    """Those about an equal call, as a card shows them."""
    named = [word for word in before if word["tool"] == tool]
    if not named:
        return []
    call = {"tool": tool, "arguments": jsonvalue.digest(arguments)}
    return [
        {name: value for name, value in word.items() if name not in call}
        for word in named
        if word["arguments"] == call["arguments"]
    ]


def about_question(before: Iterable[Said], item: Interrupt) -> list[Said]:
    """Those about the call that a question is about, as a card shows them."""
    call = _call(item)
    if call is None:
        return []
    return [
        {name: value for name, value in word.items() if name not in call}
        for word in before
        if all(word[name] == value for name, value in call.items())
    ]


def barred_by_denials(items: Sequence[Interrupt], before: Sequence[Said]) -> list[str]:
    """Ids of questions whose call was denied, by approvers who do not want to be asked anew."""
    denied = {(word["tool"], word["arguments"]) for word in before if word["said"] == "denied"}
    return [
        item.id
        for item in items
        if (approvers := item.terms.approvers) is not None
        and approvers.forks_of_denied == "refuse"
        and (call := _call(item)) is not None
        and (call["tool"], call["arguments"]) in denied
    ]


def _call(item: Interrupt) -> Mapping[str, str] | None:
    """The call that a question was about, as it was asked."""
    if item.reason != "tool_call" or item.metadata is None:
        return None
    ours = jsonvalue.decode(item.metadata).get("sayso", {})
    if "tool" not in ours:
        return None
    return {"tool": ours["tool"], "arguments": jsonvalue.digest(ours.get("arguments", {}))}
