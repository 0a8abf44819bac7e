"""Calls in tasks that the agent lets go of: an approval is not passed over in silence."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from sayso import Turn
from tests.turns.driver import Conversation, World
from tests.turns.endings import endings


@pytest.mark.parametrize("first", ["call", "step", "question"])
async def test_an_approved_call_whose_task_is_cancelled_is_made_and_the_turn_told(
    kind: str, tmp_path: Path, first: str
) -> None:
    """Design 3, rules 2 and 4: the task has begun on replay too, however quick the records come.

    It had been cancelled there before it began: the approval was passed over, the turn asked on,
    ran what came next, and then did not fit its journal.
    """

    async def agent(turn: Turn, world: World) -> Any:
        beside = asyncio.create_task(turn.call(world.tools.gated, n=1))
        if first == "call":
            await turn.call(world.tools.free)
        elif first == "step":
            await turn.step(world.effect, "free 0")
        else:
            await turn.interrupt("confirmation", "Sure?")
        beside.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await beside
        return (await turn.call(world.tools.gated, n=2)).status

    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert "Approve gated(n=1)?" in talk.asked
        run = await talk.answer_all(lambda _: {"approved": True})
        assert run.outcome == "cancelled_call", run.last
        assert world.effects == (["gated 1"] if first == "question" else ["free 0", "gated 1"])
