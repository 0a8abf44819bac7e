"""Who is asked about the tools of an agent of Strands, and what comes of the answers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from strands import Agent, ToolContext, tool
from strands.hooks import BeforeToolCallEvent, HookProvider, HookRegistry
from strands.middleware import ExecuteToolStage
from strands.session import FileSessionManager
from strands.tools.executors import ConcurrentToolExecutor, SequentialToolExecutor

from sayso import AskFirst, DeclarationError, approval, current_call
from sayso.testing import Conversation, Refused
from tests.frameworks.shop import Reply, Wanted
from tests.frameworks.strands.models import Planned, once
from tests.frameworks.strands.served import app_of, desk


class Till:
    """A tool that pays, and what it has paid."""

    def __init__(self) -> None:
        self.paid: list[float] = []

    def pay(self, amount: float) -> str:
        """Pay an amount."""
        self.paid.append(amount)
        return f"paid {amount:g}"


def test_a_tool_that_changes_from_turn_to_turn_is_held_to_its_own_form() -> None:
    """As another user has it, or after a deploy."""
    effects: list[object] = []

    def pay(amount: float) -> str:
        """Pay."""
        effects.append(amount)
        return "paid"

    def pay_in(amount: float, currency: str) -> str:
        """Pay in a currency."""
        effects.append((amount, currency))
        return "paid"

    pay_in.__name__ = "pay"
    given: dict[str, Any] = {"amount": 5.0}
    makes = [desk(once("pay", given), pay), desk(once("pay", given), pay_in)]
    with Conversation(app_of(lambda turn: makes[0](turn))) as talk:
        talk.say("pay")
        del makes[0]
        assert "/currency is required" in talk.say("pay").text
        given["currency"] = "EUR"
        talk.say("pay")
    assert effects == [5.0, (5.0, "EUR")]


@pytest.mark.parametrize("name", ["pay", "p*"])
def test_a_tool_asks_by_its_name_or_a_pattern(name: str) -> None:
    till = Till()
    make = desk(once("pay", {"amount": 500.0}), till.pay)
    with Conversation(app_of(make, approve={name: approval.always})) as talk:
        assert talk.say("pay").outcome == "interrupt"
        talk.restart()
        with pytest.raises(Refused, match="invalid_payload"):
            talk.question.edit(amount="much")
        talk.question.edit(amount=5.0)
        assert "paid 5" in talk.texts[-1]
    assert till.paid == [5.0]


@pytest.mark.parametrize("executor", [ConcurrentToolExecutor, SequentialToolExecutor])
def test_both_executors_run_each_call_once(executor: Any) -> None:
    till = Till()
    looked: list[str] = []

    async def look() -> str:
        """Look."""
        for _ in range(100):
            await asyncio.sleep(0)
        looked.append("looked")
        return "a cat"

    model = once("look", {}, *(Wanted(f"c{n}", "pay", {"amount": n}) for n in (1.0, 2.0)))
    make = desk(model, look, till.pay, tool_executor=executor())
    with Conversation(app_of(make, approve={"pay": approval.always})) as talk:
        assert talk.say("go").outcome == "interrupt"
        assert looked == ["looked"]
        assert len(talk.questions) == (2 if executor is ConcurrentToolExecutor else 1)
        talk.restart()
        while talk.questions:
            talk.question.approve() if len(talk.questions) == 1 else talk.questions[0].approve()
        assert talk.texts[-1] == "Done: a cat | paid 1 | paid 2"
    assert (looked, till.paid) == (["looked"], [1.0, 2.0])


class Asks(HookProvider):
    """A hook that asks in Strands' own way before each payment."""

    def register_hooks(self, registry: HookRegistry, **options: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self.ask)

    def ask(self, event: BeforeToolCallEvent) -> None:
        if event.tool_use["name"] == "pay" and event.interrupt("sure", reason="it is much") != "y":
            event.cancel_tool = "somebody was not sure"


@pytest.mark.parametrize(("answer", "paid"), [("y", [5.0]), ("n", [])])
def test_an_interrupt_of_a_hook_is_a_question(answer: str, paid: list[float]) -> None:
    till = Till()
    make = desk(once("pay", {"amount": 5.0}), till.pay, hooks=[Asks()])
    with Conversation(app_of(make)) as talk:
        assert talk.say("pay").outcome == "interrupt"
        assert talk.question.metadata["name"] == "sure"
        assert talk.question.message == "sure: it is much"
        talk.restart()
        talk.question.answer(answer)
        assert ("paid 5" if paid else "not sure") in talk.texts[-1]
    assert till.paid == paid


