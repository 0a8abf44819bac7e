"""Who is asked about the tools of an agent of Agent Framework, and what comes of the answers."""

import asyncio
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ContextProvider,
    FunctionInvocationContext,
    FunctionTool,
    HistoryProvider,
    SessionContext,
    tool,
)

from sayso import AskFirst, DeclarationError, Turn, approval, current_call
from sayso.testing import Conversation, Refused
from tests.frameworks.agent_framework.models import Planned, once
from tests.frameworks.agent_framework.served import app_of
from tests.frameworks.shop import Reply, Wanted

PICK = {"name": "pick", "description": "", "parameters": {"type": "object"}}


def paying(effects: list[float], mode: Any = None, **options: Any) -> Agent[Any]:
    @tool(approval_mode=mode)
    def pay(amount: float) -> str:
        effects.append(amount)
        return f"paid {amount:g}"

    return Agent(once("pay", {"amount": 500.0}), name="till", tools=[pay], **options)


def test_a_policy_of_the_mount_stands_in_place_of_what_the_tool_says() -> None:
    effects: list[float] = []
    policy = approval.when(lambda amount: amount > 1_000)
    agent = paying(effects, "always_require")
    with Conversation(app_of(agent, approve={"pay": policy})) as talk:
        assert talk.say("pay").outcome == "success"
    assert effects == [500.0]


@pytest.mark.parametrize("name", ["pay", "p*"])
def test_a_tool_that_says_nothing_asks_by_its_name_or_a_pattern(name: str) -> None:
    effects: list[float] = []
    with Conversation(app_of(paying(effects), approve={name: approval.always})) as talk:
        assert talk.say("pay").outcome == "interrupt"
        talk.question.edit(amount=5.0)
        assert "paid 5" in talk.texts[-1]
    assert effects == [5.0]


def test_the_app_s_own_policy_is_that_of_tools_that_nothing_is_said_of() -> None:
    effects: list[float] = []
    with Conversation(app_of(paying(effects), default_approval=approval.always)) as talk:
        assert talk.say("pay").outcome == "interrupt"
        talk.question.approve()
    assert effects == [500.0]


def test_a_name_that_no_tool_has_is_told_when_it_is_mounted() -> None:
    with pytest.raises(DeclarationError, match=r"no tool 'pya': did you mean 'pay'\?"):
        app_of(paying([]), approve={"pya": approval.always})
    app_of(paying([]), approve={"delete_*": approval.always})  # a pattern may mean none yet
    with pytest.raises(DeclarationError, match="it takes policies"):
        app_of(paying([]), approve={"pay": True})


def test_an_edit_is_held_against_the_tool_before_anything_changes() -> None:
    effects: list[float] = []
    with Conversation(app_of(paying(effects, "always_require"))) as talk:
        talk.say("pay")
        with pytest.raises(Refused, match="invalid_payload"):
            talk.question.edit(amount="much")
        talk.question.edit(amount=3)
    assert effects == [3.0]


def test_outside_of_a_turn_the_agent_asks_as_it_did_before() -> None:
    effects: list[float] = []
    agent = paying(effects, "always_require")
    with Conversation(app_of(agent)) as talk:
        talk.say("pay")
        talk.question.approve()
    response = asyncio.run(agent.run("pay"))
    assert [each.type for each in response.user_input_requests] == ["function_approval_request"]
    assert effects == [500.0]


class Brings(ContextProvider):
    """A provider whose tool is known when it runs."""

    def __init__(self, brought: FunctionTool) -> None:
        super().__init__("brings")
        self.brought = brought

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        context.extend_tools(self.source_id, [self.brought])


def test_a_tool_that_changes_from_run_to_run_is_held_to_its_own_form_and_mark() -> None:
    """Its server was deployed meanwhile, or the user is another one."""
    effects: list[object] = []

    @tool(name="pay")
    def pay(amount: float) -> str:
        effects.append(amount)
        return "paid"

    @tool(name="pay", approval_mode="always_require")
    def pay_in(amount: float, currency: str) -> str:
        effects.append((amount, currency))
        return "paid"

    brings = Brings(pay)
    given: dict[str, Any] = {"amount": 5.0}
    agent = Agent(once("pay", given), name="till", context_providers=[brings])
    with Conversation(app_of(agent)) as talk:
        talk.say("pay")
        brings.brought = pay_in
        assert "/currency is required" in talk.say("pay").text
        given["currency"] = "EUR"
        talk.say("pay")
        talk.question.approve()
    assert effects == [5.0, (5.0, "EUR")]


@pytest.mark.parametrize("approve", [{}, {"pay": approval.always}])
def test_a_tool_that_only_a_run_knows_asks_as_well(approve: Any) -> None:
    effects: list[float] = []

    @tool(approval_mode="never_require" if approve else "always_require")
    def pay(amount: float) -> str:
        effects.append(amount)
        return f"paid {amount:g}"

    agent = Agent(once("pay", {"amount": 5.0}), name="till", context_providers=[Brings(pay)])
    with Conversation(app_of(agent, approve=approve)) as talk:
        assert talk.say("pay").outcome == "interrupt"
        talk.restart()
        with pytest.raises(Refused, match="invalid_payload"):
            talk.question.edit(amount="much")
        talk.question.approve()
        assert talk.texts[-1] == "Done: paid 5"
    assert effects == [5.0]


