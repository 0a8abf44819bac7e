"""Entries of a journal that record no call: pauses, edits of the state, forks. Pure.

pause:0          what the turn had come to when it began to wait for the first time
pause:0/edit:0   what a person changed in the state meanwhile, who and when
fork:0           up to here the journal was copied from another turn
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from sayso import jsonvalue
from sayso.clock import iso
from sayso.making import changed
from sayso.records import Entry

__all__ = [
    "edit_mark",
    "edited",
    "fork_mark",
    "is_mark",
    "key_origins",
    "origins",
    "pause_mark",
    "pauses",
    "resumed_mark",
]

_PAUSE: Final = "pause"
_EDIT: Final = "edit"
_FORK: Final = "fork"
_TAKEN_UP: Final = ("resume", "request")


def _mark(kind: str, place: str, data: dict[str, Any]) -> Entry:
    return Entry(
        place=place,
        kind=kind,
        name="",
        fingerprint=kind,
        status="done",
        data=jsonvalue.encode(data),
    )


def is_mark(entry: Entry) -> bool:
    """Whether an entry is no record of a call, for which replay would look."""
    return entry.kind in (_PAUSE, _EDIT, _FORK)


def pauses(entries: Iterable[Entry]) -> list[Entry]:
    """The pauses of a turn, in order; the last is the one that it waits in, if it waits."""
    return [entry for entry in entries if entry.kind == _PAUSE]


def pause_mark(number: int, data: dict[str, Any]) -> Entry:
    """The record of a turn's pause of that number, from 0."""
    return _mark(_PAUSE, f"pause:{number}", data)


def resumed_mark(pause: Entry, state: bytes, request: bytes | None) -> Entry:
    """The record of a pause with what the turn goes on with: the state, and perhaps a request.

    They stand in front, so that what a hundred questions have left there is not read for it.
    """
    members = pause.data
    if b'"resume":' in members:  # it went on before, and waits again
        kept = jsonvalue.decode(members)
        members = jsonvalue.encode({n: v for n, v in kept.items() if n not in _TAKEN_UP})
    told = b'{"resume":' + state
    if request is not None:
        told += b',"request":' + request
    return changed(pause, data=told + b"," + members[1:])


def edit_mark(
    entries: Sequence[Entry], patch: dict[str, Any], *, by: str, at: int, channel: str
) -> Entry:
    """The record of an edit of the state in the last pause; LookupError if there is none.

    `patch` is a merge patch (RFC 7396).
    """
    here = pauses(entries)[-1].place
    number = sum(entry.kind == _EDIT and entry.place.startswith(f"{here}/") for entry in entries)
    told = {"by": by, "at": iso(at), "channel": channel, "values": patch}
    return _mark(_EDIT, f"{here}/edit:{number}", told)


def edited(entries: Sequence[Entry], pause: Entry) -> list[dict[str, Any]]:
    """The merge patches by which the state was edited in a pause, in order."""
    return [
        jsonvalue.decode(entry.data)["values"]
        for entry in entries
        if entry.kind == _EDIT and entry.place.startswith(f"{pause.place}/")
    ]


def fork_mark(
    entries: Sequence[Entry], turn_key: str, told: dict[str, Any], unbegun: Sequence[str]
) -> Entry:
    """The end of what was copied from that turn; `told` is for people.

    `unbegun` are the places of effects that nobody has begun: the copy's are effects of its own.
    """
    number = sum(entry.kind == _FORK for entry in entries)
    return _mark(_FORK, f"fork:{number}", {**told, "turn": turn_key, "unbegun": list(unbegun)})


def origins(entries: Sequence[Entry]) -> dict[str, str]:
    """The key of the turn that first recorded each copied place: its ids are made of it."""
    return _origins(entries, open_too=True)


def key_origins(entries: Sequence[Entry]) -> dict[str, str]:
    """The key of the turn that first began what is recorded at each copied place.

    What has begun there goes on under the key that it was given: the outside world must not take
    the copy of a call for another one. What had only been asked is done by each copy for itself.
    """
    return _origins(entries, open_too=False)


def _origins(entries: Sequence[Entry], *, open_too: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    if all(entry.kind != _FORK for entry in entries):
        return found
    before: list[str] = []
    for entry in entries:
        if entry.kind == _FORK:
            data = jsonvalue.decode(entry.data)
            own = () if open_too else data.get("unbegun", ())
            copied = (place for place in before if place not in found and place not in own)
            found |= dict.fromkeys(copied, data["turn"])
        before.append(entry.place)
    return found
