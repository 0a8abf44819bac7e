"""What comes of the tools of an agent of Pydantic AI: for its model, for clients, on replay."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, RunContext, ToolReturn
from pydantic_ai.messages import BinaryContent, ModelMessage, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from sayso import Turn, approval
from sayso.testing import Conversation
from tests.frameworks.pydantic_ai.models import once, planned, results_of
from tests.frameworks.pydantic_ai.served import app_of
from tests.frameworks.shop import Reply, Wanted

PNG = b"\x89PNG\r\n"


class City(BaseModel):
    name: str
    people: int = 0


def test_a_tool_that_wants_to_be_called_in_another_way_has_one_effect() -> None:
    """The model is told why; what the tool did before it raised is recorded and not done again."""
    effects: list[str] = []

    def plan(messages: list[ModelMessage]) -> Reply:
        results = results_of(messages)
        if not results:
            return Reply("", (Wanted("c1", "pay", {"sure": False}),))
        if "say that you are sure" in results[-1]:
            return Reply("", (Wanted("c2", "pay", {"sure": True}),))
        return Reply(f"Done: {results[-1]}")

    agent = Agent(planned(plan), name="till")

    @agent.tool_plain
    def pay(sure: bool) -> str:
        effects.append(f"{sure}")
        if not sure:
            raise ModelRetry("say that you are sure")
        return "paid"

    with Conversation(app_of(agent, approve={"pay": approval.when(lambda sure: sure)})) as talk:
        talk.say("pay")
        assert effects == ["False"]
        talk.restart()
        talk.question.approve()
        assert talk.texts[-1] == "Done: paid"
    assert effects == ["False", "True"]


def test_arguments_that_no_reader_keeps_cost_the_others_nothing() -> None:
    """The framework takes any integer; readers of JSON round one beyond 64 bits."""
    effects: list[int] = []
    agent = Agent(once("pay", {"n": 10**30}, Wanted("c2", "pay", {"n": 5})), name="till")

    @agent.tool_plain
    def pay(n: int) -> str:
        effects.append(n)
        return "paid"

    with Conversation(app_of(agent, approve={"pay": approval.always})) as talk:
        talk.say("pay")
        talk.question.approve()
        assert "beyond 64 bits" in talk.texts[-1]
    assert effects == [5]


def test_clients_read_the_result_and_the_model_gets_more() -> None:
    agent = Agent(once("look", {}), name="desk")

    @agent.tool_plain
    def look() -> ToolReturn[str]:
        return ToolReturn("a cat", content="Here it is.", metadata={"not": "shown"})

    with Conversation(app_of(agent)) as talk:
        talk.say("look")
        assert talk.results == ["a cat"]
        assert talk.texts[-1] == "Done: a cat"


def test_an_image_is_an_image_for_clients() -> None:
    agent = Agent(once("draw", {}), name="desk")

    @agent.tool_plain
    def draw() -> list[Any]:
        return ["a dot", BinaryContent(PNG, media_type="image/png")]

    with Conversation(app_of(agent)) as talk:
        run = talk.say("draw")
        (result,) = run.of("TOOL_CALL_RESULT")
        kinds = [part["type"] for part in result["content"]]
        assert kinds == ["text", "image"]
        assert run.outcome == "success"


def test_an_error_is_told_and_the_agent_goes_on() -> None:
    agent = Agent(once("pay", {}), name="till")

    @agent.tool_plain
    def pay() -> str:
        raise ValueError("the password is hunter2")

    with Conversation(app_of(agent)) as talk:
        assert talk.say("pay").outcome == "success"
        assert "ValueError" in talk.texts[-1]
        assert "hunter2" not in talk.texts[-1]


def test_values_come_back_as_they_do_without_a_turn() -> None:
    """An object as the only argument, and texts that the framework reads as other types."""
    seen: list[Any] = []
    agent = Agent(once("settle", {"name": "Rome", "people": "3"}), name="desk")

    @agent.tool_plain(requires_approval=True)
    def settle(city: City) -> City:
        seen.append(city)
        return city

    with Conversation(app_of(agent)) as talk:
        talk.say("settle")
        assert talk.question.args == {"name": "Rome", "people": 3}
        talk.question.edit(name="Bern", people=4)
    assert seen == [City(name="Bern", people=4)]


def test_structured_output_is_the_result_of_the_run() -> None:
    async def stream(
        messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls]:
        name = info.output_tools[0].name
        yield {0: DeltaToolCall(name=name, json_args='{"name": "Rome"}', tool_call_id="o")}

    agent = Agent(FunctionModel(stream_function=stream), name="desk", output_type=City)
    with Conversation(app_of(agent)) as talk:
        assert talk.say("where?").result == {"name": "Rome", "people": 0}


def test_a_model_that_does_not_stream_says_its_reply_whole() -> None:
    agent = Agent(once("look", {}), name="desk")

    @agent.tool_plain
    async def look() -> str:
        other = Agent(planned(lambda messages: Reply("from inside")), name="other")
        return str((await other.run("?")).output)  # an agent inside an effect is part of the effect

    with Conversation(app_of(agent)) as talk:
        run = talk.say("look")
        assert run.text == "Done: from inside"


@pytest.mark.parametrize("waits", [False, True])
def test_deps_are_made_of_the_turn(waits: bool) -> None:
    agent = Agent(once("who", {}), name="desk", deps_type=str)

    @agent.tool
    def who(ctx: RunContext[str]) -> str:
        return str(ctx.deps)

    def made(turn: Turn) -> Any:
        return later(turn) if waits else turn.principal.subject

    async def later(turn: Turn) -> str:
        return turn.principal.subject

    with Conversation(app_of(agent, deps=made)) as talk:
        talk.say("who?")
        assert talk.texts[-1] == "Done: local"


def test_what_a_tool_sends_on_is_refused_because_it_would_be_lost() -> None:
    agent = Agent(once("note", {}), name="desk")

    @agent.tool
    def note(ctx: RunContext[None]) -> str:
        ctx.enqueue("and remember this")
        return "noted"

    with Conversation(app_of(agent)) as talk:
        talk.say("note")
        assert "UserError" in talk.texts[-1]


def test_the_history_that_a_model_gets_can_be_cut() -> None:
    seen: list[int] = []

    def plan(messages: list[ModelMessage]) -> Reply:
        seen.append(len(messages))
        return Reply("well")

    agent = Agent(planned(plan), name="desk")
    with Conversation(app_of(agent, history=lambda messages: messages[-2:])) as talk:
        for _ in range(3):
            talk.say("hello")
    assert seen == [1, 3, 3]


def test_the_ids_of_a_model_s_calls_may_come_again() -> None:
    """A later turn, and a later round, may use the id of an earlier call."""

    def plan(messages: list[ModelMessage]) -> Reply:
        results = [p for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]
        if len(results) < 2:
            return Reply("", (Wanted("same", "count", {"n": len(results)}),))
        return Reply(json.dumps([part.content for part in results]))

    agent = Agent(planned(plan), name="desk")

    @agent.tool_plain
    def count(n: int) -> int:
        return n

    with Conversation(app_of(agent)) as talk:
        assert talk.say("count").text == "[0, 1]"
