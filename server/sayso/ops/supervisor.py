"""A parent that keeps one worker process serving a socket, so that a killed server comes back.

    parent ── socket, settings, a pipe that closes when the parent dies ──> worker
           <── killed by a signal: start another one; ended by itself: end with its code ──

The parent binds the socket, so the port is never anybody else's. What stops the parent stops the
worker: asked once it is asked to end in order, asked twice it is killed, and killed it takes the
worker along.
"""

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn, TextIO

_STOPPED_BY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SAME_PRESS_S = 1.0
"""Seconds in which several signals count as one: Ctrl-C reaches a whole group, some of it twice."""
_WORKER_GRACE_S = 12.0
"""Seconds that a worker gets to end in order."""
_MAX_EARLY_DEATHS = 10
"""Workers in a row, each killed within `_EARLY_S` seconds, after which the supervisor gives up."""
_EARLY_S = 1.0


async def keep_serving(
    command: Sequence[str],
    sock: socket.socket,
    settings: Callable[[bool], bytes],
    say: Callable[[str], None],
) -> int:
    """Run `command` with the socket inherited under its own number until it ends; its exit code.

    `settings` makes the line that a worker is given on its standard input; it is told whether one
    was killed before. 0 after an orderly end.
    """
    return await _Parent(command, sock, settings, say).run()


class _Parent:
    def __init__(
        self,
        command: Sequence[str],
        sock: socket.socket,
        settings: Callable[[bool], bytes],
        say: Callable[[str], None],
    ) -> None:
        self._command = command
        self._sock = sock
        self._settings = settings
        self._say = say
        self._loop = asyncio.get_running_loop()
        self._asked: float | None = None
        self._worker: asyncio.subprocess.Process | None = None
        self._again = False
        self._died_young = 0

    async def run(self) -> int:
        for number in _STOPPED_BY:
            self._loop.add_signal_handler(number, self._stop)
        try:
            while True:
                started = self._loop.time()
                code = await self._one_worker()
                if self._asked is not None:
                    return 0
                if code >= 0:
                    return code
                self._again = True
                is_young = self._loop.time() - started < _EARLY_S
                self._died_young = self._died_young + 1 if is_young else 0
                if self._died_young == _MAX_EARLY_DEATHS:
                    self._say(
                        f"{_MAX_EARLY_DEATHS} servers in a row were killed at once; giving up."
                    )
                    return 1
                self._say(f"The server was killed by {_name(-code)}; starting another one.")
        finally:
            for number in _STOPPED_BY:
                self._loop.remove_signal_handler(number)

    async def _one_worker(self) -> int:
        worker = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            pass_fds=(self._sock.fileno(),),
            process_group=0,  # a terminal's Ctrl-C is for the parent, which passes it on
        )
        assert worker.stdin is not None  # noqa: S101 - it was asked for
        worker.stdin.write(self._settings(self._again) + b"\n")
        self._worker = worker
        if self._asked is not None:  # while the worker was started
            self._end_worker()
        try:
            return await worker.wait()
        finally:
            self._worker = None
            worker.stdin.close()

    def _stop(self) -> None:
        now = self._loop.time()
        if self._asked is None:
            self._asked = now
            self._say("Stopping; what is open stays open until the next start.")
            self._end_worker()
        elif now - self._asked > _SAME_PRESS_S:
            self._signal(signal.SIGKILL)

    def _end_worker(self) -> None:
        if self._worker is not None:
            self._sock.close()
            self._signal(signal.SIGTERM)
            self._loop.call_later(_WORKER_GRACE_S, self._signal, signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._worker is not None and self._worker.returncode is None:
            self._worker.send_signal(number)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def write_line(stream: TextIO, text: str = "") -> None:
    """Write to whoever may have stopped reading: a closed pipe or terminal stops no server."""
    with suppress(OSError):
        stream.write(text)
        stream.flush()


def exit_now(code: int) -> NoReturn:
    """End the process with all that still runs in it; what was told is written first."""
    for stream in (sys.stdout, sys.stderr):
        write_line(stream)
    os._exit(code)


def settings_of_parent() -> bytes:
    """In a worker: what the parent gave; from then on, the parent's death is the worker's."""
    settings = sys.stdin.buffer.readline()
    threading.Thread(target=_die_with_parent, name="parent", daemon=True).start()
    return settings


def _die_with_parent() -> None:
    sys.stdin.buffer.read()
    # As if killed itself: nothing that lingers may hold the port of the next start.
    os._exit(1)
