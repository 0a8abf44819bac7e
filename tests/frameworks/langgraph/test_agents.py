"""Agents of `create_agent`: LangChain's own review of calls, tools that ask, and what they say."""

import inspect
import operator
import threading
from dataclasses import replace
from typing import Annotated, Any, TypedDict, get_args

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.human_in_the_loop import DecisionType
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, ToolMessage
from langchain_core.tools import StructuredTool, tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from sayso import DeclarationError, Sayso, ServerOptions, approval
from sayso.frameworks.langgraph.wire import spoken
from sayso.langgraph import mount
from sayso.testing import Conversation
from sayso.turns.replay.quiescence import IDLE_S
from tests.frameworks.langgraph.conftest import Serve
from tests.frameworks.langgraph.graphs import line
from tests.frameworks.langgraph.models import PlannedChat
from tests.frameworks.shop import Reply, Shop

CALL: Any = {"id": "1", "name": "issue_refund", "args": {"order_id": "A-17", "amount": 1.0}}
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
        return {"approved": True, "editedArgs": arguments}
    return {"type": "edit", "edited_action": {"name": "issue_refund", "args": arguments}}


def refusing(mode: str, why: str, *, decision: str = "reject") -> dict[str, Any]:
    """A no as each way to ask takes it; of those with decisions, this one."""
    if mode == "batched":
        return {"approved": False, "reason": why}
    return {"type": decision, "message": why}


@pytest.mark.parametrize("mode", MODES)
def test_calls_that_langchain_wants_reviewed_are_questions(serve: Serve, mode: str) -> None:
    shop = Shop()
    with serve(reviewed(shop, mode)) as talk:
        talk.say(REFUNDS)
        assert len(talk.questions) == 2
        talk.restart()
        first, second = talk.questions
        first.answer(editing(mode, "A-17", 20))
        run = second.answer(refusing(mode, "never"))
        assert run.outcome == "success"
        assert sorted(shop.effects) == ["refund A-17 20", "status A-17"]
        assert "never" in run.text
        assert shop.asked == 2


@pytest.mark.parametrize("mode", MODES)
def test_a_review_may_answer_in_place_of_the_tool(serve: Serve, mode: str) -> None:
    shop = Shop()
    with serve(reviewed(shop, mode)) as talk:
        talk.say("refund A-17")
        run = talk.answer(refusing(mode, "it was refunded by hand", decision=ANSWER))
        assert shop.effects == []
        assert "it was refunded by hand" in run.text


def test_a_trip_with_langchain_s_review_writes_four_times(serve: Serve) -> None:
    shop = Shop()
    with serve(reviewed(shop, "batched")) as talk:
        world = talk._world
        assert world is not None
        talk.say("refund A-17")
        talk.question.approve()
        assert len([c for c in world._window.calls if c.point == "commit"]) == 4


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


@pytest.mark.parametrize("middleware", [[], [HumanInTheLoopMiddleware({"issue_refund": True})]])
def test_an_integer_beyond_64_bits_is_told_to_the_model_and_kept_exactly(
    serve: Serve, middleware: list[Any]
) -> None:
    """Readers of JSON round it, and LangGraph's serializer has no form of it."""

    class Huge(Shop):
        def reply(self, conversation: Any) -> Reply:
            reply = super().reply(conversation)
            huge = {"order_id": "A-18", "amount": -(10**30)}
            calls = [replace(c, arguments=huge) if "A-18" in c.id else c for c in reply.calls]
            return replace(reply, calls=tuple(calls))

    @tool
    def issue_refund(order_id: str, amount: int) -> str:
        """Refund an order."""
        shop.effects.append(f"refund {order_id} {amount}")
        return "refunded"

    def look(state: MessagesState) -> None:
        calls = [call for m in state["messages"] for call in getattr(m, "tool_calls", ())]
        seen.append([call["args"]["amount"] for call in calls])

    shop, seen = Huge(), list[list[int]]()
    builder = StateGraph(MessagesState)
    agent = create_agent(PlannedChat(shop=shop), [issue_refund], middleware=middleware)
    builder.add_node("agent", agent)
    builder.add_node("look", look)
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "look")
    with serve(builder.compile(), approve={"issue_refund": approval.always}) as talk:
        assert talk.say("refund A-17 and A-18").outcome == "interrupt"
        talk.restart()
        run = talk.question.approve()
        assert "beyond 64 bits" in run.text
        assert talk.say("hello").outcome == "success"
    assert shop.effects == ["refund A-17 240"]
    assert seen == [[240, -(10**30)]] * 2


