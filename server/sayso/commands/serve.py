"""`sayso serve`: an app, or a file of agents, on an address."""

import logging
import sys
from typing import Annotated

import typer

from sayso.binding import bind, own_names
from sayso.commands.checks import seconds
from sayso.commands.listening import Cors, Host, InsecureNoAuth, LogFormat, Port
from sayso.commands.target import app_at
from sayso.logs import log_to_stderr
from sayso.serving import GRACE
from sayso.serving import serve as serving
from sayso.supervisor import leave, tell

__all__ = ["serve"]

_LEVELS = ("debug", "info", "warning", "error")


def _level(value: str) -> str:
    if value.lower() not in _LEVELS:
        raise typer.BadParameter(f"must be one of {', '.join(_LEVELS)}")
    return value.lower()


def serve(
    target: Annotated[
        str,
        typer.Argument(help="module:app, or a file of agents: agents.yaml.", show_default=False),
    ],
    host: Host = "127.0.0.1",
    port: Port = 8000,
    store: Annotated[
        str | None,
        typer.Option(
            help="Where threads are kept, instead of the app's own: sqlite:///rel.db, "
            "postgresql://…, redis://…, memory:",
            show_default="the app's",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A further host name that requests may be for; may be given several times.",
            show_default="none",
        ),
    ] = None,
    cors: Cors = None,
    grace: Annotated[
        float,
        typer.Option(callback=seconds, help="Seconds that running turns get to end, once stopped."),
    ] = GRACE,
    drain: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=3600.0,
            help="Seconds before that in which all is served and /readyz says that it ends.",
        ),
    ] = 0.0,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="READERS",
            help="Who may read /metrics: authenticated, anybody, nobody, role:NAME.",
            show_default="the app's",
        ),
    ] = None,
    log_form: LogFormat = "text",
    log_level: Annotated[
        str, typer.Option(callback=_level, help=f"One of {', '.join(_LEVELS)}.")
    ] = "warning",
    insecure_no_auth: InsecureNoAuth = False,
) -> None:
    """Serve an app by its import path, or the agents of a YAML file, with the console."""
    app = app_at(target, store=store)
    if metrics is not None:
        app = app.again(metrics=metrics)
    with bind(host, port, insecure=insecure_no_auth, authenticated=app.authenticates) as sock:
        changes = {}
        if names := (*own_names(host), *(allow_host or ())):
            changes["hosts"] = names
        if cors:
            changes["origins"] = tuple(cors)
        if changes:
            app = app.also(**changes)
        log_to_stderr(log_form, logging.getLevelNamesMapping()[log_level.upper()])
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{sock.getsockname()[1]}"

        def ready() -> None:
            tell(sys.stdout, f"Sayso {url}\n")
            if not app.authenticates:
                tell(sys.stdout, _open_to(host))

        if not serving(app, sock, ready=ready, grace=grace, drain=drain):
            leave(0)
    raise typer.Exit(0)


def _open_to(host: str) -> str:
    if own_names(host):
        return "Nobody has to log in: whoever can reach this address can approve.\n"
    return "Nobody has to log in; only this machine can reach it.\n"
