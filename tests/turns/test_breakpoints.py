"""Breakpoints: before and after steps, tools and phases; over restarts, crashes and branches."""

from pathlib import Path
from typing import Any

import pytest

from sayso import Breakpoints, Sayso, ToolCall, Turn
from tests.contract.requirements import requirement
from tests.turns.driver import Conversation, World
from tests.turns.endings import endings

GO = {"action": "continue"}
STOP = {"action": "stop"}
YES = {"approved": True}

BEFORE, AFTER = "Breakpoint before ", "Breakpoint after "


async def working(turn: Turn, world: World) -> Any:
    """A step, a phase with a step in it, and a gated tool."""
    await turn.step.options(name="build")(world.effect, "build")
    async with turn.phase("release"):
        await turn.step.options(name="ship")(world.effect, "ship")
    return (await turn.call(world.tools.gated, n=7)).status


def set_on(world: World, breakpoints: Breakpoints | None, agent: Any = working) -> Any:
    """How a process declares the agent with these breakpoints."""

    def declare(app: Sayso) -> None:
        world.tools = endings(world, app)

        @app.agent("agent", breakpoints=breakpoints, run_breakpoints="allow")
        async def run(turn: Turn) -> Any:
            return await agent(turn, world)

    return declare


def world_with(
    kind: str, folder: Path, breakpoints: Breakpoints | None, agent: Any = working
) -> World:
    """A world whose agent has these breakpoints."""
    world = World(kind, folder, lambda app: set_on(world, breakpoints, agent)(app))
    return world


def sent(**breakpoints: Any) -> dict[str, Any]:
    """What a request says that sets breakpoints."""
    return {"forwardedProps": {"sayso": {"breakpoints": breakpoints}}}


async def test_a_run_waits_before_everything_named_and_each_runs_once(
    kind: str, tmp_path: Path
) -> None:
    """Design 3, `"*"`: step, phase, tool, then the tool's own card; over restarts each time."""
    async with world_with(kind, tmp_path, Breakpoints(before="*")) as world:
        talk = Conversation(world)
        await talk.say()
        for asked, done in (
            (BEFORE + "step 'build'. Continue?", []),
            (BEFORE + "phase 'release'. Continue?", ["build"]),
            (BEFORE + "step 'ship'. Continue?", ["build"]),
            (BEFORE + "tool gated(n=7). Continue?", ["build", "ship"]),
        ):
            assert (talk.asked, world.effects) == ([asked], done)
            (item,) = talk.client.model.pending
            assert item["reason"] == "sayso:breakpoint"
            await talk.restart()
            await talk.answer({asked: GO})
        assert talk.asked == ["Approve gated(n=7)?"]
        run = await talk.answer({"Approve gated(n=7)?": YES})
        assert run.last["result"] == "executed"
        assert world.effects == ["build", "ship", "gated 7"]


async def test_a_run_waits_after_everything_named(kind: str, tmp_path: Path) -> None:
    """Design 3: what it waits after has run, once, and its record is there."""
    async with world_with(kind, tmp_path, Breakpoints(after="*")) as world:
        talk = Conversation(world)
        await talk.say()
        for asked, answer, done in (
            (AFTER + "step 'build'. Continue?", GO, ["build"]),
            (AFTER + "step 'ship'. Continue?", GO, ["build", "ship"]),
            (AFTER + "phase 'release'. Continue?", GO, ["build", "ship"]),
            ("Approve gated(n=7)?", YES, ["build", "ship"]),
            (AFTER + "tool gated(n=7). Continue?", GO, ["build", "ship", "gated 7"]),
        ):
            assert (talk.asked, world.effects) == ([asked], done)
            await talk.restart()
            run = await talk.answer({asked: answer})
        assert run.last["result"] == "executed"
        assert world.effects == ["build", "ship", "gated 7"]


@requirement("OU-07", "TC-16")
@pytest.mark.parametrize("how", ["stop", "cancel"])
async def test_stop_ends_the_turn_there(kind: str, tmp_path: Path, how: str) -> None:
    """Design 3: nothing more is done; the proposed call has its one result; the thread goes on."""
    async with world_with(kind, tmp_path, Breakpoints(before=["gated"])) as world:
        talk = Conversation(world)
        await talk.say()
        (asked,) = talk.asked
        run = await (talk.answer({asked: STOP}) if how == "stop" else talk.cancel(asked))
        assert run.outcome == "cancelled"
        assert world.effects == ["build", "ship"]
        history = (await talk.connect()).snapshot
        (result,) = [m["content"] for m in history if m["role"] == "tool"]
        assert result.startswith("Not executed")
        assert (await talk.say()).outcome == "interrupt"


