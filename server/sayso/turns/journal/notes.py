"""Notes of a turn: what its code keeps for its own next execution, appended and never compared.

A note is an entry of the journal without a place in a branch: replay does not look for it, and
code reads all of them at once when it is entered again. So what keeps a log of its own, as a
framework does, keeps it here. Pure.
"""

from typing import Any, Final

from sayso.agents.codec import to_json
from sayso.base import jsonvalue
from sayso.base.errors import NotRecordable
from sayso.base.records import Entry
from sayso.base.texts import to_utf8_safe
from sayso.turns.journal import places
from sayso.turns.journal.journal import Journal

KIND: Final = "note"
MAX_NOTE_BYTES: Final = 1_048_576
"""Bytes of one note, as JSON."""
_BEGIN: Final = b'{"value":'


class Notes:
    """The notes of one turn, in order; `limit` is how many bytes they may have together."""

    def __init__(self, journal: Journal, limit: int) -> None:
        self._journal = journal
        self._limit = limit
        recorded = [e for e in journal.entries() if e.kind == KIND] if journal.holds(KIND) else []
        self._entries: list[Entry] = recorded
        self._size = sum(_size(entry) for entry in recorded)

    def named(self, name: str) -> tuple[Any, ...]:
        """The values of that name, each a copy of its own, oldest first."""
        name = to_utf8_safe(name)
        return tuple(_value(entry) for entry in self._entries if entry.name == name)

    def add(self, name: object, value: Any) -> None:
        """Append a note; it goes out with the next commit.

        NotRecordable for a value without a JSON form, and where it or all of them are too large.
        """
        if not isinstance(name, str) or not name:
            raise TypeError(f"a note has a name, a text, not {name!r}")
        written = to_json(value, f"the value of note {name!r}")
        if len(written) > MAX_NOTE_BYTES:
            raise NotRecordable(
                f"note {name!r} has {len(written)} bytes as JSON and may have {MAX_NOTE_BYTES}: "
                "write several, or keep it in a store of your own and note where"
            )
        if self._size + len(written) > self._limit:
            raise NotRecordable(
                f"the notes of this turn would have more than {self._limit} bytes: note less"
            )
        self._size += len(written)
        entry = Entry(
            place=places.note(len(self._entries)),
            kind=KIND,
            name=to_utf8_safe(name),
            fingerprint=KIND,
            status="done",
            data=_BEGIN + written + b"}",
        )
        self._entries.append(self._journal.write(entry))


def _size(entry: Entry) -> int:
    return len(entry.data) - len(_BEGIN) - 1


def _value(entry: Entry) -> Any:
    return jsonvalue.decode(entry.data)["value"]
