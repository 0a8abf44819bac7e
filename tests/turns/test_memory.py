"""What turns leave behind in a process."""

import gc
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
