"""`examples/fork.py`: the other answer, tried beside the first."""

from sayso.testing import Conversation
from tests.examples.conftest import Load


def test_both_answers_lead_somewhere_and_the_stock_is_looked_at_once(load: Load) -> None:
    """Design 3: the copy takes up at the first question, although it was answered since."""
    with Conversation(load("fork")) as agent:
        agent.say("100 chairs")
        first = agent.question
        agent.answer(10)
        copy = agent.fork(first)
        assert copy.question.message == "100 chairs: which discount, in percent?"
        assert copy.question.id != first.id
        copy.answer(25)
        copy.question.approve()
        agent.question.approve()
        assert agent.texts == ["Sent: 100 chairs at 36.00 each."]
        assert copy.texts == ["Sent: 100 chairs at 30.00 each."]
        assert (agent.effects, copy.effects) == (["stock", "quote"], ["quote"])
