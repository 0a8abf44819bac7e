"""Code under a key: found by its name, in whatever order it is come to (design 3, rule 3)."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from sayso import Breakpoints, ToolCall, Turn
from sayso.base.errors import NestedCall, TurnError
from tests.contract.rest import call
from tests.turns.driver import Conversation, World, until
from tests.turns.endings import endings
from tests.turns.framework import Framework


async def ask(turn: Turn, message: str) -> Any:
    return (await turn.interrupt("input_required", message, schema=str)).value


async def test_parts_are_found_by_key_in_whatever_order_they_come(
    kind: str, tmp_path: Path
) -> None:
    """The code comes for them in another order after each restart, and to some not at all."""
    orders = iter(["abc", "cab", "ca", "c"])

    async def agent(turn: Turn, world: World) -> Any:
        done = {}
        for key in next(orders):
            async with turn.at(key):
                done[key] = await turn.step(world.effect, f"effect {key}")
        done["c"] = await turn.step(world.effect, "after")
        for number in range(3):
            async with turn.at("c"):
                done[f"c{number}"] = await turn.step(world.effect, f"c {number}")
            await ask(turn, f"{number}?")
        return done

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        for number in range(3):
            await talk.restart()
            run = await talk.answer({f"{number}?": "x"})
        assert run.last["result"] == {"c": "after", "c0": "c 0", "c1": "c 1", "c2": "c 2"}
        assert world.effects == [
            "effect a", "effect b", "effect c", "after", "c 0", "c 1", "c 2",
        ]  # fmt: skip
        places = [entry.place for entry in await world.journal(talk.thread)]
        assert [place for place in places if place.startswith("@")] == [
            "@a/0", "@b/0", "@c/0", "@c/1", "@c/2", "@c/3",
        ]  # fmt: skip


async def test_nothing_inside_waits_for_the_ends_of_others(kind: str, tmp_path: Path) -> None:
    """A part that is not come for again holds up no other: not for an instant of the stall's."""
    entered = 0

    async def agent(turn: Turn, world: World) -> Any:
        nonlocal entered
        entered += 1
        if entered == 1:
            for key in ("x", "y", "z"):
                async with turn.at(key):
                    await turn.step(world.effect, key)
            await turn.step(world.effect, "root")
        async with turn.at("live"):
            await turn.step(world.effect, f"live {entered}" if entered == 1 else "live 1")
            await ask(turn, "Sure?")
            await turn.step(world.effect, "live 2")
        if entered == 2:
            await turn.step(world.effect, "root")
        return await turn.step(world.effect, "end")

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sayso.turns.replay.replay_order.ReplayOrder._stalled", None)
            run = await talk.answer({"Sure?": "x"})
        assert run.last["result"] == "end"
        assert world.effects == ["x", "y", "z", "root", "live 1", "live 2", "end"]


async def test_a_question_of_a_part_waits_and_its_answer_finds_it(
    kind: str, tmp_path: Path
) -> None:
    """Two parts ask together, in tasks; the code comes for them in another order later."""
    orders = iter([("a", "b"), ("b", "a")])

    async def agent(turn: Turn, world: World) -> Any:
        async def part(key: str) -> Any:
            async with turn.at(key):
                before = await turn.step(world.effect, f"before {key}")
                return [before, await ask(turn, f"{key}?")]

        keys = next(orders)
        return dict(zip(keys, await turn.gather(*map(part, keys)), strict=True))

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        assert talk.asked == ["a?", "b?"]
        await talk.restart()
        run = await talk.answer({"a?": "A", "b?": "B"})
        assert run.last["result"] == {"a": ["before a", "A"], "b": ["before b", "B"]}
        assert world.effects == ["before a", "before b"]


