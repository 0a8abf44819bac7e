"""Calls that a turn leaves behind when it ends before them: each gets its one result (TC-16, H1).

Pure. Holds for a turn that was running and for one that only waited, whose code nobody enters.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sayso import jsonvalue
from sayso.gate.history import call_ids
from sayso.records import Entry, Message, Turn
from sayso.turns.journal import identify, is_front_end
from sayso.turns.results import EXPIRED, result_event, tool_message
from sayso.turns.unsure import is_unsure

__all__ = ["Leftovers", "leftovers"]


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What closes such calls: journal entries, messages, and the events that tell of them."""

    entries: tuple[Entry, ...] = ()
    messages: tuple[Message, ...] = ()
    events: tuple[dict[str, Any], ...] = ()


def leftovers(
    turn: Turn,
    entries: Iterable[Entry],
    history: Sequence[Message],
    end: Callable[[], int],
    *,
    stopped: bool,
    expired: Collection[str] = (),
) -> Leftovers:
    """Close what is open for good: a retry of the turn is told the same.

    `history` is the thread's messages, from its first; `end` numbers what ends now. A call has an
    entry once it was asked for or started; one that was only proposed is found in the history.
    `expired` are ids of interrupts whose time was up: what they asked is told as that (D5).
    """
    how = "was stopped" if stopped else "ended"
    unknown = f"Unknown: the call was started and the turn {how} before its outcome was known."
    closed: list[Entry] = []
    texts: dict[str, tuple[str, str]] = {}
    done: set[str] = set()
    for entry in entries:
        if entry.kind != "call":
            continue
        data = jsonvalue.decode(entry.data)
        if entry.status == "done":
            done.add(data["id"])
            continue
        if entry.status == "started" or is_unsure(entry):
            data |= {"status": "failed", "text": unknown, "reason": unknown}
        elif data.get("interrupt") in expired:
            text = f"Not executed: {EXPIRED}, and nobody was there for the turn to go on."
            data |= {"status": "expired", "text": text}
        else:
            text = f"Not executed: the turn {how} before anyone decided."
            data |= {"status": "cancelled", "text": text}
        data = {"end": end(), **data}
        closed.append(replace(entry, status="done", data=jsonvalue.encode(data)))
        texts[data["id"]] = (entry.place, data["text"])
    began: int = jsonvalue.decode(turn.request)["history"]
    for message in history[began:]:
        if message.role == "tool":
            done.add(jsonvalue.decode(message.body)["toolCallId"])
        elif message.role == "assistant":
            for call in call_ids(message):
                if is_front_end(call):
                    continue  # nobody but the client answers those (TC-11)
                text = f"Not executed: the turn {how} before this call began."
                texts.setdefault(call, (call, text))
    left = {call: found for call, found in texts.items() if call not in done}
    named = [
        (identify(turn.key, "msg", f"{place}="), call, text) for call, (place, text) in left.items()
    ]
    return Leftovers(
        entries=tuple(closed),
        messages=tuple(tool_message(*one) for one in named),
        events=tuple(result_event(*one) for one in named),
    )
