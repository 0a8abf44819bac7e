"""Agents of `create_agent`: LangChain's own review of calls, tools that ask, and what they say."""

import inspect
import operator
from typing import Annotated, Any, get_args

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.human_in_the_loop import DecisionType
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_core.tools import StructuredTool, tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from sayso import DeclarationError, Sayso, ServerOptions, approval
from sayso.frameworks.langgraph.wire import spoken
from sayso.langgraph import mount
from sayso.testing import Conversation
from tests.frameworks.langgraph.conftest import Serve
from tests.frameworks.langgraph.graphs import line
from tests.frameworks.langgraph.models import PlannedChat
from tests.frameworks.shop import Shop

REFUNDS = "refund A-17 and A-18 after status"
MODES = [
    mode
    for mode in ("batched", "per_call")
    if mode == "batched"
    or "interrupt_mode" in inspect.signature(HumanInTheLoopMiddleware).parameters
]
"""The ways to ask that this version of LangChain has."""

ANSWER = "respond" if "respond" in get_args(DecisionType) else "reject"
"""The decision that brings a text for the model; the first of them came later."""


def reviewed(shop: Shop, mode: str) -> Any:
    """An agent whose refunds LangChain's middleware asks about."""
    options: dict[str, Any] = {} if mode == "batched" else {"interrupt_mode": mode}
    tools = [
        StructuredTool.from_function(shop.order_status),
        StructuredTool.from_function(shop.issue_refund),
    ]
    gate = HumanInTheLoopMiddleware(interrupt_on={"issue_refund": True}, **options)
    return create_agent(PlannedChat(shop=shop), tools, middleware=[gate])


def editing(mode: str, order: str, amount: float) -> dict[str, Any]:
    """An edit as each way to ask takes it."""
    arguments = {"order_id": order, "amount": amount}
    if mode == "batched":
        return {"type": "edit", "args": arguments}
    return {"type": "edit", "edited_action": {"name": "issue_refund", "args": arguments}}


@pytest.mark.parametrize("mode", MODES)
def test_calls_that_langchain_wants_reviewed_are_questions_with_its_decisions(
    serve: Serve, mode: str
) -> None:
    shop = Shop()
    with serve(reviewed(shop, mode)) as talk:
        talk.say(REFUNDS)
        assert len(talk.questions) == 2
        talk.restart()
        first, second = talk.questions
        first.answer(editing(mode, "A-17", 20))
        run = second.answer({"type": "reject", "message": "never"})
        assert run.outcome == "success"
        assert sorted(shop.effects) == ["refund A-17 20", "status A-17"]
        assert "never" in run.text
        assert shop.asked == 2


@pytest.mark.parametrize("mode", MODES)
def test_a_review_may_answer_in_place_of_the_tool(serve: Serve, mode: str) -> None:
    shop = Shop()
    with serve(reviewed(shop, mode)) as talk:
        talk.say("refund A-17")
        run = talk.answer({"type": ANSWER, "message": "it was refunded by hand"})
        assert shop.effects == []
        assert "it was refunded by hand" in run.text


def test_a_trip_with_langchain_s_review_writes_four_times(serve: Serve) -> None:
    shop = Shop()
    with serve(reviewed(shop, "batched")) as talk:
        world = talk._world
        assert world is not None
        talk.say("refund A-17")
        talk.answer({"type": "approve"})
        assert len([c for c in world._window.calls if c.point == "commit"]) <= 5


def test_a_tool_may_return_a_command_and_fail(serve: Serve) -> None:
    shop = Shop()

    @tool
    def order_status(order_id: str) -> Any:
        """Look an order up."""
        raise ValueError("the register is closed")

    @tool
    def issue_refund(order_id: str, amount: float) -> Any:
        """Refund an order."""
        message = ToolMessage("refunded by command", tool_call_id=f"call_{order_id}")
        return Command(update={"messages": [message]})

    graph = create_agent(PlannedChat(shop=shop), [order_status, issue_refund])
    with serve(graph, errors="return") as talk:
        assert "refunded by command" in talk.say("refund A-17").text
        run = talk.say("refund A-18 after status")
        assert run.outcome == "agent_error"


def test_arguments_that_do_not_fit_are_told_to_the_model_and_cost_the_others_nothing(
    serve: Serve,
) -> None:
    effects: list[str] = []

    @tool
    def order_status(order_id: int) -> str:
        """Look an order up, by a number."""
        effects.append("status")
        return "paid"

    @tool
    def issue_refund(order_id: str, amount: int) -> str:
        """Refund an order; whole amounts only, which a model writes as 240.0."""
        effects.append(f"refund {amount}")
        return "refunded"

    graph = create_agent(PlannedChat(shop=Shop()), [order_status, issue_refund])
    with serve(graph, approve={"order_status": approval.always}) as talk:
        run = talk.say("refund A-17 after status")
        assert run.outcome == "success"
        assert "Not called:" in run.text
        assert effects == ["refund 240"]


def test_a_name_that_no_tool_or_node_has_is_refused_when_it_is_mounted() -> None:
    shop = Shop()
    graph = create_agent(PlannedChat(shop=shop), [StructuredTool.from_function(shop.issue_refund)])
    app = Sayso(store="memory:", server=ServerOptions(console=False))
    with pytest.raises(DeclarationError, match="approve= of agent 'a' names isue_refund"):
        mount(app, "a", graph, approve={"isue_refund": approval.always})
    with pytest.raises(DeclarationError, match="repeatable= of agent 'a' names modle"):
        mount(app, "a", graph, repeatable={"modle"})
    with pytest.raises(DeclarationError, match="takes a compiled graph"):
        mount(app, "a", object())


