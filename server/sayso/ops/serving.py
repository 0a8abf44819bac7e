"""Serving an app to the end: uvicorn, with an end that leaves no reader without its last event.

uvicorn waits for open streams before it tells the app to stop, and open streams wait for the app:
so here the engine is stopped first.
"""

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from math import ceil
from types import FrameType

import uvicorn

from sayso.app import Sayso
from sayso.ops.bounded_protocol import BoundedProtocol, Bounds
from sayso.ops.loops import close_runner, threads_alive

_log = logging.getLogger("sayso.ops.serving")

GRACE_S = 5.0
"""Seconds that running turns get to end by themselves once the server is asked to stop."""
_LAST_BYTES = 3.0
"""Seconds after that for clients to take what is left; then they are cut off."""
_LAST_RESORT = 2
"""Seconds after that for what does not even notice that its client is gone; it is cancelled."""
_UNWIND_S = 1.0
"""Seconds after that for code of authors, in tasks and in threads, to notice that all is over."""
_HEEDED = (signal.SIGTERM, signal.SIGINT)
_GC_THRESHOLDS = (10_000, 20, 20)
"""The new objects, and the rounds, before Python looks for cycles again. By default it does so
every 700, which is in the middle of each turn, where all is still in use."""


def serve(
    app: Sayso,
    sock: socket.socket,
    *,
    ready: Callable[[], None],
    heeds: tuple[signal.Signals, ...] = _HEEDED,
    grace: float = GRACE_S,
    drain: float = 0.0,
    bounds: Bounds | None = None,
) -> bool:
    """Serve on a bound socket until one of the signals `heeds` has come; the main thread's work.

    `ready` is called once requests are answered. After a signal, streams of running turns continue
    for `grace` seconds and then end with `RUN_ERROR shutting_down`; further signals change nothing.
    Before that, all is served for `drain` seconds but `/readyz`, which says that the server stops.

    `bounds` are those of its connections, the default ones if not given.

    Returns True if all has ended. If not, code of an agent or a tool swallows its cancellation or
    hangs in a thread: Python would wait for it forever, so the caller has to leave by `os._exit`.

    Raises:
        StoreUnavailable: the store cannot be opened.
    """
    runner = asyncio.Runner(loop_factory=_fast_loop())
    ended = True
    try:
        runner.run(_serve(app, sock, ready, heeds, grace, drain, bounds or Bounds()))
    finally:
        if not close_runner(runner, _UNWIND_S):
            ended = False
            _log.warning("leaving code behind that does not end when it is cancelled")
        if left := threads_alive(_UNWIND_S):
            ended = False
            _log.warning("leaving threads behind that do not end: %s", ", ".join(left))
    return ended


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop  # noqa: PLC0415 - there is none for Windows

    return uvloop.new_event_loop


async def _serve(
    app: Sayso,
    sock: socket.socket,
    ready: Callable[[], None],
    heeds: tuple[signal.Signals, ...],
    grace: float,
    drain: float,
    bounds: Bounds,
) -> None:
    config = uvicorn.Config(
        app,
        http=BoundedProtocol.bounded(bounds),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=ceil(grace + _LAST_BYTES) + _LAST_RESORT,
    )
    async with app.lifespan():
        await _Server(config, app, ready, heeds, grace, drain).serve([sock])


def settle_memory() -> None:
    """Tell the cycle collector that what was loaded so far stays, and to look less often.

    For a process that does nothing but serve; `serve` does it by itself, once all is ready. Without
    it a server looks through all its modules again and again: a tenth of what a turn costs.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)


class _Server(uvicorn.Server):
    def __init__(
        self,
        config: uvicorn.Config,
        app: Sayso,
        ready: Callable[[], None],
        heeds: tuple[signal.Signals, ...],
        grace: float,
        drain: float,
    ) -> None:
        super().__init__(config)
        self._app = app
        self._ready = ready
        self._heeds = heeds
        self._grace = grace
        self._drain = drain

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        settle_memory()
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.drain()
        await asyncio.sleep(self._drain)  # who sends requests here has to hear of it first
        answered = asyncio.Event()
        stopping = asyncio.create_task(self._app._engine.stop(self._grace, answered))
        cutting = asyncio.get_running_loop().call_later(self._grace + _LAST_BYTES, self._cut_off)
        try:
            await super().shutdown(sockets)
        finally:
            answered.set()
            cutting.cancel()
            await stopping

    def _cut_off(self) -> None:
        for connection in self.server_state.connections:
            connection.transport.abort()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        before = {number: signal.signal(number, self.handle_exit) for number in self._heeds}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.should_exit = True
