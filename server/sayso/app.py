"""`Sayso`: agents, tools and options in one ASGI app."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from inspect import getdoc
from typing import Any, Literal, Unpack

from starlette.routing import BaseRoute

from sayso.agents.approval import never
from sayso.agents.policy import Effect, Policy
from sayso.agents.registry import Agent, Agents, check_agent
from sayso.agents.tools import OnError, Scale, Tool, Verify
from sayso.catalogue import Catalogue
from sayso.clock import Clock, SystemClock
from sayso.engine.engine import Engine
from sayso.errors import DeclarationError
from sayso.http.app import Edge
from sayso.http.app import Options as EdgeOptions
from sayso.http.approvals import ApprovalPaths
from sayso.http.audit import AuditPaths
from sayso.http.console import built_console
from sayso.http.copilotkit import MANNER, CopilotKitMount
from sayso.http.interrupts import InterruptPaths
from sayso.http.repairs import RepairPaths
from sayso.http.security import Authenticate
from sayso.http.session import SessionMount
from sayso.http.threads import ThreadPaths
from sayso.keepalive import KeepAlive, keep_alive_of
from sayso.limits import Limits
from sayso.options import (
    DEFAULT,
    Default,
    Emission,
    OnExpire,
    Options,
    OptionValues,
    check_lease,
    check_lifetime,
    check_threads,
    declared,
    overridden,
)
from sayso.schemas.states import state_type
from sayso.stores import store_of
from sayso.stores.base import Store
from sayso.turns.turn import Turn

__all__ = ["Sayso"]

AgentFunction = Callable[[Turn], Awaitable[Any]]


class Sayso:
    """An ASGI app that serves agents; it can be mounted under a prefix in another one.

    | option | values | default |
    |---|---|---|
    | `store` | a URL (see Stores), or a `Store` | `sqlite:///sayso.db` |
    | `authenticate` | async hook: ASGI scope to `Principal` or None | all are `local` |
    | `hosts` | host names served beside loopback | none |
    | `origins` | origins of other sites whose pages may call | none |
    | `limits` | a `Limits` | `Limits()` |
    | `keep_alive` | seconds of silence before a comment, None: never; a `KeepAlive` | 15 |
    | `tool_threads` | threads for synchronous tools and steps | 16 |
    | `lease` | seconds after which a server that died is replaced at its threads | 10 |
    | `default_approval` | the policy of tools that have none of their own | `approval.never` |
    | `metrics` | its readers: `authenticated`, `anybody`, `nobody`, `role:…` | `authenticated` |
    | `console` | whether the console is served at `/` | True |
    | `sessions` | where the session dialect is served, None: nowhere | `/api/v1/chat` |
    | `session_ttl` | seconds that its questions stay open, None: for ever | None |
    | `routes` | further Starlette routes | none |
    | `clock` | a `Clock` | the system's |
    | `refusals` | `error`: RUN_ERROR; `recover`: the thread as it stands | `error` |
    | `interrupts` | how clients are asked: `standard`, `legacy`, `both` | `standard` |
    | `legacy_value` | what `on_interrupt` carries: `interrupt`, `message` | `interrupt` |
    | `legacy_answers` | whether `forwardedProps.command` answers | True |
    | `may_ask` | whether agents may ask a person at all | True |
    | `unknown_entries` | ids never asked, beside others: `refuse`, `ignore` | `refuse` |
    | `partial` | some of the answers: `refuse`; `accumulate`: keep them | `refuse` |
    | `on_message` | text while something is open: `refuse`, `answer`, `cancel` | `refuse` |
    | `on_disconnect` | when the last reader has gone: `finish`, `cancel` | `finish` |
    | `subagents` | tell clients without a version of inner agents | False |
    | `expires_in` | seconds that a question stays open, None: for ever | None |
    | `on_expire` | its end then: `expire`, `hold`, `deny`, `cancel` | `expire` |
    | `remind_at` | part of that time before a reminder, None: no reminder | 0.8 |
    | `on_reminder` | async hook that takes a `Reminder` | none |
    | `tool_errors` | a tool that raised: `text`: a result; `fail`: fails the turn | `text` |
    | `detached_for` | seconds that a run goes on with no reader, None: any | 900 |
    | `expiries_in_a_row` | expiries without a person that end a turn, None: any | 3 |
    | `breakpoints` | `Breakpoints(before=…, after=…)`: where runs wait, None: nowhere | None |
    | `run_breakpoints` | breakpoints that a request sets: `refuse`, `allow` | `refuse` |
    | `detached_at_once` | turns that go on without a client, at one time | 8 |

    From `refusals` to `run_breakpoints` they can be set per agent; `expires_in` and `on_expire`
    per tool and question too. There `on_expire` may also be a `GivenAnswer`, and for a tool
    `approve`. `answer` takes a text for the one question that waits for a string, `cancel` cancels
    what is open and then takes it as usual. A run under `on_disconnect="cancel"` begins no effect
    without a reader; a client that is back within 5 s finds it going on.

    Started at the first request, or with the server; an app that mounts this one uses
    `lifespan=app.lifespan`. Raises `DeclarationError` for what is no option, or no value of it.
    """

    def __init__(
        self,
        *,
        store: str | Store = "sqlite:///sayso.db",
        keep_alive: float | KeepAlive | None = 15.0,
        authenticate: Authenticate | None = None,
        hosts: Sequence[str] = (),
        origins: Sequence[str] = (),
        limits: Limits | None = None,
        tool_threads: int = 16,
        lease: float = 10.0,
        default_approval: Policy = never,
        metrics: str = "authenticated",
        console: bool = True,
        sessions: str | None = "/api/v1/chat",
        session_ttl: float | None = None,
        routes: Sequence[BaseRoute] = (),
        clock: Clock | None = None,
        **options: Unpack[OptionValues],
    ) -> None:
        given: dict[str, Any] = dict(locals())
        del given["self"]
        self._given = given | given.pop("options")
        if not isinstance(default_approval, Policy):
            raise DeclarationError(
                f"default_approval is a policy, such as approval.always, not {default_approval!r}"
            )
        check_threads(tool_threads)
        check_lease(lease)
        self._default_approval = default_approval
        self._mounted: list[dict[str, Any]] = []
        ticking = clock or SystemClock()
        bounds = self._limits = limits or Limits()
        pulse = self._keep_alive = keep_alive_of(keep_alive)
        self._options = declared(options)
        self._agents = Agents()
        self._tools: dict[str, Tool] = {}
        self._records = Catalogue(self._agents, self._tools)
        self.engine = Engine(
            agents=self._agents,
            tools=self._tools,
            store=store_of(store, clock=ticking),
            clock=ticking,
            limits=bounds,
            tool_threads=tool_threads,
            lease=lease,
            detached_at_once=self._options.detached_at_once,
        )
        self._edge = Edge(
            self.engine,
            EdgeOptions(
                hosts=tuple(hosts),
                origins=tuple(origins),
                authenticate=authenticate,
                keep_alive=pulse,
                limits=bounds,
                metrics=metrics,
                console=built_console() if console else None,
            ),
            agents=self._records,
            health=self.engine.health,
            routes=[
                *ThreadPaths(self.engine.threads, self.engine.stop_thread, bounds).routes(),
                *RepairPaths(self.engine.threads, self.engine.repairs, bounds).routes(),
                *InterruptPaths(
                    self.engine.inbox, self.engine.desk, bounds, keep_alive=pulse
                ).routes(),
                *ApprovalPaths(self.engine.approvals).routes(),
                *AuditPaths(self.engine.audit).routes(),
                *routes,
            ],
        )

        check_lifetime(session_ttl, "session_ttl")
        if sessions is not None:
            self._edge.mount(
                SessionMount(
                    self.engine,
                    self._records,
                    path=sessions,
                    expires_in=session_ttl,
                    limits=bounds,
                    keep_alive=pulse,
                )
            )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one ASGI scope."""
        await self._edge(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncIterator[None]:
        """Start and stop around another app that mounts this one."""
        async with self._edge.lifespan(app):
            yield

    def drain(self) -> None:
        """Let `/readyz` say that this server goes, for who stops it; all else works as before."""
        self._edge.drain()

    @property
    def catalogue(self) -> Catalogue:
        """The newest version of each agent, by name, as clients are shown it."""
        return self._records

    @property
    def store(self) -> Store:
        """Where its threads are kept."""
        return self.engine.store

    @property
    def limits(self) -> Limits:
        """The sizes of what may come in."""
        return self._limits

    @property
    def authenticates(self) -> bool:
        """Whether callers have to say who they are."""
        return self._given["authenticate"] is not None

    def again(self, **changes: Any) -> "Sayso":
        """A further app with the same agents, tools and options, but for `changes` of the latter.

        For tests and commands: over another store, or for other hosts. What is declared later on
        one of the two is not on the other; options of agents stay as they were declared.
        """
        other = Sayso(**{**self._given, **changes})
        other.include(*self._tools.values())
        for agent in self._agents.all():
            other._agents.add(agent)
        for mounted in self._mounted:
            other.copilotkit(**mounted)
        return other

    def also(self, *, hosts: Sequence[str] = (), origins: Sequence[str] = ()) -> "Sayso":
        """The same app for further host names, and for pages of further origins."""
        given = self._given
        return self.again(hosts=(*given["hosts"], *hosts), origins=(*given["origins"], *origins))

    def include(self, *tools: Tool) -> None:
        """Serve tools that were made by `Tool` itself, or by another app.

        Raises `DeclarationError` for a name that another tool has.
        """
        for tool in tools:
            if self._tools.setdefault(tool.name, tool) is not tool:
                raise DeclarationError(
                    f"tool {tool.name!r} is declared twice; give one of them another name="
                )

    def agent(
        self,
        name: str,
        *,
        version: str = "1",
        description: str | None = None,
        state: Any = None,
        kind: str = "sayso",
        **options: Unpack[OptionValues],
    ) -> Callable[[AgentFunction], AgentFunction]:
        """Register an async function of one argument, its `Turn`, as `POST /agents/{name}`.

        Open turns keep the version that they began with; old versions may stay registered beside
        the newest. `state` is the shape of its state (a pydantic model, a type, a JSON Schema
        object): edits from outside have to leave one that fits. `kind` is what it is built with, as
        its capabilities tell. `options` go before those of the app.

        Raises `DeclarationError` for a name, function or option that cannot be served.
        """
        if not isinstance(name, str):  # used bare, it would register nothing and say nothing
            raise DeclarationError('an agent has a name in its path: write @app.agent("name")')
        chosen = overridden(self._options, options, name)
        shape = None if state is None else state_type(state)

        def register(function: AgentFunction) -> AgentFunction:
            check_agent(name, function)
            self._agents.add(
                Agent(
                    name=name,
                    version=version,
                    function=function,
                    description=description or getdoc(function) or "",
                    options=chosen,
                    state=shape,
                    kind=kind,
                )
            )
            return function

        return register

    def copilotkit(
        self,
        path: str = "/copilotkit",
        *,
        default: str | None = None,
        refusals: Literal["error", "recover"] = "recover",
        show_expiry: bool = False,
        interrupts: Emission | None = None,
    ) -> None:
        """Serve every agent to CopilotKit: `runtimeUrl` is this server with `path`.

        `default` is the agent that pages get when they name none, unless one is called so; None:
        the only one there is. `refusals` goes before the agents' option: CopilotKit's hook can
        not go on from an error. It cannot answer or cancel a card that is past its `expiresAt`
        either, so questions are shown without one unless `show_expiry`; they expire all the same,
        and an answer that comes too late is refused. `interrupts` goes before the agents' option
        too, for pages of a CopilotKit that knows only the older event. Raises `DeclarationError`
        for a path that something else is served at, or no value of an option.
        """
        manner = replace(MANNER, refusals=refusals, expiry=show_expiry, interrupts=interrupts)
        try:
            Options(refusals=refusals, interrupts=interrupts or "standard")
        except DeclarationError as error:
            raise DeclarationError(f"copilotkit: {error}") from None
        self._mounted.append(
            {
                "path": path,
                "default": default,
                "refusals": refusals,
                "show_expiry": show_expiry,
                "interrupts": interrupts,
            }
        )
        self._edge.mount(
            CopilotKitMount(
                self.engine,
                self._records,
                path=path,
                default=default,
                manner=manner,
                limits=self._limits,
                keep_alive=self._keep_alive,
            )
        )

    def tool(
        self,
        bare: None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        approval: Policy | None = None,
        editable: bool = False,
        idempotent: bool = False,
        timeout: float | None = None,
        verify: Verify | None = None,
        expires_in: float | Default | None = DEFAULT,
        on_expire: OnExpire | Default = DEFAULT,
        effect: Effect = "write",
        scale: Scale | None = None,
        permission: str | None = None,
        complete: bool = False,
        on_error: OnError | None = None,
    ) -> Callable[[Callable[..., Any]], Tool]:
        """Make a function a tool, to be called through `Turn.call`.

        `approval` says which calls a person decides first, the app's `default_approval` unless
        given; `editable` lets that person change the arguments; `idempotent` lets it run again
        after a crash; `timeout` is in seconds; `verify` says after a crash whether it happened. An
        approval stays open for `expires_in` seconds, None for ever, and then `on_expire` says what
        becomes of the call; `approve` runs it. Both are the agent's unless given. Rules may look at
        what a tool declares of itself: its `effect` (`read`, `write`, `irreversible`), its `scale`,
        which is how many things a call touches (the argument that says or holds them, or a function
        of arguments), and the `permission` that its caller needs.

        `complete` asks a person for required arguments that a call leaves out. `on_error="ask"`
        asks what to do about an error: retry, skip, stop; otherwise it is as `tool_errors` of the
        agent says. An `async def` with `yield` streams text: its chunks are shown as an activity,
        its result is all of them. A tool with a parameter of type `Turn` is a part of the turn that
        may ask and record. Raises `DeclarationError` for what cannot work.
        """
        if bare is not None:
            raise DeclarationError("a tool is declared with brackets: write @app.tool()")
        declared: dict[str, Any] = dict(locals())
        del declared["self"], declared["bare"]
        if approval is None:
            declared["approval"] = self._default_approval

        def register(fn: Callable[..., Any]) -> Tool:
            tool = Tool(fn, **declared)
            self.include(tool)
            return tool

        return register
