"""A shop that every adapter's agent serves: its effects, and the words of its model.

The model is a plan, a function from a conversation to a reply, so that each framework can wear it
as a model of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a conversation, as a model reads it; `role` is `user`, `model` or `tool`."""

    role: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that a model wants."""

    id: str
    name: str
    arguments: dict[str, object]


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of a model: its text, then its calls."""

    text: str
    calls: tuple[Wanted, ...] = ()


@dataclass
class Shop:
    """The effects on the world, and how often the model was asked."""

    effects: list[str] = field(default_factory=list)
    asked: int = 0

    def order_status(self, order_id: str) -> str:
        """Look an order up."""
        self.effects.append(f"status {order_id}")
        return f"{order_id} is paid"

    def issue_refund(self, order_id: str, amount: float) -> str:
        """Refund an order."""
        self.effects.append(f"refund {order_id} {amount:g}")
        return f"refunded {amount:.2f} for {order_id}"

    def reply(self, conversation: Sequence[Said]) -> Reply:
        """What the model says next.

        "refund A-17 and A-18 after status" looks the first order up and refunds each, in one batch
        of calls; then it tells what came of them. Anything else is greeted, by the turn's number.
        """
        self.asked += 1
        last = max(n for n, said in enumerate(conversation) if said.role == "user")
        results = [said.text for said in conversation[last:] if said.role == "tool"]
        words = conversation[last].text.split()
        if results:
            return Reply("Done: " + " | ".join(results))
        if "refund" not in words:
            turns = sum(said.role == "user" for said in conversation)
            return Reply(f"Hello, this is turn {turns}.")
        orders = [word for word in words if word.startswith("A-")]
        calls = [
            Wanted(f"call_{order}", "issue_refund", {"order_id": order, "amount": 240.0})
            for order in orders
        ]
        if "status" in words:
            calls.insert(0, Wanted("call_status", "order_status", {"order_id": orders[0]}))
        return Reply("Let me see. ", tuple(calls))
