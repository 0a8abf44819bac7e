"""Starting the demo: everything that can be wrong is found here, before anything is served."""

import asyncio
import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

from sayso.base.errors import DeclarationError
from sayso.demo.assistant import model_at
from sayso.demo.settings import Settings
from sayso.demo.worker import work
from sayso.ops.binding import CannotStart
from sayso.ops.supervisor import keep_serving, write_line
from sayso.providers import Completions
from sayso.stores import open_store


def check_store(url: str) -> None:
    """Check the URL of a store.

    Raises:
        CannotStart: it names none.
    """
    try:
        open_store(url)
    except DeclarationError as error:
        raise CannotStart(f"--store: {error}") from None


def check_model(*, model: str | None, base_url: str | None, no_model: bool) -> None:
    """Check what is said of a model, before anything is served.

    Raises:
        CannotStart: nothing says where it is, its URL leads nowhere, or httpx is missing.
    """
    chosen = model_at(model=model, base_url=base_url, no_model=no_model)
    if chosen is None:
        return
    try:
        Completions(chosen[1])
    except DeclarationError as error:
        raise CannotStart(f"--base-url: {error}") from None


def make_folder(folder: Path, option: str) -> Path:
    """Make a folder that can be written to, and return its absolute path."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise CannotStart(
            f"folder {str(folder)!r} cannot be written to ({error.strerror}); "
            f"name another one with {option}"
        ) from None
    return folder.absolute()


def start(settings: Settings, sock: socket.socket) -> int:
    """Serve until stopped; the exit code."""
    if sys.platform == "win32":
        # Sockets are not inherited there: the demo serves without anybody to start it again.
        return work(settings, sock)
    # The working folder may hold files named like modules, unless it is where the package is.
    safe = () if sys.path[0] in ("", str(Path.cwd())) else ("-P",)
    command = [sys.executable, *safe, "-m", "sayso.demo.worker", str(sock.fileno())]

    def say(line: str) -> None:
        write_line(sys.stderr, f"{line}\n")

    return asyncio.run(
        keep_serving(command, sock, lambda again: replace(settings, again=again).to_json(), say)
    )
