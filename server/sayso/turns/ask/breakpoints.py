"""Breakpoints around steps, calls, phases and inner agents: where a run waits, asked by nobody.

A breakpoint is recorded beside the place that it stands at, so that it takes no place of its own:
breakpoints may come and go between runs, and replay finds what was asked. One *after* something is
noted in the commit that ends it, so that no crash gets past it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sayso.agents.asking import AskTerms
from sayso.agents.codec import Codec
from sayso.base import jsonvalue
from sayso.base.approvers import OWNER, Approvers
from sayso.base.breakpoints import When
from sayso.protocol.reasons import BREAKPOINT
from sayso.schemas.errors import SchemaViolation
from sayso.schemas.responses import Choice, ResponseType, choice_schema, with_arguments, with_result
from sayso.schemas.typed import errors_of
from sayso.turns.ask.interrupts import record_question, settled_answer
from sayso.turns.journal import places
from sayso.turns.journal.journal import fingerprint
from sayso.turns.replay.execution import Execution, Place

_KIND = "breakpoint"
_CHOICES = choice_schema(
    "Continue?",
    [
        Choice("continue", "Continue", "The agent continues from here."),
        Choice("stop", "Stop", "The turn ends here; nothing more is done."),
    ],
)
_MAX_SHOWN_BYTES = 65_536
"""Bytes of a result that a card shows; the journal has it whole."""
_FIXED = "Editing the state does not change these arguments."


@dataclass(frozen=True, slots=True)
class Named:
    """The thing that a breakpoint stands at, as a person reads it; `arguments` are a tool's.

    A tool is one of the app or of the client, an agent one that is delegated to.
    """

    of: Literal["step", "tool", "phase", "agent"]
    name: str
    shown: str
    tool_call_id: str | None = None
    arguments: dict[str, Any] | None = None
    parameters: dict[str, Any] | None = None
    """The schema of arguments that a person may write instead of these."""
    apart: bool = False
    """What that schema marks as secret is kept apart from them."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A thing in front of a breakpoint: its place, its name, and what came of it.

    `told` is shown: `{"result": …}` or `{"error": …}`, as JSON. `returns` is what a result has to
    be that a person may give in place of its own, None where none is taken.
    """

    place: Place
    what: Named
    told: dict[str, Any] | None = None
    returns: Codec | None = None


async def before(place: Place, what: Named, *, reached: bool = True) -> dict[str, Any]:
    """Return the answer once it may begin; raise `Pause` while a person looks, or has said stop.

    Whatever is recorded at the place has passed its breakpoint, or never had one. Not `reached`: a
    change of the state in between does not reach what it is called with.
    """
    execution = place.execution
    if execution.reevaluation is None:
        return {}
    waited = execution.reevaluation.waited(place.key)
    spot = _spot(place, "before", what, older=waited is None)
    if spot.entry is None or place.waits_for_other:
        if place.entry is None and _wanted(execution, "before", what):
            kept: dict[str, Any] = {"at": place.fingerprint}
            if what.tool_call_id is not None:
                kept["call"] = what.tool_call_id
            writes = place.branch.writes_before(place.key)
            if waited is not None:
                kept["since"] = waited.since
                writes = waited.and_more(writes)
            if writes:
                kept["writes"] = writes
            if not reached:
                kept["fixed"] = True
            fixed = not reached or places.is_named_by(place.key, place.fingerprint)
            told = {"note": _FIXED} if fixed and _has_arguments(place) else {}
            _ask(spot, "before", what, kept, told=told)
            raise execution.pause()
        return {}
    said = await _said(spot, "before", what)
    if said is None:
        raise execution.pause()
    if waited is not None:
        execution.passes(place, waited)
    return said


def note(place: Place, what: Named) -> None:
    """Note with the record of its end that the run is to wait after it."""
    execution = place.execution
    if execution.has_breakpoints and _wanted(execution, "after", what):
        spot = _spot(place, "after", what)
        if spot.entry is None:
            spot.record("started")


async def after(execution: Execution, ended: Sequence[Ended]) -> dict[str, Any]:
    """Return once the turn may go on after these; raises `Pause` like `before`.

    Gives the results that a person has given in place of others, by the key of the place.
    """
    if not execution.has_breakpoints:
        return {}
    waiting = False
    results: dict[str, Any] = {}
    for item in ended:
        what, response = item.what, _results(item.returns)
        spot = _spot(item.place, "after", what)
        if spot.entry is None:
            continue
        if spot.entry.status == "started":
            _ask(spot, "after", what, told=_short(item.told or {}), response=response)
            waiting = True
            continue
        said = await _said(spot, "after", what, response)
        if said is None:
            waiting = True
        elif "result" in said:
            results[item.place.key] = said["result"]
    if waiting:
        raise execution.pause()
    return results


def is_wanted(execution: Execution, what: Named) -> bool:
    """True if the run is to wait before this."""
    return _wanted(execution, "before", what)


def _wanted(execution: Execution, when: When, what: Named) -> bool:
    return any(points.matches(when, what.name) for points in execution.running.breakpoints)


def _approvers(execution: Execution, when: When, what: Named) -> Approvers:
    """Those of the breakpoint that was declared there; whoever only asks for one looks itself."""
    declared = (
        points.approvers
        for points in execution.running.breakpoints
        if points.matches(when, what.name) and not points.approvers.owners
    )
    return next(declared, OWNER)


def _spot(place: Place, when: When, what: Named, *, older: bool = True) -> Place:
    """The place of a breakpoint. One before something may come to stand before something else.

    `older`: as one is found that an older server has recorded.
    """
    execution = place.execution
    key = places.before(place.key) if when == "before" else places.after(place.key)
    requested = fingerprint(_KIND, f"{when} {what.of} {what.name}")
    if when == "before" and not (older and execution.journal.at(key)):
        requested = fingerprint(_KIND, when)
    return replace(
        place,
        kind=_KIND,
        name=what.name,
        key=key,
        fingerprint=requested,
        entry=execution.find(key, requested),
    )


def _has_arguments(place: Place) -> bool:
    """True if what begins there is called with anything."""
    kind, _, rest = place.fingerprint.partition(" ")
    return kind != "phase" and " " in rest


async def _said(
    spot: Place, when: When, what: Named, response: ResponseType | None = None
) -> dict[str, Any] | None:
    """The answer that lets the run continue; None where it stops, or nobody has answered."""
    execution = spot.execution
    assert spot.entry is not None  # noqa: S101 - what is recorded is read
    interrupt, _ = await settled_answer(spot, spot.entry)
    if interrupt.status == "open":
        if response is not None:
            execution.responses.keep(interrupt.id, response)
        execution.ask(spot.branch, interrupt)
        return None
    said: dict[str, Any] = jsonvalue.decode(interrupt.payload) if interrupt.payload else {}
    if interrupt.status == "resolved" and said.get("action") == "continue":
        return said
    execution.stop(f"the turn was stopped at the breakpoint {when} {what.of} {what.name!r}")
    return None


def _results(returns: Codec | None) -> ResponseType | None:
    """The type of an answer that may bring another result, which has to be one of the step's."""
    if returns is None:
        return None

    def problems(payload: Any) -> tuple[SchemaViolation, ...]:
        if "result" not in payload:
            return ()
        wrong = returns.refusal(jsonvalue.encode(payload["result"]))
        faults = () if wrong is None else errors_of(wrong, payload["result"])
        return tuple(SchemaViolation(f"/result{fault.pointer}", fault.message) for fault in faults)

    schema = with_result(_CHOICES, returns.schema)
    return ResponseType(schema, lambda payload: payload, problems, stricter=True)


