"""`interrupt()` wherever a graph may call it, and breakpoints."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from sayso.testing import Refused
from tests.frameworks.langgraph.conftest import Serve
from tests.frameworks.langgraph.graphs import checked, line


def test_three_branches_ask_at_once_and_each_goes_on_with_its_own_answer(
    serve: Serve, effects: list[str]
) -> None:
    with serve(checked(effects)) as talk:
        talk.say("go")
        assert [q.message for q in talk.questions] == [
            f"Does {who} agree?" for who in ("ann", "bob", "cid")
        ]
        talk.restart()
        ann, bob, cid = talk.questions
        cid.answer("maybe")
        ann.answer("yes")
        with pytest.raises(Refused):
            bob.answer(7)
        run = bob.answer("no")
        assert run.outcome == "success"
        assert sorted(effects) == ["after ann", "after bob", "after cid", "charge", "ship"]
        assert talk.texts == ["Shipped. ann: yes; bob: no; cid: maybe"]


def test_a_node_that_asks_twice_begins_again_and_takes_both_answers(
    serve: Serve, effects: list[str]
) -> None:
    def first(state: MessagesState) -> Any:
        one, two = interrupt("One?"), interrupt("Two?")
        return Command(goto="last", update={"messages": [AIMessage(f"{one}{two}")]})

    def last(state: MessagesState) -> None:
        effects.append("last")

    builder = StateGraph(MessagesState)
    builder.add_node("first", first, destinations=("last",))
    builder.add_node("last", last)
    builder.add_edge(START, "first")
    with serve(builder.compile()) as talk:
        talk.say("go")
        talk.restart()
        talk.question.answer("a")
        assert talk.question.message == "Two?"
        talk.restart()
        assert talk.question.answer("b").outcome == "success"
        assert effects == ["last"]
        assert talk.texts == ["ab"]


def test_a_question_about_an_integer_beyond_64_bits_shows_all_its_digits(
    serve: Serve, effects: list[str]
) -> None:
    """As text, since readers of JSON round a number."""

    def pay(state: MessagesState) -> None:
        answer = interrupt({"message": "Pay?", "amount": 10**30})
        effects.append(answer)

    builder = StateGraph(MessagesState)
    builder.add_node("pay", pay)
    builder.add_edge(START, "pay")
    with serve(builder.compile()) as talk:
        (item,) = talk.say("go").events[-1]["outcome"]["interrupts"]
        value = item["metadata"]["langgraph"]["value"]
        assert value == {"message": "Pay?", "amount": "1" + 30 * "0"}
        talk.restart()
        talk.question.answer("yes")
    assert effects == ["yes"]


def test_who_has_answered_is_not_asked_again_while_another_branch_asks_on(
    serve: Serve, effects: list[str]
) -> None:
    def once(state: MessagesState) -> None:
        effects.append(f"once {interrupt('Once?')}")

    def twice(state: MessagesState) -> None:
        first = interrupt("First?")
        effects.append(f"twice {first} {interrupt('Second?')}")

    builder = StateGraph(MessagesState)
    for node in (once, twice):
        builder.add_node(node.__name__, node)
        builder.add_edge(START, node.__name__)
    with serve(builder.compile()) as talk:
        talk.say("go")
        for question in list(talk.questions):
            question.answer("yes")
        assert [question.message for question in talk.questions] == ["Second?"]
        talk.restart()
        assert talk.answer("no").outcome == "success"
        assert effects == ["once yes", "twice yes no"]


def test_a_graph_that_is_a_node_asks_and_repeats_nothing(serve: Serve, effects: list[str]) -> None:
    def pay(state: MessagesState) -> None:
        effects.append("pay")

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("inner " + interrupt("Inner?"))]}

    def done(state: MessagesState) -> None:
        effects.append("done")

    inner = line(pay, ask)
    inner.__name__ = "inner"
    with serve(line(inner, done)) as talk:
        talk.say("go")
        assert talk.question.message == "Inner?"
        talk.restart()
        assert talk.answer("yes").outcome == "success"
        assert effects == ["pay", "done"]
        assert talk.texts == ["inner yes"]


def test_what_is_done_in_a_graph_that_is_a_node_is_not_done_again_while_its_sibling_asks(
    serve: Serve, effects: list[str]
) -> None:
    def pay(state: MessagesState) -> None:
        effects.append("pay")

    def ask(state: MessagesState) -> None:
        effects.append(interrupt("Inner?"))

    builder = StateGraph(MessagesState)
    for node in (pay, ask):
        builder.add_node(node.__name__, node)
        builder.add_edge(START, node.__name__)
    inner = builder.compile()
    inner.__name__ = "inner"
    with serve(line(inner)) as talk:
        talk.say("go")
        talk.restart()
        assert talk.answer("yes").outcome == "success"
        assert effects == ["pay", "yes"]


def test_an_entrypoint_asks_between_its_tasks(serve: Serve, effects: list[str]) -> None:
    @task
    async def charge(amount: int) -> int:
        effects.append(f"charge {amount}")
        return amount * 2

    @entrypoint()
    async def flow(given: dict[str, Any]) -> dict[str, Any]:
        charged = await charge(3)
        said = interrupt(f"Charged {charged}?")
        return {"messages": [AIMessage(f"{charged} {said}")]}

    with serve(flow) as talk:
        talk.say("go")
        talk.restart()
        assert talk.answer("ok").outcome == "success"
        assert effects == ["charge 3"]


def test_a_breakpoint_of_the_graph_asks_whether_to_go_on(serve: Serve, effects: list[str]) -> None:
    with serve(checked(effects, interrupt_before=["ship"])) as talk:
        talk.say("go")
        for question in list(talk.questions):
            question.answer("yes")
        assert talk.question.reason == "langgraph:breakpoint"
        assert "ship" not in effects
        talk.restart()
        assert talk.answer(True).outcome == "success"
        assert effects.count("ship") == 1
        assert effects.count("charge") == 1


def test_a_cancelled_question_fails_the_turn_or_is_the_value_that_the_mount_gives(
    serve: Serve, effects: list[str]
) -> None:
    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"said {interrupt('Which?')}")]}

    with serve(line(ask), errors="return") as talk:
        talk.say("go")
        assert talk.question.cancel().outcome == "agent_error"
    with serve(line(ask), on_cancel="nothing") as talk:
        talk.say("go")
        assert talk.question.cancel().outcome == "success"
        assert talk.texts == ["said nothing"]


def test_a_copy_at_a_question_repeats_nothing_that_came_before(
    serve: Serve, effects: list[str]
) -> None:
    with serve(checked(effects)) as talk:
        talk.say("go")
        copy = talk.fork(talk.questions[0])
        for question in list(copy.questions):
            question.answer("no")
        for question in list(talk.questions):
            question.answer("yes")
        assert effects.count("charge") == 1
        assert effects.count("ship") == 2
        assert copy.texts == ["Shipped. ann: no; bob: no; cid: no"]
