"""Ports of loopback for servers that tests start."""

import socket
from contextlib import ExitStack

__all__ = ["free_port"]


def free_port(*, bus: int = 0) -> int:
    """A port that nothing listens on, and so is the one `bus` above it.

    This process keeps it until it ends: it is bound here without listening, so that no other
    process is given it, for a server or for the near end of a connection, and a server that
    passes over what only closes (`SO_REUSEADDR`, as all do) can listen on it, again and again.
    """
    while True:
        with ExitStack() as given_back:
            try:
                first = given_back.enter_context(_bound(0))
                port: int = first.getsockname()[1]
                kept = [first, *([given_back.enter_context(_bound(port + bus))] if bus else [])]
            except (OSError, OverflowError):
                continue
            given_back.pop_all()
        for each in kept:
            each.detach()
        return port


def _bound(port: int) -> socket.socket:
    kept = socket.socket()
    try:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", port))
    except BaseException:
        kept.close()
        raise
    return kept
