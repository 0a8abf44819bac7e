"""The CopilotKit runtime protocol: `runtimeUrl` of a `<CopilotKitProvider>` points here.

    REST                                 single endpoint: POST {path}
    GET  {path}/info                     {"method": "info"}
    POST {path}/agent/{a}/run            {"method": "agent/run", "params": {agentId}, "body"}
    POST {path}/agent/{a}/connect        {"method": "agent/connect", "params": {agentId}, "body"}
    POST {path}/agent/{a}/stop/{thread}  {"method": "agent/stop", "params": {agentId, threadId}}
    POST {path}/agent/{a}/suggest        as `agent/run`, which tells it by its one forced tool
    GET  {path}/threads                  asked for as it is there, in both transports

Bodies of runs are `RunAgentInput`, answers are event streams as at `/agents/{a}`. What its hook
cannot continue from is told in another way: see `COPILOTKIT` in `engine.dialect`. Errors are
`{"error", "message", …}`.
"""

from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Final, Literal

from starlette.requests import Request
from starlette.responses import Response

from sayso.agents.registry import Agent, Agents
from sayso.agents.toolset import Tools
from sayso.base.clock import format_time
from sayso.base.codes import Code
from sayso.base.errors import DeclarationError, Problem
from sayso.base.limits import Limits
from sayso.base.options import AgentOptions, Emission, check_emission
from sayso.base.records import ListedThread, Principal
from sayso.engine.dialect import Dialect
from sayso.engine.engine import Engine
from sayso.http.asgi import Exchange, Receive, Scope, Send, behind, path_of
from sayso.http.body import choice, json_response, malformed, page_of, read_json_body
from sayso.http.dialects.agui import deliver, emission_of
from sayso.http.errors import method_not_allowed, write_body
from sayso.http.options import KeepAlive
from sayso.http.rest.agents import capabilities
from sayso.protocol.forward_compat import ReadReport, Shape, anything, identifier, obj, text
from sayso.protocol.runinput import RunInput, parse_json, read_run_input

DEFAULT_ID: Final = "default"
"""The agent that CopilotKit's hooks mean when they name none."""

_VERSION: Final = version("sayso")
_ENVELOPE: Final = Shape({"method": text, "params": obj, "body": anything}, ("method",))
_STOP: Final = Shape({"runId": identifier})
_METHODS: Final = {
    "info": Shape({}),
    "agent/run": Shape({"agentId": identifier}, ("agentId",)),
    "agent/connect": Shape({"agentId": identifier}, ("agentId",)),
    "agent/stop": Shape({"agentId": identifier, "threadId": identifier}, ("agentId", "threadId")),
}
_THREADS: Final = {"list": True, "inspect": False, "mutations": False, "realtimeMetadata": False}


@dataclass(slots=True)
class _RuntimeRequest(Exchange):
    """One request of either transport; `body` is its JSON, or None when it has none.

    `below` is the pointer of `body` in what was sent.
    """

    body: Any = None
    below: str = ""


@dataclass(frozen=True, slots=True)
class CopilotKit:
    """The runtime protocol of CopilotKit: `runtimeUrl` is the server with `path`.

    `default` is the agent that pages get when they name none, unless one has that name; None: the
    only agent there is. `refusals` counts instead of the agents' option: CopilotKit's hook cannot
    continue from an error. It cannot answer or cancel a card that is past its `expiresAt` either,
    so questions are shown without one unless `show_expiry`. They expire all the same, and an answer
    that comes too late is refused. `emission` counts instead of the agents' `Legacy.emission`, for
    pages of a CopilotKit that knows only the older event.

    Raises:
        DeclarationError: for an invalid value.
    """

    path: str = "/copilotkit"
    default: str | None = None
    refusals: Literal["error", "recover"] = "recover"
    show_expiry: bool = False
    emission: Emission | None = None

    def __post_init__(self) -> None:
        try:
            AgentOptions(refusals=self.refusals)
            if self.emission is not None:
                check_emission(self.emission, "emission")
        except DeclarationError as error:
            raise DeclarationError(f"CopilotKit: {error}") from None


