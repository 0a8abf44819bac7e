"""Ordinary asyncio around questions and steps: suspends, resumes, repeats nothing (design 3)."""

from collections import Counter
from pathlib import Path

import pytest

from tests.contract.requirements import requirement
from tests.turns import experiments, groups, habits
from tests.turns.driver import Conversation, World
from tests.turns.patterns import PATTERNS, Pattern

IGNORED_EXIT = "ignore:Exception ignored in.*coroutine:pytest.PytestUnraisableExceptionWarning"


@requirement("LC-02", "LC-06")
@pytest.mark.parametrize("restarts", [False, True], ids=["straight", "restarts"])
@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(
            pattern,
            id=pattern.name,
            marks=[pytest.mark.filterwarnings(IGNORED_EXIT)] if pattern.abandoned else [],
        )
        for pattern in PATTERNS
    ],
)
async def test_a_pattern_asks_what_it_should_and_repeats_nothing(
    pattern: Pattern, kind: str, restarts: bool, tmp_path: Path
) -> None:
    """Design 3, rules 1 to 3: right questions, each effect once, an end, a well-formed stream."""
    async with World.of(kind, tmp_path, pattern.agent) as world:
        world.expected_noise = "destroyed but it is pending" if pattern.abandoned else ""
        talk = Conversation(world)
        run = await talk.say()
        for expected in pattern.rounds:
            assert talk.asked == sorted(expected), run.last
            if restarts:
                await talk.restart()
            run = await talk.answer_all(lambda question: f"yes-{question}")
        if pattern.fails:
            assert run.outcome == pattern.fails
        else:
            assert run.outcome == "success", run.last
            assert run.last.get("result") == pattern.result
        assert Counter(world.effects) == Counter(pattern.effects)


@pytest.mark.parametrize(
    "pattern", [p for p in PATTERNS if p.name.startswith("finally_effects")], ids=lambda p: p.name
)
async def test_nothing_recorded_runs_in_finally_while_the_turn_waits(
    pattern: Pattern, kind: str, tmp_path: Path
) -> None:
    """Design 3, rule 1: not directly, not in a task and not in a gather of the same branch."""
    async with World.of(kind, tmp_path, pattern.agent) as world:
        await Conversation(world).say()
        assert set(world.effects) <= {"plain"}


def test_all_patterns_are_there() -> None:
    """The table is filled by the modules that are imported here."""
    assert len(PATTERNS) >= 52
    for module in (experiments, habits, groups):
        assert any(pattern.agent.__module__ == module.__name__ for pattern in PATTERNS)


@pytest.mark.parametrize(
    "pattern", [p for p in PATTERNS if not (p.fails or p.abandoned)], ids=lambda p: p.name
)
async def test_a_look_comes_by_the_way_that_a_pattern_took(
    pattern: Pattern, tmp_path: Path
) -> None:
    """Wherever it waits and at its end: what tests of agents hold against their code finds nothing.

    Nothing is done in a look, whatever asyncio is made of it.
    """
    async with World.of("memory", tmp_path, pattern.agent) as world:
        talk = Conversation(world)
        await talk.say()
        for _ in range(len(pattern.rounds) + 1):
            before, view = Counter(world.effects), await world.view(talk.thread)
            assert await world.process.app._engine.looks.look(view) is None
            assert await world.view(talk.thread) == view
            assert not (Counter(world.effects) - before).keys() - {"plain"}
            if talk.asked:
                await talk.answer_all(lambda question: f"yes-{question}")
