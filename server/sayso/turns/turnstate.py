"""The shared state of a turn: writes, the patches they are, and what replay makes of them. Pure.

State writes are not recorded, but for those of a tool's code that has ended and is not entered
again. On replay they are executed again without being sent, and build up what author code read
then; after each pause the state becomes the one that the turn was resumed with, which a person may
have changed (design 3, rule 8).
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sayso import jsonvalue
from sayso.jsonpatch import Operation, apply

__all__ = ["StateView", "TurnState", "Written", "view"]

LARGEST: Final = 8 * 1024 * 1024
"""Bytes of a state, and of a patch, as JSON: one frame has to hold either (EN-09)."""


Written = tuple[int, str, Sequence[Operation]]
"""A write: its number among all of the turn, the branch that made it, and the patch."""


class TurnState:
    """The state of one turn, through its pauses.

    `pauses` are the recorded ones in order: `{"writes": {branch: count}, "state": …, "resume": …}`,
    where `writes` are all that each branch had made by then.
    """

    def __init__(self, start: Any, pauses: Sequence[dict[str, Any]] = ()) -> None:
        self.value = copy.deepcopy(start)
        self.difference: str | None = None
        """A sentence, once the code's own writes did not lead to a recorded state."""
        self._pauses = tuple(pauses)
        self._passed = 0
        self._writes: dict[str, int] = {}
        self._replayed = 0
        self._made = 0
        self._below: list[Written] = []

    @property
    def writes(self) -> dict[str, int]:
        """How many writes each branch has made so far, for the record of the next pause."""
        return dict(self._writes)

    @property
    def is_present(self) -> bool:
        """Whether replay has passed the last pause."""
        return self._passed == len(self._pauses)

    def made(self, branch: str) -> list[Written]:
        """The writes of a branch and of those below it."""
        return [one for one in self._below if f"{one[1]}/".startswith(f"{branch}/")]

    @property
    def shown(self) -> Any:
        """The state that clients see: never the past that a replay walks through."""
        if self.is_present:
            return self.value
        return self._pauses[-1]["resume"]

    def resume(self, pause: int) -> None:
        """Go over to the state that the turn was resumed with after that pause, once."""
        while self._passed <= pause < len(self._pauses):
            recorded = self._pauses[self._passed]
            complete = self._replayed == sum(recorded["writes"].values())
            if complete and not jsonvalue.equal(self.value, recorded["state"]):
                self.difference = self.difference or (
                    "the state that the code builds is not the one recorded at the pause"
                )
            self._passed += 1
            self._replayed = sum(recorded["writes"].values())
            self._made = max(self._made, self._replayed)
            self.value = copy.deepcopy(recorded["resume"])

    def patch(
        self, branch: str, operations: Sequence[Operation], *, again: bool = False
    ) -> list[Operation]:
        """Apply a JSON Patch for a branch; returns the operations to send, none on replay.

        `again`: it is made out of a record and not by code, which is not held against it then.
        Raises ValueError or LookupError, and changes nothing, when the patch does not apply.
        """
        count = self._writes.get(branch, 0)
        before = self._before(branch, count)
        if before < self._passed:
            # The state that the turn was resumed with holds it already.
            self._note(branch, operations)
            return []
        self.resume(before - 1)
        live = before == len(self._pauses)
        if live:
            _bounded(operations, "this patch")
        changed = apply(self.value, operations)
        if live:
            _bounded(changed, "the state")
        self._note(branch, operations)
        same = jsonvalue.equal(changed, self.value)
        self.value = changed
        if not live:
            self._replayed += not again
            return []
        return [] if same else [dict(operation) for operation in operations]

    def _note(self, branch: str, operations: Sequence[Operation]) -> None:
        self._writes[branch] = self._writes.get(branch, 0) + 1
        self._made += 1
        if branch:
            self._below.append((self._made, branch, operations))

    def _before(self, branch: str, count: int) -> int:
        """The first pause by which a branch had made its write of that number."""
        for pause in range(max(self._passed - 1, 0), len(self._pauses)):
            if count < self._pauses[pause]["writes"].get(branch, 0):
                return pause
        return len(self._pauses)


def _bounded(value: Any, what: str) -> None:
    size = len(jsonvalue.encode(value))
    if size > LARGEST:
        raise ValueError(
            f"{what} would have {size} bytes as JSON and clients take {LARGEST}: keep large values "
            "in a store of your own and put a reference here"
        )


class StateView(Mapping[str, Any]):
    """A read-only deep view of an object in the state; lists come as tuples of views."""

    __slots__ = ("_value",)

    def __init__(self, value: dict[str, Any]) -> None:
        self._value = value

    def __getitem__(self, key: str) -> Any:
        """The member, as a view."""
        return view(self._value[key])

    def __iter__(self) -> Iterator[str]:
        """The names of the members."""
        return iter(self._value)

    def __len__(self) -> int:
        """How many members there are."""
        return len(self._value)

    def __repr__(self) -> str:
        """As the dict that it shows."""
        return f"StateView({self._value!r})"


def view(value: Any) -> Any:
    """A read-only deep view of a JSON value; scalars are themselves."""
    if isinstance(value, dict):
        return StateView(value)
    if isinstance(value, list):
        return tuple(view(item) for item in value)
    return value
