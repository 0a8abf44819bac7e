"""Inner agents: another agent's function as a part of the turn, with a `Turn` of its own.

Its code is a branch of the turn, below the place that called it: what it records and asks is found
by that path, whatever anybody is called (SA-13, K4). It is entered again like all code of the turn.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sayso.agents.codec import to_json
from sayso.agents.registry import Agent
from sayso.base import jsonvalue
from sayso.base.errors import NotAllowed, Problem, ReplayMismatch
from sayso.base.records import Entry
from sayso.base.texts import to_utf8_safe
from sayso.turns.ask import breakpoints
from sayso.turns.ask.breakpoints import Ended, Named
from sayso.turns.input import History, TurnInput
from sayso.turns.journal import places
from sayso.turns.replay.execution import Execution, Place
from sayso.turns.replay.recorded import Recorded, recorded
from sayso.turns.replay.stream import Invocation, enclosing

AgentFunction = Callable[[Any], Awaitable[Any]]
"""An agent: an async function of its turn."""

MAX_DEPTH = 16
"""Agents inside each other; one that always calls itself has to end somewhere."""


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
    LookupError for a name that is not registered, NotAllowed for one that this user may not run,
    RecursionError for too many agents inside each other, NotRecordable for
    messages without a JSON form; then nothing was recorded.
    """
    with execution.making("delegate", name or str(agent)):
        registered = _registered(execution, agent)
    own = registered.name if registered else getattr(agent, "__name__", "agent")
    label = to_utf8_safe(name or str(own))
    outer = execution.stream.owner
    if sum(1 for _ in enclosing(outer)) >= MAX_DEPTH:
        raise RecursionError(
            f"agent {label!r} would be more than {MAX_DEPTH} agents deep in itself"
        )
    text = None if text is None else to_utf8_safe(text)
    input_messages = (
        None if messages is None else jsonvalue.decode(to_json(messages, "messages of delegate"))
    )
    arguments = {k: v for k, v in (("text", text), ("messages", input_messages)) if v is not None}
    named = Named("agent", label, f"agent {label!r}")
    live, place, begun = await recorded(execution, Begin(named, arguments or None, registered))
    if "refused" in begun:
        raise NotAllowed(f"This user may not run agent {own!r}, which the agent hands over to.")
    chosen = _version(place, registered, begun.get("version"))
    function = chosen.function if chosen is not None else agent
    assert callable(function)  # noqa: S101 - names were looked up
    invocation = Invocation(
        execution.stream,
        id=begun["id"],
        name=label,
        description=to_utf8_safe(description or (chosen.description if chosen else "")),
        parent=outer,
        options=chosen.options if chosen else execution.running.options,
        agent=chosen.name if chosen else execution.running.name,
    )
    turn_input = _given(place, outer_input, text, input_messages)
    try:
        with execution.branches.within(place.branch, place.key, invocation) as inner:
            if live:
                execution.announce_phases(inner)
            result = await function(view(turn_input))
    except asyncio.CancelledError:
        if execution.may_not_continue(place.branch):
            execution.branches.unwind()
        else:  # by a timeout of the author's, in code that records nothing
            await recorded(execution, End(invocation, "it was cancelled"))
        raise
    except Exception as error:
        if not execution.check_all_replayed(places.below(inner.path), error):
            await execution.refuse(place.branch)
        because = f"{label} failed with {type(error).__name__}"
        await recorded(execution, End(invocation, because))
        raise
    if execution.may_not_continue(place.branch):
        await execution.refuse(place.branch)
    await recorded(execution, End(invocation, None, named))
    return result


class Begin(Recorded[tuple[bool, Place, dict[str, Any]]]):
    """The begin of an inner agent; gives whether it is live, where, and what is recorded."""

    kind = "delegate"

    def __init__(self, named: Named, arguments: Any, agent: Agent | None) -> None:
        self.name: str = named.name
        self.arguments: Any = arguments
        self._named, self._agent = named, agent

    def before(self, place: Place) -> Named:
        """The agent."""
        return self._named

    async def run(self, place: Place) -> Entry:
        """Record under which id it begins, and which version."""
        begun: dict[str, Any] = {"id": place.id("sub")}
        if self._agent is not None:
            begun["version"] = self._agent.version
            if not await _may_run(place.execution, self._agent.name):
                begun["refused"] = True
        return place.record("done", jsonvalue.encode(begun))

    def read(self, place: Place, entry: Entry | None) -> tuple[bool, Place, dict[str, Any]]:
        """Its record."""
        assert entry is not None  # noqa: S101 - `run` gives one
        return place.entry is None, place, jsonvalue.decode(entry.data)


class End(Recorded[None]):
    """The end of an inner agent; said again, in silence, on replay.

    A run waits after what is `named`; an `error` is not held up.
    """

    kind = "delegate end"

    def __init__(
        self, invocation: Invocation, error: str | None, named: Named | None = None
    ) -> None:
        self.name: str = invocation.name
        self._invocation, self._error, self._named = invocation, error, named

    async def run(self, place: Place) -> Entry:
        """Record it, of an agent that clients know of."""
        execution = place.execution
        if self._named is not None:
            breakpoints.note(place, self._named)
        entry = place.record("done")
        execution.announce_phases(place.branch)
        self._invocation.announce()
        return entry

    def after(self, place: Place, entry: Entry | None) -> Ended | None:
        """The agent, once clients know that it is over."""
        self._invocation.end(self._error)
        return None if self._named is None else Ended(place, self._named)

    def read(self, place: Place, entry: Entry | None) -> None:
        """Say that it is over, unless that was said."""
        self._invocation.end(self._error)


async def _may_run(execution: Execution, agent: str) -> bool:
    try:
        return await execution.authorization.allows(execution.principal, "run", agent)
    except Problem as problem:
        execution.abort(problem)
        raise execution.pause() from None


def _registered(execution: Execution, agent: AgentFunction | str) -> Agent | None:
    if isinstance(agent, str):
        registered = execution.agents.newest(agent)
        if registered is None:
            names = ", ".join(map(repr, execution.agents.names()))
            raise LookupError(f"there is no agent {agent!r} to delegate to; registered: {names}")
        return registered
    if not asyncio.iscoroutinefunction(agent):
        raise TypeError(f"{agent!r} is no agent: pass an async function of its turn, or a name")
    return execution.agents.of(agent)


def _version(place: Place, registered: Agent | None, recorded: str | None) -> Agent | None:
    """The version that the call began with, however long ago (design 3, rule 9)."""
    if registered is None or recorded is None or recorded == registered.version:
        return registered
    execution = place.execution
    agent = execution.agents.version(registered.name, recorded)
    if agent is None:
        mismatch = ReplayMismatch(
            place.key,
            f"agent {registered.name!r} version {recorded!r}",
            f"one that is not registered here ({registered.version!r} is)",
        )
        execution.fail(mismatch)
        raise mismatch
    return agent


def _given(
    place: Place,
    outer: TurnInput,
    text: str | None,
    messages: list[dict[str, Any]] | None,
) -> TurnInput:
    """The inner agent's input: the outer's, but for the text and messages of its own."""
    if text is None and messages is None:
        return outer
    if messages is None:
        message_id = place.id("msg", places.input_of(place.key))
        messages = [{"id": message_id, "role": "user", "content": text}]
    said = History(said=tuple(messages))
    return replace(outer, text=outer.text if text is None else text, history=said)
