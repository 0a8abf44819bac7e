"""The CopilotKit runtime protocol: `runtimeUrl` of a `<CopilotKitProvider>` points here.

    REST                                 single endpoint: POST {path}
    GET  {path}/info                     {"method": "info"}
    POST {path}/agent/{a}/run            {"method": "agent/run", "params": {agentId}, "body"}
    POST {path}/agent/{a}/connect        {"method": "agent/connect", "params": {agentId}, "body"}
    POST {path}/agent/{a}/stop/{thread}  {"method": "agent/stop", "params": {agentId, threadId}}
    GET  {path}/threads                  asked for as it is there, in both transports

Bodies of runs are `RunAgentInput`, answers are event streams as at `/agents/{a}`. What its hook
cannot go on from is told in another way: see `MANNER`. Errors are `{"error", "message", …}`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Final, Protocol

import orjson
from starlette.requests import Request
from starlette.responses import Response

from sayso.clock import iso
from sayso.errors import Code, Problem
from sayso.http.agents import AgentRecord, capabilities
from sayso.http.asgi import PRINCIPAL, Receive, Scope, Send, path_of
from sayso.http.body import read_json_body
from sayso.http.problems import error_fields, method_not_allowed
from sayso.http.rest import answer, choice, limit_of, refuse
from sayso.http.runs import Engine, deliver, emission_of
from sayso.keepalive import KeepAlive
from sayso.limits import Limits
from sayso.protocol.forward_compat import Findings, Shape, anything, identifier, obj, text
from sayso.protocol.peers import Manner
from sayso.protocol.runinput import RunInput, parse_json, read_run_input
from sayso.records import Page, Principal, ThreadSummary

__all__ = ["DEFAULT_ID", "MANNER", "CopilotKitMount", "RuntimeEngine"]

DEFAULT_ID: Final = "default"
"""The agent that CopilotKit's hooks mean when they name none."""

MANNER: Final = Manner(channel="copilotkit", refusals="recover", expiry=False, lets_go=False)
"""How its hook wants to be answered. After a RUN_ERROR on an answer it neither shows a card nor
takes a message until the page is loaded anew (CK-07, TR-03), and a card that has expired by the
page's own clock can be neither answered nor cancelled (CK-06)."""

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


class _Threads(Protocol):
    async def page(
        self, principal: Principal, *, agent: str | None, after: str | None, limit: int
    ) -> Page[ThreadSummary]:
        """A page of the caller's threads; ValueError for a cursor of no list."""


class RuntimeEngine(Engine, Protocol):
    """What this mount needs of the engine."""

    @property
    def threads(self) -> _Threads:
        """The callers' threads."""

    async def stop_thread(
        self, principal: Principal, thread_id: str, run_id: str | None = None, /, *, waiting: bool
    ) -> bool:
        """Stop what a thread is doing; False if that is nothing, or another run."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One request of either transport; `body` is its JSON, or None when it has none.

    `below` is the pointer of `body` in what was sent.
    """

    scope: Scope
    receive: Receive
    send: Send
    body: Any = None
    below: str = ""

    @property
    def principal(self) -> Principal:
        who: Principal = self.scope[PRINCIPAL]
        return who


