"""Models that follow a plan, as the Agents SDK has models: no key, no network."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from agents import Agent, Model, ModelResponse, function_tool
from agents.testing import assistant_message, function_call
from agents.usage import Usage
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseOutputItem,
    ResponseTextDeltaEvent,
    ResponseUsage,
)
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

from tests.frameworks.shop import Reply, Said, Shop, Wanted

Items = list[dict[str, Any]]
Plan = Callable[[Items], Reply]


class Planned(Model):
    """A model that answers as the plan says, streamed word by word, or whole.

    `extra` are items of hosted tools that stand in front of each answer; `asked` counts requests.
    """

    def __init__(self, plan: Plan, extra: Sequence[ResponseOutputItem] = ()) -> None:
        self.plan = plan
        self.extra = list(extra)
        self.asked = 0
        self.ways: list[str] = []

    def _output(self, given: Any) -> list[ResponseOutputItem]:
        self.asked += 1
        items = given if isinstance(given, list) else [{"role": "user", "content": given}]
        reply = self.plan([dict(item) for item in items])
        text = [assistant_message(reply.text)] if reply.text else []
        calls = [function_call(c.name, dict(c.arguments), call_id=c.id) for c in reply.calls]
        return [*self.extra, *text, *calls]

    async def get_response(
        self, system_instructions: Any, input: Any, *args: Any, **more: Any
    ) -> ModelResponse:
        """The whole answer."""
        self.ways.append("whole")
        return ModelResponse(output=self._output(input), usage=Usage(), response_id=None)

    async def stream_response(
        self, system_instructions: Any, input: Any, *args: Any, **more: Any
    ) -> AsyncIterator[Any]:
        """The answer word by word."""
        self.ways.append("stream")
        output = self._output(input)
        for item in output:
            if item.type == "message":
                said = "".join(getattr(part, "text", "") for part in item.content)
                for number, word in enumerate(said.split(" ")):
                    yield ResponseTextDeltaEvent(
                        type="response.output_text.delta",
                        delta=word if number == 0 else f" {word}",
                        content_index=0,
                        item_id=item.id,
                        output_index=0,
                        sequence_number=number,
                        logprobs=[],
                    )
        yield ResponseCompletedEvent(
            type="response.completed",
            sequence_number=99,
            response=Response(
                id="resp_1",
                created_at=0,
                model="planned",
                object="response",
                output=output,
                parallel_tool_calls=True,
                tool_choice="auto",
                tools=[],
                usage=ResponseUsage(
                    input_tokens=3,
                    output_tokens=5,
                    total_tokens=8,
                    input_tokens_details=InputTokensDetails(cached_tokens=0, cache_write_tokens=0),
                    output_tokens_details=OutputTokensDetails(reasoning_tokens=0),
                ),
            ),
        )


def results_of(items: Items) -> list[str]:
    """The results of tools since the user spoke, as a model reads them."""
    last = max(n for n, item in enumerate(items) if item.get("role") == "user")
    outputs = [i["output"] for i in items[last:] if i.get("type") == "function_call_output"]
    return [output if isinstance(output, str) else json.dumps(output) for output in outputs]


def once(name: str, arguments: dict[str, Any], *more: Wanted) -> Planned:
    """A model that makes a call, and tells what came of it."""

    def plan(items: Items) -> Reply:
        results = results_of(items)
        if results:
            return Reply("Done: " + " | ".join(results))
        return Reply("", (Wanted("call_1", name, arguments), *more))

    return Planned(plan)


def says(text: str) -> Planned:
    """A model that says one thing."""
    return Planned(lambda items: Reply(text))


def conversation(items: Items) -> list[Said]:
    """The items as the shop's model reads them."""
    said: list[Said] = []
    for item in items:
        if item.get("type") == "function_call_output":
            said.append(Said("tool", str(item["output"])))
        elif item.get("role") == "user":
            said.append(Said("user", str(item["content"])))
        elif item.get("role") == "assistant":
            said.append(Said("model", str(item["content"])))
    return said


def agent_of(shop: Shop) -> Agent[None]:
    """The shop's agent: nothing in it knows of this server."""
    model = Planned(lambda items: shop.reply(conversation(items)))
    tools = [
        function_tool(tool, needs_approval=tool.__name__ in shop.policies) for tool in shop.tools
    ]
    return Agent(name="shop", instructions=shop.prompt, model=model, tools=tools)
