"""Agents of LangGraph on a real server, which dies in a tool, a node, or a model."""

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState

from sayso import Sayso, ServerOptions
from sayso.langgraph import mount
from tests.frameworks.langgraph.graphs import line
from tests.frameworks.langgraph.test_contract import agent_of
from tests.frameworks.mortal import Ledger, die, write


def charge(state: MessagesState) -> None:
    """Charge, and die."""
    write("charge")
    die()


def ship(state: MessagesState) -> dict[str, Any]:
    """Ship."""
    write("ship")
    return {"messages": [AIMessage("Shipped.")]}


ledger = Ledger()
app = Sayso(store="memory:", server=ServerOptions(lease=3.0, console=False))
mount(app, "shop", agent_of(ledger), approve=ledger.policies)
mount(app, "line", line(charge, ship))
