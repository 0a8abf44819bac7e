"""A connection between a client and its server, or servers, that can be cut at the worst moment."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

__all__ = ["Proxy", "proxied"]


class Proxy:
    """Forwards bytes on loopback, until it is told to do worse; to several servers in turns."""

    def __init__(self, url: str, *others: str) -> None:
        parts = urlsplit(url)
        self._servers = [(one.hostname, one.port) for one in map(urlsplit, (url, *others))]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._silent: list[socket.socket] = []
        self._deaf = self._mute = self._refusing = self._over = False
        self._passed = 0
        self._passing = threading.Condition()
        port = self._listener.getsockname()[1]
        self.url = url.replace(f":{parts.port}/", f":{port}/")
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections that there are."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()

    def lose_the_answer(self) -> None:
        """The server gets what is sent next; its answer is lost, with all connections."""
        self._mute = True

    def lose_the_request(self) -> None:
        """What is sent next is lost, with all connections."""
        self._deaf = True

    def fall_silent(self) -> None:
        """Nothing comes through the connections that there are any more, and nobody is told."""
        self._silent += [end for pair in self._pairs for end in pair]

    def refuse(self, refusing: bool = True) -> None:
        """Whether new connections are ended at once."""
        self._refusing = refusing

    def wait_for(self, pieces: int, timeout: float) -> None:
        """Return once so many more pieces of answers have come through, or after that time."""
        with self._passing:
            enough = self._passed + pieces
            self._passing.wait_for(lambda: self._passed >= enough, timeout)

    def close(self) -> None:
        """End everything."""
        self._over = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                client.close()
                continue
            server = self._next_server()
            if server is None:
                client.close()
                continue
            self._pairs.append((client, server))
            if self._over:  # and nobody else will end what has come just now
                self.cut()
                return
            threading.Thread(target=self._up, args=(client, server), daemon=True).start()
            threading.Thread(target=self._down, args=(client, server), daemon=True).start()

    def _next_server(self) -> socket.socket | None:
        """A connection to the next one that takes it, if any does."""
        for _ in self._servers:
            self._servers.append(self._servers.pop(0))
            with contextlib.suppress(OSError):
                return socket.create_connection(self._servers[-1])
        return None

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65_536):
                if self._deaf:
                    self._deaf = False
                    self.cut()
                    return
                if server not in self._silent:
                    server.sendall(data)
        self._end(server)

    def _down(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65_536):
                if self._mute:
                    self._mute = False
                    self.cut()
                    return
                if client in self._silent:
                    continue
                client.sendall(data)
                with self._passing:
                    self._passed += 1
                    self._passing.notify_all()
        self._end(client)

    def _end(self, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def proxied(url: str) -> Iterator[Proxy]:
    """A proxy in front of a server."""
    proxy = Proxy(url)
    try:
        yield proxy
    finally:
        proxy.close()
