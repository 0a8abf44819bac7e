"""Requests to models: said as they come, recorded when they are whole, replayed from there."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any

from agent_framework import (
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    ResponseStream,
)
from pydantic_core import to_jsonable_python

from sayso import Speak
from sayso.frameworks.agent_framework.contents import sealed
from sayso.frameworks.agent_framework.running import entered, running

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