@pytest.mark.parametrize("left", ["question", "unsure"])
async def test_a_part_that_waits_and_is_not_come_for_is_changed_code(
    kind: str, tmp_path: Path, left: str
) -> None:
    """Design 3, rule 9: what is done may be left out, what waits or may have happened may not."""
    entered = 0

    async def agent(turn: Turn, world: World) -> Any:
        nonlocal entered
        entered += 1
        if entered == 1:
            async with turn.at("left"):
                if left == "question":
                    await ask(turn, "Sure?")

                async def dies() -> None:
                    await world.process.die()

                await turn.step(dies)
        return "other code"

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        if left == "question":
            await talk.restart()
            await talk.answer({"Sure?": "x"})
        else:
            await talk.recover()
        run = (await world.view(talk.thread)).run
        assert run is not None
        assert run.outcome is not None
        assert b'"replay_mismatch"' in run.outcome
        assert b"@left/0" in run.outcome


async def test_a_part_that_asks_for_something_else_is_changed_code(
    kind: str, tmp_path: Path
) -> None:
    entered = 0

    async def agent(turn: Turn, world: World) -> Any:
        nonlocal entered
        entered += 1
        async with turn.at("part"):
            await turn.step(world.effect, entered)
        await ask(turn, "Sure?")

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart()
        run = await talk.answer({"Sure?": "x"})
        assert run.outcome == "replay_mismatch", run.last
        assert world.effects == [1]
        assert talk.asked == ["Sure?"] or (await talk.connect()).interrupts


async def test_one_key_in_two_tasks_at_once_is_an_error(kind: str, tmp_path: Path) -> None:
    """One after the other they are one line of work."""

    async def agent(turn: Turn, world: World) -> Any:
        inside, go, over = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def first() -> Any:
            async with turn.at("one"):
                inside.set()
                await go.wait()
                await turn.step(world.effect, "first")
            over.set()

        async def second() -> Any:
            await inside.wait()
            with pytest.raises(TurnError, match=r"two tasks are in turn\.at\('one'\) at once"):
                async with turn.at("one"):
                    raise AssertionError
            go.set()
            await over.wait()
            async with turn.at("one"):
                await turn.step(world.effect, "second")

        await turn.gather(first(), second())

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.outcome == "success", run.last
        assert world.effects == ["first", "second"]


async def test_keys_are_those_of_the_agent_tool_or_part_around(kind: str, tmp_path: Path) -> None:
    """So an inner agent that is called twice has each its own; a task of its own has the same."""

    async def inner(turn: Turn) -> Any:
        async def task() -> Any:
            async with turn.at("k"):
                return await turn.uuid()

        await turn.now()
        return str(await asyncio.create_task(task()))

    async def agent(turn: Turn, world: World) -> Any:
        first = await turn.delegate(inner)
        second = await turn.delegate(inner)
        async with turn.at("k"), turn.at("k"):
            await turn.now()
        return first != second

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert run.last["result"] is True
        places = [entry.place for entry in await world.journal(talk.thread)]
        assert [place for place in places if "@" in place] == [
            "0:inside/@k/0", "2:inside/@k/0", "@k/@k/0",
        ]  # fmt: skip


async def test_a_message_opened_inside_is_written_and_closed_behind_it(
    kind: str, tmp_path: Path
) -> None:
    """Pieces of two messages come mixed, as a framework's parallel nodes speak."""

    async def agent(turn: Turn, world: World) -> Any:
        async with contextlib.AsyncExitStack() as stack:
            messages = {}
            for key in ("a", "b"):
                async with turn.at(f"text:{key}"):
                    messages[key] = await stack.enter_async_context(turn.message())
            for piece in ("1", "2"):
                for key, message in messages.items():
                    await message.write(key + piece)
        return await ask(turn, "Sure?")

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        await talk.say()
        ids = {m["content"]: m["id"] for m in talk.history if m["role"] == "assistant"}
        assert set(ids) == {"a1a2", "b1b2"}
        await talk.restart()
        run = await talk.answer({"Sure?": "yes"})
        assert run.last["result"] == "yes"
        assert {m["content"]: m["id"] for m in talk.history if m["role"] == "assistant"} == ids


