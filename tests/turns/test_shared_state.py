"""Shared state over pauses, restarts and branches (design 3, rule 8; rules section 12; case P3)."""

from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso, ToolCall, Turn
from tests.contract.requirements import requirement
from tests.turns.driver import Conversation, World, ticks


async def writing(turn: Turn, world: World) -> Any:
    """Writes before, between and after two questions."""
    await turn.set("/progress", 1)
    await turn.patch([{"op": "add", "path": "/log", "value": ["began"]}])
    await turn.interrupt("confirmation", "One?")
    world.effects.append(turn.state["progress"])
    await turn.patch([{"op": "add", "path": "/log/-", "value": "one"}])
    await turn.interrupt("confirmation", "Two?")
    await turn.patch([{"op": "add", "path": "/log/-", "value": "two"}])
    return {"log": list(turn.state["log"]), "progress": turn.state["progress"]}


YES = {"approved": True}


@requirement("SB-01", "SB-04")
@pytest.mark.parametrize("restarts", [False, True])
async def test_writes_are_sent_once_and_snapshots_hold_them_all(
    kind: str, tmp_path: Path, restarts: bool
) -> None:
    """P3: replay is silent; the boundary's snapshot holds everything written so far."""
    async with World.of(kind, tmp_path, writing) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert len(run.of("STATE_DELTA")) == 2
        assert run.of("STATE_SNAPSHOT")[-1]["snapshot"] == {"progress": 1, "log": ["began"]}
        if restarts:
            await talk.restart()
        run = await talk.answer({"One?": YES})
        assert len(run.of("STATE_DELTA")) == 1
        if restarts:
            await talk.restart()
        run = await talk.answer({"Two?": YES})
        assert len(run.of("STATE_DELTA")) == 1
        assert run.last["result"] == {"log": ["began", "one", "two"], "progress": 1}
        assert talk.client.model.state == {"progress": 1, "log": ["began", "one", "two"]}


@requirement("SB-04")
async def test_a_client_s_change_wins_at_the_resume(kind: str, tmp_path: Path) -> None:
    """SB-04: what the person changed is what the code reads after the answer, on every replay."""
    async with World.of(kind, tmp_path, writing) as world:
        talk = Conversation(world)
        await talk.say()
        run = await talk.answer({"One?": YES}, state={"progress": 50, "log": ["mine"]})
        assert run.outcome == "interrupt"
        await talk.restart()
        run = await talk.answer({"Two?": YES})
        assert run.last["result"] == {"log": ["mine", "one", "two"], "progress": 50}
        assert world.effects == [50, 50]


async def test_a_crash_between_pauses_builds_the_same_state(kind: str, tmp_path: Path) -> None:
    """State writes are not recorded: they are executed again, and shown once they are."""

    async def agent(turn: Turn, world: World) -> Any:
        await turn.set("/a", 1)
        await turn.interrupt("confirmation", "One?")
        await turn.set("/b", 2)
        await turn.step.options(idempotent=True)(world.effect, "one")
        await turn.set("/c", 3)
        return dict(turn.state)

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        window = world.process.window
        window.fail("commit", match=lambda c: c.release, hook=window.disconnect)
        await talk.answer({"One?": YES})
        await talk.recover()
        assert talk.client.model.state == {"a": 1, "b": 2, "c": 3}
        assert world.effects == ["one"]


WRITTEN = ["a1", "a2", "b1", "b2", "inner", "inner", "inner", "quiet1", "quiet2"]


def parts(world: World, app: Sayso) -> Any:
    """A tool that writes around a question, and below it another one that writes."""

    @app.tool()
    async def inner(turn: Turn) -> None:
        await turn.patch([{"op": "add", "path": "/log/-", "value": "inner"}])

    @app.tool()
    async def part(turn: Turn, name: str) -> None:
        await turn.patch([{"op": "add", "path": "/log/-", "value": f"{name}1"}])
        if name != "quiet":
            await turn.interrupt("confirmation", f"{name}?")
        await turn.call(inner)
        await turn.patch([{"op": "add", "path": "/log/-", "value": f"{name}2"}])

    return part


async def calling(turn: Turn, world: World) -> Any:
    """Three parts at once, one of which ends at once; then a question, then an effect."""
    await turn.set("/log", [])
    await turn.call_all([ToolCall(world.tools, {"name": name}) for name in ("a", "quiet", "b")])
    read = list(turn.state["log"])
    await turn.interrupt("confirmation", "Later?")
    await turn.step.options(idempotent=True)(world.effect, "one")
    return [read, list(turn.state["log"])]


