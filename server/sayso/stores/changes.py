"""The changes that a write notes: the one kind of change that an interrupt went through."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from sayso.base.progress import Vote
from sayso.base.records import ChangeKind

FACTS = ("status", "held", "expires_at", "assigned_to", "reminded_at", "lapsed_at", "progress")
"""The members of an interrupt whose changes are noted, in the order of their weight.

Of the progress only who has agreed so far, and what came of the call.
"""

facts: Callable[[Any], tuple[Any, ...]] = attrgetter(*FACTS)

Note = tuple[ChangeKind, str | None, str | None]
"""Kind, interrupt id, run key."""

_KINDS: tuple[ChangeKind, ...] = ("extended", "assigned", "reminded", "lapsed")


def change_kind(old: tuple[Any, ...] | None, new: tuple[Any, ...]) -> ChangeKind | None:
    """The change between these facts of an interrupt; None if it is not noted."""
    if old == new:
        return None
    if old is None or old[0] != new[0]:
        return "opened" if new[0] == "open" else "settled"
    if old[1] != new[1] and new[1] is not None:
        return "held"
    # What was held ends as well where somebody agrees to something else.
    voted = None if old[-1] == new[-1] else _voted(old[-1].votes, new[-1].votes)
    if old[1] != new[1]:
        return voted or "withdrawn"
    moved = zip(_KINDS, old[2:-1], new[2:-1], strict=True)
    other = next((kind for kind, before, now in moved if before != now), voted)
    return other or ("result" if old[-1].result != new[-1].result else None)


def _voted(before: tuple[Vote, ...], now: tuple[Vote, ...]) -> ChangeKind | None:
    """True if somebody agreed, or took that back: then nobody has come to those who had."""
    if before == now:
        return None
    return "withdrawn" if all(vote in before for vote in now) else "agreed"
