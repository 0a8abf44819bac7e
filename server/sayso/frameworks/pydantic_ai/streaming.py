"""The words of a model while it is asked: its events as text, thoughts and counts of the turn."""

from collections.abc import AsyncIterable, Mapping
from contextvars import ContextVar
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    AgentStreamEvent,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)

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
