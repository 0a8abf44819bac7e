"""ASGI in types, and the reading of a scope."""

import re
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from sayso.base.records import Principal

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PRINCIPAL: Final = "sayso.principal"
"""The scope's member that holds the authenticated `Principal`."""
COMES: Final = "sayso.comes"
"""The scope's member that is told how many bytes of a body are kept until it is whole, and below 0
once they are not any more: `Callable[[int], None]`. It may raise a `Problem`."""
_PATH: Final = "sayso.path"
_UNSPEAKABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(slots=True)
class Exchange:
    """One HTTP request of an authenticated principal, as ASGI hands it over."""

    scope: Scope
    receive: Receive
    send: Send

    @property
    def principal(self) -> Principal:
        """The caller."""
        principal: Principal = self.scope[PRINCIPAL]
        return principal


class ClientDisconnected(Exception):
    """The client went away before its request was complete; there is nobody to answer."""


def headers(scope: Scope, name: bytes) -> list[str]:
    """All values of a header, in order; `name` is in lower case."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def header(scope: Scope, name: bytes) -> str | None:
    """The value of a header, or None unless it was sent exactly once."""
    sent: bytes | None = None
    for key, value in scope["headers"]:
        if key == name:
            if sent is not None:
                return None
            sent = value
    return None if sent is None else sent.decode("latin-1")


def path_of(scope: Scope) -> str:
    """The path below the mount point: with a leading slash, without a trailing one (EN-17).

    A `/` or `%` that was sent encoded stays encoded: it belongs to a name, and parts nothing. The
    empty text stands for a path that leads nowhere: one with control characters, or no UTF-8.
    """
    path = sent_path_of(scope)
    return path and (path.rstrip("/") or "/")


def named(part: str) -> str:
    """The name that a part of a path, as `path_of` gives it, stands for."""
    return part.replace("%2F", "/").replace("%25", "%")


def behind(scope: Scope, start: str) -> str:
    """The name that all of a path behind its beginning stands for, slashes at the end included."""
    return named(sent_path_of(scope).removeprefix(start))


def with_path(scope: Scope) -> Scope:
    """A scope whose path has been read, once; everything inside looks at that one."""
    path = _read(scope)
    return {**scope, _PATH: path, "path": scope.get("root_path", "").rstrip("/") + path}


def sent_path_of(scope: Scope) -> str:
    """The path as of `path_of`, with the slashes at the end that were sent."""
    path: str | None = scope.get(_PATH)
    return _read(scope) if path is None else path


def _read(scope: Scope) -> str:
    path: str = scope["path"]
    root: str = scope.get("root_path", "").rstrip("/")
    if root and (path == root or path.startswith(root + "/")):
        path = path[len(root) :]
    if not path.startswith("/"):
        path = "/" + path
    sent: bytes = scope.get("raw_path") or b""
    if path.isprintable() and "%" not in path and sent.find(b"%") < 0:
        return "/" + path.lstrip("/")  # as mostly: nothing was sent encoded
    parts = _parts(path, sent)
    if parts is None or _UNSPEAKABLE.search(path):
        return ""
    return "/" + "/".join(p.replace("%", "%25").replace("/", "%2F") for p in parts).lstrip("/")


def _parts(path: str, sent: bytes) -> list[str] | None:
    """Split a path at the slashes that were sent; None if that is no text.

    A path that was changed on its way, or whose server does not tell what was sent, is taken as it
    is. What was sent may begin with the mount point.
    """
    if b"%" not in sent:
        return path.split("/")[1:]
    try:
        parts = [unquote_to_bytes(part).decode() for part in sent.partition(b"?")[0].split(b"/")]
    except UnicodeDecodeError:
        return None
    over = len("/".join(parts)) - len(path[1:])
    while over > 0:
        over -= len(parts.pop(0)) + 1
    return parts if "/" + "/".join(parts) == path else path.split("/")[1:]
