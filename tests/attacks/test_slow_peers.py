"""Strangers and readers that do nothing for as long as they may: all are gone in the end."""

import os
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.attacks.served import Attacked, attacked
from tests.patience import PATIENCE
from tests.server import run_input, until

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /agents/hello HTTP/1.1\r\nHost: localhost\r\ncontent-length: 100\r\n\r\n"


def _is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        while connection.recv(65_536):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    return True


def _all_closed(connections: list[socket.socket]) -> bool:
    return all(_is_closed(connection) for connection in connections)


def test_whoever_says_nothing_more_is_cut_off(tmp_path: Path) -> None:
    """Silence and half a head within ten seconds, half a body within thirty."""
    with attacked(tmp_path) as server, server.probed(), ExitStack() as stack:
        began = time.monotonic()
        silent, late = [], []
        for said in (b"", b"GET / HT", HEAD) * 15:
            connection = stack.enter_context(server.stranger())
            connection.sendall(said)
            silent.append(connection)
        for said in (POST, POST + b"ab") * 5:
            connection = stack.enter_context(server.stranger())
            connection.sendall(said)
            late.append(connection)
        until("silence is cut off", lambda: _all_closed(silent))
        assert time.monotonic() - began > 9
        until("half a body is cut off", lambda: _all_closed(late))
        server.hello("lea")


def test_whoever_reads_nothing_of_a_long_answer_is_cut_off(tmp_path: Path) -> None:
    """Twenty-four readers of seven megabytes; the memory comes back."""
    with attacked(tmp_path) as server:
        written = server.post("ann", "/agents/writes", run_input("long", text="go"))
        assert "RUN_FINISHED" in written.text
        before = server.memory()
        with server.probed(), ExitStack() as stack:
            sockets = _sockets(server)
            for _ in range(24):
                stack.enter_context(_reader(server))
            until("they are connected", lambda: _sockets(server) > sockets + 20)
            server.hello("lea")
            until("readers are cut off", lambda: _sockets(server) < sockets + 5, 2 * PATIENCE)
        assert server.memory() - before < 400 * 1024 * 1024
        server.hello("lea")


def _reader(server: Attacked) -> socket.socket:
    connection = server.stranger()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    head = (b"GET /threads/long/history HTTP/1.1", b"Host: localhost", b"authorization: ann")
    connection.sendall(b"\r\n".join((*head, b"", b"")))
    connection.recv(1, socket.MSG_PEEK)  # it is answered, and nothing of that is taken
    return connection


def _sockets(server: Attacked) -> int:
    """How many sockets the server's process has: a peer that reads nothing hears of no end."""
    count = 0
    for file in Path(f"/proc/{server.process}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since
            count += os.readlink(file).startswith("socket:")
    return count
