"""A turn copied as it stood when it asked a question, so that another answer can be tried.

Everything recorded by then is kept, so nothing of it happens again. What came later is left out:
the copy's code comes to it by itself, or not. Pure, but for the new ids.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from sayso.base import ids, jsonvalue
from sayso.base.jsonpatch import merge_patch
from sayso.base.records import Entry, EntryStatus, Interrupt, Message, ThreadView, TurnRecord
from sayso.gate.interrupts import ask_again
from sayso.gate.settled import SETTLED
from sayso.protocol.interrupts import with_ours
from sayso.protocol.reasons import DECISION
from sayso.turns.journal import consent, places
from sayso.turns.journal.earlier_decisions import about
from sayso.turns.journal.journal import again_by, edited, ended, fork_mark, pauses
from sayso.turns.journal.kept import Kept

_OUTCOME = frozenset(
    ("end", "status", "value", "parts", "words", "reason", "text", "unrecorded", "writes")
)
"""What the entry of a call has more once it has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """A suspended turn for a thread of its own."""

    turn: TurnRecord
    state: bytes
    messages: tuple[Message, ...]
    interrupts: tuple[Interrupt, ...]
    entries: tuple[Entry, ...]
    kept: bytes | None = None


@dataclass(frozen=True, slots=True)
class TurnSnapshot:
    """The part of a turn that is copied; `open` are the ids that are open in the copy."""

    entries: tuple[Entry, ...]
    state: Any
    messages: tuple[Message, ...]
    interrupts: frozenset[str]
    open: frozenset[str]


def recorded_question(entry: Entry) -> dict[str, Any]:
    """An entry that asks, as its pause keeps it in JSON: what comes of it later replaces it."""
    return {
        "place": entry.place,
        "kind": entry.kind,
        "name": entry.name,
        "fingerprint": entry.fingerprint,
        "data": jsonvalue.raw_json(entry.data),
    }


def fork(
    view: ThreadView,
    turn: TurnRecord,
    entries: Sequence[Entry],
    interrupt: Interrupt,
    *,
    now: int,
    origin: Mapping[str, Any],
    four_eyes: bool,
    services: bool,
) -> Fork | None:
    """The turn as it waited for an answer to `interrupt`; None if its journal does not say.

    All questions of that pause are open in the copy, under new ids and with their whole time
    before them. `origin` says in the copy's journal where it comes from; `four_eyes` and `services`
    are as the app has them now (`ask_again`).
    """
    waits = interrupt.status == "open"
    here = _present(view, turn, entries) if waits else _past(view, entries, interrupt)
    if here is None:
        return None
    mine = [item for item in view.interrupts if item.id in here.interrupts]
    names = {item.id: ids.new("int") for item in mine}
    key = ids.new("turn")
    begun = {entry.place for entry in entries if _has_begun(entry)}
    unbegun = [e.place for e in here.entries if e.status == "asked" and e.place not in begun]
    open_now = {item.id for item in mine if item.id in here.open}
    requesters = [turn.principal.subject, *again_by(entries), origin["by"]]
    first = origin.get("first", origin["threadId"])

    def asked_anew(item: Interrupt) -> Interrupt:
        again = ask_again(item, now, requesters, first, four_eyes=four_eyes, services=services)
        return _told_of(_unapproved(again), origin.get("before", ()))

    standing = (_unsaid(entry, open_now) for entry in here.entries)
    renamed = tuple(_renamed(entry, names) for entry in standing)
    return Fork(
        turn=replace(turn, key=key, status="suspended", ended_at=None),
        state=jsonvalue.encode(here.state),
        messages=tuple(_retold(message, names) for message in here.messages),
        interrupts=tuple(
            replace(
                asked_anew(item) if item.id in here.open else _without_permits(item),
                id=names[item.id],
                turn_key=key,
            )
            for item in mine
        ),
        entries=(*renamed, fork_mark(renamed, turn.key, dict(origin), unbegun)),
        kept=_kept(view, turn, entries).copied(key, waits=waits),
    )


def _kept(view: ThreadView, turn: TurnRecord, entries: Sequence[Entry]) -> Kept:
    """The private values of the thread, as the turn reads them."""
    again = any(entry.kind == "again" for entry in entries)
    return Kept(view.thread.kept, turn.key, again=again)


def _present(view: ThreadView, turn: TurnRecord, entries: Sequence[Entry]) -> TurnSnapshot:
    """The turn as it waits now, with all that it has recorded."""
    mine = [item for item in view.interrupts if item.turn_key == turn.key]
    return TurnSnapshot(
        entries=tuple(entries),
        state=jsonvalue.decode(view.thread.state),
        messages=view.messages,
        interrupts=frozenset(item.id for item in mine),
        open=frozenset(item.id for item in mine if item.status == "open"),
    )


