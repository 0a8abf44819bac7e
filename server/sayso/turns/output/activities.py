"""Activities of a turn: structured progress that clients show and models never see (AC-01, AC-02).

An activity is a message whose content changes. Its journal entry counts the writes that were made:
on replay so many are made again in silence, and what follows them is live.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sayso.agents.codec import to_json
from sayso.base import jsonpatch, jsonvalue
from sayso.base.errors import NestedCall
from sayso.base.records import Entry, Message
from sayso.base.texts import to_utf8_safe
from sayso.turns.journal.state import view
from sayso.turns.replay.execution import Execution, Place
from sayso.turns.replay.mistakes import awaited
from sayso.turns.replay.recorded import Recorded, recorded


class Activity:
    """An activity on the clients' screens, made by `turn.activity`; change it as work goes on."""

    def __init__(self, place: Place, kind: str) -> None:
        self._execution = execution = place.execution
        self._place = place
        self._kind = kind
        self._id = execution.identify("act", place.key)
        self._content: dict[str, Any] = {}
        self._size = 0
        self._writes = 0
        self._past = jsonvalue.decode(place.entry.data)["writes"] if place.entry else 0
        self._announced = False
        self._owner = execution.stream.owner

    @property
    def content(self) -> Any:
        """Its content now, as a read-only deep view."""
        return view(self._content)

    @awaited
    async def set(self, content: Mapping[str, Any]) -> None:
        """Show another content, an object; TypeError for anything else."""
        await self._check()
        self._show(_content(content), None)

    @awaited
    async def patch(self, operations: Sequence[Mapping[str, Any]]) -> None:
        """Apply an RFC 6902 patch, all of it or nothing; ValueError says which operation fails."""
        await self._check()
        plain = jsonvalue.decode(to_json(list(operations), "a patch of an activity"))
        self._show(_content(jsonpatch.apply(self._content, plain)), plain)

    async def _check(self) -> None:
        """Refuse where a turn cannot go on, and inside what does not run on replay."""
        execution = self._execution
        if execution.inside_effect():
            raise NestedCall(
                f"activity {self._kind!r} was changed inside a recorded step, which does not run "
                "on replay: return the value and change it after the step"
            )
        branch = execution.branches.current_or_new("activity")
        if execution.may_not_continue(branch):
            await execution.refuse(branch)

    def _show(self, content: dict[str, Any], patch: list[dict[str, Any]] | None) -> None:
        execution, shown = self._execution, self._writes > 0
        past = self._writes < self._past
        body = {
            "id": self._id,
            "role": "activity",
            "activityType": self._kind,
            "content": content,
        }
        message = Message(id=self._id, role="activity", body=jsonvalue.encode(body))
        if not past:
            execution.make_room(len(message.body) - self._size)
            execution.announce_phases(self._place.branch)
            execution.stream.emit_as(self._owner, self._event(content, patch))
            self._announced = True
            message = execution.stream.owned(message)
        self._content, self._size = content, len(message.body)
        self._writes += 1
        if past:
            return
        data = jsonvalue.encode({"writes": self._writes})
        self._place.record("done", data)
        if shown:
            execution.transcript.revise(message)
        else:
            execution.transcript.add(message)

    def _event(self, content: dict[str, Any], patch: list[dict[str, Any]] | None) -> dict[str, Any]:
        named = {"messageId": self._id, "activityType": self._kind}
        if patch is None or not self._announced:
            return {"type": "ACTIVITY_SNAPSHOT", **named, "content": content}
        return {"type": "ACTIVITY_DELTA", **named, "patch": patch}


async def show_activity(execution: Execution, kind: str, content: Mapping[str, Any]) -> Activity:
    """Show a new activity; on replay, the one that is there."""
    if not kind:
        raise ValueError("an activity needs a type, such as 'PLAN'")
    first = _content(content)
    return await recorded(execution, _Shown(to_utf8_safe(kind), first))


class _Shown(Recorded[Activity]):
    """An activity as it is shown first; what it shows records itself."""

    kind = "activity"
    beside_text = True

    def __init__(self, name: str, content: dict[str, Any]) -> None:
        self.name = name
        self._content = content

    async def run(self, place: Place) -> None:
        """Nothing: it is shown when its handle is made."""

    def read(self, place: Place, entry: Entry | None) -> Activity:
        """The handle, which has shown the content, or does so in silence."""
        activity = Activity(place, self.name)
        activity._show(self._content, None)
        return activity


def _content(value: Any) -> dict[str, Any]:
    plain = jsonvalue.decode(to_json(value, "the content of an activity"))
    if not isinstance(plain, dict):
        raise TypeError(
            f"the content of an activity is an object, not {type(value).__name__}: clients of the "
            "protocol take nothing else (AC-01)"
        )
    return plain
