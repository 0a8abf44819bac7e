"""The order of a stream: one automaton of what is open (LC-06, TX, TC, RS, ST, SA). Pure.

It follows what the table of `protocol/events` says that an event opens, continues or closes. What
else is refused, and in which words, two policies say: `protocol/guard` and `client/order`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from sayso.protocol.events import SPACES, STEP, SUBAGENT, Event, EventType, Space

Key = str | tuple[str, Any]
"""A thing among others of its kind: its name, and of steps alone the owner as well."""


@dataclass(slots=True, eq=False)
class Item:
    """Something that was opened: its opening event and what came through so far."""

    space: Space
    key: Key
    opener: Event
    parts: list[str]
    open: bool = True

    @property
    def name(self) -> str:
        """Its name in events."""
        name: str = self.opener[self.space.member]
        return name

    @property
    def owner(self) -> Any:
        """The subagent invocation it belongs to, or None."""
        return self.opener.get("subagentRunId")

    def __str__(self) -> str:
        """As sentences name it."""
        return f"{self.space.noun} {self.name!r}"


class StreamOrder(ABC):
    """All that is open in one run, and all that was."""

    reopened: ClassVar[frozenset[Space]]
    """Kinds of things that may be opened again after their end."""
    shared: ClassVar[frozenset[Space]] = frozenset()
    """Kinds of things that several may have open at a time: their last end closes them."""

    def __init__(self) -> None:
        self.items: dict[Space, dict[Key, Item]] = {space: {} for space in SPACES}
        self.open: dict[Space, dict[Key, Item]] = {space: {} for space in SPACES}
        self.joined: dict[tuple[Space, Key], int] = {}
        """How many ends of what is open close nothing: as many as joined in after the first."""
        self.late_ends: dict[tuple[Space, Key], int] = {}
        """How many ends are still to come of what the boundary has closed."""

    @abstractmethod
    def breach(self, fact: str, advice: str) -> Exception:
        """The error for an event that may not stand here; `advice` is for who sends it."""

    @abstractmethod
    def opening(self, space: Space, event: Event) -> None:
        """Refuse to open it for a reason of the policy's own."""

    def subagent_ends(self, item: Item) -> None:  # noqa: B027 - not every policy has a reason
        """Refuse the end of a subagent for a reason of the policy's own."""

    def follow(self, row: EventType, event: Event) -> Item | None:
        """Take an event with a `space`. Returns its item, or None if nothing has changed by it.

        Raises what `breach` makes of one that may not stand here; then nothing has changed either.
        """
        space = row.space
        assert space is not None  # noqa: S101 - the caller has looked
        name, owner = event[space.member], event.get("subagentRunId")
        key = (name, owner) if space is STEP else name
        item = self.items[space].get(key)
        if row.opens is not None:
            if item is not None:
                if item.open and space in self.shared:
                    self.joined[space, key] = self.joined.get((space, key), 0) + 1
                    return None
                if item.open or space not in self.reopened:
                    raise self._opened_before(row, item)
            self.opening(space, event)
            item = Item(space, key, dict(event), [])
            self.items[space][key] = self.open[space][key] = item
            return item
        is_open = item is not None and item.open
        if row.closes is not None and (spare := self.joined if is_open else self.late_ends):
            ends = spare.get((space, key), 0)
            if ends:
                spare[space, key] = ends - 1
                return None
        if item is None or not is_open:
            with_owner = ", with the same subagentRunId" if space is STEP else ""
            raise self.breach(
                f"{row.name}: no {space.noun} {name!r} is open",
                f"send {space.start} first{with_owner}",
            )
        if owner is not None and owner != item.owner:
            raise self.breach(
                f"{row.name}: its subagentRunId {owner!r} does not match that of the start",
                "repeat that one or leave it out",
            )
        if row.closes is not None:
            if space is SUBAGENT:
                self.subagent_ends(item)
            self.close(item)
        return item

    def open_in(self, *spaces: Space) -> list[Item]:
        """All that is open of these kinds, each in the order in which it was opened."""
        return [item for space in spaces for item in self.open[space].values()]

    def close(self, item: Item) -> None:
        """Forget that it is open, and what came through."""
        del self.open[item.space][item.key]
        item.open, item.parts = False, []

    def _opened_before(self, row: EventType, item: Item) -> Exception:
        again = f"a second start would append to it: use a new {item.space.member}"
        return self.breach(
            f"{row.name}: {item} was opened before",
            f"send {item.space.end} first" if item.open else again,
        )
