"""Waiting for a change in the store: until somebody tells of one, or until it is time to look."""

import asyncio
from typing import Final

from sayso.base.clock import Clock
from sayso.stores.base import Store

FALLBACK_POLL_S: Final = 5.0
"""Seconds between looks while the store tells of changes: one hint may have been lost."""


class Wakeup:
    """Wakes one task that waits for changes of a store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._woken = asyncio.Event()

    def notify(self) -> None:
        """Wake it: something may have changed."""
        self._woken.set()

    async def wait(self, seconds: float) -> None:
        """Wait until it is woken, at most so long; longer while the store tells of changes."""
        waits = {
            asyncio.ensure_future(
                self._clock.sleep(FALLBACK_POLL_S if self._store.has_notifications else seconds)
            ),
            asyncio.ensure_future(self._woken.wait()),
        }
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        self._woken.clear()
