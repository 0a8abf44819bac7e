"""What tests of agents find in the code itself: its errors, and where a replay would differ."""

import logging
import random
from typing import Any

import pytest

from sayso import Tool, Turn, approval
from sayso.base.errors import ToolFailed
from sayso.testing import Conversation


async def _pay(a: float) -> str:
    return "paid"


pay = Tool(_pay, name="pay", approval=approval.always)
ADVICE = r"turn\.now\(\), turn\.random\(\), turn\.uuid\(\) or a step"


async def paying(turn: Turn) -> None:
    """Proposes another amount in each execution."""
    await turn.call(pay, a=random.random())  # noqa: S311 - the mistake to be found


async def stepping(turn: Turn) -> None:
    """Passes a step something else in each execution, and asks."""

    async def note(text: str) -> str:
        return text

    told = f"secret {random.random()}"  # noqa: S311 - the mistake to be found
    await turn.step.options(name="note")(note, told)
    await turn.interrupt("confirmation", "Go on?")


def varying() -> Any:
    """An agent that says more each time that it is entered; it asks nobody."""
    entered: list[int] = []

    async def talking(turn: Turn) -> None:
        entered.append(1)
        for _ in entered:
            await turn.say("again")

    return talking


def failing() -> Any:
    async def broken(turn: Turn) -> None:
        await turn.say("so far")
        raise KeyError("k")

    return broken


def test_an_error_of_the_agent_is_raised_as_it_was() -> None:
    """Its traceback leads to the author's line and begins with nobody else's."""
    with Conversation(failing()) as agent, pytest.raises(KeyError) as caught:
        agent.say("go")
    assert caught.value.__context__ is None
    assert caught.traceback[-1].name == "broken"
    assert agent.thread == "test"


def test_an_error_may_come_back_as_clients_see_it(caplog: pytest.LogCaptureFixture) -> None:
    """`errors="return"`; the server's log has it from the agent's own frame on."""
    with caplog.at_level(logging.ERROR), Conversation(failing(), errors="return") as agent:
        assert agent.say("go").outcome == "agent_error"
    (record,) = [one for one in caplog.records if one.exc_info]
    assert "During handling" not in caplog.text
    assert record.exc_info is not None and isinstance(record.exc_info[1], KeyError)


def test_a_tool_that_fails_the_turn_is_raised_too() -> None:
    """Also where nobody reads: time passes, and the agent goes on by itself."""

    async def _breaks() -> str:
        raise OSError("no")

    breaks = Tool(_breaks, name="breaks", on_error="fail")

    async def agent(turn: Turn) -> None:
        await turn.interrupt("confirmation", "Go on?", expires_in=5)
        await turn.call(breaks)

    with Conversation(agent, tools=[breaks]) as talk:
        talk.say("go")
        with pytest.raises(ToolFailed, match=r"OSError \(error e_\w{8}\)"):
            talk.advance(10)


@pytest.mark.parametrize("agent", [paying, stepping])
def test_what_a_replay_would_not_find_again_fails_the_test_at_the_pause(agent: Any) -> None:
    """The line, both arguments of a call, what the code is called with, and what to write."""
    with (
        Conversation(agent, tools=[pay]) as talk,
        pytest.raises(AssertionError, match=ADVICE) as caught,
    ):
        talk.say("go")
    text = str(caught.value)
    assert "test_agents_replayed.py:" in text
    if agent is paying:
        assert text.count('call pay({"a":0.') == 2
    else:
        assert "secret 0." in text


def test_what_a_replay_would_not_find_again_fails_the_test_at_the_end() -> None:
    """Nothing was asked, but the server could have died before the end."""
    with (
        Conversation(varying()) as talk,
        pytest.raises(AssertionError, match="journal holds nothing but the code asks for message"),
    ):
        talk.say("go")


@pytest.mark.parametrize("agent", [paying, stepping])
def test_without_replays_it_is_found_by_the_answer(
    agent: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Clients read what to do, and nothing that only the server passed to a step."""
    with Conversation(agent, tools=[pay], replays=False) as talk:
        talk.say("go")
        with caplog.at_level(logging.ERROR):
            run = talk.question.approve()
        assert run.outcome == "replay_mismatch" and run.error is not None
        assert "if no code has changed" in run.error and "turn.random()" in run.error
        assert "secret" not in run.error and ".py" not in run.error
        assert "test_agents_replayed.py:" in caplog.text
        assert ("secret 0." in caplog.text) is (agent is stepping)
        assert len(talk.questions) == 1


def test_code_that_comes_by_the_same_way_is_run_once() -> None:
    """No step and no tool runs in a replay of the kit; plain code does."""
    entered: list[str] = []

    async def agent(turn: Turn) -> None:
        entered.append("in")
        await turn.call(pay, a=await turn.random())

    with Conversation(agent, tools=[pay]) as talk:
        talk.say("go")
        talk.question.approve()
        assert talk.effects == ["pay"]
        assert len(entered) == 4, "asked and held against it, answered and held against it"