async def test_a_breakpoint_shows_where_it_stands(kind: str, tmp_path: Path) -> None:
    """P4: when, at what, under which name; a tool's call with its arguments, nobody's step."""
    async with world_with(kind, tmp_path, Breakpoints(before=["gated", "build"])) as world:
        talk = Conversation(world)
        (step,) = (await talk.say()).interrupts
        shown = step["metadata"]["sayso"]
        assert shown == {
            "digest": shown["digest"],
            "kind": "breakpoint",
            "when": "before",
            "of": "step",
            "name": "build",
        }
        choices = step["responseSchema"]["properties"]["action"]["oneOf"]
        assert [choice["const"] for choice in choices] == ["continue", "stop"]
        (tool,) = (await talk.answer({step["id"]: GO})).interrupts
        assert tool["metadata"]["sayso"]["arguments"] == {"n": 7}
        calls = [c["id"] for m in talk.history for c in m.get("toolCalls", ())]
        assert calls == [tool["toolCallId"]]


async def test_breakpoints_come_and_go_between_runs_without_a_mismatch(
    kind: str, tmp_path: Path
) -> None:
    """Design 3, rule 9: what was asked is found, what is new holds from where the turn stands."""
    async with world_with(kind, tmp_path, Breakpoints(before=["build"])) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart(set_on(world, Breakpoints(before=["build", "ship"], after="build")))
        await talk.answer({BEFORE + "step 'build'. Continue?": GO})
        assert talk.asked == [AFTER + "step 'build'. Continue?"]
        await talk.restart(set_on(world, None))
        await talk.answer({AFTER + "step 'build'. Continue?": GO})
        assert talk.asked == ["Approve gated(n=7)?"]
        await talk.restart(set_on(world, Breakpoints(before="*", after="*")))
        await talk.answer({"Approve gated(n=7)?": YES})
        assert talk.asked == [AFTER + "tool gated(n=7). Continue?"], "no breakpoint in the past"
        run = await talk.answer({talk.asked[0]: GO})
        assert run.last["result"] == "executed"
        assert world.effects == ["build", "ship", "gated 7"]


async def test_a_crash_does_not_get_past_a_breakpoint(kind: str, tmp_path: Path) -> None:
    """Design 3, rule 10: due with the record of the end, so the next process asks."""
    async with world_with(kind, tmp_path, Breakpoints(after=["build"])) as world:
        talk = Conversation(world)
        window = world.process.window
        # The third write suspends: the second recorded the end of the step.
        window.fail("commit", n=3, hook=window.disconnect)
        assert (await talk.say()).outcome != "interrupt"
        assert world.effects == ["build"]
        await talk.recover()
        assert talk.asked == [AFTER + "step 'build'. Continue?"]
        await talk.answer({talk.asked[0]: GO})
        assert world.effects == ["build", "ship"]


async def test_branches_wait_each_at_their_own_breakpoint(kind: str, tmp_path: Path) -> None:
    """Design 3, rule 3: all in one outcome; each answer is its own branch's."""

    async def agent(turn: Turn, world: World) -> Any:
        async def one(name: str) -> str:
            done: str = await turn.step.options(name=name)(world.slowly, name)
            return done

        return await turn.gather(one("a"), one("b"), one("c"))

    async with world_with(kind, tmp_path, Breakpoints(before=["a"], after=["b"]), agent) as world:
        talk = Conversation(world)
        await talk.say()
        assert talk.asked == [AFTER + "step 'b'. Continue?", BEFORE + "step 'a'. Continue?"]
        assert sorted(world.effects) == ["b", "c"]
        await talk.restart()
        run = await talk.answer_all(lambda _: GO)
        assert run.last["result"] == ["a", "b", "c"]
        assert sorted(world.effects) == ["a", "b", "c"]


async def test_calls_of_a_batch_wait_together(kind: str, tmp_path: Path) -> None:
    """C1, C8: breakpoints and approvals in one outcome; free calls have run; one result each."""

    async def agent(turn: Turn, world: World) -> Any:
        calls = [("free", 1), ("fails", None), ("gated", 2), ("gated", 3)]
        wanted = [
            ToolCall(getattr(world.tools, name), {} if n is None else {"n": n}) for name, n in calls
        ]
        return [call.status for call in await turn.call_all(wanted)]

    breakpoints = Breakpoints(before=["free"], after=["gated", "fails"])
    async with world_with(kind, tmp_path, breakpoints, agent) as world:
        talk = Conversation(world)
        await talk.say()
        assert talk.asked == [
            "Approve gated(n=2)?",
            "Approve gated(n=3)?",
            BEFORE + "tool free(n=1). Continue?",
        ]
        assert world.effects == ["fails"]
        await talk.restart()
        await talk.answer_all(lambda name: YES if "n=2" in name else GO if "free" in name else NO)
        assert talk.asked == [
            AFTER + "tool fails(). Continue?",
            AFTER + "tool gated(n=2). Continue?",
        ], "what was denied did not run, so there is nothing to look at"
        await talk.restart()
        run = await talk.answer_all(lambda _: GO)
        assert run.last["result"] == ["executed", "failed", "executed", "denied"]
        assert sorted(world.effects) == ["fails", "free 1", "gated 2"]


