"""A call of a function tool as a call of the turn: asked about first, run once, recorded whole.

An agent as a tool is no effect: its code runs on each entry, what it calls only once.
"""

import copy
from collections.abc import Mapping
from typing import Any

from agents import FunctionTool
from agents.tool_context import ToolContext
from pydantic_core import from_json, to_json

from sayso import ArgumentsMisfit, Call, NotRecordable, ToolCall, Turn
from sayso.frameworks.openai_agents.outputs import returned
from sayso.frameworks.openai_agents.running import RunnerEntry, entered, running
from sayso.frameworks.openai_agents.toolbox import asked_for, inner_agent, is_part


def through_turn(function: FunctionTool) -> FunctionTool:
    """The same tool for one run inside a turn, which makes its calls.

    The SDK neither asks nor counts the time: a call may wait for a person, for days.
    """

    async def invoke(context: ToolContext[Any], written: str) -> Any:
        run = running()
        if run is None:
            return await function.on_invoke_tool(context, written)
        return await _call(run, function, context, written)

    tool = copy.copy(function)
    tool.on_invoke_tool = invoke
    tool.needs_approval = False
    tool.timeout_seconds = None
    return tool


async def _call(
    run: RunnerEntry, function: FunctionTool, context: ToolContext[Any], written: str
) -> Any:
    """Make the call; returns what the SDK gets: its result, or how it ended instead."""
    arguments = _read(written)
    if arguments is None:
        return "Not called: the arguments are no JSON object."
    tool = run.functions.tool(function)
    run.turn.add_tools(tool)
    if callable(function.needs_approval):
        asked_for.set(await function.needs_approval(context, arguments, context.tool_call_id))

    async def effect(values: Mapping[str, Any]) -> Any:
        with entered(None):
            return await _invoke(function, context, values)

    async def part(turn: Turn, values: Mapping[str, Any]) -> Any:
        async def inner(inner_turn: Turn) -> Any:
            with entered(RunnerEntry(inner_turn, run.functions)):
                return await _invoke(function, context, values)

        return await turn.delegate(inner, name=inner_agent(function).name)

    body = part if is_part(function) else effect
    call = ToolCall(tool, arguments, call=body, told_as=context.tool_call_id)
    try:
        outcome: Call[Any] = await run.turn.parked(run.turn.call(call))
    except (ArgumentsMisfit, NotRecordable) as misfit:  # nothing was sent
        return f"Not called: {misfit}"
    if not outcome.executed or outcome.value is None:
        return outcome.text
    return _with_edit(outcome) if outcome.edited else outcome.value


async def _invoke(
    function: FunctionTool, context: ToolContext[Any], values: Mapping[str, Any]
) -> Any:
    written = to_json(dict(values)).decode()
    context.tool_arguments = written
    value = await function.on_invoke_tool(context, written)
    return returned(value, typed=function.output_json_schema is not None)


def _with_edit(outcome: Call[Any]) -> Any:
    """The result of a call whose arguments a person changed: the model hears what ran."""
    if isinstance(outcome.value, str):
        return outcome.text
    if not isinstance(outcome.value, list):
        return outcome.value
    ran = to_json(outcome.args).decode()
    said = f"A reviewer changed the arguments; the call ran with {ran}. Result:"
    return [{"type": "text", "text": said}, *outcome.value]


def _read(written: str) -> dict[str, Any] | None:
    """The arguments as a model wrote them; None for what is no JSON object."""
    try:
        arguments = from_json(written or "{}", allow_inf_nan=False)
    except ValueError:
        return None
    return arguments if isinstance(arguments, dict) else None
