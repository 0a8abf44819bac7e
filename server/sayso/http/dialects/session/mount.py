"""The routes of the session dialect, and its words for what is refused."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from sayso.agents.registry import Agents
from sayso.base import ids
from sayso.base.codes import Code
from sayso.base.errors import Problem, StoreError
from sayso.base.limits import Limits
from sayso.base.options import check_lifetime
from sayso.base.records import Principal
from sayso.engine.dialect import Dialect
from sayso.engine.engine import Engine
from sayso.engine.instrumented import log_refused
from sayso.engine.sessions import AskedQuestion
from sayso.gate.sessions import accepted_answers, payload_of
from sayso.http.asgi import Receive, Scope, Send, path_of
from sayso.http.body import malformed, read_json_body
from sayso.http.dialects.session.frames import SessionBody, error_frame
from sayso.http.dialects.session.requests import (
    SessionRequest,
    fields_of,
    id_in,
    is_session,
    member_in,
    read_chat,
    read_resume,
    session_of,
)
from sayso.http.errors import method_not_allowed, problem_for, write_body
from sayso.http.options import KeepAlive
from sayso.http.sse import ending, respond
from sayso.protocol.runinput import RunInput, parse_json, read_run_input

_log = logging.getLogger("sayso.http")

Json = dict[str, Any]

_NOT_FOUND: Final = (Code.UNKNOWN_THREAD, Code.UNKNOWN_INTERRUPT, Code.INTERRUPT_EXPIRED)
_NOTE_TIMEOUT_S: Final = 5.0
"""Seconds that a resume waits for the note of a delivery that is under way."""


def _worded(problem: Problem, *, resumes: bool) -> tuple[str, Problem]:
    """A problem's `detail` in the words of this dialect, and the problem with its status there."""
    if resumes and problem.code in _NOT_FOUND:
        return "checkpoint not found", _as(problem, Code.UNKNOWN_INTERRUPT)
    if resumes and problem.code in (Code.ALREADY_RESOLVED, Code.THREAD_BUSY):
        # A thread that waited when it was read and runs by now was resumed by somebody.
        return "already resumed", problem
    if problem.code is Code.UNKNOWN_THREAD:
        return "session not found", problem
    return problem.detail, problem


def _invalid_answer(problem: Problem, takes: str) -> Problem:
    """An answer that does not fit, told to somebody who sent one string, not all answers."""
    detail = (
        f"This answer does not fit: the question takes {takes}. Nothing was taken; send another."
    )
    return Problem(problem.code, detail, errors=problem.errors, more=problem.more)


def _as(problem: Problem, code: Code) -> Problem:
    """The problem under the status of another code; its own one stays readable."""
    return Problem(
        code,
        problem.detail,
        errors=problem.errors,
        more={**problem.more, "code": problem.code.value},
    )


async def _write(detail: str, problem: Problem, session_id: str | None, send: Send) -> None:
    """Answer with a problem about a session, if there is one."""
    body: Json = {
        "code": problem.code.value,
        **problem.more,
        "detail": detail,
        "message": problem.detail,
    }
    if problem.errors:
        body["errors"] = [_at_answer(error) for error in problem.errors]
    await write_body(problem, body, send, fields=fields_of(session_id))


def _at_answer(error: Mapping[str, str]) -> dict[str, str]:
    """The error with its pointer into what the client sent, where a payload is the `answer`."""
    pointer = error["pointer"]
    for prefix in ("/resume/0/payload", "/payload"):
        if pointer.startswith(prefix):
            pointer = "/answer" + pointer.removeprefix(prefix)
            break
    return {**error, "pointer": pointer}


@dataclass(frozen=True, slots=True)
class Sessions:
    """The session dialect: each agent behind three plain requests below `path`.

    An app that mounts none serves it at `/api/v1/chat`, unless something else is served there.
    `Sessions(None)` serves it nowhere.
    `ttl` is how many seconds its questions stay open; None: as the agent says.

    Raises:
        DeclarationError: for a `ttl` that is not seconds above zero.
    """

    path: str | None = "/api/v1/chat"
    ttl: float | None = None

    def __post_init__(self) -> None:
        check_lifetime(self.ttl, "ttl of Sessions")


