"""The command `sayso`: its commands, and its error messages."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

import typer

from sayso.base import printable
from sayso.base.errors import DeclarationError, Problem, StoreUnavailable
from sayso.cli.admin.agents import agents
from sayso.cli.admin.audit import audit, seal
from sayso.cli.admin.erase import erase, export
from sayso.cli.admin.rekey import rekey
from sayso.cli.admin.serve import serve
from sayso.cli.admin.service import service
from sayso.cli.admin.threads import purge, restart, show, stop, threads
from sayso.cli.chat.chat import chat
from sayso.cli.keys import key
from sayso.cli.server_options import Cors, Host, InsecureNoAuth, LogFormat, Port, seconds
from sayso.demo.settings import DEFAULT_STORE, Settings, data_beside
from sayso.demo.start import check_model, check_store, make_folder, start
from sayso.ops.binding import CannotStart, bind, local_hostnames
from sayso.ops.importing import ImportPathError
from sayso.ops.yamlfile import YamlFileError

BAD_USAGE = 2
_SAID = (
    CannotStart,
    DeclarationError,
    ImportPathError,
    Problem,
    StoreUnavailable,
    YamlFileError,
)
"""Errors that a person can put right; each is reported in one line."""

app: typer.Typer = typer.Typer(
    name="sayso",
    help="Agents that wait for your say-so.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:
    if not requested:
        return
    try:
        typer.echo(f"sayso {version('sayso')}")
    except PackageNotFoundError:
        typer.echo("sayso, not installed: run from its source")
    raise typer.Exit


@app.callback(invoke_without_command=True)
def sayso(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Agents that wait for your say-so."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for _command in (
    *(serve, chat, threads, show, audit, seal, agents, stop, restart),
    *(purge, erase, export, rekey),
):
    app.command()(_command)
app.add_typer(key, name="key")
app.add_typer(service)


@app.command()
def demo(
    host: Host = "127.0.0.1",
    port: Port = 8000,
    store: Annotated[
        str,
        typer.Option(help="Where threads are kept: sqlite:///rel.db, sqlite:////abs.db, memory:"),
    ] = DEFAULT_STORE,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder for what the agent does: its ledger and its sandbox.",
            show_default="beside the store",
        ),
    ] = None,
    expires_in: Annotated[
        float,
        typer.Option(callback=seconds, help="Seconds that the questions of `deploy` stay open."),
    ] = 3600.0,
    keepalive: Annotated[
        float,
        typer.Option(callback=seconds, help="Seconds of silence before a comment on a stream."),
    ] = 15.0,
    cors: Cors = None,
    log_form: LogFormat = "text",
    model: Annotated[
        str | None,
        typer.Option(help="A model for the agent `assistant`, which comes first then."),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            help="Where the model is: the base URL of chat completions. The key is OPENAI_API_KEY.",
            show_default="OPENAI_BASE_URL, or OpenAI's",
        ),
    ] = None,
    no_model: Annotated[
        bool, typer.Option("--no-model", help="Ask no model, whatever the environment says.")
    ] = False,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
    insecure_no_auth: InsecureNoAuth = False,
) -> None:
    """Serve the demo agent and the console. Needs no key and no network."""
    check_store(store)
    check_model(model=model, base_url=base_url, no_model=no_model)
    with bind(host, port, insecure=insecure_no_auth) as sock, _data_folder(store, data) as folder:
        code = start(
            Settings(
                host=host,
                port=sock.getsockname()[1],
                store=store,
                data=str(folder),
                expires_in=expires_in,
                keep_alive=keepalive,
                log_format=log_form,
                origins=tuple(cors or ()),
                hosts=local_hostnames(host) if insecure_no_auth else (),
                insecure_no_auth=insecure_no_auth,
                model=model,
                base_url=base_url,
                no_model=no_model,
                browser=not no_open and has_browser(),
            ),
            sock,
        )
    raise typer.Exit(code)


@contextmanager
def _data_folder(store: str, data: Path | None) -> Iterator[Path]:
    """The folder for effects; a store that forgets gets one that goes with it."""
    if store == DEFAULT_STORE:
        own = make_folder(Path(".sayso"), "--store and --data")
        ignore = own / ".gitignore"
        if not ignore.exists():
            ignore.write_text("# Made by `sayso demo`.\n*\n", "utf-8")
    chosen = data or data_beside(store)
    if chosen is not None:
        yield make_folder(chosen, "--data")
    else:
        with tempfile.TemporaryDirectory(
            prefix="sayso-demo-", ignore_cleanup_errors=True
        ) as passing:
            yield Path(passing)


def has_browser() -> bool:
    """True if a person at this terminal can open a browser."""
    if not sys.stdout.isatty():
        return False
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return sys.platform in ("win32", "darwin") or bool(display)


def main() -> None:
    """Run the command; an error is one line, with exit code 2."""
    try:
        code = app(standalone_mode=False) or 0
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)  # errors of usage know their command
        path = context.command_path if context is not None else "sayso"
        message = printable.lines(error.format_message().rstrip("."))
        typer.echo(f"sayso: {message}. See {path} --help.", err=True)
        code = BAD_USAGE
    except _SAID as error:
        typer.echo(f"sayso: {printable.lines(str(error))}", err=True)
        code = BAD_USAGE
    except typer.Abort:
        code = 130
    sys.exit(code)
