"""When a turn has come to rest, and how what is left of its code is unwound.

A turn that asks is at rest once its other branches have asked too or ended, and no effect is in
flight. A branch that waits for something of its own, and calls nothing, does not hold it up; one
that says so (`resting`) not for a moment.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Protocol, TypeVar

from sayso.turns.replay.branch import Branch, Branches
from sayso.turns.replay.effects import Effects, contain_exit
from sayso.turns.replay.wakeup import Wakeup

T = TypeVar("T")

_log = logging.getLogger("sayso.turn")

SETTLING_STEPS = 5
"""Turns of the event loop in which tasks that were just made may begin."""
RESTING_STEPS = 20
"""The same where code rests: what it waits for may be on its way, through tasks of no branch."""
IDLE_S = 0.2
"""Seconds without any call after which a branch that waits for something else is left behind."""
LAST_CALL_STEPS = 50
"""Turns of the event loop that it gets after that, as it may have been blocked all the time."""


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

    settled, root = False, execution.branches.root
    while execution.aborted is None:
        if not at_rest():
            await execution.wakeup.until(lambda: execution.aborted is not None or at_rest())
            settled = False
        elif not execution.asked or execution.stopped:
            return
        elif not settled:
            settled = await _settling(execution, at_rest)
        elif not execution.branches.busy() and (main.done() or root.parked or root.resting):
            return
        else:
            calls = execution.calls
            moved = await execution.wakeup.within(IDLE_S)
            for _ in range(0 if moved else LAST_CALL_STEPS):
                await asyncio.sleep(0)
            if not moved and calls == execution.calls and not execution.effects.in_flight:
                return
            settled = False


def _settling(execution: Resting, at_rest: Callable[[], bool]) -> "asyncio.Future[bool]":
    """Done after the turns of the loop in which a turn settles; false if it does not rest in all.

    By callbacks and not by sleeping: a turn of the loop must not cost a walk down to whoever waits
    at the end of the call chain.
    """
    loop = asyncio.get_running_loop()
    settled: asyncio.Future[bool] = loop.create_future()
    loop.call_soon(_go_by, execution, at_rest, settled, 1)
    return settled


def _go_by(
    execution: Resting, at_rest: Callable[[], bool], settled: "asyncio.Future[bool]", turns: int
) -> None:
    if settled.done():
        return
    if not at_rest() or execution.stopped or execution.aborted is not None:
        settled.set_result(False)
    elif turns < (RESTING_STEPS if execution.branches.root.resting else SETTLING_STEPS) - 1:
        settled.get_loop().call_soon(_go_by, execution, at_rest, settled, turns + 1)
    else:  # who waits goes on in the last of them
        settled.set_result(True)


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


class MainTask:
    """The task of the agent function: begun once, run until the turn rests, unwound."""

    def __init__(self, branches: Branches, wakeup: Wakeup) -> None:
        self._branches = branches
        self._wakeup = wakeup
        self._task: asyncio.Task[Any] | None = None

    async def run(
        self, execution: Resting, function: Callable[[], Awaitable[Any]]
    ) -> "asyncio.Task[Any] | None":
        """Run the function until the turn has ended or waits; returns its task once it is over."""

        async def main() -> Any:
            self._branches.begin()
            return await contain_exit(function())

        task = self._task = asyncio.create_task(main())
        task.add_done_callback(self._returned)
        await wait_until_quiescent(execution, task)
        return task if task.done() else None

    def _returned(self, main: asyncio.Task[Any]) -> None:
        """The agent function is over. One callback: frameworks show theirs where they cancel."""
        if not main.cancelled():
            main.exception()  # is seen
        self._wakeup.notify()

    async def unwind(self, seconds: float) -> int:
        """Cancel what author code still runs; returns how many tasks are left after that time."""
        tasks = set(self._branches.unfinished())
        if self._task is not None and not self._task.done():
            tasks.add(self._task)
        left = await cancel_and_wait(tasks, seconds)
        if not left:
            # What unwound holds the frames that it came through, and those hold the execution.
            self._task = None
            self._branches.let_go()
        return left


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
