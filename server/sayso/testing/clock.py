"""A clock that stands still until a test moves it."""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass

_NANO = 1_000_000_000


@dataclass(eq=False, slots=True)
class _Ticker:
    """A job that is done every so many nanoseconds, and its next time."""

    period: int
    work: Callable[[], None]
    due: int


class FakeClock:
    """A `Clock` for tests, used from one event loop; `now` and `monotonic` from any thread.

    Counts in whole nanoseconds, so that ten steps of 0.1 s are exactly one second.
    """

    def __init__(self, now: int = 1_700_000_000_000, *, yields: int = 40) -> None:
        """`now`: the first instant in ms; `yields`: turns of the loop after each wake-up.

        Without `now` it begins on Tuesday, 14 November 2023, at 22:13:20 UTC.
        """
        self._began = now
        self._elapsed = 0
        self._yields = yields
        self._order = itertools.count()
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._tickers: list[_Ticker] = []

    def now(self) -> int:
        """Wall time in milliseconds since the epoch."""
        return self._began + self._elapsed // 1_000_000

    def monotonic(self) -> float:
        """Seconds since this clock was made."""
        return self._elapsed / _NANO

    @property
    def sleeping(self) -> int:
        """The number of tasks that sleep on this clock."""
        return sum(not waiter.done() for _, _, waiter in self._sleepers)

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has advanced that far; for 0 other tasks get a turn at once."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        deadline = self._elapsed + round(seconds * _NANO)
        heapq.heappush(self._sleepers, (deadline, next(self._order), waiter))
        await waiter

    def every(self, seconds: float, work: Callable[[], None], name: str) -> Callable[[], None]:
        """Have `advance` call `work` at its times, so that a live process stays alive.

        Its errors come out of `advance`.
        """
        period = round(seconds * _NANO)
        ticker = _Ticker(period, work, self._elapsed + period)
        self._tickers.append(ticker)

        def end() -> None:
            if ticker in self._tickers:
                self._tickers.remove(ticker)

        return end

    def jump(self, seconds: float) -> None:
        """Move time on at once, as for a machine that slept; `advance` tells who waited for it."""
        if seconds < 0:
            raise ValueError(f"time does not go back: {seconds} s")
        self._elapsed += round(seconds * _NANO)

    async def advance(self, seconds: float, *, wakes: int = 10_000) -> None:
        """Move time on and wake sleepers in the order of their deadlines, each at its own time.

        After each one other tasks get some turns of the loop, so that one that goes to sleep again
        is woken again if it is due. Work in another thread (a store on disk) may need longer: wait
        for its effect.

        Raises:
            RuntimeError: after `wakes` wake-ups a task still sleeps again and again.
        """
        if seconds < 0:
            raise ValueError(f"time does not go back: {seconds} s")
        target = self._elapsed + round(seconds * _NANO)
        await self._let_others_run()
        while True:
            due = self._sleepers[0][0] if self._sleepers else target + 1
            ticker = min(self._tickers, key=lambda ticker: ticker.due, default=None)
            if ticker is not None and ticker.due <= min(due, target):
                self._elapsed = max(self._elapsed, ticker.due)
                ticker.due = self._elapsed + ticker.period
                ticker.work()
                continue
            if due > target:
                break
            deadline, _, waiter = heapq.heappop(self._sleepers)
            if waiter.done():
                continue
            if wakes == 0:
                raise RuntimeError(
                    f"a task sleeps again and again within {seconds} s: `jump` over a long time"
                )
            wakes -= 1
            self._elapsed = max(self._elapsed, deadline)
            waiter.set_result(None)
            await self._let_others_run()
        self._elapsed = max(self._elapsed, target)
        await self._let_others_run()

    async def _let_others_run(self) -> None:
        for _ in range(self._yields):
            await asyncio.sleep(0)
