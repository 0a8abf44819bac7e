"""Middleware that keeps strangers out: Host, Origin, then authentication; all before the body.

A page of another site that points its own name at this machine (DNS rebinding) fails at the Host;
a page that posts across sites fails at the Origin. Neither approves anything (design 7).
"""

import ipaddress
import logging
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from functools import lru_cache
from typing import Any, Final

from sayso.base.codes import Code
from sayso.base.errors import DeclarationError, Problem
from sayso.base.records import Principal
from sayso.base.service_tokens import PREFIX
from sayso.http.asgi import PRINCIPAL, App, Receive, Scope, Send, header, headers
from sayso.http.errors import write_problem

Authenticate = Callable[[Scope], Awaitable[Principal | None]]
"""Reads the ASGI scope of a request; None means that nobody was recognised (401)."""

_log = logging.getLogger("sayso.http")
_PORTS: Final = {"http": ":80", "https": ":443"}
_METHODS: Final = b"GET, POST, PATCH, DELETE, OPTIONS"
_PREFLIGHT_SECONDS: Final = b"600"
_OF_A_PROXY: Final = frozenset((b"forwarded", b"via", b"x-real-ip"))
"""Headers that a proxy adds, beside those that begin with `x-forwarded-`."""


TRUSTED_ORIGIN: Final = "sayso.trusted_origin"
"""The scope's member that is there if the request's Origin is our own, or named in `origins`."""


def is_reserved(subject: str) -> bool:
    """True for a subject that only this server gives: of a service, or of its own deeds."""
    return subject.startswith(("service:", "sayso:"))


