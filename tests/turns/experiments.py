"""The sixteen patterns of the design's experiments, on our Turn."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import anyio
import tenacity

from sayso import Turn
from tests.patience import PATIENCE
from tests.turns.driver import World, ticks
from tests.turns.patterns import ask, do, pattern, then_ask, two


@pattern("q", effects="B1 B2", result=["yes-q", "B"])
async def gather(turn: Turn, w: World) -> Any:
    return await asyncio.gather(ask(turn, "q"), two(turn, w, "B"))


@pattern("q", effects="B1 B2 after", result=["yes-q", "B"])
async def gather_return_exceptions(turn: Turn, w: World) -> Any:
    found = await asyncio.gather(ask(turn, "q"), two(turn, w, "B"), return_exceptions=True)
    await do(turn, w, "after")
    return found


@pattern(("q1", "q2"), result=["yes-q1", "yes-q2"])
async def gather_two_questions(turn: Turn, w: World) -> Any:
    return await asyncio.gather(ask(turn, "q1"), ask(turn, "q2"))


@pattern(("qx", "qy"), effects="x1 y1 B1 B2", result=["yes-qx", "yes-qy", "B"])
async def gather_late_questions(turn: Turn, w: World) -> Any:
    return await asyncio.gather(then_ask(turn, w, "x"), then_ask(turn, w, "y"), two(turn, w, "B"))


@pattern("q", effects="slow1 slow2 fast1 fast2", result="yes-q")
async def race_then_question(turn: Turn, w: World) -> Any:
    async def runner(name: str, turns: int) -> None:
        await do(turn, w, name + "1", turns)
        await do(turn, w, name + "2", turns)

    await asyncio.gather(runner("slow", 30), runner("fast", 2))
    return await ask(turn, "q")


@pattern("q", effects="B1 B2 after", result=["B", "yes-q"])
async def task_group(turn: Turn, w: World) -> Any:
    async with asyncio.TaskGroup() as group:
        first = group.create_task(two(turn, w, "B"))
        await ticks(2)
        second = group.create_task(ask(turn, "q"))
    await do(turn, w, "after")
    return [first.result(), second.result()]


@pattern("q", effects="B1 B2 after", result="ok")
async def anyio_group(turn: Turn, w: World) -> Any:
    async with anyio.create_task_group() as group:
        group.start_soon(two, turn, w, "B")
        await ticks(2)
        group.start_soon(ask, turn, "q")
    await do(turn, w, "after")
    return "ok"


@pattern("q", result="yes-q")
async def wait_for_a_question(turn: Turn, w: World) -> Any:
    return await asyncio.wait_for(ask(turn, "q"), PATIENCE)


@pattern("q", result="yes-q")
async def timeout_around_a_question(turn: Turn, w: World) -> Any:
    async with asyncio.timeout(PATIENCE):
        return await ask(turn, "q")


@pattern(effects="pay", fails="cancelled_call")
async def wait_for_a_step(turn: Turn, w: World) -> Any:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(do(turn, w, "pay", 2000), 0.001)
    return await ask(turn, "never asked")


@pattern("q", effects="cleanup", result="yes-q")
async def async_generator(turn: Turn, w: World) -> Any:
    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await do(turn, w, "cleanup")

    async with contextlib.aclosing(numbers()) as found:  # type: ignore[type-var]
        async for _ in found:
            return await ask(turn, "q")
    raise AssertionError("the generator was empty")


@pattern("q", effects="after", result="yes-q")
async def except_base_exception(turn: Turn, w: World) -> Any:
    try:
        found = await ask(turn, "q")
    except BaseException:
        found = "swallowed"
    await do(turn, w, "after")
    return found


@pattern("q", result="yes-q")
async def finally_return(turn: Turn, w: World) -> Any:
    found = "swallowed"
    try:
        found = await ask(turn, "q")
    finally:
        return found  # noqa: B012 - the pattern under test


@pattern("q", result="yes-q")
async def tenacity_with_a_fallback(turn: Turn, w: World) -> Any:
    @tenacity.retry(
        stop=tenacity.stop_after_attempt(4),
        retry=tenacity.retry_if_not_exception_type(ValueError),
        retry_error_callback=lambda state: "fallback",
    )
    async def attempt() -> Any:
        return await ask(turn, "q")

    return await attempt()


@pattern("q", result="yes-q", abandoned=True)
async def hot_loop(turn: Turn, w: World) -> Any:
    while True:
        try:
            return await ask(turn, "q")
        except BaseException:  # noqa: S110 - the pattern under test
            pass


@pattern("q", result="yes-q")
async def task_awaited_later(turn: Turn, w: World) -> Any:
    task = asyncio.create_task(ask(turn, "q"))
    await ticks(10)
    return await task
