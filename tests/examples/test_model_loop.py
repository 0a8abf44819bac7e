"""`examples/model_loop.py`: a model's calls by name, and what it is told of them."""

from sayso.testing import Conversation
from tests.examples.conftest import Load


def test_a_model_is_told_what_became_of_each_of_its_calls(load: Load) -> None:
    """Design 3: gated ones ask together; a denial, a result and a made-up tool are all heard."""
    with Conversation(load("model_loop")) as agent:
        run = agent.say("void what is unpaid")
        assert run.outcome == "interrupt"
        wanted = [question.args for question in agent.questions]
        assert wanted == [{"number": "R-1"}, {"number": "R-3"}]
        assert agent.effects == ["think", "list_invoices", "think"]
        agent.restart()
        first, second = agent.questions
        first.deny("it was paid in cash")
        second.approve()
        (last,) = agent.texts
        assert "R-3 is void." in last
        assert "it was paid in cash" in last
        assert "there is no tool 'write_off'" in last
        ran = ["think", "list_invoices", "think", "void_invoice", "think", "think"]
        assert agent.effects == ran