@pytest.mark.parametrize("restarts", [False, True])
async def test_what_a_part_wrote_is_there_though_its_code_is_not_entered_again(
    kind: str, tmp_path: Path, restarts: bool
) -> None:
    """Rule 8: what the code reads is the same in front of and behind every later pause."""
    async with World.of(kind, tmp_path, calling, parts) as world:
        talk = Conversation(world)
        await talk.say()
        if restarts:
            await talk.restart()
        await talk.answer({"a?": YES, "b?": YES})
        if restarts:
            await talk.restart()
        log = talk.client.model.state["log"]
        assert sorted(log) == WRITTEN
        run = await talk.answer({"Later?": YES})
        assert run.last["result"] == [log, log]
        assert talk.client.model.state == {"log": log}


async def test_what_a_part_wrote_outlives_a_crash_behind_it(kind: str, tmp_path: Path) -> None:
    """It was sent and not yet stored with a pause when the server died."""
    async with World.of(kind, tmp_path, calling, parts) as world:
        talk = Conversation(world)
        await talk.say()
        window = world.process.window
        window.fail("commit", match=lambda c: c.release, hook=window.disconnect)
        await talk.answer({"a?": YES, "b?": YES})
        await talk.recover()
        log = talk.client.model.state["log"]
        assert sorted(log) == WRITTEN
        run = await talk.answer({"Later?": YES})
        assert run.last["result"] == [log, log]
        assert world.effects == ["one"]


async def test_branches_write_side_by_side(kind: str, tmp_path: Path) -> None:
    """Each branch counts its own writes; after a pause none is lost or made twice."""

    async def branch(turn: Turn, name: str, asks: bool) -> None:
        await turn.patch([{"op": "add", "path": "/log/-", "value": f"{name}1"}])
        await ticks(3)
        if asks:
            await turn.interrupt("confirmation", f"{name}?")
        await turn.patch([{"op": "add", "path": "/log/-", "value": f"{name}2"}])

    async def agent(turn: Turn, world: World) -> Any:
        await turn.set("/log", [])
        await turn.gather(
            branch(turn, "a", True), branch(turn, "b", False), branch(turn, "c", True)
        )
        return list(turn.state["log"])

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        assert talk.client.model.state == {"log": ["a1", "b1", "c1", "b2"]}
        await talk.restart()
        run = await talk.answer({"a?": YES, "c?": YES})
        assert run.last["result"] == ["a1", "b1", "c1", "b2", "a2", "c2"]
        assert talk.client.model.state == {"log": run.last["result"]}


async def test_code_that_builds_another_state_is_found_out(kind: str, tmp_path: Path) -> None:
    """Rule 8: compared with the state recorded at the pause; nothing runs, the question stays."""

    def agent(value: int) -> Any:
        async def run(turn: Turn, world: World) -> Any:
            await turn.set("/x", value)
            await turn.interrupt("confirmation", "Go on?")
            return await turn.step(world.effect, "after")

        return run

    async with World.of(kind, tmp_path, agent(1)) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart(lambda app: world.register(app, agent(2)))
        run = await talk.answer({"Go on?": YES})
        assert run.outcome == "replay_mismatch"
        assert world.effects == []
        await talk.restart()
        run = await talk.answer({"Go on?": YES})
        assert run.last["result"] == "after"


async def test_state_written_in_finally_is_refused_while_the_turn_pauses(
    kind: str, tmp_path: Path
) -> None:
    """Rule 1: plain code in finally runs, what belongs to the turn does not."""

    async def agent(turn: Turn, world: World) -> Any:
        try:
            await turn.interrupt("confirmation", "Go on?")
        finally:
            world.effects.append("finally")
            await turn.set("/done", True)
        return dict(turn.state)

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        assert talk.client.model.state == {}
        run = await talk.answer({"Go on?": YES})
        assert run.last["result"] == {"done": True}
        assert world.effects == ["finally", "finally"]


async def test_the_state_view_cannot_be_written_to(kind: str, tmp_path: Path) -> None:
    """A deep view: mutation is an error, not a change that nobody records."""

    async def agent(turn: Turn, world: World) -> Any:
        await turn.set("/a", {"b": [1]})
        view = turn.state
        for attempt in ("view['x'] = 1", "view['a']['b'] = 1", "view['a']['b'].append(2)"):
            with pytest.raises((TypeError, AttributeError)):
                exec(attempt, {"view": view})  # noqa: S102 - what types forbid
        return view["a"]["b"] == (1,)

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.last["result"] is True
