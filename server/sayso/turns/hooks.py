"""Hooks of an app that a decision depends on: limited in time, and failing is never a yes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from sayso.base.codes import Code
from sayso.base.errors import Problem

_log = logging.getLogger("sayso.hooks")

HOOK_TIMEOUT_S: Final = 5.0
"""Seconds that a hook may take."""

T = TypeVar("T")


async def ask_hook(
    option: str,
    call: Callable[[], Awaitable[T]],
    failed: Callable[[str], Problem] | None = None,
) -> T:
    """Call a hook that was given as this option, such as `authorize`.

    Raises:
        Problem: `auth_unavailable` (or what `failed` makes), it raised or took too long; the log
            says which.
    """

    async def answered() -> T:
        return await call()

    task = asyncio.create_task(answered(), name=f"hook {option}")
    try:
        await asyncio.wait({task}, timeout=HOOK_TIMEOUT_S)
    finally:
        if not task.done():  # it is not waited for: it may not heed being cancelled
            task.cancel()
    if not task.done() or task.cancelled():
        _log.error("%s took more than %g s, so nothing was allowed", option, HOOK_TIMEOUT_S)
    elif (error := task.exception()) is not None:
        _log.error("%s raised, so nothing was allowed", option, exc_info=error)
    else:
        return task.result()
    raise (failed or hook_failed)(option)


def hook_failed(option: str) -> Problem:
    """The problem of a hook that gave no answer."""
    return Problem(
        Code.AUTH_UNAVAILABLE,
        f"What you may do cannot be checked now: {option} failed. Send the request again.",
    )
