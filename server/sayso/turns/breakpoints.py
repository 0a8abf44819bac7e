"""Breakpoints around steps, calls, phases and inner agents: where a run waits, asked by nobody.

A breakpoint is recorded beside the place that it stands at, so that it takes no place of its own:
breakpoints may come and go between runs, and replay finds what was asked. One *after* something is
noted in the commit that ends it, so that no crash gets past it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sayso import jsonvalue
from sayso.breakpoints import When
from sayso.schemas.forms import Choice, choice_schema
from sayso.turns.execution import Execution, Place
from sayso.turns.journal import fingerprint
from sayso.turns.questions import answered, put

__all__ = ["REASON", "Named", "after", "before", "note"]

REASON = "sayso:breakpoint"
_KIND = "breakpoint"
_SCHEMA = jsonvalue.encode(
    choice_schema(
        "Go on?",
        [
            Choice("continue", "Continue", "The agent goes on from here."),
            Choice("stop", "Stop", "The turn ends here; nothing more is done."),
        ],
    )
)


@dataclass(frozen=True, slots=True)
class Named:
    """What a breakpoint may stand at, as a person reads it; `arguments` are those of a tool.

    A tool is one of the app or of the client, an agent one that is delegated to.
    """

    of: Literal["step", "tool", "phase", "agent"]
    name: str
    shown: str
    tool_call_id: str | None = None
    arguments: dict[str, Any] | None = None


async def before(execution: Execution, place: Place, what: Named) -> None:
    """Return once it may begin; raises `Pause` while a person looks, or has said stop.

    Whatever is recorded at the place has passed its breakpoint, or never had one.
    """
    if not execution.breaks:
        return
    spot = _spot(execution, place, "before", what)
    due = place.entry is None and spot.entry is None and _wanted(execution, "before", what)
    if await _waits(execution, spot, "before", what, due=due):
        raise execution.pause()


def note(execution: Execution, place: Place, what: Named) -> None:
    """Note with the record of its end that the run is to wait after it."""
    if execution.breaks and _wanted(execution, "after", what):
        spot = _spot(execution, place, "after", what)
        if spot.entry is None:
            execution.record(spot, _KIND, what.name, "started")


async def after(execution: Execution, ended: Sequence[tuple[Place, Named]]) -> None:
    """Return once the turn may go on after these; raises `Pause` like `before`."""
    if not execution.breaks:
        return
    waiting = False
    for place, what in ended:
        spot = _spot(execution, place, "after", what)
        due = spot.entry is not None and spot.entry.status == "started"
        waiting |= await _waits(execution, spot, "after", what, due=due)
    if waiting:
        raise execution.pause()


def _wanted(execution: Execution, when: When, what: Named) -> bool:
    return any(one.stop(when, what.name) for one in execution.breakpoints)


def _spot(execution: Execution, place: Place, when: When, what: Named) -> Place:
    key = f"{place.key}~{when}"
    wanted = fingerprint(_KIND, f"{when} {what.of} {what.name}")
    return replace(place, key=key, fingerprint=wanted, entry=execution.look(key, wanted))


async def _waits(execution: Execution, spot: Place, when: When, what: Named, *, due: bool) -> bool:
    """Whether the run stops here; asks if it is time to, and reads the answer if there is one."""
    if due:
        _ask(execution, spot, when, what)
        return True
    if spot.entry is None:
        return False
    interrupt, _ = await answered(execution, spot.entry)
    if interrupt.status == "open":
        execution.ask(spot.branch, interrupt)
        return True
    payload = jsonvalue.decode(interrupt.payload) if interrupt.payload else {}
    if interrupt.status == "resolved" and payload.get("action") == "continue":
        return False
    execution.stop(f"the turn was stopped at the breakpoint {when} {what.of} {what.name!r}")
    return True


def _ask(execution: Execution, spot: Place, when: When, what: Named) -> None:
    told: dict[str, Any] = {"kind": _KIND, "when": when, "of": what.of, "name": what.name}
    if what.arguments is not None:
        told["arguments"] = what.arguments
    put(
        execution,
        spot,
        kind=_KIND,
        name=what.name,
        data={},
        reason=REASON,
        message=f"Breakpoint {when} {what.shown}. Go on?",
        schema=_SCHEMA,
        metadata={"sayso": told},
        tool_call_id=what.tool_call_id,
    )
