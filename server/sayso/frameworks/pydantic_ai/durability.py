"""Sayso as a durable engine of Pydantic AI: requests to models are recorded and repeatable.

So are the listings of toolsets that have to be asked for their tools, and the durable operations of
other capabilities. Calls of tools are made by `calls.TurnToolset`. Elsewhere it does nothing.
"""

from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar, Final, get_args

from pydantic_ai import (
    DeferredToolRequests,
    DeferredToolResults,
    ModelRequestNode,
    RunContext,
    ToolApproved,
    ToolDefinition,
    ToolDenied,
)
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.durable_exec import (
    JSON_CODEC,
    BaseDurabilityCapability,
    DurabilityEngineSpec,
    DurableOperationId,
    JournalCallableOperationBackend,
    ModelRequestId,
    RoleBasedOperationConfig,
    ToolsetCallToolId,
    _toolset,
)
from pydantic_ai.exceptions import ToolFailed, UserError
from pydantic_ai.messages import (
    AgentStreamEvent,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset
from pydantic_core import to_jsonable_python

from sayso import Answer, Question, Turn
from sayso.frameworks.pydantic_ai.calls import TurnToolset
from sayso.frameworks.pydantic_ai.replaying import unit_done
from sayso.frameworks.pydantic_ai.requests import WholeRequest, has_listeners
from sayso.frameworks.pydantic_ai.running import Running, effect_of, running
from sayso.frameworks.pydantic_ai.thinking import sealed

speaking: ContextVar[Any] = ContextVar("sayso_pydantic_ai_speaking", default=None)
"""The `Speak` of the model request that this code runs in."""


async def shown(ctx: RunContext[Any], stream: AsyncIterable[AgentStreamEvent]) -> None:
    """Say the events of a model as they come. Runs inside the request."""
    speak = speaking.get()
    async for event in stream:
        if speak is None:
            continue
        if isinstance(event, PartStartEvent):
            await _said(speak, event.part)
        elif isinstance(event, PartDeltaEvent):
            delta = event.delta
            if isinstance(delta, TextPartDelta) and delta.content_delta:
                await speak.text(delta.content_delta)
            elif isinstance(delta, ThinkingPartDelta) and delta.content_delta:
                await speak.think(delta.content_delta)
        elif isinstance(event, PartEndEvent) and isinstance(event.part, ThinkingPart):
            await _seal(speak, event.part)


async def said_whole(speak: Any, response: Mapping[str, Any]) -> None:
    """Say a reply that came in one piece, from its record."""
    for part in response["parts"]:
        kind, content = part.get("part_kind"), part.get("content")
        if kind == "text" and content:
            await speak.text(content)
        elif kind == "thinking":
            thought = ThinkingPart(
                content or "",
                id=part.get("id"),
                signature=part.get("signature"),
                provider_name=part.get("provider_name"),
                provider_details=part.get("provider_details"),
            )
            await _said(speak, thought)
            await _seal(speak, thought)


def counted(speak: Any, response: Mapping[str, Any]) -> None:
    """Count the tokens of a recorded reply."""
    usage = response.get("usage") or {}
    details = usage.get("details") or {}
    counts = {
        "input_tokens": usage.get("input_tokens"),
        "output_tokens": usage.get("output_tokens"),
        "cached_input_tokens": usage.get("cache_read_tokens"),
        "cache_write_input_tokens": usage.get("cache_write_tokens"),
        "reasoning_tokens": details.get("reasoning_tokens"),
    }
    counted_ones = {name: count for name, count in counts.items() if count}
    if counted_ones:
        speak.usage(response.get("provider_name"), response.get("model_name"), **counted_ones)


async def _said(speak: Any, part: Any) -> None:
    if isinstance(part, TextPart) and part.content:
        await speak.text(part.content)
    elif isinstance(part, ThinkingPart) and part.content:
        await speak.think(part.content)


async def _seal(speak: Any, part: ThinkingPart) -> None:
    seal = sealed(part)
    if seal is not None:
        await speak.think("", encrypted=seal)


APPROVED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "reason": {"type": "string"},
        "editedArgs": {"type": "object"},
    },
    "required": ["approved"],
    "additionalProperties": False,
}
"""The answer to a question that is asked before a call is made."""


_KEPT: Final = "enter-in-durable-unit"
"""Opened by the first piece of work that needs it, for the whole run; not in all versions."""


def _mcp() -> Any:
    """Each entry of the turn opens a server once at most; older versions open it for each call."""
    lifecycles = get_args(getattr(_toolset, "Lifecycle", None))
    return _KEPT if _KEPT in lifecycles else "enter-never"


