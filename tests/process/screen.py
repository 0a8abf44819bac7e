"""The command on a pseudo terminal of its own, typed at as a person would."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from types import TracebackType
from typing import Self

from tests.patience import PATIENCE
from tests.sources import ROOT


class Screen:
    """`seen` is all that was written to it, with line ends as programs write them."""

    def __init__(
        self, arguments: list[str], *, columns: int = 100, program: str = "sayso", **env: str
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", program, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={
                **inherited,
                "PYTHONPATH": os.pathsep.join([str(ROOT / "server"), str(ROOT)]),
                "TERM": "xterm",
                "INPUTRC": os.devnull,
                **{name: value for name, value in env.items() if value},
            },
        )
        os.close(theirs)
        self.seen = ""
        self._mark = 0

    def until(self, text: str) -> Self:
        """Wait until this is written, after what was waited for before."""
        end = time.monotonic() + PATIENCE
        while text not in self.seen[self._mark :]:
            if not self._read(end - time.monotonic()):
                raise AssertionError(f"{text!r} was not written:\n{self.seen}")
        self._mark = self.seen.index(text, self._mark) + len(text)
        return self

    def line(self, line: str) -> Self:
        """A line and its end."""
        return self.keys(f"{line}\r")

    def keys(self, keys: str) -> Self:
        """Any keys."""
        os.write(self._ours, keys.encode())
        return self

    def ended(self) -> int:
        """The exit code, once all that was written is read."""
        while self._read(PATIENCE):
            pass
        return self._process.wait(PATIENCE)

    def _read(self, patience: float) -> bool:
        if not select.select([self._ours], [], [], max(patience, 0))[0]:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # the terminal is hung up when its program has ended
            return False
        self.seen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)
