"""Lines to a person and from one: on a terminal, or through pipes."""

import sys

import typer

from sayso.commands.output import colourful, plain

__all__ = ["Terminal", "shown"]


def shown(text: str) -> str:
    """Text as it may stand on a terminal: its lines are kept, nothing else that moves a cursor."""
    return "\n".join(plain(line) for line in text.split("\n"))


class Terminal:
    """`aside` puts everything on stderr, where stdout belongs to a program."""

    def __init__(self, *, aside: bool = False) -> None:
        self._aside = aside
        self._in_line = False

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
            line = typer.style(line, fg=colour, bold=bold)
        typer.echo(line, err=self._aside)

    def ask(self, prompt: str) -> str:
        """A line from the person, without blanks around it; EOFError at the end of a pipe."""
        while True:
            self.end_line()
            typer.echo(f"{shown(prompt)} ", nl=False, err=self._aside)
            try:
                line = input()
                line.encode()  # bytes that are no text come as halves of characters
                return line.strip()
            except UnicodeError:
                self.say("This is not text in UTF-8.", typer.colors.RED)
            finally:
                if not sys.stdin.isatty():
                    typer.echo(err=self._aside)
