"""Steps that speak while they work: what they say makes none of them one that may run again."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import pytest

from sayso import Turn
from sayso.turns.replay.execution import Place
from tests.contract.requirements import requirement
from tests.turns.driver import Conversation, World, ticks


async def pieces(text: str) -> AsyncIterator[str]:
    """A text, as a model would say it."""
    for piece in text.partition(" "):
        yield piece
        await ticks(2)


async def charging(turn: Turn, world: World) -> Any:
    """A step that has an effect and then speaks in every way that there is."""

    async def charge() -> str:
        world.effect("charge")
        await turn.say("Charging.")
        async with turn.reasoning() as thought:
            async for piece in pieces("Will it do?"):
                await thought.write(piece)
        await turn.stream(pieces("It will."))
        return "charged"

    return await turn.step.options(name="charge")(charge)


SAID = {"Charging.", "Will it do?", "It will."}


@requirement("ID-04", "LC-20")
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_death_at_any_commit_of_a_speaking_step_repeats_nothing(
    kind: str, when: Literal["before", "after"], tmp_path: Path
) -> None:
    """B2: whoever tells the truth about what is unsure gets the effect once, and each text."""
    commits, n = 1, 0
    while n < commits:
        n += 1
        folder = tmp_path / f"death {when} commit {n}"
        folder.mkdir()
        async with World.of(kind, folder, charging) as world:
            window = world.process.window
            window.fail("commit", n=n, when=when, hook=window.disconnect)
            talk = Conversation(world)
            await talk.say()
            commits = max(commits, sum(call.point == "commit" for call in window.calls) + 1)
            assert window.dead or n == commits, folder.name
            if window.dead:
                await talk.recover()
            if talk.asked:
                skip, again = {"action": "skip", "result": "charged"}, {"action": "run_again"}
                await talk.answer({talk.asked[0]: skip if world.effects else again})
            assert talk.run.outcome == "success", folder.name
            assert world.effects == ["charge"], folder.name
            said = [m["content"] for m in talk.history if m["role"] in ("assistant", "reasoning")]
            assert len(said) == len(set(said)), (folder.name, said)
            assert set(said) <= SAID
    assert commits > 3


async def cut_in_the_middle(world: World, talk: Conversation, stop: asyncio.Event) -> list[Any]:
    """Let the process die while the step speaks; returns the events that a reader saw."""
    talk.client.user("go")
    first = talk.client.open()
    await first.when(lambda events: any(e.get("delta") == "Half" for e in events))
    talk.client.model.take(first.events)
    await world.crash()
    await first.disconnect()
    stop.set()
    await world.at_rest(talk.thread)
    return first.events


def speaking(stop: asyncio.Event, *, idempotent: bool) -> Any:
    """An agent whose step waits in the middle of a message, the first time."""

    async def agent(turn: Turn, world: World) -> Any:
        async def charge() -> str:
            world.effect("charge")
            async with turn.message() as message:
                await message.write("Half")
                if len(world.effects) == 1:
                    await stop.wait()
                await message.write(" and half")
            return "charged"

        return await turn.step.options(name="charge", idempotent=idempotent)(charge)

    return agent


@requirement("LC-12", "LC-20")
async def test_a_step_that_died_within_its_message_asks_and_speaks_again_under_its_id(
    kind: str, tmp_path: Path
) -> None:
    """MS-02: while it is unsure nobody sees half a message; run again, it is the same one."""
    stop = asyncio.Event()
    async with World.of(kind, tmp_path, speaking(stop, idempotent=False)) as world:
        talk = Conversation(world)
        seen = await cut_in_the_middle(world, talk, stop)
        (opened,) = [e for e in seen if e["type"] == "TEXT_MESSAGE_START"]
        await talk.connect()
        assert (world.effects, talk.texts) == (["charge"], [])
        assert [i["reason"] for i in talk.client.model.pending] == ["sayso:indeterminate"]
        run = await talk.answer_all(lambda _: {"action": "run_again"})
        assert run.last["result"] == "charged"
        assert world.effects == ["charge", "charge"]
        assert [(m["id"], m["content"]) for m in talk.history if m["role"] == "assistant"] == [
            (opened["messageId"], "Half and half")
        ]


async def test_a_declared_step_speaks_again_unasked_in_one_message(
    kind: str, tmp_path: Path
) -> None:
    """LC-20: a model call that streams says `idempotent=True`."""
    stop = asyncio.Event()
    async with World.of(kind, tmp_path, speaking(stop, idempotent=True)) as world:
        talk = Conversation(world)
        await cut_in_the_middle(world, talk, stop)
        run = await talk.connect()
        assert run.outcome == "success"
        assert world.effects == ["charge", "charge"]
        assert talk.texts == ["Half and half"]


async def test_a_step_that_an_earlier_server_noted_as_speaking_goes_on_as_it_began(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its journal says that it may run again, so nobody is asked."""
    record = Place.record
    monkeypatch.setattr(
        Place,
        "record",
        lambda place, status, data=b"{}": record(
            place, status, b'{"emits":true}' if status == "started" else data
        ),
    )
    stop = asyncio.Event()
    async with World.of(kind, tmp_path, speaking(stop, idempotent=False)) as world:
        talk = Conversation(world)
        await cut_in_the_middle(world, talk, stop)
        assert (await talk.connect()).outcome == "success"
        assert world.effects == ["charge", "charge"]
