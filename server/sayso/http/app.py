"""The edges put together: one ASGI app over an engine.

/healthz, /readyz                                        for anybody, by any name
problems ── Host, Origin ──┬── the console, /metrics        for whom options name
                           └── authentication ──┬── runs     bare ASGI
                                                ├── mounts   other protocols, with their own errors
                                                └── routes   Starlette
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from starlette.routing import BaseRoute, Match, Route, Router
from starlette.routing import Mount as Mounted

from sayso.errors import DeclarationError, Problem
from sayso.http.agents import AgentRecord, Agents
from sayso.http.asgi import App, Receive, Scope, Send, path_of
from sayso.http.console import EFFECTS, Console
from sayso.http.operations import METRICS, PROBES, Health, Operations
from sayso.http.problems import ProblemBoundary
from sayso.http.runs import Engine, RunEndpoint
from sayso.http.security import Authenticate, Authenticated, Doorkeeper
from sayso.keepalive import KeepAlive
from sayso.limits import Limits

__all__ = ["Edge", "Mount", "Options"]

_log = logging.getLogger("sayso.http")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How the edges behave."""

    hosts: tuple[str, ...] = ()
    """Host names served beside loopback: `name`, `*.name`, or `*` when a proxy checks them."""
    origins: tuple[str, ...] = ()
    """Other origins whose pages may call, `https://app.example.org`; they alone get CORS."""
    authenticate: Authenticate | None = None
    """Says who is calling; without it everybody is the local principal."""
    keep_alive: KeepAlive | None = field(default_factory=KeepAlive)
    """What keeps silent streams open; None: nothing."""
    limits: Limits = field(default_factory=Limits)
    """Sizes of what may come in."""
    metrics: str = "authenticated"
    """Who may read `/metrics`: `authenticated`, `anybody`, `nobody`, `role:NAME`."""
    console: Path | None = None
    """The folder of the built console; None serves none."""


class Mount(Protocol):
    """Another protocol, spoken by everything below one path."""

    path: str
    """With a leading slash and without a trailing one."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of an authenticated principal; raises Problem."""

    async def say(self, problem: Problem, scope: Scope, send: Send) -> None:
        """Answer with a problem in that protocol's words."""


class Edge:
    """The ASGI app. Starts the engine at the first request, or with the server by `lifespan`."""

    def __init__(
        self,
        engine: Engine,
        options: Options,
        *,
        agents: Mapping[str, AgentRecord],
        health: Health,
        routes: Sequence[BaseRoute] = (),
    ) -> None:
        self._engine = engine
        self._starting: asyncio.Task[None] | None = None
        self._runs = RunEndpoint(
            engine, agents, limits=options.limits, keep_alive=options.keep_alive
        )
        self._console = None
        if options.console is not None:
            self._console = Console(options.console, effects=_effects(routes))
        self._router = Router([*Agents(agents).routes(), *routes], redirect_slashes=False)
        self._mounts: list[tuple[str, App]] = []
        self._authenticate = options.authenticate
        self._operations = Operations(health, options.metrics, options.authenticate)
        self._refused = health.metrics.refusals.add
        self._private = Authenticated(self._serve, options.authenticate)
        # Problems twice: those of the inside leave through the doorkeeper, who adds CORS to them.
        inside = ProblemBoundary(self._enter, self._refused)
        self._http: App = ProblemBoundary(
            Doorkeeper(inside, hosts=options.hosts, origins=options.origins), self._refused
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope; web sockets are turned away."""
        if scope["type"] == "http":
            if (path := path_of(scope)) in PROBES:
                await self._operations.probe(scope, send, path, self._start)
            else:
                await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000, "reason": "HTTP only"})

    def drain(self) -> None:
        """Say at `/readyz` from now on that this server goes; all else is served as before."""
        self._operations.draining = True

    def mount(self, mount: Mount) -> None:
        """Serve a further protocol. Raises DeclarationError for a path that cannot be its own."""
        path = mount.path
        if not path.startswith("/") or path.endswith("/") or "//" in path:
            raise DeclarationError(
                f"path {path!r} must begin with a slash and name something, as /copilotkit does"
            )
        taken = ["/agents", *PROBES, METRICS, *(at for at, _ in self._mounts)]
        taken += [route.path for route in self._router.routes if isinstance(route, Route | Mounted)]
        if (other := next((at for at in taken if _overlap(at, path)), None)) is not None:
            raise DeclarationError(f"path {path!r}: {other} is served already; choose another one")

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            await self._start()
            await mount(scope, receive, send)

        private = Authenticated(serve, self._authenticate)
        self._mounts.append((path, ProblemBoundary(private, self._refused, mount.say)))

    @asynccontextmanager
    async def lifespan(self, _: Any = None) -> AsyncIterator[None]:
        """Run the engine around a block: hand it to an app that mounts this one."""
        self._operations.draining = False
        await self._start()
        try:
            yield
        finally:
            await self._stop()

    async def _start(self) -> None:
        """One start for all who ask; a failed one is tried again by the next who asks."""
        if self._starting is None:
            self._starting = asyncio.create_task(self._engine.start())
        starting = self._starting
        try:
            await asyncio.shield(starting)
        except BaseException:
            if starting.done() and self._starting is starting:
                self._starting = None
            raise

    async def _stop(self) -> None:
        self._starting = None
        await self._engine.stop()

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = path_of(scope)
        root = scope.get("root_path", "").rstrip("/")
        # An outer app's handlers are not for what is raised in here; the boundary's are.
        inner = {
            **scope,
            "path": root + path,
            "app": self,
            "starlette.exception_handlers": ({}, {}),
        }
        mounted = next(
            (app for at, app in self._mounts if path == at or path.startswith(f"{at}/")), None
        )
        if path == METRICS:
            await self._operations.read(inner, receive, send)
        elif mounted is not None:
            await mounted(inner, receive, send)
        elif self._console is None or self._is_served(inner, path):
            await self._private(inner, receive, send)
        else:
            await self._console(inner, receive, send, path)

    def _is_served(self, scope: Scope, path: str) -> bool:
        """Whether a path is one of ours and not one of the console's."""
        if RunEndpoint.takes(path):
            return True
        return any(route.matches(scope)[0] is not Match.NONE for route in self._router.routes)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._start()
        path = path_of(scope)
        if RunEndpoint.takes(path) and not RunEndpoint.leaves(scope, path):
            await self._runs(scope, receive, send, path)
        else:
            await self._router(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """The server's own lifespan; an app that mounts this one uses `lifespan` instead."""
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self._start()
                except Exception as error:
                    _log.exception("the server cannot start")
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                try:
                    await self._stop()
                except Exception as error:
                    _log.exception("the server did not stop in order")
                    await send({"type": "lifespan.shutdown.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.shutdown.complete"})
                return


def _effects(routes: Sequence[BaseRoute]) -> str | None:
    """The path of the route of that name, without its leading slash."""
    named = (route for route in routes if isinstance(route, Route) and route.name == EFFECTS)
    found = next(named, None)
    return None if found is None else found.path.removeprefix("/")


def _overlap(one: str, other: str) -> bool:
    """Whether one of two paths lies at or below the other; parameters stand for anything.

    Not one that begins a path: what takes anything takes what is left.
    """
    pairs = zip(one.strip("/").split("/"), other.strip("/").split("/"), strict=False)
    return all(a == b or (at > 0 and a.startswith("{")) for at, (a, b) in enumerate(pairs))
