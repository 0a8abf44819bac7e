"""A person under another name in what is stored of a thread. Pure.

What others have written stays as it is: only the members that say who did something are renamed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from sayso.base import jsonvalue
from sayso.base.audit import Rename
from sayso.base.fastrecords import copy_with
from sayso.base.records import Entry, Interrupt, Message, ThreadView
from sayso.gate.settled import settled_message
from sayso.turns.journal.notes import KIND as NOTE

_NOT_OURS: Final = ("step", NOTE)
"""Kinds of entries that hold what an author's code has returned."""
_WRITTEN: Final = frozenset(
    ("args", "arguments", "edited", "editedShown", "metadata", "payload", "text", "value", "values")
)
"""Members that somebody wrote."""


def renamed_interrupt(item: Interrupt, rename: Rename) -> Interrupt:
    """A question with the people who asked for it, answered it and have it under other names.

    Those who may answer it stay: they are terms of whoever asks.
    """
    progress = replace(
        item.progress,
        votes=tuple(copy_with(vote, by=rename(vote.by)) for vote in item.progress.votes),
        late=tuple(copy_with(late, by=rename(late.by)) for late in item.progress.late),
        denied=tuple(_renamed(said, rename) for said in item.progress.denied),
    )
    held = None if item.held is None else copy_with(item.held, by=rename(item.held.by))
    requesters = tuple(map(rename, item.terms.requesters))
    return copy_with(
        item,
        decided_by=None if item.decided_by is None else rename(item.decided_by),
        assigned_to=None if item.assigned_to is None else rename(item.assigned_to),
        held=held,
        progress=progress,
        terms=copy_with(item.terms, requesters=requesters),
    )


def renamed_entry(entry: Entry, rename: Rename) -> Entry:
    """An entry of the journal with the people who did it, or let it pass, under other names."""
    if entry.kind in _NOT_OURS:
        return entry
    data = jsonvalue.decode(entry.data)
    whole = _renamed(data, rename)
    return entry if whole == data else copy_with(entry, data=jsonvalue.encode(whole))


def renamed_messages(
    view: ThreadView, before: Sequence[Interrupt], after: Sequence[Interrupt]
) -> tuple[Message, ...]:
    """The messages about settled questions, as these are now; only those that differ."""
    stored = {message.id: message for message in view.messages}
    messages: list[Message] = []
    for old, item in zip(before, after, strict=True):
        message = settled_message(item) if item != old else None
        if message is not None and (kept := stored.get(message.id)) is not None:
            messages.append(copy_with(message, visibility=kept.visibility))
    return tuple(messages)


def written(view: ThreadView, items: Iterable[Interrupt], entries: Iterable[Entry]) -> str:
    """All texts of a thread that a name can still be in, one after the other."""
    texts = [view.thread.state, view.thread.kept]
    texts += (message.body for message in view.messages)
    texts += (entry.data for entry in entries)
    for item in items:
        texts += (item.metadata, item.payload, item.answer_metadata)
        texts.append((item.message or "").encode())
        texts.append(jsonvalue.encode([*item.terms.names]))
    return "\n".join(text.decode(errors="replace") for text in texts if text is not None)


def _renamed(value: Any, rename: Rename, *, is_person: bool = False) -> Any:
    if isinstance(value, dict):
        return {
            name: member
            if name in _WRITTEN
            else _renamed(member, rename, is_person=name in ("by", "to", "for", "approvers"))
            for name, member in value.items()
        }
    if isinstance(value, list | tuple):
        return [_renamed(member, rename, is_person=is_person) for member in value]
    return rename(value) if is_person and isinstance(value, str) else value
