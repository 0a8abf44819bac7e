"""An agent of Agent Framework that a person has a say in: as it is, served by one line.

    pip install 'sayso[agent-framework]'
    cd examples && sayso serve agent_framework_support:app

Say "refund A-17". The look-up runs, the refund waits for a yes; its arguments can be edited. Kill
the server meanwhile and start it again: the card is there, and the refund happens once.

The client here is a plan, so that this runs without a key. For a real model take another one:
`Agent(OpenAIChatClient(model="gpt-5-mini"), …)`, and set the key that its provider wants.
"""

from collections.abc import AsyncIterator, Sequence
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

from sayso import Sayso
from sayso.agent_framework import mount


class Clerk(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Stands for a model: it looks the order up, then refunds it, then says what came of it."""

    def _inner_get_response(self, *, messages: Sequence[Message], **options: Any) -> Any:
        contents = self.reply(messages[-1])

        async def updates() -> AsyncIterator[ChatResponseUpdate]:
            for content in contents:
                yield ChatResponseUpdate(role="assistant", contents=[content])

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates)

    def reply(self, last: Message) -> list[Content]:
        """The next words, or the next call."""
        result = last.contents[-1]
        if result.type != "function_result":
            if "refund" not in last.text:
                return [Content.from_text("Say which order "), Content.from_text("to refund.")]
            look_up = Content.from_function_call(
                "call_1", "look_up", arguments={"order_id": "A-17"}
            )
            return [Content.from_text("Let me "), Content.from_text("see. "), look_up]
        if result.call_id == "call_1":
            arguments = {"order_id": "A-17", "amount": 240.0}
            refund = Content.from_function_call("call_2", "issue_refund", arguments=arguments)
            return [Content.from_text("I refund it. "), refund]
        return [Content.from_text(f"Done: {result.result}")]


@tool
def look_up(order_id: str) -> str:
    """Look an order up."""
    return f"{order_id}: 240.00, paid"


@tool(approval_mode="always_require")
def issue_refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    return f"refunded {amount:.2f} for {order_id}"


agent = Agent(Clerk(), name="support", tools=[look_up, issue_refund])
app = Sayso(store="sqlite:///agent_framework_support.db")
mount(app, "support", agent)
