"""Code that changes under an open turn (design 3, rule 9)."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso, Turn, approval
from sayso.schemas.remember import Remember
from tests.contract.requirements import requirement
from tests.turns.driver import Conversation, World

YES = {"approved": True}


async def first(turn: Turn, world: World) -> Any:
    """The code that begins the turns."""
    await turn.step.options(name="before")(world.effect, "before")
    answer = await turn.interrupt("confirmation", "Go on?")
    await turn.step.options(name="after")(world.effect, "after")
    return ["first", answer.value]


async def renamed(turn: Turn, world: World) -> Any:
    """Asks for another step where the journal holds one."""
    await turn.step.options(name="other")(world.effect, "other")
    return (await turn.interrupt("confirmation", "Go on?")).value


async def other_arguments(turn: Turn, world: World) -> Any:
    await turn.step.options(name="before")(world.effect, "changed")
    return (await turn.interrupt("confirmation", "Go on?")).value


async def other_order(turn: Turn, world: World) -> Any:
    answer = await turn.interrupt("confirmation", "Go on?")
    await turn.step.options(name="before")(world.effect, "before")
    return answer.value


async def other_question(turn: Turn, world: World) -> Any:
    await turn.step.options(name="before")(world.effect, "before")
    return (await turn.interrupt("input_required", "Name?", schema=str)).value


async def forgetful(turn: Turn, world: World) -> Any:
    """Ends without the question that was asked."""
    await turn.step.options(name="before")(world.effect, "before")
    return "no question"


async def swallowing(turn: Turn, world: World) -> Any:
    """Catches the mismatch and would go on."""
    try:
        await turn.step.options(name="other")(world.effect, "other")
    except Exception:
        await turn.step.options(name="sly")(world.effect, "sly")
    return "sly"


async def reworded(turn: Turn, world: World) -> Any:
    """Changes texts and adds what comes later: no mismatch."""
    await turn.step.options(name="before")(world.effect, "before")
    answer = await turn.interrupt("confirmation", "Please confirm!", expires_in=5)
    await turn.say("New words.")
    await turn.step.options(name="after")(world.effect, "after")
    return ["reworded", answer.value]


@pytest.mark.parametrize(
    "changed", [renamed, other_arguments, other_order, other_question, forgetful, swallowing]
)
async def test_other_code_executes_nothing_and_the_question_stays_open(
    kind: str, tmp_path: Path, changed: Any
) -> None:
    """ReplayMismatch names the place; the code that began the turn takes the answer afterwards."""
    async with World.of(kind, tmp_path, first) as world:
        talk = Conversation(world)
        run = await talk.say()
        (item,) = run.interrupts
        await talk.restart(lambda app: world.register(app, changed))
        for _ in range(2):
            run = await talk.send([talk.entry(item["id"], YES)])
            assert run.outcome == "replay_mismatch"
            assert set(run.details) >= {"place", "recorded", "asked"}
            assert world.effects == ["before"]
        run = await talk.connect()
        assert run.interrupts == [item]
        assert [m["role"] for m in run.snapshot] == ["user"], "what is open again is not settled"
        await talk.restart()
        run = await talk.send([talk.entry(item["id"], YES)])
        assert [m["role"] for m in run.snapshot] == ["user", "activity"]
        assert run.last["result"] == ["first", True]
        assert world.effects == ["before", "after"]


async def test_a_mismatch_in_one_branch_lets_no_other_branch_begin_an_effect(
    kind: str, tmp_path: Path
) -> None:
    """Rule 9: nothing is executed, also not what was approved beside it."""

    def gathering(step: str) -> Any:
        def register(app: Sayso) -> None:
            @app.tool(approval=approval.always)
            async def pay(n: int) -> str:
                return str(world.effect(f"pay {n}"))

            @app.agent("agent")
            async def run(turn: Turn) -> None:
                async def beside() -> None:
                    for name in ("a", step):
                        await turn.step.options(name=name)(world.effect, name)

                await turn.gather(turn.call(pay, n=1), beside())

        return register

    world = World(kind, tmp_path, gathering("b"))
    async with world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart(gathering("c"))
        run = await talk.answer_all_with(YES)
        assert (run.outcome, sorted(world.effects)) == ("replay_mismatch", ["a", "b"])
        await talk.restart(gathering("b"))
        await talk.connect()
        run = await talk.answer_all_with(YES)
        assert (run.outcome, sorted(world.effects)) == ("success", ["a", "b", "pay 1"])


async def test_a_yes_that_is_open_again_leaves_no_approval_behind(
    kind: str, tmp_path: Path
) -> None:
    """Who says no to it afterwards has let no equal call pass."""

    def with_tool(*, free: bool) -> Any:
        def register(app: Sayso) -> None:
            @app.tool(approval=approval.always(remember=Remember()))
            def pay(n: int) -> str:
                return str(world.effect(f"pay {n}"))

            if free:

                @app.tool(name="free")
                def nothing() -> str:
                    return "x"

            @app.agent("agent")
            async def run(turn: Turn) -> None:
                async def beside() -> None:
                    await turn.step.options(name="a")(world.effect, "a")
                    with suppress(LookupError):
                        await turn.call("free", {})

                await turn.gather(beside(), turn.call(pay, n=1))

        return register

    async def remembered() -> list[str]:
        approvals = await world.store.approvals("default", world.clock.now())
        return [item.tool for item in approvals.items]

    world = World(kind, tmp_path, with_tool(free=True))
    async with world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart(with_tool(free=False))
        run = await talk.answer_all_with({**YES, "remember": True})
        assert (run.outcome, world.effects) == ("replay_mismatch", ["a"])
        assert await remembered() == []
        await talk.restart(with_tool(free=True))
        await talk.connect()
        run = await talk.answer_all_with({**YES, "remember": True})
        assert (run.outcome, world.effects) == ("success", ["a", "pay 1"])
        assert await remembered() == ["pay"]


async def test_other_words_and_schemas_are_no_mismatch(kind: str, tmp_path: Path) -> None:
    """Rule 3: message text and schema are not part of what is compared."""
    async with World.of(kind, tmp_path, first) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart(lambda app: world.register(app, reworded))
        run = await talk.answer({"Go on?": YES})
        assert run.last["result"] == ["reworded", True]
        assert world.effects == ["before", "after"]


@pytest.mark.parametrize("changed", [renamed, forgetful])
async def test_a_turn_that_other_code_takes_over_waits_for_its_own(
    kind: str, tmp_path: Path, changed: Any
) -> None:
    """An answer that was given is not lost when the next process has other code."""
    async with World.of(kind, tmp_path, first) as world:
        talk = Conversation(world)
        await talk.say()
        window = world.process.window
        window.fail("commit", hook=window.disconnect)
        entry = talk.entry(talk.pending["Go on?"]["id"], YES)
        assert (await talk.send([entry])).outcome == "store_unavailable"
        await world.crash(lambda app: world.register(app, changed))
        await world.elapse(15)
        run = await talk.connect()
        assert run.outcome == "replay_mismatch"
        assert world.effects == ["before"]
        await talk.restart()
        run = await talk.send([entry])
        assert run.outcome == "success"
        assert world.effects == ["before", "after"]


def both(world: World, *, old: bool, new: bool) -> Any:
    """Two versions of the agent, or one."""

    def declare(app: Sayso) -> None:
        if old:

            @app.agent("agent", version="1")
            async def one(turn: Turn) -> Any:
                return await first(turn, world)

        if new:

            @app.agent("agent", version="2")
            async def two(turn: Turn) -> Any:
                return ["second", await turn.step(world.effect, "second")]

    return declare


async def test_an_open_turn_keeps_the_version_that_it_began_with(kind: str, tmp_path: Path) -> None:
    """Old versions may stay registered; new turns get the new one."""
    async with World.of(kind, tmp_path, first) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart(both(world, old=True, new=True))
        run = await talk.answer({"Go on?": YES})
        assert run.last["result"] == ["first", True]
        run = await talk.say("again")
        assert run.last["result"] == ["second", "second"]


async def test_a_version_that_is_gone_is_refused_and_nothing_changes(
    kind: str, tmp_path: Path
) -> None:
    """`agent_version_missing`; the same answer is taken once the version is back."""
    async with World.of(kind, tmp_path, first) as world:
        talk = Conversation(world)
        await talk.say()
        await talk.restart(both(world, old=False, new=True))
        before = await world.view(talk.thread)
        run = await talk.answer({"Go on?": YES})
        assert run.outcome == "agent_version_missing"
        assert run.details["version"] == "1"
        assert await world.view(talk.thread) == before
        await talk.restart(both(world, old=True, new=True))
        run = await talk.answer({"Go on?": YES})
        assert run.last["result"] == ["first", True]


@requirement("EX-06")
async def test_expiry_does_not_disturb_a_turn_whose_code_is_gone(kind: str, tmp_path: Path) -> None:
    """The sweeper lets it rest, and goes on with it when the code is back."""

    async def expiring(turn: Turn, world: World) -> Any:
        answer = await turn.interrupt("confirmation", "Go on?", expires_in=10)
        return await turn.step.options(name="after")(world.effect, answer.status)

    async with World.of(kind, tmp_path, expiring) as world:
        talk = Conversation(world)
        await talk.say()
        for changed in (both(world, old=False, new=True), lambda app: world.register(app, renamed)):
            await talk.restart(changed)
            window = world.process.window
            await world.elapse(120)
            claims = [call for call in window.calls if call.point == "claim"]
            assert len(claims) <= 12, "a turn that cannot go on is tried less and less often"
            assert world.effects == []
        await talk.restart()
        await world.at_rest(talk.thread)
        assert world.effects == ["expired"]
