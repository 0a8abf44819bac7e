"""Calls of the client's own tools: proposed, left to the client, gone on with once it has answered.

The run that makes such a call ends with it; the server never answers it (TC-11). What came of it is
in a tool message of a later request. Where none came, the caller is told so, and nobody else.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sayso import jsonvalue
from sayso.agents.codec import Codec, stable, to_json
from sayso.agents.outcomes import Call
from sayso.errors import NotOffered, NotRecordable
from sayso.gate.expiry import by_expiry
from sayso.gate.frontend import FRONT_END as REASON
from sayso.options import Default
from sayso.protocol.generations import flat
from sayso.records import Interrupt
from sayso.turns import breakpoints
from sayso.turns.breakpoints import Named
from sayso.turns.execution import Execution, Place
from sayso.turns.journal import FRONT_END
from sayso.turns.questions import answered, checked_times, interrupt_of, put
from sayso.turns.results import call_events, call_message
from sayso.turns.unsure import display

__all__ = ["call_frontend"]

_KIND = "frontend"
_UNANSWERED = "the conversation went on before the client said what came of this call"
_TOO_LATE = "the client did not say in time what came of this call"


async def call_frontend(
    execution: Execution,
    name: str,
    arguments: Mapping[str, Any] | None,
    *,
    returns: Any,
    expires_in: float | Default | None,
    expires_at: datetime | None,
) -> Call[Any]:
    """Have the client run a tool that it offered; the same call in one turn is made once.

    Raises `NotOffered`, `NotRecordable` for arguments without a JSON form, ValueError for times
    that are none. Nothing has been sent then.
    """
    given = dict(arguments or {})
    written = to_json(given, f"an argument of front-end tool {name!r}")
    plain = jsonvalue.decode(stable(given, written))
    codec = Codec(returns)
    checked_times(expires_in, expires_at)
    _check_offered(execution, name)
    place = await execution.enter(_KIND, name, plain)
    entry = place.entry or execution.journal.earlier(_KIND, place.fingerprint)
    named = Named("tool", name, f"front-end tool {display(name, plain)}", arguments=plain)
    if place.entry is not None or entry is None:
        await breakpoints.before(execution, place, named)
    if entry is None:
        call_id = execution.identify(FRONT_END, place.key)
        _propose(execution, place, call_id, name, plain)
        put(
            execution,
            place,
            kind=_KIND,
            name=name,
            data={"id": call_id},
            reason=REASON,
            message=None,
            schema=None,
            tool_call_id=call_id,
            expires_in=expires_in,
            expires_at=expires_at,
        )
        raise execution.pause()
    data = jsonvalue.decode(entry.data)
    interrupt = interrupt_of(execution, data)
    if interrupt.status == "open":
        if place.entry is None:
            execution.record(place, _KIND, name, "asked", entry.data)
        execution.ask(place.branch, interrupt)
        raise execution.pause()
    if place.entry is None:
        execution.record(place, _KIND, name, "done", entry.data)
    await answered(execution, entry, data)
    if place.entry is entry:
        if data["pause"] == len(execution.pauses) - 1:  # its answer is what the turn goes on with
            breakpoints.note(execution, place, named)
        await breakpoints.after(execution, [(place, named)])
    return _outcome(interrupt, name, plain, codec)


def _check_offered(execution: Execution, name: str) -> None:
    offered = [tool["name"] for tool in execution.given.tools]
    if name not in offered:
        listed = ", ".join(map(repr, offered)) or "none"
        raise NotOffered(
            f"the client offered no tool {name!r} with the message that began this turn (offered: "
            f"{listed}): look at turn.input.tools first, and ask a person otherwise"
        )


def _propose(
    execution: Execution, place: Place, call_id: str, name: str, arguments: dict[str, Any]
) -> None:
    """Stream the call, whole; not one that is in the history, as after a crash (TC-10)."""
    if call_id in execution.transcript.proposed:
        return
    execution.live(place.branch)
    message_id = execution.message_id(place.key)
    text = jsonvalue.encode(arguments).decode()
    execution.remember(call_message(message_id, [(call_id, name, text)]))
    for event in call_events(message_id, call_id, name, text):
        execution.stream.emit(event)


def _outcome(interrupt: Interrupt, name: str, arguments: dict[str, Any], codec: Codec) -> Call[Any]:
    """What the author gets: the same live and on replay."""
    if interrupt.status != "resolved":
        late = by_expiry(interrupt)
        reason = _TOO_LATE if late else _UNANSWERED
        return Call(
            status="expired" if late else "cancelled",
            args=arguments,
            text=f"Unanswered: {reason}. Nobody knows whether it was carried out.",
            reason=reason,
        )
    said = jsonvalue.decode(interrupt.payload or b"{}")
    content, error = said["content"], said.get("error")
    text = flat(content)
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
