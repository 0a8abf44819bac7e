"""The command `sayso` in a fork of a process that has imported the package already.

A server of a test of its own takes two seconds of CPU if each interpreter imports everything anew,
and a tenth of that as a fork. What runs is the same: the command line, the signals, the exit code.
"""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing import connection
from pathlib import Path
from typing import Protocol

from tests.sources import ROOT

__all__ = ["Forked", "Running"]

PRELOADED = [
    "sayso.cli.main",
    "sayso.demo.worker",
    "sayso.stores.sqlite.store",
    "uvicorn.protocols.http.httptools_impl",
    "tests.forked",
]


class Running(Protocol):
    """What tests do with a process: as in `subprocess.Popen`."""

    @property
    def pid(self) -> int:
        """Its id."""

    def poll(self) -> int | None:
        """Its exit code, once it has ended."""

    def wait(self, timeout: float) -> int:
        """Wait until it has ended; its exit code."""

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless it has ended."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """Kill -9."""


class Forked:
    """One run of `python -m …` in a fork, from its command as a new interpreter would get it."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        log: Path,
        preloaded: Sequence[str] = (),
    ) -> None:
        """`preloaded` is imported before the first fork of this process, beside the package."""
        interpreter, option, *words = command
        if (interpreter, option) != (sys.executable, "-m"):
            raise ValueError(f"no module of ours: {command}")
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([*PRELOADED, *preloaded])
        self._process = context.Process(
            target=_run, args=(words, folder, dict(environment), log), daemon=True
        )
        self._lock = threading.Lock()
        self._process.start()

    @property
    def pid(self) -> int:
        """Its id."""
        pid = self._process.pid
        assert pid is not None
        return pid

    def poll(self) -> int | None:
        """Its exit code, once it has ended; less than 0 if a signal has ended it."""
        with self._lock:  # the code is read from a pipe, once
            return self._process.exitcode

    def wait(self, timeout: float) -> int:
        """Wait until it has ended; its exit code.

        Raises:
            subprocess.TimeoutExpired: it still runs after that many seconds.
        """
        connection.wait([self._process.sentinel], timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return code

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill -9."""
        self.send_signal(signal.SIGKILL)


def _run(words: list[str], folder: Path, environment: dict[str, str], log: Path) -> None:
    """Be the interpreter that was asked for: its folder, variables, output, path and arguments."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, source in enumerate((nothing, output, output)):
        os.dup2(source, number)
    entries = environment.get("PYTHONPATH", "").split(os.pathsep)
    own = (str(folder), *filter(None, entries))
    sys.path[:] = [*own, *(entry for entry in sys.path if entry not in ("", str(ROOT), *own))]
    sys.argv = words
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)
