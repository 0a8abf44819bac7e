"""An agent of Pydantic AI that a person has a say in: the agent is as it is, one line serves it.

    pip install 'sayso[pydantic-ai]'
    cd examples && sayso serve pydantic_ai_support:app

Say "refund A-17". The look-up runs, the refund waits for a yes; its arguments can be edited. Kill
the server meanwhile and start it again: the card is there, and the refund happens once.

The model here is a function, so that this runs without a key. For a real one, write its name
instead: `Agent("openai:gpt-5-mini", …)`, and set the key that its provider wants.
"""

from collections.abc import AsyncIterator

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from sayso import Sayso
from sayso.pydantic_ai import mount


async def clerk(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | DeltaToolCalls]:
    """Stands for a model: it looks the order up, then refunds it, then says what came of it."""
    parts = messages[-1].parts
    results = [part for part in parts if isinstance(part, ToolReturnPart)]
    if results and results[-1].tool_name == "look_up":
        yield "I refund it. "
        arguments = '{"order_id": "A-17", "amount": 240.0}'
        yield {1: DeltaToolCall("issue_refund", arguments, tool_call_id="call_2")}
    elif results:
        yield f"Done: {results[-1].model_response_str()}"
    elif any(isinstance(part, UserPromptPart) and "refund" in part.content for part in parts):
        yield "Let me "
        yield "see. "
        yield {1: DeltaToolCall("look_up", '{"order_id": "A-17"}', tool_call_id="call_1")}
    else:
        yield "Say which order "
        yield "to refund."


agent = Agent(FunctionModel(stream_function=clerk), name="support")


@agent.tool_plain
def look_up(order_id: str) -> str:
    """Look an order up."""
    return f"{order_id}: 240.00, paid"


@agent.tool_plain(requires_approval=True)
def issue_refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    return f"refunded {amount:.2f} for {order_id}"


app = Sayso(store="sqlite:///pydantic_ai_support.db")
mount(app, "support", agent)
