"""When a turn has come to rest, and how what is left of its code is unwound.

A turn that asks is at rest once its other branches have asked too or ended, and no effect is in
flight. A branch that waits for something of its own, and calls nothing, does not hold it up; one
that says so (`resting`) not for a moment.
"""

import asyncio
import logging
from collections.abc import Awaitable, Collection
from typing import Any, Protocol, TypeVar

from sayso.turns.replay.branch import Branch, Branches
from sayso.turns.replay.effects import Effects
from sayso.turns.replay.wakeup import Wakeup

T = TypeVar("T")

_log = logging.getLogger("sayso.turn")

SETTLING_STEPS = 5
"""Turns of the event loop in which tasks that were just made may begin."""
RESTING_STEPS = 20
"""The same where code rests: what it waits for may be on its way, through tasks of no branch."""
IDLE_S = 0.2
"""Seconds without any call after which a branch that waits for something else is left behind."""


class Resting(Protocol):
    """An execution, as far as rest goes; `wakeup` is notified when the first four have changed.

    And when an effect has landed, a branch has ended, or the agent function.
    """

    aborted: Any
    broken: Any
    stopped: Any
    asked: dict[str, Any]
    branches: Branches
    effects: Effects
    calls: int
    wakeup: Wakeup


async def wait_until_quiescent(execution: Resting, main: asyncio.Task[Any]) -> None:
    """Return when the turn has ended, cannot go on, or waits for a person."""

    def at_rest() -> bool:
        over = main.done() or execution.asked or execution.broken or execution.stopped
        return bool(over) and not execution.effects.in_flight

    settled, root = 0, execution.branches.root
    while execution.aborted is None:
        if not at_rest():
            await execution.wakeup.until(lambda: execution.aborted is not None or at_rest())
            settled = 0
        elif not execution.asked or execution.stopped:
            return
        elif settled < (RESTING_STEPS if root.resting else SETTLING_STEPS):
            settled += 1
            await asyncio.sleep(0)
        elif not execution.branches.busy() and (main.done() or root.parked or root.resting):
            return
        else:
            calls = execution.calls
            moved = await execution.wakeup.within(IDLE_S)
            if not moved and calls == execution.calls and not execution.effects.in_flight:
                return
            settled = 0


async def resting(execution: Resting, branch: Branch, awaitable: Awaitable[T]) -> T:
    """Await what is no work of the turn, for a branch: the turn may come to rest meanwhile."""
    around = branch.enclosing()
    for outer in around:
        outer.resting = outer.rested = True
    execution.wakeup.notify()
    try:
        return await awaitable
    finally:
        execution.calls += 1
        for outer in around:
            outer.resting = False


async def cancel_and_wait(tasks: Collection[asyncio.Task[Any]], seconds: float) -> int:
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
