"""What an agent asks: put as questions, decided by policies and people, answered in one resume."""

from collections.abc import Iterator
from typing import Any

import pytest

from sayso import Sayso, Tool, agui, approval
from sayso.testing import Conversation, Refused
from tests.frameworks.agui import producers as far
from tests.frameworks.agui.scripted import (
    BOTH,
    Agent,
    asks_to_pay,
    asks_to_pay_or_less,
    person,
    refunds,
    waits_for,
)


def test_its_question_is_held_to_its_schema_and_answered_in_one_resume() -> None:
    agent = Agent(refunds)
    with Conversation(agent.app()) as talk:
        run = talk.say("refund A-17")
        assert run.outcome == "interrupt"
        assert run.text == "Let me see."
        assert len(run.of("TEXT_MESSAGE_CONTENT")) == 2
        assert talk.results == ["A-17 is paid"]
        assert talk.state == {"order": "A-17", "note": None}
        assert talk.question.reason == "shop:refund"
        talk.restart()
        with pytest.raises(Refused):  # the agent would have taken it
            talk.question.answer({"approved": True, "amount": 999})
        assert len(agent.seen) == 1
        run = talk.question.answer({"approved": True, "amount": 20})
        assert run.text == "Refunded 20."
        assert [entry.interrupt_id for entry in agent.seen[1].resume or ()] == ["i1"]
        assert talk.state == {"order": "A-17", "note": None}
        talk.say("again")
        assert agent.told() == [
            "user: refund A-17",
            "assistant: Let me see.",
            "assistant: None",
            "tool: A-17 is paid",
            "assistant: Refunded 20.",
            "user: again",
        ]
        assert agent.seen[-1].thread_id == agent.seen[0].thread_id
        assert len({given.run_id for given in agent.seen}) == 3


def test_all_that_it_asks_is_one_outcome_and_one_resume() -> None:
    def two(given: far.Given) -> Iterator[Any]:
        if given.resume:
            yield from far.text("m", str([entry.status for entry in given.resume]))
            return
        yield far.asks(
            {"id": "a", "reason": "shop:one", "message": "One?"},
            {"id": "b", "reason": "two", "message": "Two?"},
        )

    agent = Agent(two)
    with Conversation(agent.app()) as talk:
        talk.say("go")
        one, other = talk.questions
        assert (one.reason, other.reason) == ("shop:one", "far:two")
        assert one.answer("yes").outcome == "held"
        assert len(agent.seen) == 1
        assert other.cancel().text == "['resolved', 'cancelled']"
        assert len(agent.seen) == 2


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (approval.never, "{'approved': True}"),
        (approval.deny(lambda n: n > 5, name="large"), "'approved': False"),
    ],
)
def test_a_policy_answers_for_a_person_where_it_names_the_tool(
    policy: approval.Policy, says: str
) -> None:
    agent = Agent(asks_to_pay)
    with Conversation(agent.app(approve={"p*": policy})) as talk:
        assert talk.say("go").outcome == "success"
        assert says in talk.results[0]


def test_a_tool_that_no_policy_names_is_asked_about() -> None:
    agent = Agent(asks_to_pay)
    with Conversation(agent.app(approve={"other": approval.never})) as talk:
        talk.say("go")
        assert talk.question.reason == "far:tool_call"
        assert talk.question.metadata["arguments"] == {"n": 7}
        with pytest.raises(Refused):
            talk.question.answer({"approved": "yes"})
        talk.question.answer({"approved": True})
        assert talk.results == ["answered {'approved': True}"]


def test_a_policy_that_asks_says_who_answers() -> None:
    agent = Agent(asks_to_pay)
    app = agent.app(approve={"pay": approval.always(by="lead", expires_in=60)})
    with Conversation(app) as talk:
        talk.say("go")
        assert talk.question.metadata["sayso"]["approvers"]["by"] == ["lead"]
        with pytest.raises(Refused):
            talk.question.answer({"approved": True})
        talk.advance(61)
        assert "None" in talk.results[0] or talk.status != "suspended"


@pytest.mark.parametrize(
    "policy",
    [
        approval.Policy(deny=["delete_*"], ask=[approval.calls("pay", by="lead")]),
        approval.Policy(ask=[approval.calls("send", by="cfo"), approval.calls("p*", by="lead")]),
        approval.Policy(ask=[approval.calls("p*", lambda of_which: of_which, by="lead")]),
        approval.by_effect(by="lead"),
    ],
    ids=["others denied", "others asked", "an argument that it lacks", "by effect"],
)
def test_rules_for_other_tools_have_no_say(policy: approval.Policy) -> None:
    """What the agent does not tell of its tool is taken for the worst."""
    agent = Agent(asks_to_pay)
    with Conversation(agent.app(approve={"*": policy})) as talk:
        talk.say("go")
        assert waits_for(talk) == ["lead"]
        person(talk, "lead").question.answer({"approved": True})
        assert talk.results == ["answered {'approved': True}"]


def test_each_rule_that_asks_has_its_people_say_yes() -> None:
    agent = Agent(asks_to_pay)
    with Conversation(agent.app(approve={"pay": BOTH})) as talk:
        fay, lea = person(talk, "finance"), person(talk, "lead")
        talk.say("go")
        assert waits_for(talk) == ["finance"]
        fay.question.answer({"approved": True})
        assert len(agent.seen) == 1
        talk.restart()
        assert waits_for(talk) == ["lead"]
        assert fay.inbox == []
        lea.question.answer({"approved": True})
        assert len(agent.seen) == 2
        assert talk.results == ["answered {'approved': True}"]


def test_one_no_is_the_answer_of_all() -> None:
    agent = Agent(asks_to_pay)
    with Conversation(agent.app(approve={"pay": BOTH})) as talk:
        talk.say("go")
        person(talk, "finance").question.answer({"approved": False})
        assert talk.results == ["answered {'approved': False}"]


