"""The edges put together: one ASGI app over an engine.

/healthz, /readyz                                     for anybody, by any name
Host, Origin ── problems ──┬── the console, /metrics     for whom options name
                           └── authentication ──┬── runs    bare ASGI
                                                ├── mounts  other protocols, in their own words
                                                └── routes  Starlette

`Edge.route` looks once where a request leads; the middleware around that is chosen by what it says.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from starlette.convertors import Convertor
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.routing import Mount as Mounted

from sayso.agents.registry import Agents
from sayso.agents.toolset import Tools
from sayso.base.codes import Code
from sayso.base.errors import DeclarationError, Problem
from sayso.base.records import Principal
from sayso.engine.engine import Engine
from sayso.engine.logins import Logins
from sayso.engine.sign_ins import SignIns
from sayso.http.asgi import (
    COMES,
    PRINCIPAL,
    App,
    ClientDisconnected,
    Receive,
    Scope,
    Send,
    header,
    named,
    path_of,
    with_path,
)
from sayso.http.console import EFFECTS, Console
from sayso.http.dialects.agui import RunEndpoint
from sayso.http.errors import ProblemWriter, not_found, problem_for, write_problem
from sayso.http.health import METRICS, PROBES, HealthRoutes
from sayso.http.options import ServerOptions
from sayso.http.rest.agents import AgentRoutes
from sayso.http.rest.who import AUTH, REDIRECT, Json, SignInMethods
from sayso.http.security import (
    Authenticate,
    AuthMiddleware,
    HostOriginMiddleware,
    anybody,
    is_reserved,
    service_token_in,
    this_machine,
)
from sayso.http.shares import Shares
from sayso.http.signin.oidc import Oidc

if TYPE_CHECKING:
    from sayso.base.tracing import Tracing
    from sayso.http.signin.routes import SignInRoutes

_log = logging.getLogger("sayso.http")
_SLASHED: Final = ":path}"
_STREAMS: Final = frozenset(("/interrupts/stream", "/audit/export"))
_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
"""Those that a span names; any other text is a stranger's."""


class Mount(Protocol):
    """A further protocol, served below one path."""

    path: str
    """With a leading slash and without a trailing one."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of an authenticated principal.

        Raises:
            Problem: it cannot be served.
        """

    async def write_problem(self, problem: Problem, scope: Scope, send: Send) -> None:
        """Answer with a problem in that protocol's words."""


class Target(NamedTuple):
    """The destination of a request."""

    handler: App
    needs_auth: bool
    """True if only principals are served; False if anybody is, or `handler` checks itself."""
    write_problem: ProblemWriter = write_problem
    """Writes problems in the words of its clients."""
    has_end: bool = False
    """True for what is no stream: its user's turn lasts until it is over."""


