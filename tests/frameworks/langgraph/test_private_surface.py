"""The members of LangGraph that the adapter uses and that are not public, in this version."""

from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

ADVICE = "LangGraph has changed what the adapter wraps: look at sayso/frameworks/langgraph/wrap.py"


@tool
def look(order: str) -> str:
    """Look an order up."""
    return order


def test_a_node_of_tools_has_what_a_copy_of_it_needs() -> None:
    node = ToolNode([look])
    for name in ("_awrap_tool_call", "_wrap_tool_call", "_handle_tool_errors", "_messages_key"):
        assert hasattr(node, name), f"{name}: {ADVICE}"


def test_a_graph_and_its_nodes_are_copied_with_other_members() -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode([look]))
    builder.add_edge(START, "tools")
    graph = builder.compile()
    node = graph.nodes["tools"]
    other = node.copy({"bound": node.bound})
    assert other.bound is node.bound, ADVICE
    copied = graph.copy({"nodes": {**graph.nodes, "tools": other}})
    assert isinstance(copied, Pregel), ADVICE
    assert copied.nodes["tools"] is other, ADVICE
