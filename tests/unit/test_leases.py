"""Leases of a process: renewed while it lives, let go when it ends."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any, cast

from sayso.base.records import Lease, Renewed
from sayso.engine.leases import LeaseKeeper
from sayso.stores.base import Store
from sayso.testing import FakeClock
from tests.patience import PATIENCE


class Slow:
    """A store whose first renewal takes until the test lets it pass."""

    def __init__(self) -> None:
        self.entered, self.passes = threading.Event(), threading.Event()
        self.renewed: list[int] = []

    def renew(self, leases: Sequence[Lease], lease_ms: int) -> Renewed:
        if not self.entered.is_set():
            self.entered.set()
            assert self.passes.wait(PATIENCE)
        self.renewed.append(lease_ms)
        return Renewed(lost=(), stop_requested=())


async def test_a_renewal_under_way_does_not_overtake_the_end() -> None:
    """Design 6: a thread that was let go is free at once, not a lease later."""
    store = Slow()
    keeper = LeaseKeeper(cast(Store, store), FakeClock())
    keeper.start(lambda _: None)
    lease: Any = Lease(scope="s", thread_id="t", holder="h", fence=1)
    keeper.track(lease, 0.0)
    keeper.renew_now(None)
    assert await asyncio.to_thread(store.entered.wait, PATIENCE)
    stopping = asyncio.create_task(asyncio.to_thread(keeper.stop))
    await asyncio.wait((stopping,), timeout=0.05)  # without the lock it is over by then
    store.passes.set()
    await asyncio.wait_for(stopping, PATIENCE)
    await asyncio.get_running_loop().shutdown_default_executor()  # so the renewal is over too
    assert store.renewed == [10_000, 0]
