"""The one way to what is recorded: live it is done once, on replay its record is read.

Whatever a turn does goes through here: enter a place; wait at a breakpoint before it; do it, unless
that was done; come out in the recorded order; wait at a breakpoint behind it; read the record.
"""

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from sayso.base.records import Entry
from sayso.turns.ask import breakpoints
from sayso.turns.ask.breakpoints import Ended, Named
from sayso.turns.replay.execution import Execution, Place
from sayso.turns.replay.protection import in_recorded_order

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Recorded(Protocol[T_co]):
    """Something that a turn does once; `kind`, `name` and `arguments` are its fingerprint.

    `beside_text`: what is recorded never pauses, so a message may be open meanwhile.
    `asks`: its answer is looked up in every execution, by `run`.
    """

    kind: str
    name: str
    arguments: Any = None
    beside_text: bool = False
    asks: bool = False

    def before(self, place: Place) -> Named | None:
        """The thing that a breakpoint in front of it shows; None where there can be none."""
        return None

    async def run(self, place: Place) -> Entry | None:
        """Do it; `place.entry` tells of a crash (*started*) or of a question (*asked*).

        Returns its record, None where it is recorded later.
        """

    def after(self, place: Place, entry: Entry | None) -> Ended | None:
        """The outcome that a breakpoint behind it shows; None where there can be none."""
        return None

    def replaced(self, place: Place, value: Any) -> T_co:
        """The caller's value where a person has given another result; by default its own."""
        return self.read(place, place.entry)

    def read(self, place: Place, entry: Entry | None) -> T_co:
        """The caller's value, the same live and on replay."""


class Batch(Protocol[T]):
    """Several things that are entered together and come out together."""

    items: Sequence[Recorded[T]]

    async def run(self, places: Sequence[Place]) -> Sequence[int]:
        """Bring them to their ends, in every execution; returns the numbers of those ends."""

    def landed(self) -> None:
        """All have come out, in their order."""


async def recorded(execution: Execution, item: Recorded[T]) -> T:
    """Do something once in the life of the turn; returns what is recorded of it."""
    place = await execution.enter(
        item.kind, item.name, item.arguments, beside_text=item.beside_text
    )
    if execution.has_breakpoints and (named := item.before(place)) is not None:
        await breakpoints.before(place, named)
    entry = place.entry
    if entry is None or entry.status != "done" or item.asks:
        entry = await item.run(place)
    if entry is not None and (end := execution.journal.ended(entry)) is not None:
        await in_recorded_order(execution, place.branch, (end,), place.branch.task)
    if execution.has_breakpoints and (ended := item.after(place, entry)) is not None:
        results = await breakpoints.after(execution, [ended])
        if place.key in results:
            return item.replaced(place, results[place.key])
    return item.read(place, entry)


async def recorded_all(execution: Execution, batch: Batch[T]) -> list[T]:
    """Do several things side by side; returns what is recorded of them, in order."""
    items = batch.items
    places = [await execution.enter(item.kind, item.name, item.arguments) for item in items]
    if not items:
        return []
    if ends := await batch.run(places):
        await in_recorded_order(execution, places[0].branch, ends)
    batch.landed()
    if execution.has_breakpoints:
        behind = (
            item.after(place, execution.journal.at(place.key))
            for item, place in zip(items, places, strict=True)
        )
        await breakpoints.after(execution, [ended for ended in behind if ended is not None])
    return [item.read(place, place.entry) for item, place in zip(items, places, strict=True)]
