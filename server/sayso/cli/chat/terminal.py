"""Lines to a person and from one: on a terminal, or through pipes."""

import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from getpass import getpass
from importlib import import_module
from types import ModuleType

import typer

from sayso.base import printable
from sayso.cli.output import colourful

_BEAT_S = 0.25  # seconds


def shown(text: str) -> str:
    """Text as it may stand on a terminal: its lines are kept, nothing else that moves a cursor."""
    return printable.lines(text)


def _module(name: str) -> ModuleType | None:
    """A module that not every Python has."""
    try:
        return import_module(name)
    except ImportError:
        return None


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends the wait for a line whenever it comes.

    Python's `input` looks for signals when its wait is interrupted. One that comes after the
    prompt was drawn and before the wait began would be noticed at the next key, so the wait is
    interrupted from time to time.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, _BEAT_S, _BEAT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Terminal:
    """`aside` puts everything on stderr, where stdout belongs to a program."""

    def __init__(self, *, aside: bool = False) -> None:
        self._aside = aside
        self._in_line = False
        # Lines are edited where the terminal is ours from both sides.
        edited = self.interactive and sys.stdout.isatty() and not aside
        self._lines = _module("readline") if edited else None
        if self._lines is not None:
            self._lines.set_auto_history(False)

    @property
    def interactive(self) -> bool:
        """True if a person types, and not a pipe."""
        return sys.stdin.isatty()

    @property
    def width(self) -> int:
        """Characters of a line."""
        return shutil.get_terminal_size().columns

    def write(self, text: str) -> None:
        """A piece of a line, at once."""
        if text:
            typer.echo(shown(text), nl=False, err=self._aside)
            self._in_line = not text.endswith("\n")

    def end_line(self) -> None:
        """Begin a new line, unless one begins here already."""
        if self._in_line:
            typer.echo(err=self._aside)
            self._in_line = False

    def say(self, text: str, colour: str | None = None, *, bold: bool = False) -> None:
        """A line, in a colour where the terminal has any (NO_COLOR)."""
        self.end_line()
        line = shown(text)
        if (colour or bold) and colourful(sys.stderr if self._aside else sys.stdout):
            line = typer.style(line, fg=colour, bold=bold or None)
        typer.echo(line, err=self._aside)

    def forget_typed(self) -> None:
        """Drop what was typed before a question was on the screen: it cannot be its answer.

        What comes through a pipe was meant to be read line by line.
        """
        control = _module("termios") if self.interactive else None
        if control is not None:
            control.tcflush(sys.stdin, control.TCIFLUSH)

    def ask(
        self, prompt: str, *, typed: str = "", remember: bool = False, secret: bool = False
    ) -> str:
        """A line from the person, without blanks around it; EOFError at the end of a pipe.

        `typed` stands there already and can be changed, and `remember` lets arrow keys bring the
        line back, where the terminal can edit lines. A `secret` is not seen while it is typed.
        """
        while True:
            self.end_line()
            try:
                line = self._line(f"{shown(prompt)} ", typed, secret=secret)
                line.encode()  # bytes that are no text come as halves of characters
            except UnicodeError:
                self.say("This is not text in UTF-8.", typer.colors.RED)
                continue
            except (EOFError, KeyboardInterrupt):
                self._in_line = self.interactive
                raise
            if self._lines is not None and remember and line.strip():
                self._lines.add_history(line)
            return line.strip()

    def confirm(self, prompt: str) -> bool:
        """Ask a question; True if the answer is yes."""
        while True:
            word = self.ask(f"{prompt} (y/n)").lower()
            if word in ("y", "yes", "n", "no"):
                return word[0] == "y"
            self.say("Type y or n.", typer.colors.RED)

    def _line(self, prompt: str, typed: str, *, secret: bool) -> str:
        if secret and self.interactive:
            with _interruptible():
                return getpass(prompt)
        if self._lines is not None:
            insert = self._lines.insert_text
            self._lines.set_startup_hook((lambda: insert(shown(typed))) if typed else None)
            with _interruptible():
                # The prompt is known to who edits the line, or the line would be drawn over it.
                return input(prompt)
        typer.echo(prompt, nl=False, err=self._aside)
        try:
            if not self.interactive:
                return input()
            with _interruptible():
                return input()
        finally:
            if not self.interactive:
                typer.echo(err=self._aside)
