"""State that is changed at a breakpoint reaches what waits there, and what is shown is bound."""

import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sayso import Breakpoints, Sayso, ToolCall, Turn, approval
from tests.turns.driver import Conversation, World

GO = {"action": "continue"}
STOP = {"action": "stop"}
KEEPS = "Editing the state does not change these arguments."


def world_with(kind: str, folder: Path, agent: Any, **breakpoints: Any) -> World:
    """A world whose agent has these breakpoints, and two tools and a part."""

    def declare(app: Sayso) -> None:
        @app.tool()
        def send(text: str) -> str:
            world.effects.append(f"send {text}")
            return f"sent {text}"

        @app.tool()
        def drop(text: str) -> str:
            world.effects.append(f"drop {text}")
            return f"dropped {text}"

        @app.tool()
        async def part(turn: Turn, text: str) -> str:
            await turn.step.options(name="inside")(world.effect, f"part {text} {turn.state['x']}")
            return text

        world.tools = SimpleNamespace(send=send, drop=drop, part=part)

        @app.agent("agent", breakpoints=Breakpoints(**breakpoints))
        async def run(turn: Turn) -> Any:
            return await agent(turn, world)

    world = World(kind, folder, declare)
    return world


async def stepping(turn: Turn, world: World) -> None:
    await turn.set("/x", "old")
    await turn.step.options(name="work")(world.effect, turn.state["x"])
    await turn.set("/done", True)


async def reading_early(turn: Turn, world: World) -> None:
    """What waits gets what was read before writes of other members."""
    await turn.set("/x", "old")
    read = turn.state["x"]
    await turn.set("/status", f"working on {read}")
    await turn.step.options(name="work")(world.effect, read)
    await turn.set("/done", True)


async def calling(turn: Turn, world: World) -> Any:
    await turn.set("/x", "old")
    call = await turn.call(world.tools.send, text=turn.state["x"])
    await turn.set("/done", True)
    return [call.args, call.edited, call.text]


async def delegating(turn: Turn, world: World) -> None:
    async def inner(turn: Turn) -> None:
        await turn.step.options(name="inside")(world.effect, turn.input.text)

    await turn.set("/x", "old")
    await turn.delegate(inner, turn.state["x"], name="work")
    await turn.set("/done", True)


async def taking_part(turn: Turn, world: World) -> None:
    await turn.set("/x", "old")
    await turn.call(world.tools.part, text=turn.state["x"])
    await turn.set("/done", True)


async def in_a_task(turn: Turn, world: World) -> None:
    async def one() -> None:
        await turn.set("/y", 1)
        await turn.step.options(name="work")(world.effect, turn.state["x"])

    await turn.set("/x", "old")
    await turn.gather(one())
    await turn.set("/done", True)


async def batching(turn: Turn, world: World) -> Any:
    await turn.set("/x", "old")
    calls = [ToolCall(world.tools.send, {"text": turn.state["x"] + n}) for n in "12"]
    made = await turn.call_all(calls)
    await turn.set("/done", True)
    return [call.edited for call in made]


REACHED: list[tuple[Any, Any, list[Any]]] = [
    (stepping, "work", ["new"]),
    (reading_early, "work", ["new"]),
    (calling, "send", ["send new"]),
    (delegating, "work", ["new"]),
    (taking_part, "part", ["part new new"]),
    (in_a_task, "work", ["new"]),
    (batching, "send", ["send new1", "send new2"]),
]


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(
    ("agent", "name", "expected"), REACHED, ids=[one.__name__ for one, _, _ in REACHED]
)
async def test_what_waits_gets_the_state_as_it_was_left(
    kind: str, tmp_path: Path, agent: Any, name: str, expected: list[Any], restarts: bool
) -> None:
    """Design 3, rule 8: a step, a tool, a part, an inner agent, a task, a whole batch."""
    async with world_with(kind, tmp_path, agent, before=[name]) as world:
        talk = Conversation(world)
        await talk.say()
        assert "note" not in next(iter(talk.pending.values()))["metadata"]["sayso"]
        if restarts:
            await talk.restart()
        await talk.answer_all_with(GO, state={**talk.client.model.state, "x": "new"})
        assert talk.run.outcome == "success"
        assert sorted(world.effects) == expected
        assert talk.client.model.state["x"] == "new"
        assert talk.client.model.state["done"] is True


