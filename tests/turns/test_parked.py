"""Calls in tasks of a framework: `turn.parked` hides the pause, `turn.halted` tells of it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sayso import Pause, Sayso, Turn, approval
from tests.turns.driver import Conversation, World, ticks

YES = {"approved": True}
Work = Callable[[], Awaitable[Any]]


async def all_or_none(*works: Work) -> list[Any]:
    """A framework that cancels the others when one of its tasks ends without a result."""
    tasks = [asyncio.ensure_future(work()) for work in works]
    left: set[asyncio.Future[Any]] = set(tasks)
    while left:
        done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        if any(task.cancelled() or task.exception() for task in done):
            for task in left:
                task.cancel()
    return [None if task.cancelled() else task.result() for task in tasks]


async def each_or_nothing(*works: Work) -> list[Any]:
    """A framework that takes a cancelled task for one that has ended with nothing."""
    return await asyncio.gather(*map(swallowed, works))


async def swallowed(work: Work) -> Any:
    try:
        return await work()
    except BaseException:
        return None


def tools(world: World, app: Sayso) -> Any:
    @app.tool(approval=approval.always)
    async def pay(to: str) -> str:
        world.effect(f"paid {to}")
        return f"paid {to}"

    @app.tool()
    async def look(at: str) -> str:
        await world.slowly(f"looked at {at}")
        return f"saw {at}"

    return None


@pytest.mark.parametrize("framework", [all_or_none, each_or_nothing])
async def test_a_framework_sees_no_pause(
    kind: str, tmp_path: Path, framework: Callable[..., Awaitable[list[Any]]]
) -> None:
    """Siblings that ask later ask too, a slow free one runs once, and nothing is made up."""

    async def agent(turn: Turn, world: World) -> Any:
        async def call(tool: str, wait: int, **arguments: Any) -> Any:
            await ticks(wait)
            return (await turn.parked(turn.call(tool, arguments))).value

        return await framework(
            lambda: call("pay", 0, to="ann"),
            lambda: call("pay", 40, to="ben"),
            lambda: call("look", 3, at="the stock"),
        )

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        run = await talk.say()
        assert len(run.interrupts) == 2
        assert world.effects == ["looked at the stock"]
        await talk.restart()
        run = await talk.answer_all_with(YES)
        assert run.last["result"] == ["paid ann", "paid ben", "saw the stock"]
        assert sorted(world.effects) == ["looked at the stock", "paid ann", "paid ben"]


async def test_without_it_a_framework_makes_something_of_the_pause(
    kind: str, tmp_path: Path
) -> None:
    """The control: the sibling that had not asked yet is cancelled, and asks a round later."""

    async def agent(turn: Turn, world: World) -> Any:
        async def call(wait: int, to: str) -> Any:
            await ticks(wait)
            return (await turn.call("pay", {"to": to})).value

        return await all_or_none(lambda: call(0, "ann"), lambda: call(40, "ben"))

    async with World.of(kind, tmp_path, agent, tools) as world:
        run = await Conversation(world).say()
        assert len(run.interrupts) == 1


async def test_a_cancellation_that_the_framework_wants_passes(kind: str, tmp_path: Path) -> None:
    """A timeout of its own around work that only waits ends that work."""

    async def agent(turn: Turn, world: World) -> Any:
        never = asyncio.get_running_loop().create_future()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await turn.parked(never)
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        gone.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await turn.parked(gone)
        assert not isinstance(caught.value, Pause)
        with pytest.raises(ValueError, match="mine"):
            await turn.parked(failing())
        return turn.halted

    async def failing() -> None:
        raise ValueError("mine")

    async with World.of(kind, tmp_path, agent, tools) as world:
        run = await Conversation(world).say()
        assert run.last["result"] is False


async def test_halted_tells_a_pause_from_a_cancellation(kind: str, tmp_path: Path) -> None:
    """Code that catches everything asks it, before it goes on to a next round."""
    seen: list[tuple[str, bool]] = []

    async def agent(turn: Turn, world: World) -> Any:
        seen.append(("begins", turn.halted))

        async def asking() -> None:
            try:
                await turn.interrupt("confirmation", "Sure?")
            except asyncio.CancelledError as error:
                seen.append((type(error).__name__, turn.halted))
                raise

        async def looking() -> bool:
            return turn.halted

        try:
            await asyncio.create_task(asking())
        except asyncio.CancelledError:
            seen.append(("the agent", turn.halted))
            seen.append(("a new task", await asyncio.create_task(looking())))
            raise

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        await talk.say()
        assert seen == [
            *(("begins", False), ("Pause", True), ("the agent", True)),
            ("a new task", False),
        ]
        await talk.answer_all_with(YES)
        assert seen[-1] == ("begins", False)
        assert talk.run.outcome == "success"


async def test_a_parked_agent_function_rests_at_once(kind: str, tmp_path: Path) -> None:
    """Nothing of the turn is left that could go on, so nothing waits for that."""

    async def agent(turn: Turn, world: World) -> Any:
        answer = await turn.parked(turn.interrupt("confirmation", "Sure?"))
        return answer.status

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        assert (await talk.say()).outcome == "interrupt"
        assert (await talk.answer_all_with(YES)).last["result"] == "resolved"


async def test_work_of_another_task_may_be_awaited_parked(kind: str, tmp_path: Path) -> None:
    """The task that waits for it has made no call of its own, and is closed all the same."""
    ended: list[str] = []

    async def agent(turn: Turn, world: World) -> Any:
        asked = asyncio.ensure_future(turn.interrupt("confirmation", "Sure?"))

        async def waiting() -> str:
            try:
                return (await turn.parked(asked)).status
            finally:
                ended.append("closed")

        return await asyncio.create_task(waiting())

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        assert (await talk.say()).outcome == "interrupt"
        assert ended == ["closed"]
        assert (await talk.answer_all_with(YES)).last["result"] == "resolved"


async def test_what_is_parked_when_the_turn_is_stopped_is_closed(kind: str, tmp_path: Path) -> None:
    """A person stops at a question beside it; the call that waits gets its one result."""

    async def agent(turn: Turn, world: World) -> Any:
        async def call() -> Any:
            return await turn.parked(turn.call("pay", {"to": "ann"}))

        return await all_or_none(call)

    async with World.of(kind, tmp_path, agent, tools) as world:
        talk = Conversation(world)
        await talk.say()
        run = await talk.cancel(*talk.pending)
        assert run.outcome == "success"
        assert world.effects == []
