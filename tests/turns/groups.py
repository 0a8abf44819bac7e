"""Races, queues, groups and timeouts: branches that wait for each other, or do not."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import anyio

from sayso import Turn
from tests.turns.driver import World, ticks
from tests.turns.patterns import ask, do, pattern


@pattern("q", effects="first second after", result=["first", "second", "yes-q"])
async def first_completed(turn: Turn, w: World) -> Any:
    """Who was first stays first on replay."""
    second = asyncio.create_task(do(turn, w, "second", 40))
    first = asyncio.create_task(do(turn, w, "first", 1))
    names = []
    waiting = {first, second}
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        names += sorted(task.result() for task in done)
        if len(names) == 1:
            await do(turn, w, "after")
    return [*names, await ask(turn, "q")]


@pattern("q", effects="slow fast", result=["fast", "slow", "yes-q"])
async def as_completed(turn: Turn, w: World) -> Any:
    work = [do(turn, w, "slow", 40), do(turn, w, "fast", 1)]
    order = [await task for task in asyncio.as_completed(work)]
    return [*order, await ask(turn, "q")]


@pattern(("qa", "qb"), ("qc", "qd"), effects="a b c d", result=["a", "b", "c", "d"])
async def queue_and_workers(turn: Turn, w: World) -> Any:
    """Which worker gets which item depends on who was ready first."""
    queue: asyncio.Queue[str] = asyncio.Queue()
    for item in "abcd":
        queue.put_nowait(item)
    finished = []

    async def worker() -> None:
        while not queue.empty():
            item = queue.get_nowait()
            await do(turn, w, item, 30 if item == "a" else 3)
            await ask(turn, "q" + item)
            finished.append(item)

    await asyncio.gather(worker(), worker())
    return sorted(finished)


@pattern("q", effects="a b c d e f", result=["yes-q", "a", "b", "c", "d", "e", "f"])
async def queue_of_steps(turn: Turn, w: World) -> Any:
    """The slow worker gets one item, the other the rest; so it must be on replay."""
    queue: asyncio.Queue[str] = asyncio.Queue()
    for item in "abcdef":
        queue.put_nowait(item)
    finished = []

    async def worker() -> None:
        while not queue.empty():
            finished.append(await do(turn, w, queue.get_nowait(), 2))

    async def slow_worker() -> None:
        finished.append(await do(turn, w, queue.get_nowait(), 100))
        await worker()

    await asyncio.gather(slow_worker(), worker())
    return [await ask(turn, "q"), *sorted(finished)]


@pattern("q", effects="a b after", result="yes-q")
async def event_between_branches(turn: Turn, w: World) -> Any:
    ready = asyncio.Event()

    async def waits() -> None:
        await ready.wait()
        await do(turn, w, "b")

    async def asks() -> Any:
        await do(turn, w, "a")
        found = await ask(turn, "q")
        ready.set()
        return found

    _, found = await asyncio.gather(waits(), asks())
    await do(turn, w, "after")
    return found


@pattern(("q0", "q1", "q2", "q3"), effects="0 1 2 3", result=4)
async def semaphore(turn: Turn, w: World) -> Any:
    """Those who wait for a person have left the semaphore, so that the others come in."""
    limit = asyncio.Semaphore(2)

    async def one(number: int) -> None:
        async with limit:
            await do(turn, w, str(number), 2)
            await ask(turn, f"q{number}")

    await asyncio.gather(*(one(number) for number in range(4)))
    return 4


@pattern("q", effects="logged", result="yes-q")
async def fire_and_forget(turn: Turn, w: World) -> Any:
    task = asyncio.create_task(do(turn, w, "logged", 5))
    found = await ask(turn, "q")
    await task
    return found


@pattern(effects="logged", result="returned")
async def a_task_that_nobody_awaits(turn: Turn, w: World) -> Any:
    """An effect in flight is finished before the turn ends."""
    task = asyncio.create_task(do(turn, w, "logged", 50))
    await ticks(3)
    return "returned" if not task.done() else "too late"


@pattern("q", result="yes-q")
async def a_question_that_nobody_awaits(turn: Turn, w: World) -> Any:
    answers: list[Any] = []

    async def asks() -> None:
        answers.append(await ask(turn, "q"))

    task = asyncio.create_task(asks())
    await ticks(50)
    return answers[0] if task.done() and answers else "returned without the answer"


@pattern("q", effects="a", result="yes-q")
async def a_background_task_cancelled_in_finally(turn: Turn, w: World) -> Any:
    """The cancel is part of unwinding, so it breaks nothing."""
    task = asyncio.create_task(do(turn, w, "a", 200))
    try:
        found = await ask(turn, "q")
        await task
        return found
    finally:
        task.cancel()


@pattern("q", effects="a", result=["a", "yes-q"])
async def a_group_whose_body_asks(turn: Turn, w: World) -> Any:
    """TaskGroup cancels its tasks when its body is unwound; their effects go on."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(do(turn, w, "a", 200))
        await ticks(3)
        found = await ask(turn, "q")
    return [task.result(), found]


