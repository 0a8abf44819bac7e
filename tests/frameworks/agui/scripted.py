"""Agents of a script, and what tests of them share."""

from collections.abc import Iterator
from typing import Any

from sayso import Principal, Sayso, agui, approval
from sayso.testing import Conversation, Person
from tests.frameworks.agui import producers as far

REFUND = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "amount": {"type": "number", "maximum": 240},
    },
    "required": ["approved"],
}


class Agent:
    """An agent of a script, what it was told, and what it has done."""

    def __init__(self, script: far.Script) -> None:
        self.seen: list[far.Given] = []
        self.produce = far.agent(script, self.seen)

    def app(self, **options: Any) -> Sayso:
        """An app that serves it."""
        app = Sayso(store="memory:")
        agui.mount_events(app, "shop", self.produce, **options)
        return app

    def told(self, number: int = -1) -> list[str]:
        """Who said what in the messages that it was sent."""
        return [f"{m.role}: {m.content}" for m in self.seen[number].messages]


def refunds(given: far.Given) -> Iterator[Any]:
    """Looks something up by itself, asks, and tells what came of it."""
    if given.resume:
        answer = given.resume[0]
        words = answer.payload.get("amount", 240) if answer.status == "resolved" else "nothing"
        yield from far.text("m2", "Refunded ", f"{words}.")
        return
    yield from far.text(f"m1-{len(given.messages)}", "Let me", " see.")
    yield from far.call("c1", "lookup", {"order": "A-17"})
    yield far.result("c1", "A-17 is paid")
    yield far.StateSnapshotEvent(snapshot={"order": "A-17", "note": None})
    yield far.asks(
        {"id": "i1", "reason": "shop:refund", "message": "Refund it?", "response_schema": REFUND}
    )


def asks_to_pay(given: far.Given) -> Iterator[Any]:
    """Asks about a call of its own, by the protocol's reason for that."""
    if given.resume:
        yield far.result("c1", f"answered {given.resume[0].payload}")
        return
    yield from far.call("c1", "pay", {"n": 7})
    yield far.asks({"id": "i1", "reason": "tool_call", "message": "Pay 7?", "tool_call_id": "c1"})


EDITABLE = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "editedArgs": {"type": "object"}},
    "required": ["approved"],
}


def asks_to_pay_or_less(given: far.Given) -> Iterator[Any]:
    """Asks about a call whose arguments may be edited."""
    if given.resume:
        yield far.result("c1", f"answered {given.resume[0].payload}")
        return
    yield from far.call("c1", "pay", {"n": 7})
    asked = {"id": "i1", "reason": "tool_call", "message": "Pay 7?", "tool_call_id": "c1"}
    yield far.asks({**asked, "response_schema": EDITABLE})


BOTH = approval.all_of(
    approval.always(by="finance"),
    approval.when(lambda n: n > 5, by="lead"),
    approval.deny(lambda n: n > 100, name="large"),
)


def person(talk: Conversation, role: str) -> Person:
    return talk.as_(Principal(subject=f"one of {role}", roles=(role,)))


def waits_for(talk: Conversation) -> list[str]:
    by: list[str] = talk.question.metadata["sayso"]["approvers"]["by"]
    return by
