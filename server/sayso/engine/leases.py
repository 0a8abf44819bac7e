"""Leases of this process, renewed from a thread of their own.

Author code that blocks the event loop must not lose the thread it works on; a process that is
stopped or dead renews nothing, and its threads are taken over (design 6).
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence

from sayso.base.clock import Clock
from sayso.base.errors import StoreError
from sayso.base.records import Lease
from sayso.stores.base import Store

_log = logging.getLogger("sayso.engine.leases")


class LeaseKeeper:
    """Knows until when each lease of this process surely holds, on the local monotonic clock."""

    def __init__(self, store: Store, clock: Clock, *, seconds: float = 10.0) -> None:
        """A lease holds for so many seconds and is renewed thrice in that time (design 6)."""
        self.lease_ms: int = round(seconds * 1000)
        self._store = store
        self._clock = clock
        self._every = 0.3 * seconds
        self._held: dict[tuple[str, str], tuple[Lease, float]] = {}
        self._lock = threading.Lock()
        self._asking = threading.Lock()  # renewals must not overtake each other
        self._end: Callable[[], None] | None = None
        self._tell: Callable[[Lease], object] = lambda _: None

    def start(self, stopping: Callable[[Lease], None]) -> None:
        """Begin to renew; idempotent.

        `stopping` is called in the running event loop for a lease whose holder was asked to stop.
        """
        if self._end is None:
            loop = asyncio.get_running_loop()
            self._tell = lambda lease: loop.call_soon_threadsafe(stopping, lease)
            self._end = self._clock.every(self._every, self._renew, "sayso-leases")

    def stop(self) -> None:
        """Stop renewing; idempotent. Leases that are still held are released.

        So another process can take those threads over at once. Author code of theirs must have
        been cancelled: it can no longer begin an effect.
        """
        if self._end is not None:
            self._end()
            self._end = None
            self._release()

    @property
    def tracks(self) -> bool:
        """True if leases are renewed: from the start to the end."""
        return self._end is not None

    def track(self, lease: Lease, claimed: float) -> Callable[[], bool]:
        """Renew a lease that was claimed at that monotonic second; returns its `alive` check."""
        key = (lease.scope, lease.thread_id)
        with self._lock:
            self._held[key] = (lease, claimed + self.lease_ms / 1000)

        def alive() -> bool:
            with self._lock:
                held = self._held.get(key)
            return (
                held is not None
                and held[0].fence == lease.fence
                and self._clock.monotonic() < held[1]
            )

        return alive

    def release(self, leases: Sequence[Lease]) -> None:
        """Release leases, so that others can take the threads over; blocks, and never raises."""
        try:
            self._store.renew(leases, 0)
        except StoreError as error:
            _log.warning("leases could not be released and will run out: %s", error)

    def forget(self, lease: Lease) -> None:
        """Stop renewing a lease: it was released, or is lost."""
        with self._lock:
            held = self._held.get((lease.scope, lease.thread_id))
            if held is not None and held[0].fence == lease.fence:
                del self._held[lease.scope, lease.thread_id]

    def renew_now(self, key: tuple[str, str] | None) -> None:
        """Renew the lease of that thread (None: of any) at once, in a thread, if it is held here.

        Another process may have changed it, or may have asked to stop it: the renewal tells.
        """
        with self._lock:
            held = bool(self._held) if key is None else key in self._held
        if held and self._end is not None:
            asyncio.get_running_loop().run_in_executor(None, self._renew)

    def _renew(self) -> None:
        with self._asking:
            self._renew_once()

    def _renew_once(self) -> None:
        with self._lock:
            leases = [lease for lease, _ in self._held.values()]
        if not leases:
            return
        began = self._clock.monotonic()
        try:
            renewed = self._store.renew(leases, self.lease_ms)
        except StoreError as error:
            _log.warning("leases could not be renewed: %s", error)
            return
        self._note(leases, renewed.lost, began + self.lease_ms / 1000)
        for lease in renewed.stop_requested:
            self._tell(lease)

    def _release(self) -> None:
        with self._asking:
            with self._lock:
                leases = [lease for lease, _ in self._held.values()]
                self._held.clear()
            if leases:
                self.release(leases)

    def _note(self, leases: list[Lease], lost: tuple[Lease, ...], deadline: float) -> None:
        gone = {(lease.scope, lease.thread_id, lease.fence) for lease in lost}
        with self._lock:
            for lease in leases:
                key = (lease.scope, lease.thread_id)
                held = self._held.get(key)
                if held is None or held[0].fence != lease.fence:
                    continue
                if (*key, lease.fence) in gone:
                    # Released by its run a moment ago, or taken over: its next write will tell.
                    del self._held[key]
                else:
                    self._held[key] = (lease, deadline)
