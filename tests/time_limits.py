"""Time limits of steps and tools that run out when a test says so, however busy the machine is."""

import asyncio

import pytest

from sayso.turns.replay import effects

__all__ = ["TimeLimits"]


class TimeLimits:
    """The limits of all effects, in place of the clock's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._running: list[tuple[asyncio.AbstractEventLoop, asyncio.Timeout]] = []
        monkeypatch.setattr(effects, "timeout", self._begin)

    def _begin(self, seconds: float | None) -> asyncio.Timeout:
        limit = asyncio.timeout(None)
        if seconds is not None:
            self._running.append((asyncio.get_running_loop(), limit))
        return limit

    def run_out(self) -> None:
        """The effect that began last has had its time; said from its own code, thread or not."""
        loop, limit = self._running.pop()
        loop.call_soon_threadsafe(limit.reschedule, loop.time())