async def test_a_changed_call_counts_as_edited(kind: str, tmp_path: Path) -> None:
    """TB-15: what was proposed stays in the history, and the result names what ran."""
    async with world_with(kind, tmp_path, calling, before=["send"], after=["send"]) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.answer_all_with(GO, state={"x": "new"})
        await talk.restart()
        run = await talk.answer_all_with(GO)
        assert run.last["result"][:2] == [{"text": "new"}, True]
        assert 'ran with {"text":"new"}' in run.last["result"][2]
        assert world.effects == ["send new"]
        (proposed,) = [c for m in talk.history for c in m.get("toolCalls", ())]
        assert proposed["function"]["arguments"] == '{"text":"old"}'


async def test_a_crash_behind_the_effect_finds_what_ran(kind: str, tmp_path: Path) -> None:
    """The record of it was made with the changed state, and so is every later replay."""
    async with world_with(kind, tmp_path, reading_early, before=["work"]) as world:
        talk = Conversation(world)
        await talk.say()
        window = world.process.window
        window.fail("commit", match=lambda c: c.release, hook=window.disconnect)
        await talk.answer_all_with(GO, state={**talk.client.model.state, "x": "new"})
        await talk.recover()
        assert world.effects == ["new"]
        assert talk.client.model.state == {"x": "new", "status": "working on old", "done": True}


async def test_after_stop_nothing_runs(kind: str, tmp_path: Path) -> None:
    """The code comes to the breakpoint by the state of before, and ends there."""
    async with world_with(kind, tmp_path, stepping, before=["work"]) as world:
        talk = Conversation(world)
        await talk.say()
        run = await talk.answer_all_with(STOP, state={"x": "new"})
        assert (run.outcome, world.effects) == ("cancelled", [])


@pytest.mark.parametrize("how", ["step", "call"])
async def test_other_arguments_than_were_shown_do_not_run(
    kind: str, tmp_path: Path, how: str
) -> None:
    """Rule 6: nobody changed the state, so it is the code that differs; the question stays."""

    async def agent(turn: Turn, world: World) -> None:
        text = f"{random.random():.9f}"  # noqa: S311 - what is to be found out
        if how == "call":
            await turn.call(world.tools.send, text=text)
        else:
            await turn.step.options(name="send")(world.effect, text)

    async with world_with(kind, tmp_path, agent, before=["send"]) as world:
        talk = Conversation(world)
        await talk.say()
        asked = talk.client.model.pending
        run = await talk.answer_all_with(GO)
        assert (run.outcome, world.effects) == ("replay_mismatch", [])
        await talk.connect()
        assert talk.client.model.pending == asked


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("more", [{}, {"title": "T"}])
async def test_what_was_not_changed_reads_as_it_did(
    kind: str, tmp_path: Path, more: dict[str, Any], restarts: bool
) -> None:
    """What counts up in front of a breakpoint is not counted twice, whatever else was changed."""

    async def agent(turn: Turn, world: World) -> None:
        await turn.set("/n", 0)
        before = turn.state["n"]
        await turn.set("/n", before + 1)
        await turn.set("/log", [*turn.state.get("log", ()), "began"])
        told = (before, turn.state["n"], list(turn.state["log"]), turn.state.get("title"))
        await turn.step.options(name="work")(world.effect, told)
        await turn.set("/n", turn.state["n"] + 1)

    async with world_with(kind, tmp_path, agent, before=["work"]) as world:
        talk = Conversation(world)
        await talk.say()
        if restarts:
            await talk.restart()
        await talk.answer_all_with(GO, state={**talk.client.model.state, **more})
        assert world.effects == [(0, 1, ["began"], more.get("title"))]
        assert talk.client.model.state == {"n": 2, "log": ["began"], **more}