def test_half_a_character_in_arguments_costs_no_turn(serve: Serve) -> None:
    """A model may write one; it is text all the same, for the person and for the tool."""

    class Half(Shop):
        def reply(self, conversation: Any) -> Reply:
            reply = super().reply(conversation)
            half = {"order_id": "A-17\ud83d", "amount": 240.0}
            return replace(reply, calls=tuple(replace(c, arguments=half) for c in reply.calls))

    shop = Half()
    graph = create_agent(PlannedChat(shop=shop), [StructuredTool.from_function(shop.issue_refund)])
    with serve(graph, approve={"issue_refund": approval.always}) as talk:
        talk.say("refund A-17")
        shown = talk.question.args["order_id"]
        talk.restart()
        talk.question.approve()
        assert shop.effects == [f"refund {shown} 240"]


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


def test_the_next_turn_goes_on_from_the_state_of_the_one_before(serve: Serve) -> None:
    class Shown(TypedDict):
        count: int
        names: Annotated[list[str], operator.add]
        messages: Annotated[list[AnyMessage], add_messages]

    class Counted(Shown):
        secret: str

    seen: list[str] = []

    def count(state: Counted) -> dict[str, Any]:
        seen.append(state.get("secret", "none"))
        number = state.get("count", 0) + 1
        said = [message.text for message in state["messages"]]
        return {
            "count": number,
            "names": [f"turn {number}"],
            "secret": f"kept {number}",
            "messages": [AIMessage(f"after {said}")],
        }

    builder = StateGraph(Counted, output_schema=Shown)
    builder.add_node("count", count)
    builder.add_edge(START, "count")
    with serve(builder.compile()) as talk:
        talk.say("one")
        talk.restart()
        talk.say("two", state=talk.state)
        assert talk.state == {"count": 2, "names": ["turn 1", "turn 2"]}
        assert seen == ["none", "kept 1"]
        assert talk.texts[-1] == "after ['one', \"after ['one']\", 'two']"
        talk.say("three", state={**talk.state, "count": 9, "names": ["mine"]})
        assert talk.state == {"count": 10, "names": ["mine", "turn 10"]}


def test_a_message_that_is_edited_takes_what_came_of_it_out_of_the_graph(serve: Serve) -> None:
    def tell(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(" ".join(m.text for m in state["messages"]))]}

    with serve(line(tell)) as talk:
        talk.say("one")
        talk.say("two")
        first, *_ = talk.messages
        edited = {"id": "edited", "role": "user", "content": "three"}
        talk.send(messages=[first, talk.messages[1], edited])
        assert talk.texts[-1] == "one one three"


def test_a_long_conversation_is_logged_once_and_goes_on_as_it_is(serve: Serve) -> None:
    def tell(state: MessagesState) -> dict[str, Any]:
        changed = state["messages"][-3].model_copy(update={"content": "changed"})
        return {"messages": [changed, AIMessage(f"after {len(state['messages'])}")]}

    def ask(state: MessagesState) -> dict[str, Any]:
        said = interrupt("Go on?")
        return {"messages": [AIMessage(f"{said}, {len(state['messages'])}")]}

    history: list[Any] = [
        {"id": f"{role}{n}", "role": role, "content": f"{n} " * 50}
        for n in range(100)
        for role in ("user", "assistant")
    ]
    with serve(line(tell, ask)) as talk:
        talk.send(messages=[*history, {"id": "last", "role": "user", "content": "go"}])
        first = bytes_noted(talk)
        talk.restart()
        talk.answer("yes")
        assert talk.texts[-2:] == ["after 201", "yes, 202"]
        talk.restart()
        talk.say("and again")
        assert bytes_noted(talk) < first / 10
        talk.restart()
        talk.answer("no")
        assert talk.texts[-2:] == ["after 204", "no, 205"]


def bytes_noted(talk: Conversation) -> int:
    """The bytes of all notes that this process has written."""
    assert talk._world is not None
    commits = [call.subject for call in talk._world._window.calls if call.point == "commit"]
    entries = [entry for commit in commits for entry in commit.entries if entry.kind == "note"]
    return sum(len(entry.data) for entry in entries)


