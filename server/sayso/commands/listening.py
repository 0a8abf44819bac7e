"""The options that every command has which serves: declared once, so that they stay the same."""

from typing import Annotated

import typer

from sayso.commands.checks import log_format, origins

__all__ = ["Cors", "Host", "InsecureNoAuth", "LogFormat", "Port"]

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
        help="Serve on other addresses than loopback, where anybody may approve.",
    ),
]
