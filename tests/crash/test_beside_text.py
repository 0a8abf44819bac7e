"""Thoughts, activities and usage of turns whose process died: nothing twice, nothing lost."""

import asyncio
from pathlib import Path
from typing import Any

from sayso import Turn
from tests.contract.requirements import requirement
from tests.turns.driver import Conversation, World, until


@requirement("AC-01", "US-05")
async def test_what_was_recorded_is_not_shown_or_counted_again(kind: str, tmp_path: Path) -> None:
    """Writes of an activity and model calls from before the crash come out of the journal."""
    stop, go_on = asyncio.Event(), asyncio.Event()

    async def agent(turn: Turn, world: World) -> Any:
        plan = await turn.activity("PLAN", {"n": 0})
        await plan.set({"n": 1})
        await turn.usage("acme", "large", input_tokens=10)
        await turn.custom("shop:once", 1)
        await turn.step(world.effect, "one")
        world.effects.append("entered")
        await (go_on if world.effects.count("entered") > 1 else stop).wait()
        await plan.patch([{"op": "add", "path": "/m", "value": 2}])
        await turn.usage("acme", "large", input_tokens=5)
        return "end"

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        talk.client.user("go")
        first = talk.client.open()
        await until(lambda: "entered" in world.effects)
        await world.crash()
        await first.disconnect()
        while world.effects.count("entered") < 2:
            await world.elapse(1)
        talk._to_present()
        body = talk.client.body(messages=[], state={})
        second = talk.client.open(body, action="/connect")
        await second.until("MESSAGES_SNAPSHOT")
        go_on.set()
        run = (await second.end()).judged(body["threadId"], body["runId"])
        talk.client.model.take(run.events)
        assert world.effects == ["one", "entered", "entered"]
        assert run.of("CUSTOM") == []
        assert [e["type"] for e in run.of("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")] == [
            "ACTIVITY_SNAPSHOT"
        ]
        assert [m["content"] for m in talk.history if m["role"] == "activity"] == [{"n": 1, "m": 2}]
        assert run.last["usage"] == [{"provider": "acme", "model": "large", "inputTokens": 15}]


@requirement("LC-12", "LC-20", "RS-01")
async def test_a_thought_that_was_cut_is_thought_again_under_another_id(
    kind: str, tmp_path: Path
) -> None:
    """MS-02: a client keeps the cut one, to which a second under its id would be appended."""
    stop = asyncio.Event()

    async def agent(turn: Turn, world: World) -> Any:
        await turn.step(world.effect, "one")
        world.effects.append("entered")
        async with turn.reasoning() as thought:
            await thought.write("Cut ")
            if world.effects.count("entered") == 1:
                await stop.wait()
            await thought.write("here.")
        return "end"

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        talk.client.user("go")
        first = talk.client.open()
        await first.when(lambda events: any(e.get("delta") == "Cut " for e in events))
        talk.client.model.take(first.events)
        await world.crash()
        await first.disconnect()
        await world.at_rest(talk.thread)
        await talk.connect()
        thoughts = [m for m in talk.history if m["role"] == "reasoning"]
        assert [m["content"] for m in thoughts] == ["Cut here."]
        cut = [e["messageId"] for e in first.events if e["type"] == "REASONING_START"]
        assert thoughts[0]["id"] not in cut