NO = {"approved": False}


async def test_a_failed_step_is_looked_at_too(kind: str, tmp_path: Path) -> None:
    """A run waits after what went wrong, and the error comes out afterwards, the same."""

    async def agent(turn: Turn, world: World) -> Any:
        try:
            await turn.step.options(name="broken")(broken)
        except Exception as error:
            return str(error)

    def broken() -> None:
        raise ValueError("no luck")

    async with world_with(kind, tmp_path, Breakpoints(after="*"), agent) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart()
        run = await talk.answer({AFTER + "step 'broken'. Continue?": GO})
        assert "no luck" in run.last["result"]


async def test_a_phase_that_fails_fails_at_once(kind: str, tmp_path: Path) -> None:
    """An error is not held up, nor lost, by a breakpoint after the phase that it leaves."""

    async def agent(turn: Turn, world: World) -> Any:
        try:
            async with turn.phase("work"):
                raise LookupError("lost")
        except LookupError as error:
            return str(error)

    async with world_with(kind, tmp_path, Breakpoints(after="*"), agent) as world:
        run = await Conversation(world).say()
        assert run.last["result"] == "'lost'" or run.last["result"] == "lost"


async def test_a_request_sets_breakpoints_for_its_turn(kind: str, tmp_path: Path) -> None:
    """Design 3: in `forwardedProps.sayso.breakpoints`, beside those of the agent."""
    async with world_with(kind, tmp_path, Breakpoints(before=["build"])) as world:
        talk = Conversation(world)
        await talk.say(**sent(before=["ship"]))
        await talk.answer({BEFORE + "step 'build'. Continue?": GO})
        assert talk.asked == [BEFORE + "step 'ship'. Continue?"]
        await talk.restart()
        await talk.answer({BEFORE + "step 'ship'. Continue?": GO})
        assert talk.asked == ["Approve gated(n=7)?"]


async def test_a_resume_sets_other_ones_from_there_on(kind: str, tmp_path: Path) -> None:
    """Design 3, per run: what the newest request says counts; silence changes nothing."""
    async with world_with(kind, tmp_path, None) as world:
        talk = Conversation(world)
        await talk.say(**sent(before="*"))
        await talk.answer({BEFORE + "step 'build'. Continue?": GO})
        assert talk.asked == [BEFORE + "phase 'release'. Continue?"]
        await talk.answer({talk.asked[0]: GO}, **sent(before=[], after="gated"))
        assert talk.asked == ["Approve gated(n=7)?"]
        await talk.restart()
        await talk.answer({"Approve gated(n=7)?": YES})
        assert talk.asked == [AFTER + "tool gated(n=7). Continue?"]


async def test_code_that_changes_at_a_breakpoint_is_told_so(kind: str, tmp_path: Path) -> None:
    """Rule 9: another step where the run waits is a mismatch; nothing runs, the question stays."""

    async def changed(turn: Turn, world: World) -> Any:
        return await turn.step.options(name="other")(world.effect, "other")

    async with world_with(kind, tmp_path, Breakpoints(before=["build"])) as world:
        talk = Conversation(world)
        await talk.say()
        (asked,) = talk.client.model.pending
        await talk.restart(set_on(world, Breakpoints(before="*"), changed))
        run = await talk.send([talk.entry(asked["id"], GO)])
        assert run.outcome == "replay_mismatch"
        assert world.effects == []
        await talk.restart()
        await talk.connect()
        assert talk.client.model.pending == [asked]
        await talk.answer({asked["message"]: GO})
        assert world.effects == ["build", "ship"]


async def test_state_that_was_edited_at_a_breakpoint_is_what_the_turn_goes_on_with(
    kind: str, tmp_path: Path
) -> None:
    """Design 3, rule 8: a breakpoint is a pause like any other."""

    async def agent(turn: Turn, world: World) -> Any:
        await turn.set("/amount", 5)
        await turn.step.options(name="look")(world.effect, "look")
        return turn.state["amount"]

    async with world_with(kind, tmp_path, Breakpoints(before=["look"]), agent) as world:
        talk = Conversation(world)
        await talk.say()
        run = await talk.answer({BEFORE + "step 'look'. Continue?": GO}, state={"amount": 9})
        assert run.last["result"] == 9
