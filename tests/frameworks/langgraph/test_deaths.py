"""A server that dies in a graph: nothing that has ended runs again, and what is unclear asks."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import RetryPolicy

from sayso import Sayso, ServerOptions
from sayso.langgraph import mount
from sayso.testing import Conversation
from sayso.testing.question import OpenQuestion
from tests.frameworks.langgraph.conftest import Serve
from tests.frameworks.langgraph.graphs import checked, line


def unclear(question: OpenQuestion) -> bool:
    """True for a question about a node of which nobody knows whether it ended."""
    return question.reason == "sayso:decision"


def careful(question: OpenQuestion, effects: list[str]) -> dict[str, Any]:
    """The answer of somebody who looks whether the node has done its work."""
    node = question.message.split("'")[1]
    if node == "check":
        node = "after " + question.message.split('who": "')[-1].split("who': '")[-1][:3]
    return {"action": "skip" if node in effects else "run_again"}


def life(talk: Conversation, effects: list[str], number: int, when: Any) -> bool:
    """A conversation that dies at that commit; False where there is no such commit."""
    world = talk._world
    assert world is not None
    window = world._window
    fault = window.fail("commit", n=number, when=when, hook=window.disconnect)
    talk.say("go")
    for _ in range(12):
        if world.dead:
            talk.restart()
            talk.advance(30)
            if talk.status is None:
                talk.say("go")
        elif talk.questions:
            for question in list(talk.questions):
                question.answer(careful(question, effects) if unclear(question) else "yes")
        else:
            break
    return fault.fired > 0


@pytest.mark.parametrize("when", ["before", "after"])
def test_no_death_at_a_commit_repeats_what_a_node_did(when: str) -> None:
    for number in range(1, 40):
        effects: list[str] = []
        talk = _talk(checked(effects))
        with talk:
            died = life(talk, effects, number, when)
        for once in ("charge", "ship", "after ann", "after bob", "after cid"):
            assert effects.count(once) == 1, (number, when, effects)
        if not died:
            assert number > 5
            return
    raise AssertionError("the conversation never ended")


def _talk(graph: Any) -> Conversation:
    app = Sayso(store="memory:", server=ServerOptions(console=False))
    mount(app, "shop", graph)
    return Conversation(app, errors="return", replays=False)


@pytest.mark.parametrize("policy", [None, RetryPolicy(max_attempts=2)])
def test_a_node_that_died_is_asked_about_unless_it_may_be_retried(
    policy: RetryPolicy | None, effects: list[str]
) -> None:
    cut: list[Any] = []

    def risky(state: MessagesState) -> dict[str, Any]:
        effects.append("risky")
        if cut:
            cut.pop()()
        return {"messages": [("ai", "done")]}

    builder = StateGraph(MessagesState)
    builder.add_node("risky", risky, retry_policy=policy)
    builder.add_edge(START, "risky")
    with _talk(builder.compile()) as talk:
        world = talk._world
        assert world is not None
        cut.append(world._window.disconnect)
        talk.say("go")
        talk.restart()
        talk.advance(30)
        if policy is None:
            assert unclear(talk.question)
            assert "'risky'" in talk.question.message
            assert effects == ["risky"]
            assert talk.answer({"action": "run_again"}).outcome == "success"
        assert effects == ["risky", "risky"]
        assert talk.texts == ["done"]


def test_an_unclear_node_is_skipped_or_stops_the_turn(effects: list[str]) -> None:
    cut: list[Any] = []

    def risky(state: MessagesState) -> dict[str, Any]:
        effects.append("risky")
        if cut:
            cut.pop()()
        return {"messages": [("ai", "done")]}

    def after(state: MessagesState) -> None:
        effects.append("after")

    for action, outcome, done in (
        ("skip", "success", ["risky", "after"]),
        ("stop", "agent_error", ["risky"]),
    ):
        effects.clear()
        with _talk(line(risky, after)) as talk:
            world = talk._world
            assert world is not None
            cut.append(world._window.disconnect)
            talk.say("go")
            talk.restart()
            talk.advance(30)
            assert talk.answer({"action": action}).outcome == outcome
            assert effects == done


def test_a_task_that_died_is_asked_about_by_its_own_name(effects: list[str]) -> None:
    cut: list[Any] = []

    @task
    def look(order: str) -> str:
        effects.append("look")
        return order

    @task
    async def charge(amount: int) -> int:
        effects.append(f"charge {amount}")
        if cut:
            cut.pop()()
        return amount

    @entrypoint()
    async def flow(given: dict[str, Any]) -> dict[str, Any]:
        await look("A-17")
        charged = await charge(3)
        return {"messages": [AIMessage(f"charged {charged}")]}

    for action, done in (
        ("skip", ["look", "charge 3"]),
        ("run_again", ["look", *["charge 3"] * 2]),
    ):
        effects.clear()
        with _talk(flow) as talk:
            world = talk._world
            assert world is not None
            cut.append(world._window.disconnect)
            talk.say("go")
            talk.restart()
            talk.advance(30)
            assert "'charge'" in talk.question.message
            assert talk.answer({"action": action}).outcome == "success"
            assert effects == done


def test_a_trip_of_three_branches_writes_six_times(serve: Serve, effects: list[str]) -> None:
    with serve(checked(effects)) as talk:
        world = talk._world
        assert world is not None
        talk.say("go")
        for question in list(talk.questions):
            question.answer("yes")
        assert len([c for c in world._window.calls if c.point == "commit"]) == 6
