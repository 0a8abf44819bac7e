"""`sayso chat` at a server that means harm: its text moves no cursor, its bodies fill no memory."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import orjson
import pytest

from sayso.base import printable
from tests.patience import PATIENCE
from tests.process.screen import Screen

EVIL = "\x1b]0;PWNED\x07\x1b[2J\x9b31m\u202egnp\u2066\x08\r\x00"
OBEYED = ("\x1b]", "\x1b[2J", "\x9b", "\u202e", "\u2066", "\x07", "\x08")
HEAD = "HTTP/1.1 {}\r\nContent-Type: {}\r\nConnection: close\r\n\r\n"
ENDLESS = b'{"detail": "' + b"x" * 65_536

Answer = Callable[[socket.socket, bytes], None]


@contextmanager
def hostile(answer: Answer) -> Iterator[str]:
    """A server that reads a request and then does what it likes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    answer(connection, connection.recv(65_536))

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def plain(status: str, body: object, media: str = "application/json") -> Answer:
    def answer(connection: socket.socket, _: bytes) -> None:
        data = body if isinstance(body, bytes) else orjson.dumps(body)
        connection.sendall(HEAD.format(status, media).encode() + data)

    return answer


def stream(*events: object) -> Answer:
    body = b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in events)
    return plain("200 OK", body, "text/event-stream")


STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
PROBLEM = {"detail": f"no {EVIL}", "code": f"x{EVIL}", "errors": [{"pointer": EVIL}], EVIL: EVIL}


@pytest.mark.parametrize(
    "answer",
    [
        plain("400 Bad Request", PROBLEM),
        plain(f"500 {EVIL.translate({0: None, 10: None, 13: None})}", b"", "text/plain"),
        plain("200 OK", EVIL.encode(), f"text/{EVIL.translate({0: None, 13: None})}"),
        stream(STARTED, {"type": "RUN_ERROR", "message": EVIL, "code": EVIL}),
        stream({**STARTED, EVIL: 1}, {"type": EVIL}, {"type": "RUN_FINISHED", EVIL: EVIL}),
        stream(
            STARTED,
            {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant", EVIL: 1},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": EVIL},
            {"type": "TEXT_MESSAGE_END", "messageId": "m"},
            {"type": "CUSTOM", "name": EVIL, "value": EVIL, EVIL: 1},
            {"type": "RUN_ERROR", "message": EVIL},
        ),
    ],
    ids=["problem", "reason", "type", "run error", "unknown members", "message"],
)
def test_what_a_server_says_moves_no_cursor(answer: Answer) -> None:
    """Titles, colours, erased screens, turned directions: spelled out, wherever they stand."""
    with hostile(answer) as url, Screen(["chat", f"{url}/agents/ops"], NO_COLOR="1") as screen:
        screen.until(">").line("refund").until("\n").until("\n>")
        screen.keys("\x03")
        screen.ended()
        assert not [one for one in OBEYED if one in screen.seen], ascii(screen.seen)


def test_names_of_agents_move_no_cursor() -> None:
    """Those that a server lists, where the command names them."""
    listed = plain("200 OK", {"items": [{"name": EVIL}, {"name": f"b{EVIL}"}]})
    with hostile(listed) as url, Screen(["chat", url]) as screen:
        assert screen.ended() == 2
        assert "PWNED" in screen.seen
        assert not [one for one in OBEYED if one in screen.seen], ascii(screen.seen)


@pytest.mark.parametrize("path", ["", "/agents/ops"])
def test_a_body_without_an_end_is_read_to_a_limit(path: str) -> None:
    """A list of agents, and an error; the command has ended before much of it is in memory."""
    sent = 0

    def answer(connection: socket.socket, _: bytes) -> None:
        nonlocal sent
        status = "500 Internal Server Error" if path else "200 OK"
        connection.sendall(HEAD.format(status, "application/json").encode())
        while sent < 400_000_000:
            sent += connection.send(ENDLESS)

    with hostile(answer) as url, Screen(["chat", f"{url}{path}"]) as screen:
        if path:
            screen.until(">").line("refund").until("sayso:").keys("\x03")
        screen.ended()
    assert sent < 100_000_000


def test_a_password_in_an_address_is_not_said_again() -> None:
    """Where the server is named that gave no answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(PATIENCE)
        port = silent.getsockname()[1]
        url = f"http://ann:hunter2@127.0.0.1:{port}/agents/ops"
        with Screen(["chat", url]) as screen:
            connection, _ = silent.accept()
            connection.close()
            screen.until("gave no answer")
            screen.ended()
            assert "hunter2" not in screen.seen
    assert printable.address("http://ann:x@h:1/a?b#c") == "http://h:1/a?b#c"
    assert printable.address("http://[") == "http://["
