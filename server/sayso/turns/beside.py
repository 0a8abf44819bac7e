"""Verbs of a turn that take no place in its journal: replay neither looks for them nor compares.

Notes, private values, rest, things side by side, and the end that the code itself decides on.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Iterable
from typing import Any, NoReturn, TypeVar

from sayso.base.errors import NestedCall
from sayso.base.texts import to_utf8_safe
from sayso.turns.replay import quiescence
from sayso.turns.replay.effects import contain_exit
from sayso.turns.replay.execution import Execution

T = TypeVar("T")


async def add_note(execution: Execution, name: str, value: Any, *, durable: bool) -> None:
    """Append a note; `durable` commits it now."""
    await execution.go_on(f"note {name!r}")
    execution.notes.add(name, value)
    if durable:
        await execution.commit()


async def side_by_side(execution: Execution, work: Iterable[Awaitable[Any]]) -> tuple[Any, ...]:
    """Run all to their ends; raises the first error then, `Pause` if any waits for a person."""
    outcomes = await asyncio.gather(*map(contain_exit, work), return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if any(isinstance(error, asyncio.CancelledError) for error in errors):
        raise execution.pause()
    if errors:
        raise errors[0]
    return tuple(outcomes)


def keep(execution: Execution, name: str, value: bytes | None) -> None:
    """Keep a private value of the thread, once the turn waits or has ended well."""
    if execution.inside_effect():
        raise NestedCall(
            f"{name!r} was kept inside a recorded step, which does not run on replay: return the "
            "value and keep it after the step"
        )
    if execution.halted:
        raise execution.pause()
    execution.kept.keep(name, value)


async def cancel(execution: Execution, reason: object) -> NoReturn:
    """End the turn as cancelled: its code says so."""
    if not isinstance(reason, str) or not reason:
        raise TypeError(f"turn.cancel takes a reason, a text, not {reason!r}")
    await execution.go_on("turn.cancel")
    execution.stop(to_utf8_safe(reason))
    raise execution.pause()


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
