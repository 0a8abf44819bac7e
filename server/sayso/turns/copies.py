"""A turn copied as it stood when it asked a question, so that another answer can be tried.

Everything recorded by then is kept, so nothing of it happens again. What came later is left out:
the copy's code comes to it by itself, or not. Pure, but for the new ids.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from sayso import jsonvalue
from sayso.gate.approvers import asked_anew
from sayso.gate.settled import SETTLED
from sayso.jsonpatch import merged
from sayso.records import Entry, EntryStatus, Interrupt, Message, ThreadView, Turn
from sayso.turns.journal import ended
from sayso.turns.marks import edited, fork_mark, pauses

__all__ = ["Copied", "copied", "recorded_question"]

_OUTCOME = frozenset(("end", "status", "value", "parts", "reason", "text", "writes"))
"""What the entry of a call has more once it has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """A suspended turn for a thread of its own."""

    turn: Turn
    state: bytes
    messages: tuple[Message, ...]
    interrupts: tuple[Interrupt, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class _Standing:
    """What of a turn is copied; `asked` are the ids that are open in the copy."""

    entries: tuple[Entry, ...]
    state: Any
    messages: tuple[Message, ...]
    known: frozenset[str]
    asked: frozenset[str]


def recorded_question(entry: Entry) -> dict[str, Any]:
    """An entry that asks, as its pause keeps it in JSON: what comes of it later replaces it."""
    return {
        "place": entry.place,
        "kind": entry.kind,
        "name": entry.name,
        "fingerprint": entry.fingerprint,
        "data": jsonvalue.verbatim(entry.data),
    }


def copied(
    view: ThreadView,
    turn: Turn,
    entries: Sequence[Entry],
    asked: Interrupt,
    *,
    now: int,
    told: Mapping[str, Any],
) -> Copied | None:
    """The turn as it waited for an answer to `asked`; None if its journal does not say.

    All questions of that pause are open in the copy, under new ids and with their whole time
    before them. `told` says in the copy's journal where it comes from.
    """
    here = _present(view, turn, entries) if asked.status == "open" else None
    here = here or _past(view, entries, asked)
    if here is None:
        return None
    mine = [item for item in view.interrupts if item.id in here.known]
    names = {item.id: f"int_{uuid4().hex}" for item in mine}
    key = f"turn_{uuid4().hex}"
    begun = {entry.place for entry in entries if _has_begun(entry)}
    unbegun = [e.place for e in here.entries if e.status == "asked" and e.place not in begun]
    renamed = tuple(_renamed(entry, names) for entry in here.entries)
    return Copied(
        turn=replace(turn, key=key, status="suspended", ended_at=None),
        state=jsonvalue.encode(here.state),
        messages=tuple(_retold(message, names) for message in here.messages),
        interrupts=tuple(
            replace(
                _asked_anew(item, now) if item.id in here.asked else item,
                id=names[item.id],
                turn_key=key,
            )
            for item in mine
        ),
        entries=(*renamed, fork_mark(renamed, turn.key, dict(told), unbegun)),
    )


def _present(view: ThreadView, turn: Turn, entries: Sequence[Entry]) -> _Standing:
    """The turn as it waits now, with all that it has recorded."""
    mine = [item for item in view.interrupts if item.turn_key == turn.key]
    return _Standing(
        entries=tuple(entries),
        state=jsonvalue.decode(view.thread.state),
        messages=view.messages,
        known=frozenset(item.id for item in mine),
        asked=frozenset(item.id for item in mine if item.status == "open"),
    )


def _past(view: ThreadView, entries: Sequence[Entry], asked: Interrupt) -> _Standing | None:
    """The turn as it waited then: an answer, and what came of it, is taken back."""
    known: dict[str, dict[str, Any]] = {}
    ids: set[str] = set()
    for pause in pauses(entries):
        data = jsonvalue.decode(pause.data)
        if "asked" not in data:
            return None  # written by a server that did not keep it
        known |= {question["place"]: question for question in data["asked"]}
        here = {question["data"]["interrupt"] for question in data["asked"]}
        ids |= here
        if asked.id in here:
            break
    else:
        return None
    state = data["state"]
    for patch in edited(entries, pause):
        state = merged(state, patch)
    history = [message for message in view.messages if message.visibility != "waiting"]
    return _Standing(
        entries=tuple(_until(entries, pause, data, known)),
        state=state,
        messages=tuple(history[: data["history"]]),
        known=frozenset(ids),
        asked=frozenset(here),
    )


def _until(
    entries: Sequence[Entry],
    pause: Entry,
    data: dict[str, Any],
    known: Mapping[str, dict[str, Any]],
) -> list[Entry]:
    """What was recorded up to a pause, as it was then."""
    at = next(n for n, entry in enumerate(entries) if entry.place == pause.place)
    waiting = {key: value for key, value in data.items() if key not in ("resume", "request")}
    here = {question["place"] for question in data["asked"]}
    kept = []
    for entry in entries[:at]:
        number = ended(entry)
        later = number is not None and number >= data["ended"]
        if entry.place in here or (entry.place in known and later):
            entry = _asks(known[entry.place])
        elif later:
            entry = _entered(entry)
        kept.append(entry)
    edits = [entry for entry in entries[at:] if entry.place.startswith(f"{pause.place}/")]
    return [*kept, replace(pause, data=jsonvalue.encode(waiting)), *edits]


def _asks(question: Mapping[str, Any]) -> Entry:
    status: EntryStatus = "asked"
    return Entry(
        place=question["place"],
        kind=question["kind"],
        name=question["name"],
        fingerprint=question["fingerprint"],
        status=status,
        data=jsonvalue.encode(question["data"]),
    )


def _entered(entry: Entry) -> Entry:
    """A call that is a part of the turn, and had not ended yet: its code is entered again."""
    data = jsonvalue.decode(entry.data)
    if "part" not in data:
        return entry
    begun = {name: value for name, value in data.items() if name not in _OUTCOME}
    return replace(entry, status="started", data=jsonvalue.encode(begun))


def _has_begun(entry: Entry) -> bool:
    """Whether the outside world may know of an effect that is recorded so."""
    if entry.status == "asked":
        return jsonvalue.decode(entry.data).get("why") is not None  # unsure, or failed
    if entry.status == "done" and entry.kind == "call":
        return jsonvalue.decode(entry.data).get("status") in ("executed", "failed")
    return True


def _renamed(entry: Entry, names: Mapping[str, str]) -> Entry:
    """An entry that speaks of the copies of the interrupts that it spoke of."""
    if b'"interrupt"' not in entry.data:
        return entry
    data = jsonvalue.decode(entry.data)
    for member in (data, *(question["data"] for question in data.get("asked", ()))):
        old = member.get("interrupt")
        if isinstance(old, str):
            member["interrupt"] = names.get(old, old)
    return replace(entry, data=jsonvalue.encode(data))


def _retold(message: Message, names: Mapping[str, str]) -> Message:
    """What tells of a settled question, which is known under another id in the copy."""
    if message.role != "activity" or b'"interruptId"' not in message.body:
        return message
    body = jsonvalue.decode(message.body)
    new = names.get(body["content"].get("interruptId"))
    if new is None or body["activityType"] != SETTLED:
        return message
    content = {**body["content"], "interruptId": new}
    return replace(message, body=jsonvalue.encode({**body, "content": content}))


def _asked_anew(item: Interrupt, now: int) -> Interrupt:
    """A question without its answer, for as long a time as it had at first."""
    moved = now - item.created_at
    return replace(
        asked_anew(item),
        created_at=now,
        expires_at=None if item.expires_at is None else item.expires_at + moved,
        remind_at=None if item.remind_at is None else item.remind_at + moved,
        status="open",
        payload=None,
        answer_metadata=None,
        decided_by=None,
        decided_at=None,
        channel=None,
        run_key=None,
        held=None,
        reminded_at=None,
        lapsed_at=None,
    )