async def test_a_part_may_be_an_inner_agents_work(kind: str, tmp_path: Path) -> None:
    """Clients see it begin with the first that it does, once in each run, and end."""

    async def agent(turn: Turn, world: World) -> Any:
        async with turn.at("r", agent="researcher", description="reads"):
            await turn.note("entered", 1)
        async with turn.at("silent", agent="nobody"):
            pass
        async with turn.at("r", agent="researcher"):
            await turn.say("Reading.")
        part = turn.at("r", agent="researcher")
        async with part:
            answer = await ask(turn, "Which?")
            await turn.say(f"Read {answer}.")
        await part.end()
        with pytest.raises(TurnError, match="which has ended"):
            async with turn.at("r", agent="researcher"):
                pass
        with pytest.raises(TurnError, match="has ended"):
            await part.end()
        await turn.say("Mine.")

    def agents(run: Any) -> list[Any]:
        return [
            [event["type"].partition("_")[2], event.get("name"), event.get("description")]
            for event in run.events
            if event["type"].startswith("SUBAGENT_")
        ]

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert agents(run) == [["STARTED", "researcher", "reads"], ["FINISHED", None, None]]
        (item,) = talk.client.model.pending
        assert item["metadata"]["sayso"]["path"] == ["researcher"]
        await talk.restart()
        run = await talk.answer({"Which?": "all"})
        assert agents(run) == [["STARTED", "researcher", "reads"], ["FINISHED", None, None]]
        await talk.connect()
        owners = {
            m["content"]: m.get("subagentRunId") for m in talk.history if m["role"] == "assistant"
        }
        assert owners["Reading."] == owners["Read all."] is not None
        assert owners["Mine."] is None


async def test_an_inner_agents_work_may_end_in_an_error(kind: str, tmp_path: Path) -> None:
    async def agent(turn: Turn, world: World) -> Any:
        async with turn.at("r", agent="researcher") as part:
            await part.end(error="the source is gone")

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        (event,) = [e for e in run.events if e["type"] == "SUBAGENT_ERROR"]
        assert event["message"] == "the source is gone"


async def test_what_cannot_be_is_said(kind: str, tmp_path: Path) -> None:
    async def agent(turn: Turn, world: World) -> Any:
        for key in ("", None, 5):
            with pytest.raises(TypeError, match=r"the key of turn\.at is a text"):
                turn.at(key)  # type: ignore[arg-type]  # that is the point
        with pytest.raises(TypeError, match=r"agent= of turn\.at is the name"):
            turn.at("a", agent=agent)  # type: ignore[arg-type]  # that is the point
        with pytest.raises(TurnError, match="no agent= whose work"):
            await turn.at("a").end()
        async with turn.at("a", agent="one"):
            pass
        with pytest.raises(TurnError, match="is the work of agent 'one', not of 'two'"):
            async with turn.at("a", agent="two"):
                pass

        async def step() -> None:
            with pytest.raises(NestedCall, match="inside a recorded step"):
                async with turn.at("a"):
                    pass

        await turn.step(step)
        return "said"

    async with World.of(kind, tmp_path, agent) as world:
        run = await Conversation(world).say()
        assert run.last["result"] == "said"


def of_tools(turn: Turn, world: World) -> Any:
    """What a node does: a call of a tool by the first letter of its name."""

    async def calls(name: str) -> Any:
        tool = {"f": world.tools.free, "g": world.tools.gated}[name[0]]
        return (await turn.call(tool, n=int(name[1:]))).value

    return calls


NODES = [["f1"], ["f2", "g3", "g4"], ["f5"], ["g6"]]
VALUES = {name: f"{'free' if name[0] == 'f' else 'gated'} {name[1:]}" for n in NODES for name in n}


async def pumping(turn: Turn, world: World) -> Any:
    return await Framework(turn, NODES, of_tools(turn, world)).pump()


