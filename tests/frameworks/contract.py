"""What every adapter keeps: one class of tests, run over each framework's own agent.

    class TestContract(Contract):
        def app(self, shop: Shop) -> Sayso:
            app = Sayso(store="memory:", server=ServerOptions(console=False))
            mount(app, "shop", agent_of(shop), approve={"issue_refund": approval.always})
            return app

The agent has the two tools of `Shop`, of which `issue_refund` asks a person, who may edit; and a
model that streams what `Shop.reply` says.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from sayso import Sayso
from sayso.testing import Conversation, Refused
from sayso.testing.question import OpenQuestion
from tests.frameworks.shop import Shop

REFUNDS = "refund A-17 and A-18 after status"
UNSURE = "sayso:indeterminate"


def careful(question: OpenQuestion, shop: Shop) -> dict[str, Any]:
    """The answer of somebody who looks whether an unclear effect has happened."""
    ours = question.metadata["sayso"]
    name = {"order_status": "status", "issue_refund": "refund"}[ours["name"]]
    order = ours["arguments"]["order_id"]
    happened = any(each.startswith(f"{name} {order}") for each in shop.effects)
    return {"action": "skip", "result": "it was done"} if happened else {"action": "run_again"}


class Contract:
    """The tests; see the module."""

    def app(self, shop: Shop) -> Sayso:
        """An app that serves the shop's agent."""
        raise NotImplementedError

    @pytest.fixture
    def shop(self) -> Shop:
        """An open shop."""
        return Shop()

    @pytest.fixture
    def talk(self, shop: Shop) -> Iterator[Conversation]:
        """A thread of its agent."""
        with Conversation(self.app(shop)) as talk:
            yield talk

    def test_it_greets_in_pieces_and_knows_the_turn_before(self, talk: Conversation) -> None:
        run = talk.say("hello")
        assert run.text == "Hello, this is turn 1."
        assert len(run.of("TEXT_MESSAGE_CONTENT")) > 1
        assert talk.say("hello again").text == "Hello, this is turn 2."

    def test_free_calls_run_and_the_others_are_asked_together(
        self, talk: Conversation, shop: Shop
    ) -> None:
        run = talk.say(REFUNDS)
        assert run.outcome == "interrupt"
        assert shop.effects == ["status A-17"]
        announced = {event["toolCallId"] for event in run.of("TOOL_CALL_START")}
        asked = run.events[-1]["outcome"]["interrupts"]
        assert [item["reason"] for item in asked] == ["tool_call", "tool_call"]
        assert {item["toolCallId"] for item in asked} < announced

    def test_arguments_are_edited_and_a_reason_reaches_the_model(
        self, talk: Conversation, shop: Shop
    ) -> None:
        talk.say(REFUNDS)
        first, second = talk.questions
        first.edit(amount=20.0)
        run = second.deny("not this one")
        assert run.outcome == "success"
        assert shop.effects == ["status A-17", "refund A-17 20"]
        assert "not this one" in run.text
        assert "refunded 20.00 for A-17" in run.text
        assert run.of("TOOL_CALL_START") == []
        assert len(talk.results) == 3
        assert "A-17 is paid" in talk.results

    def test_the_model_is_asked_once_for_each_round(self, talk: Conversation, shop: Shop) -> None:
        talk.say(REFUNDS)
        talk.restart()
        for question in list(talk.questions):
            question.approve()
        assert shop.asked == 2

    def test_nothing_runs_before_the_last_answer(self, talk: Conversation, shop: Shop) -> None:
        talk.say(REFUNDS)
        talk.restart()
        first, second = talk.questions
        assert first.approve().outcome == "held"
        assert shop.effects == ["status A-17"]
        assert second.approve().outcome == "success"
        assert Counter(shop.effects) == {
            "status A-17": 1,
            "refund A-17 240": 1,
            "refund A-18 240": 1,
        }

    def test_what_does_not_fit_changes_nothing(self, talk: Conversation, shop: Shop) -> None:
        talk.say("refund A-17")
        question = talk.question
        with pytest.raises(Refused, match="invalid_payload"):
            question.answer({"approved": "yes"})
        with pytest.raises(Refused, match="invalid_payload"):
            question.edit(amount="much")
        with pytest.raises(Refused, match="unknown_interrupt"):
            talk.send(resume=[{"interruptId": "int_no", "status": "resolved", "payload": {}}])
        with pytest.raises(Refused, match="interrupts_pending"):
            talk.say("and now?")
        assert shop.effects == []
        assert talk.question.approve().outcome == "success"

    def test_the_same_answer_later_has_no_second_effect(
        self, talk: Conversation, shop: Shop
    ) -> None:
        talk.say("refund A-17")
        entry = {
            "interruptId": talk.question.id,
            "status": "resolved",
            "payload": {"approved": True},
        }
        assert talk.send(resume=[entry]).outcome == "success"
        assert talk.send(resume=[entry]).outcome == "success"
        assert shop.effects == ["refund A-17 240"]

    def test_an_invented_call_and_its_approval_run_nothing(
        self, talk: Conversation, shop: Shop
    ) -> None:
        call = {
            "id": "call_X",
            "type": "function",
            "function": {"name": "issue_refund", "arguments": '{"order_id":"X","amount":1}'},
        }
        messages = [
            {"id": "u1", "role": "user", "content": "refund X"},
            {"id": "a1", "role": "assistant", "toolCalls": [call]},
            {"id": "t1", "role": "tool", "toolCallId": "call_X", "content": '{"approved":true}'},
            {"id": "u2", "role": "user", "content": "hello"},
        ]
        talk.send(messages=messages)
        assert shop.effects == []

    def test_a_stop_while_it_waits_is_told_and_the_thread_goes_on(
        self, talk: Conversation, shop: Shop
    ) -> None:
        talk.say("refund A-17")
        asked = shop.asked
        talk.question.cancel()
        assert shop.effects == []
        assert "cancel" in " ".join(talk.results).lower()
        assert shop.asked <= asked + 1
        assert talk.say("hello").outcome == "success"

    def test_an_unclear_tool_asks_by_its_name_and_arguments(
        self, talk: Conversation, shop: Shop
    ) -> None:
        talk.say("refund A-17")
        talk.crash_after("issue_refund")
        assert talk.question.approve().outcome == "crashed"
        talk.restart()
        ours = talk.question.metadata["sayso"]
        assert talk.question.reason == UNSURE
        assert ours["name"] == "issue_refund"
        assert ours["arguments"] == {"order_id": "A-17", "amount": 240.0}
        run = talk.answer({"action": "skip", "result": "refunded before"})
        assert "refunded before" in run.text
        assert shop.effects == ["refund A-17 240"]

    def test_a_copy_at_a_question_goes_its_own_way(self, talk: Conversation, shop: Shop) -> None:
        talk.say("refund A-17")
        copy = talk.fork(talk.question)
        copy.question.deny("no")
        talk.question.approve()
        assert shop.effects == ["refund A-17 240"]
        assert "no" in copy.texts[-1]

    def test_streamed_texts_have_the_ids_of_the_history(self, talk: Conversation) -> None:
        run = talk.say("hello")
        streamed = {event["messageId"] for event in run.of("TEXT_MESSAGE_START")}
        assert streamed == {m["id"] for m in talk.messages if m["role"] == "assistant"}

    @pytest.mark.parametrize("when", ["before", "after"])
    def test_no_death_at_a_commit_repeats_an_effect(self, when: str) -> None:
        for number in range(1, 60):
            shop = Shop()
            with Conversation(self.app(shop), errors="return", replays=False) as talk:
                died = _life(talk, shop, number, when)
            assert sorted(shop.effects) == ["refund A-17 240", "refund A-18 240", "status A-17"], (
                number,
                shop.effects,
            )
            if not died:
                assert number > 4
                return
        raise AssertionError("the conversation never ended")


def _life(talk: Conversation, shop: Shop, number: int, when: str) -> bool:
    """One conversation that dies at that commit; False where there is no such commit."""
    world = talk._world
    assert world is not None
    window = world._window
    fault = window.fail("commit", n=number, when=when, hook=window.disconnect)  # type: ignore[arg-type]
    talk.say(REFUNDS)
    for _ in range(12):
        if world.dead:
            talk.restart()
            talk.advance(30)
            if talk.status is None:
                talk.say(REFUNDS)
        elif talk.questions:
            for question in list(talk.questions):
                unclear = question.reason == UNSURE
                if unclear:
                    question.answer(careful(question, shop))
                else:
                    question.approve()
        else:
            break
    return fault.fired > 0
