"""What people without a token can do to a server: nothing that others notice."""

import socket
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.attacks.served import attacked
from tests.server import until

MEGABYTE = 1024 * 1024


def test_heads_that_never_end_take_no_memory_and_no_time(tmp_path: Path) -> None:
    """Five strangers, each with a field of endless length: they are cut off."""
    with attacked(tmp_path) as server:
        server.hello("lea")
        before = server.memory()
        with server.probed():
            for _ in range(5):
                with server.stranger() as stranger:
                    stranger.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: ")
                    until("it is cut off", lambda: _is_cut(stranger))
            server.hello("lea")
        assert server.memory() - before < 30 * MEGABYTE


def _is_cut(stranger: socket.socket) -> bool:
    try:
        stranger.sendall(b"y" * 1_000_000)
    except ConnectionError:
        return True
    return False


def test_one_address_does_not_take_all_connections(tmp_path: Path) -> None:
    """From another one the server is reached, and the first may come back."""
    with attacked(tmp_path) as server:
        with server.probed(), ExitStack() as stack:
            for _ in range(64):
                stack.enter_context(server.stranger())
            with server.stranger() as late:
                assert late.recv(12) == b"HTTP/1.1 503"
            server.hello("lea")

        def is_served() -> bool:
            with server.stranger() as again, suppress(ConnectionError):
                again.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return again.recv(12) == b"HTTP/1.1 200"
            return False

        until("the address is served again", is_served)
