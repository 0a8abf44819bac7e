"""The members of LangGraph that the adapter uses and that are not public, in this version."""

import dataclasses
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

from sayso.frameworks.langgraph.saver import MSGPACK, _array, _members
from sayso.frameworks.langgraph.wrap import CALL, CHECKPOINT, NAMESPACE, SCRATCHPAD, SEND

ADVICE = "LangGraph has changed what the adapter wraps: look at sayso/frameworks/langgraph"


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


def test_a_task_finds_its_answers_and_its_tasks_in_its_configuration() -> None:
    seen: list[Any] = []

    def look_around(state: MessagesState) -> None:
        seen.append(get_config()["configurable"])

    builder = StateGraph(MessagesState)
    builder.add_node("look_around", look_around)
    builder.add_edge(START, "look_around")
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"messages": []}, {"configurable": {"thread_id": "t"}})
    (own,) = seen
    for name in (CALL, SCRATCHPAD, SEND, NAMESPACE, CHECKPOINT):
        assert name in own, f"{name}: {ADVICE}"
    fields = {field.name for field in dataclasses.fields(own[SCRATCHPAD])}
    assert fields >= {"interrupt_counter", "get_null_resume", "resume", "subgraph_counter"}, ADVICE


def test_a_checkpointer_in_memory_keeps_what_the_log_is_made_again_from() -> None:
    saver = InMemorySaver()
    for name in ("blobs", "storage", "writes"):
        assert isinstance(getattr(saver, name), dict), f"{name}: {ADVICE}"
    messages = [HumanMessage(f"message {number}") for number in range(40)]
    kind, data = saver.serde.dumps_typed(messages)
    members = _members(data)
    assert (kind, len(members)) == (MSGPACK, 40), ADVICE
    assert saver.serde.loads_typed((kind, _array(members))) == messages, ADVICE
