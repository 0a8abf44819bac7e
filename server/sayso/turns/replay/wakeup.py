"""Waking the one task that waits for a change: of a turn that comes to rest, or of the store."""

import asyncio
from collections.abc import Awaitable, Callable

Sleep = Callable[[float], Awaitable[None]]


class Wakeup:
    """Wakes one task; `notify` costs no more than asking whether that task is interested.

    A notification that nobody waits for is kept for the next `within`.
    """

    def __init__(self) -> None:
        self._waiter: asyncio.Future[bool] | None = None
        self._matters: Callable[[], object] = _anything
        self._missed = False

    def notify(self, _: object = None) -> None:
        """Something has changed, or may have."""
        if self._waiter is None:
            self._missed = True
        elif not self._waiter.done() and self._matters():
            self._waiter.set_result(True)

    async def until(self, matters: Callable[[], object]) -> None:
        """Wait for a notification at which this holds; it does not hold now."""
        await self._wait(asyncio.get_running_loop().create_future(), matters)

    async def within(self, seconds: float, sleep: Sleep = asyncio.sleep) -> bool:
        """Wait for a notification as long as `sleep` takes for `seconds`; True if there was one."""
        if self._missed:
            self._missed = False
            return True
        waiter = asyncio.get_running_loop().create_future()

        def give_up(_: object) -> None:
            if not waiter.done():
                waiter.set_result(False)

        silence = asyncio.ensure_future(sleep(seconds))
        silence.add_done_callback(give_up)
        try:
            return await self._wait(waiter, _anything)
        finally:
            silence.cancel()

    async def _wait(self, waiter: "asyncio.Future[bool]", matters: Callable[[], object]) -> bool:
        self._waiter, self._matters, self._missed = waiter, matters, False
        try:
            return await waiter
        finally:
            self._waiter, self._matters = None, _anything


def _anything() -> bool:
    return True
