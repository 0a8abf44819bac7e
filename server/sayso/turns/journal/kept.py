"""Private values of a thread, which its agents keep from turn to turn. Pure.

A turn reads what was kept when it began, whatever it has kept before in an earlier execution, so
that its code finds the same each time. So a thread has two layers: what there was before its
newest turn, and what that turn has kept; the next turn reads both as one.
"""

import base64
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from sayso.base import jsonvalue
from sayso.base.errors import NotRecordable

MAX_KEPT_BYTES: Final = 8 * 1024 * 1024
"""Bytes of all values of a thread, and of their names."""

_Layer = dict[str, bytes | None]
"""Values by name; None for one that is taken away."""


class Kept:
    """The values of a thread as one turn reads and writes them.

    `stored` is what the thread has, `again`: the turn repeats the one before, whose values do not
    count.
    """

    def __init__(self, stored: bytes | None, turn_key: str, *, again: bool = False) -> None:
        before: _Layer = {}
        own: _Layer = {}
        newest = turn_key
        if stored is not None:
            record = jsonvalue.decode(stored)
            before, own, newest = _read(record["before"]), _read(record["own"]), record["turn"]
        mine = newest == turn_key
        self._turn = turn_key
        self._before = before if mine or again else _laid(before, own)
        self._own: _Layer = own if mine else {}
        self._repeats = bool(own) and again and not mine
        self._has_own = bool(own) and mine
        self._changed = False
        self._values = {name: value for name, value in self._before.items() if value is not None}

    @property
    def values(self) -> Mapping[str, bytes]:
        """Those that were kept when the turn began, and by this execution since."""
        return MappingProxyType(self._values)

    def keep(self, name: object, value: object) -> None:
        """Keep a value under a name; None takes it away. NotRecordable if all are too large."""
        if not isinstance(name, str) or not name:
            raise TypeError(f"what a thread keeps has a name, a text, not {name!r}")
        if value is not None and not isinstance(value, bytes):
            raise TypeError(f"a thread keeps bytes, not {type(value).__name__}, under {name!r}")
        kept = _laid(_laid(self._before, self._own), {name: value})
        size = sum(len(key.encode()) + len(data) for key, data in kept.items() if data is not None)
        if size > MAX_KEPT_BYTES:
            raise NotRecordable(
                f"with {name!r} this thread would keep {size} bytes, and may keep "
                f"{MAX_KEPT_BYTES}: keep less, or put it into a store of your own"
            )
        self._own[name] = value
        self._changed = True
        self._values.pop(name, None)
        if value is not None:
            self._values[name] = value

    def to_store(self, *, failed: bool = False) -> bytes | None:
        """The record of the thread from now on; None if it stays. A turn that failed keeps none."""
        if failed:
            return self._record(self._turn, {}) if self._has_own or self._repeats else None
        return self._record(self._turn, self._own) if self._changed or self._repeats else None

    def copied(self, turn_key: str, *, waits: bool) -> bytes | None:
        """The record of a copy of the thread, whose turn has that key; None for nothing.

        `waits`: the turn is copied where it waits now, with what it has kept by then.
        """
        own = self._own if waits else {}
        return self._record(turn_key, own) if self._before or own else None

    def _record(self, turn_key: str, own: _Layer) -> bytes:
        record = {"before": _written(self._before), "turn": turn_key, "own": _written(own)}
        return jsonvalue.encode(record)


def _laid(below: _Layer, above: _Layer) -> _Layer:
    laid = {**below, **above}
    return {name: value for name, value in laid.items() if value is not None}


def _read(layer: Mapping[str, Any]) -> _Layer:
    return {name: None if text is None else base64.b64decode(text) for name, text in layer.items()}


def _written(layer: _Layer) -> dict[str, str | None]:
    return {
        name: None if value is None else base64.b64encode(value).decode()
        for name, value in layer.items()
    }
