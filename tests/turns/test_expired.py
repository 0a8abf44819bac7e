"""Questions that nobody answers in time (design 4, expiry; rules section 15; cases D5, D6, R3)."""

from pathlib import Path
from typing import Any

import pytest

from sayso import Question, Turn
from tests.contract.requirements import requirement
from tests.turns.driver import Conversation, World
from tests.turns.endings import endings

YES = {"approved": True}


async def both(turn: Turn, world: World) -> Any:
    """Two questions in one set, of which one expires."""
    short, long = await turn.interrupt_all(
        [
            Question(reason="confirmation", message="Short?", expires_in=10),
            Question(reason="confirmation", message="Long?"),
        ]
    )
    await turn.step(world.effect, "after")
    return [short.status, short.by, short.value, short.request, long.status, long.value]


@requirement("EX-06")
@pytest.mark.parametrize("restarts", [False, True])
async def test_the_author_sees_that_nobody_decided(
    kind: str, tmp_path: Path, restarts: bool
) -> None:
    """R3: expired is its own status, without a decider; the turn goes on without a client."""

    async def agent(turn: Turn, world: World) -> Any:
        answer = await turn.interrupt("confirmation", "Sure?", expires_in=10)
        world.effect([answer.status, answer.expired, answer.by, answer.value, answer.request])
        return await turn.step(world.effect, "after")

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        item = talk.pending["Sure?"]["id"]
        await world.elapse(9)
        assert world.effects == []
        if restarts:
            await talk.restart()
        await world.elapse(2)
        await world.at_rest(talk.thread)
        assert world.effects == [["expired", True, None, None, None], "after"]
        run = await talk.send([talk.entry(item, YES)])
        assert run.outcome == "interrupt_expired"
        run = await talk.cancel(item)
        assert run.outcome == "success", "a late cancel says what is settled"
        assert world.effects.count("after") == 1


async def test_one_of_a_set_expires_alone(kind: str, tmp_path: Path) -> None:
    """It is settled, the set waits for the rest, and a restart changes nothing."""
    async with World.of(kind, tmp_path, both) as world:
        talk = Conversation(world)
        await talk.say()
        short, long = talk.pending["Short?"]["id"], talk.pending["Long?"]["id"]
        await world.elapse(15)
        assert world.effects == []
        run = await talk.connect()
        assert [item["id"] for item in run.interrupts] == [long]
        await talk.restart()
        run = await talk.send([talk.entry(short, YES), talk.entry(long, YES)])
        assert run.outcome == "interrupt_expired"
        run = await talk.send(
            [{"interruptId": short, "status": "cancelled"}, talk.entry(long, YES)]
        )
        assert run.last["result"] == ["expired", None, None, None, "resolved", True]
        assert world.effects == ["after"]


@requirement("TC-16")
@pytest.mark.parametrize("restarts", [False, True])
async def test_a_gated_call_that_expired_is_told_as_such(
    kind: str, tmp_path: Path, restarts: bool
) -> None:
    """D5: not run, and it must be asked for again."""

    async def agent(turn: Turn, world: World) -> Any:
        call = await turn.call(world.tools.gated, n=1)
        await turn.step(world.effect, [call.status, call.expired, call.by, str(call)])

    async with World.of(kind, tmp_path, agent, endings, expires_in=10) as world:
        talk = Conversation(world)
        await talk.say()
        if restarts:
            await talk.restart()
        await world.elapse(11)
        await world.at_rest(talk.thread)
        text = (
            "Not executed: the request for approval expired before anyone decided. "
            "It must be asked for again."
        )
        assert world.effects == [["expired", True, None, text]]
        run = await talk.connect()
        assert [m["content"] for m in run.snapshot if m["role"] == "tool"] == [text]


async def test_a_death_while_an_expiry_is_settled_settles_it_once(
    kind: str, tmp_path: Path
) -> None:
    """The sweep of the next process finds what this one left."""
    for point, when in [("claim", "before"), ("claim", "after"), ("commit", "before")]:
        folder = tmp_path / f"{point} {when}"
        folder.mkdir()

        async def agent(turn: Turn, world: World) -> Any:
            answer = await turn.interrupt("confirmation", "Sure?", expires_in=10)
            await turn.step(world.effect, answer.status)

        async with World.of(kind, folder, agent) as world:
            talk = Conversation(world)
            await talk.say()
            window = world.process.window
            window.fail(point, when=when, hook=window.disconnect)  # type: ignore[arg-type]
            await world.elapse(11)
            await world.crash()
            await world.at_rest(talk.thread, seconds=60)
            assert world.effects == ["expired"], (point, when)
