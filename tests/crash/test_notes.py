"""What keeps its log in the notes of a turn loses nothing of it, whatever dies (design 3)."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sayso import Turn
from tests.turns.driver import Conversation, World
from tests.turns.endings import endings
from tests.turns.framework import Framework

NODES = [["f1"], ["s2", "g3"], ["f4"]]
KINDS = {"f": "free", "g": "gated", "s": "step"}
VALUES = {name: f"{KINDS[name[0]]} {name[1:]}" for step in NODES for name in step}


async def pumping(turn: Turn, world: World) -> Any:
    """A framework with a log in notes; it says what each node gave, and tells the phases."""

    async def calls(name: str) -> Any:
        if name[0] == "s":
            return await turn.step.options(name=name)(world.effect, VALUES[name])
        tool = {"f": world.tools.free, "g": world.tools.gated}[name[0]]
        return (await turn.call(tool, n=int(name[1:]))).value

    phase = turn.phase("graph")
    await phase.begin()
    values = await Framework(turn, NODES, calls).pump()
    await phase.end()

    async def words() -> AsyncIterator[str]:
        yield f"{len(values)} nodes."

    await turn.stream(words())
    return values


def answer_to(talk: Conversation, world: World) -> dict[str, Any]:
    """What a person says who looks: what has happened is not made again."""
    answers: dict[str, Any] = {}
    for item in talk.client.model.pending:
        ours = item["metadata"]["sayso"]
        if item["reason"] == "tool_call":
            answers[item["id"]] = {"approved": True}
            continue
        name = ours["name"]
        made = VALUES.get(name) or f"{name} {ours['arguments']['n']}"
        happened = made in world.effects
        answers[item["id"]] = (
            {"action": "skip", "result": made} if happened else {"action": "run_again"}
        )
    return answers


async def to_the_end(world: World) -> Conversation:
    """Answer what is asked, recover from what dies, until the turn is over."""
    talk = Conversation(world)
    body = talk.client.body(messages=[talk.client.user("go")])
    await talk.client.run(body)
    for _ in range(20):
        if world.process.window.dead:
            await world.crash()
            if await world.store.load("default", talk.thread) is None:
                talk._to_present()
                await talk.client.run(body)
            else:
                await world.at_rest(talk.thread)
                await talk.connect()
            continue
        turn = (await world.view(talk.thread)).turn
        assert turn is not None
        if turn.status != "suspended":
            assert turn.status == "finished", turn.status
            return talk
        await talk.answer(answer_to(talk, world))
    raise AssertionError("the turn does not end")


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_death_at_any_commit_of_a_framework_repeats_nothing(
    kind: str, when: Literal["before", "after"], tmp_path: Path
) -> None:
    """Each effect once, each node noted once and in the order of the steps, each text once."""
    commits, n = 1, 0
    while n < commits:
        n += 1
        folder = tmp_path / f"{when} {n}"
        folder.mkdir()
        async with World.of(kind, folder, pumping, endings) as world:
            window = world.process.window
            window.fail("commit", n=n, when=when, hook=window.disconnect)
            talk = await to_the_end(world)
            died = len(world.processes) > 1
            calls = sum(call.point == "commit" for call in window.calls)
            commits = max(commits, calls + died)
            assert Counter(world.effects) == Counter(VALUES.values()), folder.name
            await talk.connect()
            assert talk.texts.count("4 nodes.") == 1, folder.name
            notes = [e for e in await world.journal(talk.thread) if e.kind == "note"]
            assert [e.place for e in notes] == [f"note:{i}" for i in range(len(VALUES))]
    assert commits > 10


@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    written=st.lists(
        st.tuples(st.sampled_from(["a", "b", "é/#:"]), st.booleans(), st.integers(0, 9)),
        min_size=1,
        max_size=8,
    ),
    death=st.integers(1, 8),
    when=st.sampled_from(["before", "after"]),
)
async def test_notes_keep_order_and_content_over_deaths(
    tmp_path_factory: pytest.TempPathFactory,
    written: list[tuple[str, bool, int]],
    death: int,
    when: Literal["before", "after"],
) -> None:
    """The next execution reads a beginning of what was noted, whole up to the last commit."""
    durable: list[int] = []

    async def agent(turn: Turn, world: World) -> Any:
        read = {name: turn.notes(name) for name in {name for name, _, _ in written}}
        count = sum(map(len, read.values()))
        assert not durable or count >= durable[-1]
        so_far = [(name, number) for name, _, number in written[:count]]
        for name, values in read.items():
            assert list(values) == [
                [index, number] for index, (named, number) in enumerate(so_far) if named == name
            ]
        for index, (name, now, number) in enumerate(written[count:], count):
            await turn.note(name, [index, number], durable=now)
            if now:
                durable.append(index + 1)
        return [count, len(written)]

    async with World.of("sqlite", tmp_path_factory.mktemp("notes"), agent) as world:
        window = world.process.window
        window.fail("commit", n=death, when=when, hook=window.disconnect)
        talk = Conversation(world)
        await talk.say()
        if window.dead:
            await talk.recover()
        turn = (await world.view(talk.thread)).turn
        assert turn is not None
        assert turn.status == "finished"
        notes = [e for e in await world.journal(talk.thread) if e.kind == "note"]
        assert [e.name for e in notes] == [name for name, _, _ in written]
