"""An agent of Strands that a person has a say in: a function makes it, and one line serves it.

    pip install 'sayso[strands]'
    cd examples && sayso serve strands_support:app

Say "refund A-17". The look-up runs, the refund waits for a yes; its arguments can be edited. Kill
the server meanwhile and start it again: the card is there, and the refund happens once.

The model here is a plan, so that this runs without a key. For a real one take another:
`Agent(model=OpenAIModel(model_id="gpt-5-mini"), …)`, and set the key that its provider wants.
"""

from collections.abc import AsyncIterator
from typing import Any

from strands import Agent, tool
from strands.models import Model

from sayso import Sayso, Turn, approval
from sayso.strands import mount


class Clerk(Model):
    """Stands for a model: it looks the order up, then refunds it, then says what came of it."""

    def update_config(self, **config: Any) -> None:
        """Do nothing: a plan has no settings."""

    def get_config(self) -> Any:
        """No settings."""
        return {}

    async def structured_output(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        """Nothing: a plan makes no objects."""
        yield {}

    async def stream(self, messages: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
        """The next words, and the next call."""
        last = messages[-1]["content"][-1]
        words, name, arguments = ["Say which order ", "to refund."], "", ""
        if "toolResult" in last and last["toolResult"]["toolUseId"] == "call_1":
            words, name = ["I refund it. "], "issue_refund"
            arguments = '{"order_id": "A-17", "amount": 240.0}'
        elif "toolResult" in last:
            texts = [block["text"] for block in last["toolResult"]["content"]]
            words = [f"Done: {' '.join(texts)}"]
        elif "refund" in last["text"]:
            words, name, arguments = ["Let me ", "see. "], "look_up", '{"order_id": "A-17"}'
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        for word in words:
            yield {"contentBlockDelta": {"delta": {"text": word}}}
        yield {"contentBlockStop": {}}
        if name:
            use = {"name": name, "toolUseId": "call_1" if name == "look_up" else "call_2"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if name else "end_turn"}}


@tool
def look_up(order_id: str) -> str:
    """Look an order up."""
    return f"{order_id}: 240.00, paid"


@tool
def issue_refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    return f"refunded {amount:.2f} for {order_id}"


def support(turn: Turn) -> Agent:
    """The agent of a turn: it holds the conversation, so each gets its own."""
    return Agent(model=Clerk(), tools=[look_up, issue_refund], callback_handler=None)


app = Sayso(store="sqlite:///strands_support.db")
mount(app, "support", support, approve={"issue_refund": approval.always})
