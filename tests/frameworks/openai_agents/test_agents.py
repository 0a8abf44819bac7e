"""Handoffs, agents as tools, outputs and limits of the OpenAI Agents SDK on this server."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    Handoff,
    ModelSettings,
    RunConfig,
    RunContextWrapper,
    Runner,
    SQLiteSession,
    function_tool,
    handoff,
)
from pydantic import BaseModel

from sayso import DeclarationError, Sayso, approval
from sayso.openai_agents import mount
from sayso.testing import Conversation
from tests.frameworks.openai_agents.models import Items, Planned, once, results_of, says
from tests.frameworks.openai_agents.served import app_of
from tests.frameworks.shop import Reply, Wanted
from tests.turns.driver import Conversation as Customer
from tests.turns.driver import World

Effects = list[str]


def paying(effects: Effects, **options: Any) -> Any:
    """A tool that pays."""

    @function_tool(**options)
    def pay(n: int) -> str:
        """Pay."""
        effects.append(f"paid {n}")
        return f"{n} is paid"

    return pay


def cashier(effects: Effects, **options: Any) -> Agent[Any]:
    """An agent that pays, and says so."""
    return Agent(name="cashier", model=once("pay", {"n": 1}), tools=[paying(effects, **options)])


def desk(inner: Agent[Any], tool: str = "ask") -> Agent[Any]:
    """An agent that asks another one by a tool."""
    return Agent(
        name=f"desk of {inner.name}",
        model=once(tool, {"input": "pay"}),
        tools=[inner.as_tool(tool, "Asks.")],
    )


# Handoffs


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_handoff_there_and_back_asks_and_survives_a_restart(wrapped: bool) -> None:
    """The second agent pays and hands back; the first one has the last word."""
    effects: Effects = []

    def back(items: Items) -> Reply:
        results = results_of(items)
        name = "transfer_to_desk" if "1 is paid" in results else "pay"
        return Reply("", (Wanted(f"call_{len(results)}", name, {} if "to" in name else {"n": 1}),))

    def first(items: Items) -> Reply:
        if "1 is paid" in results_of(items):
            return Reply("All is paid.")
        return Reply("", (Wanted("call_0", "transfer_to_till", {}),))

    front = Agent[Any](name="desk", model=Planned(first))
    till = Agent[Any](
        name="till", model=Planned(back), tools=[paying(effects, needs_approval=True)]
    )
    front.handoffs = [handoff(till) if wrapped else till]
    till.handoffs = [front]
    with Conversation(app_of(front)) as talk:
        assert talk.say("pay").outcome == "interrupt"
        assert (talk.question.tool, effects) == ("pay", [])
        talk.restart()
        assert talk.question.approve().outcome == "success"
        assert talk.texts[-1] == "All is paid."
    assert effects == ["paid 1"]


async def test_an_agent_that_only_a_run_knows_asks_as_well(kind: str, tmp_path: Path) -> None:
    """A handoff that makes its agent when it is taken."""
    effects: Effects = []

    def pays(items: Items) -> Reply:
        if "1 is paid" in results_of(items):
            return Reply("It is paid.")
        return Reply("", (Wanted("call_1", "pay", {"n": 1}),))

    async def made(context: Any, written: str) -> Agent[Any]:
        tools = [paying(effects, needs_approval=True)]
        return Agent(name="cashier", model=Planned(pays), tools=tools)

    late = Handoff[Any, Any](
        tool_name="to_cashier",
        tool_description="Hands over.",
        input_json_schema={},
        on_invoke_handoff=made,
        agent_name="cashier",
    )

    def first(items: Items) -> Reply:
        return Reply("", (Wanted("call_0", "to_cashier", {}),))

    front = Agent[Any](name="desk", model=Planned(first), handoffs=[late])
    async with World(kind, tmp_path, lambda app: mount(app, "a", front)) as world:
        person = Customer(world, "a")
        assert (await person.say("pay")).outcome == "interrupt"
        assert effects == []
        await person.restart()
        await person.answer_all_with({"approved": True})
        assert person.texts[-1] == "It is paid."
    assert effects == ["paid 1"]


# Agents as tools


def test_an_agent_as_a_tool_asks_and_its_effect_happens_once() -> None:
    effects: Effects = []
    with Conversation(app_of(desk(cashier(effects, needs_approval=True)))) as talk:
        run = talk.say("pay")
        assert (run.outcome, effects) == ("interrupt", [])
        (started,) = run.of("SUBAGENT_STARTED")
        assert started["name"] == "cashier"
        talk.restart()
        assert talk.question.approve().outcome == "success"
        assert talk.texts[-1] == "Done: Done: 1 is paid"
    assert effects == ["paid 1"]


@pytest.mark.parametrize("approves", [True, False])
def test_an_agent_two_deep_asks_in_its_own_name(approves: bool) -> None:
    effects: Effects = []
    inner = cashier(effects, needs_approval=True)
    with Conversation(app_of(desk(desk(inner, "ask_cashier"), "ask_desk"))) as talk:
        run = talk.say("pay")
        started = [event["name"] for event in run.of("SUBAGENT_STARTED")]
        assert started == ["desk of cashier", "cashier"]
        talk.restart()
        question = talk.question
        assert (question.approve() if approves else question.deny("too much")).outcome == "success"
        assert ("1 is paid" if approves else "too much") in talk.texts[-1]
    assert effects == (["paid 1"] if approves else [])


def test_no_death_of_agents_two_deep_repeats_an_effect() -> None:
    """At each commit, before it and after it."""
    for when in ("before", "after"):
        for number in range(1, 40):
            effects: Effects = []
            app = app_of(desk(desk(cashier(effects, needs_approval=True), "ask_cashier"), "ask"))
            with Conversation(app, errors="return", replays=False) as talk:
                assert talk._world is not None
                window = talk._world._window
                fault = window.fail("commit", n=number, when=when, hook=window.disconnect)
                talk.say("pay")
                for _ in range(10):
                    if talk._world.dead:
                        talk.restart()
                        talk.advance(30)
                        if talk.status is None:
                            talk.say("pay")
                    elif talk.questions:
                        question = talk.question
                        unclear = question.reason == "sayso:indeterminate"
                        done = {"action": "skip", "result": "1 is paid"}
                        again = {"action": "run_again"}
                        yes = {"approved": True}
                        question.answer((done if effects else again) if unclear else yes)
                    else:
                        break
                assert talk.status == "finished"
            assert effects == ["paid 1"], (when, number)
            if not fault.fired:
                break
        assert number > 4


def test_two_mounts_of_one_inner_agent_have_policies_of_their_own() -> None:
    """The policy is that of the running mount, though both run the very same inner agent."""
    effects: Effects = []
    inner = cashier(effects)
    app = Sayso(store="memory:")
    mount(app, "free", desk(inner, "ask_free"))
    mount(app, "gated", desk(inner, "ask_gated"), approve={"pay": approval.always(by="lead")})
    with Conversation(app, "free") as talk:
        assert talk.say("pay").outcome == "success"
        assert effects == ["paid 1"]
    with Conversation(app, "gated") as talk:
        assert talk.say("pay").outcome == "interrupt"
        assert talk.question.tool == "pay"
        assert effects == ["paid 1"]


async def test_outside_of_a_turn_agents_are_as_they_were() -> None:
    """Approvals are the SDK's own again, answers come whole, and its tools are the same objects."""
    effects: Effects = []
    inner = cashier(effects, needs_approval=True)
    outer = desk(inner)
    tools, model = list(inner.tools), inner.model
    app_of(outer)
    config = RunConfig(tracing_disabled=True)
    result = await Runner.run(outer, "pay", run_config=config)
    assert [item.name for item in result.interruptions] == ["pay"]
    assert effects == []
    state = result.to_state()
    state.approve(result.interruptions[0])
    result = await Runner.run(outer, state, run_config=config)
    assert result.final_output == "Done: Done: 1 is paid"
    assert effects == ["paid 1"]
    assert inner.tools == tools
    assert inner.model is model
    assert set(model.ways) == {"whole"}


