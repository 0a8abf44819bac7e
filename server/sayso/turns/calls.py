"""Tool calls: proposed, decided, run once, and answered with exactly one result each.

A gated call is streamed whole, then asks; on resume it is not streamed again, only its result is
(TB-01, TB-02). Arguments come from the journal, never from what a client sends (SB-05).
"""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import Any

from sayso import jsonvalue
from sayso.agents.outcomes import Call, ToolCall
from sayso.agents.tools import Tool
from sayso.turns import breakpoints
from sayso.turns.completing import completed
from sayso.turns.effects import contained
from sayso.turns.execution import Execution
from sayso.turns.protection import in_order, protect
from sayso.turns.results import call_events, call_message
from sayso.turns.steps import rewrite_state
from sayso.turns.toolcall import RunningCall

__all__ = ["call_all"]


async def call_all(execution: Execution, wanted: Sequence[ToolCall], turn: Any) -> list[Call[Any]]:
    """Make tool calls side by side: free ones run now, gated ones ask together.

    `turn` is what tools get that take one. Raises pydantic's `ValidationError` for arguments that
    do not fit, `NotRecordable` for integers beyond 64 bits among them, LookupError for a name that
    no tool has, TypeError for what is neither, before anything is sent.
    """
    if not wanted:
        return []
    found = [
        item if isinstance(item.tool, Tool) else replace(item, tool=_tool(execution, item.tool))
        for item in wanted
    ]
    ready = await completed(execution, found)
    proposed = [
        (item.tool, item.tool.arguments(item.args)) for item in ready if isinstance(item, ToolCall)
    ]
    calls = []
    for tool, arguments in proposed:
        plain = jsonvalue.decode(arguments)
        place = await execution.enter("call", tool.name, plain)
        calls.append(RunningCall(execution, place, tool, arguments, plain, turn))
    _propose(execution, calls)
    ended = [call for call in calls if call.over]
    written = [one for call in ended for one in call.data.get("writes", ())]
    if execution.breaks or len(ended) < len(calls):
        if written and execution.state.is_present:
            rewrite_state(execution, calls[0].place.branch, written)
            written = []
        # Nobody gets a part of a batch: what is in the way of others comes out with the rest.
        execution.timeline.skip(call.data["end"] for call in calls if call.over)
        try:
            await _advance(execution, calls)
        except BaseException:
            execution.timeline.skip(call.data["end"] for call in calls if call.over)
            raise
    if calls:
        await in_order(execution, [call.data["end"] for call in calls])
        rewrite_state(execution, calls[0].place.branch, written)
        if execution.breaks:
            await breakpoints.after(execution, [(call.place, call.named) for call in calls])
    outcomes = iter([call.outcome() for call in calls])
    return [next(outcomes) if isinstance(item, ToolCall) else item for item in ready]


def _tool(execution: Execution, wanted: Any) -> Tool:
    if not isinstance(wanted, str):
        raise TypeError(
            f"{wanted!r} is no tool: decorate it with @app.tool(), or use turn.step for a plain "
            "function"
        )
    found = execution.tools.get(wanted)
    if found is None:
        known = ", ".join(map(repr, execution.tools)) or "none"
        raise LookupError(f"there is no tool {wanted!r} on this app; declared: {known}")
    return found


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
    effects = [call for call in calls if call.tool.turn is None]
    parts = [call for call in calls if call.tool.turn is not None]
    what = "tool " + ", ".join(call.tool.name for call in calls)
    if not parts:
        await protect(execution, what, *(call.advance() for call in effects))
        return

    async def advanced(call: RunningCall) -> None:
        await call.advance()
        # What a part records next must not wait for a batch that waits for the part.
        if not all(one.over for one in calls):
            execution.timeline.skip((call.data["end"],))

    works: list[Awaitable[Any]] = [contained(advanced(call)) for call in parts]
    if effects:
        works.append(protect(execution, what, *map(advanced, effects)))
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if any(isinstance(error, asyncio.CancelledError) for error in errors):
        raise execution.pause()
    if errors:
        raise errors[0]


def _propose(execution: Execution, calls: Sequence[RunningCall]) -> None:
    """Stream new calls, complete, as one assistant message (TC-01, TC-03, TC-04).

    Not those that are in the history: a server may have died after it proposed them.
    """
    new = [
        call
        for call in calls
        if call.place.entry is None and call.id not in execution.transcript.proposed
    ]
    if not new:
        return
    execution.live(new[0].place.branch)
    message_id = execution.message_id(new[0].place.key)
    execution.remember(
        call_message(
            message_id, [(call.id, call.tool.name, call.arguments.decode()) for call in new]
        )
    )
    for call in new:
        for event in call_events(message_id, call.id, call.tool.name, call.arguments.decode()):
            execution.stream.emit(event)
