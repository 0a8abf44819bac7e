"""Models that follow a plan, as Pydantic AI has models: no key, no network."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeAlias

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from tests.frameworks.shop import Reply, Said, Shop, Wanted

Piece: TypeAlias = str | DeltaToolCalls
RESULTS = ("tool-return", "retry-prompt")
Plan = Callable[[list[ModelMessage]], Reply]


def planned(plan: Plan) -> FunctionModel:
    """A model that answers as the plan says, streamed word by word, or whole."""

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Piece]:
        reply = plan(messages)
        words = reply.text.split(" ") if reply.text else []
        for number, word in enumerate(words):
            yield word if number == len(words) - 1 else f"{word} "
        if reply.calls:
            yield {
                number: DeltaToolCall(call.name, json.dumps(call.arguments), tool_call_id=call.id)
                for number, call in enumerate(reply.calls, 1)
            }

    async def whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        reply = plan(messages)
        text = [TextPart(reply.text)] if reply.text else []
        calls = [
            ToolCallPart(c.name, json.dumps(c.arguments), tool_call_id=c.id) for c in reply.calls
        ]
        return ModelResponse([*text, *calls])

    return FunctionModel(whole, stream_function=stream)


def once(name: str, arguments: dict[str, Any], *more: Wanted) -> FunctionModel:
    """A model that makes a call, and tells what came of it."""

    def plan(messages: list[ModelMessage]) -> Reply:
        results = results_of(messages)
        if results:
            return Reply("Done: " + " | ".join(results))
        return Reply("", (Wanted("call_1", name, arguments), *more))

    return planned(plan)


def results_of(messages: Sequence[ModelMessage]) -> list[str]:
    """The results of tools since the user spoke, as a model reads them."""
    results: list[str] = []
    for message in messages:
        returned = [_result(part) for part in message.parts if part.part_kind in RESULTS]
        results += returned
        if not returned and any(isinstance(part, UserPromptPart) for part in message.parts):
            results = []
    return results


def _result(part: Any) -> str:
    """A result, or what older versions send instead: a wish for another call."""
    if isinstance(part, ToolReturnPart):
        return str(part.model_response_str())
    return str(part.content)


def conversation(messages: Sequence[ModelMessage]) -> list[Said]:
    """The messages as the shop's model reads them."""
    said: list[Said] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                said.append(Said("user", str(part.content)))
            elif isinstance(part, ToolReturnPart):
                said.append(Said("tool", part.model_response_str()))
            elif isinstance(part, TextPart):
                said.append(Said("model", part.content))
        assert isinstance(message, ModelRequest | ModelResponse)
    return said


def agent_of(shop: Shop, name: str = "shop", **options: Any) -> Agent[None, str]:
    """The shop's agent: nothing in it knows of this server."""
    model = planned(lambda messages: shop.reply(conversation(messages)))
    agent: Agent[None, str] = Agent(model, name=name, instructions=shop.prompt, **options)
    for tool in shop.tools:
        agent.tool_plain(requires_approval=tool.__name__ in shop.policies)(tool)
    return agent
