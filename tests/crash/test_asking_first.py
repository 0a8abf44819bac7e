"""A call that asks twice, tells what it gives back otherwise, and dies at every commit."""

from pathlib import Path
from typing import Any, Literal

import pytest

from sayso import AskFirst, Sayso, Told, Tool, ToolCall, Turn, approval, current_call
from tests.crash.life import AGAIN, INDETERMINATE
from tests.turns.driver import Conversation, World


def declare(world: World, app: Sayso) -> None:
    """A tool of this agent alone, which a rule gates and which asks first."""

    async def pay(arguments: dict[str, Any]) -> Told[int]:
        if current_call().answer is None:
            raise AskFirst("Really?")
        world.effect("paid")
        return Told(1, "Paid.")

    def from_person(text: str) -> Told[int]:
        return Told(1, text)

    app.add_tools(
        Tool.of("pay", parameters={}, call=pay, approval=approval.always, from_person=from_person),
        agent="agent",
    )


async def agent(turn: Turn, world: World) -> None:
    """One call under a model's id."""
    done = await turn.parked(turn.call(ToolCall("pay", {}, told_as="m1")))
    await turn.say(f"{done.status} {done.value} {done.text} {done.told_as}")


async def to_the_end(world: World, talk: Conversation) -> None:
    """Answer with the truth, and recover from what dies."""
    await talk.say()
    for _ in range(12):
        if world.process.window.dead and await world.store.load("default", talk.thread) is None:
            await world.crash()
            await talk.say()
            continue
        if world.process.window.dead:
            await talk.recover()
        if not talk.client.model.pending:
            return
        happened = {"action": "skip", "result": "Paid."} if world.effects else AGAIN
        await talk.answer(
            {
                item["id"]: happened if item["reason"] == INDETERMINATE else {"approved": True}
                for item in talk.client.model.pending
            }
        )
    raise AssertionError("this never ends")


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_death_at_any_commit_repeats_nothing_and_tells_the_same(
    kind: str, when: Literal["before", "after"], tmp_path: Path
) -> None:
    """Both questions, the effect and its words: each once."""
    commits, n = 1, 0
    while n < commits:
        n += 1
        folder = tmp_path / f"death {when} commit {n}"
        folder.mkdir()

        def declared(app: Sayso) -> None:
            declare(world, app)  # noqa: B023 - the world of this round
            world.register(app, agent)  # noqa: B023

        world: World = World(kind, folder, declared)
        async with world:
            window = world.process.window
            window.fail("commit", n=n, when=when, hook=window.disconnect)
            talk = Conversation(world)
            await to_the_end(world, talk)
            commits = max(commits, sum(call.point == "commit" for call in window.calls) + 1)
            assert world.effects == ["paid"], folder.name
            await talk.connect()
            assert talk.texts == ["executed 1 Paid. m1"], folder.name
            results = [m["content"] for m in talk.history if m["role"] == "tool"]
            assert results == ["Paid."], folder.name
    assert commits > 5
