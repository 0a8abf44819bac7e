"""A demo server as a process of its own: started, killed and started again by tests.

    with DemoServer(tmp_path) as server:
        events = server.run("t-1", text="refund")
        server.kill()
        server.start()

Every wait is bounded; what the server wrote is in the message of a failure.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import httpx
from tenacity import RetryError, retry, retry_if_result, stop_after_delay, wait_fixed

from tests import plain
from tests.forked import Forked, Running
from tests.patience import PATIENCE
from tests.ports import free_port
from tests.sources import ROOT

Event = dict[str, Any]


def until(
    what: str,
    check: Callable[[], bool],
    patience: float = PATIENCE,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Look until `check` is true; AssertionError naming `what` after `patience` seconds."""
    looking = retry(
        retry=retry_if_result(lambda seen: not seen),
        wait=wait_fixed(0.05),
        stop=stop_after_delay(patience),
        sleep=sleep,
    )
    try:
        looking(check)()
    except RetryError:
        raise AssertionError(f"not within {patience:g} s: {what}") from None


def run_input(
    thread_id: str,
    *,
    text: str | None = None,
    resume: Iterable[Event] | None = None,
    run_id: str | None = None,
    **more: Any,
) -> Event:
    """A `RunAgentInput` with one new user message, or none; `more` are members of its own."""
    said = [] if text is None else [{"id": f"m-{uuid4().hex}", "role": "user", "content": text}]
    body = {
        "threadId": thread_id,
        "runId": run_id or f"r-{uuid4().hex}",
        "protocolVersion": "1.0",
        "messages": said,
        **more,
    }
    return body if resume is None else {**body, "resume": list(resume)}