LIFECYCLES: Final[dict[Any, Any]] = {
    "function": "enter-always",
    "mcp": _mcp(),
    "dynamic": "enter-never",
}
"""Who opens the toolsets of an agent that have something to open, such as a server."""

PLACED: Final = "placed-"
MOST_PLACED: Final = 100
"""Models in place of the agent's that are known at a time."""


class _Backend(JournalCallableOperationBackend[None]):
    """Pieces of work as the framework hands them over, each by its kind."""

    def __init__(self, agent_name: str) -> None:
        config = RoleBasedOperationConfig[None](model=None, event=None, capability=None, tool=None)
        super().__init__(agent_name=agent_name, config=config)

    async def execute(
        self,
        *,
        operation_id: DurableOperationId,
        name: str,
        body: Callable[[], Awaitable[object]],
        cache_key: tuple[object, ...],
        config: None,
    ) -> object:
        """Run a piece of work, or find what is recorded of it."""
        run = running()
        if run is None or effect_of() is not None or isinstance(operation_id, ToolsetCallToolId):
            return await body()  # a part of what is recorded as one
        if isinstance(operation_id, ModelRequestId):
            reply = await _asked(run.turn, body)
            return reply if operation_id.streaming else _response(reply)
        return await _recorded(run.turn, name, body)


async def _asked(turn: Turn, body: Callable[[], Awaitable[object]]) -> Any:
    """Ask a model; what it says goes out as it comes."""
    executed = False

    async def ask(speak: Any) -> Any:
        nonlocal executed
        executed = True
        voice = _Voice(speak)
        token = speaking.set(voice)
        try:
            reply: Any = await body()
        finally:
            speaking.reset(token)
        response = _response(reply)
        if not voice.spoke:
            await said_whole(speak, response)
        counted(speak, response)
        return reply

    reply = await turn.parked(turn.model(ask, name="model"))
    unit_done(executed=executed)
    return reply


def _response(reply: Any) -> Any:
    """The record of a reply alone; versions before 2.60 have its events beside it."""
    return reply if "parts" in reply else reply["response"]


async def _recorded(turn: Turn, name: str, body: Callable[[], Awaitable[object]]) -> object:
    """Do what changes nothing outside: it may be done again after a crash."""
    executed = False

    async def work() -> Any:
        nonlocal executed
        executed = True
        return await body()

    value = await turn.parked(turn.step.options(name=name, idempotent=True)(work))
    unit_done(executed=executed)
    return value


class _Voice:
    """The words of a model on their way out; notes that there were some."""

    def __init__(self, speak: Any) -> None:
        self._speak = speak
        self.spoke = False

    async def text(self, delta: str) -> None:
        """Say a piece of text."""
        self.spoke = True
        await self._speak.text(delta)

    async def think(self, delta: str, encrypted: str | None = None) -> None:
        """Say a piece of a thought."""
        self.spoke = True
        await self._speak.think(delta, encrypted)


