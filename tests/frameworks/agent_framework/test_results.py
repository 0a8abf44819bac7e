"""What comes of the tools and models of an agent: for its model, for clients, on replay."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from agent_framework import (
    Agent,
    Content,
    FunctionInvocationContext,
    Message,
    MiddlewareFailure,
    MiddlewareTermination,
    function_middleware,
    tool,
)
from pydantic import BaseModel

from sayso import approval
from sayso.testing import Conversation
from tests.frameworks.agent_framework.models import Planned, once, results_of
from tests.frameworks.agent_framework.served import app_of
from tests.frameworks.shop import Reply, Wanted

PNG = b"\x89PNG\r\n"
Next = Callable[[], Awaitable[None]]


class City(BaseModel):
    name: str
    people: int = 0


def test_arguments_that_the_user_s_middleware_repairs_are_those_that_are_asked_about() -> None:
    effects: list[float] = []
    seen: list[Any] = []

    @function_middleware
    async def repair(context: FunctionInvocationContext, call_next: Next) -> None:
        context.arguments = {"amount": 5.0}
        await call_next()
        seen.append([each.text for each in context.result])

    @tool(approval_mode="always_require")
    def pay(amount: float) -> str:
        effects.append(amount)
        return f"paid {amount:g}"

    agent = Agent(once("pay", {"amount": "much"}), name="t", tools=[pay], middleware=[repair])
    with Conversation(app_of(agent)) as talk:
        talk.say("pay")
        assert talk.question.args == {"amount": 5.0}
        talk.restart()
        talk.question.approve()
        assert talk.texts[-1] == "Done: paid 5"
    assert effects == [5.0]
    assert {tuple(each) for each in seen} == {("paid 5",)}


@pytest.mark.parametrize("amount", ["much", 10**30])
def test_arguments_that_do_not_fit_cost_nothing(amount: Any) -> None:
    @tool
    def pay(amount: int) -> str:
        raise AssertionError("it does not fit")

    agent = Agent(once("pay", {"amount": amount}), name="till", tools=[pay])
    with Conversation(app_of(agent)) as talk:
        assert talk.say("pay").outcome == "success"
        assert "Not called: " in talk.texts[-1]


def test_a_tool_that_stops_the_agent_does_so_once() -> None:
    asked: list[str] = []
    effects: list[str] = []

    def plan(messages: Sequence[Message]) -> Reply:
        asked.append("model")
        calls = (Wanted("c1", "close", {}), Wanted("c2", "pay", {}))
        return Reply("I close. ", calls)

    @tool
    def close() -> str:
        effects.append("closed")
        raise MiddlewareTermination(result="it is closed")

    @tool(approval_mode="always_require")
    def pay() -> str:
        effects.append("paid")
        return "paid"

    with Conversation(app_of(Agent(Planned(plan), name="t", tools=[close, pay]))) as talk:
        assert talk.say("close").outcome == "interrupt"
        talk.restart()
        assert talk.question.approve().outcome == "success"
        assert talk.results == ["it is closed", "paid"]
    assert (effects, asked) == (["closed", "paid"], ["model"])


@pytest.mark.parametrize("after", [False, True])
def test_middleware_of_the_user_s_may_stop_the_agent(after: bool) -> None:
    effects: list[str] = []
    asked: list[str] = []

    def plan(messages: Sequence[Message]) -> Reply:
        asked.append("model")
        return Reply("I pay. ", (Wanted("c1", "pay", {}),))

    @function_middleware
    async def stop(context: FunctionInvocationContext, call_next: Next) -> None:
        if after:
            await call_next()
        raise MiddlewareTermination

    @tool(approval_mode="always_require")
    def pay() -> str:
        effects.append("paid")
        return "paid"

    agent = Agent(Planned(plan), name="till", tools=[pay], middleware=[stop])
    with Conversation(app_of(agent)) as talk:
        run = talk.say("pay")
        if after:
            run = talk.question.approve()
        assert run.outcome == "success"
    assert effects == (["paid"] if after else [])
    assert asked == ["model"]


def test_a_tool_that_wants_the_run_to_fail_fails_it_and_is_not_run_again() -> None:
    effects: list[str] = []

    @tool
    def pay() -> str:
        effects.append("paid")
        raise MiddlewareFailure("the till is broken")

    with Conversation(
        app_of(Agent(once("pay", {}), name="till", tools=[pay])), errors="return"
    ) as talk:
        run = talk.say("pay")
        assert run.events[-1]["type"] == "RUN_ERROR"
        assert talk.results == ["Failed: the till is broken"]
    assert effects == ["paid"]


def test_a_slow_free_call_beside_one_that_asks_runs_once() -> None:
    effects: list[str] = []

    @tool
    async def look() -> str:
        for _ in range(100):
            await asyncio.sleep(0)
        effects.append("looked")
        return "a cat"

    @tool(approval_mode="always_require")
    def pay() -> str:
        effects.append("paid")
        return "paid"

    client = once("pay", {}, Wanted("call_2", "look", {}))
    with Conversation(app_of(Agent(client, name="till", tools=[look, pay]))) as talk:
        assert talk.say("go").outcome == "interrupt"
        assert effects == ["looked"]
        talk.restart()
        talk.question.approve()
        assert talk.texts[-1] == "Done: paid | a cat"
    assert effects == ["looked", "paid"]


def test_a_call_that_comes_late_asks_together_with_the_one_before() -> None:
    """The framework cancels the others where one of a batch ends with an error."""
    effects: list[int] = []

    @function_middleware
    async def delay(context: FunctionInvocationContext, call_next: Next) -> None:
        for _ in range(50 * context.arguments["n"]):
            await asyncio.sleep(0)
        await call_next()

    @tool(approval_mode="always_require")
    def pay(n: int) -> str:
        effects.append(n)
        return f"paid {n}"

    client = once("pay", {"n": 0}, Wanted("call_2", "pay", {"n": 1}))
    agent = Agent(client, name="till", tools=[pay], middleware=[delay])
    with Conversation(app_of(agent)) as talk:
        assert talk.say("go").outcome == "interrupt"
        assert [question.args for question in talk.questions] == [{"n": 0}, {"n": 1}]
        talk.restart()
        for question in list(talk.questions):
            question.approve()
        assert talk.texts[-1] == "Done: paid 0 | paid 1"
    assert sorted(effects) == [0, 1]


def test_an_error_is_told_and_the_agent_goes_on() -> None:
    @tool
    def pay() -> str:
        raise ValueError("the password is hunter2")

    with Conversation(app_of(Agent(once("pay", {}), name="till", tools=[pay]))) as talk:
        assert talk.say("pay").outcome == "success"
        assert "ValueError" in talk.texts[-1]
        assert "hunter2" not in talk.texts[-1]


def test_an_image_is_an_image_for_clients() -> None:
    @tool
    def draw() -> list[Content]:
        return [Content.from_text("a dot"), Content.from_data(PNG, "image/png")]

    with Conversation(app_of(Agent(once("draw", {}), name="desk", tools=[draw]))) as talk:
        run = talk.say("draw")
        (result,) = run.of("TOOL_CALL_RESULT")
        assert [part["type"] for part in result["content"]] == ["text", "image"]
        assert talk.texts[-1] == "Done: a dot"


def test_values_come_to_the_tool_as_they_do_without_a_turn() -> None:
    seen: list[Any] = []

    @tool(approval_mode="always_require")
    def settle(city: City) -> City:
        seen.append(city)
        return City.model_validate(city)

    client = once("settle", {"city": {"name": "Rome", "people": "3"}})
    with Conversation(app_of(Agent(client, name="desk", tools=[settle]))) as talk:
        talk.say("settle")
        assert talk.question.args == {"city": {"name": "Rome", "people": 3}}
        talk.question.edit(city={"name": "Bern"})
        assert '{"name": "Bern", "people": 0}' in talk.texts[-1]
    assert [City.model_validate(each).name for each in seen] == ["Bern"]


def test_structured_output_is_the_result_of_the_run() -> None:
    client = Planned(lambda messages: Reply('{"name": "Rome"}'))
    agent = Agent(client, name="desk", default_options={"response_format": City})
    with Conversation(app_of(agent)) as talk:
        assert talk.say("where?").result == {"name": "Rome", "people": 0}


def test_tokens_are_counted_once() -> None:
    counts = Content.from_usage({"input_token_count": 7, "output_token_count": 2})
    agent = Agent(Planned(lambda messages: Reply("well"), [counts]), name="desk")
    with Conversation(app_of(agent)) as talk:
        run = talk.say("hello")
        assert '"inputTokens":7' in str(run.events).replace("'", '"').replace(" ", "")


def test_a_result_that_an_agent_cannot_have_again_is_recorded_as_text() -> None:
    @tool(result_parser=lambda value: f"<{value}>")
    def look() -> object:
        return 7

    with Conversation(app_of(Agent(once("look", {}), name="desk", tools=[look]))) as talk:
        talk.say("look")
        assert talk.texts[-1] == "Done: <7>"


def test_the_ids_of_a_model_s_calls_may_come_again() -> None:
    """A later turn, and a later round, may use the id of an earlier call."""

    def plan(messages: Sequence[Message]) -> Reply:
        results = results_of(messages)
        if len(results) < 2:
            return Reply("", (Wanted("same", "count", {"n": len(results)}),))
        return Reply(" ".join(results))

    @tool
    def count(n: int) -> int:
        return n

    agent = Agent(Planned(plan), name="desk", tools=[count])
    with Conversation(app_of(agent, approve={"count": approval.never})) as talk:
        assert talk.say("count").text == "0 1"
        assert talk.say("count").text == "0 1"