def test_a_hook_s_interrupt_and_a_card_both_come() -> None:
    till = Till()
    make = desk(once("pay", {"amount": 5.0}), till.pay, hooks=[Asks()])
    with Conversation(app_of(make, approve={"pay": approval.always})) as talk:
        talk.say("pay")
        talk.question.answer("y")
        assert (talk.question.tool, till.paid) == ("pay", [])
        talk.question.approve()
        assert talk.texts[-1] == "Done: paid 5"
    assert till.paid == [5.0]


def test_a_question_that_nobody_answers_ends_the_turn() -> None:
    till = Till()
    make = desk(once("pay", {"amount": 5.0}), till.pay, hooks=[Asks()])
    with Conversation(app_of(make)) as talk:
        talk.say("pay")
        assert talk.question.cancel().outcome == "cancelled"
        assert till.paid == []


def asking(till: Till, times: int = 1) -> Any:
    @tool(context=True)
    def pay(amount: float, tool_context: ToolContext) -> str:
        """Pay an amount."""
        answers = [tool_context.interrupt(f"q{n}", reason="much") for n in range(times)]
        till.paid.append(amount)
        return f"paid {amount:g}: {answers}"

    return desk(once("pay", {"amount": 5.0}), pay)


def test_an_interrupt_of_a_tool_asks_about_the_same_call() -> None:
    till = Till()
    with Conversation(app_of(asking(till))) as talk:
        run = talk.say("pay")
        assert (run.outcome, till.paid) == ("interrupt", [])
        talk.restart()
        run = talk.question.answer({"sure": True})
        assert run.of("TOOL_CALL_START") == []
        assert talk.texts[-1] == "Done: paid 5: [{'sure': True}]"
    assert till.paid == [5.0]


def test_a_tool_that_asks_a_second_time_fails_before_its_effect() -> None:
    till = Till()
    with Conversation(app_of(asking(till, times=2))) as talk:
        talk.say("pay")
        talk.restart()
        talk.question.answer("yes")
        assert "it asks a second time" in talk.texts[-1]
    assert till.paid == []


def test_a_tool_may_ask_in_our_way_before_its_effect() -> None:
    till = Till()

    def pay(amount: float) -> str:
        """Pay an amount."""
        if current_call().answer is None:
            raise AskFirst("It is much. Pay?")
        return till.pay(amount)

    with Conversation(app_of(desk(once("pay", {"amount": 5.0}), pay))) as talk:
        assert talk.say("pay").outcome == "interrupt"
        talk.restart()
        talk.question.approve()
        assert talk.texts[-1] == "Done: paid 5"
    assert till.paid == [5.0]


def test_arguments_that_a_handler_of_the_author_s_repairs_are_asked_about() -> None:
    till = Till()
    plain = desk(once("pay", {"amount": "much"}), till.pay)

    def make(turn: Any) -> Agent:
        agent = plain(turn)
        agent.add_middleware(
            ExecuteToolStage.Input,
            lambda context: context.replace(tool_use={**context.tool_use, "input": {"amount": 5}}),
        )
        return agent

    with Conversation(app_of(make, approve={"pay": approval.always})) as talk:
        talk.say("pay")
        assert talk.question.args == {"amount": 5}
        talk.question.approve()
    assert till.paid == [5]


def test_what_cannot_be_made_durable_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = Planned(lambda messages: Reply("hello"))
    with pytest.raises(DeclarationError, match=r"lambda turn: Agent\("):
        app_of(desk(model)())
    with pytest.raises(DeclarationError, match="it takes policies"):
        app_of(desk(model), approve={"pay": True})
    sessions = FileSessionManager(session_id="s", storage_dir=str(tmp_path))
    for make, said in (
        (desk(model, session_manager=sessions), "has a session manager"),
        (desk(model, background_tasks=True), "runs tools in the background"),
        (lambda turn: "agent", "made no strands.Agent"),
    ):
        with Conversation(app_of(make), errors="return") as talk:
            assert talk.say("hello").events[-1]["type"] == "RUN_ERROR"
            assert said in caplog.text
    with Conversation(
        app_of(desk(model, Till().pay), approve={"pya": approval.always}), errors="return"
    ) as talk:
        assert talk.say("hello").events[-1]["type"] == "RUN_ERROR"
        assert "did you mean 'pay'?" in caplog.text
