"""Starting the demo: everything that can be wrong is found here, before anything is served."""

import asyncio
import ipaddress
import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

from sayso.demo.settings import Settings
from sayso.demo.worker import work
from sayso.errors import DeclarationError
from sayso.stores import open_store
from sayso.supervisor import keep_serving, tell

__all__ = ["CannotStart", "bind", "check_store", "make_folder", "own_names", "start"]

_QUEUED = 2048
"""Connections that wait while a worker starts."""


class CannotStart(Exception):
    """The demo cannot be served as asked; the message says what to change."""


def check_store(url: str) -> None:
    """Raise `CannotStart` for a URL that names no store."""
    try:
        open_store(url)
    except DeclarationError as error:
        raise CannotStart(f"--store: {error}") from None


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


def bind(host: str, port: int, *, insecure: bool) -> socket.socket:
    """Listen; without `insecure` on loopback addresses only."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise CannotStart(
            f"--host {host!r} is no address of this machine; use 127.0.0.1 or localhost"
        ) from None
    family, kind, protocol, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    if not insecure and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise CannotStart(
            f"--host {host} would let anybody who reaches this machine approve, since nobody has "
            "to log in; use --host 127.0.0.1, or add --insecure-no-auth if that is what you want"
        )
    sock = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            # Only connections that are closing are passed over; a server that listens is not.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(_QUEUED)
    except OSError as error:
        sock.close()
        raise CannotStart(_cannot_bind(host, port, error)) from None
    return sock


def _cannot_bind(host: str, port: int, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"port {port} needs special rights; choose one from 1024 up with --port"
    if error.errno == socket.EAI_NONAME or "assign" in (error.strerror or ""):
        return f"--host {host} is no address of this machine; use 127.0.0.1 or localhost"
    return (
        f"port {port} of {host} is in use; stop what is running there, or choose another one "
        "with --port"
    )


def own_names(host: str) -> tuple[str, ...]:
    """The names by which this machine is called when it listens on `host` and not on loopback."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return (host,)
    if address.is_loopback:
        return ()
    if not address.is_unspecified:
        return (f"[{host}]" if address.version == 6 else host,)
    names = {socket.gethostname(), socket.getfqdn()}
    for target in (
        "192.0.2.1",
        "2001:db8::1",
    ):  # for documentation: asks for a route, sends nothing
        family = socket.AF_INET6 if ":" in target else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((target, 9))
            except OSError:
                continue
            own = probe.getsockname()[0]
            names.add(f"[{own}]" if ":" in own else own)
    return tuple(sorted(names))


def start(settings: Settings, sock: socket.socket) -> int:
    """Serve until stopped; the exit code."""
    if sys.platform == "win32":
        # Sockets are not inherited there: the demo serves without anybody to start it again.
        return work(settings, sock)
    # The working folder may hold files named like modules, unless it is where the package is.
    safe = () if sys.path[0] in ("", str(Path.cwd())) else ("-P",)
    command = [sys.executable, *safe, "-m", "sayso.demo.worker", str(sock.fileno())]

    def say(line: str) -> None:
        tell(sys.stderr, f"{line}\n")

    return asyncio.run(
        keep_serving(command, sock, lambda again: replace(settings, again=again).to_json(), say)
    )
