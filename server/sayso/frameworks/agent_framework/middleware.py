"""The turn in an agent's middleware: it asks the model, and makes the calls.

A request to a model is said as it comes, recorded when it is whole, replayed from there. A call of
a tool is a call of the turn: asked about first, run once, recorded whole.

The turn's middleware is the innermost: what the user's own makes of the arguments is what is asked
about, and it runs on each entry of the turn. Only the tool itself is the effect. What the mount
names in `parts` is none: it runs another agent, whose calls are recorded for themselves.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent_framework import (
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationContext,
    FunctionMiddleware,
    MiddlewareFailure,
    MiddlewareTermination,
    ResponseStream,
)
from agent_framework.exceptions import UserInputRequiredException
from pydantic import BaseModel
from pydantic_core import to_json, to_jsonable_python

from sayso import (
    ArgumentsMisfit,
    Call,
    NotRecordable,
    Question,
    Speak,
    Told,
    Tool,
    ToolCall,
    ToolFailed,
    Turn,
)
from sayso.frameworks.agent_framework.contents import sealed
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

_COUNTS = {
    "input_token_count": "input_tokens",
    "output_token_count": "output_tokens",
    "cache_read_input_token_count": "cached_input_tokens",
    "cache_creation_input_token_count": "cache_write_input_tokens",
    "reasoning_output_token_count": "reasoning_tokens",
}


class RecordedChat(ChatMiddleware):
    """Has the turn ask the model; outside of a turn it passes on."""

    async def process(self, context: ChatContext, call_next: Next) -> None:
        """Ask once in the life of the turn."""
        run = running()
        if run is None:
            await call_next()
            return
        tools = (context.options or {}).get("tools")
        if isinstance(tools, list):  # the run's own list, from which it takes the tools to call
            tools[:] = [run.functions.in_run(tool) for tool in tools]
        ask = _streamed if context.stream else _whole
        reply = await run.turn.parked(
            run.turn.model(partial(ask, context, call_next), name="model")
        )
        context.result = _again(context, reply) if context.stream else _restored(context, reply)


async def _streamed(context: ChatContext, call_next: Next, speak: Speak) -> list[Any]:
    updates = []
    with entered(None):
        await call_next()
        stream: Any = context.result
        async for update in stream:
            updates.append(to_jsonable_python(update.to_dict(), serialize_unknown=True))
            await _say(speak, update.contents, update.model)
    return updates


async def _whole(context: ChatContext, call_next: Next, speak: Speak) -> Any:
    with entered(None):
        await call_next()
    response: Any = context.result
    for message in response.messages:
        await _say(speak, message.contents, response.model)
    if response.usage_details:
        _count(speak, response.model, response.usage_details)
    return to_jsonable_python(response.to_dict(), serialize_unknown=True)


async def _say(speak: Speak, contents: Iterable[Content], model: str | None) -> None:
    for content in contents:
        if content.type == "text":
            await speak.text(content.text or "")
        elif content.type == "text_reasoning":
            await speak.think(content.text or "", sealed(content))
        elif content.type == "usage":
            _count(speak, model, content.usage_details or {})


def _count(speak: Speak, model: str | None, details: Mapping[str, Any]) -> None:
    counts = {ours: details[theirs] for theirs, ours in _COUNTS.items() if details.get(theirs)}
    if counts:
        speak.usage(None, model, **counts)


def _again(context: ChatContext, updates: Iterable[Any]) -> Any:
    """A stream of what was recorded."""

    async def again() -> AsyncIterator[ChatResponseUpdate]:
        for update in updates:
            yield ChatResponseUpdate.from_dict(update)

    return ResponseStream(
        again(), finalizer=partial(ChatResponse.from_updates, output_format_type=_form(context))
    )


def _restored(context: ChatContext, response: Any) -> Any:
    return ChatResponse.from_dict({**response, "response_format": _form(context)})


def _form(context: ChatContext) -> Any:
    """The form that was asked for, by which the framework reads the reply as a value."""
    return (context.options or {}).get("response_format")


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
        context.result = [_edit(outcome, tool), *contents] if outcome.edited else contents
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


def _edit(outcome: Call[Any], tool: Tool[..., Any]) -> Content:
    """A word to the model where a person changed the arguments."""
    ran = to_json(tool.shown(outcome.args)).decode()
    return Content.from_text(f"A reviewer changed the arguments; the call ran with {ran}.")