async def test_fewer_writes_than_before_lose_no_later_one(kind: str, tmp_path: Path) -> None:
    """A write that the changed state leaves out does not stand for the next one."""

    async def agent(turn: Turn, world: World) -> None:
        await turn.set("/flag", True)
        await turn.say("one")
        if turn.state["flag"]:
            await turn.set("/extra", 1)
        await turn.step.options(name="work")(world.effect, "work")
        await turn.set("/done", True)
        await turn.interrupt("confirmation", "ok?")

    async with world_with(kind, tmp_path, agent, before=["work"]) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.answer_all_with(GO, state={"flag": False})
        assert talk.client.model.state == {"flag": False, "done": True}
        await talk.restart()
        run = await talk.answer_all_with({"approved": True})
        assert (run.outcome, world.effects) == ("success", ["work"])
        assert talk.client.model.state == {"flag": False, "done": True}


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(
    ("flags", "more"), [([False], "False 1"), (["other", False], "False other")]
)
async def test_writes_on_the_way_stay_as_they_were_made_and_shown(
    kind: str, tmp_path: Path, flags: list[Any], more: str, restarts: bool
) -> None:
    """Each by what it writes: none that is left out or new shifts the others."""

    async def agent(turn: Turn, world: World) -> None:
        await turn.set("/flag", True)
        await turn.say("one")
        flag = turn.state["flag"]
        if flag is True:
            await turn.set("/extra", "made")
        await turn.set("/x", f"{flag} 1")
        await turn.set("/x", f"{turn.state['x']} 2")
        if flag == "other":
            await turn.set("/more", "other")
        if flag is False:
            await turn.set("/more", "1")
            await turn.set("/more", f"{flag} {turn.state['more']}")
        name = "other" if flag == "other" else "work"
        told = [turn.state["x"], turn.state.get("more")]
        await turn.step.options(name=name)(world.effect, told)

    async with world_with(kind, tmp_path, agent, before=["work", "other"]) as world:
        talk = Conversation(world)
        await talk.say()
        for flag in flags:
            if restarts:
                await talk.restart()
            await talk.answer_all_with(GO, state={**talk.client.model.state, "flag": flag})
        if talk.pending:
            await talk.answer_all_with(GO)
        assert (talk.run.outcome, world.effects) == ("success", [["True 1 2", more]])


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_write_that_the_changed_state_brings_is_not_lost(
    kind: str, tmp_path: Path, restarts: bool
) -> None:
    """It takes the place of none that was made, whatever comes before and behind it."""

    async def agent(turn: Turn, world: World) -> None:
        await turn.set("/flag", True)
        await turn.set("/n", 0)
        await turn.say("one")
        if turn.state["flag"]:
            await turn.set("/extra", 1)
        else:
            await turn.set("/other", turn.state["n"])
        await turn.set("/n", turn.state["n"] + 1)
        told = [turn.state["n"], turn.state.get("other")]
        await turn.step.options(name="work")(world.effect, told)
        await turn.set("/done", True)
        await turn.interrupt("confirmation", "ok?")

    async with world_with(kind, tmp_path, agent, before=["work"]) as world:
        talk = Conversation(world)
        await talk.say()
        if restarts:
            await talk.restart()
        await talk.answer_all_with(GO, state={**talk.client.model.state, "flag": False})
        left = {"flag": False, "n": 1, "extra": 1, "other": 0, "done": True}
        assert talk.client.model.state == left
        if restarts:
            await talk.restart()
        run = await talk.answer_all_with({"approved": True})
        assert (run.outcome, world.effects) == ("success", [[1, 0]])
        assert talk.client.model.state == left


async def choosing(turn: Turn, world: World) -> None:
    """Goes where the state says."""
    await turn.set("/way", "send")
    way = turn.state["way"]
    if way in ("send", "drop"):
        await turn.call(way, text=way)
    elif way == "step":
        await turn.step.options(name="step")(world.effect, "step")
    elif way == "say":
        await turn.say("said")
    await turn.set("/done", True)


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(
    ("way", "asked", "expected"),
    [
        ("drop", ['Breakpoint before tool drop(text="drop"). Continue?'], ["drop drop"]),
        ("step", ["Breakpoint before step 'step'. Continue?"], ["step"]),
        ("say", [], []),
        ("nothing", [], []),
    ],
)
async def test_code_that_goes_another_way_waits_there_and_leaves_no_call_open(
    kind: str, tmp_path: Path, way: str, asked: list[str], expected: list[Any], restarts: bool
) -> None:
    """TC-16: what was proposed and is not made any more has its one result, which says so."""
    async with world_with(kind, tmp_path, choosing, before="*") as world:
        talk = Conversation(world)
        await talk.say()
        await talk.answer_all_with(GO, state={"way": way})
        assert (talk.asked, world.effects) == (asked, [])
        if restarts:
            await talk.restart()
        if asked:
            await talk.answer_all_with(GO)
        assert talk.run.outcome == "success"
        assert world.effects == expected
        assert talk.client.model.state == {"way": way, "done": True}
        await talk.connect()
        proposed = [c["id"] for m in talk.history for c in m.get("toolCalls", ())]
        results = [m for m in talk.history if m["role"] == "tool"]
        assert sorted(m["toolCallId"] for m in results) == sorted(proposed)
        assert results[0]["content"].startswith("Not executed")


