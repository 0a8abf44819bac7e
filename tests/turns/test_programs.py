"""Live equals replay: random programs, torn apart at random, end as if nothing had happened."""

import asyncio
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from sayso import Turn
from tests.contract.frontend import OFFERED
from tests.contract.requirements import requirement
from tests.contract.wire import Run
from tests.share import share
from tests.turns.driver import Conversation, World
from tests.turns.programs import Program, programs, run, tools

EXAMPLES = share(20, of=2)


async def lived(kind: str, program: Program, seed: int | None) -> tuple[Any, ...]:
    """Run a program to its end; with a seed, processes stop and die at random on the way."""
    chance = random.Random(seed)  # noqa: S311 - which deaths, not secrets
    values: list[Any] = []

    async def agent(turn: Turn, world: World) -> Any:
        value = await run(program, turn, world)
        values.append(value)
        return value

    with tempfile.TemporaryDirectory() as folder:
        async with World.of(kind, Path(folder), agent, tools) as world:
            talk = Conversation(world)
            if seed is not None:
                arm(world, chance)
            answered = await talk.say(tools=OFFERED)
            for _ in range(60):
                if world.process.window.dead:
                    answered = await revived(world, talk)
                    arm(world, chance)
                elif answered.outcome == "interrupt" or left(talk):
                    if seed is not None and chance.random() < 0.5:
                        await talk.restart()
                        arm(world, chance)
                    picks(talk)
                    answered = await talk.send(decided(talk, world))
                elif not await begun(world, talk):
                    answered = await talk.client.run(tools=OFFERED)
                else:
                    break
            assert answered.outcome == "success", answered.last
            world.process.window.restore()
            history = (await talk.connect()).snapshot
            assert len({m["id"] for m in history}) == len(history)
            return (
                values[-1],
                Counter(map(str, world.effects)),
                sorted(texts(history)),
                talk.client.model.state,
            )


def arm(world: World, chance: random.Random) -> None:
    """Maybe let the process that serves die at one of its next writes."""
    window = world.process.window
    if chance.random() < 0.7:
        when = "before" if chance.random() < 0.5 else "after"
        window.fail("commit", n=chance.randint(1, 6), when=when, hook=window.disconnect)  # type: ignore[arg-type]


async def begun(world: World, talk: Conversation) -> bool:
    return await world.store.load("default", talk.thread) is not None


async def revived(world: World, talk: Conversation) -> Run:
    return await talk.recover()


def left(talk: Conversation) -> list[dict[str, Any]]:
    """The calls that wait for this person's page, as any client derives them."""
    answered = {message.get("toolCallId") for message in talk.history}
    calls = [call for message in talk.history for call in message.get("toolCalls", ())]
    return [c for c in calls if c["function"]["name"] == "pick" and c["id"] not in answered]


def picks(talk: Conversation) -> None:
    """The page runs its tool; what came of it goes with the next request."""
    for call in left(talk):
        message = {"id": f"t-{call['id']}", "role": "tool", "toolCallId": call["id"]}
        talk.history.append({**message, "content": f"picked {call['function']['arguments']}"})


def decided(talk: Conversation, world: World) -> list[dict[str, Any]]:
    """Answers of a person who knows the world."""
    return [talk.entry(item["id"], answer(item, world)) for item in talk.client.model.pending]


def answer(item: dict[str, Any], world: World) -> Any:
    if item["reason"] == "tool_call":
        return {"approved": len(item["metadata"]["sayso"]["arguments"]["name"]) % 4 != 0}
    if item["reason"] != "sayso:indeterminate":
        return f"yes-{item['message']}"
    shown = item["metadata"]["sayso"]
    name = shown.get("arguments", {}).get("name", shown["name"])
    if name in world.effects and name != "str":
        return {"action": "skip", "result": name}
    return {"action": "run_again"}


def texts(history: list[dict[str, Any]]) -> list[str]:
    """What the history says; not what was asked only because a server died."""
    found = []
    for message in history:
        content = message.get("content", "")
        if message.get("activityType") == "sayso:settled":
            if content["reason"] == "sayso:indeterminate":
                continue
            content = f"{content['question']} {content['said']}"
        found.append(f"{message['role']}: {content}")
        found += [call["function"]["arguments"] for call in message.get("toolCalls", ())]
    return found


def unfailing(program: Program) -> bool:
    """A step that failed and is then unsure cannot be skipped as a failure: the schema has none."""
    return program.kind != "fails" and all(map(unfailing, program.parts))


@requirement("SB-03")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_program_that_was_torn_apart_ends_as_if_nothing_had_happened(kind: str) -> None:
    """Design 3, rule 4: same values, same effects, same history, same state."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
    )
    @given(program=programs().filter(unfailing), seed=st.integers(0, 10_000))
    def holds(program: Program, seed: int) -> None:
        note(f"{program} torn by {seed}")

        async def both() -> None:
            expected = await lived(kind, program, None)
            assert await lived(kind, program, seed) == expected

        asyncio.run(both())

    holds()


@pytest.mark.parametrize("kind", ["memory"])
def test_failed_steps_stay_failed_over_restarts(kind: str) -> None:
    """The same with steps that raise, and with processes that stop in order."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
    )
    @given(program=programs())
    def holds(program: Program) -> None:
        note(str(program))

        async def both() -> None:
            expected = await lived(kind, program, None)
            assert expected[1] == Counter(dict.fromkeys(expected[1], 1))

        asyncio.run(both())

    holds()