class Edge:
    """The ASGI app. Starts the engine at the first request, or with the server by `lifespan`."""

    def __init__(
        self,
        engine: Engine,
        options: ServerOptions,
        *,
        authenticate: Authenticate | None,
        sign_in: Oidc | None = None,
        console: Path | None,
        agents: Agents,
        tools: Tools,
        routes: Sequence[BaseRoute] = (),
    ) -> None:
        self._engine = engine
        self._starting: asyncio.Task[None] | None = None
        self._runs = RunEndpoint(engine, agents, limits=options.limits, keep_alive=options.pulse)
        self._console = None
        if console is not None:
            name = None if sign_in is None else sign_in.name
            self._console = Console(console, effects=_effects(routes), sign_in=name)
        self._routes = _Routes(
            [*AgentRoutes(agents, tools, engine.authorization).routes(), *routes]
        )
        self._mounts: list[Mount] = []
        unknown = anybody if options.insecure_no_auth else this_machine
        is_alone = authenticate is None and sign_in is None
        self._shares = None if is_alone else Shares()
        self._sign_in: SignInRoutes | None = None
        methods: list[Json] = [] if authenticate is None else [{"kind": "token"}]
        if sign_in is not None:
            self._sign_in = _sign_in_routes(sign_in, engine.logins, authenticate, self._start)
            authenticate = self._sign_in.authenticate
            methods.append({**REDIRECT, "name": sign_in.name})
        self._authenticate: Authenticate = authenticate or unknown
        self._operations = HealthRoutes(
            engine.health, options.metrics, authenticate, self._recognise
        )
        self._open: dict[str, App] = {
            AUTH: SignInMethods(methods),
            **({} if self._sign_in is None else self._sign_in.paths),
        }
        self._refused: Callable[[str], None] = engine.health.metrics.refusals.add
        if engine.tracing is not None:
            self._refused = _noting(engine.tracing, self._refused)
        self._http: App = HostOriginMiddleware(
            self._enter, self._refused, hosts=options.hosts, origins=options.origins
        )
        if engine.tracing is not None:
            self._http = TracingMiddleware(self._http, engine.tracing)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope; web sockets are turned away."""
        if scope["type"] == "http":
            scope = with_path(scope)
            if (path := path_of(scope)) in PROBES:
                await self._operations.probe(scope, send, path, self._start)
            else:
                await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000, "reason": "HTTP only"})

    def drain(self) -> None:
        """Report at `/readyz` from now on that this server stops; all else is served as before."""
        self._operations.draining = True

    def mount(self, mount: Mount) -> None:
        """Serve a further protocol.

        Raises:
            DeclarationError: its path is taken, or cannot be its own.
        """
        path = mount.path
        if not path.startswith("/") or path.endswith("/") or "//" in path:
            raise DeclarationError(
                f"path {path!r} must begin with a slash and name something, as /copilotkit does"
            )
        taken = [
            "/agents",
            *PROBES,
            METRICS,
            *self._open,
            *(mounted.path for mounted in self._mounts),
        ]
        taken += [route.path for route in self._routes.routes if isinstance(route, Route | Mounted)]
        if (
            other := next((path_taken for path_taken in taken if _overlap(path_taken, path)), None)
        ) is not None:
            raise DeclarationError(f"path {path!r}: {other} is served already; choose another one")
        self._mounts.append(mount)

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
        """Start the engine once for all callers; after a failure the next caller tries again."""
        if self._starting is None:
            tracing = self._engine.tracing
            # What the first request starts serves all others, too.
            context = None if tracing is None else tracing.outside()
            self._starting = asyncio.create_task(self._engine.start(), context=context)
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
        """Serve a request that Host and Origin let in; any error is answered here."""
        # An outer app's handlers are not for what is raised in here; the boundary's are.
        scope = {**scope, "app": self, "starlette.exception_handlers": ({}, {})}
        target = self.route(scope)
        handler, needs_auth, write, _ = target
        if self._sign_in is not None:
            write = self._sign_in.with_way(write)
        if needs_auth:
            if self._shares is not None and target.has_end:
                handler = partial(_shared, self._shares, handler)
            handler = partial(_still_signed_in, self._engine.sign_ins, handler)
            handler = AuthMiddleware(handler, self._admit)
        await ErrorMiddleware(handler, self._refused, write)(scope, receive, send)

    def route(self, scope: Scope) -> Target:
        """Find the destination of a request, by its path and method alone."""
        path = path_of(scope)
        if not path:
            return Target(_nowhere, needs_auth=False)
        if (runs := self._runs.find(scope["method"], path)) is not None:
            return Target(runs, needs_auth=True)
        if path == METRICS:
            return Target(self._operations.read, needs_auth=False)
        if (opened := self._open.get(path)) is not None:
            return Target(opened, needs_auth=False)
        for mount in self._mounts:
            if path == mount.path or path.startswith(f"{mount.path}/"):
                return Target(mount, needs_auth=True, write_problem=mount.write_problem)
        if (route := self._routes.find(scope)) is not None:
            has_end = path.rstrip("/") not in _STREAMS
            return Target(route, needs_auth=True, has_end=has_end)
        if self._console is not None:
            return Target(self._console, needs_auth=False)
        return Target(_nowhere, needs_auth=True)

    async def _recognise(self, scope: Scope) -> Principal | None:
        """Authenticate the caller by a sign-in that still counts."""
        token = service_token_in(scope)
        if token is None:
            principal = _own_name(await self._authenticate(scope))
        else:
            await self._start()
            principal = await self._engine.service_tokens.principal(token)
        sign_ins = self._engine.sign_ins
        if principal is not None and sign_ins.may_end(principal):
            await sign_ins.check(principal)
        return principal

    async def _admit(self, scope: Scope) -> Principal | None:
        """Authenticate the caller; the engine starts for the first who is recognised."""
        principal = await self._recognise(scope)
        if principal is not None:
            self._engine.quotas.request(principal)
            scope[COMES] = partial(self._engine.quotas.comes, principal)
            await self._start()
        return principal

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


class ErrorMiddleware:
    """Turns what an inner app raises into an answer, which `write` words for its clients."""

    def __init__(
        self, app: App, count: Callable[[str], None], write: ProblemWriter = write_problem
    ) -> None:
        """`count` is called with the code of each problem."""
        self._app = app
        self._count = count
        self._write = write

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        `send` is passed on as it is, since a wrapper would cost every event of a stream. So what
        fails after a response has begun is logged, and the server cuts that response off.
        """
        try:
            await self._app(scope, receive, send)
        except ClientDisconnected:
            _log.info("a client left before its request was complete")
        except Exception as error:
            problem = problem_for(error)
            self._count(problem.code.value)
            await self._write(problem, scope, send)