def _name_of(authority: str) -> str:
    """The host name of `host`, `host:port` or `[v6]:port`, in lower case; empty if malformed."""
    if authority.startswith("["):
        name, _, rest = authority[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        name, _, port = authority.partition(":")
    if port and not (port.isascii() and port.isdigit()):
        return ""
    return name.rstrip(".").lower()


@lru_cache(maxsize=64)
def _is_loopback(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    # A socket for both families shows peers of the older one so.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def is_secure(scope: Scope) -> bool:
    """True unless the browser is on this machine and speaks without TLS.

    What comes from elsewhere without it has passed a proxy, which took the TLS away.
    """
    name = _name_of((header(scope, b"host") or "").lower())
    return scope.get("scheme") == "https" or not _is_loopback(name)


def _authority_of(origin: str) -> str | None:
    """`host[:port]` of an origin without the port that its scheme implies; None for `null`."""
    scheme, _, authority = origin.partition("://")
    if scheme not in _PORTS or not _name_of(authority):
        return None
    return authority.removesuffix(_PORTS[scheme])


def _normal(origin: str) -> str:
    return origin.lower().rstrip("/")


def _host_of(option: str) -> str:
    """Read a name of the option `hosts`.

    Raises:
        DeclarationError: it could never match.
    """
    name = _name_of(option)
    if not name or "/" in name or "*" in name:
        raise DeclarationError(
            f"{option!r} in hosts is no host name: write sayso.example.org, *.example.org or *"
        )
    return name


def _origin_of(option: str) -> str:
    """Read an origin of the option `origins`.

    Raises:
        DeclarationError: it could never match.
    """
    origin = _normal(option)
    authority = _authority_of(origin)
    if origin != "*" and (authority is None or "/" in authority):
        # `null` is what every sandboxed frame and file of the web sends.
        raise DeclarationError(
            f"{option!r} in origins is no origin: write scheme and host, as in https://example.org"
        )
    return origin


class HostOriginMiddleware:
    """Checks Host and Origin and answers for CORS, in front of an app.

    `hosts`: names served beside loopback, `*.example.org` for all below one, `*` for any (when a
    proxy in front checks it). `origins`: other origins whose pages may call, `*` for any. There
    are no CORS headers for anybody else. `count` is called with the code of each refusal.
    """

    def __init__(
        self,
        app: App,
        count: Callable[[str], None],
        *,
        hosts: Sequence[str] = (),
        origins: Sequence[str] = (),
    ) -> None:
        self._app = app
        self._count = count
        plain = [host for host in hosts if host != "*" and not host.startswith("*.")]
        self._names = frozenset(_host_of(host) for host in plain)
        self._suffixes = tuple("." + _host_of(host[2:]) for host in hosts if host.startswith("*."))
        self._any_host = "*" in hosts
        self._origins = frozenset(_origin_of(origin) for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or answer with the problem that keeps it out."""
        try:
            origin = self._check_origin(scope, self._check_host(scope))
        except Problem as problem:
            self._count(problem.code.value)
            await write_problem(problem, scope, send)
            return
        if origin is None:
            own = header(scope, b"origin")
            # Whoever sits on the way can make up a page of ours without TLS.
            if own is not None and (own.lower().startswith("https:") or not is_secure(scope)):
                scope[TRUSTED_ORIGIN] = True
            await self._app(scope, receive, send)
            return
        if scope["method"] == "OPTIONS" and header(scope, b"access-control-request-method"):
            await self._preflight(scope, origin, send)
            return
        if _normal(origin) in self._origins:
            scope[TRUSTED_ORIGIN] = True
        fields = self._cors_fields(origin)

        async def with_fields(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *fields]}
            await send(message)

        await self._app(scope, receive, with_fields)

    def _check_host(self, scope: Scope) -> str:
        host = (header(scope, b"host") or "").lower()
        name = _name_of(host)
        if name and (
            self._any_host
            or name in self._names
            or _is_loopback(name)
            or name.endswith(self._suffixes)
        ):
            return host
        raise Problem(
            Code.FORBIDDEN_HOST,
            "The Host of this request is not served here: use localhost, or name the host in the "
            "server's hosts option.",
        )

    def _check_origin(self, scope: Scope, host: str) -> str | None:
        """The origin if it is another one that may call; None for our own pages and for none."""
        sent = headers(scope, b"origin")
        if not sent:
            return None
        origin = _normal(sent[0])
        if len(sent) == 1 and origin in self._origins:
            return sent[0]
        authority = _authority_of(origin)
        own = {host, host.removesuffix(_PORTS["http"]), host.removesuffix(_PORTS["https"])}
        if len(sent) == 1 and authority is not None and authority in own:
            return None
        if len(sent) == 1 and "*" in self._origins:
            return sent[0]
        raise Problem(
            Code.FORBIDDEN_ORIGIN,
            "Pages of this Origin may not call the server: name it in the server's origins option "
            "if they should.",
        )

    def _cors_fields(self, origin: str) -> list[tuple[bytes, bytes]]:
        fields = [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-expose-headers", b"x-session-id, retry-after, date"),
            (b"vary", b"Origin"),
        ]
        if _normal(origin) in self._origins:
            # Named in so many words, so its users' cookies and client certificates may come along.
            fields.append((b"access-control-allow-credentials", b"true"))
        return fields

    async def _preflight(self, scope: Scope, origin: str, send: Send) -> None:
        requested = header(scope, b"access-control-request-headers") or "content-type, accept"
        fields = [
            *self._cors_fields(origin),
            (b"vary", b"Access-Control-Request-Headers"),
            (b"access-control-allow-methods", _METHODS),
            (b"access-control-allow-headers", requested.encode("latin-1")),
            (b"access-control-max-age", _PREFLIGHT_SECONDS),
        ]
        await send({"type": "http.response.start", "status": 204, "headers": fields})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


_LOCAL: Final = Principal()


async def anybody(_: Scope) -> Principal:
    """Authenticate everybody as the local principal, wherever they are."""
    return _LOCAL


async def this_machine(scope: Scope) -> Principal:
    """Authenticate everybody on this machine as the local principal.

    A socket file and requests within the process have no address.

    Raises:
        Problem: the peer has another address, or a proxy passed the request on, so that its sender
            is not known.
    """
    host = (scope.get("client") or ("", 0))[0]
    passed_on = [
        name
        for name, _ in scope["headers"]
        if name in _OF_A_PROXY or name.startswith(b"x-forwarded-")
    ]
    if not passed_on and (not _is_address(host) or _is_loopback(host)):
        return _LOCAL
    why = (
        f"it came through a proxy ({passed_on[0].decode('latin-1')})"
        if passed_on
        else "it came from another machine"
    )
    raise Problem(
        Code.LOOPBACK_ONLY,
        f"Nobody has to log in here, so the server answers this machine alone, and {why}. Give the "
        "app an authenticate= hook; insecure_no_auth=True lets anybody approve.",
    )


@lru_cache(maxsize=64)
def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def service_token_in(scope: Scope) -> str | None:
    """The token of a service in a request, if it brings one: its beginning says so."""
    scheme, _, token = (header(scope, b"authorization") or "").partition(" ")
    is_ours = scheme.lower() == "bearer" and token.strip().startswith(PREFIX)
    return token.strip() if is_ours else None


class AuthMiddleware:
    """Lets a request through with its `Principal` in the scope, or raises a Problem.

    A hook that raises lets nobody through.
    """

    def __init__(self, app: App, authenticate: Authenticate) -> None:
        self._app = app
        self._authenticate = authenticate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        principal = await self._authenticate(scope)
        if principal is None:
            raise Problem(Code.UNAUTHENTICATED, "Nobody was recognised: send valid credentials.")
        await self._app({**scope, PRINCIPAL: principal}, receive, send)
