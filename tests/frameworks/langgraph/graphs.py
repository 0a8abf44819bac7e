"""Ordinary programs of LangGraph: none of them knows anything of this server."""

import operator
from typing import Annotated, Any

from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send, interrupt


class Order(MessagesState):
    """The state of an order."""

    charged: bool
    answers: Annotated[list[str], operator.add]


def checked(effects: list[str], **options: Any) -> Any:
    """A graph that charges once, asks three people side by side, and ships once."""

    def charge(state: Order) -> dict[str, Any]:
        effects.append("charge")
        return {"charged": True}

    def fan(state: Order) -> list[Send]:
        return [Send("check", {"who": who}) for who in ("ann", "bob", "cid")]

    def check(given: dict[str, str]) -> dict[str, Any]:
        said = interrupt(
            {"question": f"Does {given['who']} agree?", "responseSchema": {"type": "string"}}
        )
        effects.append(f"after {given['who']}")
        return {"answers": [f"{given['who']}: {said}"]}

    def ship(state: Order) -> dict[str, Any]:
        effects.append("ship")
        return {"messages": [("ai", "Shipped. " + "; ".join(state["answers"]))]}

    builder = StateGraph(Order)
    for node in (charge, check, ship):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "charge")
    builder.add_conditional_edges("charge", fan, ["check"])
    builder.add_edge("check", "ship")
    builder.add_edge("ship", END)
    return builder.compile(**options)


def line(*nodes: Any, state: Any = MessagesState, **options: Any) -> Any:
    """A graph of nodes one after the other, each named as its function."""
    builder = StateGraph(state)
    before = START
    for node in nodes:
        builder.add_node(node.__name__, node)
        builder.add_edge(before, node.__name__)
        before = node.__name__
    return builder.compile(**options)
