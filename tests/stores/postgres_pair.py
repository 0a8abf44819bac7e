"""PostgreSQL servers of a test's own: a primary, and a standby that can take its place."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.patience import PATIENCE
from tests.ports import free_port
from tests.stores.servers import PASSWORD, a_home, initialised, installed, run

__all__ = ["PostgresServer", "a_pair"]

_SYNCHRONOUS = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"


class PostgresServer:
    """A server that can be killed, and promoted if it is a standby."""

    def __init__(self, home: Path, *settings: str) -> None:
        """`home` has a folder `data` with the server's data."""
        self._home = home
        self.port = free_port()
        programs, user = installed()
        command: list[str | Path] = [programs / "postgres", "-D", home / "data"]
        for setting in (
            "listen_addresses=127.0.0.1",
            f"port={self.port}",
            "unix_socket_directories=",
            "fsync=off",
            "shared_buffers=16MB",
            *settings,
        ):
            command += ["-c", setting]
        with (home / "log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command, user=user, cwd="/", stdout=log, stderr=log
            )
        try:
            self._wait_for(self._answers)
        except BaseException:
            self.remove()
            raise

    @classmethod
    def primary(cls, *settings: str) -> "PostgresServer":
        """A new one without data."""
        home = a_home()
        initialised(home)
        return cls(home, *settings)

    def standby(self) -> "PostgresServer":
        """A copy that has all that this one acknowledges from now on."""
        home = a_home()
        run("pg_basebackup", "-d", self.url, "-D", home / "data", "-R", "-c", "fast", "-N")
        standby = PostgresServer(home)
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            db.execute("SELECT pg_reload_conf()")
            self._wait_for(lambda: db.execute(_SYNCHRONOUS).fetchone() == (1,))
        return standby

    @property
    def url(self) -> str:
        """Its database."""
        return f"postgresql://sayso:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def kill(self) -> None:
        """End it at once, with all its processes, as the loss of its machine does."""
        if self._process.poll() is not None:
            return
        pid = self._process.pid
        self._process.send_signal(signal.SIGSTOP)  # it starts no process any more
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def crash(self, backend: int) -> None:
        """Kill the process of a connection: all others end too, and it recovers by itself."""
        os.kill(backend, signal.SIGKILL)
        self._wait_for(lambda: not Path(f"/proc/{backend}").exists())
        self._wait_for(self._answers)

    def promote(self) -> None:
        """Make it the primary, and wait until it takes writes."""
        with psycopg.connect(self.url, autocommit=True) as db:
            assert db.execute("SELECT pg_promote(true, 60)").fetchone() == (True,)

    def remove(self) -> None:
        """End it, with its files."""
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _wait_for(self, true: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not true():
            log = (self._home / "log").read_text()
            assert time.monotonic() < end, log
            assert self._process.poll() is None, log
            time.sleep(0.02)


@contextmanager
def a_pair() -> Iterator[tuple[PostgresServer, PostgresServer]]:
    """A primary with its standby."""
    primary = PostgresServer.primary()
    try:
        standby = primary.standby()
        try:
            yield primary, standby
        finally:
            standby.remove()
    finally:
        primary.remove()
