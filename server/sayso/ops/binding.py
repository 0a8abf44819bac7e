"""The address of a server: loopback, unless callers have to authenticate (design 7)."""

import ipaddress
import os
import socket

_MAX_QUEUED = 2048
"""Connections that wait while a worker starts."""


class CannotStart(Exception):
    """The server cannot start as asked; the message says what to change."""


def bind(host: str, port: int, *, insecure: bool, authenticated: bool = False) -> socket.socket:
    """Listen; on loopback addresses only, unless callers are `authenticated` or it is `insecure`.

    Raises:
        CannotStart: the address cannot be used, or other machines could call unauthenticated.
    """
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise CannotStart(
            f"--host {host!r} is not an address of this machine; use 127.0.0.1 or localhost"
        ) from None
    family, kind, protocol, _, address = min(
        addresses, key=lambda entry: entry[0] != socket.AF_INET
    )
    loopback = ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback
    if not (insecure or authenticated or loopback):
        raise CannotStart(
            f"--host {host} would let anybody who reaches this machine approve, since nobody has "
            "to log in; use --host 127.0.0.1, or add --insecure-no-auth if that is what you want"
        )
    sock = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            # Only connections that are closing are passed over; a server that listens is not.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(_MAX_QUEUED)
    except OSError as error:
        sock.close()
        raise CannotStart(_cannot_bind(host, port, error)) from None
    return sock


def _cannot_bind(host: str, port: int, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"port {port} needs special rights; choose one from 1024 up with --port"
    if error.errno == socket.EAI_NONAME or "assign" in (error.strerror or ""):
        return f"--host {host} is not an address of this machine; use 127.0.0.1 or localhost"
    return (
        f"port {port} of {host} is in use; stop what is running there, or choose another one "
        "with --port"
    )


def local_hostnames(host: str) -> tuple[str, ...]:
    """The names by which this machine is called when it listens on `host` and not on loopback."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return (host,)
    if address.is_loopback:
        return ()
    if not address.is_unspecified:
        return (f"[{host}]" if address.version == 6 else host,)
    names = {socket.gethostname(), socket.getfqdn()}
    for target in (
        "192.0.2.1",
        "2001:db8::1",
    ):  # for documentation: asks for a route, sends nothing
        family = socket.AF_INET6 if ":" in target else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((target, 9))
            except OSError:
                continue
            own = probe.getsockname()[0]
            names.add(f"[{own}]" if ":" in own else own)
    return tuple(sorted(names))
