"""Who is asked about the tools of an agent of Pydantic AI, and what comes of the answers."""

from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    CallDeferred,
    DeferredToolRequests,
    ExternalToolset,
    FunctionToolset,
    RunContext,
    ToolDefinition,
)

from sayso import DeclarationError, approval
from sayso.testing import Conversation, Refused
from tests.frameworks.pydantic_ai.models import once
from tests.frameworks.pydantic_ai.served import app_of
from tests.frameworks.shop import Wanted

PICK = {"name": "pick", "description": "", "parameters": {"type": "object"}}


def paying(effects: list[float], **options: Any) -> Agent[None, str]:
    agent = Agent(once("pay", {"amount": 500.0}), name="till")

    @agent.tool_plain(**options)
    def pay(amount: float) -> str:
        effects.append(amount)
        return f"paid {amount:g}"

    return agent


def test_a_policy_of_the_mount_stands_in_place_of_what_the_tool_says() -> None:
    effects: list[float] = []
    policy = approval.when(lambda amount: amount > 1_000)
    with Conversation(
        app_of(paying(effects, requires_approval=True), approve={"pay": policy})
    ) as talk:
        assert talk.say("pay").outcome == "success"
    assert effects == [500.0]


@pytest.mark.parametrize("name", ["pay", "p*"])
def test_a_tool_that_says_nothing_asks_by_its_name_or_a_pattern(name: str) -> None:
    effects: list[float] = []
    with Conversation(app_of(paying(effects), approve={name: approval.always})) as talk:
        assert talk.say("pay").outcome == "interrupt"
        talk.question.edit(amount=5.0)
        assert effects == [5.0]


def test_a_name_that_no_tool_has_is_told_when_it_is_mounted() -> None:
    with pytest.raises(DeclarationError, match=r"no tool 'pya': did you mean 'pay'\?"):
        app_of(paying([]), approve={"pya": approval.always})
    app_of(paying([]), approve={"delete_*": approval.always})  # a pattern may mean none yet
    with pytest.raises(DeclarationError, match="it takes policies"):
        app_of(paying([]), approve={"pay": True})


def test_tools_under_a_prefix_are_known_by_the_names_that_models_see() -> None:
    tools: FunctionToolset[None] = FunctionToolset()
    effects: list[str] = []

    @tools.tool_plain
    def pay(amount: float) -> str:
        effects.append("paid")
        return "paid"

    agent = Agent(once("bank_pay", {"amount": 1.0}), name="till", toolsets=[tools.prefixed("bank")])
    with Conversation(app_of(agent, approve={"bank_pay": approval.always})) as talk:
        talk.say("pay")
        assert (talk.question.tool, effects) == ("bank_pay", [])
        talk.question.approve()
    assert effects == ["paid"]


def test_an_edit_is_held_against_the_tool_before_anything_changes() -> None:
    agent = Agent(once("book", {"nights": 2}), name="desk")
    nights: list[int] = []

    @agent.tool_plain(requires_approval=True)
    def book(nights: int) -> str:
        return "booked" if not hooked(nights) else ""

    def hooked(count: int) -> bool:
        nights.append(count)
        return False

    with Conversation(app_of(agent)) as talk:
        talk.say("book")
        with pytest.raises(Refused, match="invalid_payload"):
            talk.question.edit(nights="many")
        talk.question.edit(nights=3)
    assert nights == [3]


def test_a_tool_that_wants_an_approval_when_it_runs_gets_one() -> None:
    effects: list[float] = []
    agent = Agent(once("pay", {"amount": 500.0}), name="till")

    @agent.tool
    def pay(ctx: RunContext[None], amount: float) -> str:
        if amount > 100 and not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"why": "it is much"})
        effects.append(amount)
        return f"paid {amount:g}"

    with Conversation(app_of(agent)) as talk:
        run = talk.say("pay")
        assert (run.outcome, effects) == ("interrupt", [])
        assert talk.question.metadata["why"] == "it is much"
        talk.restart()
        assert len(run.of("TOOL_CALL_START")) == 1
        assert talk.question.approve().outcome == "success"
        assert talk.texts[-1] == "Done: paid 500"
    assert effects == [500.0]