# Who is asked


async def _much(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
    return bool(arguments["n"] > 100)


@pytest.mark.parametrize(("n", "asks"), [(100, False), (101, True)])
def test_a_predicate_decides_for_each_call(n: int, asks: bool) -> None:
    effects: Effects = []
    tool = paying(effects, needs_approval=_much)
    agent = Agent[Any](name="a", model=once("pay", {"n": n}), tools=[tool])
    with Conversation(app_of(agent)) as talk:
        assert talk.say("pay").outcome == ("interrupt" if asks else "success")
        assert effects == ([] if asks else ["paid 100"])
        if asks:
            talk.restart()
            talk.question.edit(n=5)
            assert effects == ["paid 5"]


@pytest.mark.parametrize(
    ("own", "approve", "asks"),
    [
        ({}, None, True),
        ({"needs_approval": True}, None, True),
        ({"needs_approval": _much}, None, False),
        ({}, {"pay": approval.never}, False),
        ({"needs_approval": True}, {"pa*": approval.never}, False),
        ({"needs_approval": _much}, {"pay": approval.always}, True),
    ],
)
def test_the_mount_goes_before_the_tool_and_the_tool_before_the_app(
    own: dict[str, Any], approve: Any, asks: bool
) -> None:
    """`default_approval` is for tools that say nothing themselves."""
    effects: Effects = []
    agent = Agent[Any](name="a", model=once("pay", {"n": 1}), tools=[paying(effects, **own)])
    app = app_of(agent, app={"default_approval": approval.always}, approve=approve)
    with Conversation(app) as talk:
        assert talk.say("pay").outcome == ("interrupt" if asks else "success")


# Outputs and limits


class Receipt(BaseModel):
    """A structured output."""

    order: str
    paid: bool


def test_structured_output_is_the_result_and_nobody_is_told_its_json() -> None:
    agent = Agent[Any](name="a", model=says('{"order":"A-17","paid":true}'), output_type=Receipt)
    with Conversation(app_of(agent)) as talk:
        run = talk.say("go")
        assert run.result == {"order": "A-17", "paid": True}
        assert talk.texts == []


def test_a_tool_that_ends_the_run_has_its_result_said() -> None:
    effects: Effects = []
    agent = Agent[Any](
        name="a",
        model=once("pay", {"n": 1}),
        tools=[paying(effects)],
        tool_use_behavior="stop_on_first_tool",
    )
    with Conversation(app_of(agent)) as talk:
        assert talk.say("go").text == "1 is paid"


def test_too_many_rounds_fail_the_turn() -> None:
    def on_and_on(items: Items) -> Reply:
        return Reply("", (Wanted(f"call_{len(items)}", "pay", {"n": len(items)}),))

    effects: Effects = []
    agent = Agent[Any](name="a", model=Planned(on_and_on), tools=[paying(effects)])
    with Conversation(app_of(agent, max_turns=3), errors="return") as talk:
        assert talk.say("go").outcome == "agent_error"
    assert len(effects) == 3


def test_a_session_is_refused() -> None:
    with pytest.raises(DeclarationError, match="the thread is the session"):
        app_of(Agent[Any](name="a", model=says("x")), session=SQLiteSession("s"))


@pytest.mark.parametrize(
    ("approve", "says_so"),
    [({"pya": approval.always}, "did you mean 'pay'"), ({"pay": True}, "takes policies")],
)
def test_a_policy_that_means_nothing_is_refused(approve: Any, says_so: str) -> None:
    with pytest.raises(DeclarationError, match=says_so):
        app_of(cashier([]), approve=approve)


def test_the_context_is_made_of_the_turn() -> None:
    async def named(context: RunContextWrapper[str]) -> str:
        """Say whose turn it is."""
        return str(context.context)

    agent = Agent[Any](name="a", model=once("named", {}), tools=[function_tool(named)])

    async def context(turn: Any) -> str:
        await asyncio.sleep(0)
        return f"{turn.principal.subject}'s turn"

    with Conversation(app_of(agent, context=context)) as talk:
        assert talk.say("go").text == "Done: local's turn"


def test_tokens_are_counted_once() -> None:
    effects: Effects = []
    with Conversation(app_of(cashier(effects, needs_approval=True))) as talk:
        run = talk.say("go")
        assert run.events[-1]["usage"][0]["inputTokens"] == 3
        talk.restart()
        assert talk.question.approve().events[-1]["usage"][0]["inputTokens"] == 3


def test_settings_of_a_model_reach_it() -> None:
    model = says("x")
    agent = Agent[Any](name="a", model=model, model_settings=ModelSettings(temperature=0.1))
    with Conversation(app_of(agent)) as talk:
        assert talk.say("go").text == "x"
    assert model.ways == ["stream"]