class SessionMount:
    """The routes at and below one path."""

    def __init__(
        self,
        engine: Engine,
        agents: Agents,
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
        self._dialect = Dialect(
            channel="session",
            refusals="problem",
            interrupts="standard",
            accumulate=True,
            refuse_repeats=True,
            expires_in=expires_in,
        )
        self._sending: dict[tuple[str, str, str], asyncio.Future[None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request at or below the path."""
        below = path_of(scope).removeprefix(self.path)
        call = SessionRequest(scope, receive, send, resumes=below == "/resume")
        try:
            call.session_id = id_in(scope)
            await self._route(call, below)
        except (Problem, StoreError) as error:
            problem = problem_for(error)
            self._engine.health.metrics.refusals.add(problem.code.value)
            await self._refuse(problem, call)

    async def write_problem(self, problem: Problem, scope: Scope, send: Send) -> None:
        """Answer with a problem that came up before the body was read: who it is, no store."""
        await _write(problem.detail, problem, id_in(scope), send)

    async def _route(self, call: SessionRequest, below: str) -> None:
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

    async def _chat(self, call: SessionRequest) -> None:
        call.session_id = call.session_id or str(uuid4())
        members = await self._members(call, read_chat)
        session = session_of(call, members)
        agent = members.get("agent") or await self._agent_of(call, session)
        said = {"id": ids.new("msg"), "role": "user", "content": members["message"]}
        request = self._request(session, messages=[said])
        try:
            reader = await self._engine.requests.run(agent, request, call.principal, self._dialect)
        except Problem as problem:
            if problem.code is not Code.INTERRUPTS_PENDING:
                raise
            # The question again: this client has no other way back to it.
            pending = {"code": problem.code.value, "message": problem.detail}
            reader = await self._engine.requests.connect(
                agent, request, call.principal, self._dialect
            )
            body = SessionBody(reader, session, problem=pending)
        else:
            body = SessionBody(reader, session, pieces=members.get("stream", False))
        await self._send(call, body)

    async def _show(self, call: SessionRequest) -> None:
        """The whole session, its open question, and what is said from now on if it runs."""
        named = member_in(call.scope)
        if named is not None and not is_session(named):
            raise malformed(
                "The parameter `session_id` must have 1 to 512 characters of visible ASCII.",
                [{"pointer": "/session_id", "message": "is no session"}],
            )
        session = session_of(call, {"session_id": named})
        agent = await self._engine.sessions.agent(call.principal, session)
        if agent is None:
            raise Problem(Code.UNKNOWN_THREAD, "There is no such session.")
        reader = await self._engine.requests.connect(
            agent, self._request(session), call.principal, self._dialect
        )
        await self._send(call, SessionBody(reader, session, history=True))

    async def _resume(self, call: SessionRequest) -> None:
        members = await self._members(call, read_resume)
        session = session_of(call, members)
        question = await self._asked(call, session, members.get("interrupt_id"))
        if members.get("interrupt_id") is None and not question.seen:
            # What was not seen was not answered: it is asked, and nothing is taken.
            request = self._request(session)
            reader = await self._engine.requests.connect(
                question.agent, request, call.principal, self._dialect
            )
        else:
            entry: Json = {"interruptId": question.item.id, "status": members["status"]}
            if "shown" in members:
                entry["metadata"] = {"sayso": {"shown": members["shown"]}}
            if members["status"] == "resolved":
                entry["payload"] = payload_of(members["answer"], question.item)
            request = self._request(session, resume=[entry])
            try:
                reader = await self._engine.requests.run(
                    question.agent, request, call.principal, self._dialect
                )
            except Problem as problem:
                if problem.code is Code.THREAD_BUSY:
                    # It waited when it was read: what became of the question says more.
                    await self._asked(call, session, question.item.id)
                if problem.code is not Code.INVALID_PAYLOAD:
                    raise
                raise _invalid_answer(problem, accepted_answers(question.item)) from None
        await self._send(call, SessionBody(reader, session, pieces=members.get("stream", False)))

    async def _asked(
        self, call: SessionRequest, session: str, interrupt_id: str | None
    ) -> AskedQuestion:
        """Find the question of a resume; a delivery of it that is just being noted is waited for.

        Not by a request that came before the frame went out: it was sent by somebody who had not
        read it, twice perhaps, and must not answer what it never saw.
        """
        who = call.principal
        question = await self._engine.sessions.asked(who, session, interrupt_id, call.came)
        if interrupt_id is not None or question.seen:
            return question
        sending = self._sending.get((who.scope, session, question.item.id))
        if sending is None:
            return question
        await asyncio.wait((sending,), timeout=_NOTE_TIMEOUT_S)
        return await self._engine.sessions.asked(who, session, None, call.came)

    async def _agent_of(self, call: SessionRequest, session: str) -> str:
        """The agent that the session talks to already, or the only one there is."""
        agent = await self._engine.sessions.agent(call.principal, session)
        allows = self._engine.authorization.allows
        names = [n for n in self._agents.names() if await allows(call.principal, "see", n)]
        if agent is None and len(names) == 1:
            (agent,) = names
        if agent is None:
            raise malformed(
                "Several agents are served: name one as `agent`. GET /agents lists them.",
                [{"pointer": "/agent", "message": "is required"}],
            )
        return agent

    async def _members(
        self, call: SessionRequest, read: Callable[[Any], tuple[dict[str, Any], list[str]]]
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
        body = {"threadId": session, "runId": ids.new("run"), "messages": [], **members}
        body["protocolVersion"] = "1.0"  # whose endings say more
        return read_run_input(body, self._limits)

    async def _send(self, call: SessionRequest, body: SessionBody) -> None:
        session, who = call.session_id or "", call.principal
        noted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        keys: list[tuple[str, str, str]] = []
        seen_at = 0

        def asked(interrupt_id: str) -> None:
            nonlocal seen_at
            seen_at = time.time_ns()
            key = (who.scope, session, interrupt_id)
            self._sending[key] = noted
            keys.append(key)

        body.on_asked = asked
        try:
            await respond(
                body,
                call.receive,
                call.send,
                keep_alive=self._keep_alive,
                farewell=error_frame,
                fields=fields_of(call.session_id),
                ends=ending(self._engine.sign_ins, who, began=call.scope["method"] == "POST"),
            )
            if body.delivered:
                await self._note(body, session, who, seen_at)
        finally:
            noted.set_result(None)
            for key in keys:
                if self._sending.get(key) is noted:
                    del self._sending[key]

    async def _note(self, body: SessionBody, session: str, who: Principal, seen_at: int) -> None:
        """Keep what went out whole. Without the notes it is sent again, which is safe."""
        try:
            if body.asked is not None:
                await self._engine.sessions.note_seen(who, session, body.asked, seen_at)
            await self._engine.requests.delivered(body.reader, who)
        except StoreError as error:
            _log.warning("a delivery of session %r was not noted: %s", session, error)

    async def _refuse(self, problem: Problem, call: SessionRequest) -> None:
        detail, problem = _worded(problem, resumes=call.resumes)
        log_refused(call.session_id or "", call.principal.subject, problem.code)
        await _write(detail, problem, call.session_id, call.send)
