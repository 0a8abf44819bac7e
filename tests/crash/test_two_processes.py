"""Two processes on one store, at the same moment (rules section 16; cases B1, Q1 to Q3)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sayso import Turn
from tests.contract.requirements import requirement
from tests.contract.server import Client
from tests.contract.wire import Run
from tests.turns.driver import Conversation, Process, World, ticks
from tests.turns.endings import endings

ROUNDS = 20
WELL = ("success", "interrupt")


async def gated(turn: Turn, world: World) -> Any:
    """One gated call between two steps."""
    await turn.step(world.effect, "before")
    call = await turn.call(world.tools.gated, n=1)
    await turn.step(world.effect, "after")
    return call.status


async def at_once(world: World, *bodies: tuple[Process, Client, dict[str, Any]]) -> list[Run]:
    """Send requests to processes, all claims standing at one barrier."""
    holds = [process.window.hold("claim") for process in {p for p, _, _ in bodies}]
    exchanges = []
    for process, client, body in bodies:
        client.app = process.app
        exchanges.append(client.open(body))
    for hold in holds:
        await hold.reached()
    await ticks(3)
    for hold in holds:
        hold.release()
    return [await exchange.end() for exchange in exchanges]


async def until_both_have_ended(
    world: World, talk: Conversation, runs: "asyncio.Future[Any]"
) -> None:
    """Let time pass only once the holder is done: a slow machine must not cost it its lease.

    The one that did not get the thread looks at it by the clock.
    """
    while not runs.done():
        view = await world.store.load("default", talk.thread)
        if view is not None and view.thread.holder is None:
            await world.clock.advance(0.5)
        await asyncio.sleep(0.001)


def of(talk: Conversation, entry: dict[str, Any], **members: Any) -> dict[str, Any]:
    return talk.client.body(messages=[], resume=[entry], **members)


@requirement("ID-07")
@pytest.mark.parametrize("kind", ["sqlite", "memory"])
async def test_the_same_answer_on_both_runs_the_tool_once(kind: str, tmp_path: Path) -> None:
    """Q2, Q3: twenty rounds; both streams end well, with the same result."""
    async with World.of(kind, tmp_path, gated, endings) as world:
        first = world.process
        second = await world.begin()
        for _ in range(ROUNDS):
            world.effects.clear()
            talk = Conversation(world)
            await talk.say()
            (item,) = talk.client.model.pending
            entry = talk.entry(item["id"], {"approved": True})
            runs = asyncio.ensure_future(
                at_once(
                    world,
                    (first, talk.client.again(), of(talk, entry)),
                    (second, talk.client.again(), of(talk, entry)),
                )
            )
            await until_both_have_ended(world, talk, runs)
            assert [run.outcome for run in runs.result()] == ["success", "success"]
            assert world.effects == ["before", "gated 1", "after"]
            results = [run.last.get("result", "executed") for run in runs.result()]
            assert results == ["executed", "executed"]


@requirement("ID-06", "ID-07")
@pytest.mark.parametrize("kind", ["sqlite", "memory"])
async def test_of_different_answers_on_both_one_wins(kind: str, tmp_path: Path) -> None:
    """Q1: the tool ran or not, in line with the winner; the loser is told."""
    winners = set()
    async with World.of(kind, tmp_path, gated, endings) as world:
        first = world.process
        second = await world.begin()
        for number in range(ROUNDS):
            world.effects.clear()
            talk = Conversation(world)
            await talk.say()
            (item,) = talk.client.model.pending
            yes = talk.entry(item["id"], {"approved": True})
            no = talk.entry(item["id"], {"approved": False})
            pair = [
                (first, talk.client.again(), of(talk, yes)),
                (second, talk.client.again(), of(talk, no)),
            ]
            if number % 2:
                pair.reverse()
            runs = await at_once(world, *pair)
            outcomes = [run.outcome for run in runs]
            assert outcomes.count("success") == 1
            assert set(outcomes) <= {"success", "already_resolved", "thread_busy"}
            approved = outcomes.index("success") == (1 if number % 2 else 0)
            winners.add(approved)
            ran = ["before", "gated 1", "after"] if approved else ["before", "after"]
            assert world.effects == ran
            view = await world.view(talk.thread)
            assert view.interrupts[0].payload == (
                b'{"approved":true}' if approved else b'{"approved":false}'
            )


@pytest.mark.parametrize("kind", ["sqlite", "memory"])
async def test_one_message_that_both_get_begins_one_turn(kind: str, tmp_path: Path) -> None:
    """A retried POST never runs a turn twice, wherever it lands."""

    async def agent(turn: Turn, world: World) -> Any:
        return await turn.step(world.effect, "ran")

    async with World.of(kind, tmp_path, agent) as world:
        first = world.process
        second = await world.begin()
        for _ in range(ROUNDS):
            world.effects.clear()
            talk = Conversation(world)
            body = talk.client.body(messages=[talk.client.user("go")])
            runs = asyncio.ensure_future(
                at_once(
                    world,
                    (first, talk.client.again(), body),
                    (second, talk.client.again(), body),
                )
            )
            await until_both_have_ended(world, talk, runs)
            assert [run.outcome for run in runs.result()] == ["success", "success"]
            assert world.effects == ["ran"]


@pytest.mark.parametrize("kind", ["sqlite", "memory"])
async def test_two_takers_of_one_dead_process_do_not_both_run(kind: str, tmp_path: Path) -> None:
    """Design 6: both sweepers see it; the claim decides."""

    async def agent(turn: Turn, world: World) -> Any:
        await turn.step.options(idempotent=True)(world.effect, "one")
        await turn.step.options(name="two")(world.effect, "two")
        return "end"

    async with World.of(kind, tmp_path, agent) as world:
        for _ in range(5):
            world.effects.clear()
            dead = world.process
            await world.begin()
            await world.begin()
            talk = Conversation(world)
            talk.client.app = dead.app
            dead.window.fail("commit", n=2, hook=dead.window.disconnect)
            talk.client.user("go")
            await talk.client.open().end()
            await dead.die()
            await world.at_rest(talk.thread)
            run = await talk.connect()
            assert run.outcome == "success"
            assert world.effects.count("two") == 1


@requirement("ID-01", "ID-04")
async def test_an_answer_whose_turn_failed_afterwards_is_taken_again(
    kind: str, tmp_path: Path
) -> None:
    """B1: the tool ran, the model failed; the same resume goes on from there; one tool call."""
    failing = [True, True]

    async def model(world: World) -> str:
        world.effects.append("model")
        if failing:
            failing.pop()
            raise OSError("the model is down")
        return "fine"

    async def agent(turn: Turn, world: World) -> Any:
        await turn.say("Asking.")
        call = await turn.call(world.tools.gated, n=1)
        text = await turn.step.options(name="model", idempotent=True)(lambda: model(world))
        await turn.say(text)
        return call.status

    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        await talk.say()
        entry = talk.entry(talk.client.model.pending[0]["id"], {"approved": True})
        for _ in range(2):
            run = await talk.send([entry])
            assert run.outcome == "agent_error"
            await talk.restart()
        run = await talk.send([entry])
        assert run.last["result"] == "executed"
        assert world.effects == ["gated 1", "model", "model", "model"]
        run = await talk.send([entry])
        assert run.outcome == "success"
        assert world.effects.count("gated 1") == 1
        history = (await talk.connect()).snapshot
        assert [m["role"] for m in history] == ["user", "assistant", "tool", "assistant"]
        assert talk.texts == ["Asking.", "fine"]


async def test_an_error_of_plain_code_after_the_tool_is_retried_too(
    kind: str, tmp_path: Path
) -> None:
    """B1, with a model that is no step."""
    failing = [True]

    async def agent(turn: Turn, world: World) -> Any:
        call = await turn.call(world.tools.gated, n=1)
        if failing:
            failing.pop()
            raise OSError("the model is down")
        return call.status

    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        await talk.say()
        entry = talk.entry(talk.client.model.pending[0]["id"], {"approved": True})
        assert (await talk.send([entry])).outcome == "agent_error"
        run = await talk.send([entry])
        assert run.last["result"] == "executed"
        assert world.effects == ["gated 1"]
