"""Who is calling, and how people sign in: `GET /me`, `GET /auth`."""

from collections.abc import Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso.base.clock import format_time
from sayso.http.asgi import Receive, Scope, Send
from sayso.http.body import json_response, principal_of
from sayso.http.errors import method_not_allowed

Json = dict[str, Any]

AUTH: Final = "/auth"
REDIRECT: Final = {
    "kind": "redirect",
    "url": "/login?return={return}",
    "again": "/login?return={return}&max_age={seconds}",
    "signOut": "/logout",
}
"""Signing in at a provider: pages of this server, below where it is mounted. `again` asks for a
sign-in that is at most so many seconds old."""


class SignInMethods:
    """The endpoint that says how people sign in here, for anybody."""

    def __init__(self, methods: Sequence[Json]) -> None:
        self._methods = list(methods)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["method"] not in ("GET", "HEAD"):
            raise method_not_allowed("GET", "HEAD")
        await json_response({"methods": self._methods})(scope, receive, send)


def me_routes() -> list[Route]:
    """The endpoint that says who is calling."""
    return [Route("/me", _me, methods=["GET"])]


async def _me(request: Request) -> Response:
    principal = principal_of(request)
    members = {
        "subject": principal.subject,
        "scope": principal.scope,
        "roles": list(principal.roles),
        "kind": principal.kind,
        "expiresAt": _time(principal.expires_at),
        "signedInAt": _time(principal.auth_time),
    }
    return json_response({name: value for name, value in members.items() if value is not None})


def _time(moment: int | None) -> str | None:
    return None if moment is None else format_time(moment)
