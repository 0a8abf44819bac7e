"""The two cookies of signing in: the session's, and that of a sign-in under way. Pure.

A browser takes a name with `__Host-` from this host alone, over TLS, for all its paths; so no other
host of the same domain can put one there. On loopback without TLS there are no such names.
"""

from typing import Final

from sayso.http.asgi import Scope, headers
from sayso.http.security import is_secure

SESSION: Final = "sayso"
LOGIN: Final = "sayso-login"


def cookie(scope: Scope, name: str) -> str | None:
    """The value of one of our cookies; None unless it was sent exactly once.

    Two of a name are a sign that somebody else has put one there.
    """
    full_name = _name(name, scope)
    values = [
        value
        for line in headers(scope, b"cookie")
        for pair in line.split(";")
        for sent, _, value in [pair.strip().partition("=")]
        if sent == full_name
    ]
    return values[0] if len(values) == 1 else None


def session_cookie(scope: Scope, value: str) -> tuple[bytes, bytes]:
    """The header that gives a browser its session; it goes with the browser."""
    return _set(scope, SESSION, value, "SameSite=Strict")


def login_of(scope: Scope) -> tuple[str | None, str | None]:
    """The key of a browser's sign-ins, and the id of the session that it has had."""
    key, _, session_id = (cookie(scope, LOGIN) or "").partition(".")
    return key or None, session_id or None


def login_cookie(scope: Scope, key: str, session_id: str | None) -> tuple[bytes, bytes]:
    """The header that gives a browser the key of its sign-ins, beside its present session.

    The provider leads back from another site, so it comes along with links. It goes with the
    browser, as the session's own cookie does; attempts have a time of their own.
    """
    value = key if session_id is None else f"{key}.{session_id}"
    return _set(scope, LOGIN, value, "SameSite=Lax")


def no_cookies(scope: Scope) -> list[tuple[bytes, bytes]]:
    """The headers that take both away."""
    return [
        _set(scope, SESSION, "", "SameSite=Strict; Max-Age=0"),
        _set(scope, LOGIN, "", "SameSite=Lax; Max-Age=0"),
    ]


def _name(name: str, scope: Scope) -> str:
    return f"__Host-{name}" if is_secure(scope) else name


def _set(scope: Scope, name: str, value: str, more: str) -> tuple[bytes, bytes]:
    secure = "; Secure" if is_secure(scope) else ""
    line = f"{_name(name, scope)}={value}; Path=/; HttpOnly{secure}; {more}"
    return b"set-cookie", line.encode("latin-1")