class TracingMiddleware:
    """Serves each request in a span of its own; only where tracing is asked for."""

    def __init__(self, app: App, tracing: "Tracing") -> None:
        self._app = app
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; the span ends with its answer."""
        sent = {name: header(scope, name.encode()) for name in ("traceparent", "tracestate")}
        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
        carried = {name: value for name, value in sent.items() if value is not None}
        with self._tracing.request(method, carried) as span:

            async def told(message: MutableMapping[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    span.note(**{"http.response.status_code": message["status"]})
                await send(message)

            await self._app(scope, receive, told)


def _own_name(principal: Principal | None) -> Principal | None:
    """A caller that somebody else has recognised, by a name that is no service's of this server.

    Raises:
        Problem: `unauthenticated`, the name is one that only this server gives.
    """
    if principal is not None and is_reserved(principal.subject):
        _log.warning("nobody may be called %r, whoever says so", principal.subject)
        raise Problem(
            Code.UNAUTHENTICATED,
            "Your subject begins with `service:` or `sayso:`, as names do that only this server "
            "gives. Have whoever vouches for you give another one.",
        )
    return principal


def _sign_in_routes(
    options: Oidc,
    logins: Logins,
    otherwise: Authenticate | None,
    start: Callable[[], Awaitable[None]],
) -> "SignInRoutes":
    try:
        from sayso.http.signin.routes import (  # noqa: PLC0415 - only who uses it needs the extra
            SignInRoutes,
        )
    except ImportError:
        raise DeclarationError(
            "sign_in= needs httpx and PyJWT: install sayso with the extra oidc"
        ) from None
    return SignInRoutes(options, logins, otherwise, start)


async def _shared(shares: Shares, handler: App, scope: Scope, receive: Receive, send: Send) -> None:
    """Serve a request of a user within the share of all requests of that user."""
    principal: Principal = scope[PRINCIPAL]
    work = handler(scope, receive, send)
    await shares.paced((principal.scope, principal.subject), work)


async def _still_signed_in(
    sign_ins: SignIns, handler: App, scope: Scope, receive: Receive, send: Send
) -> None:
    """Serve a request whose caller's sign-in counts when its body is whole as well."""
    principal: Principal = scope[PRINCIPAL]
    if scope["method"] in ("GET", "HEAD") or not sign_ins.may_end(principal):
        await handler(scope, receive, send)
        return
    since, whole = sign_ins.now(), False

    async def received() -> MutableMapping[str, Any]:
        nonlocal whole
        message = await receive()
        if not whole and message["type"] == "http.request" and not message.get("more_body"):
            whole = True
            await sign_ins.check_again(principal, since)
        return message

    await handler(scope, received, send)


