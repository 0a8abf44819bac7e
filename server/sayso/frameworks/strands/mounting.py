"""Serving an agent of Strands: `mount(app, "support", make)`.

The turn stands in place of the agent: it asks the model, and makes the calls. Its handlers are the
innermost ones: what the author's own hooks and handlers make of a call is what people are asked
about, and they run on each entry of the turn.
"""

import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
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
    DeclarationError,
    NotRecordable,
    Question,
    Sayso,
    Speak,
    Told,
    Tool,
    ToolCall,
    ToolFailed,
    Turn,
    approval,
    current_call,
)
from sayso.frameworks.current import Current
from sayso.frameworks.madetools import MadeTools, made_tool
from sayso.frameworks.policies import Policies, check_names, check_policies
from sayso.frameworks.strands.contents import from_person, history_of, restored, returned


def runs_agent(tool: Any) -> bool:
    """True for an agent as a tool, as `as_tool()` makes one."""
    return isinstance(getattr(tool, "agent", None), Agent)


@dataclass
class AgentTools:
    """The tools of a mounted agent as the turn knows them, each made once."""

    policies: Policies
    _made: MadeTools = field(default_factory=MadeTools)

    def tool(self, tool: Any) -> Tool[..., Any]:
        """The tool of a tool of Strands."""
        name, schema, part = tool.tool_name, tool.tool_spec["inputSchema"]["json"], runs_agent(tool)
        make = partial(
            made_tool,
            name,
            schema,
            self.policies.policy(name),
            description=tool.tool_spec.get("description"),
            part=part,
            from_person=from_person,
        )
        return self._made.get(make, name, schema, part)


@dataclass(frozen=True)
class StrandsRun:
    """One entry of an agent function, or of an inner agent that is a part of the turn."""

    turn: Turn
    tools: AgentTools


_current: Current[StrandsRun] = Current("sayso_strands_running")
running = _current.get
"""The run that this code belongs to; None outside of a turn, and inside a recorded effect."""
entered = _current.entered
"""Makes it the run of the code inside; None for code that is recorded as one."""


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
            ran = to_json(declared.shown(outcome.args)).decode()
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


_log = logging.getLogger("sayso.strands")

Make = Callable[[Turn], Agent | Awaitable[Agent]]


def mount(
    app: Sayso,
    name: str,
    make: Make,
    *,
    approve: Mapping[str, approval.Policy] | None = None,
    **options: Any,
) -> Callable[[Turn], Awaitable[Any]]:
    """Serve an agent of Strands as `POST /agents/{name}`.

    - `make`: makes the agent of the turn, on each entry, since an agent of Strands holds its
      conversation; it may be async. Messages that it has stand before the thread's.
    - `approve`: policies by the name of a tool, or by a pattern such as `delete_*`. A name that no
      tool has fails the turn, since the tools are known when it has begun.
    - `options`: those of `app.agent`.

    Raises:
        DeclarationError: an agent in place of a function, or no policy in `approve`.
    """
    if isinstance(make, Agent) or not callable(make):
        raise DeclarationError(
            f"agent {name!r} holds its conversation, so mount takes a function that makes one: "
            "lambda turn: Agent(…)"
        )
    approve = dict(approve or {})
    check_policies(name, approve)
    tools = AgentTools(Policies(approve))

    async def run(turn: Turn) -> Any:
        made = make(turn)
        agent: Any = await made if inspect.isawaitable(made) else made
        _check_agent(name, agent)
        check_names(name, approve, _names(agent), more=False, log=_log)
        make_durable(agent)
        *earlier, last = turn.input.messages
        prompt = history_of([last])
        agent.messages.extend(history_of(earlier))
        with entered(StrandsRun(turn, tools)):
            result = await agent.invoke_async(prompt[0]["content"] if prompt else None)
            while result.stop_reason == "interrupt":
                result = await agent.invoke_async(await _answered(turn, result.interrupts))
        output = getattr(result, "structured_output", None)
        return None if output is None else output.model_dump(mode="json")

    run.__doc__ = ""
    app.agent(name, **{"kind": "strands", **options})(run)
    return run


async def _answered(turn: Turn, interrupts: Any) -> list[Any]:
    """Ask what hooks and handlers of the author's ask, and give the answers back."""
    questions = [
        Question(
            reason="strands:interrupt",
            message=f"{each.name}: {each.reason}" if each.reason else each.name,
            schema=ANSWER,
            metadata={"name": each.name, "reason": to_jsonable_python(each.reason)},
        )
        for each in interrupts
    ]
    answers = await turn.interrupt_all(questions)
    responses = []
    for interrupt, answer in zip(interrupts, answers, strict=True):
        if not answer.resolved:
            await turn.cancel(f"the question {interrupt.name!r} has no answer: {answer.status}")
        response = {"interruptId": interrupt.id, "response": answer.value}
        responses.append({"interruptResponse": response})
    return responses


def _names(agent: Agent) -> set[str]:
    """The names of an agent's tools, and of those of agents among them."""
    names: set[str] = set()
    for name, tool in agent.tool_registry.registry.items():
        names.add(name)
        if runs_agent(tool):
            names |= _names(tool.agent)
    return names


def _check_agent(name: str, agent: Any) -> None:
    if not isinstance(agent, Agent):
        raise DeclarationError(f"what makes agent {name!r} made no strands.Agent, but {agent!r}")
    if agent._session_manager is not None:
        raise DeclarationError(
            f"agent {name!r} has a session manager: the thread is the session, leave it out"
        )
    if agent._background_tasks is not None:
        raise DeclarationError(
            f"agent {name!r} runs tools in the background, where no turn sees them: leave out "
            "background_tasks"
        )
