"""Tools that write down what they did, and agents that call them."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from sayso import Tool, ToolCall, Turn, approval
from tests.contract.server import Server

__all__ = ["Filing", "Kit", "kit"]


class Filing(BaseModel):
    """A form with a bound and an enumeration."""

    quarter: str = Field(pattern="^Q[1-4]$")
    year: int = Field(ge=2000)


@dataclass(frozen=True)
class Kit:
    """The tools of a server, and agents over them."""

    server: Server
    refund: Tool[..., Any]
    email: Tool[..., Any]
    lookup: Tool[..., Any]

    @property
    def effects(self) -> list[Any]:
        return self.server.effects

    async def refunding(self, turn: Turn) -> None:
        """One gated, editable call between two texts."""
        await turn.say("Looking it up.")
        done = await turn.call(self.refund, order_id="A-17", amount=240.0)
        await turn.say(f"{done.status}: {done}")

    async def mailing(self, turn: Turn) -> None:
        """A free call and three gated ones in one batch."""
        calls = [ToolCall(self.lookup, {"order_id": "A-17"})]
        calls += [ToolCall(self.email, {"to": to}) for to in ("ann", "ben", "cyd")]
        done = await turn.call_all(calls)
        await turn.say(", ".join(call.status for call in done))

    async def filing(self, turn: Turn) -> None:
        """A form."""
        answer = await turn.interrupt("input_required", "Which quarter?", schema=Filing)
        if answer.value is not None:
            self.effects.append(("filing", answer.value.quarter, answer.value.year))
        await turn.say(f"filed: {answer.status}")

    async def asking_twice(self, turn: Turn) -> None:
        """Two confirmations, one after the other, around a step."""
        first = await turn.interrupt("confirmation", "Stage it?")
        await turn.step(self.effects.append, "staged")
        second = await turn.interrupt("confirmation", "Deploy it?")
        await turn.say(f"{first.value} {second.value}")

    async def greeting(self, turn: Turn) -> None:
        """Text alone."""
        self.effects.append("greeted")
        await turn.say(f"Hello, {turn.input.text}.")


def kit(server: Server) -> Kit:
    """Declare the tools."""
    effects = server.effects

    @server.app.tool(approval=approval.when(lambda amount: amount > 100), editable=True)
    async def issue_refund(order_id: str, amount: float) -> str:
        effects.append(("refund", order_id, amount))
        return f"Refunded {amount:.2f}."

    @server.app.tool(approval=approval.always)
    async def send_email(to: str) -> str:
        effects.append(("email", to))
        return f"Sent to {to}."

    @server.app.tool()
    def lookup_order(order_id: str) -> dict[str, str]:
        effects.append(("lookup", order_id))
        return {"order": order_id}

    return Kit(server, issue_refund, send_email, lookup_order)
