"""What else people write around a question: retries, cleanup, branches that meet."""

import asyncio
import contextlib
from typing import Any

import tenacity

from sayso import Turn
from tests.patience import PATIENCE
from tests.turns.driver import World
from tests.turns.patterns import ask, do, pattern, then_ask


@pattern("q", result="yes-q")
async def suppress_everything(turn: Turn, w: World) -> Any:
    found = None
    with contextlib.suppress(BaseException):
        found = await ask(turn, "q")
    return found


@pattern("q", result="yes-q")
async def finally_raise(turn: Turn, w: World) -> Any:
    found = None
    try:
        found = await ask(turn, "q")
    finally:
        if found is None:
            raise ValueError("cleanup failed")
    return found


@pattern("q", effects="plain plain cleanup", result="yes-q")
async def finally_effects(turn: Turn, w: World) -> Any:
    """Plain code in finally does run; nothing recorded can."""
    try:
        return await ask(turn, "q")
    finally:
        w.effect("plain")
        await do(turn, w, "cleanup")


@pattern("q", effects="cleanup", result="yes-q")
async def finally_effects_in_a_task(turn: Turn, w: World) -> Any:
    try:
        return await ask(turn, "q")
    finally:
        await asyncio.wait_for(do(turn, w, "cleanup"), PATIENCE)


@pattern("q", effects="cleanup more", result="yes-q")
async def finally_effects_in_a_gather(turn: Turn, w: World) -> Any:
    try:
        return await ask(turn, "q")
    finally:
        await asyncio.gather(do(turn, w, "cleanup"), do(turn, w, "more"))


@pattern("q", result="yes-q")
async def tenacity_plain(turn: Turn, w: World) -> Any:
    @tenacity.retry(stop=tenacity.stop_after_attempt(4))
    async def attempt() -> Any:
        return await ask(turn, "q")

    return await attempt()


@pattern("q", result="yes-q")
async def tenacity_any_base_exception(turn: Turn, w: World) -> Any:
    @tenacity.retry(
        stop=tenacity.stop_after_attempt(3),
        retry=tenacity.retry_if_exception_type(BaseException),
        reraise=True,
    )
    async def attempt() -> Any:
        return await ask(turn, "q")

    return await attempt()


@pattern("q", effects="flaky flaky flaky", result="yes-q")
async def tenacity_around_steps(turn: Turn, w: World) -> Any:
    """Each attempt is a step of its own, and each fails once in the life of the turn."""

    def flaky(attempt: int) -> str:
        w.effect("flaky")
        if attempt < 3:
            raise OSError("not yet")
        return "done"

    async for attempt in tenacity.AsyncRetrying(stop=tenacity.stop_after_attempt(5)):
        with attempt:
            await turn.step(flaky, attempt.retry_state.attempt_number)
    return await ask(turn, "q")


@pattern("q1", "q2", effects="a b c", result=["yes-q1", "yes-q2"])
async def one_question_after_another(turn: Turn, w: World) -> Any:
    await do(turn, w, "a")
    first = await ask(turn, "q1")
    await do(turn, w, "b")
    second = await ask(turn, "q2")
    await do(turn, w, "c")
    return [first, second]


@pattern(("q1", "q2", "q3"), effects="a", result=["yes-q1", ["yes-q2", "yes-q3"], "a"])
async def nested_gather(turn: Turn, w: World) -> Any:
    async def inner() -> Any:
        return list(await asyncio.gather(ask(turn, "q2"), ask(turn, "q3")))

    return list(await asyncio.gather(ask(turn, "q1"), inner(), do(turn, w, "a", 10)))


@pattern(("q1", "q2", "q3"), effects="a", result=["yes-q1", ["yes-q2", "yes-q3"], "a"])
async def turn_gather_nested(turn: Turn, w: World) -> Any:
    return await turn.gather(
        ask(turn, "q1"),
        turn.gather(ask(turn, "q2"), ask(turn, "q3")),
        do(turn, w, "a", 10),
    )


@pattern(("qa", "b"), ("qa2",), effects="a1", result=["yes-qa2", "yes-b"])
async def one_branch_asks_twice(turn: Turn, w: World) -> Any:
    """B4: an answered question never comes back."""

    async def first() -> Any:
        await then_ask(turn, w, "a")
        return await ask(turn, "qa2")

    return await turn.gather(first(), ask(turn, "b"))
