"""What was decided about calls of a turn that is copied or begun anew: who is asked again is told.

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
    """What people have said about the calls of a turn, and of those that it was made of."""
    found = decided_before(entries)
    for item in items:
        interrupt = as_answered(item)
        call = _call(item)
        if call is not None:
            found += [{**call, **one} for one in item.progress.denied]
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
        found.append(said)
    return tuple(found)


def denials(items: Iterable[Interrupt], thread_id: str) -> tuple[Said, ...]:
    """What was denied just now about calls that others than the owner decide."""
    others = [item for item in items if asks_others(item)]
    found = decisions(others, (), thread_id) if others else ()
    return tuple(one for one in found if one["said"] == "denied")


def about(before: Iterable[Said], tool: str, arguments: Any) -> list[Said]:
    """What of it was said about an equal call, as a card shows it."""
    named = [one for one in before if one["tool"] == tool]
    if not named:
        return []
    wanted = {"tool": tool, "arguments": jsonvalue.digest(arguments)}
    return [
        {name: value for name, value in one.items() if name not in wanted}
        for one in named
        if one["arguments"] == wanted["arguments"]
    ]


def about_question(before: Iterable[Said], item: Interrupt) -> list[Said]:
    """What of it was said about the call that a question is about."""
    call = _call(item)
    if call is None:
        return []
    return [
        {name: value for name, value in one.items() if name not in call}
        for one in before
        if all(one[name] == value for name, value in call.items())
    ]


def may_not_be_asked_again(items: Sequence[Interrupt], before: Sequence[Said]) -> list[str]:
    """Ids of questions whose call was denied, by approvers who do not want to be asked anew."""
    denied = {(one["tool"], one["arguments"]) for one in before if one["said"] == "denied"}
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
    told = jsonvalue.decode(item.metadata).get("sayso", {})
    if "tool" not in told:
        return None
    return {"tool": told["tool"], "arguments": jsonvalue.digest(told.get("arguments", {}))}
