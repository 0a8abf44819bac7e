"""Steps whose result has a type that their function does not say."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from sayso import DeclarationError, StepFailed, Turn
from tests.turns.driver import Conversation, World


class Receipt(BaseModel):
    """What comes of a round."""

    number: int


async def test_the_type_is_what_the_agent_gets_and_what_a_person_may_give(
    kind: str, tmp_path: Path
) -> None:
    """Several steps that cannot be told apart otherwise stand in one outcome, each as it is."""
    seen: list[Any] = []

    async def agent(turn: Turn, world: World) -> Any:
        def paid(number: int) -> Any:
            return turn.step.options(
                name=f"round {number}", returns=Receipt, shown=f"The payment of round {number}"
            )(lambda: world.effect({"number": number}))

        receipts = await turn.gather(paid(1), paid(2))
        seen.extend(receipts)
        return [receipt.number for receipt in receipts]

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        window = world.process.window
        window.fail(
            "commit",
            match=lambda commit: any(entry.status == "done" for entry in commit.entries),
            hook=window.disconnect,
            times=2,
        )
        await talk.say()
        run = await talk.recover()
        asked = {item["message"].partition(" was running")[0]: item for item in run.interrupts}
        assert sorted(asked) == ["The payment of round 1", "The payment of round 2"]
        for item in run.interrupts:
            assert item["responseSchema"]["properties"]["result"]["required"] == ["number"]
        refused = await talk.answer_all_with({"action": "skip", "result": {"number": "x"}})
        assert refused.outcome == "invalid_payload"
        given = {
            item["id"]: {"action": "skip", "result": {"number": name[-1]}}
            for name, item in asked.items()
        }
        refused = await talk.answer(given)
        given = {
            item["id"]: {"action": "skip", "result": {"number": int(name[-1])}}
            for name, item in asked.items()
        }
        run = refused if refused.outcome == "success" else await talk.answer(given)
        assert run.last["result"] == [1, 2]
        assert seen == [Receipt(number=1), Receipt(number=2)]


async def test_a_result_of_another_type_is_told_as_one_that_ran(kind: str, tmp_path: Path) -> None:
    """And what is no type is refused before anything runs."""

    async def agent(turn: Turn, world: World) -> Any:
        with pytest.raises(DeclarationError, match="returns= of step 'odd': 3 is no type"):
            await turn.step.options(name="odd", returns=3)(world.effect, "odd")
        with pytest.raises(StepFailed, match="the step ran, and its result could not be"):
            await turn.step.options(returns=Receipt)(lambda: world.effect("ran"))

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert (run.outcome, world.effects) == ("success", ["ran"])
