"""`sayso serve`: an app, or a file of agents, on an address."""

import logging
import sys
from dataclasses import replace
from typing import Annotated

import typer

from sayso.base.logs import log_to_stderr
from sayso.cli.admin.target import app_at
from sayso.cli.keys import KeyFile, codec_at
from sayso.cli.server_options import Cors, Host, InsecureNoAuth, LogFormat, Port, seconds
from sayso.ops.binding import bind, local_hostnames
from sayso.ops.bounded_protocol import Bounds
from sayso.ops.serving import GRACE_S
from sayso.ops.serving import serve as serving
from sayso.ops.supervisor import exit_now, write_line

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
            envvar="SAYSO_STORE",
            help="Where threads are kept, instead of the app's own: sqlite:///rel.db, "
            "postgresql://…, redis://…, memory:",
            show_default="the app's",
        ),
    ] = None,
    key_file: KeyFile = None,
    accept_plain: Annotated[
        bool,
        typer.Option(
            "--accept-plain",
            help="With --key-file: read also what is not encrypted yet, until sayso rekey is done.",
        ),
    ] = False,
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
    ] = GRACE_S,
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
    max_connections: Annotated[
        int, typer.Option(min=1, help="Connections at the same time; further ones get 503.")
    ] = 1_000,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="All connections come from a proxy, so one address may have all of them, not 64.",
        ),
    ] = False,
    log_form: LogFormat = "text",
    log_level: Annotated[
        str, typer.Option(callback=_level, help=f"One of {', '.join(_LEVELS)}.")
    ] = "warning",
    insecure_no_auth: InsecureNoAuth = False,
) -> None:
    """Serve an app by its import path, or the agents of a YAML file, with the console."""
    codec = codec_at(key_file, accept_plain=accept_plain)
    if accept_plain and codec is None:
        raise typer.BadParameter("--accept-plain goes with --key-file")
    app = app_at(target, store=store, codec=codec)
    authenticated = app._authenticates
    with bind(host, port, insecure=insecure_no_auth, authenticated=authenticated) as sock:
        server = replace(
            app.server,
            hosts=(*app.server.hosts, *local_hostnames(host), *(allow_host or ())),
            origins=(*app.server.origins, *(cors or ())),
            insecure_no_auth=insecure_no_auth or app.server.insecure_no_auth,
            metrics=app.server.metrics if metrics is None else metrics,
        )
        if server != app.server:
            app = app.replace(server=server)
        log_to_stderr(log_form, logging.getLevelNamesMapping()[log_level.upper()])
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{sock.getsockname()[1]}"

        def ready() -> None:
            write_line(sys.stdout, f"Sayso {url}\n")
            if not authenticated:
                write_line(sys.stdout, _open_to(host))

        each = None if behind_proxy else Bounds().per_address
        bounds = Bounds(connections=max_connections, per_address=each)
        if not serving(app, sock, ready=ready, grace=grace, drain=drain, bounds=bounds):
            exit_now(0)
    raise typer.Exit(0)


def _open_to(host: str) -> str:
    if local_hostnames(host):
        return "Nobody has to log in: whoever can reach this address can approve.\n"
    return "Nobody has to log in; only this machine can reach it.\n"
