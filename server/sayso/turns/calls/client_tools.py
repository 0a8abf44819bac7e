"""Calls of the client's own tools: proposed, left to the client, gone on with once it has answered.

The run that makes such a call ends with it; the server never answers it (TC-11). What came of it is
in a tool message of a later request. Where none came, the caller is told so, and nobody else.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sayso.agents.briefing import display
from sayso.agents.codec import Codec, in_stable_order, to_json
from sayso.agents.outcomes import Call, ClientCallTerms
from sayso.base import jsonvalue
from sayso.base.default import DEFAULT
from sayso.base.errors import NotRecordable, ToolNotOffered
from sayso.base.records import Entry, Interrupt
from sayso.gate.interrupts import settled_by_expiry
from sayso.protocol import reasons
from sayso.protocol.compat import as_text
from sayso.turns.ask import breakpoints
from sayso.turns.ask.breakpoints import Ended, Named
from sayso.turns.ask.interrupts import interrupt_of, record_question, settled_answer
from sayso.turns.ask.questions import checked_times
from sayso.turns.journal.journal import CLIENT_TOOL
from sayso.turns.output.messages import propose
from sayso.turns.replay.execution import Execution, Place
from sayso.turns.replay.recorded import Recorded, recorded

_UNANSWERED = "the conversation went on before the client said what came of this call"
_TOO_LATE = "the client did not say in time what came of this call"


async def call_client_tool(
    execution: Execution,
    name: str,
    arguments: Mapping[str, Any] | None,
    schema: Any,
    terms: ClientCallTerms,
) -> Call[Any]:
    """Have the client run a tool that it offered.

    The same call in one turn is made once, unless it is to be made `again`.

    Raises `ToolNotOffered`, `NotRecordable` for arguments without a JSON form, ValueError for times
    that are none. Nothing has been sent then.
    """
    values = dict(arguments or {})
    written = to_json(values, f"an argument of front-end tool {name!r}")
    plain = jsonvalue.decode(in_stable_order(values, written))
    codec = Codec(schema)
    waits: dict[str, Any] = {"expires_in": DEFAULT, "expires_at": None, **terms}
    again: bool = waits.pop("again", False)
    checked_times(**waits)
    _check_offered(execution, name)
    return await recorded(execution, _ClientCall(name, plain, codec, waits, again=again))


class _ClientCall(Recorded[Call[Any]]):
    """A call that the client makes; an equal one has the first one's answer, or is made `again`."""

    kind = "client_tool"
    asks = True

    def __init__(
        self,
        name: str,
        arguments: dict[str, Any],
        codec: Codec,
        times: dict[str, Any],
        *,
        again: bool,
    ) -> None:
        self._again = again
        self.name, self.arguments = name, arguments
        self._codec = codec
        self._times = times
        self._interrupt: Interrupt | None = None
        shown = f"front-end tool {display(name, arguments)}"
        self._named = Named("tool", name, shown, arguments=arguments)

    def _first(self, place: Place) -> Entry | None:
        """The record here, or that of the first call that asked for the same."""
        if self._again:
            return place.entry
        return place.entry or place.execution.journal.earlier(self.kind, place.fingerprint)

    def before(self, place: Place) -> Named | None:
        """The call, where it is made."""
        made = place.entry is not None or self._first(place) is None
        return self._named if made else None

    async def run(self, place: Place) -> Entry:
        """Leave the call to the client, or wait until it has answered."""
        execution, entry = place.execution, self._first(place)
        if entry is None:
            self._put(place)
            raise execution.pause()
        data = jsonvalue.decode(entry.data)
        interrupt = self._interrupt = interrupt_of(execution, data)
        if interrupt.status == "open":
            if place.entry is None:
                place.record("asked", entry.data)
            execution.ask(place.branch, interrupt)
            raise execution.pause()
        if place.entry is None:
            place.record("done", entry.data)
        await settled_answer(place, entry, data)
        return entry

    def _put(self, place: Place) -> None:
        call_id = place.id(CLIENT_TOOL)
        _propose(place, call_id, self.name, self.arguments)
        record_question(
            place,
            data={"id": call_id},
            reason=reasons.CLIENT_TOOL,
            message=None,
            schema=None,
            tool_call_id=call_id,
            **self._times,
        )

    def after(self, place: Place, entry: Entry | None) -> Ended | None:
        """The outcome of the call, where it was made."""
        execution = place.execution
        if not execution.has_breakpoints or entry is None or place.entry is not entry:
            return None
        pause = jsonvalue.decode(entry.data)["pause"]
        if pause == len(execution.pauses) - 1:  # its answer is what the turn goes on with
            breakpoints.note(place, self._named)
        came = self.read(place, entry)
        outcome = {"result": came.text} if came.status == "executed" else {"error": came.text}
        return Ended(place, self._named, outcome)

    def read(self, place: Place, entry: Entry | None) -> Call[Any]:
        """The author's outcome: the same live and on replay."""
        assert self._interrupt is not None  # noqa: S101 - `run` has come to its end
        came = _outcome(self._interrupt, self.name, self.arguments, self._codec)
        return replace(came, id=self._interrupt.tool_call_id or "")


def _check_offered(execution: Execution, name: str) -> None:
    offered = [tool["name"] for tool in execution.input.tools]
    if name not in offered:
        listed = ", ".join(map(repr, offered)) or "none"
        raise ToolNotOffered(
            f"the client offered no tool {name!r} with the message that began this turn (offered: "
            f"{listed}): look at turn.input.tools first, and ask a person otherwise"
        )


def _propose(place: Place, call_id: str, name: str, arguments: dict[str, Any]) -> None:
    """Stream the call, whole; not one that is in the history, as after a crash (TC-10)."""
    execution = place.execution
    if call_id in execution.transcript.proposed:
        return
    propose(place, [(call_id, name, jsonvalue.encode(arguments).decode())])


def _outcome(interrupt: Interrupt, name: str, arguments: dict[str, Any], codec: Codec) -> Call[Any]:
    """The author's outcome: the same live and on replay."""
    if interrupt.status != "resolved":
        late = settled_by_expiry(interrupt)
        reason = _TOO_LATE if late else _UNANSWERED
        return Call(
            status="expired" if late else "cancelled",
            args=arguments,
            text=f"Unanswered: {reason}. Nobody knows whether it was carried out.",
            reason=reason,
        )
    said = jsonvalue.decode(interrupt.payload or b"{}")
    content, error = said["content"], said.get("error")
    text = as_text(content)
    if error is not None:
        return Call(
            status="failed",
            args=arguments,
            text=f"Failed: {error}" + (f" ({text})" if text and text != error else ""),
            reason=error,
            by=interrupt.decided_by,
        )
    try:
        value = _value(content, codec, f"the result of front-end tool {name!r}")
    except NotRecordable as misfit:
        # It did run; only its answer is not what was expected.
        return Call(
            status="failed", args=arguments, text=text, reason=str(misfit), by=interrupt.decided_by
        )
    return Call(
        status="executed",
        args=arguments,
        text=text or '""',  # a model would take nothing at all for no answer
        value=value,
        by=interrupt.decided_by,
        parts=content if isinstance(content, list) else (),
    )


def _value(content: Any, codec: Codec, what: str) -> Any:
    """The content as the type that was asked for: text stays text, other types are its JSON."""
    if codec.annotation is Any or codec.annotation is str or not isinstance(content, str):
        return codec.decode(jsonvalue.encode(content), what)
    try:
        return codec.decode(content.encode(), what)
    except NotRecordable:
        # A text that is no JSON may still be one of the texts that were expected.
        return codec.decode(jsonvalue.encode(content), what)
