"""Inner agents: another agent's function as a part of the turn, with a `Turn` of its own.

Its code is a branch of the turn, below the place that called it: what it records and asks is found
by that path, whatever anybody is called (SA-13, K4). It is entered again like all code of the turn.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sayso import jsonvalue
from sayso.agents.codec import to_json
from sayso.agents.registry import Agent
from sayso.agents.turninput import History, TurnInput
from sayso.errors import ReplayMismatch
from sayso.turns import breakpoints
from sayso.turns.breakpoints import Named
from sayso.turns.execution import Execution, Place
from sayso.turns.invocation import Invocation, around

__all__ = ["AgentFunction", "delegate"]

AgentFunction = Callable[[Any], Awaitable[Any]]
"""An agent: an async function of its turn."""

DEEPEST = 16
"""Agents inside each other; one that always calls itself has to end somewhere."""
_KIND = "delegate"


async def delegate(
    execution: Execution,
    view: Callable[[TurnInput], Any],
    outer_input: TurnInput,
    agent: AgentFunction | str,
    *,
    text: str | None,
    messages: Sequence[Mapping[str, Any]] | None,
    name: str | None,
    description: str | None,
) -> Any:
    """Run an inner agent to its end; returns what it returns, raises what it raises.

    `view` makes the `Turn` that it gets, of an input that is `outer_input` but for what it is told.
    LookupError for a name that is not registered,
    RecursionError for too many agents inside each other, NotRecordable for
    messages without a JSON form; then nothing was recorded.
    """
    registered = _registered(execution, agent)
    own = registered.name if registered else getattr(agent, "__name__", "agent")
    label: str = name or str(own)
    outer = execution.stream.owner
    if sum(1 for _ in around(outer)) >= DEEPEST:
        raise RecursionError(f"agent {label!r} would be more than {DEEPEST} agents deep in itself")
    told = None if messages is None else jsonvalue.decode(to_json(messages, "messages of delegate"))
    arguments = {k: v for k, v in (("text", text), ("messages", told)) if v is not None}
    place = await execution.enter(_KIND, label, arguments or None)
    named = Named("agent", label, f"agent {label!r}")
    await breakpoints.before(execution, place, named)
    recorded = jsonvalue.decode(place.entry.data) if place.entry is not None else {}
    chosen = _version(execution, place, registered, recorded.get("version"))
    function = chosen.function if chosen is not None else agent
    assert callable(function)  # noqa: S101 - names were looked up
    invocation = Invocation(
        execution.stream,
        id=recorded.get("id") or execution.identify("sub", place.key),
        name=label,
        description=description or (chosen.description if chosen else ""),
        parent=outer,
        options=chosen.options if chosen else execution.options,
    )
    given = _given(execution, outer_input, place, text, told)
    try:
        with execution.branches.within(place.branch, place.key, invocation) as inner:
            if place.entry is None:
                begun = {"id": invocation.id, **({"version": chosen.version} if chosen else {})}
                execution.record(place, _KIND, label, "done", jsonvalue.encode(begun))
                execution.live(inner)
            result = await function(view(given))
    except asyncio.CancelledError:
        if execution.halted(place.branch):
            execution.branches.unwind()
        else:  # by a timeout of the author's, in code that records nothing
            await _end(execution, invocation, "it was cancelled")
        raise
    except Exception as error:
        await _end(execution, invocation, f"{label} failed with {type(error).__name__}")
        raise
    if execution.halted(place.branch):
        await execution.refuse(place.branch)
    ended = await _end(execution, invocation, None, named)
    await breakpoints.after(execution, [(ended, named)])
    return result


def _registered(execution: Execution, agent: AgentFunction | str) -> Agent | None:
    if isinstance(agent, str):
        found = execution.agents.newest(agent)
        if found is None:
            known = ", ".join(map(repr, execution.agents.names()))
            raise LookupError(f"there is no agent {agent!r} to delegate to; registered: {known}")
        return found
    if not asyncio.iscoroutinefunction(agent):
        raise TypeError(f"{agent!r} is no agent: pass an async function of its turn, or a name")
    return execution.agents.of(agent)


def _version(
    execution: Execution, place: Place, registered: Agent | None, recorded: str | None
) -> Agent | None:
    """The version that the call began with, however long ago (design 3, rule 9)."""
    if registered is None or recorded is None or recorded == registered.version:
        return registered
    found = execution.agents.version(registered.name, recorded)
    if found is None:
        mismatch = ReplayMismatch(
            place.key,
            f"agent {registered.name!r} version {recorded!r}",
            f"one that is not registered here ({registered.version!r} is)",
        )
        execution.break_off(mismatch)
        raise mismatch
    return found


def _given(
    execution: Execution,
    outer: TurnInput,
    place: Place,
    text: str | None,
    messages: list[dict[str, Any]] | None,
) -> TurnInput:
    """What the inner agent reads as its input: the outer's, but for what it is told."""
    if text is None and messages is None:
        return outer
    if messages is None:
        message_id = execution.identify("msg", f"{place.key}<")
        messages = [{"id": message_id, "role": "user", "content": text}]
    said = History(said=tuple(messages))
    return replace(outer, text=outer.text if text is None else text, history=said)


async def _end(
    execution: Execution, invocation: Invocation, error: str | None, named: Named | None = None
) -> Place:
    """Record that it is over, and say so unless that was said long ago.

    A run waits after what is `named`; an error is not held up.
    """
    place = await execution.enter("delegate end", invocation.name)
    if place.entry is None:
        if named is not None:
            breakpoints.note(execution, place, named)
        execution.record(place, "delegate end", invocation.name, "done")
        execution.live(place.branch)
        invocation.announce()
    invocation.end(error)
    return place
