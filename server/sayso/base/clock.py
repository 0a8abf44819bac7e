"""Time as an argument: everything that needs the hour gets a `Clock`."""

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Protocol

MAX_WAIT_S: Final = 100 * 366 * 86_400
"""Seconds that a person may put something off by, at most: a hundred years."""


class Clock(Protocol):
    """The source of time; `sayso.testing.FakeClock` is the one that tests move."""

    def now(self) -> int:
        """Wall time in milliseconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back, for local deadlines."""

    async def sleep(self, seconds: float) -> None:
        """Wait that long on this clock."""

    def every(self, seconds: float, work: Callable[[], None], name: str) -> Callable[[], None]:
        """Call `work` every so many seconds, whatever the event loop is held up with.

        Until what this returns is called, which waits for a call that is going on.
        """


class SystemClock:
    """The machine's own time."""

    def now(self) -> int:
        """Wall time in milliseconds since the epoch, UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait that long."""
        await asyncio.sleep(seconds)

    def every(self, seconds: float, work: Callable[[], None], name: str) -> Callable[[], None]:
        """Call `work` every so many seconds in a thread of that name."""
        over = threading.Event()

        def run() -> None:
            while not over.wait(seconds):
                work()

        thread = threading.Thread(target=run, name=name, daemon=True)

        def end() -> None:
            over.set()
            thread.join()

        thread.start()
        return end


def format_time(milliseconds: int) -> str:
    """`YYYY-MM-DDTHH:MM:SS.fffZ`, the only spelling that every client reads alike (IN-09)."""
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03d}Z"


def parse_time(text: str) -> int:
    """Read an RFC 3339 time as milliseconds since the epoch.

    Raises:
        ValueError: another text, or a time without an offset.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time needs an offset, to mean the same everywhere: end it with Z")
    return round(moment.timestamp() * 1000)
