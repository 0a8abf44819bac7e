"""Edits and copies of a thread while another process resumes it (cases L, Q; design 3, 5)."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sayso import Turn
from tests.contract.rest import call
from tests.contract.wire import Run
from tests.turns.driver import Conversation, Process, World, ticks
from tests.turns.endings import endings

ROUNDS = 15
KINDS = ("sqlite", "memory")


async def pricing(turn: Turn, world: World) -> Any:
    """Sets a price, asks, and charges it once."""
    await turn.step(world.effect, "looked")
    await turn.set("/price", 1)
    await turn.call(world.tools.gated, n=1)
    price = turn.state["price"]
    await turn.step(world.effect, f"charged {price}")
    return price


async def patch(process: Process, talk: Conversation, values: Any) -> Run:
    return await call(process.app, "PATCH", f"/threads/{talk.thread}/state", {"values": values})


async def fork(process: Process, talk: Conversation, interrupt_id: str) -> Run:
    body = {"interruptId": interrupt_id}
    return await call(process.app, "POST", f"/threads/{talk.thread}/fork", body)


async def resumed(process: Process, talk: Conversation) -> Run:
    """Approve what the page shows, at that process."""
    talk.client.app = process.app
    (item,) = talk.client.model.pending
    return await talk.client.run(resume=[talk.entry(item["id"], {"approved": True})])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", ["update_idle", "claim"])
async def test_an_edit_that_races_a_resume_counts_whole_or_is_refused(
    kind: str, tmp_path: Path, first: str
) -> None:
    """Design 3 rule 8: both stand before their write; who comes second sees what was written."""
    async with World.of(kind, tmp_path, pricing, endings) as world:
        here, there = world.process, await world.begin()
        for _ in range(ROUNDS):
            world.effects.clear()
            talk = Conversation(world)
            await talk.say()
            holds = {
                "update_idle": there.window.hold("update_idle"),
                "claim": here.window.hold("claim"),
            }
            both = asyncio.gather(patch(there, talk, {"price": 7}), resumed(here, talk))
            for hold in holds.values():
                await hold.reached()
            holds.pop(first).release()
            await ticks(5)
            for hold in holds.values():
                hold.release()
            edited, run = await both
            assert run.outcome == "success"
            assert edited.status in (200, 409)
            price = 7 if edited.status == 200 else 1
            if edited.status == 409:
                assert edited.problem["code"] in ("thread_busy", "not_waiting")
            assert run.last["result"] == price
            assert world.effects == ["looked", "gated 1", f"charged {price}"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_copy_that_races_a_resume_is_whole(kind: str, tmp_path: Path) -> None:
    """Design 5: the copy waits as the thread did; nothing that was done is done again in it."""
    async with World.of(kind, tmp_path, pricing, endings) as world:
        here, there = world.process, await world.begin()
        for number in range(ROUNDS):
            world.effects.clear()
            talk = Conversation(world)
            await talk.say()
            (item,) = talk.client.model.pending
            hold = there.window.hold("journal", when="after" if number % 2 else "before")
            copying = asyncio.ensure_future(fork(there, talk, item["id"]))
            await hold.reached()
            running = asyncio.ensure_future(resumed(here, talk))
            await (asyncio.wait({running}) if number % 3 == 0 else ticks(number))
            hold.release()
            made, run = await asyncio.gather(copying, running)
            assert run.last["result"] == 1
            if made.status != 201:
                assert made.problem["code"] in ("journal_gone", "thread_busy")
                continue
            copy = Conversation(world, thread=made.json["threadId"])
            await copy.connect()
            (asked,) = copy.client.model.pending
            again = await copy.answer({asked["id"]: {"approved": False}})
            assert again.last["result"] == 1
            assert Counter(world.effects) == {"looked": 1, "gated 1": 1, "charged 1": 2}


@pytest.mark.parametrize("kind", KINDS)
async def test_edits_by_two_processes_all_count(kind: str, tmp_path: Path) -> None:
    """Q3: merge patches of different members do not lose one another."""
    async with World.of(kind, tmp_path, pricing, endings) as world:
        processes = [world.process, await world.begin()]
        talk = Conversation(world)
        await talk.say()
        runs = await asyncio.gather(
            *(patch(processes[n % 2], talk, {f"m{n}": n}) for n in range(8))
        )
        taken = [n for n, run in enumerate(runs) if run.status == 200]
        assert taken, [run.body for run in runs]
        view = await world.view(talk.thread)
        assert json.loads(view.thread.state) == {"price": 1} | {f"m{n}": n for n in taken}
        edits = [e for e in await world.journal(talk.thread) if e.kind == "edit"]
        assert len(edits) == len(taken)
        assert len({edit.place for edit in edits}) == len(edits)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_edit_survives_a_crash_of_the_resume_that_follows(
    kind: str, tmp_path: Path
) -> None:
    """L7: a process dies between claim and charge; who takes over has the edited state."""
    async with World.of(kind, tmp_path, pricing, endings) as world:
        talk = Conversation(world)
        await talk.say()
        assert (await patch(world.process, talk, {"price": 3})).status == 200
        (item,) = talk.client.model.pending
        world.process.window.fail("claim", when="after", hook=world.process.window.disconnect)
        await talk.client.open(
            talk.client.body(resume=[talk.entry(item["id"], {"approved": True})])
        ).end()
        assert (await talk.recover()).outcome == "success"
        assert world.effects == ["looked", "gated 1", "charged 3"]
