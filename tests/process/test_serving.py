"""The end of a server: readers get their last event, and the process is gone in time."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import orjson
import pytest

from tests import plain
from tests.patience import PATIENCE
from tests.ports import free_port
from tests.process.long_agent import KEEP_ALIVE
from tests.server import events_of, run_input, until
from tests.sources import ROOT

GRACE = 0.5


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def server(port: int, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server with a run that outlasts every grace."""
    command = [sys.executable, "-m", "tests.process.long_agent", str(port), str(GRACE)]
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own module
            command,
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT / "server")},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:

        def answers() -> bool:
            assert process.poll() is None, log.read_text("utf-8")
            try:
                return (
                    plain.get(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE).status_code
                    == 200
                )
            except httpx.TransportError:
                return False

        until("the server answers", answers)
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_reader_of_a_run_gets_its_last_event_when_the_server_stops(
    server: subprocess.Popen[bytes], port: int, log: Path, number: signal.Signals
) -> None:
    """TR-17: `RUN_ERROR shutting_down`, a whole body, a quick end, and not a word about it."""
    url = f"http://127.0.0.1:{port}/agents/long"
    body = run_input("t-1", text="go")
    with plain.stream("POST", url, json=body, timeout=PATIENCE) as response:
        lines = response.iter_lines()
        events = events_of(lines)
        seen = [next(events)["type"] for _ in range(4)]
        assert seen[0] == "RUN_STARTED"
        server.send_signal(number)
        left = list(lines)
    rest = list(events_of(left))
    assert rest[-1]["type"] == "RUN_ERROR"
    assert rest[-1]["code"] == "shutting_down"
    assert [event["type"] for event in rest].count("RUN_ERROR") == 1
    assert server.wait(PATIENCE) == 0
    # By the server's own clock, and not by that of a machine that is busy with other things.
    assert sum(line.startswith(":") for line in left) <= 2 * GRACE / KEEP_ALIVE
    assert log.read_text("utf-8") == ""


def test_what_a_run_that_ended_in_time_has_told_is_noted(
    server: subprocess.Popen[bytes], port: int, log: Path
) -> None:
    """The store is open until all is answered: nothing is said of a delivery that was lost."""
    url = f"http://127.0.0.1:{port}/agents/last"
    body = run_input("t-1", text="go")
    with plain.stream("POST", url, json=body, timeout=PATIENCE) as response:
        events = events_of(response.iter_lines())
        seen = [next(events)["type"] for _ in range(4)]
        assert seen[0] == "RUN_STARTED"
        server.terminate()
        assert list(events)[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
    assert server.wait(PATIENCE) == 0
    assert log.read_text("utf-8") == ""


def test_a_client_that_sends_no_end_is_not_waited_for(
    server: subprocess.Popen[bytes], port: int, log: Path
) -> None:
    """It is cut off after the last bytes' time, without a word in the log."""

    def endless() -> Iterator[bytes]:
        yield b'{"threadId":'
        server.terminate()
        server.wait(PATIENCE)
        yield b'"t"}'

    with pytest.raises(httpx.TransportError):
        plain.post(
            f"http://127.0.0.1:{port}/agents/long",
            content=endless(),
            headers={"content-type": "application/json"},
            timeout=PATIENCE,
        )
    assert server.returncode == 0
    assert log.read_text("utf-8") == ""


def test_a_client_that_reads_nothing_is_not_waited_for(
    server: subprocess.Popen[bytes], port: int
) -> None:
    """Its last event is sent, but whether it takes it is its own business."""
    body = orjson.dumps(run_input("t-1", text="go"))
    head = (
        "POST /agents/long HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
        client.sendall(head.encode() + body)
        assert client.recv(1)
        server.terminate()
        assert server.wait(PATIENCE) == 0
