"""Processes that lose a thread while they live, and those that take it over (design 6)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sayso import Turn
from sayso.streams.ending import Ending
from tests.contract.requirements import requirement
from tests.patience import PATIENCE
from tests.turns.driver import LEASE, Conversation, World, ticks, until


async def test_a_holder_whose_lease_ran_out_records_nothing_more(kind: str, tmp_path: Path) -> None:
    """Design 6: its effect in flight is unsure for the new holder; its own record is refused."""
    go_on = asyncio.Event()

    async def slow(world: World) -> str:
        world.effect("slow")
        if len(world.effects) == 1:
            await go_on.wait()
        return "late"

    async def agent(turn: Turn, world: World) -> Any:
        found = await turn.step.options(name="slow")(lambda: slow(world))
        world.effect("after")
        return found

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        talk.client.user("go")
        first = talk.client.open()
        await first.until("RUN_STARTED")
        await until(lambda: bool(world.effects))
        world.process.forget_leases()
        await world.begin()
        await world.at_rest(talk.thread)
        run = await talk.connect()
        assert run.interrupts[0]["reason"] == "sayso:indeterminate"
        go_on.set()
        lost = await first.end()
        assert lost.outcome == "lease_lost"
        await ticks(20)
        assert world.effects == ["slow"]
        run = await talk.answer_all(lambda _: {"action": "skip", "result": "known"})
        assert run.last["result"] == "known"
        assert world.effects == ["slow", "after"]


async def test_no_effect_begins_once_the_lease_has_run_out(kind: str, tmp_path: Path) -> None:
    """Design 6: the local deadline is checked right before each effect."""

    async def agent(turn: Turn, world: World) -> Any:
        await turn.say("Wait.")
        await world.clock.advance(LEASE + 1)
        return await turn.step.options(idempotent=True)(world.effect, "too late")

    async with World.of(kind, tmp_path, agent) as world:
        world.process.forget_leases()
        talk = Conversation(world)
        run = await talk.say()
        assert run.outcome == "lease_lost"
        assert world.effects == []


@pytest.mark.parametrize("lease", [2.0, 60.0])
async def test_a_thread_is_held_for_as_long_as_the_option_says(
    lease: float, tmp_path: Path
) -> None:
    """Design 6: not taken over before, and soon after; renewed often enough while it lives."""
    stop = asyncio.Event()

    async def agent(turn: Turn, world: World) -> Any:
        world.effect("entered")
        if len(world.effects) == 1:
            await stop.wait()

    async with World.of("memory", tmp_path, agent, lease=lease) as world:
        talk = Conversation(world)
        talk.client.user("go")
        exchange = talk.client.open()
        await until(lambda: bool(world.effects))
        await world.begin()
        await world.elapse(round(3 * lease))
        assert world.effects == ["entered"]
        world.processes[0].forget_leases()
        await world.elapse(round(0.6 * lease))
        assert world.effects == ["entered"]
        await world.elapse(round(0.4 * lease) + 2)
        assert world.effects == ["entered", "entered"]
        stop.set()
        await exchange.end()


async def test_a_lease_that_runs_out_while_a_start_is_recorded_stops_the_effect(
    kind: str, tmp_path: Path
) -> None:
    """The check comes after the write, in the last instant: it is unsure, and did not run."""

    async def agent(turn: Turn, world: World) -> Any:
        return await turn.step.options(name="charge")(world.effect, "charged")

    async with World.of(kind, tmp_path, agent) as world:
        window = world.process.window
        world.process.forget_leases()
        window.fail(
            "commit",
            when="after",
            match=lambda c: any(e.status == "started" for e in c.entries),
            hook=lambda: world.clock.advance(LEASE + 1),
        )
        talk = Conversation(world)
        run = await talk.say()
        assert run.outcome == "lease_lost"
        assert world.effects == []
        await world.at_rest(talk.thread)
        run = await talk.connect()
        assert run.interrupts[0]["reason"] == "sayso:indeterminate"


async def test_whoever_comes_too_late_to_take_over_leaves_the_thread_alone(
    kind: str, tmp_path: Path
) -> None:
    """Design 6: it found a dead server's thread, which waits for an answer once it looks closer."""

    async def agent(turn: Turn, world: World) -> Any:
        world.effect("entered")
        if len(world.effects) == 1:
            await asyncio.Event().wait()
        return await turn.interrupt("confirmation", "Sure?")

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        talk.client.user("go")
        first = talk.client.open()
        await until(lambda: bool(world.effects))
        await world.process.die()
        late = await world.begin()
        looking = late.window.hold("load")
        found = asyncio.ensure_future(looking.reached())
        async with asyncio.timeout(PATIENCE):
            while not found.done():
                await world.elapse(1)
        await world.begin()
        waits = (await world.at_rest(talk.thread)).thread
        claiming = late.window.hold("claim", when="after")  # an answer would meet it here
        looking.release()
        await world.elapse(3)
        now = await world.view(talk.thread)
        assert (now.thread.holder, now.thread.fence) == (None, waits.fence)
        claiming.release()
        run = await talk.connect()
        assert [one["message"] for one in run.interrupts] == ["Sure?"]
        await first.end()


