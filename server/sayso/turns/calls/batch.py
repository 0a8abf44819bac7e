"""Tool calls: proposed, decided, run once, and answered with exactly one result each.

A gated call is streamed whole, then asks; on resume it is not streamed again, only its result is
(TB-01, TB-02). Arguments come from the journal, never from what a client sends (SB-05).

Calls that lack arguments, of tools that may ask for them (`complete=True`).

The question comes before the call: nothing is proposed that nobody could run. Who withdraws it, or
lets it expire, leaves the call unmade.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sayso.agents.codec import to_json
from sayso.agents.outcomes import Answer, Call, Question, ToolCall
from sayso.agents.policy import Policy
from sayso.agents.tools import Tool
from sayso.agents.toolset import ToolsByName
from sayso.base import jsonvalue
from sayso.base.errors import DeclarationError
from sayso.schemas.errors import SchemaViolation
from sayso.schemas.responses import ResponseType
from sayso.turns.ask import breakpoints
from sayso.turns.ask.questions import questions
from sayso.turns.calls.call import RunningCall
from sayso.turns.calls.steps import rewrite_state
from sayso.turns.journal import places
from sayso.turns.journal.state import Written
from sayso.turns.output.messages import propose
from sayso.turns.replay.effects import contain_exit
from sayso.turns.replay.execution import Execution, Place
from sayso.turns.replay.protection import uncancellable
from sayso.turns.replay.recorded import Batch, recorded_all


def tool_call(tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolCall:
    """A call as `Turn.call` is given it: a `ToolCall`, a mapping, or arguments of the function.

    TypeError for arguments that the function has no place for, or that are given twice.
    """
    if isinstance(tool, ToolCall):
        if args or kwargs:
            raise TypeError("turn.call(ToolCall(…)) takes no arguments beside those in it")
        return tool
    if not args:
        return ToolCall(tool, kwargs)
    if len(args) == 1 and not kwargs and isinstance(args[0], Mapping):
        return ToolCall(tool, args[0])
    if not isinstance(tool, Tool):
        raise TypeError(
            f"turn.call({tool!r}, …) takes the arguments of a tool by name as one mapping: "
            f'turn.call({tool!r}, {{"…": …}})'
        )
    return ToolCall(tool, tool.by_name(args, kwargs))


async def call_all(
    execution: Execution, requested: Sequence[ToolCall], turn: Any
) -> list[Call[Any]]:
    """Make tool calls side by side: free ones run now, gated ones ask together.

    `turn` is what tools get that take one. Before anything is sent raises pydantic's
    `ValidationError` or `ArgumentsMisfit` for arguments that do not fit, `NotRecordable` for those
    that JSON would change, LookupError for a name that no tool has, TypeError for what is neither.
    """
    if not requested:
        return []
    called = _found(execution, requested)
    await execution.kept_apart.prepare(execution.leased, [item.tool for item in called])
    ready = await completed(execution, called)
    calls = _proposed(execution, ready, turn)
    outcomes = iter(await recorded_all(execution, _SideBySide(execution, calls)))
    return [next(outcomes) if isinstance(item, ToolCall) else item for item in ready]


class _SideBySide(Batch[Call[Any]]):
    """Calls that are proposed together, and come out together."""

    def __init__(self, execution: Execution, calls: Sequence[RunningCall]) -> None:
        self.items: Sequence[RunningCall] = calls
        self._execution = execution
        self._written: list[Written] = []
        """Writes of parts of the turn that have ended, to be made again."""

    async def run(self, places: Sequence[Place]) -> Sequence[int]:
        """Propose what is new, and bring all to their ends."""
        execution, calls = self._execution, self.items
        for call, place in zip(calls, places, strict=True):
            call.take(place)
        _propose(execution, calls)
        if execution.has_breakpoints and len(calls) > 1:
            _bind(execution, calls)
        ended = [call for call in calls if call.over]
        self._written = [write for call in ended for write in call.data.get("writes", ())]
        if execution.has_breakpoints or len(ended) < len(calls):
            if self._written and execution.state.is_present:
                self.landed()
                self._written = []
            # Nobody gets a part of a batch: what is in the way of others comes out with the rest.
            execution.replay_order.release(call.data["end"] for call in ended)
            try:
                await _advance(execution, calls)
            except BaseException:
                execution.replay_order.release(call.data["end"] for call in calls if call.over)
                raise
        return [call.data["end"] for call in calls]

    def landed(self) -> None:
        """Make the writes of code that is not entered again."""
        rewrite_state(self._execution, self.items[0].place.branch, self._written)


def _found(execution: Execution, requested: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls with their tools."""
    calls: list[ToolCall] = []
    tools = execution.running.tools
    with execution.making("call") as making:
        for item in requested:
            making.name, making.ahead = _name(item), len(calls)
            tool = tool_of(execution, item.tool, tools)
            _check(item, tool)
            if item.approval is not None or item.editable is not None:
                tool = _under(execution, item, tool)
            calls.append(item if item.tool is tool else replace(item, tool=tool))
    return calls