def test_who_edits_takes_the_yes_of_others_away() -> None:
    agent = Agent(asks_to_pay_or_less)
    with Conversation(agent.app(approve={"pay": BOTH})) as talk:
        fay, lea = person(talk, "finance"), person(talk, "lead")
        talk.say("go")
        fay.question.answer({"approved": True})
        lea.question.answer({"approved": True, "editedArgs": {"n": 9}})
        assert waits_for(talk) == ["finance"]
        assert talk.question.metadata["arguments"] == {"n": 9}
        fay.question.answer({"approved": True})
        assert talk.results == ["answered {'editedArgs': {'n': 9}, 'approved': True}"]


@pytest.mark.parametrize(
    ("edited", "answered"),
    [
        ({"n": 3}, "answered {'approved': True, 'editedArgs': {'n': 3}}"),
        ({"n": 900}, "answered {'approved': False, 'reason': \"rule 'large' denies it\"}"),
    ],
)
def test_rules_see_the_arguments_as_edited(edited: dict[str, Any], answered: str) -> None:
    """Fewer people where less is at stake; nobody gets round a rule that denies."""
    agent = Agent(asks_to_pay_or_less)
    with Conversation(agent.app(approve={"pay": BOTH})) as talk:
        fay = person(talk, "finance")
        talk.say("go")
        fay.question.answer({"approved": True, "editedArgs": edited})
        assert talk.results == [answered]


def test_a_schema_that_cannot_be_compiled_is_asked_without_a_form() -> None:
    def broken(given: far.Given) -> Iterator[Any]:
        if given.resume:
            yield from far.text("m", str(given.resume[0].payload))
            return
        schema = {"type": "no type"}
        yield far.asks({"id": "i", "reason": "shop:q", "message": "?", "response_schema": schema})

    with Conversation(Agent(broken).app()) as talk:
        talk.say("go")
        assert talk.question.metadata["sayso"]["unchecked"] is True
        assert talk.question.answer(["anything"]).text == "['anything']"


def test_the_default_policy_counts_for_tools_without_one() -> None:
    async def pay() -> str:
        """Pay."""
        return "paid"

    def script(given: far.Given) -> Iterator[Any]:
        if given.messages[-1].role == "user":
            yield from far.call("c1", "pay", {})

    app = Sayso(store="memory:", default_approval=approval.always)
    agui.mount_events(app, "shop", far.agent(script), tools=[Tool(pay)])
    with Conversation(app) as talk:
        assert talk.say("go").outcome == "interrupt"


def test_an_older_way_to_ask_is_answered_by_its_command() -> None:
    def script(given: far.Given) -> Iterator[Any]:
        command = (given.forwarded_props or {}).get("command")
        if command:
            yield from far.text("m", f"Heard {command['resume']}.")
        else:
            yield far.CustomEvent(name="on_interrupt", value="Really?")

    with Conversation(Agent(script).app()) as talk:
        talk.say("go")
        assert (talk.question.reason, talk.question.message) == ("far:on_interrupt", "Really?")
        talk.restart()
        assert talk.question.answer("yes").text == "Heard yes."


def test_the_same_question_again_is_no_answer_and_no_loop() -> None:
    def script(given: far.Given) -> Iterator[Any]:
        yield far.asks({"id": "i", "reason": "shop:q", "message": "Well?"})

    agent = Agent(script)
    with Conversation(agent.app(), errors="return") as talk:
        talk.say("go")
        run = talk.question.answer("yes")
        assert run.outcome == "agent_error"
        assert len(agent.seen) == 2


def test_what_it_asks_anew_says_that_it_was_answered_before() -> None:
    def script(given: far.Given) -> Iterator[Any]:
        yield far.asks({"id": given.run_id, "reason": "shop:q", "message": "Well?"})

    with Conversation(Agent(script).app()) as talk:
        talk.say("go")
        talk.question.answer("yes")
        assert talk.question.message.startswith("Asked again: the agent did not act on the answer")


def test_it_is_told_of_questions_that_were_stopped() -> None:
    agent = Agent(refunds)
    with Conversation(agent.app()) as talk:
        talk.say("refund A-17")
        talk.question.cancel()
        assert agent.seen[1].resume is not None
        assert agent.seen[1].resume[0].status == "cancelled"


def test_a_copy_does_not_answer_for_the_thread_that_was_copied() -> None:
    agent = Agent(refunds)
    with Conversation(agent.app(), errors="return") as talk:
        talk.say("refund A-17")
        copy = talk.fork(talk.question)
        run = copy.question.answer({"approved": True})
        assert run.outcome == "agent_error"
        assert len(agent.seen) == 1
        assert talk.question.answer({"approved": True}).outcome == "success"


def test_questions_and_open_calls_stand_in_one_outcome() -> None:
    async def pay() -> str:
        """Pay."""
        return "paid"

    def script(given: far.Given) -> Iterator[Any]:
        if given.resume:
            results = [m.content for m in given.messages if m.role == "tool"]
            yield from far.text("m", f"{results} {given.resume[0].payload}")
            return
        yield from far.call("c1", "pay", {})
        yield far.asks({"id": "i", "reason": "shop:q", "message": "Well?"})

    agent = Agent(script)
    tool = Tool(pay, approval=approval.always)
    with Conversation(agent.app(tools=[tool])) as talk:
        talk.say("go")
        gated, asked = sorted(talk.questions, key=lambda question: question.reason == "shop:q")
        assert gated.reason == "tool_call"
        assert asked.answer("yes").outcome == "held"
        talk.restart()
        assert talk.question.approve().text == "['paid'] yes"