@requirement("LC-12", "LC-20")
async def test_a_reader_that_follows_a_dead_run_is_carried_over(kind: str, tmp_path: Path) -> None:
    """Design 3, rule 6: a snapshot without the cut message, then the message from its start."""
    stop = asyncio.Event()

    async def agent(turn: Turn, world: World) -> Any:
        await turn.say("Durable.")
        await turn.step(world.effect, "one")
        world.effects.append("entered")
        async with turn.message() as message:
            await message.write("Cut ")
            if world.effects.count("entered") == 1:
                await stop.wait()
            await message.write("here.")
        return "end"

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        talk.client.user("go")
        first = talk.client.open()
        await first.when(lambda events: any(e.get("delta") == "Cut " for e in events))
        await world.process.die()
        await world.begin()
        talk.client.app = world.app
        reader = talk.client.again()
        following = reader.open(reader.body(messages=[], state={}), action="/connect")
        await following.until("MESSAGES_SNAPSHOT")
        await world.at_rest(talk.thread)
        run = await following.end()
        reader.model.take(run.events)
        assert run.outcome == "success"
        assert run.last["result"] == "end"
        texts = [m["content"] for m in reader.model.messages if m["role"] == "assistant"]
        assert texts == ["Durable.", "Cut here."]
        assert world.effects == ["one", "entered", "entered"]
        assert (await talk.connect()).snapshot == reader.model.messages
        stop.set()
        await first.end()


@requirement("ER-13")
async def test_a_reader_elsewhere_sees_what_is_recorded_while_the_run_goes_on(
    kind: str, tmp_path: Path
) -> None:
    """N4, L1: a look every half second, a snapshot if there is something new, and the end."""
    go_on = [asyncio.Event(), asyncio.Event()]

    async def agent(turn: Turn, world: World) -> Any:
        for n, event in enumerate(go_on):
            await turn.say(f"Part {n}.")
            await turn.step.options(name=f"step {n}")(world.effect, n)
            await event.wait()
        return "end"

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        talk.client.user("go")
        first = talk.client.open()
        await until(lambda: world.effects == [0])
        await world.begin()
        reader = talk.client.again(app=world.app)
        body = reader.body(messages=[], state={}, runId="watch")
        following = reader.open(body, action="/connect")
        await following.until("MESSAGES_SNAPSHOT")
        await world.elapse(2)
        before = len(following.events)
        await world.elapse(2)
        assert len(following.events) == before, "nothing new is nothing to send"
        go_on[0].set()
        await until(lambda: world.effects == [0, 1])
        async with asyncio.timeout(PATIENCE):
            while "Part 1." not in str(following.events[before:]):
                await world.elapse(1)
        assert "RUN_FINISHED" not in str(following.events)
        go_on[1].set()
        await first.end()
        async with asyncio.timeout(PATIENCE):
            while not following.ended:
                await world.elapse(1)
        run = (await following.end()).judged(talk.thread, "watch")
        assert run.outcome == "success"
        reader.model.take(run.events)
        texts = [m["content"] for m in reader.model.messages if m["role"] == "assistant"]
        assert texts == ["Part 0.", "Part 1."]