class CopilotKitMount:
    """All that lies below one path."""

    def __init__(
        self,
        engine: RuntimeEngine,
        agents: Mapping[str, AgentRecord],
        *,
        path: str,
        default: str | None,
        manner: Manner,
        limits: Limits,
        keep_alive: KeepAlive | None,
    ) -> None:
        """`default` is the agent that pages get as `default`; None: the only one there is."""
        self.path = path
        self._engine = engine
        self._agents = agents
        self._default = default
        self._manner = manner
        self._limits = limits
        self._keep_alive = keep_alive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request below the path; raises Problem."""
        call = _Call(scope, receive, send)
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
            case ["agent", agent, "run" | "connect" as action]:
                _allow(scope, "POST")
                body = await read_json_body(scope, receive, self._limits.body)
                await self._run(_with(call, parse_json(body, self._limits)), agent, action)
            case ["agent", agent, "stop", *thread] if thread:
                _allow(scope, "POST")
                body = await read_json_body(scope, receive, self._limits.body, optional=True)
                value = parse_json(body, self._limits) if body else None
                await self._stop(_with(call, value), agent, "/".join(thread))
            case _:
                raise Problem(
                    Code.NOT_FOUND,
                    f"Nothing is served at this path. The runtime answers at {self.path}/info, "
                    f"{self.path}/threads and {self.path}/agent/…, or by POST to {self.path}.",
                )

    async def say(self, problem: Problem, scope: Scope, send: Send) -> None:
        """Answer with a problem as `{"error", "message", "errors"?, …}`."""
        body = {**problem.more, "error": problem.code.value, "message": problem.detail}
        if problem.errors:
            body["errors"] = problem.errors
        data = orjson.dumps(body)
        fields = error_fields(problem, b"application/json", data)
        await send({"type": "http.response.start", "status": problem.status, "headers": fields})
        await send({"type": "http.response.body", "body": data, "more_body": False})

    async def _single(self, call: _Call) -> None:
        """One method in an envelope, by POST to the path itself."""
        body = await read_json_body(call.scope, call.receive, self._limits.body)
        findings = Findings()
        envelope = _ENVELOPE.read(parse_json(body, self._limits), (), findings)
        method, params = "", {}
        if not findings.count:
            method = envelope["method"]
            shape = _METHODS.get(method)
            if shape is None:
                raise refuse(f"No method of that name. The methods are {', '.join(_METHODS)}.")
            params = shape.read(envelope.get("params", {}), ("params",), findings)
        if findings.count:
            raise refuse(
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

    async def _info(self, call: _Call) -> None:
        # What is absent from `threadEndpoints` counts as offered, and what is named in here but
        # unknown to us (suggestions, intelligence, …) would make the page ask for more.
        value = {
            "version": _VERSION,
            "mode": "sse",
            "agents": {
                name: {
                    "name": name,
                    "description": agent.description,
                    "className": "Sayso",
                    "capabilities": capabilities(agent),
                }
                for name, agent in self._offered().items()
            },
            "audioFileTranscriptionEnabled": False,
            "threadEndpoints": _THREADS,
            "telemetryDisabled": True,
        }
        await _reply(call, answer(value))

    async def _run(self, call: _Call, agent: str, action: str) -> None:
        name = self._named(agent)
        manner = self._manner
        if (interrupts := emission_of(call.scope)) is not None:
            manner = replace(manner, interrupts=interrupts)
        request = self._read(call)
        engine = self._engine
        enter = engine.connect if action == "connect" else engine.run
        reader = await enter(name, request, call.principal, manner)
        await deliver(
            engine, reader, call.principal, call.receive, call.send, keep_alive=self._keep_alive
        )

    def _read(self, call: _Call) -> RunInput:
        try:
            return read_run_input(call.body, self._limits)
        except Problem as problem:
            errors = tuple(
                {**error, "pointer": call.below + error["pointer"]} for error in problem.errors
            )
            raise Problem(problem.code, problem.detail, errors=errors) from None

    async def _stop(self, call: _Call, agent: str, thread: str) -> None:
        """Stop what runs, if anything does; no question is withdrawn.

        Pages send this when nothing runs, and by themselves when a developer looks at another
        thread: so it is no error then, and must decide nothing.
        """
        self._named(agent)
        findings = Findings()
        members = {} if call.body is None else _STOP.read(call.body, (), findings)
        if findings.count:
            errors = [{**e, "pointer": call.below + e["pointer"]} for e in findings.errors]
            raise refuse('The body is no {"runId"}: correct what `errors` names.', errors)
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
            value["message"] = "Nothing was stopped: no such run is going on in this thread."
        await _reply(call, answer(value))

    async def _list(self, call: _Call) -> None:
        """The caller's threads, those active last first; none of them is ever archived."""
        request = Request(call.scope)
        query = request.query_params
        choice(request, "includeArchived", ("true", "false"), "false")
        asked = query.get("agentId")
        try:
            page = await self._engine.threads.page(
                call.principal,
                agent=None if asked is None else self._named(asked),
                after=query.get("cursor"),
                limit=limit_of(request),
            )
        except ValueError as error:
            raise refuse(f"The cursor does not fit this list: {error}") from None
        who = call.principal
        threads = [_thread(one, asked or one.agent, who) for one in page.items]
        await _reply(call, answer({"threads": threads, "nextCursor": page.next}))

    def _offered(self) -> dict[str, AgentRecord]:
        """Agents by the ids that pages may use."""
        offered = dict(self._agents)
        meant = self._meant_by_default()
        if meant is not None:
            offered.setdefault(DEFAULT_ID, offered[meant])
        return offered

    def _named(self, agent: str) -> str:
        """The name of the agent with an id; Problem `unknown_agent`."""
        name = agent if agent in self._agents else None
        if name is None and agent == DEFAULT_ID:
            name = self._meant_by_default()
        if name is None:
            raise Problem(
                Code.UNKNOWN_AGENT, f"No agent of that id: GET {self.path}/info lists them."
            )
        return name

    def _meant_by_default(self) -> str | None:
        """The name of the agent that pages get when they name none."""
        if self._default is None:
            return next(iter(self._agents)) if len(self._agents) == 1 else None
        if self._default not in self._agents:
            raise Problem(
                Code.INTERNAL_ERROR,
                f"copilotkit(default={self._default!r}) names no agent that is registered.",
            )
        return self._default


def _with(call: _Call, body: Any, below: str = "") -> _Call:
    return _Call(call.scope, call.receive, call.send, body, below)


def _allow(scope: Scope, method: str) -> None:
    if scope["method"] != method:
        raise method_not_allowed(method)


async def _reply(call: _Call, response: Response) -> None:
    await response(call.scope, call.receive, call.send)


def _thread(thread: ThreadSummary, agent: str, owner: Principal) -> dict[str, Any]:
    return {
        "id": thread.id,
        "name": None,
        "agentId": agent,
        "organizationId": owner.scope,
        "createdById": owner.subject,
        "archived": False,
        "createdAt": iso(thread.created_at),
        "updatedAt": iso(thread.active_at),
    }
