"""The turn in place of an agent of Strands: it asks the model, and makes the calls.

The turn's handlers are the innermost ones: what the author's own hooks and handlers make of a call
is what people are asked about, and they run on each entry of the turn.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from pydantic_core import to_json, to_jsonable_python
from strands import Agent
from strands.middleware import (
    ExecuteToolContext,
    ExecuteToolStage,
    InvokeModelContext,
    InvokeModelStage,
    ModelStopReason,
    ToolResultEvent,
)

from sayso import (
    ArgumentsMisfit,
    AskFirst,
    Call,
    NotRecordable,
    Speak,
    Told,
    ToolCall,
    ToolFailed,
    Turn,
    current_call,
)
from sayso.frameworks.strands.contents import restored, returned
from sayso.frameworks.strands.running import StrandsRun, entered, running, runs_agent

Next = Callable[[Any], AsyncIterator[Any]]

ANSWER: dict[str, Any] = {"type": ["string", "number", "boolean", "object", "array"]}
"""The answer to an interrupt: Strands takes null for none."""

_COUNTS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cached_input_tokens",
    "cacheWriteInputTokens": "cache_write_input_tokens",
}
_durable: WeakSet[Any] = WeakSet()


def make_durable(agent: Agent) -> None:
    """Give an agent the turn's handlers, once; they pass on outside of a turn."""
    if agent not in _durable:
        _durable.add(agent)
        agent.add_middleware(InvokeModelStage, _ask)
        agent.add_middleware(ExecuteToolStage, _call)


async def _ask(context: InvokeModelContext, next_fn: Next) -> AsyncIterator[Any]:
    """Have the turn ask the model."""
    run = running()
    if run is None:
        async for event in next_fn(context):
            yield event
        return

    async def ask(speak: Speak) -> Any:
        with entered(None):
            return await _heard(speak, context, next_fn)

    yield ModelStopReason(*await run.turn.parked(run.turn.model(ask, name="model")))


async def _heard(speak: Speak, context: InvokeModelContext, next_fn: Next) -> Any:
    """Say the events of a model as they come; its reply, as JSON."""
    final: Any = None
    signature = ""
    async for event in next_fn(context):
        if isinstance(event, ModelStopReason):
            final = event
        elif event.get("reasoning_signature"):
            signature += event["reasoning_signature"]
        elif event.get("reasoningText"):
            await speak.think(event["reasoningText"])
        elif event.get("data"):
            if signature:
                await speak.think("", signature)
                signature = ""
            await speak.text(event["data"])
    if signature:
        await speak.think("", signature)
    counts = {
        ours: final.usage[theirs] for theirs, ours in _COUNTS.items() if final.usage.get(theirs)
    }
    if counts:
        speak.usage(None, getattr(context.model, "config", {}).get("model_id"), **counts)
    return to_jsonable_python(final["stop"], serialize_unknown=True)


async def _call(context: ExecuteToolContext, next_fn: Next) -> AsyncIterator[Any]:
    """Have the turn make the call."""
    run, tool = running(), context.tool
    if run is None or tool is None or tool.tool_type == "structured_output":
        async for event in next_fn(context):  # the framework's own, or an unknown name
            yield event
        return
    result = await _ToolUse(run, context, next_fn).result()
    yield ToolResultEvent({"toolUseId": context.tool_use["toolUseId"], **result})


@dataclass(frozen=True)
class _ToolUse:
    """One call, as far as one run of the code brings it."""

    run: StrandsRun
    context: ExecuteToolContext
    next_fn: Next

    async def result(self) -> Mapping[str, Any]:
        """Make the call; its result, but for its id, or how it ended instead."""
        turn, use, tool = self.run.turn, self.context.tool_use, self.context.tool
        arguments: Any = use["input"]
        if not isinstance(arguments, Mapping):
            return _refused(f"Not called: its arguments are no object, but {arguments!r}.")
        declared = self.run.tools.tool(tool)
        turn.add_tools(declared)
        body = self._part if runs_agent(tool) else self._effect
        call = ToolCall(declared, arguments, call=body, told_as=use["toolUseId"])
        try:
            outcome: Call[Any] = await turn.parked(turn.call(call))
        except (ArgumentsMisfit, NotRecordable) as misfit:  # nothing was sent
            return _refused(f"Not called: {misfit}")
        if not outcome.executed or outcome.value is None:
            return _refused(outcome.text)
        result = restored(outcome.value)
        if outcome.edited:
            ran = to_json(outcome.args).decode()
            said = f"A reviewer changed the arguments; the call ran with {ran}."
            result["content"] = [{"text": said}, *result["content"]]
        return result

    async def _effect(self, arguments: Mapping[str, Any]) -> Told[Any]:
        with entered(None):
            return await self._run(arguments)

    async def _part(self, turn: Turn, arguments: Mapping[str, Any]) -> Told[Any]:
        """Run it as an inner agent: its own code runs on each entry, what it calls only once."""
        tool: Any = self.context.tool
        inner: Agent = tool.agent
        make_durable(inner)

        async def body(inner_turn: Turn) -> Told[Any]:
            with entered(StrandsRun(inner_turn, self.run.tools)):
                return await self._run(arguments)

        result: Told[Any] = await turn.delegate(body, name=inner.name)
        return result

    async def _run(self, arguments: Mapping[str, Any]) -> Told[Any]:
        use: Any = {**self.context.tool_use, "input": dict(arguments)}
        answer = current_call().answer
        answered = False
        while True:
            event = await self._last_event(use)
            if isinstance(event, ToolResultEvent):
                if event.exception is not None:
                    raise event.exception
                return returned(event.tool_result)
            (interrupt,) = event.interrupts
            if answer is None:
                raise AskFirst(
                    f"{interrupt.name}: {interrupt.reason}" if interrupt.reason else interrupt.name,
                    metadata={"strands": to_jsonable_python(interrupt.reason)},
                    schema=ANSWER,
                )
            if answered:
                raise ToolFailed("it asks a second time; a tool may ask once before its effect")
            if not answer.resolved:
                raise ToolFailed(f"nobody answered: {answer.status}")
            interrupt.response, answered = answer.value, True

    async def _last_event(self, use: Any) -> Any:
        """Run the tool; how it ended: with a result, or an interrupt."""
        last = None
        async for event in self.next_fn(self.context.replace(tool_use=use)):
            if isinstance(event, ToolResultEvent) or hasattr(event, "interrupts"):
                last = event
        if last is None:
            raise RuntimeError("the tool ended without a result")
        return last


def _refused(text: str) -> Mapping[str, Any]:
    """A result that is none of the tool's."""
    return {"status": "error", "content": [{"text": text}]}
