"""Code that waits for what is no work of the turn, such as a queue (design 3, rule 1)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sayso import Turn
from tests.turns.driver import Conversation, World, ticks


@pytest.fixture(autouse=True)
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for the idle second of a branch waits for ever."""
    monkeypatch.setattr("sayso.turns.replay.quiescence.IDLE_S", 3600)


async def ask(turn: Turn, message: str) -> Any:
    return (await turn.interrupt("input_required", message, schema=str)).value


async def test_a_turn_comes_to_rest_while_its_code_rests(kind: str, tmp_path: Path) -> None:
    """Also code of an inner agent, which the agent itself waits for."""

    async def inner(turn: Turn) -> Any:
        queue: asyncio.Queue[Any] = asyncio.Queue()

        async def asking() -> None:
            queue.put_nowait(await ask(turn, "Which?"))

        task = asyncio.create_task(asking())
        try:
            return await turn.resting(queue.get())
        finally:
            task.cancel()

    async def agent(turn: Turn, world: World) -> Any:
        return await turn.delegate(inner)

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        assert talk.asked == ["Which?"]
        await talk.restart()
        run = await talk.answer({"Which?": "this"})
        assert run.last["result"] == "this"


async def test_code_that_has_rested_goes_on_when_a_task_of_its_own_asks(
    kind: str, tmp_path: Path
) -> None:
    """It does not wait for the task; what it does meanwhile is recorded."""

    async def agent(turn: Turn, world: World) -> Any:
        queue: asyncio.Queue[str] = asyncio.Queue()
        queue.put_nowait("begin")
        await turn.resting(queue.get())

        async def asking() -> None:
            async with turn.at("asks"):
                queue.put_nowait(await ask(turn, "Which?"))

        task = asyncio.create_task(asking())
        await asyncio.sleep(0)
        await turn.step(world.effect, "meanwhile")
        await turn.note("n", 1, durable=True)
        try:
            return [await turn.resting(queue.get()), len(turn.notes("n"))]
        finally:
            task.cancel()

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        assert (talk.asked, world.effects) == (["Which?"], ["meanwhile"])
        await talk.restart()
        run = await talk.answer({"Which?": "this"})
        assert run.last["result"] == ["this", 2]
        assert world.effects == ["meanwhile"]


async def test_code_that_waits_for_an_answer_itself_does_not_rest(
    kind: str, tmp_path: Path
) -> None:
    """Its `finally` is refused, and what it would await is closed."""

    async def agent(turn: Turn, world: World) -> Any:
        queue: asyncio.Queue[str] = asyncio.Queue()
        try:
            return await ask(turn, "Which?")
        finally:
            if not world.effects:
                await turn.resting(queue.get())

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        assert talk.asked == ["Which?"]
        world.effects.append("answered")
        run = await talk.answer({"Which?": "this"})
        assert run.last["result"] == "this"


async def test_effects_in_flight_are_waited_for_all_the_same(kind: str, tmp_path: Path) -> None:
    """Design 3, rule 1: what has begun ends and is recorded before the turn waits."""

    async def agent(turn: Turn, world: World) -> Any:
        queue: asyncio.Queue[str] = asyncio.Queue()

        async def asking() -> None:
            await ask(turn, "Which?")

        async def working() -> None:
            queue.put_nowait(await turn.step(world.slowly, "slow"))

        tasks = [asyncio.create_task(asking()), asyncio.create_task(working())]
        try:
            slow = await turn.resting(queue.get())
            await turn.note("slow", slow, durable=True)
            await turn.resting(asyncio.wait(tasks))
            return turn.notes("slow")
        finally:
            for task in tasks:
                task.cancel()

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        assert world.effects == ["slow"]
        notes = [e.name for e in await world.journal(talk.thread) if e.kind == "note"]
        run = await talk.answer({"Which?": "this"})
        assert world.effects == ["slow"]
        assert run.last["result"] == ["slow"] * (1 + len(notes))


async def test_outside_a_branch_it_only_waits(kind: str, tmp_path: Path) -> None:
    """A task that has called nothing is no branch, and a step rests nobody."""

    async def agent(turn: Turn, world: World) -> Any:
        async def quick() -> str:
            return "done"

        async def step() -> str:
            return await turn.resting(quick())

        return [
            await asyncio.create_task(turn.resting(quick())),
            await turn.resting(quick()),
            await turn.step(step),
        ]

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.last["result"] == ["done"] * 3


async def test_a_framework_is_not_told_that_a_part_pauses(kind: str, tmp_path: Path) -> None:
    """Parked around the part or in it: its task waits, and raises nothing."""

    async def agent(turn: Turn, world: World) -> Any:
        queue: asyncio.Queue[str] = asyncio.Queue()

        async def around() -> Any:
            async with turn.at("around"):
                return await ask(turn, "Around?")

        async def inside() -> Any:
            async with turn.at("inside"):
                return await turn.parked(ask(turn, "Inside?"))

        async def framework() -> None:
            queue.put_nowait("begin")
            try:
                answers = await asyncio.gather(turn.parked(around()), inside())
            except BaseException as error:
                world.effects.append(type(error).__name__ if len(world.effects) else "closed")
                raise
            queue.put_nowait(" ".join(answers))

        task = asyncio.create_task(framework())
        await turn.resting(queue.get())
        try:
            return await turn.resting(queue.get())
        finally:
            world.effects.append("pump")
            task.cancel()

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        assert talk.asked == ["Around?", "Inside?"]
        assert world.effects[0] == "pump"
        await talk.restart()
        run = await talk.answer({"Around?": "A", "Inside?": "I"})
        assert run.last["result"] == "A I"


async def test_nobody_is_left_behind_because_the_machine_was_busy(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its idle time may be over before it has had a core: it gets turns of the loop then."""
    monkeypatch.setattr("sayso.turns.replay.quiescence.IDLE_S", 0)

    async def agent(turn: Turn, world: World) -> Any:
        async def late() -> Any:
            await ticks(30)
            return await turn.step(world.effect, "late")

        return await turn.gather(late(), ask(turn, "Which?"))

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        assert (talk.asked, world.effects) == (["Which?"], ["late"])
        run = await talk.answer({"Which?": "this"})
        assert run.last["result"] == ["late", "this"]
        assert world.effects == ["late"]
