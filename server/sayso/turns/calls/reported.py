"""Calls that somebody else makes: a provider's hosted tool, or an agent elsewhere.

They are told, kept and audited like calls of the turn's own, and decided by nobody here. Where
their maker asks and a rule answers, that is audited too. The result may come later, from other
code, and has a place of its own. A call without one gets one that says so once the turn is over
(`dangling`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sayso.agents.codec import to_json
from sayso.agents.parts import Part
from sayso.agents.told import Told, words_of
from sayso.base import jsonvalue
from sayso.base.audit import REPORTED, REPORTED_DECISION, REPORTED_RESULT
from sayso.base.errors import TurnError
from sayso.base.records import Entry
from sayso.base.texts import to_utf8_safe
from sayso.turns.calls.results import Content, result_event, tool_message
from sayso.turns.journal import places
from sayso.turns.output.messages import propose
from sayso.turns.replay.execution import Execution, Place
from sayso.turns.replay.mistakes import awaited
from sayso.turns.replay.recorded import Recorded, recorded

_TOO_LARGE: Final = "The result does not fit into this thread any more."


class ReportedCall:
    """A call that somebody else makes, made by `turn.report`; say what came of it with `result`.

    `id` is the `toolCallId` that clients know, `told_as` the id that its maker gave it, None where
    there is none.
    """

    def __init__(self, place: Place, name: str, told_as: str | None) -> None:
        self.id: str = place.id("call")
        self.told_as: str | None = told_as
        self._execution = place.execution
        self._name = name
        self._message_id = place.id("msg", places.result(place.key))
        self._over = False

    @awaited
    async def result(self, text: str | Sequence[Part], error: str | None = None) -> None:
        """Tell what came of the call, once: a text, or content parts (`sayso.parts`).

        With `error` it has failed, for that reason. Raises TypeError for another result, TurnError
        for a second one.
        """
        if self._over:
            raise TurnError(f"reported call {self._name!r} has its result: it is told once")
        content = _content(text, error)
        self._over = True
        item = _Result(self._name, self.id, self._message_id, content, failed=error is not None)
        await recorded(self._execution, item)


async def report_call(
    execution: Execution, name: str, arguments: Mapping[str, Any], told_as: str | None
) -> ReportedCall:
    """Tell of a call that somebody else makes; on replay, the one that was told.

    ValueError for an empty name, NotRecordable for arguments that are no JSON.
    """
    written = _written(name, arguments)
    maker = None if told_as is None else to_utf8_safe(told_as)
    return await recorded(execution, _Report(to_utf8_safe(name), written, maker))


def _written(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as they are recorded."""
    if not name:
        raise ValueError("a reported call has the name of a tool, such as 'web_search'")
    written = to_json(dict(arguments), f"an argument of reported call {name!r}")
    plain: dict[str, Any] = jsonvalue.decode(written)
    return plain


class _Report(Recorded[ReportedCall]):
    """The call as it is told."""

    kind = REPORTED
    beside_text = True

    def __init__(self, name: str, arguments: dict[str, Any], told_as: str | None) -> None:
        self.name, self.arguments = name, arguments
        self._told_as = told_as

    async def run(self, place: Place) -> Entry:
        """Tell it, whole."""
        call_id = place.id("call")
        propose(place, [(call_id, self.name, jsonvalue.encode(self.arguments).decode())])
        data = {"id": call_id} | ({} if self._told_as is None else {"told": self._told_as})
        return place.record("done", jsonvalue.encode(data))

    def read(self, place: Place, entry: Entry | None) -> ReportedCall:
        """The handle."""
        return ReportedCall(place, self.name, self._told_as)


async def report_decision(
    execution: Execution,
    name: str,
    arguments: Mapping[str, Any],
    *,
    rule: str,
    allowed: bool,
    told_as: str | None,
) -> None:
    """Note what a rule said to a call that somebody else makes; nothing is told.

    ValueError for an empty name, NotRecordable for arguments that are no JSON.
    """
    written = _written(name, arguments)
    said = {"rule": to_utf8_safe(rule), "status": "allowed" if allowed else "denied"}
    await recorded(execution, _RuleDecision(to_utf8_safe(name), written, said, told_as))


class _RuleDecision(Recorded[None]):
    """A row of the audit trail; clients are not told."""

    kind = REPORTED_DECISION
    beside_text = True

    def __init__(
        self, name: str, arguments: dict[str, Any], said: dict[str, str], told_as: str | None
    ) -> None:
        self.name, self.arguments = name, arguments
        self._said, self._told_as = said, told_as

    async def run(self, place: Place) -> Entry:
        """Note it, under the id that clients know the call by, if this turn has told of it."""
        calls = (
            jsonvalue.decode(entry.data)
            for entry in place.execution.journal.entries()
            if entry.kind == REPORTED
        )
        maker = None if self._told_as is None else to_utf8_safe(self._told_as)
        ids = (call["id"] for call in calls if maker is not None and call.get("told") == maker)
        return place.record("done", jsonvalue.encode({"id": next(ids, None), **self._said}))

    def read(self, place: Place, entry: Entry | None) -> None:
        """Nothing comes of it."""


class _Result(Recorded[None]):
    """Its result. A retry of a turn whose end has closed the call adds none."""

    kind = REPORTED_RESULT
    beside_text = True

    def __init__(
        self, name: str, call_id: str, message_id: str, content: Content, *, failed: bool
    ) -> None:
        self.name, self.arguments = name, [call_id]
        self._call_id, self._message_id = call_id, message_id
        self._content, self._failed = content, failed

    async def run(self, place: Place) -> Entry:
        """Tell it, behind the call."""
        execution = place.execution
        if all(message.id != self._message_id for message in execution.transcript.messages):
            message = tool_message(self._message_id, self._call_id, self._content)
            if not execution.transcript.fits(len(message.body)):
                self._content = _TOO_LARGE
                message = tool_message(self._message_id, self._call_id, self._content)
            execution.add_message(message)
            place.emit(result_event(self._message_id, self._call_id, self._content))
        status = "failed" if self._failed else "executed"
        return place.record("done", jsonvalue.encode({"id": self._call_id, "status": status}))

    def read(self, place: Place, entry: Entry | None) -> None:
        """Nothing comes of it."""


def _content(text: str | Sequence[Part], error: str | None) -> Content:
    """The result as clients and models read it, never empty: that would be no answer."""
    words: Content = words_of(Told(None, text))
    if error is None:
        return words or '""'
    reason = to_utf8_safe(f"Failed: {error}")
    if isinstance(words, list):
        return [{"type": "text", "text": reason}, *words]
    return f"{reason} ({words})" if words and words != error else reason
