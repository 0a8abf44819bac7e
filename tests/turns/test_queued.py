"""A message that comes with an answer (cases E5, E6; RE-09)."""

from pathlib import Path
from typing import Any

import pytest

from sayso import Turn
from tests.contract.requirements import requirement
from tests.turns.driver import Conversation, World
from tests.turns.endings import endings


async def agent(turn: Turn, world: World) -> Any:
    """Refunds, asks on demand, and says what a model would be given."""
    text = turn.input.text
    world.effects.append(f"turn {text}")
    if text == "also":
        return [m["role"] for m in turn.input.messages]
    call = await turn.call(world.tools.gated, n=1)
    if "twice" in text:
        await turn.interrupt("confirmation", "Really?")
    if "fail" in text:
        raise ValueError("failed")
    await turn.say(f"It is {call.status}.")
    return None


YES = {"approved": True}


def with_message(talk: Conversation, payload: Any) -> dict[str, Any]:
    """An answer to the first open question, and a new message."""
    entry = talk.entry(talk.client.model.pending[0]["id"], payload)
    talk.client.user("also")
    return {"resume": [entry]}


@requirement("RE-09")
@pytest.mark.parametrize("restarts", [False, True])
async def test_results_come_first_and_then_the_message(
    kind: str, tmp_path: Path, restarts: bool
) -> None:
    """E5: the model's input is call, result, text of the turn, then the user's text; one run."""
    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        await talk.say()
        if restarts:
            await talk.restart()
            talk.client.app = world.app
        run = await talk.client.run(**with_message(talk, YES))
        assert run.outcome == "success"
        assert run.last["result"] == ["user", "assistant", "tool", "assistant", "user"]
        assert world.effects == [*["turn go"] * 2, "gated 1", "turn also"] or restarts
        assert world.effects.count("gated 1") == 1
        shown = (await talk.connect()).snapshot
        assert [m["role"] for m in shown] == run.last["result"]


async def test_the_message_waits_while_the_turn_asks_again(kind: str, tmp_path: Path) -> None:
    """Stored, shown, and not yet read; over a restart it begins its turn when its time comes."""
    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        await talk.say("twice")
        run = await talk.client.run(**with_message(talk, YES))
        assert run.outcome == "interrupt"
        assert "turn also" not in world.effects
        assert run.snapshot[-1]["content"] == "also"
        await talk.restart()
        run = await talk.answer({"Really?": YES})
        assert run.outcome == "success"
        assert world.effects.count("turn also") == 1
        assert world.effects.count("gated 1") == 1


async def test_the_message_is_kept_when_the_turn_fails(kind: str, tmp_path: Path) -> None:
    """Nothing is lost: the next turn sees it."""
    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        await talk.say("fail")
        run = await talk.client.run(**with_message(talk, YES))
        assert run.outcome == "agent_error"
        assert "turn also" not in world.effects
        assert "also" in [m["content"] for m in (await talk.connect()).snapshot if "content" in m]


@requirement("RE-09")
async def test_a_message_beside_half_an_answer_is_not_stored(kind: str, tmp_path: Path) -> None:
    """E6: refused whole, nothing changes; the complete resend works."""

    async def two(turn: Turn, world: World) -> Any:
        world.effects.append(f"turn {turn.input.text}")
        if turn.input.text == "also":
            return "answered"
        await turn.gather(
            turn.interrupt("confirmation", "One?"), turn.interrupt("confirmation", "Two?")
        )
        return None

    async with World.of(kind, tmp_path, two) as world:
        talk = Conversation(world)
        await talk.say()
        before = await world.view(talk.thread)
        both = [talk.entry(item["id"], YES) for item in talk.client.model.pending]
        talk.client.user("also")
        run = await talk.send(both[:1])
        assert run.outcome == "partial_resume"
        assert await world.view(talk.thread) == before
        run = await talk.send(both)
        assert run.last["result"] == "answered"
        assert world.effects == ["turn go", "turn go", "turn also"]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_death_between_two_turns_of_one_run_loses_no_message(
    kind: str, tmp_path: Path, when: Any
) -> None:
    """The end of one turn and the beginning of the next are one commit."""
    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        await talk.say()
        window = world.process.window
        window.fail(
            "commit", when=when, match=lambda c: c.next_turn is not None, hook=window.disconnect
        )
        talk._to_present()
        await talk.client.run(**with_message(talk, YES))
        run = await talk.recover()
        assert run.outcome == "success"
        assert world.effects.count("gated 1") == 1
        assert world.effects.count("turn also") == 1
        shown = [m["role"] for m in run.snapshot]
        assert shown == ["user", "assistant", "tool", "assistant", "user"]
        ids = [m["id"] for m in run.snapshot]
        assert len(ids) == len(set(ids))