async def test_a_shutdown_leaves_the_turn_to_another_process(kind: str, tmp_path: Path) -> None:
    """Readers are told, the agent's tasks end, another process goes on from the last record."""
    ended: list[str] = []
    waiting = asyncio.Event()

    async def agent(turn: Turn, world: World) -> Any:
        await turn.step(world.effect, "one")
        if not ended:
            try:
                waiting.set()
                await asyncio.Event().wait()
            finally:
                ended.append("cancelled")
        return await turn.step(world.effect, "two")

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        talk.client.user("go")
        first = talk.client.open()
        await until(waiting.is_set)
        await world.process.stop(grace=0.01)
        assert (await first.end()).outcome == "shutting_down"
        assert ended == ["cancelled"]
        await world.begin()
        await world.at_rest(talk.thread)
        run = await talk.connect()
        assert run.outcome == "success"
        assert world.effects == ["one", "two"]


async def test_what_is_claimed_while_a_server_ends_runs_elsewhere(
    kind: str, tmp_path: Path
) -> None:
    """Design 6: its threads and its pool are gone by then; the claim holds, and is taken over."""

    async def agent(turn: Turn, world: World) -> Any:
        return await turn.step(world.effect, "one", 1)

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        talk.client.user("go")
        claim = world.process.window.hold("claim", when="after")
        first = talk.client.open()
        await claim.reached()
        ending = asyncio.create_task(world.process.stop(grace=0.01))
        await until(lambda: not world.process.app._engine._keeper.tracks)
        claim.release()
        assert (await first.end()).status == 503
        await ending
        assert world.effects == []
        await world.begin()
        await world.at_rest(talk.thread)
        assert (await talk.connect()).outcome == "success"
        assert world.effects == ["one"]


async def test_what_is_claimed_after_the_last_run_was_ended_runs_elsewhere(
    kind: str, tmp_path: Path
) -> None:
    """Design 6: nobody is left to wait for it; its reader is told, and its thread let go."""

    async def agent(turn: Turn, world: World) -> Any:
        return await turn.step(world.effect, "one", 1)

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        talk.client.user("go")
        claim = world.process.window.hold("claim", when="after")
        first = talk.client.open()
        await claim.reached()
        ending = Ending(
            type="error", code="shutting_down", message="It ends.", continues_elsewhere=True
        )
        await world.process.app._engine._live.close(0.01, ending)
        claim.release()
        assert (await first.end()).outcome == "shutting_down"
        await world.process.stop(grace=0.01)
        assert world.effects == []
        await world.begin()
        await world.at_rest(talk.thread)
        assert world.effects == ["one"]


@pytest.mark.parametrize("times", [1, 3])
async def test_a_store_that_fails_for_a_while_costs_nothing(
    kind: str, tmp_path: Path, times: int
) -> None:
    """A record that could not be written is made by whoever takes over, maybe this process."""

    async def agent(turn: Turn, world: World) -> Any:
        await turn.say("Hello.")
        await turn.step.options(idempotent=True)(world.effect, "one")
        return "end"

    async with World.of(kind, tmp_path, agent) as world:
        world.process.window.fail("commit", times=times)
        talk = Conversation(world)
        run = await talk.say()
        assert run.outcome == "store_unavailable"
        await world.at_rest(talk.thread, seconds=12 * LEASE)
        run = await talk.connect()
        assert run.outcome == "success"
        assert talk.texts == ["Hello."]
        assert set(world.effects) == {"one"}
