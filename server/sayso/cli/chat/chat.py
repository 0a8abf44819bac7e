"""`sayso chat`: an agent of any AG-UI server on a terminal."""

import shlex
from importlib import import_module
from typing import Annotated
from uuid import uuid4

import typer

from sayso.base.printable import address, lines
from sayso.ops.binding import CannotStart


def chat(
    url: Annotated[
        str,
        typer.Argument(
            help="A server, as http://127.0.0.1:8000, or the endpoint of an agent.",
            show_default=False,
        ),
    ],
    agent: Annotated[
        str | None,
        typer.Option(help="The agent of the server at URL.", show_default="the only one"),
    ] = None,
    thread: Annotated[
        str | None, typer.Option(help="A thread to open again.", show_default="a new one")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(envvar="SAYSO_TOKEN", help="A bearer token.", show_default="none"),
    ] = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print events as JSON, one a line; all else is on stderr."),
    ] = False,
) -> None:
    """Talk to an agent, and answer what it asks. Leaving loses nothing."""
    try:
        client = import_module("sayso.client.client")
        conversation = import_module("sayso.cli.chat.conversation")
    except ModuleNotFoundError as error:
        if error.name != "httpx":
            raise
        raise CannotStart("chat needs httpx; install it with pip install httpx") from None
    endpoint, agent = conversation.endpoint_of(url, agent, token)
    thread_id = thread or f"t-{uuid4().hex}"
    named = ["--agent", agent] if agent is not None else []
    again = shlex.join(["sayso", "chat", address(url), *named, "--thread", thread_id])
    talk = conversation.TerminalChat(
        client.Client(endpoint, thread_id=thread_id, token=token, warn=_warn),
        again=again,
        events=json,
    )
    raise typer.Exit(talk.hold(reopen=thread is not None))


def _warn(note: str) -> None:
    typer.echo(f"sayso: {lines(note)}", err=True)
