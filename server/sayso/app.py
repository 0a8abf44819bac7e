"""`Sayso`: agents, tools and options in one ASGI app."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from inspect import getdoc, iscoroutinefunction
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypedDict, TypeVar, Unpack, overload

from sayso.agents.approval import never
from sayso.agents.policy import Policy
from sayso.agents.registry import Agent, Agents, check_agent, state_type
from sayso.agents.suggestions import Suggest, check_suggest
from sayso.agents.told import Told
from sayso.agents.tooloptions import ToolOptions
from sayso.agents.tools import Tool, ToolDecorator
from sayso.agents.toolset import Tools
from sayso.base.clock import SystemClock
from sayso.base.directory import Directory
from sayso.base.errors import DeclarationError
from sayso.base.options import AgentOptions, OptionValues, options_for_agent
from sayso.base.retention import KEEP_ALL, Retention
from sayso.base.scrubbing import Scrub
from sayso.base.texts import error_text
from sayso.engine.dialect import COPILOTKIT
from sayso.engine.engine import Engine
from sayso.engine.sign_ins import Revoked
from sayso.http.app import Edge
from sayso.http.console import built_console
from sayso.http.dialects.copilotkit import CopilotKit, CopilotKitMount
from sayso.http.dialects.session.mount import SessionMount, Sessions
from sayso.http.options import ServerOptions
from sayso.http.rest.approvals import ApprovalRoutes
from sayso.http.rest.audit import AuditRoutes, ExportRoutes
from sayso.http.rest.interrupts import InterruptRoutes
from sayso.http.rest.threads import ThreadRoutes
from sayso.http.rest.who import me_routes
from sayso.http.security import Authenticate
from sayso.http.signin.oidc import Oidc
from sayso.stores import store_of
from sayso.stores.aesgcm import AesGcm
from sayso.stores.base import Store
from sayso.turns.authorization import Authorization, Authorize
from sayso.turns.signing import Signer
from sayso.turns.turn import Turn

if TYPE_CHECKING:
    from sayso.base.tracing import Tracing

P = ParamSpec("P")
R = TypeVar("R")

AgentFunction = Callable[[Turn], Awaitable[Any]]
OnStart = Callable[["Sayso"], Awaitable[object]]
"""An async function of the app, which may add tools and agents to it before it serves."""


class _Arguments(TypedDict, total=False):
    """The arguments of a `Sayso`."""

    store: str | Store
    codec: AesGcm | None
    authenticate: Authenticate | None
    sign_in: Oidc | None
    revoked: Revoked | None
    authorize: Authorize | None
    directory: Directory | None
    retention: Retention | None
    scrub: Scrub | None
    signer: Signer | None
    default_approval: Policy
    four_eyes: bool
    services_may_decide: bool
    server: ServerOptions
    agent_defaults: AgentOptions
    on_start: Sequence[OnStart]


class Sayso:
    """An ASGI app that serves agents; it can be mounted under a prefix in another one.

    | option | values | default |
    |---|---|---|
    | `store` | a URL (see Stores), or a `Store` | `sqlite:///sayso.db` |
    | `codec` | `AesGcm(…)`: encrypts what its store keeps | None |
    | `authenticate` | async hook: ASGI scope to `Principal` or None | all are `local` |
    | `sign_in` | an `Oidc`: the provider at which people sign in to the console | none |
    | `revoked` | async hook: `Principal` to True if its sign-in counts no more | none |
    | `authorize` | async hook: who may use which agent and tool | all may use all |
    | `directory` | a `Directory`: who there is, with which roles | none: nobody is looked up |
    | `retention` | a `Retention`: for how long what is kept, who holds it | `Retention()` |
    | `signer` | `Ed25519.from_file(…)` or an async hook: signs decisions | none: unsigned |
    | `default_approval` | the policy of tools that have none of their own | `approval.never` |
    | `four_eyes` | True: who asks is no approver of it, unless `not_by=None` | False |
    | `services_may_decide` | True: callers of the kind `service` may answer as well | False |
    | `server` | `ServerOptions(…)`: the server around the agents | `ServerOptions()` |
    | `agent_defaults` | `AgentOptions(…)`: what agents do unless they say so | `AgentOptions()` |
    | `scrub` | a `Scrub`: what errors, logs and the audit trail never show | none |
    | `on_start` | async functions of the app, run in order before it serves anything | none |

    It starts at the first request, or with the server; an app that mounts this one uses
    `lifespan=app.lifespan`.

    Raises:
        DeclarationError: for an invalid value.
    """

    def __init__(
        self,
        *,
        store: str | Store = "sqlite:///sayso.db",
        codec: AesGcm | None = None,
        authenticate: Authenticate | None = None,
        sign_in: Oidc | None = None,
        revoked: Revoked | None = None,
        authorize: Authorize | None = None,
        directory: Directory | None = None,
        retention: Retention | None = None,
        signer: Signer | None = None,
        default_approval: Policy = never,
        four_eyes: bool = False,
        services_may_decide: bool = False,
        server: ServerOptions | None = None,
        agent_defaults: AgentOptions | None = None,
        scrub: Scrub | None = None,
        on_start: Sequence[OnStart] = (),
    ) -> None:
        _check_kind("default_approval", default_approval, Policy, "a policy: approval.always")
        _check_kind("four_eyes", four_eyes, bool, "True or False")
        _check_kind("services_may_decide", services_may_decide, bool, "True or False")
        server = ServerOptions() if server is None else server
        _check_kind("server", server, ServerOptions, "ServerOptions(…)")
        agent_defaults = AgentOptions() if agent_defaults is None else agent_defaults
        if sign_in is not None:
            _check_kind("sign_in", sign_in, Oidc, "Oidc(issuer, client_id, …)")
        _check_kind("agent_defaults", agent_defaults, AgentOptions, "AgentOptions(…)")
        _check_on_start(on_start)
        if retention is not None:
            _check_kind("retention", retention, Retention, "Retention(…)")
        if scrub is not None:
            _check_kind("scrub", scrub, Scrub, "Scrub(…)")
        if codec is not None:
            _check_kind("codec", codec, AesGcm, 'AesGcm.from_file("sayso.key"), or None')
        for name in ("person", "members") if directory is not None else ():
            if not _is_async(getattr(directory, name, None)):
                raise DeclarationError(
                    f"directory has the async methods person and members, as a Directory does, "
                    f"and {directory!r} has no {name}"
                )
        for name, hook in (("authorize", authorize), ("revoked", revoked), ("signer", signer)):
            if hook is not None and not _is_async(hook):
                raise DeclarationError(f"{name} is an async function, not {hook!r}")
        self._arguments: _Arguments = {
            "store": store,
            "codec": codec,
            "authenticate": authenticate,
            "sign_in": sign_in,
            "revoked": revoked,
            "authorize": authorize,
            "directory": directory,
            "retention": retention,
            "signer": signer,
            "default_approval": default_approval,
            "four_eyes": four_eyes,
            "services_may_decide": services_may_decide,
            "server": server,
            "agent_defaults": agent_defaults,
            "scrub": scrub,
            "on_start": tuple(on_start),
        }
        self._to_start = list(on_start)
        self._declaring: list[tuple[object, Callable[[], None]]] | None = None
        """While such a function runs: what it has declared, and what takes that back."""
        self._started: list[object] = []
        """What such functions have declared: they declare it on a copy as well."""
        self._mounted: list[Sessions | CopilotKit] = []
        self._serves_sessions = False
        self._agents = Agents()
        self._tools = Tools(default_approval, four_eyes=four_eyes)
        clock = server.clock or SystemClock()
        self._engine = Engine(
            agents=self._agents,
            tools=self._tools,
            store=store_of(store, clock=clock, codec=codec),
            clock=clock,
            limits=server.limits,
            tool_threads=server.tool_threads,
            shared=self._authenticates,
            lease=server.lease,
            max_unattended=server.max_unattended,
            prepare=self._prepare,
            authorization=Authorization(authorize),
            services_may_decide=services_may_decide,
            tracing=_tracing_of(server),
            directory=directory,
            retention=KEEP_ALL if retention is None else retention,
            scrub=scrub,
            revoked=revoked,
            signer=signer,
            signs_in=sign_in is not None,
        )
        engine, limits = self._engine, server.limits
        self._edge = Edge(
            engine,
            server,
            authenticate=authenticate,
            sign_in=sign_in,
            console=built_console() if server.console else None,
            agents=self._agents,
            tools=self._tools,
            routes=[
                *ThreadRoutes(engine, limits).routes(),
                *InterruptRoutes(
                    engine.inbox,
                    engine.answers,
                    engine.contexts,
                    engine.quotas,
                    engine.sign_ins,
                    limits,
                    keep_alive=server.pulse,
                ).routes(),
                *ApprovalRoutes(engine.approvals).routes(),
                *ExportRoutes(engine.exports, engine.quotas, engine.sign_ins).routes(),
                *AuditRoutes(engine.audit).routes(),
                *me_routes(),
                *server.routes,
            ],
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one ASGI scope."""
        if not self._serves_sessions:
            self._serves_sessions = True
            with suppress(DeclarationError):  # something else is served there
                self._mount_sessions(Sessions())
        await self._edge(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncIterator[None]:
        """Start and stop around another app that mounts this one."""
        async with self._edge.lifespan(app):
            yield

    def drain(self) -> None:
        """Answer `/readyz` from now on that this server stops; all else works as before."""
        self._edge.drain()

    @property
    def agents(self) -> tuple[Agent, ...]:
        """The agents that it serves, each in its newest version, in the order of declaration."""
        return tuple(self._agents.each_newest())

    @property
    def tools(self) -> tuple[Tool[..., Any], ...]:
        """The tools that all its agents may call, in the order in which they were declared."""
        return tuple(self._tools.shared.values())

    def tools_of(self, agent: str) -> tuple[Tool[..., Any], ...]:
        """The tools that one agent may call: all agents' and its own, which go before them."""
        return tuple(self._tools.of(agent).values())

    def policy_of(self, tool: Tool[..., Any]) -> Policy:
        """The policy that decides about a tool's calls: its own, else `default_approval`."""
        return self._tools.policy(tool)

    @property
    def store(self) -> Store:
        """The store of its threads."""
        return self._engine.store

    @property
    def server(self) -> ServerOptions:
        """The options of the server, as they were given."""
        return self._arguments["server"]

    @property
    def default_approval(self) -> Policy:
        """The policy of tools that have none of their own."""
        return self._arguments["default_approval"]

    @property
    def agent_defaults(self) -> AgentOptions:
        """The options of agents that do not say otherwise."""
        return self._arguments["agent_defaults"]

    @property
    def _authenticates(self) -> bool:
        """True if callers have to say who they are."""
        return any(self._arguments[name] is not None for name in ("authenticate", "sign_in"))

    def replace(self, **changes: Unpack[_Arguments]) -> "Sayso":
        """Make another app with the same agents, tools, mounts and arguments, but for `changes`.

        For tests and commands: over another store, or with
        `server=dataclasses.replace(app.server, hosts=[…])`. What is declared later on one of the
        two is not on the other; agents keep the options that they were declared with. The copy runs
        its own `on_start`.
        """
        arguments: _Arguments = {**self._arguments, **changes}
        other = Sayso(**arguments)
        for owner, tool in self._tools.all():
            if not self._is_of_start(tool):
                other.add_tools(tool, agent=owner)
        for agent in self._agents.all():
            if not self._is_of_start(agent):
                other._agents.add(agent)
        for mounted in self._mounted:
            other.mount(mounted)
        return other

    def _is_of_start(self, what: object) -> bool:
        return any(declared is what for declared in self._started)

    def mount(self, protocol: Sessions | CopilotKit) -> None:
        """Serve every agent in a further protocol: `app.mount(CopilotKit("/copilotkit"))`.

        Raises:
            DeclarationError: for a path that something else is served at.
        """
        if isinstance(protocol, Sessions):
            self._mount_sessions(protocol)
        elif isinstance(protocol, CopilotKit):
            self._mount_copilotkit(protocol)
        else:
            raise DeclarationError(f"mount takes CopilotKit(…) or Sessions(…), not {protocol!r}")
        self._mounted.append(protocol)

    def _mount_sessions(self, sessions: Sessions) -> None:
        if sessions.path is not None:
            self._edge.mount(
                SessionMount(
                    self._engine,
                    self._agents,
                    path=sessions.path,
                    expires_in=sessions.ttl,
                    limits=self.server.limits,
                    keep_alive=self.server.pulse,
                )
            )
        self._serves_sessions = True

    def _mount_copilotkit(self, mount: CopilotKit) -> None:
        self._edge.mount(
            CopilotKitMount(
                self._engine,
                self._agents,
                self._tools,
                path=mount.path,
                default=mount.default,
                dialect=replace(
                    COPILOTKIT,
                    refusals=mount.refusals,
                    show_expiry=mount.show_expiry,
                    interrupts=mount.emission,
                ),
                limits=self.server.limits,
                keep_alive=self.server.pulse,
            )
        )

    async def _prepare(self) -> None:
        """Run the functions of `on_start` that have not run; what one that fails did is undone.

        Raises:
            DeclarationError: one failed.
        """
        while self._to_start:
            function = self._to_start[0]
            declared: list[tuple[object, Callable[[], None]]] = []
            self._declaring = declared
            try:
                await function(self)
            except Exception as error:
                for _, take_back in reversed(declared):
                    take_back()
                name = getattr(function, "__qualname__", repr(function))
                text = " ".join(error_text(error).split())
                raise DeclarationError(
                    f"on_start: {name} failed with {type(error).__name__}: {text}"
                ) from error
            finally:
                self._declaring = None
            self._started += [what for what, _ in declared]
            del self._to_start[0]

    def _declared(self, what: object, take_back: Callable[[], None]) -> None:
        if self._declaring is not None:
            self._declaring.append((what, take_back))

    def add_tools(self, *tools: Tool[..., Any], agent: str | None = None) -> None:
        """Serve tools that were made by `Tool` itself, or by another app.

        Those without a policy of their own have the `default_approval` of this one.
        With `agent` they are tools of that agent alone, which go before those of all agents that
        have the same names. Two agents may have tools of one name with other policies.

        Raises:
            DeclarationError: another tool has the same name there.
        """
        named: object = agent
        if named is not None and not isinstance(named, str):
            raise DeclarationError(f"agent= of add_tools is the name of an agent, not {named!r}")
        for tool in tools:
            if self._tools.add(tool, agent):
                self._declared(tool, partial(self._tools.remove, tool, agent))

    def agent(
        self,
        name: str,
        *,
        version: str = "1",
        description: str | None = None,
        state_schema: Any = None,
        kind: str = "sayso",
        suggest: Suggest | None = None,
        **options: Unpack[OptionValues],
    ) -> Callable[[AgentFunction], AgentFunction]:
        """Register an async function of one argument, its `Turn`, as `POST /agents/{name}`.

        - `version`: open turns keep the version that they began with; old versions may stay
          registered beside the newest.
        - `state_schema`: the shape of its state (a pydantic model, a type, a JSON Schema object),
          which edits and the states of requests have to fit; without it a state is an object.
        - `kind`: the framework that it is built with, as its capabilities show it.
        - `suggest`: an async function from a `SuggestionRequest` to a list of `Suggestion`, for
          pages that ask what their user could say next; without it they get none.
        - `options`: they override those of the app.

        Raises:
            DeclarationError: a name, function or option that cannot be served.
        """
        if not isinstance(name, str):  # used bare, it would register nothing and say nothing
            raise DeclarationError('an agent has a name in its path: write @app.agent("name")')
        chosen = options_for_agent(self.agent_defaults, options, name)
        shape = None if state_schema is None else state_type(state_schema)
        check_suggest(name, suggest)

        def register(function: AgentFunction) -> AgentFunction:
            check_agent(name, function)
            agent = Agent(
                name=name,
                version=version,
                function=function,
                description=description or getdoc(function) or "",
                options=chosen,
                state=shape,
                kind=kind,
                suggest=suggest,
            )
            self._agents.add(agent)
            self._declared(agent, partial(self._agents.remove, agent))
            return function

        return register

    @overload
    def tool(self, fn: Callable[Concatenate[Turn, P], Awaitable[Told[R]]], /) -> Tool[P, R]: ...
    @overload
    def tool(self, fn: Callable[Concatenate[Turn, P], Awaitable[R]], /) -> Tool[P, R]: ...
    @overload
    def tool(self, fn: Callable[P, AsyncIterator[str]], /) -> Tool[P, str]: ...
    @overload
    def tool(self, fn: Callable[P, Awaitable[Told[R]]], /) -> Tool[P, R]: ...
    @overload
    def tool(self, fn: Callable[P, Awaitable[R]], /) -> Tool[P, R]: ...
    @overload
    def tool(self, fn: Callable[P, Told[R]], /) -> Tool[P, R]: ...
    @overload
    def tool(self, fn: Callable[P, R], /) -> Tool[P, R]: ...
    @overload
    def tool(self, fn: None = None, /, **options: Unpack[ToolOptions]) -> ToolDecorator: ...
    def tool(
        self, fn: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]
    ) -> Tool[..., Any] | ToolDecorator:
        """Make a function a tool, to be called through `Turn.call`; `@app.tool` takes no options.

        One that returns `Told` says something else than it gives back.
        An `async def` with `yield` streams text: its chunks are shown as an activity, its result is
        all of them. A tool with a parameter of type `Turn` is a part of the turn that may ask and
        record. Who decides about a call, and for how long:

        - `approval`: the calls that a person decides first; the app's `default_approval` by
          default.
        - `editable`: that person may change the arguments.
        - `expires_in`: seconds that an approval stays open, None: forever; by default the agent's.
        - `on_expire`: its expiry policy, by default the agent's; `approve` runs the call.
        - `complete`: a person is asked for required arguments that a call leaves out.
        - `approvers`: they decide about a run that failed or may have happened, if no rule asked
          about the call; otherwise those who were asked do.

        What rules and people see of a call:

        - `effect`: `read`, `write` or `irreversible`.
        - `scale`: how many things a call touches: the argument that says or holds them, or a
          function of arguments.
        - `permission`: the one that its caller needs.
        - `reveal`: secrets of its arguments may be shown to whoever may answer.
        - `title`, `why`, `impact`: texts that may name arguments in braces
          (`"Refund {amount} for order {order_id}"`), or functions of some of the arguments; an
          impact may be figures by name as well.

        How it runs:

        - `idempotent`: it may run again after a crash.
        - `timeout`: in seconds.
        - `verify`: an async function that finds out after a crash whether it happened.
        - `on_error`: `ask` asks what to do about an error: retry, skip, stop; otherwise `type`,
          `text` or `fail`; by default the agent's `tool_errors`.
        - `scrub`: its result is recorded without credentials, by the app's `Scrub`, else by what is
          built in.

        Raises:
            DeclarationError: a function or an option that cannot work.
        """
        if fn is not None and not callable(fn):
            raise DeclarationError('a tool is a function: write @app.tool(name="…") above one')

        def register(fn: Callable[..., Any]) -> Any:
            tool = Tool(fn, **options)
            tool.declared_under = self.default_approval
            tool.check_editable(self.policy_of(tool))
            self.add_tools(tool)
            return tool

        return register if fn is None else register(fn)


def _tracing_of(server: ServerOptions) -> "Tracing | None":
    if server.tracing is False:
        return None
    try:
        from sayso.base.tracing import Tracing  # noqa: PLC0415 - of an extra, and off by default
    except ImportError:
        raise DeclarationError(
            "tracing needs OpenTelemetry: install sayso with the extra otel, or pip install "
            "opentelemetry-api"
        ) from None
    return Tracing(server.tracing)


def _check_on_start(functions: object) -> None:
    if not isinstance(functions, list | tuple):
        raise DeclarationError(f"on_start is a list of async functions, not {functions!r}")
    for function in functions:
        if not _is_async(function):
            raise DeclarationError(f"on_start takes async functions of the app, not {function!r}")


def _is_async(function: object) -> bool:
    called = getattr(function, "__call__", None)  # noqa: B004 - the method itself is wanted
    return iscoroutinefunction(function) or iscoroutinefunction(called)


def _check_kind(name: str, value: Any, kind: type, example: str) -> None:
    if not isinstance(value, kind):
        raise DeclarationError(f"{name} is {example}, not {value!r}")
