"""When a turn has come to rest, and how what is left of its code is unwound.

A turn that asks is at rest once its other branches have asked too or ended, and no effect is in
flight. A branch that waits for something of its own, and calls nothing, does not hold it up.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Any, Protocol

from sayso.turns.replay.branch import Branches
from sayso.turns.replay.effects import Effects

_log = logging.getLogger("sayso.turn")

SETTLING_STEPS = 5
"""Turns of the event loop in which tasks that were just made may begin."""
IDLE_S = 0.2
"""Seconds without any call after which a branch that waits for something else is left behind."""


class RestSignal:
    """Wakes the one who waits for a turn to rest; rung whenever something about it has changed."""

    def __init__(self) -> None:
        self._waiter: asyncio.Future[bool] | None = None
        self._matters: Callable[[], object] = _anything

    def notify(self, _: object = None) -> None:
        """Something has changed: a task ended, a question was asked, the turn broke off."""
        if self._waiter is not None and self._matters():
            self._wake(rung=True)

    async def until(self, matters: Callable[[], object]) -> None:
        """Wait for a ring at which this holds; a ring costs no more than asking."""
        await self._wait(matters)

    async def within(self, seconds: float) -> bool:
        """Wait for any ring, at most that long; whether there was one."""
        silence = asyncio.get_running_loop().call_later(seconds, self._wake)
        try:
            return await self._wait(_anything)
        finally:
            silence.cancel()

    def _wake(self, *, rung: bool = False) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(rung)

    async def _wait(self, matters: Callable[[], object]) -> bool:
        self._waiter, self._matters = asyncio.get_running_loop().create_future(), matters
        try:
            return await self._waiter
        finally:
            self._waiter, self._matters = None, _anything


def _anything() -> bool:
    return True


class Resting(Protocol):
    """What there is to know of an execution; `bell` rings when the first four have changed.

    And when an effect has landed, a branch has ended, or the agent function.
    """

    aborted: Any
    broken: Any
    stopped: Any
    asked: dict[str, Any]
    branches: Branches
    effects: Effects
    calls: int
    bell: RestSignal


async def wait_until_quiescent(execution: Resting, main: asyncio.Task[Any]) -> None:
    """Return when the turn has ended, cannot go on, or waits for a person."""

    def at_rest() -> bool:
        over = main.done() or execution.asked or execution.broken or execution.stopped
        return bool(over) and not execution.effects.in_flight

    settled = 0
    while execution.aborted is None:
        if not at_rest():
            await execution.bell.until(lambda: execution.aborted is not None or at_rest())
            settled = 0
        elif not execution.asked or execution.stopped:
            return
        elif settled < SETTLING_STEPS:
            settled += 1
            await asyncio.sleep(0)
        elif not execution.branches.busy() and (main.done() or execution.branches.root.parked):
            return
        else:
            calls = execution.calls
            moved = await execution.bell.within(IDLE_S)
            if not moved and calls == execution.calls and not execution.effects.in_flight:
                return


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
