"""Who reads a run, and what becomes of it when nobody does (N1, N2, N3).

A run goes on without readers (`on_disconnect="finish"`), but not for ever: one that nobody has read
for `detached_for` seconds is ended. Under `"cancel"` it begins no effect any more as soon as its
last reader has gone, and is ended if none is back within `GRACE`: a page that is loaded again finds
its run going on. Either way effects are never cut, and a run that never had a reader has lost none.
"""

import asyncio

from sayso.clock import Clock
from sayso.engine.runner import Runner
from sayso.engine.stopping import Stopper
from sayso.options import Options

__all__ = ["Attendance"]

GRACE = 5.0
"""Seconds that a client has to come back before its run is cancelled."""


class Attendance:
    """Watches the readers of one run, from its beginning until `close`."""

    def __init__(self, runner: Runner, options: Options, clock: Clock) -> None:
        self._runner = runner
        self._options = options
        self._clock = clock
        self._had_readers = False
        self._alone: asyncio.Task[None] | None = None
        runner.stream.on_readers = self._changed
        self._changed()

    def close(self) -> None:
        """Watch no more; idempotent."""
        self._runner.stream.on_readers = lambda: None
        self._forget()

    def _forget(self) -> None:
        if self._alone is not None:
            self._alone.cancel()
            self._alone = None

    def _changed(self) -> None:
        if self._runner.stream.readers:
            self._had_readers = True
            self._forget()
            self._runner.attended.set()
        elif self._alone is None and not self._runner.stream.ended:
            self._leave()

    def _leave(self) -> None:
        """The last reader has gone, or there was none to begin with."""
        seconds, why = self._options.detached_for, "Nobody read this run for {:g} s: it was ended."
        if self._had_readers and self._options.on_disconnect == "cancel":
            self._runner.attended.clear()
            seconds, why = GRACE, "Its last reader was gone for {:g} s: this run was cancelled."
        if seconds is not None:
            self._alone = asyncio.create_task(
                self._end(seconds, why.format(seconds)), name="attendance"
            )

    async def _end(self, seconds: float, why: str) -> None:
        await self._clock.sleep(seconds)
        self._runner.stop(Stopper(None, why))