def test_a_tool_may_ask_before_its_effect() -> None:
    effects: list[float] = []

    @tool
    def pay(amount: float) -> str:
        if current_call().answer is None:
            raise AskFirst("It is much. Pay?")
        effects.append(amount)
        return f"paid {amount:g}"

    agent = Agent(once("pay", {"amount": 500.0}), name="till", tools=[pay])
    with Conversation(app_of(agent)) as talk:
        run = talk.say("pay")
        assert (run.outcome, effects) == ("interrupt", [])
        talk.restart()
        assert talk.question.approve().outcome == "success"
        assert talk.texts[-1] == "Done: paid 500"
    assert effects == [500.0]


def declared() -> Agent[Any]:
    parameters = {"type": "object", "properties": {"day": {"type": "string"}}}
    pick = FunctionTool(name="pick", input_model=parameters)
    return Agent(once("pick", {"day": "mon"}), name="desk", tools=[pick])


def test_no_policy_stands_for_a_tool_that_is_only_declared() -> None:
    """It would be read as asking somebody, and nobody is asked."""
    with pytest.raises(DeclarationError, match="names 'pick', which has no function"):
        app_of(declared(), approve={"pick": approval.always(by="lead")})
    app_of(declared(), approve={"*": approval.always})


def test_a_tool_that_is_only_declared_is_left_to_the_page_that_offers_it() -> None:
    with Conversation(app_of(declared())) as talk:
        run = talk.say("pick", tools=[PICK])
        (call,) = run.of("TOOL_CALL_START")
        assert call["toolCallName"] == "pick"
        result = {"id": "t1", "role": "tool", "toolCallId": call["toolCallId"], "content": "tue"}
        talk.restart()
        talk.send(messages=[result])
        assert talk.texts[-1] == "Done: tue"


def test_the_result_of_a_declared_tool_that_nobody_offers_is_asked_for() -> None:
    with Conversation(app_of(declared())) as talk:
        talk.say("pick")
        assert talk.question.metadata["tool"] == "pick"
        assert talk.question.metadata["arguments"] == {"day": "mon"}
        talk.question.answer({"day": "wed"})
        assert talk.texts[-1] == 'Done: {"day":"wed"}'


def test_nobody_s_result_of_a_declared_tool_is_told() -> None:
    with Conversation(app_of(declared())) as talk:
        talk.say("pick")
        talk.question.cancel()
        assert "No result: cancelled." in talk.texts[-1]


def test_a_declared_tool_and_a_gated_one_are_asked_together() -> None:
    effects: list[float] = []
    agent = paying(effects, "always_require")
    agent.default_options["tools"].append(FunctionTool(name="pick", input_model={"type": "object"}))
    agent.client = once("pay", {"amount": 5.0}, Wanted("call_2", "pick", {}))
    with Conversation(app_of(agent)) as talk:
        talk.say("both")
        assert len(talk.questions) == 2
        pay, pick = talk.questions
        pick.answer("tue")
        pay.approve()
        assert talk.texts[-1] == "Done: paid 5 | tue"
    assert effects == [5.0]


class Own(HistoryProvider):
    async def get_messages(self, *_: Any, **__: Any) -> Any: ...

    async def save_messages(self, *_: Any, **__: Any) -> Any: ...


class Bare(BaseChatClient):
    def _inner_get_response(self, **_: Any) -> Any: ...


def test_what_cannot_be_made_durable_is_refused_when_it_is_mounted() -> None:
    with pytest.raises(DeclarationError, match=r"is not an agent_framework\.Agent"):
        app_of("agent")
    with pytest.raises(DeclarationError, match=r"a history of its own \(Own\)"):
        app_of(paying([], context_providers=[Own("own")]))
    with pytest.raises(DeclarationError, match="derive Bare from FunctionInvocationLayer"):
        app_of(Agent(Bare(), name="bare"))
    extra = FunctionTool(name="extra", input_model={"type": "object"})
    client = Planned(
        lambda messages: Reply(""), function_invocation_configuration={"additional_tools": [extra]}
    )
    with pytest.raises(DeclarationError, match="has additional_tools"):
        app_of(Agent(client, name="more"))


def test_a_tool_reads_what_the_mount_makes_of_the_turn() -> None:
    @tool
    def who(ctx: FunctionInvocationContext) -> str:
        return str(ctx.kwargs["subject"])

    agent = Agent(once("who", {}), name="desk", tools=[who])

    def made(turn: Turn) -> dict[str, Any]:
        return {"subject": turn.principal.subject}

    with Conversation(app_of(agent, function_invocation_kwargs=made)) as talk:
        talk.say("who?")
        assert talk.texts[-1] == "Done: local"
