"""Leases of this process, renewed from a thread of their own.

Author code that blocks the event loop must not lose the thread it works on; a process that is
stopped or dead renews nothing, and its threads are taken over (design 6).
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence

from sayso.clock import Clock
from sayso.errors import StoreError
from sayso.records import Lease
from sayso.stores.base import Store

__all__ = ["LeaseKeeper"]

_log = logging.getLogger("sayso.engine.leases")


class LeaseKeeper:
    """Knows until when each lease of this process surely holds, on the local monotonic clock."""

    def __init__(self, store: Store, clock: Clock, *, seconds: float = 10.0) -> None:
        """A lease holds for so many seconds and is renewed thrice in that time (design 6)."""
        self.lease_ms = round(seconds * 1000)
        self._store = store
        self._clock = clock
        self._every = 0.3 * seconds
        self._held: dict[tuple[str, str], tuple[Lease, float]] = {}
        self._lock = threading.Lock()
        self._asking = threading.Lock()  # of two renewals, also the last one, none overtakes
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
        """Renew no more; idempotent. Leases that are still held are let go.

        So another process can take those threads over at once. Author code of theirs must have
        been cancelled: it can begin no effect any more.
        """
        if self._end is not None:
            self._end()
            self._end = None
            self._let_go()

    @property
    def keeps(self) -> bool:
        """Whether leases are renewed: not before the start, and not after the end."""
        return self._end is not None

    def keep(self, lease: Lease, claimed: float) -> Callable[[], bool]:
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

    def let_go(self, leases: Sequence[Lease]) -> None:
        """Let another process take threads over at once; blocks, and never raises."""
        try:
            self._store.renew(leases, 0)
        except StoreError as error:
            _log.warning("leases could not be let go and will run out: %s", error)

    def drop(self, lease: Lease) -> None:
        """Stop renewing a lease: it was released, or is lost."""
        with self._lock:
            held = self._held.get((lease.scope, lease.thread_id))
            if held is not None and held[0].fence == lease.fence:
                del self._held[lease.scope, lease.thread_id]

    def look(self, key: tuple[str, str] | None) -> None:
        """Somebody else may have done something to that thread (None: any), a stop for one.

        If it is held here, its lease is renewed at once, in a thread, which tells.
        """
        with self._lock:
            held = bool(self._held) if key is None else key in self._held
        if held and self._end is not None:
            asyncio.get_running_loop().run_in_executor(None, self._renew)

    def _renew(self) -> None:
        with self._asking:
            self._renew_now()

    def _renew_now(self) -> None:
        with self._lock:
            leases = [lease for lease, _ in self._held.values()]
        if not leases:
            return
        asked = self._clock.monotonic()
        try:
            renewed = self._store.renew(leases, self.lease_ms)
        except StoreError as error:
            _log.warning("leases could not be renewed: %s", error)
            return
        self._note(leases, renewed.lost, asked + self.lease_ms / 1000)
        for lease in renewed.stopping:
            self._tell(lease)

    def _let_go(self) -> None:
        with self._asking:
            with self._lock:
                leases = [lease for lease, _ in self._held.values()]
                self._held.clear()
            if leases:
                self.let_go(leases)

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
