"""Runs of an agent as they are entered again: what is asked, told and exported once."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    RunContext,
    ToolOutput,
    capabilities,
    durable_exec,
)
from pydantic_ai.messages import ModelMessage, ModelResponse, ThinkingPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel

from sayso import DeclarationError
from sayso.testing import Conversation
from tests.frameworks.pydantic_ai.models import once, planned
from tests.frameworks.pydantic_ai.served import app_of
from tests.frameworks.shop import Reply, Wanted


def paying(effects: list[float], **options: Any) -> Agent[None, Any]:
    """An agent that pays, once a person has said yes."""
    agent: Agent[None, Any] = Agent(once("pay", {"amount": 5.0}), name="till", **options)

    @agent.tool_plain(requires_approval=True)
    def pay(amount: float) -> str:
        effects.append(amount)
        return f"paid {amount:g}"

    return agent


def test_no_run_ends_with_requests_that_are_left_open() -> None:
    """Though the agent may: what it would hand out is asked inside the run."""
    effects: list[float] = []
    agent = paying(effects, output_type=[str, DeferredToolRequests])
    with Conversation(app_of(agent)) as talk:
        assert talk.say("pay").outcome == "interrupt"
        run = talk.question.approve()
        assert (run.outcome, run.text) == ("success", "Done: paid 5")
    assert effects == [5.0]


class Whole(Model):
    """A model that says all at once."""

    model_name = "whole"
    system = "test"

    async def request(self, *_: Any) -> ModelResponse:
        return ModelResponse(parts=[])


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (FunctionModel(lambda messages, info: ModelResponse(parts=[])), "stream_function="),
        (Whole(), "request_stream"),
        (WrapperModel(Whole()), "Whole, the model of agent 'till', cannot stream"),
    ],
)
def test_a_model_that_cannot_stream_is_refused_when_it_is_mounted(model: Model, says: str) -> None:
    with pytest.raises(DeclarationError, match=says):
        app_of(Agent(model, name="till"))


def test_what_asks_in_the_process_itself_is_not_reached() -> None:
    """`RequestInput` would wait where no restart finds it."""

    def ask(*_: Any) -> None:
        raise AssertionError("asked beside the turn")

    effects: list[float] = []
    waits = getattr(capabilities, "RequestInput", None)  # older versions do not have it
    agent = paying(effects, capabilities=[] if waits is None else [waits(ask)])
    with Conversation(app_of(agent)) as talk:
        assert talk.say("pay").outcome == "interrupt"
        talk.restart()
        assert talk.question.approve().text == "Done: paid 5"
    assert effects == [5.0]


def test_only_work_that_was_done_is_told_to_telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an entry reads from the journal has been exported by the entry that did it."""
    units: list[bool] = []

    def record(*, executed: bool) -> None:
        units.append(executed)

    monkeypatch.setattr(durable_exec, "record_durable_unit", record, raising=False)
    with Conversation(app_of(paying([])), replays=False) as talk:
        talk.say("pay")
        assert units == [True]
        units.clear()
        talk.restart()
        talk.question.approve()
        assert units == [False, True, True]


def test_a_thought_goes_back_to_the_model_as_it_was() -> None:
    """In later turns, with its signature, also after a restart."""
    heard: list[ThinkingPart] = []

    async def think(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        replies = [message for message in messages if isinstance(message, ModelResponse)]
        heard[:] = [p for m in replies for p in m.parts if isinstance(p, ThinkingPart)]
        yield {0: DeltaThinkingPart(content="A greeting, ")}
        yield {0: DeltaThinkingPart(content="then.", signature="s1")}
        yield "Hello."

    with Conversation(app_of(Agent(FunctionModel(stream_function=think), name="desk"))) as talk:
        run = talk.say("hello")
        thought = "".join(e["delta"] for e in run.of("REASONING_MESSAGE_CONTENT"))
        assert thought == "A greeting, then."
        talk.restart()
        talk.say("and again")
    assert [(part.content, part.signature) for part in heard] == [("A greeting, then.", "s1")]


def test_an_output_tool_beside_a_gated_one_is_the_result_once_it_has_run() -> None:
    """The framework's own tool for the output is no call of the turn."""
    effects: list[float] = []

    def plan(messages: list[ModelMessage]) -> Reply:
        replies = sum(isinstance(message, ModelResponse) for message in messages)
        if replies == 0:
            return Reply("", (Wanted("call_1", "pay", {"amount": 5.0}),))
        return Reply("", (Wanted("call_2", "receipt", {"number": 7}),))

    def receipt(number: int) -> dict[str, int]:
        """Write a receipt."""
        return {"receipt": number}

    agent: Agent[None, Any] = Agent(
        planned(plan), name="till", output_type=ToolOutput(receipt, name="receipt")
    )

    @agent.tool(requires_approval=True)
    def pay(ctx: RunContext[None], amount: float) -> str:
        assert ctx.tool_call_approved
        effects.append(amount)
        return "paid"

    with Conversation(app_of(agent)) as talk:
        talk.say("pay")
        talk.restart()
        run = talk.question.approve()
        assert run.result == {"receipt": 7}
        assert run.of("TOOL_CALL_START") == []
    assert effects == [5.0]


@pytest.mark.parametrize("asks", [False, True])
def test_a_tool_that_cancels_its_run_ends_the_turn_and_has_happened_once(asks: bool) -> None:
    """It is recorded first, so that no death in between makes the run go on."""
    effects: list[str] = []
    agent: Agent[None, str] = Agent(once("halt", {}), name="desk")

    @agent.tool(requires_approval=asks)
    async def halt(ctx: RunContext[None]) -> str:
        ctx.cancel()
        effects.append("halt")
        return "halted"

    with Conversation(app_of(agent)) as talk:
        run = talk.say("stop it")
        if asks:
            talk.restart()
            run = talk.question.approve()
        assert run.outcome == "cancelled"
        assert talk.results == ["halted"]
        talk.restart()
        assert (talk.questions, talk.texts) == ([], [])
        assert talk.say("and what came of it?").text == "Done: halted"
    assert effects == ["halt"]
