"""A shop that every adapter's agent serves: its effects, and the words of its model.

The model is a plan, a function from a conversation to a reply, so that each framework can wear it
as a model of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event

from sayso import approval
from tests.patience import PATIENCE

Tool = Callable[..., str]


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
    prompt: str = "You are a clerk."
    offers: tuple[str, ...] = ("order_status", "issue_refund")
    """The tools that it has."""
    trusts: bool = False
    """True if nobody is asked about anything."""
    busy: Event = field(default_factory=Event)
    """Set once a look-up has begun."""
    free: Event = field(default_factory=Event)
    """Look-ups return once it is set, as it is at first."""

    def __post_init__(self) -> None:
        self.free.set()

    @property
    def tools(self) -> list[Tool]:
        """Its tools, as plain functions."""
        tools: list[Tool] = [getattr(self, name) for name in self.offers]
        return tools

    @property
    def policies(self) -> Mapping[str, approval.Policy]:
        """The policies of those that a person decides about: refunds."""
        gated = {} if self.trusts else {"issue_refund": approval.always}
        return {name: policy for name, policy in gated.items() if name in self.offers}

    def order_status(self, order_id: str) -> str:
        """Look an order up."""
        self.effects.append(f"status {order_id}")
        self.busy.set()
        assert self.free.wait(PATIENCE)
        return f"{order_id} is paid"

    def issue_refund(self, order_id: str, amount: float) -> str:
        """Refund an order."""
        self.effects.append(f"refund {order_id} {amount:g}")
        return f"refunded {amount:.2f} for {order_id}"

    def reply(self, conversation: Sequence[Said]) -> Reply:
        """What the model says next.

        "refund A-17 and A-18 after status" looks the first order up and refunds each, in one batch
        of calls; then it tells what came of them. "status A-17" looks it up. Anything else is
        greeted, by the turn's number.
        """
        self.asked += 1
        last = max(n for n, said in enumerate(conversation) if said.role == "user")
        results = [said.text for said in conversation[last:] if said.role == "tool"]
        words = conversation[last].text.split()
        if results:
            return Reply("Done: " + " | ".join(results))
        orders = [word for word in words if word.startswith("A-")]
        calls = [
            Wanted(f"call_{order}", "issue_refund", {"order_id": order, "amount": 240.0})
            for order in orders
            if "refund" in words
        ]
        if "status" in words:
            calls.insert(0, Wanted("call_status", "order_status", {"order_id": orders[0]}))
        if not calls:
            turns = sum(said.role == "user" for said in conversation)
            return Reply(f"Hello, this is turn {turns}.")
        return Reply("Let me see. ", tuple(calls))


@dataclass
class Desk(Shop):
    """In front of the shop: it has a tool that asks a clerk, and effects of its own has it none."""

    offers: tuple[str, ...] = ("ask_clerk",)

    def reply(self, conversation: Sequence[Said]) -> Reply:
        """Ask the clerk for what the user wants, and tell what came of it."""
        results = [said.text for said in conversation if said.role == "tool"]
        if results:
            return Reply("The clerk says: " + " | ".join(results))
        return Reply("", (Wanted("call_clerk", "ask_clerk", {"what": conversation[-1].text}),))
