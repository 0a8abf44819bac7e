"""Probes of the server: is its store reachable, and its metrics."""

import asyncio
from collections.abc import Callable, Iterator

from sayso.base.codes import Code
from sayso.base.errors import Problem, StoreError
from sayso.base.metrics import Metrics, gauge
from sayso.base.records import OpenCount
from sayso.turns.services import Services

PROBE_TIMEOUT_S = 2.0
"""Seconds that the store has to answer a probe."""
MAX_COUNTED = 10_000
"""Open interrupts that are counted at most, so that looking costs the same however many there are.
"""


class Health:
    """Answers probes; `running` gives the number of runs in this process."""

    def __init__(self, services: Services, running: Callable[[], int]) -> None:
        self.metrics: Metrics = services.metrics
        self._store, self._clock = services.store, services.clock
        self._running = running
        self._asked: asyncio.Task[OpenCount] | None = None
        self._most = 0  # how far that call counts

    async def ready(self) -> None:
        """Return if the store answers.

        Raises:
            StoreUnavailable: the store says that it cannot be used.
            Problem: `store_unavailable`, it is silent.
        """
        await self._count(1)

    async def lines(self) -> Iterator[str]:
        """The metrics as Prometheus reads them; a silent store counts as down."""
        try:
            waiting = await self._count(MAX_COUNTED)
        except (Problem, StoreError):
            waiting = None
        return self._lines(waiting)

    async def _count(self, most: int) -> OpenCount:
        """Ask the store. Probes of a store that hangs wait for one call, each for its own time.

        One that counts further than that call does waits for its end and asks then.
        """
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                while self._asked is not None and not self._asked.done() and self._most < most:
                    await asyncio.wait([self._asked])
                if self._asked is None or self._asked.done():
                    self._asked = asyncio.create_task(
                        self._store.count_all_open(most), name="probe"
                    )
                    self._asked.add_done_callback(_retrieved)
                    self._most = most
                return await asyncio.shield(self._asked)
        except TimeoutError:
            raise Problem(
                Code.STORE_UNAVAILABLE, f"The store did not answer within {PROBE_TIMEOUT_S:g} s."
            ) from None

    def _lines(self, waiting: OpenCount | None) -> Iterator[str]:
        yield from gauge(
            "sayso_store_up", "Whether the store answers.", [0 if waiting is None else 1]
        )
        yield from gauge(
            "sayso_runs_active", "Runs that are going on in this process.", [self._running()]
        )
        yield from gauge(
            "sayso_interrupts_open",
            f"Questions that wait in the store, of all servers; {MAX_COUNTED} stands for that or "
            f"more.",
            [] if waiting is None else [waiting.count],
        )
        yield from gauge(
            "sayso_interrupt_oldest_seconds",
            "Age of the question that has waited longest; 0 when none does.",
            [] if waiting is None else [self._age(waiting.oldest)],
        )
        yield from self.metrics.lines()

    def _age(self, since: int | None) -> float:
        return 0.0 if since is None else max(self._clock.now() - since, 0) / 1000


def _retrieved(task: asyncio.Task[OpenCount]) -> None:
    """Retrieve a failure that no probe waits for any longer, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()
