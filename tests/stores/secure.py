"""Servers behind TLS: what ends it stands in front of servers that were built without.

A certificate of a name of its own, signed by nobody else, made when it is first wanted.
"""

import contextlib
import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

__all__ = ["Secure", "certificate", "secured"]

_ASKS_FOR_TLS = bytes.fromhex("0000000804d2162f")
"""What a client of PostgreSQL sends before it speaks TLS; the answer is one letter."""


@cache
def certificate() -> Path:
    """The certificate of localhost, whose key is in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(issuer_name=name, subject_name=name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = Path(mkdtemp(prefix="sayso-tls-")) / "server.pem"
    pem = serialization.Encoding.PEM
    file.write_bytes(
        made.public_bytes(pem)
        + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return file


class Secure:
    """Takes TLS on a port of `localhost`, and hands what is in it to a server."""

    def __init__(self, url: str) -> None:
        """`url` is the server's; a client of PostgreSQL asks for TLS first."""
        parts = urlsplit(url)
        self._server = (parts.hostname, parts.port)
        self._asks = parts.scheme.startswith("postgres")
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate())
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.taken = 0
        """Connections that spoke TLS."""
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            if self._asks:
                if client.recv(len(_ASKS_FOR_TLS), socket.MSG_WAITALL) != _ASKS_FOR_TLS:
                    return
                client.sendall(b"S")
            with (
                self._context.wrap_socket(client, server_side=True) as inside,
                socket.create_connection(self._server) as server,
            ):
                self.taken += 1
                threading.Thread(target=_pass_on, args=(server, inside), daemon=True).start()
                _pass_on(inside, server)


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def secured(url: str) -> Iterator[Secure]:
    """TLS in front of a server."""
    way = Secure(url)
    try:
        yield way
    finally:
        way.close()