async def test_a_framework_beside_the_turn_asks_at_once_and_goes_on(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parallel nodes ask together, their siblings are noted, and no second is waited for."""
    monkeypatch.setattr("sayso.turns.replay.quiescence.IDLE_S", 3600)
    async with World.of(kind, tmp_path, pumping, endings) as world:
        talk = Conversation(world)
        await talk.say()
        assert talk.asked == ["Approve gated(n=3)?", "Approve gated(n=4)?"]
        notes = [e.data for e in await world.journal(talk.thread) if e.kind == "note"]
        assert len(notes) == 2
        await talk.restart()
        await talk.answer_all(lambda _: {"approved": True})
        assert talk.asked == ["Approve gated(n=6)?"]
        await talk.restart()
        run = await talk.answer_all(lambda _: {"approved": True})
        assert run.last["result"] == VALUES
        assert sorted(world.effects) == sorted(VALUES.values())


async def test_a_copy_of_a_framework_repeats_nothing(kind: str, tmp_path: Path) -> None:
    """Design 3: a copy has the parts up to its pause, and the other answer is tried there."""
    async with World.of(kind, tmp_path, pumping, endings) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.answer_all(lambda _: {"approved": True})
        (item,) = talk.client.model.pending
        await talk.answer_all(lambda _: {"approved": True})
        before = list(world.effects)
        body = {"interruptId": item["id"]}
        made = await call(world.app, "POST", f"/threads/{talk.thread}/fork", body)
        copy = Conversation(world, thread=made.json["threadId"])
        await copy.connect()
        run = await copy.answer_all(lambda _: {"approved": False})
        assert run.last["result"] == {**VALUES, "g6": None}
        assert world.effects == before


async def test_a_stop_ends_a_framework_that_rests(kind: str, tmp_path: Path) -> None:
    """While it waits its code is not entered; while it runs its tasks are let go."""

    async def agent(turn: Turn, world: World) -> Any:
        world.effects.append("entered")
        return await turn.resting(asyncio.Event().wait())

    async with World.of(kind, tmp_path, agent) as world:
        talk = Conversation(world)
        talk.client.user("go")
        talk._to_present()
        exchange = talk.client.open()
        await until(lambda: world.effects)
        stopped = await call(world.app, "POST", f"/threads/{talk.thread}/stop")
        assert stopped.status in (200, 202, 204)
        run = await exchange.end()
        assert run.outcome == "cancelled"


async def test_breakpoints_stand_around_what_is_in_a_part(kind: str, tmp_path: Path) -> None:
    """And around an inner agent's work, as around one that is delegated to."""

    async def agent(turn: Turn, world: World) -> Any:
        async with turn.at("r", agent="researcher") as part:
            await turn.step.options(name="read")(world.effect, "read")
            await part.end()
        return "over"

    points = Breakpoints(before=["researcher"], after=["read", "researcher"])
    async with World.of(kind, tmp_path, agent, breakpoints=points) as world:
        talk = Conversation(world)
        await talk.say()
        seen = []
        for _ in range(3):
            seen += talk.asked
            await talk.restart()
            run = await talk.answer_all(lambda _: {"action": "continue"})
        assert [text.partition(".")[0] for text in seen] == [
            "Breakpoint before agent 'researcher'",
            "Breakpoint after step 'read'",
            "Breakpoint after agent 'researcher'",
        ]
        assert run.last["result"] == "over"
        assert world.effects == ["read"]


async def test_a_batch_in_a_part_that_asks_keeps_what_is_free(kind: str, tmp_path: Path) -> None:
    """Its end is numbered and waited for by nobody else."""

    async def agent(turn: Turn, world: World) -> Any:
        async def part() -> Any:
            async with turn.at("calls:1"):
                calls = [
                    ToolCall(world.tools.free, {"n": 1}),
                    ToolCall(world.tools.gated, {"n": 2}),
                ]
                return [outcome.value for outcome in await turn.call_all(calls)]

        async def beside() -> Any:
            return await turn.step(world.effect, "beside")

        return await turn.gather(part(), beside())

    async with World.of(kind, tmp_path, agent, endings) as world:
        talk = Conversation(world)
        await talk.say()
        assert sorted(world.effects) == ["beside", "free 1"]
        await talk.restart()
        run = await talk.answer_all(lambda _: {"approved": True})
        assert run.last["result"] == [["free 1", "gated 2"], "beside"]
