"""The shared state of a turn: writes, the patches they are, and what replay makes of them. Pure.

State writes are not recorded, but for those of a tool's code that has ended and is not entered
again. On replay they are executed again without being sent, and build up what author code read
then; after each pause the state becomes the one that the turn was resumed with, which a person may
have changed (design 3, rule 8).
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from sayso.base import jsonvalue
from sayso.base.jsonpatch import Operation, apply
from sayso.base.limits import MAX_STATE_BYTES
from sayso.turns.journal import places

Written = tuple[int, str, Sequence[Operation]]
"""A write: its number among all of the turn, the branch that made it, and the patch."""


class TurnState:
    """The state of one turn, through its pauses.

    `pauses` are the recorded ones in order: `{"writes": {branch: count}, "state": …, "resume": …}`,
    where `writes` are all that each branch had made by then.
    """

    def __init__(self, start: Any, pauses: Sequence[dict[str, Any]] = ()) -> None:
        self.value: Any = _own(start)
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
        """True if replay has passed the last pause."""
        return self._passed == len(self._pauses)

    def writes_of(self, branch: str) -> list[Written]:
        """The writes of a branch and of those below it."""
        return [one for one in self._below if places.is_in(one[1], branch)]

    @property
    def visible(self) -> Any:
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
            self.value = _own(recorded["resume"])

    def has_passed(self, pause: int) -> bool:
        """True if replay has gone over to what the turn was resumed with after that pause."""
        return self._passed > pause

    def was_changed(self, pause: int) -> bool:
        """True if somebody has changed the state while the turn waited in that pause."""
        recorded = self._pauses[pause]
        return "resume" in recorded and not jsonvalue.equal(recorded["state"], recorded["resume"])

    def as_changed(self, since: int, pause: int, *, resumed: bool = True) -> Any:
        """The state of now with what has changed from one pause until the turn left another.

        Only what differs is put in, so that code in front of its own writes reads what it read
        then, but for that. Not `resumed`: until the turn began to wait in the other.
        """
        was, now = self._pauses[since]["state"], self._pauses[pause]
        return _changed(self.value, was, now["resume"] if resumed else now["state"])

    def has_caught_up(self, branch: str, pause: int) -> bool:
        """True if a branch has made all the writes that it had made by a pause."""
        made: int = self._pauses[pause]["writes"].get(branch, 0)
        return self._writes.get(branch, 0) >= made

    def catch_up(self, branch: str, pause: int) -> None:
        """Count a branch's writes as many as it had made by a pause.

        Code that is evaluated anew may make fewer of them, and what it writes next is new.
        """
        if not self.has_caught_up(branch, pause):
            self._writes[branch] = self._pauses[pause]["writes"][branch]

    def patch(
        self, branch: str, operations: Sequence[Operation], *, again: bool = False
    ) -> list[Operation]:
        """Apply a JSON Patch for a branch; returns the operations to send, none on replay.

        `again`: it is made out of a record, or by code that is evaluated anew, which is not held
        against it then.
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
        try:
            changed = apply(self.value, operations)
        except (ValueError, LookupError):
            if live or not again:
                raise
            changed = self.value  # made of a later state, which holds it already
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


def _changed(value: Any, was: Any, now: Any) -> Any:
    """A value with the members in which `now` differs from what `was`."""
    if not (isinstance(value, dict) and isinstance(was, dict) and isinstance(now, dict)):
        return value if jsonvalue.equal(was, now) else now
    if jsonvalue.equal(value, was):
        return now
    kept = {name: one for name, one in value.items() if name in now or name not in was}
    for name, one in now.items():
        if name not in was:
            kept[name] = one
        elif not jsonvalue.equal(was[name], one):
            kept[name] = _changed(value.get(name), was[name], one)
    return kept


def _bounded(value: Any, what: str) -> None:
    size = len(jsonvalue.encode(value))
    if size > MAX_STATE_BYTES:
        raise ValueError(
            f"{what} would have {size} bytes as JSON and clients take {MAX_STATE_BYTES}: keep "
            f"large values "
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

    def __setitem__(self, key: str, value: Any) -> NoReturn:
        """Refused: a write has to reach clients and the store."""
        raise TypeError(f"turn.state is read-only: write await turn.set('/…/{key}', value)")

    def __delitem__(self, key: str) -> NoReturn:
        """Refused, as `__setitem__` is."""
        raise TypeError(f"turn.state is read-only: remove {key!r} with await turn.patch(…)")

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


def _own(value: Any) -> Any:
    """A copy of a state, which is most often empty."""
    return {} if value == {} else copy.deepcopy(value)
