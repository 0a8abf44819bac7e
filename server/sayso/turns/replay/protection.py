"""Recorded work that author code waits for, and may not cut (design 3, rules 2 and 4)."""

import asyncio
from collections.abc import Awaitable, Coroutine, Sequence
from typing import Any, TypeVar

from sayso.base.errors import CancelledCall
from sayso.turns.replay.branch import Branch, Pause
from sayso.turns.replay.execution import Execution
from sayso.turns.replay.quiescence import cancel_again

T = TypeVar("T")


def uncancellable(
    execution: Execution, what: str, *works: Awaitable[Any]
) -> Coroutine[Any, Any, list[Any]]:
    """Run recorded work to its end; if author code cancels the call, fail the turn (rule 2).

    The work begins now, and not when this is awaited: a turn that is over does not end before it.
    Returns the results in order. Raises `Pause` if any of the work waits for a person, else the
    first error, once all have ended.
    """
    return _ended(execution, what, [execution.effects.track(work) for work in works])


async def _ended(execution: Execution, what: str, tasks: Sequence[asyncio.Task[Any]]) -> list[Any]:
    try:
        await _landed(tasks)
    except asyncio.CancelledError:
        _cut_off(execution, what)
        raise
    if any(task.cancelled() for task in tasks):
        raise execution.pause()
    # Raises the first error, if there is any.
    return [task.result() for task in tasks]


def _landed(tasks: Sequence[asyncio.Task[Any]]) -> asyncio.Future[None]:
    """Done once all of them are; cancelling whoever waits for it cancels none of them."""
    landed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    left = len(tasks)

    def land(_: asyncio.Task[Any]) -> None:
        nonlocal left
        left -= 1
        if not left and not landed.done():
            landed.set_result(None)

    for task in tasks:
        task.add_done_callback(land)
    return landed


async def parked(execution: Execution, work: Awaitable[T]) -> T:
    """Await work that may pause; where it does, wait until the engine cancels this task.

    Whoever runs the task sees neither an error nor a cancellation, so nothing is done about one. A
    cancellation from outside passes, as does that of work which does not wait for a person.
    """
    try:
        return await work
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        # In the code of a key that the task has left, it alone waits for the person.
        pauses = execution.halted or (isinstance(error, Pause) and bool(execution.asked))
        if task is None or task.cancelling() or not pauses:
            raise
    branch = execution.branches.current_or_new("parked")
    for enclosing in branch.enclosing():
        enclosing.parked = True
    execution.wakeup.notify()
    await branch.park()
    raise execution.pause()


async def in_recorded_order(
    execution: Execution,
    branch: Branch,
    ends: Sequence[int],
    task: asyncio.Task[Any] | None = None,
) -> None:
    """Wait until recorded ends may come out: the last of them, with which a batch returns.

    In the code of a key they come out at once. `task` is the running one, where it is known. What
    has ended has ended in time: a cancellation that strikes now, while things are put in order, is
    held back until the call has returned.
    """
    if branch.apart:
        execution.replay_order.release(ends)
        return
    last = ends[0]
    if len(ends) > 1:
        *early, last = sorted(ends)
        execution.replay_order.release(early)
    try:
        await execution.replay_order.wait_turn(last, task)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or execution.asked or _over(execution):
            raise
        asyncio.get_running_loop().call_soon(cancel_again, task)


def _over(execution: Execution) -> bool:
    return bool(execution.closed or execution.stopped or execution.broken)


def _cut_off(execution: Execution, what: str) -> None:
    """Author code cancelled a recorded call of the running branch.

    While a question is open this may be the pause that unwinds, or a timeout beside it: the branch
    and those around it do no more until the answer, and replay finds the record.
    """
    execution.replay_order.give_up_order()
    if _over(execution):
        return
    branch = execution.branches.current()
    if execution.asked and branch is not None:
        branch.block()
        own = branch.enclosing()
        for enclosing in own:
            enclosing.sealed = True
        if own[-1].parent is not None:
            own[-1].parent.sealed = True
    if not execution.asked:
        execution.fail(
            CancelledCall(
                f"{what} was cancelled by the agent's own code (a timeout, or a task group "
                "that failed); it was finished and recorded. Use timeout= instead"
            )
        )
