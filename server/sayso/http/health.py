"""Probes and metrics: `/healthz`, `/readyz` and `/metrics`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from sayso.base.codes import Code
from sayso.base.errors import DeclarationError, Problem
from sayso.base.metrics import CONTENT_TYPE, Metrics
from sayso.engine.health import Health
from sayso.http.asgi import PRINCIPAL, App, Receive, Scope, Send
from sayso.http.errors import method_not_allowed, not_found, problem_for, write_problem
from sayso.http.security import Authenticate, AuthMiddleware

PROBES: Final = ("/healthz", "/readyz")
METRICS: Final = "/metrics"
_JSON: Final = b"application/json"
_UP: Final = b'{"status":"ok"}'
_READY: Final = b'{"status":"ready"}'
_ROLE: Final = "role:"
_TIMEOUT_S: Final = 2.0
"""Seconds that the store may take to open while a probe waits."""


class HealthRoutes:
    """Probes for anybody, metrics for `readers`.

    `readers`: `authenticated`, `anybody`, `nobody`, or `role:NAME` for principals of that role.
    Where nobody has to say who they are (`known` is None), nobody has a role: whoever is served at
    all may read them then.
    """

    def __init__(
        self,
        health: Health,
        readers: str,
        hook: Authenticate | None,
        authenticate: Authenticate,
    ) -> None:
        if readers not in ("authenticated", "anybody", "nobody") and not (
            readers.startswith(_ROLE) and readers.removeprefix(_ROLE).strip()
        ):
            raise DeclarationError(
                f"metrics is 'authenticated', 'anybody', 'nobody' or 'role:NAME', not {readers!r}"
            )
        self.metrics: Metrics = health.metrics
        self.draining = False
        self._health = health
        by_role = readers.startswith(_ROLE) and hook is not None
        self._role = readers.removeprefix(_ROLE) if by_role else None
        self._served: App | None = self._metrics
        if readers == "nobody":
            self._served = None
        elif readers != "anybody":
            self._served = AuthMiddleware(self._metrics, authenticate)

    async def probe(
        self, scope: Scope, send: Send, path: str, start: Callable[[], Awaitable[None]]
    ) -> None:
        """Answer a probe. They come by address and carry no credentials; none is kept waiting."""
        if scope["method"] not in ("GET", "HEAD"):
            await write_problem(method_not_allowed("GET", "HEAD"), scope, send)
        elif path == "/healthz":
            await _send(scope, send, _JSON, _UP)
        else:
            problem = await self._unready(start)
            if problem is None:
                await _send(scope, send, _JSON, _READY)
            else:
                await write_problem(problem, scope, send)

    async def read(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the metrics.

        Raises:
            Problem: the caller may not read them.
        """
        if self._served is None:
            raise not_found()
        await self._served(scope, receive, send)

    async def _unready(self, start: Callable[[], Awaitable[None]]) -> Problem | None:
        if self.draining:
            return Problem(
                Code.SHUTTING_DOWN, "This server is shutting down: send requests to another one."
            )
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                await start()
            await self._health.ready()
        except TimeoutError:
            return Problem(Code.STORE_UNAVAILABLE, "The store is still being opened.")
        except Exception as error:
            return problem_for(error)
        return None

    async def _metrics(self, scope: Scope, _: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            raise method_not_allowed("GET", "HEAD")
        if self._role is not None and self._role not in scope[PRINCIPAL].roles:
            # As everywhere: what is not yours is not there.
            raise not_found()
        text = "".join(f"{line}\n" for line in await self._health.lines())
        await _send(scope, send, CONTENT_TYPE.encode(), text.encode())


async def _send(scope: Scope, send: Send, media: bytes, body: bytes) -> None:
    fields = [
        (b"content-type", media),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": fields})
    shown = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": shown, "more_body": False})
