"""Models that follow a plan, as Strands has models: no key, no network."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from strands import Agent, tool
from strands.models import Model

from tests.frameworks.shop import Reply, Said, Shop, Wanted

Message = dict[str, Any]
Plan = Callable[[Sequence[Message]], Reply]


class Planned(Model):
    """A model that answers as the plan says, word by word."""

    def __init__(self, plan: Plan, thought: str = "", signature: str = "") -> None:
        self.plan = plan
        self.thought = thought
        self.signature = signature

    def update_config(self, **config: Any) -> None: ...

    def get_config(self) -> Any:
        return {}

    async def structured_output(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        yield {}

    async def stream(self, messages: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
        reply = self.plan(messages)
        yield {"messageStart": {"role": "assistant"}}
        if self.thought:
            yield {"contentBlockStart": {"start": {}}}
            for piece in ({"text": self.thought}, {"signature": self.signature}):
                yield {"contentBlockDelta": {"delta": {"reasoningContent": piece}}}
            yield {"contentBlockStop": {}}
        if reply.text:
            yield {"contentBlockStart": {"start": {}}}
            words = reply.text.split(" ")
            for number, word in enumerate(words):
                text = word if number == len(words) - 1 else f"{word} "
                yield {"contentBlockDelta": {"delta": {"text": text}}}
            yield {"contentBlockStop": {}}
        for call in reply.calls:
            use = {"name": call.name, "toolUseId": call.id}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            arguments = {"input": json.dumps(call.arguments)}
            yield {"contentBlockDelta": {"delta": {"toolUse": arguments}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if reply.calls else "end_turn"}}
        usage = {"inputTokens": 7, "outputTokens": 2, "totalTokens": 9}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


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
        if any("text" in block for block in message["content"]) and message["role"] == "user":
            results = []
        results += [_text(b["toolResult"]) for b in message["content"] if "toolResult" in b]
    return results


def conversation(messages: Sequence[Message]) -> list[Said]:
    """The messages as the shop's model reads them."""
    said: list[Said] = []
    for message in messages:
        for block in message["content"]:
            if "toolResult" in block:
                said.append(Said("tool", _text(block["toolResult"])))
            elif "text" in block:
                said.append(Said("user" if message["role"] == "user" else "model", block["text"]))
    return said


def _text(result: Any) -> str:
    return "\n".join(
        block["text"] if "text" in block else json.dumps(block.get("json"))
        for block in result["content"]
        if "text" in block or "json" in block
    )


def agent_of(shop: Shop) -> Agent:
    """The shop's agent: nothing in it knows of this server."""
    return Agent(
        model=Planned(lambda messages: shop.reply(conversation(messages))),
        name="shop",
        system_prompt=shop.prompt,
        tools=[tool(function) for function in shop.tools],
        callback_handler=None,
    )
