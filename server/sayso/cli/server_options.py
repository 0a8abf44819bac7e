"""The options of every command that serves: declared once, and checked before anything begins."""

from math import isfinite
from typing import Annotated
from urllib.parse import urlsplit

import typer

from sayso.base.logs import FORMATS


def seconds(value: float) -> float:
    """Seconds, 0.1 or more."""
    if not isfinite(value) or value < 0.1:
        raise typer.BadParameter("must be seconds, 0.1 or more")
    return value


def log_format(value: str) -> str:
    """The format of log lines."""
    if value.lower() not in FORMATS:
        raise typer.BadParameter(f"must be one of {', '.join(FORMATS)}")
    return value.lower()


def _origin(value: str) -> str:
    parts = urlsplit(value)
    whole = parts.scheme in ("http", "https") and parts.netloc and parts.path in ("", "/")
    if value != "*" and (not whole or parts.query or parts.fragment or "@" in parts.netloc):
        raise typer.BadParameter(f"{value!r} is no origin; write one like https://app.example.org")
    return value


def origins(values: list[str] | None) -> list[str]:
    """Origins of pages, or `*`."""
    return [_origin(value) for value in values or ()]


Host = Annotated[str, typer.Option("--host", help="Address to serve on.")]
Port = Annotated[
    int,
    typer.Option("--port", min=0, max=65535, help="Port to serve on; 0 takes a free one."),
]
Cors = Annotated[
    list[str] | None,
    typer.Option(
        "--cors",
        metavar="ORIGIN",
        callback=origins,
        help="Another origin whose pages may call; may be given several times.",
        show_default="none",
    ),
]
LogFormat = Annotated[
    str, typer.Option("--log-format", callback=log_format, help="One of text, json.")
]
InsecureNoAuth = Annotated[
    bool,
    typer.Option(
        "--insecure-no-auth",
        help="Serve other machines and proxies as well, where anybody may approve.",
    ),
]