def test_a_tool_that_wanted_an_approval_and_did_not_get_one_does_not_run() -> None:
    agent = Agent(once("pay", {}), name="till")

    @agent.tool
    def pay(ctx: RunContext[None]) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        raise AssertionError("it was not approved")

    with Conversation(app_of(agent)) as talk:
        talk.say("pay")
        talk.question.deny("not on a Sunday")
        assert "not on a Sunday" in talk.texts[-1]


def external() -> Agent[None, Any]:
    parameters = {"type": "object", "properties": {"day": {"type": "string"}}}
    tools: ExternalToolset[None] = ExternalToolset(
        [ToolDefinition(name="pick", parameters_json_schema=parameters)]
    )
    return Agent(
        once("pick", {"day": "mon"}),
        name="desk",
        toolsets=[tools],
        output_type=[str, DeferredToolRequests],
    )


def test_no_policy_stands_for_a_tool_that_is_run_elsewhere() -> None:
    """It would be read as asking somebody, and nobody is asked."""
    with pytest.raises(DeclarationError, match="names 'pick', which has no function"):
        app_of(external(), approve={"pick": approval.always(by="lead")})
    app_of(external(), approve={"*": approval.always})


def test_an_external_tool_that_the_page_offers_is_left_to_it() -> None:
    with Conversation(app_of(external())) as talk:
        run = talk.say("pick", tools=[PICK])
        (call,) = run.of("TOOL_CALL_START")
        assert call["toolCallName"] == "pick"
        result = {"id": "t1", "role": "tool", "toolCallId": call["toolCallId"], "content": "tue"}
        talk.restart()
        talk.send(messages=[result])
        assert talk.texts[-1] == "Done: tue"


def test_the_result_of_an_external_tool_that_nobody_offers_is_asked_for() -> None:
    with Conversation(app_of(external())) as talk:
        talk.say("pick")
        assert talk.question.metadata["tool"] == "pick"
        assert talk.question.metadata["arguments"] == {"day": "mon"}
        talk.question.answer("wed")
        assert talk.texts[-1] == "Done: wed"


def test_a_tool_may_leave_its_result_to_somebody_else_while_it_runs() -> None:
    agent = Agent(once("order", {}), name="desk", output_type=[str, DeferredToolRequests])
    effects: list[str] = []

    @agent.tool_plain
    def order() -> str:
        effects.append("ordered")
        raise CallDeferred(metadata={"order": "A-17"})

    with Conversation(app_of(agent)) as talk:
        talk.say("order")
        assert talk.question.metadata["order"] == "A-17"
        talk.restart()
        talk.question.answer("delivered")
        assert talk.texts[-1] == "Done: delivered"
    assert effects == ["ordered"]


@pytest.mark.parametrize("calls", [1, 3])
def test_a_question_goes_out_at_once(calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No time passes until the turn counts as at rest: all calls of a reply have asked."""
    monkeypatch.setattr("sayso.turns.replay.quiescence.IDLE_S", 3600)
    more = [Wanted(f"call_{number}", "pay", {"amount": number}) for number in range(2, calls + 1)]
    agent = Agent(once("pay", {"amount": 1.0}, *more), name="till")
    effects: list[float] = []

    @agent.tool_plain(requires_approval=True)
    async def pay(amount: float) -> str:
        effects.append(amount)
        return f"paid {amount:g}"

    with Conversation(app_of(agent)) as talk:
        talk.say("pay")
        assert len(talk.questions) == calls
        for question in list(talk.questions):
            question.approve()
    assert sorted(effects) == [float(number) for number in range(1, calls + 1)]