def _past(view: ThreadView, entries: Sequence[Entry], interrupt: Interrupt) -> TurnSnapshot | None:
    """The turn as it waited then: an answer, and what came of it, is taken back."""
    questions: dict[str, dict[str, Any]] = {}
    copied: set[str] = set()
    for pause in pauses(entries):
        data = jsonvalue.decode(pause.data)
        if "asked" not in data:
            return None  # written by a server that did not keep it
        questions |= {question["place"]: question for question in data["asked"]}
        here = {question["data"]["interrupt"] for question in data["asked"]}
        copied |= here
        if interrupt.id in here:
            break
    else:
        return None
    state = data["state"]
    for patch in edited(entries, pause):
        state = merge_patch(state, patch)
    history = [message for message in view.messages if message.visibility != "waiting"]
    return TurnSnapshot(
        entries=tuple(_until(entries, pause, data, questions)),
        state=state,
        messages=tuple(history[: data["history"]]),
        interrupts=frozenset(copied),
        open=frozenset(here),
    )


def _until(
    entries: Sequence[Entry],
    pause: Entry,
    data: dict[str, Any],
    questions: Mapping[str, dict[str, Any]],
) -> list[Entry]:
    """The records up to a pause, as they were then."""
    index = next(n for n, entry in enumerate(entries) if entry.place == pause.place)
    waiting = {key: value for key, value in data.items() if key not in ("resume", "request")}
    here = {question["place"] for question in data["asked"]}
    kept = []
    for entry in entries[:index]:
        number = ended(entry)
        later = number is not None and number >= data["ended"]
        if entry.place in here or (entry.place in questions and later):
            entry = _asks(questions[entry.place])
        elif later:
            entry = _entered(entry)
        kept.append(entry)
    edits = [entry for entry in entries[index:] if places.is_edit_in(entry.place, pause.place)]
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


def _unsaid(entry: Entry, open_now: Set[str]) -> Entry:
    """A call that waits in the copy: who has said yes for other rules has not said it to this one.

    Each yes would run it once more. What is asked about an attempt is about that very attempt.
    """
    if entry.status != "asked" or entry.kind != "call":
        return entry
    data = jsonvalue.decode(entry.data)
    if data.get("interrupt") not in open_now or data.get("why", "first") != "first":
        return entry
    return replace(entry, data=jsonvalue.encode(consent.forgotten(data)))


def _entered(entry: Entry) -> Entry:
    """A call that is a part of the turn, and had not ended yet: its code is entered again."""
    data = jsonvalue.decode(entry.data)
    if "part" not in data:
        return entry
    begun = {name: value for name, value in data.items() if name not in _OUTCOME}
    return replace(entry, status="started", data=jsonvalue.encode(begun))


def _has_begun(entry: Entry) -> bool:
    """True if the outside world may know of an effect that is recorded so."""
    if entry.status == "asked":
        data = jsonvalue.decode(entry.data)
        if data.get("why") == "first":  # each attempt so far has asked, before its effect
            return bool(data.get("attempt", 1) > data["firsts"])
        return data.get("why") is not None  # indeterminate, or failed
    if entry.status == "done" and entry.kind == "call":
        return jsonvalue.decode(entry.data).get("status") in ("executed", "failed")
    return True


def _renamed(entry: Entry, names: Mapping[str, str]) -> Entry:
    """An entry that speaks of the copies of the interrupts that it spoke of."""
    if b'"interrupt"' not in entry.data:
        return entry
    data = jsonvalue.decode(entry.data)
    for member in (data, *(question["data"] for question in data.get("asked", ()))):
        for named in (member, member.get("first")):
            old = named.get("interrupt") if isinstance(named, dict) else None
            if isinstance(named, dict) and isinstance(old, str):
                named["interrupt"] = names.get(old, old)
    return replace(entry, data=jsonvalue.encode(data))


def _retold(message: Message, names: Mapping[str, str]) -> Message:
    """The message about a settled question, under the id that this has in the copy."""
    if message.role != "activity" or b'"interruptId"' not in message.body:
        return message
    body = jsonvalue.decode(message.body)
    new = names.get(body["content"].get("interruptId"))
    if new is None or body["activityType"] != SETTLED:
        return message
    content = {**body["content"], "interruptId": new}
    return replace(message, body=jsonvalue.encode({**body, "content": content}))


def _without_permits(item: Interrupt) -> Interrupt:
    """A settled decision without the calls that its options permit: each copy would make them."""
    if item.reason != DECISION or item.metadata is None or b'"permits"' not in item.metadata:
        return item
    metadata = jsonvalue.decode(item.metadata)
    if isinstance(metadata.get("sayso"), dict):
        metadata["sayso"].pop("permits", None)
    return replace(item, metadata=jsonvalue.encode(metadata))


def _unapproved(item: Interrupt) -> Interrupt:
    """The question without who had said yes for other rules: they are asked anew as well."""
    if item.metadata is None or b'"approved"' not in item.metadata:
        return item
    metadata = jsonvalue.decode(item.metadata)
    if item.reason == "tool_call" and isinstance(metadata.get("sayso"), dict):
        metadata["sayso"].pop("approved", None)
    return replace(item, metadata=jsonvalue.encode(metadata))


def _told_of(item: Interrupt, before: Sequence[Mapping[str, Any]]) -> Interrupt:
    """The question with what was said about its call in what was copied."""
    ours = jsonvalue.decode(item.metadata).get("sayso") if item.metadata else None
    if not before or item.reason != "tool_call" or not isinstance(ours, dict):
        return item
    said = about(map(dict, before), ours.get("tool", ""), ours.get("arguments", {}))
    if not said:
        return item
    return replace(item, metadata=jsonvalue.encode(with_ours(item.metadata, {"before": said})))