class CopilotKitMount:
    """The endpoints below one path."""

    def __init__(
        self,
        engine: Engine,
        agents: Agents,
        tools: Tools,
        *,
        path: str,
        default: str | None,
        dialect: Dialect,
        limits: Limits,
        keep_alive: KeepAlive | None,
    ) -> None:
        """`default` is the agent that pages get as `default`; None: the only one there is."""
        self.path = path
        self._engine = engine
        self._agents = agents
        self._tools = tools
        self._default = default
        self._dialect = dialect
        self._limits = limits
        self._keep_alive = keep_alive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request below the path.

        Raises:
            Problem: it cannot be served.
        """
        call = _RuntimeRequest(scope, receive, send)
        match path_of(scope).removeprefix(self.path).split("/")[1:]:
            case []:
                _allow(scope, "POST")
                await self._single(call)
            case ["info"]:
                _allow(scope, "GET")
                await self._info(call)
            case ["threads"]:
                _allow(scope, "GET")
                await self._list(call)
            case ["agent", agent, "run" | "connect" | "suggest" as action]:
                _allow(scope, "POST")
                body = await read_json_body(scope, receive, self._limits.body)
                await self._run(_with(call, parse_json(body, self._limits)), agent, action)
            case ["agent", agent, "stop", _, *_]:
                _allow(scope, "POST")
                body = await read_json_body(scope, receive, self._limits.body, optional=True)
                value = parse_json(body, self._limits) if body else None
                thread = behind(scope, f"{self.path}/agent/{agent}/stop/")
                await self._stop(_with(call, value), agent, thread)
            case _:
                raise Problem(
                    Code.NOT_FOUND,
                    f"Nothing is served at this path. The runtime answers at {self.path}/info, "
                    f"{self.path}/threads and {self.path}/agent/…, or by POST to {self.path}.",
                )

    async def write_problem(self, problem: Problem, scope: Scope, send: Send) -> None:
        """Answer with a problem as `{"error", "message", "errors"?, …}`."""
        body: dict[str, Any] = {
            **problem.more,
            "error": problem.code.value,
            "message": problem.detail,
        }
        if problem.errors:
            body["errors"] = problem.errors
        await write_body(problem, body, send)

    async def _single(self, call: _RuntimeRequest) -> None:
        """One method in an envelope, by POST to the path itself."""
        body = await read_json_body(call.scope, call.receive, self._limits.body)
        findings = ReadReport()
        envelope = _ENVELOPE.read(parse_json(body, self._limits), (), findings)
        method, params = "", {}
        if not findings.count:
            method = envelope["method"]
            shape = _METHODS.get(method)
            if shape is None:
                raise malformed(f"No method of that name. The methods are {', '.join(_METHODS)}.")
            params = shape.read(envelope.get("params", {}), ("params",), findings)
        if findings.count:
            raise malformed(
                'The body is no {"method", "params", "body"}: correct what `errors` names.',
                findings.errors,
            )
        inner = _with(call, envelope.get("body"), "/body")
        if method == "info":
            await self._info(inner)
        elif method == "agent/stop":
            await self._stop(inner, params["agentId"], params["threadId"])
        else:
            await self._run(inner, params["agentId"], method.removeprefix("agent/"))

    async def _info(self, call: _RuntimeRequest) -> None:
        # What is absent from `threadEndpoints` counts as offered, and what is named in here but
        # unknown to us (intelligence, …) would make the page ask for more.
        value = {
            "version": _VERSION,
            "mode": "sse",
            "agents": {
                name: {
                    "name": name,
                    "description": agent.description,
                    "className": "Sayso",
                    "capabilities": capabilities(agent, self._tools),
                }
                for name, agent in (await self._offered(call.principal)).items()
            },
            "audioFileTranscriptionEnabled": False,
            "suggestions": True,
            "threadEndpoints": _THREADS,
            "telemetryDisabled": True,
        }
        await _reply(call, json_response(value))

    async def _run(self, call: _RuntimeRequest, agent: str, action: str) -> None:
        name = await self._named(agent, call.principal)
        dialect = self._dialect
        if (interrupts := emission_of(call.scope)) is not None:
            dialect = replace(dialect, interrupts=interrupts)
        request = self._read(call)
        engine = self._engine
        enter = {
            "run": engine.requests.run,
            "connect": engine.requests.connect,
            "suggest": engine.requests.suggest,
        }[action]
        reader = await enter(name, request, call.principal, dialect)
        await deliver(
            engine,
            reader,
            call.principal,
            call.receive,
            call.send,
            keep_alive=self._keep_alive,
            began=action == "run",
        )

    def _read(self, call: _RuntimeRequest) -> RunInput:
        try:
            return read_run_input(call.body, self._limits)
        except Problem as problem:
            errors = tuple(
                {**error, "pointer": call.below + error["pointer"]} for error in problem.errors
            )
            raise Problem(problem.code, problem.detail, errors=errors) from None

    async def _stop(self, call: _RuntimeRequest, agent: str, thread: str) -> None:
        """Stop the run, if there is one; no question is withdrawn.

        Pages send this when nothing runs, and by themselves when a developer looks at another
        thread: so it is no error then, and must decide nothing.
        """
        await self._named(agent, call.principal)
        findings = ReadReport()
        members = {} if call.body is None else _STOP.read(call.body, (), findings)
        if findings.count:
            errors = [{**e, "pointer": call.below + e["pointer"]} for e in findings.errors]
            raise malformed('The body is no {"runId"}: correct what `errors` names.', errors)
        try:
            stopped = await self._engine.stop_thread(
                call.principal, thread, members.get("runId"), waiting=False
            )
        except Problem as problem:
            if problem.code is not Code.UNKNOWN_THREAD:
                raise
            stopped = False
        value: dict[str, Any] = {"stopped": stopped}
        if not stopped:
            value["message"] = "Nothing was stopped: this thread has no such run in progress."
        await _reply(call, json_response(value))

    async def _list(self, call: _RuntimeRequest) -> None:
        """The caller's threads, those active last first; none of them is ever archived."""
        request = Request(call.scope)
        query = request.query_params
        choice(request, "includeArchived", ("true", "false"), "false")
        agent_id = query.get("agentId")
        agent = None if agent_id is None else await self._named(agent_id, call.principal)
        page = await page_of(request, self._engine.threads.page, agent=agent)
        who = call.principal
        threads = [_thread(item, agent_id or item.agent, who) for item in page.items]
        await _reply(call, json_response({"threads": threads, "nextCursor": page.next}))

    async def _offered(self, principal: Principal) -> dict[str, Agent]:
        """Agents by the ids that the pages of a caller may use."""
        offered = {
            agent.name: agent
            for agent in self._agents.each_newest()
            if await self._sees(principal, agent.name)
        }
        meant = self._meant_by_default()
        if meant is not None and meant in offered:
            offered.setdefault(DEFAULT_ID, offered[meant])
        return offered

    async def _named(self, agent: str, principal: Principal) -> str:
        """The name of the agent with an id.

        Raises:
            Problem: `unknown_agent`, there is none that this caller may know of.
        """
        name = agent if self._agents.newest(agent) else None
        if name is None and agent == DEFAULT_ID:
            name = self._meant_by_default()
        # Also asked about what there is not: see `Authorization.agent`.
        seen = await self._sees(principal, agent if name is None else name)
        if name is None or not seen:
            raise Problem(
                Code.UNKNOWN_AGENT, f"No agent of that id: GET {self.path}/info lists them."
            )
        return name

    async def _sees(self, principal: Principal, name: str) -> bool:
        return await self._engine.authorization.allows(principal, "see", name)

    def _meant_by_default(self) -> str | None:
        """The name of the agent that pages get when they name none."""
        if self._default is None:
            names = self._agents.names()
            return names[0] if len(names) == 1 else None
        if self._agents.newest(self._default) is None:
            raise Problem(
                Code.INTERNAL_ERROR,
                f"CopilotKit(default={self._default!r}) names no agent that is registered.",
            )
        return self._default


def _with(call: _RuntimeRequest, body: Any, below: str = "") -> _RuntimeRequest:
    return _RuntimeRequest(call.scope, call.receive, call.send, body, below)


def _allow(scope: Scope, method: str) -> None:
    if scope["method"] != method:
        raise method_not_allowed(method)


async def _reply(call: _RuntimeRequest, response: Response) -> None:
    await response(call.scope, call.receive, call.send)


def _thread(thread: ListedThread, agent: str, owner: Principal) -> dict[str, Any]:
    return {
        "id": thread.id,
        "name": None,
        "agentId": agent,
        "organizationId": owner.scope,
        "createdById": owner.subject,
        "archived": False,
        "createdAt": format_time(thread.created_at),
        "updatedAt": format_time(thread.active_at),
    }