def _under(execution: Execution, item: ToolCall, tool: Tool[..., Any]) -> Tool[..., Any]:
    """The tool as it is for one call that has a policy besides the tool's own."""
    policy = execution.running.policy_of(tool)
    if item.approval is not None:
        policy = Policy.all_of(policy, item.approval)
    return tool.under(policy, editable=item.editable)


def _proposed(
    execution: Execution, ready: Sequence[ToolCall | Call[Any]], turn: Any
) -> list[RunningCall]:
    """The calls that are to be made, each with its effective arguments."""
    proposed: list[RunningCall] = []
    with execution.making("call") as making:
        for item in ready:
            if isinstance(item, ToolCall):
                making.name, making.ahead = item.tool.name, len(proposed)
                arguments = execution.kept_apart.apart(
                    item.tool, item.tool.arguments(dict(item.args))
                )
                proposed.append(RunningCall(item, arguments, turn))
    return proposed


def _bind(execution: Execution, calls: Sequence[RunningCall]) -> None:
    """Note whose arguments stay what they are: of a batch that does not wait as a whole."""
    first = calls[0].place
    whole = all(
        call.place.entry is None and breakpoints.is_wanted(execution, call.named) for call in calls
    )
    for call in calls:
        call.reached = whole and not places.is_named_by(first.key, first.fingerprint)


def _name(item: ToolCall) -> str:
    return item.tool.name if isinstance(item.tool, Tool) else str(item.tool)


def _check(item: ToolCall, tool: Tool[..., Any]) -> None:
    texts: tuple[tuple[str, object], ...] = (("why", item.why), ("told_as", item.told_as))
    for name, text in texts:
        if text is not None and not isinstance(text, str):
            raise TypeError(f"{name}= of a call of tool {tool.name!r} is a text, not {text!r}")
    call: object = item.call
    if call is not None and not callable(call):
        raise TypeError(f"call= of a call of tool {tool.name!r} is a function, not {call!r}")
    approval: object = item.approval
    if not (approval is None or isinstance(approval, Policy)):
        raise TypeError(
            f"approval= of a call of tool {tool.name!r} is a policy, such as approval.always, "
            f"not {approval!r}"
        )


def tool_of(execution: Execution, named: Any, tools: ToolsByName) -> Tool[..., Any]:
    """The tool of this app or run that is meant by itself or its name; raises for all others.

    `tools` are those that the running code may call.
    """
    if isinstance(named, Tool):
        own = tools.get(named.name)
        if own is None or (own is not named and own.origin is not named):
            raise DeclarationError(
                f"tool {named.name!r} is not one of this app, or not one of agent "
                f"{execution.running.name!r}: serve it with app.add_tools({named.name}), or, "
                f"where only a run knows it, with turn.add_tools({named.name})"
            )
        return own
    if not isinstance(named, str):
        raise TypeError(
            f"{named!r} is no tool: decorate it with @app.tool(), or use turn.step for a plain "
            "function"
        )
    tool = tools.get(named)
    if tool is None:
        names = ", ".join(map(repr, tools)) or "none"
        raise LookupError(f"there is no tool {named!r} on this app; declared: {names}")
    return tool


async def _advance(execution: Execution, calls: Sequence[RunningCall]) -> None:
    """Bring calls as far as they get: effects to their end, parts of the turn as branches of it."""
    going: list[RunningCall] = []
    failed: Exception | None = None
    for call in calls:
        try:
            if not call.asks_at_once():
                going.append(call)
        except Exception as error:
            # The others of its batch run and ask as ever.
            failed = failed or error
    if going:
        await _together(execution, going)
    if failed is not None:
        raise failed
    if len(going) < len(calls):
        raise execution.pause()


