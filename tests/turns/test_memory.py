"""What turns leave behind in a process."""

import gc
import weakref
from pathlib import Path
from typing import Any

from sayso import ToolCall, Turn
from sayso.turns.replay.execution import Execution
from tests.turns.driver import Conversation, World
from tests.turns.endings import endings


def executions() -> list[Execution]:
    """All that are alive."""
    return [one for one in gc.get_objects() if type(one) is Execution]


async def test_a_turn_that_waits_or_has_ended_is_gone_without_the_cycle_collector(
    kind: str, tmp_path: Path
) -> None:
    """Nothing of it keeps itself alive: a busy server would spend a tenth of its time on that."""

    async def agent(turn: Turn, world: World) -> Any:
        await turn.call_all([ToolCall(world.tools.gated, {"n": n}) for n in (1, 2)])
        await turn.say("done")

    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        gc.collect()
        before = executions()  # a test before this one may have logged an error that holds its own
        gc.disable()
        try:
            await talk.say()
            asked = talk.client.model.pending
            await talk.send([talk.entry(item["id"], {"approved": True}) for item in asked])
            assert len(world.effects) == 2
            assert not [one for one in executions() if one not in before]
        finally:
            gc.enable()


class Desk:
    """What a turn may make for itself, with a method that is a step of it."""

    async def look_up(self) -> int:
        return 17


async def test_what_a_turn_made_for_its_steps_is_gone_after_it(kind: str, tmp_path: Path) -> None:
    """The types of a step are kept for the next one, its function and what that holds are not."""
    desks: list[weakref.ref[Desk]] = []

    async def agent(turn: Turn) -> Any:
        desk = Desk()
        desks.append(weakref.ref(desk))

        async def again() -> int:
            return await desk.look_up()

        return [await turn.step(desk.look_up), await turn.step(again)]

    async with World.of(kind, tmp_path, lambda turn, world: agent(turn)) as world:
        run = await Conversation(world).say()
        assert run.last["result"] == [17, 17]
        gc.collect()
        assert [desk() for desk in desks] == [None]
