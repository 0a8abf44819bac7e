"""This server dies at every commit while a server of tools asks: nothing is done twice or lost."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from sayso import Sayso, Turn, mcp
from tests.frameworks.contract import YES, When, over_deaths
from tests.frameworks.mcp.shop import server_of
from tests.turns.driver import Conversation, Json, World

ARGUMENTS: dict[str, Json] = {
    "refund": {"order_id": "A-17", "amount": 240.0},
    "destroy": {"order_id": "A-17"},
    "label": {"order_id": "A-17"},
}


def declare(app: Sayso) -> None:
    """An agent that calls the tool that a person names."""

    @app.agent("shop")
    async def shop(turn: Turn) -> None:
        name = turn.input.text
        await turn.say(str(await turn.call(name, ARGUMENTS[name])))


@pytest.mark.every_store
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("mode", "tool", "effect"),
    [
        ("auto", "refund", "refund A-17 240 broken"),
        ("legacy", "destroy", "destroy A-17: decline"),
        ("legacy", "label", "label A-17"),
    ],
)
async def test_no_death_at_a_commit_repeats_what_a_server_did(
    kind: str, tmp_path: Path, when: When, mode: Any, tool: str, effect: str
) -> None:
    """One that may be repeated, as its server says, is: by the older protocol to be asked anew."""
    effects: list[str] = []

    def answer(card: Json) -> Any:
        if card["reason"] == "sayso:indeterminate":
            done = {"action": "skip", "result": "it was done"}
            return done if effects else {"action": "run_again"}
        return {"reason": "broken"} if card["reason"] == "mcp:elicitation" else YES

    for number in range(1, 30):
        effects.clear()
        folder = tmp_path / f"{number}"
        folder.mkdir()
        start = [mcp.include(partial(Client, server_of(effects), mode=mode))]
        async with World(kind, folder, declare, on_start=start) as world:
            window = world.process.window
            death = window.fail("commit", n=number, when=when, hook=window.disconnect)
            run = await over_deaths(world, Conversation(world, "shop"), tool, answer)
        assert run.outcome == "success", (number, run.last)
        assert set(effects) == {effect}, number
        assert tool == "label" or len(effects) == 1, number
        if not death.fired:
            assert number > 4
            return
    raise AssertionError("the conversation never ended")
