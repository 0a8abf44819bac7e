"""Graphs inside graphs whose work clients see as that of inner agents: in tools, and as nodes."""

import threading
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt

from sayso import DeclarationError, Sayso, ServerOptions, approval
from sayso.langgraph import mount
from sayso.testing import Conversation
from sayso.turns.replay.quiescence import IDLE_S
from tests.frameworks.langgraph.conftest import Serve
from tests.frameworks.langgraph.graphs import line


def calling(*tools: Any) -> Any:
    """A graph that calls each of its tools at once, in one node, and tells what came of it."""

    def model(state: MessagesState) -> dict[str, Any]:
        results = [m.text for m in state["messages"] if m.type == "tool"]
        if results:
            return {"messages": [AIMessage(" | ".join(results))]}
        calls: Any = [{"id": each.name, "name": each.name, "args": {"of": "x"}} for each in tools]
        return {"messages": [AIMessage("", tool_calls=calls)]}

    def wants_calls(state: MessagesState) -> str:
        return "tools" if getattr(state["messages"][-1], "tool_calls", None) else "__end__"

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode(list(tools)))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", wants_calls, ["tools", "__end__"])
    builder.add_edge("tools", "model")
    return builder.compile()


def asking(name: str, effects: list[str], *, seconds: float = 0) -> Any:
    """A graph that has an effect in so long and says so, asks, and tells the answer."""

    def work(state: MessagesState) -> dict[str, Any]:
        effects.append(name)
        assert not threading.Event().wait(seconds)
        return {"messages": [AIMessage(f"{name} works.")]}

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{name}: {interrupt(f'{name}?')}")]}

    return line(work, ask)


def test_graphs_of_tools_that_ask_go_on_each_with_its_own_answer(
    serve: Serve, effects: list[str]
) -> None:
    left, right = asking("left", effects), asking("right", effects, seconds=2 * IDLE_S)

    @tool
    async def ask_left(of: str) -> str:
        """Ask the left one."""
        answer = await left.ainvoke({"messages": [("user", of)]})
        return str(answer["messages"][-1].text)

    @tool
    async def ask_right(of: str) -> str:
        """Ask the right one."""
        answer = await right.ainvoke({"messages": [("user", of)]})
        return str(answer["messages"][-1].text)

    parts = {"ask_left": left, "ask_right": right}
    with serve(calling(ask_left, ask_right), parts=parts) as talk:
        talk.say("go")
        asked: dict[str, str] = {}
        for _ in range(2):  # a node of tools asks one thing at a time
            talk.restart()
            for question in list(talk.questions):
                asked[question.message] = question.answer(f"to {question.message}").outcome
        assert set(asked) == {"left?", "right?"}
        assert talk.status == "finished"
        assert talk.texts[-1] == "left: to left? | right: to right?"
        assert sorted(effects) == ["left", "right"]


def test_a_graph_that_is_a_node_is_an_inner_agent(serve: Serve, effects: list[str]) -> None:
    inner = asking("inner", effects)
    builder = StateGraph(MessagesState)
    builder.add_node("clerk", inner)
    builder.add_node("last", lambda state: {"messages": [AIMessage("Done.")]})
    builder.add_edge(START, "clerk")
    builder.add_edge("clerk", "last")
    with serve(builder.compile(), subagents=["clerk"]) as talk:
        run = talk.say("go")
        assert [event["name"] for event in run.of("SUBAGENT_STARTED")] == ["clerk"]
        talk.restart()
        run = talk.answer("yes")
        assert run.outcome == "success"
        said = {e["messageId"]: e.get("subagentRunId") for e in run.of("TEXT_MESSAGE_START")}
        assert [agent is not None for agent in said.values()] == [True, False]
        assert run.of("SUBAGENT_FINISHED")
        assert talk.texts == ["inner works.", "inner: yes", "Done."]
        assert effects == ["inner"]


def test_a_graph_of_a_tool_that_is_not_named_fails_with_the_line_to_add(
    serve: Serve, effects: list[str]
) -> None:
    inner = asking("inner", effects)

    @tool
    async def ask_inner(of: str) -> str:
        """Ask."""
        return str((await inner.ainvoke({"messages": [("user", of)]}))["messages"][-1].text)

    with (
        serve(calling(ask_inner)) as talk,
        pytest.raises(RuntimeError, match=r"parts=\{'ask_inner': that_graph\}"),
    ):
        talk.say("go")


def test_parts_and_subagents_that_cannot_be_are_refused(serve: Serve, effects: list[str]) -> None:
    @tool
    def look(of: str) -> str:
        """Look."""
        return of

    stored = StateGraph(MessagesState).add_node("a", lambda state: None).add_edge(START, "a")
    saver = InMemorySaver()
    for options, words in (
        ({"parts": {"lok": calling(look)}}, "parts= of agent 'shop' names lok"),
        ({"parts": {"look": look}}, "tool 'look' runs a compiled graph"),
        ({"parts": {"look": stored.compile(saver)}}, "has a checkpointer of its own"),
        ({"subagents": ["clerk"]}, "subagents= of agent 'shop' names clerk"),
    ):
        with pytest.raises(DeclarationError, match=words):
            serve(calling(look), **options)


async def test_outside_of_a_turn_a_graph_of_a_tool_runs_as_before(
    serve: Serve, effects: list[str]
) -> None:
    @tool
    def look(of: str) -> str:
        """Look."""
        effects.append("look")
        return "seen"

    inner = calling(look)

    @tool
    async def ask_inner(of: str) -> str:
        """Ask."""
        return str((await inner.ainvoke({"messages": [("user", of)]}))["messages"][-1].text)

    serve(calling(ask_inner), parts={"ask_inner": inner}, approve={"look": approval.always})
    for _ in range(2):
        serve(calling(ask_inner), parts={"ask_inner": inner})
    assert inner.invoke({"messages": [("user", "x")]})["messages"][-1].text == "seen"
    assert (await inner.ainvoke({"messages": [("user", "x")]}))["messages"][-1].text == "seen"
    assert effects == ["look", "look"]


def test_a_death_in_a_graph_that_is_part_of_an_effect_asks_about_the_effect_alone(
    effects: list[str],
) -> None:
    cut: list[Any] = []

    def work(state: MessagesState) -> dict[str, Any]:
        effects.append("work")
        if cut:
            cut.pop()()
        return {"messages": [AIMessage("worked")]}

    inner = line(work)

    async def run(of: str) -> str:
        return str((await inner.ainvoke({"messages": [("user", of)]}))["messages"][-1].text)

    whole = StructuredTool.from_function(coroutine=run, name="whole", description="Ask.")
    app = Sayso(store="memory:", server=ServerOptions(console=False))
    part = StructuredTool.from_function(coroutine=run, name="part", description="Ask.")
    graph = calling(whole)
    mount(app, "other", calling(part), parts={"part": inner})
    mount(app, "shop", graph)
    with Conversation(app, "shop", errors="return", replays=False) as talk:
        assert talk._world is not None
        cut.append(talk._world._window.disconnect)
        assert talk.say("go").outcome == "crashed"
        talk.restart()
        talk.advance(30)
        assert talk.question.reason == "sayso:indeterminate"
        ended = talk.answer({"action": "skip", "result": "it worked"})
        assert ended.outcome == "success"
        assert talk.texts == ["it worked"]
        assert effects == ["work"]
