"""ASGI in types, and what every edge asks of a scope."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

__all__ = [
    "PRINCIPAL",
    "App",
    "ClientGone",
    "Receive",
    "Scope",
    "Send",
    "header",
    "headers",
    "path_of",
]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PRINCIPAL: Final = "sayso.principal"
"""The scope's member that holds the authenticated `Principal`."""


class ClientGone(Exception):
    """The client went away before its request was complete; there is nobody to answer."""


def headers(scope: Scope, name: bytes) -> list[str]:
    """All values of a header, in order; `name` is in lower case."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def header(scope: Scope, name: bytes) -> str | None:
    """The value of a header, or None unless it was sent exactly once."""
    found = headers(scope, name)
    return found[0] if len(found) == 1 else None


def path_of(scope: Scope) -> str:
    """The path below the mount point: with a leading slash, without a trailing one (EN-17)."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "").rstrip("/")
    if root and (path == root or path.startswith(root + "/")):
        path = path[len(root) :]
    return "/" + path.strip("/")
