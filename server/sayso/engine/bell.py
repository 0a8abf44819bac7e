"""How those who wait for a change rest: until they are woken, or till it is time to look anyway."""

import asyncio
from typing import Final

from sayso.clock import Clock
from sayso.stores.base import Store

__all__ = ["BEHIND", "Bell"]

BEHIND: Final = 5.0
"""Seconds between looks for what no hint came of, while hints come."""


class Bell:
    """Wakes one task that waits for changes of a store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Something may have changed: look."""
        self._rung.set()

    async def rest(self, seconds: float) -> None:
        """Until it rings, at most so long; longer while the store itself tells of changes."""
        waits = {
            asyncio.ensure_future(self._clock.sleep(BEHIND if self._store.hears else seconds)),
            asyncio.ensure_future(self._rung.wait()),
        }
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        self._rung.clear()