async def alone(turn: Turn, world: World) -> None:
    """A task that is named by its first call."""
    await turn.set("/x", "old")
    await turn.gather(turn.step.options(name="send")(world.effect, turn.state["x"]))


async def half_a_batch(turn: Turn, world: World) -> None:
    """A call of it has run."""
    await turn.set("/x", "old")
    tools = (world.tools.drop, world.tools.send)
    await turn.call_all([ToolCall(one, {"text": turn.state["x"]}) for one in tools])


@pytest.mark.parametrize("agent", [alone, half_a_batch])
async def test_arguments_that_no_change_reaches_are_said_to_stay(
    kind: str, tmp_path: Path, agent: Callable[..., Any]
) -> None:
    """What was shown runs, and the card says beforehand that it will."""
    async with world_with(kind, tmp_path, agent, before=["send"]) as world:
        talk = Conversation(world)
        await talk.say()
        (item,) = talk.client.model.pending
        assert item["metadata"]["sayso"]["note"] == KEEPS
        run = await talk.answer_all_with(GO, state={"x": "new"})
        assert run.outcome == "success"
        assert world.effects in (["old"], ["drop old", "send old"])


async def test_an_argument_that_no_change_reaches_is_bound_whatever_else_is_edited(
    kind: str, tmp_path: Path
) -> None:
    """Rule 8: the card said that it stays; where code gives another, nothing runs."""

    async def agent(turn: Turn, world: World) -> None:
        text = f"{random.random():.9f}"  # noqa: S311 - what is to be found out
        calls = [
            ToolCall(world.tools.drop, {"text": "same"}),
            ToolCall(world.tools.send, {"text": text}),
        ]
        await turn.call_all(calls)

    async with world_with(kind, tmp_path, agent, before=["send"]) as world:
        talk = Conversation(world)
        await talk.say()
        (item,) = talk.client.model.pending
        assert item["metadata"]["sayso"]["note"] == KEEPS
        run = await talk.answer_all_with(GO, state={"title": "T"})
        assert (run.outcome, world.effects) == ("replay_mismatch", ["drop same"])


async def test_tasks_that_were_made_on_the_way_run_once(kind: str, tmp_path: Path) -> None:
    """Their names come from what they were called with; what is behind them is reached."""

    async def agent(turn: Turn, world: World) -> None:
        await turn.set("/x", "old")
        await turn.gather(
            turn.step.options(name="a")(world.effect, "a " + turn.state["x"]),
            turn.step.options(name="b")(world.effect, "b " + turn.state["x"]),
        )
        await turn.step.options(name="work")(world.effect, turn.state["x"])

    async with world_with(kind, tmp_path, agent, before=["work"]) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart()
        await talk.answer_all_with(GO, state={"x": "new"})
        assert world.effects == ["a old", "b old", "new"]


async def test_two_breakpoints_in_a_row_are_changed_each(kind: str, tmp_path: Path) -> None:
    """Each change reaches what waits at it, and no earlier record."""

    async def agent(turn: Turn, world: World) -> None:
        await turn.set("/x", "zero")
        for name in ("one", "two"):
            await turn.step.options(name=name)(world.effect, f"{name} {turn.state['x']}")

    async with world_with(kind, tmp_path, agent, before="*") as world:
        talk = Conversation(world)
        await talk.say()
        for value in ("first", "second"):
            await talk.restart()
            await talk.answer_all_with(GO, state={"x": value})
        assert talk.run.outcome == "success"
        assert world.effects == ["one first", "two second"]


