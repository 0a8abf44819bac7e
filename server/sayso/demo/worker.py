"""The process that serves the demo: `python -m sayso.demo.worker FD`, started by `sayso demo`."""

import logging
import socket
import sqlite3
import sys
import threading
import webbrowser

from sayso.base.errors import SaysoError
from sayso.base.logs import log_to_stderr
from sayso.demo.app import demo_app
from sayso.demo.assistant import model_at
from sayso.demo.settings import Settings
from sayso.ops.binding import CannotStart
from sayso.ops.serving import serve
from sayso.ops.supervisor import exit_now, settings_of_parent, write_line
from sayso.turns.models.clients import host_of

BAD_SETTINGS = 2
"""Exit code for what the person who started it can put right."""


def work(settings: Settings, sock: socket.socket) -> int:
    """Serve the demo on a bound socket until asked to stop; the exit code."""
    log_to_stderr(settings.log_format, logging.WARNING)

    def ready() -> None:
        write_line(sys.stdout, "Serving again.\n" if settings.again else _greeting(settings))
        if settings.browser and not settings.again:
            # Some browsers keep their caller waiting.
            threading.Thread(target=webbrowser.open, args=(settings.url,), daemon=True).start()

    try:
        serve(demo_app(settings), sock, ready=ready)
    except (SaysoError, CannotStart, OSError, sqlite3.Error) as error:
        write_line(sys.stderr, f"sayso: {error}\n")
        return BAD_SETTINGS
    return 0


def _greeting(settings: Settings) -> str:
    lines = [
        f"Sayso {settings.url}",
        "",
        f"  store    {settings.shown_store}",
        f"  data     {settings.data}",
        f"  effects  {settings.url}/demo/effects",
        "",
        _whom_to_ask(settings),
        "Ctrl-C stops the server; open questions are kept for the next start.",
    ]
    if settings.hosts:
        lines.append("Nobody has to log in: whoever can reach this address can approve.")
    return "\n".join(lines) + "\n"


def _whom_to_ask(settings: Settings) -> str:
    """The line about a model, or that there is none."""
    chosen = model_at(model=settings.model, base_url=settings.base_url, no_model=settings.no_model)
    if chosen is None:
        return "No key and no network needed. Say refund, email, deploy or hello to the agent."
    name, base_url = chosen
    return (
        f"The agent assistant asks model {name} at {host_of(base_url)}, once you write to it.\n"
        "The agent ops needs none: say refund, email, deploy or hello to it."
    )


def main() -> None:
    """Serve with the settings that come in from the parent."""
    settings = Settings.from_json(settings_of_parent())
    code = work(settings, socket.socket(fileno=int(sys.argv[1])))
    # A tool that hangs in a thread would keep the interpreter here forever.
    exit_now(code)


if __name__ == "__main__":
    main()