def test_two_agents_have_tools_of_one_name_with_policies_of_their_own() -> None:
    shop = Shop()
    tools = [StructuredTool.from_function(shop.issue_refund)]
    app = Sayso(store="memory:", server=ServerOptions(console=False))
    for name, policy in (("strict", approval.always), ("free", approval.never)):
        graph = create_agent(PlannedChat(shop=shop), tools)
        mount(app, name, graph, approve={"issue_refund": policy})
    with Conversation(app, "free") as talk:
        assert talk.say("refund A-17").outcome == "success"
    with Conversation(app, "strict") as talk:
        assert talk.say("refund A-18").outcome == "interrupt"
    assert shop.effects == ["refund A-17 240"]


def test_thoughts_of_a_model_are_reasoning_beside_its_text(serve: Serve) -> None:
    def think(state: MessagesState) -> dict[str, Any]:
        message = AIMessage(
            [
                {"type": "reasoning", "reasoning": "Let me see."},
                {"type": "text", "text": "It is paid."},
            ]
        )
        return {"messages": [message]}

    with serve(line(think)) as talk:
        run = talk.say("go")
        assert run.text == "It is paid."
        thoughts = run.of("REASONING_MESSAGE_CONTENT")
        assert "".join(event["delta"] for event in thoughts) == "Let me see."


def test_two_models_at_once_say_two_messages(serve: Serve) -> None:
    shop = Shop()

    async def say(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await PlannedChat(shop=shop).ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    for name in ("left", "right"):
        builder.add_node(name, say)
        builder.add_edge(START, name)
    with serve(builder.compile()) as talk:
        talk.say("hello")
        assert talk.texts == ["Hello, this is turn 1."] * 2


def test_the_graph_s_values_are_the_shared_state(serve: Serve) -> None:
    class Counted(MessagesState):
        count: int

    def count(state: Counted) -> dict[str, Any]:
        return {"count": state.get("count", 0) + 1}

    def ask(state: Counted) -> dict[str, Any]:
        interrupt("Go on?")
        return {"messages": [("ai", f"counted {state['count']}")]}

    with serve(line(count, ask, state=Counted)) as talk:
        talk.say("go")
        assert talk.state == {"count": 1}
        talk.restart()
        talk.edit_state(count=41)
        run = talk.answer("yes")
        assert run.outcome == "success"
        assert talk.texts == ["counted 41"]
        assert run.result == {"count": 41}


def test_the_next_turn_begins_with_the_state_of_the_one_before(serve: Serve) -> None:
    class Counted(MessagesState):
        count: int
        names: Annotated[list[str], operator.add]

    def count(state: Counted) -> dict[str, Any]:
        names = [f"turn {state.get('count', 0) + 1}"]
        return {"count": state.get("count", 0) + 1, "names": names}

    with serve(line(count, state=Counted)) as talk:
        talk.say("go")
        talk.say("go on", state=talk.state)
        assert talk.state == {"count": 2, "names": ["turn 1", "turn 2"]}


def test_what_a_node_streams_for_itself_is_a_custom_event(serve: Serve) -> None:
    def work(state: MessagesState) -> None:
        get_stream_writer()({"done": 3})

    with serve(line(work)) as talk:
        (event,) = talk.say("go").of("CUSTOM")
        assert (event["name"], event["value"]) == ("langgraph:custom", {"done": 3})


def test_a_tool_that_asks_for_itself_asks_before_it_runs_on(serve: Serve) -> None:
    effects: list[str] = []

    @tool
    def issue_refund(order_id: str, amount: float) -> str:
        """Refund an order."""
        said = interrupt("Really?")
        effects.append("refund")
        return f"refunded, {said}"

    graph = create_agent(PlannedChat(shop=Shop()), [issue_refund])
    with serve(graph) as talk:
        talk.say("refund A-17")
        assert talk.question.message == "Really?"
        talk.restart()
        run = talk.answer("yes")
        assert effects == ["refund"]
        assert "refunded, yes" in run.text


def test_a_model_inside_a_tool_does_not_speak_for_the_agent(serve: Serve) -> None:
    shop = Shop()

    @tool
    async def issue_refund(order_id: str, amount: float) -> str:
        """Ask another model."""
        said = await PlannedChat(shop=Shop()).ainvoke([("user", "hello")])
        return f"heard: {said.content}"

    with serve(create_agent(PlannedChat(shop=shop), [issue_refund])) as talk:
        run = talk.say("refund A-17")
        assert run.text == "Let me see. Done: heard: Hello, this is turn 1."


def test_a_failing_node_fails_the_turn_and_the_thread_goes_on(serve: Serve) -> None:
    failing = [True]

    def work(state: MessagesState) -> dict[str, Any]:
        if failing:
            failing.pop()
            raise ConnectionError("no")
        return {"messages": [("ai", "there")]}

    with serve(line(work), errors="return") as talk:
        assert talk.say("go").outcome == "agent_error"
        assert talk.say("again").text == "there"


def test_chunks_of_a_message_with_calls_only_say_nothing() -> None:
    assert list(spoken(AIMessageChunk(content=""))) == []