async def test_a_tool_runs_with_arguments_that_are_given_at_its_breakpoint(
    kind: str, tmp_path: Path
) -> None:
    """Also those of a batch of which other calls have run; the schema is the tool's own."""
    async with world_with(kind, tmp_path, half_a_batch, before=["send"], after=["send"]) as world:
        talk = Conversation(world)
        await talk.say()
        for wrong in ({"text": 7}, {"txet": "x"}, {}):
            run = await talk.answer_all_with({**GO, "editedArgs": wrong})
            assert run.outcome == "invalid_payload"
        run = await talk.answer_all_with({**STOP, "editedArgs": {"text": "given"}})
        assert run.outcome == "invalid_payload"
        await talk.restart()
        await talk.answer_all_with({**GO, "editedArgs": {"text": "given"}})
        (item,) = talk.client.model.pending
        assert item["metadata"]["sayso"]["arguments"] == {"text": "given"}
        assert item["metadata"]["sayso"]["result"] == "sent given"
        await talk.restart()
        run = await talk.answer_all_with(GO)
        assert run.outcome == "success"
        assert world.effects == ["drop old", "send given"]
        (result,) = [m["content"] for m in talk.history if "given" in str(m.get("content"))]
        assert 'ran with {"text":"given"}' in result


async def test_an_edit_back_to_what_the_changed_state_gives_is_still_an_edit(
    kind: str, tmp_path: Path
) -> None:
    """TB-15: what was proposed is neither, so the result names what ran."""

    def declare(app: Sayso) -> None:
        both = approval.all_of(approval.always, approval.when(lambda text: text == "third"))

        @app.tool(approval=both, editable=True)
        def send(text: str) -> None:
            world.effects.append(text)

        @app.agent("agent", breakpoints=Breakpoints(before="send"))
        async def run(turn: Turn) -> Any:
            await turn.set("/x", "old")
            call = await turn.call(send, text=turn.state["x"])
            return [call.args, call.edited]

    world = World(kind, tmp_path, declare)
    async with world:
        talk = Conversation(world)
        await talk.say()
        await talk.answer_all_with(GO, state={"x": "new"})
        for text in ("third", "new"):
            await talk.restart()
            assert talk.asked
            await talk.answer_all_with({"approved": True, "editedArgs": {"text": text}})
        assert (talk.run.last["result"], world.effects) == ([{"text": "new"}, True], ["new"])


async def test_arguments_at_a_breakpoint_are_judged_by_the_rules(kind: str, tmp_path: Path) -> None:
    """TB-07: what a rule denies is refused at its member, and the question stays open."""

    def declare(app: Sayso) -> None:
        @app.tool(approval=approval.deny(lambda text: text == "no"))
        def send(text: str) -> None:
            world.effects.append(text)

        @app.agent("agent", breakpoints=Breakpoints(before="send"))
        async def run(turn: Turn) -> None:
            await turn.call(send, text="yes")

    world = World(kind, tmp_path, declare)
    async with world:
        talk = Conversation(world)
        await talk.say()
        run = await talk.answer_all_with({**GO, "editedArgs": {"text": "no"}})
        assert (run.outcome, world.effects) == ("invalid_payload", [])
        await talk.answer_all_with({**GO, "editedArgs": {"text": "other"}})
        assert world.effects == ["other"]


async def test_behind_a_step_its_result_is_shown_and_another_goes_on(
    kind: str, tmp_path: Path
) -> None:
    """The step's record stays; the author gets what was given, now and on each later replay."""

    async def agent(turn: Turn, world: World) -> Any:
        async def write() -> int:
            world.effects.append("written")
            return 1

        draft = await turn.step.options(name="write")(write)
        await turn.set("/draft", draft)
        await turn.interrupt("confirmation", "ok?")
        return [draft, turn.state["draft"]]

    async with world_with(kind, tmp_path, agent, after=["write"]) as world:
        talk = Conversation(world)
        await talk.say()
        (item,) = talk.client.model.pending
        assert item["metadata"]["sayso"]["result"] == 1
        await talk.restart()
        run = await talk.answer_all_with({**GO, "result": "two"})
        assert run.outcome == "invalid_payload"
        await talk.answer_all_with({**GO, "result": 2})
        await talk.restart()
        run = await talk.answer_all_with({"approved": True})
        assert run.last["result"] == [2, 2]
        assert world.effects == ["written"]
        (step,) = [one for one in await world.journal(talk.thread) if one.kind == "step"]
        assert b'"value":1' in step.data
