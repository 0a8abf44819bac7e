"""Calls that a turn leaves behind when it ends before them: each gets its one result (TC-16, H1).

Pure. Holds for a turn that was running and for one that only waited, whose code nobody enters.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sayso.agents.outcomes import CallStatus
from sayso.base import jsonvalue
from sayso.base.audit import REPORTED
from sayso.base.ids import identify
from sayso.base.records import Entry, Interrupt, Message, TurnRecord
from sayso.gate.contents import call_ids
from sayso.turns.calls.indeterminate import is_indeterminate
from sayso.turns.calls.question_results import QuestionResults, left_behind
from sayso.turns.calls.results import EXPIRED, result_event, result_text, tool_message
from sayso.turns.journal import places
from sayso.turns.journal.journal import is_client_tool


@dataclass(frozen=True, slots=True)
class DanglingCalls:
    """The ends of such calls: entries, messages, events that tell of them, and their questions."""

    entries: tuple[Entry, ...] = ()
    messages: tuple[Message, ...] = ()
    events: tuple[dict[str, Any], ...] = ()
    interrupts: tuple[Interrupt, ...] = ()


def close_dangling(
    turn: TurnRecord,
    entries: Sequence[Entry],
    history: Sequence[Message],
    end: Callable[[], int],
    *,
    stopped: bool,
    interrupts: Mapping[str, Interrupt],
    now: int,
) -> DanglingCalls:
    """Close what is open for good: a retry of the turn is told the same.

    `history` is the thread's messages, from its first; `end` numbers what ends now. A call has an
    entry once it was asked for or started; one that was only proposed is found in the history.
    `interrupts` are those of the turn: what was decided about a call is told of it, though nothing
    came of it (D5).
    """
    how = "was stopped" if stopped else "ended"
    unknown = f"Unknown: the call was started and the turn {how} before its outcome was known."
    closed: list[Entry] = []
    results = QuestionResults(interrupts)
    unsaid = f"Unknown: the turn {how} before anyone said what came of this call."
    reported = [entry for entry in entries if entry.kind == REPORTED]
    texts = {jsonvalue.decode(entry.data)["id"]: (entry.place, unsaid) for entry in reported}
    done: set[str] = set()
    for entry in entries:
        if entry.kind != "call":
            continue
        data = jsonvalue.decode(entry.data)
        if entry.status == "done":
            done.add(data["id"])
            continue
        begun = entry.status == "started" or is_indeterminate(entry)
        if begun:
            data |= {"status": "failed", "text": unknown, "reason": unknown}
        elif "error" in data:
            text = f"Failed: {data['error']}"
            data |= {"status": "failed", "text": text, "reason": data["error"]}
        else:
            interrupt = interrupts.get(data.get("interrupt", ""))
            status, text = _undone(interrupt, how)
            data |= {"status": status, "text": text}
            if status == "denied" and interrupt is not None and interrupt.decided_by is not None:
                said = jsonvalue.decode(interrupt.payload) if interrupt.payload else {}
                data |= {"by": interrupt.decided_by, "reason": said.get("reason")}
        result = left_behind(data, now, unknown=begun)
        results.tell(data["id"], result, data.get("decision"))
        data = {"end": end(), **data}
        closed.append(replace(entry, status="done", data=jsonvalue.encode(data)))
        texts[data["id"]] = (entry.place, data["text"])
    began: int = jsonvalue.decode(turn.request)["history"]
    for message in history[began:]:
        if message.role == "tool":
            done.add(jsonvalue.decode(message.body)["toolCallId"])
        elif message.role == "assistant":
            for call in call_ids(message):
                if is_client_tool(call):
                    continue  # nobody but the client answers those (TC-11)
                text = f"Not executed: the turn {how} before this call began."
                texts.setdefault(call, (call, text))
    left = {call: placed for call, placed in texts.items() if call not in done}
    named = [
        (identify(turn.key, "msg", places.result(place)), call, text)
        for call, (place, text) in left.items()
    ]
    return DanglingCalls(
        entries=tuple(closed),
        messages=tuple(tool_message(*result) for result in named),
        events=tuple(result_event(*result) for result in named),
        interrupts=results.take(),
    )


def _undone(question: Interrupt | None, how: str) -> tuple[CallStatus, str]:
    """The status and text of a call that was not carried out, by what was decided about it."""
    if question is None or question.status == "open":
        return "cancelled", f"Not executed: the turn {how} before anyone decided."
    if question.status == "expired":
        return "expired", f"Not executed: {EXPIRED}, and nobody was there for the turn to go on."
    payload = jsonvalue.decode(question.payload) if question.payload else {}
    if question.reason != "tool_call":  # a value that the tool had asked for first
        return "cancelled", f"Not executed: the turn {how} before this call went on."
    if question.status == "resolved" and payload.get("approved") is True:
        by = f"Approved by {question.decided_by}" if question.decided_by else "Approved"
        return "cancelled", f"{by}; not executed: the turn {how} before the call began."
    status: CallStatus = "denied" if question.status == "resolved" else "cancelled"
    return status, result_text({"status": status, "reason": payload.get("reason")}, {})
