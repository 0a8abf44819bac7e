"""Private values of a thread are stored with the end of a turn, or not at all (design 3)."""

from pathlib import Path
from typing import Any, Literal

import pytest

from sayso import Turn
from tests.turns.driver import Conversation, World


async def keeping(turn: Turn, world: World) -> Any:
    """Keeps a value on each side of a question, and reads what there was."""
    before = sorted(turn.kept)
    turn.keep("asked", b"\x00\xff")
    await turn.step(world.effect, "effect")
    if turn.input.text == "go":
        await turn.interrupt("input_required", "Sure?", schema=bool)
    turn.keep("ended", turn.kept["asked"])
    return before


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_death_at_any_commit_keeps_what_the_turn_kept(
    kind: str, when: Literal["before", "after"], tmp_path: Path
) -> None:
    """Its code reads the same in each execution, and the next turn what it has kept."""
    died, n = True, 0
    while died:
        n += 1
        folder = tmp_path / f"{when} {n}"
        folder.mkdir()
        async with World.of(kind, folder, keeping) as world:
            window = world.process.window
            window.fail("commit", n=n, when=when, hook=window.disconnect)
            talk = Conversation(world)
            run = await talk.say()
            for _ in range(4):
                turn = (await world.view(talk.thread)).turn
                assert turn is not None
                if world.process.window.dead:
                    run = await talk.recover()
                elif talk.asked == ["Sure?"]:
                    run = await talk.answer({"Sure?": True})
                elif talk.asked:  # whether the step happened is seen by whoever looks
                    skip = {"action": "skip", "result": "effect"}
                    again = {"action": "run_again"}
                    run = await talk.answer_all_with(skip if world.effects else again)
            died = len(world.processes) > 1
            assert run.last.get("result", []) == [], folder.name
            assert world.effects == ["effect"], folder.name
            if died:
                run = await talk.say("next")
                assert run.last["result"] == ["asked", "ended"], folder.name
    assert n > 4
