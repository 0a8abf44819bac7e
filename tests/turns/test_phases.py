"""Phases that overlap: each begins and ends for itself (design 3, rule 7)."""

from pathlib import Path
from typing import Any

import pytest

from sayso import Breakpoints, Turn
from sayso.base.errors import TurnError
from tests.contract.requirements import requirement
from tests.turns.driver import Conversation, World


async def ask(turn: Turn, message: str) -> Any:
    return (await turn.interrupt("input_required", message, schema=str)).value


def steps(run: Any) -> list[str]:
    """What clients see of phases, in order: `+name`, `-name`."""
    signs = {"STEP_STARTED": "+", "STEP_FINISHED": "-"}
    return [signs[e["type"]] + e["stepName"] for e in run.events if e["type"] in signs]


@requirement("ST-01")
async def test_phases_overlap_and_end_in_any_order(kind: str, tmp_path: Path) -> None:
    """One that is over is announced no more, also where its end lies in the past."""

    async def agent(turn: Turn, world: World) -> Any:
        a, b, c = (turn.phase(name) for name in "abc")
        await a.begin()
        await b.begin()
        await turn.say("In both.")
        await a.end()
        await ask(turn, "First?")
        await c.begin()
        await ask(turn, "Second?")
        await b.end()
        await turn.say("In c.")
        await c.end()

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        assert steps(await talk.say()) == ["+a", "+b", "-a", "-b"]
        await talk.restart()
        assert steps(await talk.answer({"First?": "x"})) == ["+b", "+c", "-c", "-b"]
        await talk.restart()
        assert steps(await talk.answer({"Second?": "x"})) == ["+b", "+c", "-b", "-c"]


async def test_a_phase_that_begins_in_one_part_may_end_in_another(
    kind: str, tmp_path: Path
) -> None:
    """As a superstep of a framework's does; tasks that were made in it do not announce it again."""

    async def agent(turn: Turn, world: World) -> Any:
        phase = turn.phase("a")
        async with turn.at("one"):
            await phase.begin()
            await turn.say("One.")
        await ask(turn, "First?")
        async with turn.at("two"):
            await turn.say("Two.")
            await phase.end()
        async with turn.at("one"):
            await turn.say("One again.")

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        assert steps(await talk.say()) == ["+a", "-a"]
        await talk.restart()
        assert steps(await talk.answer({"First?": "x"})) == ["+a", "-a"]


async def test_a_phase_begins_once_and_ends_once(kind: str, tmp_path: Path) -> None:
    async def agent(turn: Turn, world: World) -> Any:
        phase = turn.phase("a")
        with pytest.raises(TurnError, match="phase 'a' is not on"):
            await phase.end()
        async with phase:
            with pytest.raises(TurnError, match="phase 'a' has begun"):
                await phase.begin()
            await phase.end()
        with pytest.raises(TurnError, match="phase 'a' is not on"):
            await phase.end()

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.outcome == "success", run.last
        assert steps(run) == ["+a", "-a"]


async def test_breakpoints_stand_around_phases_that_overlap(kind: str, tmp_path: Path) -> None:
    async def agent(turn: Turn, world: World) -> Any:
        a, b = turn.phase("a"), turn.phase("b")
        await a.begin()
        await b.begin()
        await turn.step(world.effect, "in both")
        await a.end()
        await b.end()

    points = Breakpoints(before=["b"], after=["a"])
    async with World.of(kind, tmp_path, agent, breakpoints=points) as world:
        talk = Conversation(world)
        assert steps(await talk.say()) == ["+a", "-a"]
        await talk.restart()
        run = await talk.answer_all_with({"action": "continue"})
        assert steps(run) == ["+a", "+b", "-a", "-b"]
        assert talk.asked == ["Breakpoint after phase 'a'. Continue?"]
        await talk.restart()
        run = await talk.answer_all_with({"action": "continue"})
        assert steps(run) == ["+b", "-b"]
        assert world.effects == ["in both"]
