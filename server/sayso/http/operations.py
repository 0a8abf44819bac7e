"""What keeps a server running: `/healthz`, `/readyz` and `/metrics`."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, Protocol

from sayso.errors import Code, DeclarationError, Problem
from sayso.http.asgi import PRINCIPAL, App, Receive, Scope, Send
from sayso.http.problems import method_not_allowed, not_found, problem_for, send_problem
from sayso.http.security import Authenticate, Authenticated
from sayso.metrics import CONTENT_TYPE, Metrics

__all__ = ["METRICS", "PROBES", "Health", "Operations"]

PROBES: Final = ("/healthz", "/readyz")
METRICS: Final = "/metrics"
_JSON: Final = b"application/json"
_UP: Final = b'{"status":"ok"}'
_READY: Final = b'{"status":"ready"}'
_ROLE: Final = "role:"
_PATIENCE: Final = 2.0
"""Seconds that the store may take to open while a probe waits."""


class Health(Protocol):
    """What is asked of the engine."""

    metrics: Metrics

    async def ready(self) -> None:
        """Raise what keeps the server from working."""

    async def lines(self) -> Iterator[str]:
        """Everything that is counted, as Prometheus reads it."""


class Operations:
    """Probes for anybody, metrics for `readers`.

    `readers`: `authenticated`, `anybody`, `nobody`, or `role:NAME` for principals of that role.
    """

    def __init__(self, health: Health, readers: str, authenticate: Authenticate | None) -> None:
        if readers not in ("authenticated", "anybody", "nobody") and not (
            readers.startswith(_ROLE) and readers.removeprefix(_ROLE).strip()
        ):
            raise DeclarationError(
                f"metrics is 'authenticated', 'anybody', 'nobody' or 'role:NAME', not {readers!r}"
            )
        self.metrics = health.metrics
        self.draining = False
        self._health = health
        self._role = readers.removeprefix(_ROLE) if readers.startswith(_ROLE) else None
        self._served: App | None = self._metrics
        if readers == "nobody":
            self._served = None
        elif readers != "anybody":
            self._served = Authenticated(self._metrics, authenticate)

    async def probe(
        self, scope: Scope, send: Send, path: str, start: Callable[[], Awaitable[None]]
    ) -> None:
        """Answer a probe. They come by address and carry no credentials; none is kept waiting."""
        if scope["method"] not in ("GET", "HEAD"):
            await send_problem(method_not_allowed("GET", "HEAD"), scope, send)
        elif path == "/healthz":
            await _send(scope, send, _JSON, _UP)
        else:
            problem = await self._unready(start)
            if problem is None:
                await _send(scope, send, _JSON, _READY)
            else:
                await send_problem(problem, scope, send)

    async def read(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the metrics; raises Problem for who may not read them."""
        if self._served is None:
            raise not_found()
        await self._served(scope, receive, send)

    async def _unready(self, start: Callable[[], Awaitable[None]]) -> Problem | None:
        if self.draining:
            return Problem(
                Code.SHUTTING_DOWN, "This server is shutting down: send requests to another one."
            )
        try:
            async with asyncio.timeout(_PATIENCE):
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
