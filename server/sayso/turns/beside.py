"""Verbs of a turn that take no place in its journal: replay neither looks for them nor compares.

Notes, rest, and the end that the code itself decides on.
"""

import inspect
from collections.abc import Awaitable
from typing import Any, TypeVar

from sayso.turns.replay import quiescence
from sayso.turns.replay.execution import Execution

T = TypeVar("T")


async def add_note(execution: Execution, name: str, value: Any, *, durable: bool) -> None:
    """Append a note; `durable` commits it now."""
    await execution.go_on(f"note {name!r}")
    execution.notes.add(name, value)
    if durable:
        await execution.commit()


async def rest(execution: Execution, awaitable: Awaitable[T]) -> T:
    """Await what is no work of the turn; a task that has made no call is none of its branches."""
    branch = execution.branches.current()
    if branch is None:
        return await awaitable
    if execution.may_not_continue(branch):
        if inspect.iscoroutine(awaitable):
            awaitable.close()
        await execution.refuse(branch)
    return await quiescence.resting(execution, branch, awaitable)
