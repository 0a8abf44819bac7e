"""A call of a tool as a call of the turn: asked about first, run once, recorded whole.

The turn's middleware is the innermost: what the user's own makes of the arguments is what is asked
about, and it runs on each entry of the turn. Only the tool itself is the effect. What the mount
names in `parts` is none: it runs another agent, whose calls are recorded for themselves.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agent_framework import (
    Content,
    FunctionInvocationContext,
    FunctionMiddleware,
    MiddlewareFailure,
    MiddlewareTermination,
)
from agent_framework.exceptions import UserInputRequiredException
from pydantic import BaseModel
from pydantic_core import to_json, to_jsonable_python

from sayso import ArgumentsMisfit, Call, NotRecordable, Question, Told, ToolCall, ToolFailed, Turn
from sayso.frameworks.agent_framework.results import (
    aborted,
    ends_the_run,
    restored,
    returned,
    terminated,
)
from sayso.frameworks.agent_framework.running import AgentRun, entered, running
from sayso.frameworks.agent_framework.tools import ELSEWHERE

Next = Callable[[], Awaitable[None]]


class RecordedCalls(FunctionMiddleware):
    """Has the turn make the calls; outside of a turn it passes on."""

    async def process(self, context: FunctionInvocationContext, call_next: Next) -> None:
        """Make a call once in the life of the turn.

        Raises:
            MiddlewareTermination, MiddlewareFailure: as the tool did when it ran.
        """
        run = running()
        if run is None:
            await call_next()
        elif run.functions.kind(context.function) == ELSEWHERE:
            context.result = await _left(run, context.function.name, _as_json(context.arguments))
        else:
            await _FunctionCall(run, context, call_next).go()


@dataclass
class _FunctionCall:
    """One call, as far as one run of the code brings it."""

    run: AgentRun
    context: FunctionInvocationContext
    call_next: Next
    proposed: Any = None

    async def go(self) -> None:
        """Have the turn make the call, and leave its result to the framework."""
        turn, context = self.run.turn, self.context
        name = context.function.name
        body = self._part if name in self.run.functions.parts else self._effect
        self.proposed = _as_json(context.arguments)
        tool = self.run.functions.tool(context.function)
        turn.add_tools(tool)
        call = ToolCall(tool, self.proposed, call=body, told_as=context.metadata["call_id"])
        try:
            outcome: Call[Any] = await turn.parked(turn.call(call))
        except (ArgumentsMisfit, NotRecordable) as misfit:  # nothing was sent
            context.result = f"Not called: {misfit}"
            return
        if not outcome.executed or outcome.value is None:
            context.result = outcome.text
            return
        contents = restored(outcome.value)
        context.arguments = outcome.args
        context.result = [_edit(outcome), *contents] if outcome.edited else contents
        if ends_the_run(outcome.value):
            raise MiddlewareTermination

    async def _effect(self, arguments: Mapping[str, Any]) -> Told[Any]:
        with entered(None):
            return await self._run(arguments)

    async def _part(self, turn: Turn, arguments: Mapping[str, Any]) -> Told[Any]:
        """Run it as an inner agent: its own code runs on each entry, what it calls only once."""

        async def body(inner: Turn) -> Told[Any]:
            with entered(AgentRun(inner, self.run.functions)):
                return await self._run(arguments)

        agent = self.run.functions.parts[self.context.function.name]
        name = agent.name or self.context.function.name
        result: Told[Any] = await turn.delegate(body, name=name)
        return result

    async def _run(self, arguments: Mapping[str, Any]) -> Told[Any]:
        if arguments != self.proposed:
            self.context.arguments = dict(arguments)
        try:
            await self.call_next()
        except MiddlewareTermination as error:
            return terminated(error, self.context.result)
        except MiddlewareFailure as error:
            return aborted(error)
        except UserInputRequiredException as error:
            raise ToolFailed(
                "it asks a person in the way of Agent Framework, and here a call of a tool is one "
                "effect: an agent that it runs belongs in the parts= of the mount"
            ) from error
        return returned(self.context.result)


async def _left(run: AgentRun, name: str, arguments: Mapping[str, Any]) -> Any:
    """A call that is made elsewhere: by the page if it offers such a tool, else by a person."""
    turn = run.turn
    if run.offers(name):
        outcome: Call[Any] = await turn.parked(turn.client_tool(name, arguments))
        return outcome.text
    question = Question(
        reason="agent-framework:result",
        message=f"What is the result of {name}?",
        schema={},
        metadata={"tool": name, "arguments": arguments},
    )
    (answer,) = await turn.parked(turn.interrupt_all([question]))
    if not answer.resolved:
        return f"No result: {answer.status}."
    return answer.value if isinstance(answer.value, str) else to_json(answer.value).decode()


def _as_json(arguments: BaseModel | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(arguments, BaseModel):
        arguments = arguments.model_dump(exclude_unset=True)
    made: dict[str, Any] = to_jsonable_python(dict(arguments), serialize_unknown=True)
    return made


def _edit(outcome: Call[Any]) -> Content:
    """A word to the model where a person changed the arguments."""
    ran = to_json(outcome.args).decode()
    return Content.from_text(f"A reviewer changed the arguments; the call ran with {ran}.")