class SaysoDurability(BaseDurabilityCapability[Any]):
    """Makes what an agent does inside a turn durable; `mount` brings it along by itself.

    An agent that another one's tool runs has it among its capabilities, so that it may ask:
    `Agent(…, capabilities=[SaysoDurability(name="inner")])`. Elsewhere it changes nothing.
    """

    engine_spec: ClassVar[DurabilityEngineSpec] = DurabilityEngineSpec(
        engine_name="Sayso",
        durable_unit_noun="step",
        durable_container_noun="turn",
        codec=JSON_CODEC,
        # Calls of functions are recorded by `TurnToolset`, which needs no ids of their toolsets.
        wrapped_toolset_kinds=frozenset({"mcp", "dynamic"}),
        toolset_lifecycles=LIFECYCLES,
    )

    def __init__(self, *, name: str | None = None) -> None:
        super().__init__(name=name, event_stream_handler=shown)
        self._backend: _Backend | None = None

    def for_agent(self, agent: AbstractAgent[Any, Any]) -> AbstractCapability[Any]:
        """The capability bound to an agent; one that is bound to it stays what it is."""
        if self._backend is not None and self.agent is agent:
            return self
        return super().for_agent(agent)

    def _bind_to_agent(self, agent: AbstractAgent[Any, Any]) -> None:
        self._backend = _Backend(self.name)
        super()._bind_to_agent(agent)

    def _find_model_id(self, model: Model) -> str | None:
        """The id of a model; one that a test or a run puts in place of the agent's gets one."""
        try:
            model_id: str | None = super()._find_model_id(model)
        except UserError:
            model_id = ""
        if model_id is None or model_id in self._models_by_id:
            return model_id
        placed = [each for each in self._models_by_id if each.startswith(PLACED)]
        for oldest in placed[: len(placed) - MOST_PLACED + 1]:
            del self._models_by_id[oldest]
        key = f"{PLACED}{id(model)}"
        self._models_by_id[key] = model
        return key

    def get_durable_operation_backend(self) -> _Backend:
        """The backend that records pieces of work."""
        assert self._backend is not None  # noqa: S101 - binding made it
        return self._backend

    @property
    def in_durable_context(self) -> bool:
        """True inside a turn; inside a recorded effect for the agent whose effect it is."""
        return running() is not None and effect_of() in (None, self)

    @property
    def has_wrap_run_event_stream(self) -> bool:
        """True inside a turn, where models stream; elsewhere as if it was not there."""
        return self.in_durable_context

    async def before_node_run(self, ctx: RunContext[Any], *, node: Any) -> Any:
        """Let the run have a model's reply whole, where nobody else hears its events."""
        run = _live()
        if (
            run is not None
            and run.hears_nothing(ctx.run_id)
            and type(node) is ModelRequestNode
            and not has_listeners(ctx, but=SaysoDurability)
        ):
            return WholeRequest.of(node)
        return node

    async def _model_request_operation(self, params: Any) -> Any:
        """Ask a model for what a run gets whole: streamed, so that it is said as it comes."""
        return await self._model_request_stream_operation(params)

    async def wrap_run_event_stream(
        self, ctx: RunContext[Any], *, stream: AsyncIterable[AgentStreamEvent]
    ) -> AsyncIterable[AgentStreamEvent]:
        """Pass events on: they were said inside the request."""
        async for event in stream:
            yield event

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any] | None:
        """The agent's tools, called by the turn."""
        wrapped = super().get_wrapper_toolset(toolset)
        if _live() is None:
            return wrapped
        return TurnToolset(toolset if wrapped is None else wrapped, self)

    def get_default_run_id(self) -> str | None:
        """The same id in every execution of the turn."""
        run = _live()
        return None if run is None else run.next_run()

    def get_default_conversation_id(self, run_id: str) -> str | None:
        """The thread."""
        run = _live()
        return None if run is None else run.turn.input.thread_id

    async def get_run_start_time(self, run_id: str) -> datetime | None:
        """When the run first began."""
        run = _live()
        return None if run is None else await run.turn.now()

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        """Have every call come to the turn: it asks first, and leaves to others what is theirs."""
        run = _live()
        if run is None:
            return tool_defs
        for definition in tool_defs:
            run.kinds[id(self), definition.name] = definition.kind
        return [
            each if each.kind == "function" else replace(each, kind="function")
            for each in tool_defs
        ]

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """Ask about calls that a tool itself, a validator or a hook holds back."""
        run = _live()
        if run is None:
            return None
        calls = [*requests.approvals, *requests.calls]
        put = [_question(call, requests, call in requests.approvals) for call in calls]
        answers = await run.turn.parked(run.turn.interrupt_all(put))
        by_call = dict(zip((call.tool_call_id for call in calls), answers, strict=True))
        return DeferredToolResults(
            approvals={
                c.tool_call_id: _approval(by_call[c.tool_call_id]) for c in requests.approvals
            },
            calls={c.tool_call_id: _result(by_call[c.tool_call_id]) for c in requests.calls},
        )


def _live() -> Running | None:
    """The run that this code belongs to, if what it does is recorded for itself."""
    return running() if effect_of() is None else None


def _question(call: ToolCallPart, requests: DeferredToolRequests, approves: bool) -> Question:
    arguments = to_jsonable_python(call.args_as_dict())
    more = requests.metadata.get(call.tool_call_id) or {}
    return Question(
        reason="pydantic-ai:approval" if approves else "pydantic-ai:result",
        message=f"Approve {call.tool_name}?"
        if approves
        else f"What is the result of {call.tool_name}?",
        schema=APPROVED if approves else {},
        metadata={"tool": call.tool_name, "arguments": arguments, **to_jsonable_python(more)},
    )


def _approval(answer: Answer[Any]) -> ToolApproved | ToolDenied:
    said = answer.value if answer.resolved and answer.value else {}
    if said.get("approved") is True:
        return ToolApproved(override_args=said.get("editedArgs"))
    if said.get("reason"):
        return ToolDenied(f"Not executed: a reviewer denied this call. Reason: {said['reason']}")
    return ToolDenied(f"Not executed: {'denied' if answer.resolved else answer.status}.")


def _result(answer: Answer[Any]) -> Any:
    return answer.value if answer.resolved else ToolFailed(f"No result: {answer.status}.")