@pattern("q", effects="a", result=["a", "yes-q"])
async def a_group_whose_body_gathers_a_question(turn: Turn, w: World) -> Any:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(do(turn, w, "a", 200))
        await ticks(3)
        (found,) = await asyncio.gather(ask(turn, "q"))
    return [task.result(), found]


@pattern("q", effects="a", result=["a", "yes-q"])
async def an_anyio_group_whose_body_asks(turn: Turn, w: World) -> Any:
    found = []

    async def work() -> None:
        found.append(await do(turn, w, "a", 200))

    async with anyio.create_task_group() as group:
        group.start_soon(work)
        await ticks(3)
        answer = await ask(turn, "q")
    return [*found, answer]


@pattern(effects="a", fails="cancelled_call")
async def a_group_that_fails(turn: Turn, w: World) -> Any:
    async def breaks() -> None:
        await ticks(5)
        raise ValueError("broken")

    with contextlib.suppress(BaseExceptionGroup):
        async with asyncio.TaskGroup() as group:
            group.create_task(do(turn, w, "a", 200))
            group.create_task(breaks())
    return await ask(turn, "never asked")


@pattern(effects="pay", fails="cancelled_call")
async def anyio_timeout_around_a_step(turn: Turn, w: World) -> Any:
    with anyio.move_on_after(0.001):
        await do(turn, w, "pay", 2000)
    return await ask(turn, "never asked")


@pattern("q", effects="pay", result=["pay", "yes-q"])
async def a_timeout_while_another_branch_asks(turn: Turn, w: World) -> Any:
    """The turn is waiting already: the fallback must not run, and does not on replay either."""

    async def impatient() -> Any:
        try:
            return await asyncio.wait_for(do(turn, w, "pay", 2000), 0.001)
        except TimeoutError:
            return await do(turn, w, "fallback")

    found, answer = await asyncio.gather(impatient(), ask(turn, "q"))
    return [found, answer]


@pattern("q", effects="a", result="yes-q")
async def shield(turn: Turn, w: World) -> Any:
    await asyncio.shield(do(turn, w, "a"))
    return await asyncio.shield(ask(turn, "q"))


@pattern("q", effects="a", result="yes-q")
async def exit_stack(turn: Turn, w: World) -> Any:
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(ticks, 2)
        await do(turn, w, "a")
        return await ask(turn, "q")


@pattern("q", effects="0 1 2", result=["0", "1", "2", "yes-q"])
async def generator_of_steps(turn: Turn, w: World) -> Any:
    async def steps() -> AsyncIterator[str]:
        for number in range(3):
            yield await do(turn, w, str(number))

    found = [name async for name in steps()]
    return [*found, await ask(turn, "q")]


@pattern("q", effects="a", result="yes-q")
async def generator_that_asks(turn: Turn, w: World) -> Any:
    async def answers() -> AsyncIterator[Any]:
        await do(turn, w, "a")
        yield await ask(turn, "q")

    return await anext(answers())


@pattern("q", effects="twin twin", result=["twin", "twin", "yes-q"])
async def twins(turn: Turn, w: World) -> Any:
    """Two equal calls side by side are two."""
    found = await asyncio.gather(do(turn, w, "twin", 3), do(turn, w, "twin", 3))
    return [*found, await ask(turn, "q")]


@pattern("q", effects="late", result=["late", "yes-q"])
async def a_branch_that_starts_late(turn: Turn, w: World) -> Any:
    async def late() -> Any:
        await asyncio.sleep(0.02)
        return await do(turn, w, "late")

    return await asyncio.gather(late(), ask(turn, "q"))


@pattern("q", effects="a", result="yes-q")
async def plain_work_beside_a_question(turn: Turn, w: World) -> Any:
    """A branch that waits for something of its own does not hold the question up."""
    forever = asyncio.Event()

    async def watches() -> None:
        await do(turn, w, "a")
        await forever.wait()

    task = asyncio.create_task(watches())
    await ticks(5)
    found = await ask(turn, "q")
    task.cancel()
    await asyncio.wait([task])
    return found


@pattern("q", effects="", result="yes-q")
async def never_ends_beside_a_question(turn: Turn, w: World) -> Any:
    answers: list[Any] = []

    async def asks() -> None:
        answers.append(await ask(turn, "q"))

    task = asyncio.create_task(asks())
    while not answers:  # noqa: ASYNC110 - the pattern under test
        await asyncio.sleep(0.005)
    await task
    return answers[0]
