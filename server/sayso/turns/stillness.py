"""When a turn has come to rest, and how what is left of its code is unwound.

A turn that asks is at rest once its other branches have asked too or ended, and no effect is in
flight. A branch that waits for something of its own, and calls nothing, does not hold it up.
"""

import asyncio
import logging
from collections.abc import Collection
from typing import Any, Protocol

from sayso.turns.branch import Branches
from sayso.turns.effects import Effects

__all__ = ["cancel_again", "until_still", "unwound"]

_log = logging.getLogger("sayso.turn")

SETTLING = 5
"""Turns of the event loop in which tasks that were just made may begin."""
IDLE = 0.2
"""Seconds without any call after which a branch that waits for something else is left behind."""


class Resting(Protocol):
    """What there is to know of an execution; `poke` is set when the first four have changed."""

    aborted: Any
    broken: Any
    stopped: Any
    asked: list[Any]
    branches: Branches
    effects: Effects
    calls: int
    poke: asyncio.Event


async def until_still(execution: Resting, main: asyncio.Task[Any]) -> None:
    """Return when the turn has ended, cannot go on, or waits for a person."""
    settled = 0
    while execution.aborted is None:
        over = main.done() or execution.asked or execution.broken or execution.stopped
        if not over or execution.effects.in_flight:
            await _activity(execution, main, None)
            settled = 0
        elif not execution.asked or execution.stopped:
            return
        elif settled < SETTLING:
            settled += 1
            await asyncio.sleep(0)
        elif not execution.branches.busy() and (main.done() or execution.branches.root.parked):
            return
        else:
            calls = execution.calls
            moved = await _activity(execution, main, IDLE)
            if not moved and calls == execution.calls and not execution.effects.in_flight:
                return


async def _activity(execution: Resting, main: asyncio.Task[Any], seconds: float | None) -> bool:
    poke = asyncio.ensure_future(execution.poke.wait())
    tasks = {poke, *execution.effects.in_flight, *execution.branches.unfinished()}
    if not main.done():
        tasks.add(main)
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        poke.cancel()
    execution.poke.clear()
    return bool(done)


async def unwound(tasks: Collection[asyncio.Task[Any]], seconds: float) -> int:
    """Cancel tasks of author code and wait that long; returns how many have not ended."""
    for task in tasks:
        task.cancel()
    if not tasks:
        return 0
    done, left = await asyncio.wait(tasks, timeout=seconds)
    for task in done:
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.debug("%r while a turn unwound", error)
    return len(left)


def cancel_again(task: asyncio.Task[Any]) -> None:
    """Deliver a cancellation that was held back, unless whoever wanted it has taken it back."""
    if not task.done() and task.cancelling():
        task.uncancel()
        task.cancel()