def is_running(process: int) -> bool:
    """Whether there is a process of that id that is not merely waiting to be reaped."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text("ascii")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


class DemoServer:
    """`sayso demo` on a free port, with its store and data in a folder."""

    def __init__(
        self,
        folder: Path,
        *,
        port: int | None = None,
        store: str | None = None,
        data: Path | None = None,
        options: Iterable[str] = (),
        agent: str = "ops",
        watched: bool = True,
    ) -> None:
        """`options` go to the command as they are.

        `watched`: the command starts a process that serves, and another one when that is killed;
        else it serves itself, as on Windows, which takes a tenth of the CPU. The command itself
        is forked either way.
        `store` and `data` may be another server's; with a store alone, the data lie beside it.
        """
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.store = store or f"sqlite:///{folder / 'demo.db'}"
        self.data = data or (None if store else folder / "data")
        self.agent = agent
        self.log = folder / f"server-{self.port}.log"
        self.command = [
            *(sys.executable, "-m", "sayso" if watched else "tests.unwatched", "demo", "--no-open"),
            *("--port", str(self.port), "--store", self.store),
            *(("--data", str(self.data)) if self.data else ()),
            *options,
        ]
        self.environment: dict[str, str] = {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}
        """Variables that it is started with, beside those of the tests: a key of whoever runs
        them is not used."""
        self.folder = folder
        self.watched = watched
        self.preloaded: Sequence[str] = ()
        """Modules that its forks have, beside the package."""
        self._process: Running | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self.stop()

    # The process

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.spawn()
        try:
            self.wait_healthy()
        except AssertionError:
            self.kill()
            raise

    def spawn(self, output: int | None = None) -> None:
        """Start it, and see what becomes of it; it writes to the log, or to that descriptor."""
        path = os.pathsep.join([str(ROOT / "server"), os.environ.get("PYTHONPATH", "")])
        variables = {**os.environ, "PYTHONPATH": path.rstrip(os.pathsep), **self.environment}
        if output is None:
            self._process = Forked(self.command, self.folder, variables, self.log, self.preloaded)
            return
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            self.command,
            cwd=self.folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )

    @property
    def process(self) -> Running:
        """The command's process: the one that a person would stop."""
        assert self._process is not None, "start() first"
        return self._process

    @property
    def worker(self) -> int:
        """The id of the process that serves: a child of the command's, if that watches it."""
        if not self.watched:
            return self.process.pid
        (worker,) = self._children()
        return worker

    def _children(self) -> list[int]:
        pid = self.process.pid
        try:
            found = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
        except FileNotFoundError:
            return []
        return [int(child) for child in found.split()]

    def wait_healthy(self, patience: float = PATIENCE) -> None:
        """Return once `/healthz` answers; the command must still run."""

        def healthy() -> bool:
            assert self.process.poll() is None, f"the server ended:\n{self.output()}"
            return self.is_healthy()

        try:
            until(f"{self.url} answers", healthy, patience)
        except AssertionError as error:
            error.add_note(self.output())
            raise

    def is_healthy(self) -> bool:
        """Whether it answers."""
        try:
            return plain.get(f"{self.url}/healthz", timeout=PATIENCE).status_code == 200
        except httpx.TransportError:
            return False

    def kill_worker(self) -> None:
        """Kill -9 the process that serves; the command starts another one."""
        os.kill(self.worker, signal.SIGKILL)

    def kill(self) -> None:
        """Kill -9 the command, and with it the worker."""
        workers = self._children()
        self.process.kill()
        self.process.wait(PATIENCE)
        until("the worker is gone", lambda: not any(map(is_running, workers)))

    def stop(self, by: signal.Signals = signal.SIGTERM, patience: float = PATIENCE) -> int:
        """Ask it to stop, as a person or a supervisor does; returns its exit code."""
        self.process.send_signal(by)
        return self.process.wait(patience)

    def restart(self) -> None:
        """Kill -9 and start again on the same port."""
        self.kill()
        self.start()

    def output(self) -> str:
        """What it has written so far."""
        return self.log.read_text("utf-8") if self.log.exists() else ""

    # The wire

    def run(self, thread_id: str, **parts: Any) -> list[Event]:
        """Run or resume; every event until the body ends. Parts as in `run_input`."""
        with self.stream(thread_id, **parts) as events:
            return list(events)

    def connect(self, thread_id: str) -> list[Event]:
        """The thread as one run, followed to its end if it is going on."""
        with self.stream(thread_id, path="/connect") as events:
            return list(events)

    @contextmanager
    def stream(self, thread_id: str, *, path: str = "", **parts: Any) -> Iterator[Iterator[Event]]:
        """A run's events as they come."""
        url = f"{self.url}/agents/{self.agent}{path}"
        body = run_input(thread_id, **parts)
        with plain.stream("POST", url, json=body, timeout=PATIENCE) as response:
            if response.status_code != 200:
                response.read()
                raise AssertionError(f"{response.status_code}: {response.text}\n{self.output()}")
            yield events_of(response.iter_lines())

    def effects(self, thread_id: str | None = None) -> list[Event]:
        """The ledger: what has really been done, in order."""
        chosen = {} if thread_id is None else {"threadId": thread_id}
        answer = plain.get(f"{self.url}/demo/effects", params=chosen, timeout=PATIENCE)
        found: list[Event] = answer.raise_for_status().json()["effects"]
        return found

    def kinds(self, thread_id: str | None = None) -> list[str]:
        """The kinds of the effects, in order."""
        return [effect["kind"] for effect in self.effects(thread_id)]


def events_of(lines: Iterable[str]) -> Iterator[Event]:
    """The events of an event stream's lines; comments are left out."""
    for line in lines:
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def interrupts(events: list[Event]) -> list[Event]:
    """The questions that a run ended in."""
    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    outcome = events[-1].get("outcome") or {}
    assert outcome.get("type") == "interrupt", events[-1]
    found: list[Event] = outcome["interrupts"]
    return found


def resolved(interrupt: Event, payload: Any = None) -> Event:
    """An answer."""
    return {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}


def cancelled(interrupt: Event) -> Event:
    """A withdrawal."""
    return {"interruptId": interrupt["id"], "status": "cancelled"}
