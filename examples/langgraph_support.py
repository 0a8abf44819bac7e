"""An agent of LangChain's `create_agent`, served as it is: its refunds wait for a person.

    pip install '.[langgraph]' langchain && cd examples && sayso serve langgraph_support:app

Say "refund A-17 and A-18". Two cards come up at once; edit one, deny the other with a reason, and
the model hears both. Kill the server in between: the cards are still there, and the model is not
asked again for what it has said.

The model here is scripted. For a real one give `create_agent` its name, and a key in the
environment: `create_agent("openai:gpt-5-mini", [order_status, issue_refund])`.
"""

import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool

from sayso import Sayso, approval
from sayso.langgraph import mount


@tool
def order_status(order_id: str) -> str:
    """Look an order up."""
    return f"{order_id} is paid"


@tool
async def issue_refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    return f"refunded {amount:.2f} for {order_id}"


class Scripted(BaseChatModel):
    """Stands for a model: it refunds each order that is named, and tells what came of it."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> "Scripted":
        """It knows them."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        results = [str(message.content) for message in messages if message.type == "tool"]
        orders = re.findall(r"\bA-\d+\b", str(messages[0].content))
        message = AIMessage(" ".join(["Done:", *results]) if results else "Which order?")
        if orders and not results:
            calls: list[Any] = [
                {"id": each, "name": "issue_refund", "args": {"order_id": each, "amount": 240.0}}
                for each in orders
            ]
            message = AIMessage("Let me see.", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **options: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        whole = self._generate(messages).generations[0].message
        for word in re.findall(r"\S+\s*", str(whole.content)):
            yield ChatGenerationChunk(message=AIMessageChunk(word))
        if isinstance(whole, AIMessage) and whole.tool_calls:
            calls = AIMessageChunk("", tool_calls=whole.tool_calls)
            yield ChatGenerationChunk(message=calls)


graph = create_agent(Scripted(), [order_status, issue_refund])

app = Sayso(store="sqlite:///langgraph_support.db")
mount(app, "support", graph, approve={"issue_refund": approval.always})
