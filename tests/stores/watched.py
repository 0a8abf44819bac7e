"""A store that tells when nobody waits for it, and a clock that waits for that."""

import asyncio
import threading
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from sayso.stores.base import Store
from sayso.stores.proxy import StoreProxy
from sayso.testing import FakeClock
from tests.patience import PATIENCE

__all__ = ["PatientClock", "WatchedStore"]

TURNS = 40
"""Turns of the event loop after which who has got an answer has asked the next thing, or rests."""


class PatientClock(FakeClock):
    """Moves on once nobody waits for its stores: no time passes while they are at work.

    So what is due at a time is done by then on a store in threads and on a network as well, however
    slow the machine is.
    """

    def __init__(self, *began: int) -> None:
        super().__init__(*began)
        self.stores: list[WatchedStore] = []

    async def _let_others_run(self) -> None:
        for store in self.stores:
            await store.rests()
        await super()._let_others_run()


class WatchedStore(StoreProxy):
    """Passes all calls on, and counts those that have no answer yet; its clock waits for them."""

    def __init__(self, inner: Store, clock: FakeClock | None = None) -> None:
        super().__init__(inner)
        self._asked = 0
        self._lock = threading.Lock()  # leases are renewed in threads
        if isinstance(clock, PatientClock):
            clock.stores.append(self)

    async def _around(self, name: str, call: partial[Awaitable[Any]]) -> Any:
        with self._waiting():
            return await call()

    def _around_blocking(self, name: str, call: partial[Any]) -> Any:
        with self._waiting():
            return call()

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        with self._lock:
            self._asked += 1
        try:
            yield
        finally:
            with self._lock:
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
