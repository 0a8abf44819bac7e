"""Code that is evaluated again, as a person has changed the state where it waited.

The arguments of what waits at a breakpoint were evaluated before it, and replay gives code the
state of that time. Where the state was changed during the wait, the code between the record before
and the place that waits reads it as changed, so that what goes on is what was looked at. What it
writes on that way stays as it was made and shown, whatever it would write now.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sayso.base import jsonvalue
from sayso.base.jsonpatch import Operation
from sayso.base.records import Entry, Interrupt
from sayso.turns.journal import places
from sayso.turns.journal.journal import Journal
from sayso.turns.journal.state import TurnState
from sayso.turns.replay.branch import Branch, Patch


@dataclass(frozen=True, slots=True)
class Waited:
    """A breakpoint before something, as it is recorded.

    `requested` is the fingerprint of what it was put for, of that kind and name; `call` the id of a
    tool call that was proposed. `pause` is the one that it asked in, `since` that in which the turn
    first waited there. `goes_on`: a person said continue; `changed`: and has changed the state in
    that pause; `reevaluated`: the code before the place reads what was changed.
    """

    entry: Entry
    data: dict[str, Any]
    requested: str
    pause: int
    since: int
    goes_on: bool
    changed: bool
    reevaluated: bool

    @property
    def place(self) -> str:
        """Where what waits stands."""
        return places.place_before(self.entry.place)

    @property
    def kind(self) -> str:
        """The kind of what it was put for."""
        return self.requested.partition(" ")[0]

    @property
    def writes(self) -> list[Patch]:
        """The patches of the state that were made on the way to the place."""
        writes: list[Patch] = self.data.get("writes", [])
        return writes

    def as_made(self, patch: Patch, before: Sequence[Patch]) -> Patch | None:
        """The write of the same members that was made on the way; None for a new one.

        `before` are the writes on the way so far: of several alike each stands for its own.
        """
        alike = [made for made in self.writes if _members(made) == _members(patch)]
        index = sum(_members(write) == _members(patch) for write in before)
        return alike[index] if index < len(alike) else None

    def and_more(self, writes: Sequence[Patch]) -> list[Patch]:
        """All writes that were made on the way, now that these were made on it."""
        new, made = [], list(self.writes)
        for write in writes:
            if write in made:
                made.remove(write)
            else:
                new.append(write)
        return [*self.writes, *new]

    @property
    def call(self) -> str | None:
        """The id of the tool call that was proposed and waits."""
        return self.data.get("call")

    def stands_for(self, kind: str, name: str) -> bool:
        """True if what the code asks for there is what it was put for, but for the arguments."""
        return (kind, name) == (self.kind, self.entry.name)


def _members(patch: Patch) -> list[tuple[Any, Any]]:
    """The operations of a patch, without their values."""
    return [(operation.get("op"), operation.get("path")) for operation in patch]


class Reevaluation:
    """The stretches of a turn's code that are evaluated again in this execution."""

    def __init__(
        self, journal: Journal, interrupts: Mapping[str, Interrupt], state: TurnState
    ) -> None:
        self._journal = journal
        self._interrupts = interrupts
        self._state = state
        self._stretches: dict[str, Waited] = {}
        self._tasks: dict[str, frozenset[str]] = {}
        """For each of those places the tasks that its branch had made by then, as branches."""
        if journal.holds("breakpoint"):
            for entry in journal.entries():
                if entry.kind == "breakpoint" and places.is_before(entry.place):
                    waited = self._read(entry)
                    if waited is not None and waited.reevaluated:
                        self._stretches[waited.place] = waited
                        journal.excuse(entry.place)

    @property
    def any(self) -> bool:
        """True if any code is evaluated again."""
        return bool(self._stretches)

    def waited(self, place: str) -> Waited | None:
        """The breakpoint that is recorded before a place; None also for one of older servers."""
        entry = self._journal.at(places.before(place))
        return None if entry is None else self._read(entry)

    def _read(self, entry: Entry) -> Waited | None:
        data = jsonvalue.decode(entry.data)
        if "at" not in data:
            return None
        pause, since = data["pause"], data.get("since", data["pause"])
        item = self._interrupts.get(data["interrupt"])
        said = jsonvalue.decode(item.payload) if item is not None and item.payload else {}
        resolved = item is not None and item.status == "resolved"
        goes_on = resolved and said.get("action") == "continue"
        changed = goes_on and self._state.was_changed(pause)
        reevaluated = data.get("anew")
        if reevaluated is None:
            place = places.place_before(entry.place)
            reached = "fixed" not in data and self._may_be(place, data["at"])
            reevaluated = (changed or since < pause) and reached
        return Waited(entry, data, data["at"], pause, since, goes_on, changed, reevaluated)

    def _may_be(self, place: str, requested: str) -> bool:
        """True if nothing that was done hangs on how the code before it was evaluated at first."""
        if places.is_named_by(place, requested):
            return False
        path, number = places.split(place) or ("", 0)
        for entry in self._journal.entries():
            branch, other = places.split(entry.place) or ("", -1)
            if branch == path and other >= number:
                return False
        return True

    def stretch(self, branch: Branch | None) -> Waited | None:
        """The breakpoint that a branch's code comes to next, if it reads the state of then."""
        waited = self._on_the_way(branch)
        return None if waited is None or self._state.has_passed(waited.pause) else waited

    def _on_the_way(self, branch: Branch | None) -> Waited | None:
        """The breakpoint that a branch's code comes to next, if it is evaluated again."""
        if not self._stretches or branch is None:
            return None
        waited = self._stretches.get(branch.upcoming())
        if waited is None:
            return None
        if waited.place not in self._tasks:
            self._tasks[waited.place] = frozenset(self._made(branch.path, waited.since))
        # Tasks that it made on its way are named by what they were called with then.
        return waited if self._tasks[waited.place] <= branch.labels() else None

    def _made(self, path: str, pause: int) -> Iterator[str]:
        """The tasks below a branch that had recorded anything by a pause."""
        for place in self._journal.by(pause):
            if (task := places.task_below(place, path)) is not None:
                yield task

    def read(self, branch: Branch | None) -> Any:
        """The state as the code of a branch reads it now."""
        waited = self.stretch(branch)
        if waited is None:
            return self._state.value
        return self._state.as_changed(waited.since, waited.pause, resumed=waited.goes_on)

    def write(self, branch: Branch, patch: Patch) -> tuple[Patch, Sequence[Operation]]:
        """Write the state for the code of a branch: the patch that counts, and what to send of it.

        On the way to a breakpoint what was made there stays as it was made, and is in the state
        that the turn was resumed with; that is where a new write is made.
        """
        waited, state = self._on_the_way(branch), self._state
        if waited is None:
            return patch, state.patch(branch.path, patch)
        made = waited.as_made(patch, branch.writes_before(waited.place))
        if made is None and waited.goes_on:
            state.catch_up(branch.path, waited.pause)
            state.resume(waited.pause)
            return patch, state.patch(branch.path, patch)
        if made is not None and state.has_caught_up(branch.path, waited.pause):
            return made, ()
        made = patch if made is None else made
        return made, state.patch(branch.path, made, again=True)

    def withdrawn(self) -> bool:
        """True if a call that was proposed is not made, as the state was changed."""
        return any(
            waited.call is not None and self._journal.is_due(waited.entry.place)
            for waited in self._stretches.values()
        )