async def _together(execution: Execution, calls: Sequence[RunningCall]) -> None:
    """Bring on, side by side, what more than a question comes of."""
    effects = [call for call in calls if not call.tool.is_part]
    parts = [call for call in calls if call.tool.is_part]
    what = "tool " + ", ".join(call.tool.name for call in calls)
    run = RunningCall.run if execution.tracing is None else _traced
    if not parts:
        await uncancellable(execution, what, *(run(call, call.place) for call in effects))
        return

    async def advanced(call: RunningCall) -> None:
        await run(call, call.place)
        # What a part records next must not wait for a batch that waits for the part.
        if not all(other.over for other in calls):
            execution.replay_order.release((call.data["end"],))

    works: list[Awaitable[Any]] = [contain_exit(advanced(call)) for call in parts]
    if effects:
        works.append(uncancellable(execution, what, *map(advanced, effects)))
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if any(isinstance(error, asyncio.CancelledError) for error in errors):
        raise execution.pause()
    if errors:
        raise errors[0]


async def _traced(call: RunningCall, place: Place) -> None:
    """Bring a call on in a span, unless it is only read again."""
    tracing = call.execution.tracing
    if tracing is None or call.over:
        await call.run(place)
        return
    ids = {**call.execution.ids, "tool": call.tool.name, "call": call.id}
    with tracing.span("tool", ids) as span:
        try:
            await call.run(place)
        finally:
            span.note(**call.summary())


def _propose(execution: Execution, calls: Sequence[RunningCall]) -> None:
    """Propose calls that are not in the history: a server may have died after it did so."""
    new = [
        call
        for call in calls
        if call.place.entry is None and call.id not in execution.transcript.proposed
    ]
    if not new:
        return
    proposed = [(call.id, call.tool.name, call.proposed.decode()) for call in new]
    propose(new[0].place, proposed)


async def completed(
    execution: Execution, requested: Sequence[ToolCall]
) -> list[ToolCall | Call[Any]]:
    """The calls with all their arguments; in place of one that stays incomplete, its outcome."""
    lacking = {
        index: missing
        for index, item in enumerate(requested)
        if item.tool.complete and (missing := item.tool.missing(item.args))
    }
    if not lacking:
        return list(requested)
    incomplete = [
        _question(execution, requested[index], missing) for index, missing in lacking.items()
    ]
    answers = dict(zip(lacking, await questions(execution, incomplete), strict=True))
    return [
        _with(execution, item, answers[index]) if index in answers else item
        for index, item in enumerate(requested)
    ]


def _question(execution: Execution, item: ToolCall, missing: Sequence[str]) -> Question:
    tool: Tool[..., Any] = item.tool
    properties = tool.parameters["properties"]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: properties.get(name, {}) for name in missing},
        "required": list(missing),
        "additionalProperties": False,
    }
    if "$defs" in tool.parameters:
        schema["$defs"] = tool.parameters["$defs"]
    arguments, shown = _given(execution, item)
    return Question(
        reason="input_required",
        message=f"{tool.name} needs {', '.join(missing)}.",
        schema=_completing(tool, arguments, schema),
        expires_in=tool.expires_in,
        metadata={"sayso": {"tool": tool.name, "arguments": shown, "missing": list(missing)}},
    )


def _completing(
    tool: Tool[..., Any], arguments: dict[str, Any], schema: dict[str, Any]
) -> ResponseType:
    """The type of an answer that completes a call: with the given ones, arguments of the tool."""

    def problems(payload: Any) -> tuple[SchemaViolation, ...]:
        return tool.argument_errors({**arguments, **(payload or {})})

    def decode(payload: Any) -> Any:
        if wrong := problems(payload):
            raise ValueError(f"{wrong[0].pointer or 'the arguments'}: {wrong[0].message}")
        return payload

    return ResponseType(schema, decode, problems, stricter=True)


def _given(execution: Execution, item: ToolCall) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments that an incomplete call has, and the same as they are shown."""
    tool: Tool[..., Any] = item.tool
    written = to_json(dict(item.args), f"an argument of tool {tool.name!r}")
    return jsonvalue.decode(written), jsonvalue.decode(execution.kept_apart.apart(tool, written))


def _with(execution: Execution, item: ToolCall, answer: Answer[Any]) -> ToolCall | Call[Any]:
    if answer.resolved:
        return replace(item, args={**item.args, **(answer.value or {})})
    why = "nobody gave them in time" if answer.expired else "the question for them was withdrawn"
    _, arguments = _given(execution, item)
    return Call(
        status="expired" if answer.expired else "cancelled",
        args=arguments,
        text=f"Not called: arguments are missing, and {why}.",
        by=answer.by,
        told_as=item.told_as,
    )
