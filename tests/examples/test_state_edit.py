"""`examples/state_edit.py`: a plan that somebody corrects while the agent waits."""

import pytest

from sayso.base.errors import Problem
from sayso.testing import Conversation
from tests.examples.conftest import Load


def test_what_was_edited_is_booked(load: Load) -> None:
    """Design 3: checked, and stronger than what a page sends with its answer."""
    with Conversation(load("state_edit")) as agent:
        agent.say("Rome")
        assert agent.question.message == "Book 3 nights in Rome?"
        agent.edit_state(nights=2, extras={"breakfast": True})
        agent.restart()
        agent.question.approve()
        assert agent.texts == ["Booked Rome, 2 nights with breakfast: 160.00."]
        assert agent.effects == ["find_room", "book"]


def test_an_edit_that_is_no_trip_is_refused(load: Load) -> None:
    """The plan stays as it was."""
    with Conversation(load("state_edit")) as agent:
        agent.say("Rome")
        with pytest.raises(Problem, match="`errors` say where"):
            agent.edit_state(nights=0)
        assert agent.state["nights"] == 3
        agent.question.deny()
        assert agent.texts == ["Nothing is booked."]
