"""Output of commands: plain text in columns, or JSON; nothing that a terminal would obey."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

import orjson
import typer

from sayso.base import printable

_COLOURS = {
    "suspended": typer.colors.YELLOW,
    "open": typer.colors.YELLOW,
    "asked": typer.colors.YELLOW,
    "running": typer.colors.CYAN,
    "finished": typer.colors.GREEN,
    "done": typer.colors.GREEN,
    "failed": typer.colors.RED,
    "started": typer.colors.RED,
}


def plain(text: object, width: int | None = None) -> str:
    """Text on one line, cut to a width; control characters and turned directions are spelled out.

    What an agent or a stranger wrote must not move a cursor or recolour a line.
    """
    shown = printable.line(str(text))
    return shown if width is None or len(shown) <= width else shown[: width - 1] + "…"


def colour(word: str) -> str:
    """A status in its colour, on a terminal that has any (NO_COLOR)."""
    shade = _COLOURS.get(word)
    if shade is None or not colourful(sys.stdout):
        return word
    return typer.style(word, fg=shade)


def colourful(stream: TextIO) -> bool:
    """True if a stream is a terminal with colours (NO_COLOR)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, indent: str = "") -> None:
    """Rows under a head, each column as wide as its widest cell; the last one as it comes."""
    cells = [[plain(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    for row in (list(head), *cells):
        padded = [
            colour(cell) + " " * (width - len(cell))
            for cell, width in zip(row, widths, strict=True)
        ]
        typer.echo(indent + "  ".join(padded).rstrip())


def print_json(value: Any) -> None:
    """A JSON value, indented."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
