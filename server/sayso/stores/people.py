"""The ids of people that a process has read, for a while: another may take a name away."""

import time
from collections.abc import Callable
from typing import Final

_MOST: Final = 10_000
"""Names whose ids are known at most."""
_KNOWN_S: Final = 60.0
"""Seconds for which an id counts; then it is read again."""


class PeopleCache:
    """Ids of people in the audit trail by scope and name."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._ids: dict[tuple[str, str], tuple[str, float]] = {}

    def get(self, scope: str, name: str) -> str | None:
        """The id of a name, if it was read lately."""
        person, until = self._ids.get((scope, name), (None, 0.0))
        return person if self._monotonic() < until else None

    def put(self, scope: str, name: str, person: str) -> None:
        """Know an id that was read."""
        if len(self._ids) >= _MOST:
            self._ids.clear()
        self._ids[scope, name] = (person, self._monotonic() + _KNOWN_S)

    def forget(self, scope: str, name: str) -> None:
        """Know the id of a name no more."""
        self._ids.pop((scope, name), None)
