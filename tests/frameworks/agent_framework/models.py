"""Models that follow a plan, as Agent Framework has clients of models: no key, no network."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    tool,
)

from tests.frameworks.shop import Reply, Said, Shop, Wanted

Plan = Callable[[Sequence[Message]], Reply]


class Planned(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """A client whose model answers as the plan says, word by word."""

    def __init__(self, plan: Plan, more: Sequence[Content] = (), **options: Any) -> None:
        super().__init__(**options)
        self.plan = plan
        self.more = more

    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **_: Any,
    ) -> Any:
        reply = self.plan(messages)
        words = reply.text.split(" ") if reply.text else []
        texts = [word if n == len(words) - 1 else f"{word} " for n, word in enumerate(words)]
        calls = [
            Content.from_function_call(call.id, call.name, arguments=json.dumps(call.arguments))
            for call in reply.calls
        ]

        async def whole() -> ChatResponse[Any]:
            contents = [*self.more, *map(Content.from_text, texts), *calls]
            form = options.get("response_format")
            return ChatResponse(
                messages=[Message("assistant", contents)], response_format=form, model="planned"
            )

        async def updates() -> AsyncIterator[ChatResponseUpdate]:
            for contents in ([*self.more], *([Content.from_text(text)] for text in texts), calls):
                if contents:
                    yield ChatResponseUpdate(
                        role="assistant", contents=contents, message_id="m", model="planned"
                    )

        if not stream:
            return whole()
        return ResponseStream(updates(), finalizer=ChatResponse.from_updates)


def once(name: str, arguments: dict[str, Any], *more: Wanted) -> Planned:
    """A model that makes a call, and tells what came of it."""

    def plan(messages: Sequence[Message]) -> Reply:
        results = results_of(messages)
        if results:
            return Reply("Done: " + " | ".join(results))
        return Reply("", (Wanted("call_1", name, arguments), *more))

    return Planned(plan)


def results_of(messages: Sequence[Message]) -> list[str]:
    """The results of tools since the user spoke, as a model reads them."""
    results: list[str] = []
    for message in messages:
        if message.role == "user":
            results = []
        results += [_text(content) for content in message.contents if _is_result(content)]
    return results


def conversation(messages: Sequence[Message]) -> list[Said]:
    """The messages as the shop's model reads them."""
    said: list[Said] = []
    for message in messages:
        for content in message.contents:
            if _is_result(content):
                said.append(Said("tool", _text(content)))
            elif content.type == "text":
                role = "user" if message.role == "user" else "model"
                said.append(Said(role, content.text or ""))
    return said


def _is_result(content: Content) -> bool:
    return bool(content.type == "function_result")


def _text(result: Content) -> str:
    items = result.items or ()
    return "\n".join(item.text for item in items if item.text) or str(result.result or "")


def agent_of(shop: Shop) -> Agent[Any]:
    """The shop's agent: nothing in it knows of this server."""
    tools = [
        tool(
            function,
            approval_mode="always_require"
            if function.__name__ in shop.policies
            else "never_require",
        )
        for function in shop.tools
    ]
    client = Planned(lambda messages: shop.reply(conversation(messages)))
    return Agent(client, shop.prompt, name="shop", tools=tools)