def _short(outcome: dict[str, Any]) -> dict[str, Any]:
    """The outcome, or its size if it is too much for a card."""
    size = len(jsonvalue.encode(outcome))
    if size <= _MAX_SHOWN_BYTES:
        return outcome
    return {"note": f"The result has {size} bytes as JSON, too much to be shown."}


def _ask(
    spot: Place,
    when: When,
    what: Named,
    kept: dict[str, Any] | None = None,
    *,
    told: dict[str, Any],
    response: ResponseType | None = None,
) -> None:
    shown: dict[str, Any] = {"kind": _KIND, "when": when, "of": what.of, "name": what.name}
    if what.arguments is not None:
        shown["arguments"] = what.arguments
    schema = _CHOICES
    if response is not None and response.schema is not None:
        schema = response.schema
    elif when == "before" and what.parameters is not None:
        schema = with_arguments(_CHOICES, what.parameters)
    record_question(
        spot,
        data=kept or {},
        reason=BREAKPOINT,
        message=f"Breakpoint {when} {what.shown}. Continue?",
        schema=jsonvalue.encode(schema),
        metadata={"sayso": {**shown, **told}},
        tool_call_id=what.tool_call_id,
        asking=AskTerms(approvers=_approvers(spot.execution, when, what)),
        response=response,
        apart=what.apart and when == "before",
    )