def test_a_value_that_is_larger_than_a_note_is_logged_and_kept_if_there_is_room(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    class Large(MessagesState):
        a: str
        b: str
        c: str

    def load(state: Large) -> dict[str, Any]:
        there = [name for name in "abc" if state.get(name)]
        blobs = {name: "é" * 1_250_000 for name in "abc" if state["messages"][-1].text == name}
        return {**blobs, "messages": [AIMessage(f"has {there}")]}

    def ask(state: Large) -> dict[str, Any]:
        said = interrupt("Go on?")
        return {"messages": [AIMessage(f"{said} {[len(state.get(name, '')) for name in 'abc']}")]}

    builder = StateGraph(Large, output_schema=MessagesState)
    builder.add_node("load", load)
    builder.add_node("ask", ask)
    builder.add_edge(START, "load")
    builder.add_edge("load", "ask")
    with serve(builder.compile()) as talk:
        for text, before, now in (
            ("a", [], [1_250_000, 0, 0]),
            ("b", ["a"], [1_250_000, 1_250_000, 0]),
            ("c", ["a", "b"], [1_250_000] * 3),
        ):
            assert "begins with its messages alone" not in caplog.text
            talk.say(text)
            assert talk.texts[-1] == f"has {before}"
            talk.restart()
            talk.answer("yes")
            assert talk.texts[-1] == f"yes {now}"
        assert "begins with its messages alone" in caplog.text
        talk.say("d")
        assert talk.texts[-1] == "has []"


def test_a_turn_that_was_stopped_leaves_its_message_to_the_next(serve: Serve) -> None:
    def tell(state: MessagesState) -> dict[str, Any]:
        said = [m.text for m in state["messages"] if m.type == "human" and " " not in m.text]
        if said[-1] == "two":
            interrupt("Go on?")
        return {"messages": [AIMessage(" ".join(said))]}

    with serve(line(tell), errors="return") as talk:
        talk.say("one")
        talk.say("two")
        talk.question.cancel()
        assert talk.status == "failed"
        assert talk.say("three").text == "one two three"


def test_what_a_node_streams_for_itself_is_a_custom_event(serve: Serve) -> None:
    def work(state: MessagesState) -> None:
        get_stream_writer()({"done": 3})

    with serve(line(work)) as talk:
        (event,) = talk.say("go").of("CUSTOM")
        assert (event["name"], event["value"]) == ("langgraph:custom", {"done": 3})


def test_a_tool_that_asks_for_itself_is_one_call_that_asks_before_it_runs_on(
    serve: Serve,
) -> None:
    effects: list[str] = []

    @tool
    def issue_refund(order_id: str, amount: float) -> str:
        """Refund an order."""
        why = interrupt({"message": f"Why {order_id}?", "responseSchema": {"type": "string"}})
        said = interrupt("Really?")
        effects.append(f"refund {order_id}")
        return f"refunded {order_id}, {why}, {said}"

    with serve(create_agent(PlannedChat(shop=Shop()), [issue_refund])) as talk:
        run = talk.say("refund A-17 and A-18")
        calls = {event["toolCallId"] for event in run.of("TOOL_CALL_START")}
        asked = run.events[-1]["outcome"]["interrupts"]
        assert {item["toolCallId"] for item in asked} == calls
        assert [question.message for question in talk.questions] == ["Why A-17?", "Why A-18?"]
        talk.restart()
        for question in list(talk.questions):
            question.answer("late")
        assert [question.message for question in talk.questions] == ["Really?", "Really?"]
        talk.restart()
        first, second = talk.questions
        first.answer("yes")
        run = second.answer("no")
        assert sorted(effects) == ["refund A-17", "refund A-18"]
        assert run.of("TOOL_CALL_START") == []
        assert run.text == "Done: refunded A-17, late, yes | refunded A-18, late, no"


def test_a_node_that_runs_beside_a_question_runs_to_its_end(serve: Serve) -> None:
    effects: list[str] = []
    ends = threading.Event()

    @tool
    def issue_refund(order_id: str, amount: float) -> str:
        """Refund an order."""
        return "refunded"

    def slow(state: MessagesState) -> None:
        effects.append("begins")
        assert not ends.wait(2 * IDLE_S)
        effects.append("ends")

    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [AIMessage("", tool_calls=[CALL])]})
    builder.add_node("tools", ToolNode([issue_refund]))
    builder.add_node("slow", slow)
    builder.add_edge(START, "model")
    builder.add_edge("model", "tools")
    builder.add_edge("model", "slow")
    with serve(builder.compile(), approve={"issue_refund": approval.always}) as talk:
        talk.say("go")
        assert effects == ["begins", "ends"]
        assert talk.question.approve().outcome == "success"
        assert effects == ["begins", "ends"]


def test_nodes_of_the_whole_graph_are_steps_that_overlap(serve: Serve) -> None:
    def first(state: MessagesState) -> None:
        return None

    def left(state: MessagesState) -> None:
        interrupt("Go on?")

    builder = StateGraph(MessagesState)
    builder.add_node("first", first)
    builder.add_node("left", left)
    builder.add_node("right", line(first))
    builder.add_edge(START, "first")
    builder.add_edge("first", "left")
    builder.add_edge("first", "right")
    graph = builder.compile()
    with serve(graph) as talk:
        run = talk.say("go")
        steps = [(e["type"][5:], e["stepName"]) for e in run.of("STEP_STARTED", "STEP_FINISHED")]
        assert steps[:2] == [("STARTED", "first"), ("FINISHED", "first")]
        assert sorted(steps[2:4]) == [("STARTED", "left"), ("STARTED", "right")]
        assert sorted(steps[4:]) == [("FINISHED", "left"), ("FINISHED", "right")]
        talk.restart()
        run = talk.answer("yes")
        steps = [(e["type"][5:], e["stepName"]) for e in run.of("STEP_STARTED", "STEP_FINISHED")]
        assert steps == [("STARTED", "left"), ("FINISHED", "left")]
    with serve(graph, steps=False) as talk:
        assert talk.say("go").of("STEP_STARTED") == []


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
