"""The session dialect: an agent behind three plain requests (design 5).

    POST {path}         {"message", "session_id"?, "agent"?, "stream"?}     begins a turn
    POST {path}/resume  {"session_id", "answer", "interrupt_id"?, "stream"?}   answers a question
                        {"session_id", "status": "cancelled", …}            withdraws it
    GET  {path}?session_id=…                                                the session as it stands

Answers are event streams (`session_frames`), the session's id is in `X-Session-Id`; errors are
`{"detail", "code", "message", "errors"?}`. A session is a thread: what is opened here can be
answered in any other dialect, and the other way round.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from uuid import uuid4

from sayso.engine.sessions import Asked, Sessions
from sayso.errors import Code, Problem, StoreError
from sayso.gate.sessions import payload_of, taken_as
from sayso.http.agents import AgentRecord
from sayso.http.asgi import PRINCIPAL, Receive, Scope, Send, path_of
from sayso.http.body import read_json_body
from sayso.http.operations import Health
from sayso.http.problems import method_not_allowed, problem_for
from sayso.http.rest import refuse
from sayso.http.runs import Engine
from sayso.http.session_frames import Translator, error_frame
from sayso.http.session_source import SessionSource
from sayso.http.session_words import (
    fields_of,
    id_in,
    is_session,
    member_in,
    misfit,
    read_chat,
    read_resume,
    say,
    told_of,
)
from sayso.http.sse import respond
from sayso.keepalive import KeepAlive
from sayso.limits import Limits
from sayso.protocol.peers import Manner
from sayso.protocol.runinput import RunInput, parse_json, read_run_input
from sayso.records import Principal

__all__ = ["SessionEngine", "SessionMount"]

_log = logging.getLogger("sayso.http")

_NOTING: Final = 5.0
"""Seconds that a resume waits for the note of a delivery that is under way."""


class SessionEngine(Engine, Protocol):
    """What this mount needs of the engine."""

    @property
    def sessions(self) -> Sessions:
        """Threads as sessions."""

    @property
    def health(self) -> Health:
        """What is counted."""


@dataclass(slots=True)
class _Call:
    """One request; `session_id` is known once it was read, or made."""

    scope: Scope
    receive: Receive
    send: Send
    resumes: bool
    session_id: str | None = None
    came: int = field(default_factory=time.time_ns)
    """When it came in, in nanoseconds since the epoch."""

    @property
    def principal(self) -> Principal:
        who: Principal = self.scope[PRINCIPAL]
        return who


class SessionMount:
    """The routes at and below one path."""

    def __init__(
        self,
        engine: SessionEngine,
        agents: Mapping[str, AgentRecord],
        *,
        path: str,
        expires_in: float | None,
        limits: Limits,
        keep_alive: KeepAlive | None,
    ) -> None:
        """`expires_in`: seconds that a question of a session stays open, unless its agent says."""
        self.path = path
        self._engine = engine
        self._agents = agents
        self._limits = limits
        self._keep_alive = keep_alive
        self._manner = Manner(
            channel="session",
            refusals="problem",
            interrupts="standard",
            one_by_one=True,
            once=True,
            expires_in=expires_in,
        )
        self._sending: dict[tuple[str, str, str], asyncio.Future[None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request at or below the path."""
        below = path_of(scope).removeprefix(self.path)
        call = _Call(scope, receive, send, resumes=below == "/resume")
        try:
            call.session_id = id_in(scope)
            await self._route(call, below)
        except (Problem, StoreError) as error:
            problem = problem_for(error)
            self._engine.health.metrics.refusals.add(problem.code.value)
            await self._refuse(problem, call)

    async def say(self, problem: Problem, scope: Scope, send: Send) -> None:
        """Answer with a problem that came up before the body was read: who it is, no store."""
        await say(problem.detail, problem, id_in(scope), send)

    async def _route(self, call: _Call, below: str) -> None:
        match call.scope["method"], below:
            case "POST", "":
                await self._chat(call)
            case "GET", "":
                await self._show(call)
            case "POST", "/resume":
                await self._resume(call)
            case _, "":
                raise method_not_allowed("GET", "POST")
            case _, "/resume":
                raise method_not_allowed("POST")
            case _:
                raise Problem(
                    Code.NOT_FOUND,
                    f"Nothing is served at this path: POST to {self.path} or {self.path}/resume.",
                )

    async def _chat(self, call: _Call) -> None:
        call.session_id = call.session_id or str(uuid4())
        members = await self._members(call, read_chat)
        session = _named(call, members)
        agent = members.get("agent") or await self._agent_of(call, session)
        if agent not in self._agents:
            raise Problem(
                Code.UNKNOWN_AGENT, "No agent of that name is served. GET /agents lists them."
            )
        said = {"id": f"msg_{uuid4().hex}", "role": "user", "content": members["message"]}
        request = self._request(session, messages=[said])
        translator = Translator(session, pieces=members.get("stream", False))
        try:
            reader = await self._engine.run(agent, request, call.principal, self._manner)
        except Problem as problem:
            if problem.code is not Code.INTERRUPTS_PENDING:
                raise
            # The question again: this client has no other way back to it.
            told = {"code": problem.code.value, "message": problem.detail}
            translator = Translator(session, problem=told)
            reader = await self._engine.connect(agent, request, call.principal, self._manner)
        await self._send(call, SessionSource(reader, translator))

    async def _show(self, call: _Call) -> None:
        """The whole session, its open question, and what is said from now on if it runs."""
        named = member_in(call.scope)
        if named is not None and not is_session(named):
            raise refuse(
                "The parameter `session_id` must have 1 to 512 characters of visible ASCII.",
                [{"pointer": "/session_id", "message": "is no session"}],
            )
        session = _named(call, {"session_id": named})
        agent = await self._engine.sessions.agent(call.principal, session)
        if agent is None:
            raise Problem(Code.UNKNOWN_THREAD, "There is no such session.")
        reader = await self._engine.connect(
            agent, self._request(session), call.principal, self._manner
        )
        await self._send(call, SessionSource(reader, Translator(session, history=True)))

    async def _resume(self, call: _Call) -> None:
        members = await self._members(call, read_resume)
        session = _named(call, members)
        asked = await self._asked(call, session, members.get("interrupt_id"))
        translator = Translator(session, pieces=members.get("stream", False))
        if members.get("interrupt_id") is None and not asked.seen:
            # What was not seen was not answered: it is asked, and nothing is taken.
            request = self._request(session)
            reader = await self._engine.connect(asked.agent, request, call.principal, self._manner)
        else:
            entry = {"interruptId": asked.item.id, "status": members["status"]}
            if members["status"] == "resolved":
                entry["payload"] = payload_of(members["answer"], asked.item)
            request = self._request(session, resume=[entry])
            try:
                reader = await self._engine.run(asked.agent, request, call.principal, self._manner)
            except Problem as problem:
                if problem.code is not Code.INVALID_PAYLOAD:
                    raise
                raise misfit(problem, taken_as(asked.item)) from None
        await self._send(call, SessionSource(reader, translator))

    async def _asked(self, call: _Call, session: str, interrupt_id: str | None) -> Asked:
        """What a resume is about; a delivery of it that is just being noted is waited for.

        Not by a request that came before the frame went out: it was sent by somebody who had not
        read it, twice perhaps, and must not answer what it never saw.
        """
        who = call.principal
        asked = await self._engine.sessions.asked(who, session, interrupt_id, call.came)
        if interrupt_id is not None or asked.seen:
            return asked
        sending = self._sending.get((who.scope, session, asked.item.id))
        if sending is None:
            return asked
        await asyncio.wait((sending,), timeout=_NOTING)
        return await self._engine.sessions.asked(who, session, None, call.came)

    async def _agent_of(self, call: _Call, session: str) -> str:
        """The agent that the session talks to already, or the only one there is."""
        agent = await self._engine.sessions.agent(call.principal, session)
        if agent is None and len(self._agents) == 1:
            agent = next(iter(self._agents))
        if agent is None:
            raise refuse(
                "Several agents are served: name one as `agent`. GET /agents lists them.",
                [{"pointer": "/agent", "message": "is required"}],
            )
        return agent

    async def _members(
        self, call: _Call, read: Callable[[Any], tuple[dict[str, Any], list[str]]]
    ) -> dict[str, Any]:
        body = await read_json_body(call.scope, call.receive, self._limits.body)
        value = parse_json(body, self._limits)
        if isinstance(value, dict) and is_session(value.get("session_id")):
            call.session_id = value["session_id"]
        members, warnings = read(value)
        for warning in warnings:
            _log.warning("%s: %s", self.path, warning)
        return members

    def _request(self, session: str, **members: Any) -> RunInput:
        body = {"threadId": session, "runId": f"run-{uuid4().hex}", "messages": [], **members}
        return read_run_input(body, self._limits)

    async def _send(self, call: _Call, source: SessionSource) -> None:
        session, who = call.session_id or "", call.principal
        noted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        keys: list[tuple[str, str, str]] = []
        at = 0

        def asked(interrupt_id: str) -> None:
            nonlocal at
            at = time.time_ns()
            key = (who.scope, session, interrupt_id)
            self._sending[key] = noted
            keys.append(key)

        source.translator.on_asked = asked
        try:
            await respond(
                source,
                call.receive,
                call.send,
                keep_alive=self._keep_alive,
                farewell=error_frame,
                fields=fields_of(call.session_id),
            )
            if source.delivered:
                await self._note(source, session, who, at)
        finally:
            noted.set_result(None)
            for key in keys:
                if self._sending.get(key) is noted:
                    del self._sending[key]

    async def _note(self, source: SessionSource, session: str, who: Principal, at: int) -> None:
        """Keep what went out whole. Without the notes it is sent again, which is safe."""
        try:
            if source.translator.asked is not None:
                await self._engine.sessions.note_seen(who, session, source.translator.asked, at)
            await self._engine.delivered(source.reader, who)
        except StoreError as error:
            _log.warning("a delivery of session %r was not noted: %s", session, error)

    async def _refuse(self, problem: Problem, call: _Call) -> None:
        detail, problem = told_of(problem, resumes=call.resumes)
        if call.resumes:
            _log.info("session %r: %s (%s)", call.session_id, detail, problem.detail)
        await say(detail, problem, call.session_id, call.send)


def _named(call: _Call, members: Mapping[str, Any]) -> str:
    """The session of a request, by member or by header."""
    session = members.get("session_id") or call.session_id
    if session is None:
        raise refuse(
            "No session is named: send its id as `session_id`.",
            [{"pointer": "/session_id", "message": "is required"}],
        )
    call.session_id = session
    return str(session)
