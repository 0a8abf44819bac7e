"""What is noted of a write: the one kind of change that an interrupt went through."""

from operator import attrgetter
from typing import Any

from sayso.records import ChangeKind
from sayso.votes import votes

__all__ = ["FACTS", "Note", "facts", "kind_of"]

FACTS = ("status", "held", "expires_at", "assigned_to", "reminded_at", "lapsed_at", "policy")
"""The members of an interrupt whose changes are noted, in the order of their weight.

Of the policy only who has agreed so far.
"""

facts = attrgetter(*FACTS)

Note = tuple[ChangeKind, str | None, str | None]
"""Kind, interrupt id, run key."""

_KINDS: tuple[ChangeKind, ...] = ("extended", "assigned", "reminded", "lapsed", "agreed")


def kind_of(old: tuple[Any, ...] | None, new: tuple[Any, ...]) -> ChangeKind | None:
    """What happened between these facts of an interrupt; None if nothing that is noted."""
    if old == new:
        return None
    if old is None or old[0] != new[0]:
        return "opened" if new[0] == "open" else "settled"
    if old[1] != new[1]:
        return "withdrawn" if new[1] is None else "held"
    changed = [kind for kind, a, b in zip(_KINDS, old[2:], new[2:], strict=True) if a != b]
    if changed == ["agreed"] and votes(old[-1]) == votes(new[-1]):
        return None
    return changed[0] if changed else None
