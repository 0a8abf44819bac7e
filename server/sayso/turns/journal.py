"""The journal of one turn: what was recorded, found again by place. Pure: no I/O.

A place is the path of a branch and a position in it. Entries match by place; the fingerprint says
what was asked for there: kind, name and arguments, never message text or schema (design 3).
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from sayso import jsonvalue
from sayso.errors import ReplayMismatch
from sayso.records import Entry

__all__ = [
    "FRONT_END",
    "Journal",
    "ended",
    "fingerprint",
    "identify",
    "is_front_end",
    "numbered",
    "without_last_failures",
]

FRONT_END = "front"
"""How the ids of calls begin that the client runs; those of all other calls begin otherwise."""
_END = b'{"end":'
_INSIDE = ">/"
"""What stands between a call that is a part of the turn and the places inside it (`Branches`)."""


def fingerprint(kind: str, name: str, arguments: Any = None) -> str:
    """What a call asks for, short enough to read: `step lookup 1f0c…`."""
    if arguments is None:
        return f"{kind} {name}" if name else kind
    return f"{kind} {name} {jsonvalue.digest(arguments)}"


def numbered(end: int, members: bytes) -> bytes:
    """Data of an effect that ended as the turn's `end`-th: members of a JSON object behind it."""
    return _END + str(end).encode() + b"," + members + b"}"


def ended(entry: Entry) -> int | None:
    """The number under which a recorded effect ended; None for what has none."""
    if entry.status != "done" or not entry.data.startswith(_END):
        return None
    return int(entry.data[len(_END) : entry.data.index(b",")])


def identify(turn_key: str, prefix: str, place: str) -> str:
    """An id that a place has in every execution of its turn."""
    text = f"{turn_key}\n{place}".encode()
    return f"{prefix}_{hashlib.blake2b(text, digest_size=12).hexdigest()}"


def is_front_end(call_id: str) -> bool:
    """Whether a tool call of a turn's own is one that the client runs."""
    return call_id.startswith(f"{FRONT_END}_")


class Journal:
    """Recorded entries by place, with what must still be written along with the next commit."""

    def __init__(
        self,
        entries: Iterable[Entry] = (),
        origins: Mapping[str, str] | None = None,
        key_origins: Mapping[str, str] | None = None,
    ) -> None:
        self.origins = origins or {}
        """For places that were copied from other turns, the keys of those."""
        self.key_origins = key_origins or {}
        """The same for what had begun there: it goes on under its call key (`marks`)."""
        self._entries = {entry.place: entry for entry in entries}
        self._riding: dict[str, Entry] = {}
        self._seen: set[str] = set()
        self._new: set[str] = set()
        read = self._entries.values()
        self._over = {entry.fingerprint for entry in read if entry.status == "done"}
        self._kinds = {entry.kind for entry in read}
        self._ends = {e.place: end for e in read if (end := ended(e)) is not None}
        """Under which numbers effects had ended when the journal was read, as far as they stand."""

    def find(self, place: str, wanted: str) -> Entry | None:
        """The entry at a place, or None where the turn is live.

        Raises `ReplayMismatch` when the code asks for something else than what is recorded.
        """
        self._seen.add(place)
        entry = self._entries.get(place)
        if entry is not None and entry.fingerprint != wanted:
            raise ReplayMismatch(place, entry.fingerprint, wanted)
        return entry

    def earlier(self, kind: str, wanted: str) -> Entry | None:
        """The first entry of a kind that asked for the same, wherever it stands."""
        for entry in self._entries.values():
            if entry.kind == kind and entry.fingerprint == wanted:
                return entry
        return None

    def has_ended(self, wanted: str) -> bool:
        """Whether something that was asked for in the same words has ended, anywhere."""
        return wanted in self._over

    def entries(self) -> tuple[Entry, ...]:
        """All entries, in the order in which their places were first written."""
        return tuple(self._entries.values())

    def write(self, entry: Entry) -> Entry:
        """Take an entry for the next commit; it is found again from now on."""
        self._entries[entry.place] = entry
        self._riding[entry.place] = entry
        self._kinds.add(entry.kind)
        self._ends.pop(entry.place, None)
        self._new.add(entry.place)
        self._seen.add(entry.place)
        if entry.status == "done":
            self._over.add(entry.fingerprint)
        return entry

    def take(self, *, asked: bool) -> tuple[Entry, ...]:
        """What has to be written with the commit that is being made now.

        A question goes only with the suspension that stores its interrupt, so that no crash leaves
        one without the other: `asked` says whether this is it.
        """
        riding, self._riding = self._riding, {}
        if asked or not any(entry.status == "asked" for entry in riding.values()):
            return tuple(riding.values())
        self._riding = {place: entry for place, entry in riding.items() if entry.status == "asked"}
        return tuple(entry for entry in riding.values() if entry.status != "asked")

    def asked(self) -> list[Entry]:
        """The questions that were put since the last commit that could hold one."""
        return [entry for entry in self._riding.values() if entry.status == "asked"]

    def rides(self, kind: str) -> bool:
        """Whether an entry of that kind waits for the next commit."""
        return any(entry.kind == kind for entry in self._riding.values())

    def holds(self, kind: str) -> bool:
        """Whether anything of that kind is recorded."""
        return kind in self._kinds

    def lacks(self, place: str) -> bool:
        """Whether nothing is recorded at a place."""
        return place not in self._entries

    def is_new(self, place: str) -> bool:
        """Whether the place was written since the journal was read."""
        return place in self._new

    def ends(self) -> list[int]:
        """The numbers of all effects that had ended when it was read and stand, in no order."""
        return list(self._ends.values())

    def ends_behind(self) -> list[int]:
        """The numbers of those among them that nobody comes for again."""
        return [end for place, end in self._ends.items() if self.is_behind(place)]

    def ended(self, entry: Entry) -> int | None:
        """The number under which an effect of the journal has ended, as `ended` reads it."""
        end = self._ends.get(entry.place)
        return ended(entry) if end is None else end

    def is_behind(self, place: str) -> bool:
        """Whether a place is inside a call that has its result: that is not entered again."""
        at = place.find(_INSIDE)
        while at >= 0:  # for hardly any place
            outer = self._entries.get(place[:at])
            if outer is not None and outer.kind == "call" and outer.status == "done":
                return True
            at = place.find(_INSIDE, at + 1)
        return False

    def forgotten(self, path: str = "") -> Entry | None:
        """What the code never came for again: a question, or an effect that may have happened.

        Looked for below a path, but not inside calls that have their results.
        """
        for place, entry in self._entries.items():
            if (
                entry.status != "done"
                and place not in self._seen
                and place.startswith(path)
                and not self.is_behind(place)
            ):
                return entry
        return None


def without_last_failures(entries: Iterable[Entry]) -> list[Entry]:
    """The entries that a retry of a failed turn starts from.

    Leaves out failures that were the last thing their branch did and that may be tried again:
    idempotent steps and streams (B1). Other failures stay, and fail again, without a second effect.
    """
    kept = list(entries)
    last: dict[str, tuple[int, str]] = {}
    for entry in kept:
        branch, _, position = entry.place.rpartition("/")
        if position.isdigit() and int(position) >= last.get(branch, (-1, ""))[0]:
            last[branch] = (int(position), entry.place)
    ends = {place for _, place in last.values()}
    return [
        entry
        for entry in kept
        if entry.place not in ends
        or entry.status != "done"
        or entry.kind not in ("step", "stream")
        or not jsonvalue.decode(entry.data).get("again")
    ]
