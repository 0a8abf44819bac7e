"""A server under attack: strangers from one address, users, and a probe that looks meanwhile."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests import plain
from tests.patience import PATIENCE
from tests.process.test_serve import serving
from tests.server import run_input

AGENTS = """
import os, time
from sayso import Limits, Oidc, Principal, Quota, Sayso, ServerOptions, Turn

async def who(scope):
    given = dict(scope["headers"]).get(b"authorization", b"").decode()
    return Principal(subject=given) if given else None

threads = int(os.environ.get("THREADS", "10000"))
quota = Quota(runs=20, streams=20, threads=threads, requests_a_minute=6000)
issuer = os.environ.get("ISSUER")
sign_in = None if issuer is None else Oidc(issuer, "sayso-console", "a secret of the client")
options = ServerOptions(console=False, limits=Limits(per_user=quota))
app = Sayso(authenticate=who, sign_in=sign_in, server=options)

@app.tool
def nap(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"

@app.agent("naps")
async def naps(turn: Turn) -> None:
    await turn.say("sleeping")
    await turn.call(nap, seconds=600)

@app.agent("hello")
async def hello(turn: Turn) -> None:
    await turn.call(nap, seconds=0)
    await turn.say("hello")

@app.agent("asks")
async def asks(turn: Turn) -> None:
    await turn.interrupt("confirmation", "Go on?")
    await turn.say("gone on")

@app.agent("writes")
async def writes(turn: Turn) -> None:
    for _ in range(7):
        await turn.say("z" * 1_000_000)
"""
STRANGER = "127.0.0.2"
"""Where attacks come from that are bounded by address; the probe has another one."""


class Attacked:
    """A server; its process is looked at from outside."""

    def __init__(self, url: str, process: int) -> None:
        self.url = url
        self.address = ("127.0.0.1", httpx.URL(url).port or 0)
        self.process = process

    def memory(self) -> int:
        """The bytes of memory that it has."""
        status = Path(f"/proc/{self.process}/status").read_text("ascii")
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS:")]
        return int(line.split()[1]) * 1024

    def seconds(self) -> float:
        """The seconds of CPU that it has taken."""
        numbers = Path(f"/proc/{self.process}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")

    def stranger(self) -> socket.socket:
        """A connection of somebody unknown."""
        return socket.create_connection(self.address, PATIENCE, (STRANGER, 0))

    def post(self, who: str, path: str, body: Any) -> httpx.Response:
        """One whole request of a user."""
        headers = {"authorization": who}
        return plain.post(f"{self.url}{path}", json=body, headers=headers, timeout=PATIENCE)

    def get(self, who: str, path: str) -> httpx.Response:
        """One whole request of a user."""
        return plain.get(f"{self.url}{path}", headers={"authorization": who}, timeout=PATIENCE)

    def hello(self, who: str) -> None:
        """Have a run with a synchronous tool."""
        answer = self.post(who, "/agents/hello", run_input(f"t-{time.monotonic_ns()}", text="hi"))
        assert "RUN_FINISHED" in answer.text

    def ask(self, who: str, thread: str) -> str:
        """The id of a question that a thread waits for."""
        self.post(who, "/agents/asks", run_input(thread, text="hi"))
        (asked,) = self.get(who, f"/threads/{thread}").json()["interrupts"]
        return str(asked["id"])

    @contextmanager
    def opened(
        self, who: str, method: str, path: str, body: Any = None
    ) -> Iterator[httpx.Response]:
        """A stream that stays open; its first bytes have come, or it is refused."""
        headers = {"authorization": who}
        with plain.stream(
            method, f"{self.url}{path}", json=body, headers=headers, timeout=PATIENCE
        ) as answer:
            pieces = answer.iter_bytes()
            next(pieces, b"")
            yield answer
            del pieces

    @contextmanager
    def probed(self) -> Iterator[None]:
        """Look at `/healthz` all the time: each look takes a second at most.

        On a machine that is busy with other work it may take more, by what it takes before, and
        the time for which there was no core for the server or for who looks does not count.
        """
        limit = max(1.0, 5 * max(self._look() for _ in range(5)))
        over = threading.Event()
        looks: list[float] = []

        def look() -> None:
            looks.append(self._look())  # also where all is over at once
            while not over.wait(0.05):
                looks.append(self._look())

        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
        assert looks
        assert max(looks) < limit, f"the slowest look took {max(looks):.2f} s"

    def _look(self) -> float:
        began, queued = time.monotonic(), self._queued()
        assert plain.get(f"{self.url}/healthz", timeout=PATIENCE).status_code == 200
        return time.monotonic() - began - (self._queued() - queued)

    def _queued(self) -> float:
        """Seconds for which the server's event loop and this thread could run, and had no core."""
        threads = (f"/proc/{self.process}/task/{self.process}", "/proc/thread-self")
        stats = (Path(thread, "schedstat").read_text("ascii").split() for thread in threads)
        return sum(int(waited) for _, waited, _ in stats) / 1e9


@contextmanager
def attacked(folder: Path, *options: str, **environment: str) -> Iterator[Attacked]:
    """A server of its own, with its store in a folder unless an option names another."""
    (folder / "attacked.py").write_text(AGENTS)
    if "--store" not in options:
        options = (*options, "--store", f"sqlite:///{folder / 'attacked.db'}")
    with serving(folder, "attacked:app", *options, **environment) as (url, process):
        yield Attacked(url, process.pid)
