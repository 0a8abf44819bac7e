"""What people without a token can do to a server: nothing that others notice."""

import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlencode

import httpx

from sayso.http.signin import attempts
from tests import plain
from tests.attacks.served import attacked
from tests.http.fake_provider import fake_provider
from tests.patience import PATIENCE
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


def test_who_comes_back_from_no_sign_in_takes_little_time(tmp_path: Path) -> None:
    """Of each the provider is asked: less than what it takes to read all certificates anew."""
    began = time.thread_time()
    httpx.create_ssl_context()
    certificates = time.thread_time() - began
    with (
        fake_provider() as provider,
        attacked(tmp_path, "--behind-proxy", ISSUER=provider.issuer) as server,
    ):
        server.hello("lea")

        def come_back() -> None:
            key = attempts.new_key()
            attempt = attempts.begin(key, "/", None, int(time.time() * 1000))
            query = urlencode({"code": "made up", "state": attempt.state, "iss": provider.issuer})
            cookie = {"cookie": f"sayso-login={key}"}
            url = f"{server.url}/callback?{query}"
            assert plain.get(url, headers=cookie, timeout=PATIENCE).status_code == 403

        come_back()
        before = server.seconds()
        for _ in range(20):
            come_back()
        taken = (server.seconds() - before) / 20
        assert len(provider.forms) == 21
    assert taken < certificates / 2
