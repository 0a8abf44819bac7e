"""The parent of a server: who is started again, who is not, and how it all ends."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator

import pytest

from sayso.ops import supervisor
from sayso.ops.supervisor import keep_serving
from tests.patience import PATIENCE

KILLED_ONCE = """
import os, signal, sys
again = sys.stdin.readline().strip()
if again == "False":
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(7)
"""
KILLED_ALWAYS = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
FAILING = "import sys; sys.exit(3)"
HOLDING = """
import socket, sys
sys.stdin.readline()
inherited = socket.socket(fileno=int(sys.argv[1]))
sys.exit(0 if inherited.getsockname()[1] == int(sys.argv[2]) else 9)
"""
DEAF = """
import signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
socket.create_connection(("127.0.0.1", int(sys.argv[2])))
time.sleep(600)
"""
ORDERLY = """
import signal, socket, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
socket.create_connection(("127.0.0.1", int(sys.argv[2])))
time.sleep(600)
"""


@pytest.fixture
def sock() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


class Keeping:
    """A parent over a worker that is a few lines of Python."""

    def __init__(self, sock: socket.socket) -> None:
        self.said: list[str] = []
        self._sock = sock

    async def run(self, code: str) -> int:
        port = str(self._sock.getsockname()[1])
        command = [sys.executable, "-S", "-c", code, str(self._sock.fileno()), port]
        async with asyncio.timeout(PATIENCE):
            return await keep_serving(
                command, self._sock, lambda again: str(again).encode(), self.said.append
            )

    async def once_there(self, then: Callable[[], None]) -> None:
        """Call back when the worker has called in, over the socket that it was given."""
        async with asyncio.timeout(PATIENCE):
            caller, _ = await asyncio.get_running_loop().sock_accept(self._sock)
        caller.close()
        then()


@pytest.fixture
def keeping(sock: socket.socket) -> Keeping:
    return Keeping(sock)


def interrupt() -> None:
    """What Ctrl-C does to this process."""
    os.kill(os.getpid(), signal.SIGINT)


async def test_a_killed_worker_is_replaced_and_told_so(keeping: Keeping) -> None:
    """Design 9: the server comes back by itself; its own end is the end."""
    assert await keeping.run(KILLED_ONCE) == 7
    assert keeping.said == ["The server was killed by SIGKILL; starting another one."]


async def test_a_worker_that_fails_is_not_started_again(keeping: Keeping) -> None:
    """It would fail again: its exit code is the command's."""
    assert await keeping.run(FAILING) == 3
    assert keeping.said == []


async def test_workers_that_only_die_are_given_up(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Better an end than a machine that does nothing but start servers."""
    monkeypatch.setattr(supervisor, "_EARLY_S", PATIENCE)
    assert await keeping.run(KILLED_ALWAYS) == 1
    assert keeping.said[-1] == "10 servers in a row were killed at once; giving up."


async def test_a_worker_inherits_the_socket(keeping: Keeping) -> None:
    """The same one, under the same number: the port is never anybody else's."""
    assert await keeping.run(HOLDING) == 0
    assert keeping.said == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_what_stops_the_parent_stops_the_worker(
    keeping: Keeping, sock: socket.socket, number: signal.Signals
) -> None:
    """An orderly end is exit code 0, and the port is free at once."""
    stop = keeping.once_there(lambda: os.kill(os.getpid(), number))
    code, _ = await asyncio.gather(keeping.run(ORDERLY), stop)
    assert code == 0
    assert sock.fileno() == -1
    assert keeping.said == ["Stopping; what is open stays open until the next start."]


async def test_a_worker_that_does_not_end_is_killed(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that blocks its loop cannot keep the command from ending."""
    monkeypatch.setattr(supervisor, "_WORKER_GRACE_S", 0.1)
    code, _ = await asyncio.gather(keeping.run(DEAF), keeping.once_there(interrupt))
    assert code == 0


async def test_a_second_wish_to_stop_is_heeded_at_once(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two signals at a time are one wish, as a terminal sends them; a later one means now."""
    monkeypatch.setattr(supervisor, "_SAME_PRESS_S", 0.0)

    def twice() -> None:
        interrupt()
        asyncio.get_running_loop().call_later(0.05, interrupt)

    code, _ = await asyncio.gather(keeping.run(DEAF), keeping.once_there(twice))
    assert code == 0
