"""A process may die before or after any write to the store (design 3, rule 5; cases B, L)."""

from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pytest

from sayso.testing.points import Point
from tests.contract.requirements import requirement
from tests.crash.life import EFFECTS, RESULT, Life, declare
from tests.turns.driver import World

WRITES: tuple[Point, ...] = ("claim", "commit", "update_idle")


def made(kind: str, folder: Path) -> World:
    world: World = World(kind, folder, lambda app: declare(world, app))
    return world


def shape(history: list[dict[str, Any]]) -> list[Any]:
    """A history without its ids, which differ between threads, and without what deaths asked."""
    calls: dict[str, str] = {}
    shaped: list[Any] = []
    for message in history:
        for call in message.get("toolCalls", ()):
            calls[call["id"]] = call["function"]["name"] + call["function"]["arguments"]
        named = [calls[call["id"]] for call in message.get("toolCalls", ())]
        answered = calls.get(message.get("toolCallId", ""), "")
        content = message.get("content", "")
        if message.get("activityType") == "sayso:settled":
            if content["reason"] == "sayso:indeterminate":
                continue
            content = [content["question"], content["said"]]
        shaped.append([message["role"], content, named, answered])
    return shaped


def in_any_order_of_results(shaped: list[Any]) -> list[Any]:
    """Results of one batch come in the order in which they were settled."""
    return sorted(map(repr, shaped))


async def undisturbed(kind: str, folder: Path) -> tuple[list[Any], dict[Point, int]]:
    """What the history looks like if nothing dies, and how many writes there are."""
    async with made(kind, folder) as world:
        life = Life(world)
        run = await life.to_the_end()
        assert run.outcome == "success"
        assert run.last["result"] == RESULT
        assert Counter(world.effects) == EFFECTS
        count = Counter(call.point for call in world.process.window.calls)
        run = await life.talk.connect()
        return shape(run.snapshot), {point: count[point] for point in WRITES if count[point]}


@requirement("ID-04", "LC-20", "TB-04", "TC-16")
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_death_at_any_write_loses_nothing_and_repeats_nothing(
    kind: str, when: Literal["before", "after"], tmp_path: Path
) -> None:
    """Design 3, rule 5: a person who tells the truth about what is unsure gets each effect once."""
    expected, writes = await undisturbed(kind, tmp_path)
    assert writes["commit"] > 15
    for point, count in writes.items():
        for n in range(1, count + 1):
            where = f"death {when} {point} {n} of {count}"
            folder = tmp_path / where
            folder.mkdir()
            async with made(kind, folder) as world:
                window = world.process.window
                window.fail(point, n=n, when=when, hook=window.disconnect)
                life = Life(world)
                run = await life.to_the_end()
                assert run.outcome == "success", (where, run.last)
                assert run.last.get("result", RESULT) == RESULT, where
                assert Counter(world.effects) == EFFECTS, where
                assert life.deaths == 1, where
                assert Counter(life.unsure) == Counter(life.expected_unsure), where
                run = await life.talk.connect()
                assert in_any_order_of_results(shape(run.snapshot)) == in_any_order_of_results(
                    expected
                ), where
                ids = [message["id"] for message in run.snapshot]
                assert len(set(ids)) == len(ids), where
                assert all(len(found) == 1 for found in life.ids.values()), (where, life.ids)
                assert [m["id"] for m in life.talk.history] == ids, where
