"""`examples/parameter_completion.py`: a form asks for what a call lacks."""

from sayso.testing import Conversation
from tests.examples.conftest import Load


def test_a_form_asks_for_all_that_the_message_does_not_say(load: Load) -> None:
    """Design 3: of the tool's own types; the dates are known, the kind is not."""
    with Conversation(load("parameter_completion")) as agent:
        agent.say("leave from 2026-07-06 to 2026-07-17")
        assert agent.question.reason == "input_required"
        assert agent.question.metadata["sayso"]["missing"] == ["kind"]
        assert agent.question.schema["properties"]["kind"]["enum"] == [
            "holiday",
            "parental",
            "unpaid",
        ]
        agent.restart()
        agent.answer({"kind": "holiday"})
        assert agent.texts == ["Booked: holiday leave from 06 July to 17 July."]
        assert agent.effects == ["book_leave"]


def test_a_whole_call_is_proposed_to_who_has_to_approve_it(load: Load) -> None:
    """The form comes first; then the card with every argument."""
    with Conversation(load("parameter_completion")) as agent:
        agent.say("I need some days off")
        agent.answer({"first": "2026-01-02", "last": "2026-01-03", "kind": "unpaid"})
        assert agent.question.tool == "book_leave"
        assert agent.question.args["kind"] == "unpaid"
        agent.question.deny("not in January")
        assert "not in January" in agent.texts[-1]
        assert agent.effects == []


def test_a_form_that_is_withdrawn_leaves_the_call_unmade(load: Load) -> None:
    """Nothing is proposed that nobody could run."""
    with Conversation(load("parameter_completion")) as agent:
        agent.say("days off")
        agent.question.cancel()
        assert agent.texts == [
            "Nothing is booked. Not called: arguments are missing, and the question for them was "
            "withdrawn."
        ]
        assert not [m for m in agent.messages if m.get("toolCalls")]
