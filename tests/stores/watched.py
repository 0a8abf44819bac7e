"""A store that tells when nobody waits for it."""

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Any

from sayso.stores.base import Store, StoreProxy
from tests.patience import PATIENCE

__all__ = ["WatchedStore"]

TURNS = 40
"""Turns of the event loop after which who has got an answer has asked the next thing, or rests."""


class WatchedStore(StoreProxy):
    """Passes all calls on, and counts those that have no answer yet."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._asked = 0

    async def _around(self, name: str, call: partial[Awaitable[Any]]) -> Any:
        self._asked += 1
        try:
            return await call()
        finally:
            self._asked -= 1

    async def rests(self) -> None:
        """Wait until work that goes on by itself has come to where it waits for something else.

        However slow the store is: no time is measured.
        """
        quiet = 0
        async with asyncio.timeout(PATIENCE):
            while quiet < TURNS:
                busy = self._asked > 0
                await asyncio.sleep(0.001 if busy else 0)
                quiet = 0 if busy else quiet + 1
