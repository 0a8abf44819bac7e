"""Random agents whose state is changed at random breakpoints: what was left is what goes on."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sayso import Breakpoints, Sayso, ToolCall, Turn
from tests.turns.driver import Conversation, World

GO = {"action": "continue"}
NAMES = ("a", "b", "c")
WAITS = ("step", "work", "task0", "task1")


@dataclass(frozen=True)
class Do:
    """Something that an agent does: writes a member, keeps one, or acts on one and what it kept."""

    kind: str
    member: str
    other: str


THINGS = st.builds(
    Do,
    kind=st.sampled_from(("write", "keep", "say", "step", "call", "batch", "tasks")),
    member=st.sampled_from(NAMES),
    other=st.sampled_from(NAMES),
)
EDITS = st.lists(
    st.dictionaries(st.sampled_from(NAMES), st.integers(100, 103), max_size=2), max_size=6
)
COMPUTED = [
    Do("write", "b", "a"),
    Do("call", "b", "a"),
    Do("write", "c", "b"),
    Do("call", "c", "a"),
]
"""What acts reads what was written on the way to it, which was made of what the person changes."""


def world_of(kind: str, folder: Path, program: Sequence[Do], waits: Sequence[str]) -> World:
    """A world whose agent does it all in order."""

    def declare(app: Sayso) -> None:
        @app.tool()
        def work(told: list[Any]) -> None:
            world.effects.append(told)

        @app.agent("agent", breakpoints=Breakpoints(before=waits))
        async def agent(turn: Turn) -> None:
            await turn.patch([{"op": "add", "path": f"/{name}", "value": 0} for name in NAMES])
            kept = 0
            for number, do in enumerate(program):
                told = [number, turn.state[do.member], kept]
                if do.kind == "write":
                    await turn.set(f"/{do.member}", turn.state[do.other] + 1)
                elif do.kind == "keep":
                    kept = turn.state[do.member]
                elif do.kind == "say":
                    await turn.say(f"{number}")
                elif do.kind == "step":
                    await turn.step.options(name="step")(world.effect, told)
                elif do.kind == "call":
                    await turn.call(work, told=told)
                elif do.kind == "batch":
                    made = [ToolCall(work, {"told": [*told, n]}) for n in range(2)]
                    await turn.call_all(made)
                else:
                    steps = [
                        turn.step.options(name=f"task{n}")(world.effect, [*told, n])
                        for n in range(2)
                    ]
                    await turn.gather(*steps)

    world = World(kind, folder, declare)
    return world


def expected(
    program: Sequence[Do], waits: Sequence[str], edits: Sequence[dict[str, int]]
) -> tuple[list[Any], dict[str, int]]:
    """The effects and the last state: what acts reads what was changed, tasks what they had."""
    state, kept, keeps, done = dict.fromkeys(NAMES, 0), 0, "", []
    changes = iter(edits)
    for number, do in enumerate(program):
        if do.kind == "write":
            state[do.member] = state[do.other] + 1
            continue
        if do.kind == "keep":
            kept, keeps = state[do.member], do.member
            continue
        at = {"step": ["step"], "tasks": ["task0", "task1"], "say": []}.get(do.kind, ["work"])
        told = [number, state[do.member], kept]
        if any(name in waits for name in at):
            change = {n: to for n, to in next(changes, {}).items() if state[n] != to}
            state |= change
            if do.kind != "tasks":
                kept = change.get(keeps, kept)  # it was kept on the way here
                told = [number, state[do.member], kept]
        if do.kind in ("batch", "tasks"):
            done += [[*told, n] for n in range(2)]
        elif do.kind != "say":
            done.append(told)
        keeps = ""
    return done, state


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # a name, and patience
)
@given(
    program=st.lists(THINGS, min_size=1, max_size=7),
    waits=st.sets(st.sampled_from(WAITS), min_size=1).map(sorted),
    edits=EDITS,
    restarts=st.booleans(),
)
@example(program=COMPUTED, waits=["work"], edits=[{"a": 100}, {"b": 101}], restarts=False)
@example(program=COMPUTED, waits=["work"], edits=[{"a": 100}, {"b": 101}], restarts=True)
def test_what_ran_is_what_was_shown_or_what_the_changed_state_gives(
    kind: str,
    program: list[Do],
    waits: list[str],
    edits: list[dict[str, int]],
    restarts: bool,
) -> None:
    """Design 3, rule 8: over pauses in a row and restarts at each; no mismatch, nothing twice."""

    async def live(folder: Path) -> None:
        async with world_of(kind, folder, program, waits) as world:
            talk = Conversation(world)
            await talk.say()
            changes = iter(edits)
            while talk.pending:
                if restarts:
                    await talk.restart()
                state = {**talk.client.model.state, **next(changes, {})}
                run = await talk.answer_all_with(GO, state=state)
                assert run.outcome in ("interrupt", "success"), run.last
            assert talk.run.outcome == "success"
            done, state = expected(program, waits, edits)
            assert sorted(world.effects) == sorted(done)
            assert talk.client.model.state == state

    with TemporaryDirectory() as folder:
        asyncio.run(live(Path(folder)))