def _noting(tracing: "Tracing", count: Callable[[str], None]) -> Callable[[str], None]:
    def refused(code: str) -> None:
        tracing.note(code=code)
        count(code)

    return refused


async def _nowhere(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise not_found()


def _effects(routes: Sequence[BaseRoute]) -> str | None:
    """The path of the route of that name, without its leading slash."""
    named = (route for route in routes if isinstance(route, Route) and route.name == EFFECTS)
    effects = next(named, None)
    return None if effects is None else effects.path.removeprefix("/")


def _overlap(path: str, other: str) -> bool:
    """True if one of two paths lies at or below the other; parameters match anything.

    Except a path that begins with a parameter: it takes what other routes leave.
    """
    pairs = zip(path.strip("/").split("/"), other.strip("/").split("/"), strict=False)
    return all(a == b or (index > 0 and a.startswith("{")) for index, (a, b) in enumerate(pairs))


class _Name(Convertor[str]):
    """A part of a path, as `asgi.path_of` gives it, to the name that was meant."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return named(value)

    def to_string(self, value: str) -> str:
        return value.replace("%", "%25").replace("/", "%2F")


_NAME: Final = _Name()


class _Routes:
    """Routes by path: a thread's id is one encoded part of it, whatever it holds.

    An id with slashes may come with them unencoded, as `{thread:path}` says: it is looked at so
    only where nothing else fits. So `/threads/x/state` is the state of `x`, never a thread of that
    name, and what was asked of one thread never happens to another. `scope["path"]` is as
    `asgi.path_of` gives it below the mount point.
    """

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self.routes = tuple(routes)
        named_in_full = [_exact(route) for route in routes]
        self._exact = _router(named_in_full)
        # Where an id with slashes may end a path, one more of them belongs to the id.
        self._ending = _router(
            [exact for exact, route in zip(named_in_full, routes, strict=True) if not _open(route)]
        )
        self._slashed = _router([route for route in routes if _has_slashes(route)])

    def find(self, scope: Scope) -> App | None:
        """The app behind a path; None if there is no route.

        Raises:
            MethodNotAllowed: the path exists, but not for this method.
        """
        path: str = scope["path"]
        plain = {**scope, "path": path.rstrip("/")} if path.endswith("/") else scope
        fit, app = _match(self._exact if plain is scope else self._ending, plain)
        if fit is not Match.FULL:
            fit_slashed, slashed = _match(self._slashed, scope)
            app = slashed if fit_slashed.value > fit.value else app
        return app


def _match(router: Router, scope: Scope) -> tuple[Match, App | None]:
    """The best match of a request, by path and method or by path alone, and the app of it."""
    best, app = Match.NONE, None
    for route in router.routes:
        fit, members = route.matches(scope)
        if fit.value > best.value:
            inner = {"path": scope["path"], **members}
            best, app = fit, partial(_handle, router, route, inner)
            if fit is Match.FULL:
                break
    return best, app


async def _handle(
    router: Router, route: BaseRoute, inner: Scope, scope: Scope, receive: Receive, send: Send
) -> None:
    # As Starlette does it: names of routes are those of the outermost router.
    await route.handle({"router": router, **scope, **inner}, receive, send)


def _router(routes: Sequence[BaseRoute]) -> Router:
    for route in routes:
        if isinstance(route, Route):
            route.param_convertors = dict.fromkeys(route.param_convertors, _NAME)
    return Router(routes, redirect_slashes=False)


def _exact(route: BaseRoute) -> BaseRoute:
    """The route with each of its names as one part."""
    if not isinstance(route, Route) or not _has_slashes(route):
        return route
    path = route.path.replace(_SLASHED, "}")
    methods = sorted(route.methods or ())
    return Route(path, route.endpoint, methods=methods, name=route.name)


def _has_slashes(route: BaseRoute) -> bool:
    return isinstance(route, Route) and _SLASHED in route.path


def _open(route: BaseRoute) -> bool:
    return isinstance(route, Route) and route.path.endswith(_SLASHED)
