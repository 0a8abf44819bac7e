"""A turn that its own code ends as cancelled (design 4)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sayso import Turn
from sayso.base.errors import NestedCall
from tests.turns.driver import Conversation, World
from tests.turns.endings import endings


async def test_code_ends_its_turn_as_cancelled(kind: str, tmp_path: Path) -> None:
    """With its reason; what stands behind does not run, and the thread takes the next turn."""

    async def agent(turn: Turn, world: World) -> Any:
        if turn.input.text == "on":
            return "on"
        await turn.say("Looking.")
        await turn.step(world.effect, "looked")
        return await turn.cancel("There is nothing to do.")

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.outcome == "cancelled"
        assert "There is nothing to do." in str(run.last)
        assert talk.texts == ["Looking."]
        turn = (await world.view(talk.thread)).turn
        assert turn is not None
        assert turn.status == "cancelled"
        run = await talk.say("on")
        assert run.last["result"] == "on"


async def test_effects_end_and_what_was_asked_is_not(kind: str, tmp_path: Path) -> None:
    """Also from a task beside, and after a pause: calls that are left get results."""

    async def agent(turn: Turn, world: World) -> Any:
        async def cancelling() -> None:
            await turn.step(world.effect, "quick")
            await turn.cancel("Enough.")

        await turn.gather(
            turn.call(world.tools.gated, n=1),
            turn.step(world.slowly, "slow"),
            cancelling(),
        )

    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.outcome == "cancelled"
        assert sorted(world.effects) == ["quick", "slow"]
        await talk.connect()
        assert talk.asked == []
        results = [m for m in talk.history if m["role"] == "tool"]
        assert len(results) == 1


async def test_a_turn_cancels_itself_after_an_answer(kind: str, tmp_path: Path) -> None:
    async def agent(turn: Turn, world: World) -> Any:
        answer = await turn.interrupt("input_required", "Go on?", schema=bool)
        if not answer.value:
            try:
                await turn.cancel("As you say.")
            finally:
                world.effects.append("unwound")
        return "went on"

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart()
        run = await talk.answer({"Go on?": False})
        assert run.outcome == "cancelled"
        assert world.effects == ["unwound"]


async def test_code_that_does_not_take_the_hint_does_nothing_more(
    kind: str, tmp_path: Path
) -> None:
    async def agent(turn: Turn, world: World) -> Any:
        try:
            await turn.cancel("Enough.")
        except asyncio.CancelledError:
            await turn.step(world.effect, "too late")

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.outcome == "cancelled"
        assert world.effects == []


async def test_a_step_cancels_no_turn_and_a_reason_is_a_text(kind: str, tmp_path: Path) -> None:
    async def agent(turn: Turn, world: World) -> Any:
        async def step() -> None:
            with pytest.raises(NestedCall, match="inside a recorded step"):
                await turn.cancel("Enough.")

        await turn.step(step)
        for reason in ("", None):
            with pytest.raises(TypeError, match=r"turn\.cancel takes a reason"):
                await turn.cancel(reason)  # type: ignore[arg-type]  # that is the point
        return "went on"

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.last["result"] == "went on"
