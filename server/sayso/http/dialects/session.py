"""The session dialect: an agent behind three plain requests (design 5).

    POST {path}         {"message", "session_id"?, "agent"?, "stream"?}     begins a turn
    POST {path}/resume  {"session_id", "answer", "interrupt_id"?, "stream"?}   answers a question
                        {"session_id", "status": "cancelled", …}            withdraws it
    GET  {path}?session_id=…                                                the session as it stands

Answers are event streams of these frames, one of the last three at the end; the session's id is in
`X-Session-Id`. A message whose id came before stands for the same message.

    {"type": "message", "message_id", "role", "content"}     a whole message
    {"type": "message", "message_id", "role", "delta"}       a piece of one, for those who ask
    {"type": "tool_call", "tool_call_id", "name", "args"}
    {"type": "tool_output", "tool_call_id", "name", "delta"}  of a running tool, likewise
    {"type": "tool_result", "tool_call_id", "content"}
    {"type": "interrupt", "interrupt_id", "reason", "prompt", "schema"?, "tool_call_id"?,
     "expires_at"?, "metadata"?, "remaining", "problem"?}    the first open question
    {"type": "error", "code"?, "message"}
    {"type": "done", "session_id", "result"?}

Errors are `{"detail", "code", "message", "errors"?}`. A session is a thread: what is opened here
can be answered in any other dialect, and the other way round.
"""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl
from uuid import uuid4

from sayso.agents.registry import Agents
from sayso.base import ids, jsonvalue
from sayso.base.codes import Code
from sayso.base.errors import Problem, StoreError
from sayso.base.limits import Limits
from sayso.base.options import check_lifetime
from sayso.base.records import Principal
from sayso.engine.dialect import Dialect
from sayso.engine.engine import Engine
from sayso.engine.instrumented import log_refused
from sayso.engine.threads import AskedQuestion
from sayso.gate.sessions import accepted_answers, payload_of
from sayso.http.asgi import Exchange, Receive, Scope, Send, header, path_of
from sayso.http.body import malformed, read_json_body
from sayso.http.errors import method_not_allowed, problem_for, write_body
from sayso.http.options import KeepAlive
from sayso.http.sse import respond, seconds_left
from sayso.protocol.forward_compat import Path, ReadReport, Shape, anything, flag, identifier, text
from sayso.protocol.frames import object_frame
from sayso.protocol.runinput import RunInput, parse_json, read_run_input
from sayso.streams.reader import Reader
from sayso.turns.calls.streaming import OUTPUT

_log = logging.getLogger("sayso.http")

Json = dict[str, Any]

_HEADER: Final = b"x-session-id"
_ID: Final = re.compile(r"(?!\.{1,2}\Z)[\x21-\x7e]{1,512}")
_NOT_FOUND: Final = (Code.UNKNOWN_THREAD, Code.UNKNOWN_INTERRUPT, Code.INTERRUPT_EXPIRED)
_NOTE_TIMEOUT_S: Final = 5.0
"""Seconds that a resume waits for the note of a delivery that is under way."""


def _is_session(value: Any) -> bool:
    """True if a value can be a session's id, which has to fit into a header and into a path."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _session(value: Any, path: Path, report: ReadReport) -> Any:
    if _is_session(value):
        return value
    return report.error(
        path, "must have 1 to 512 characters of visible ASCII, and be no '.' or '..'"
    )


def _yes_or_no(value: Any, path: Path, report: ReadReport) -> Any:
    return value if type(value) is bool else report.error(path, "must be true or false")


_CHAT: Final = Shape(
    {"message": text, "session_id": _session, "agent": identifier, "stream": _yes_or_no},
    ("message",),
)
_RESUME: Final = Shape(
    {
        "session_id": _session,
        "answer": anything,
        "status": flag("resolved", "cancelled"),
        "interrupt_id": identifier,
        "stream": _yes_or_no,
    }
)


def _read_chat(value: Any) -> tuple[Json, list[str]]:
    """Read the members of a message, and warnings about those left out.

    Raises:
        Problem: `invalid_input`.
    """
    report = ReadReport()
    members: Json = _CHAT.read(value, (), report)
    return _checked(members, report), report.warnings


def _read_resume(value: Any) -> tuple[Json, list[str]]:
    """Read the members of an answer, and warnings about those left out.

    `status` is always there, and so is `answer`, null included, unless the question is cancelled.

    Raises:
        Problem: `invalid_input`.
    """
    report = ReadReport()
    members: Json = _RESUME.read(value, (), report)
    if isinstance(value, dict) and isinstance(members, dict):
        members = {"status": "resolved", **members}
        if members["status"] == "cancelled":
            if "answer" in members:
                report.error(("answer",), "is not taken beside a cancellation: leave it out")
        elif "answer" not in value:
            report.error(("answer",), "is required, unless `status` is 'cancelled'")
        else:
            # Absent and null are two things here: null is an answer.
            members["answer"] = value["answer"]
    return _checked(members, report), report.warnings


def _checked(members: Json, report: ReadReport) -> Json:
    if report.count:
        raise malformed("The request does not fit: correct what `errors` names.", report.errors)
    return members


def _id_in(scope: Scope) -> str | None:
    """The session that a request names by its header, or else by its query."""
    named = header(scope, _HEADER) or _member_in(scope)
    return named if _is_session(named) else None


def _member_in(scope: Scope) -> str | None:
    """The value of `session_id` in the query, valid or not."""
    query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
    return query.get("session_id")


def _fields_of(session_id: str | None) -> list[tuple[bytes, bytes]]:
    """The header that every answer about a session has."""
    return [] if session_id is None else [(_HEADER, session_id.encode("ascii"))]


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
    await write_body(problem, body, send, fields=_fields_of(session_id))


def _at_answer(error: Mapping[str, str]) -> dict[str, str]:
    """The error with its pointer into what the client sent, where a payload is the `answer`."""
    pointer = error["pointer"]
    for prefix in ("/resume/0/payload", "/payload"):
        if pointer.startswith(prefix):
            pointer = "/answer" + pointer.removeprefix(prefix)
            break
    return {**error, "pointer": pointer}


def _error_frame(code: str, message: str) -> bytes:
    """The end of a body that failed."""
    return object_frame({"type": "error", "code": code, "message": message})


class SessionBody:
    """The body of an answer: the events of a run's reader, in the words of this dialect.

    `history`: the first snapshot is told as well, user messages included. `pieces`: messages are
    told piece by piece too, and what tools say while they run. `problem` goes with the question,
    whose id is `asked` once the body has ended with one. For the rest see `sse.FrameSource`.
    """

    def __init__(
        self,
        reader: Reader,
        session_id: str,
        *,
        history: bool = False,
        pieces: bool = False,
        problem: Json | None = None,
    ) -> None:
        self.reader = reader
        self.ended: bool = False
        self.complete: bool = False
        self.delivered = False
        self.asked: str | None = None
        self.on_asked: Callable[[str], None] = lambda _: None  # told before the frame goes out
        self._ready = b""
        self._woken = False
        self._session_id = session_id
        self._history = history
        self._pieces = pieces
        self._problem = problem
        self._known: set[tuple[str, str]] = set()
        self._snapshots = 0
        self._texts: dict[str, tuple[str, list[str]]] = {}
        self._calls: dict[str, tuple[str, list[str]]] = {}
        self._outputs: dict[str, Json] = {}

    async def readable(self) -> None:
        """Wait for something to tell: most events of a run say nothing to a session."""
        self._woken = False
        while not (self._ready or self._woken or self.reader.ended):
            await self.reader.readable()
            self._ready += self._read()

    def drain(self) -> bytes:
        """All frames that are ready now."""
        ready = self._ready + self._read()
        self._ready = b""
        self.ended, self.complete = self.reader.ended, self.reader.complete
        return ready

    def wake(self) -> None:
        """End the waiting, although nothing is ready."""
        self._woken = True
        self.reader.wake()

    def detach(self) -> None:
        """The body is over; idempotent."""
        self.reader.detach()
        self.ended = True

    def _read(self) -> bytes:
        frames = [
            object_frame(frame)
            for event in self.reader.drain_events()
            for frame in self._event(event)
        ]
        return b"".join(frames)

    def _event(self, event: Json) -> Iterator[Json]:
        match event["type"]:
            case "TEXT_MESSAGE_START":
                self._texts[event["messageId"]] = (event["role"], [])
            case "TEXT_MESSAGE_CONTENT":
                yield from self._piece(event["messageId"], event["delta"])
            case "TEXT_MESSAGE_END":
                role, parts = self._texts.pop(event["messageId"])
                self._known.add(("message", event["messageId"]))
                yield _message(event["messageId"], role, "".join(parts))
            case "TOOL_CALL_START":
                self._calls[event["toolCallId"]] = (event["toolCallName"], [])
            case "TOOL_CALL_ARGS":
                self._calls[event["toolCallId"]][1].append(event["delta"])
            case "TOOL_CALL_END":
                name, parts = self._calls.pop(event["toolCallId"])
                yield from self._call(event["toolCallId"], name, "".join(parts))
            case "TOOL_CALL_RESULT":
                yield from self._result(event["messageId"], event["toolCallId"], event["content"])
            case "ACTIVITY_SNAPSHOT" | "ACTIVITY_DELTA":
                yield from self._activity(event)
            case "MESSAGES_SNAPSHOT":
                yield from self._snapshot(event["messages"])
            case "RUN_FINISHED":
                yield self._end(event)
            case "RUN_ERROR":
                yield _failure(event)

    def _piece(self, message_id: str, delta: str) -> Iterator[Json]:
        role, parts = self._texts[message_id]
        parts.append(delta)
        if self._pieces:
            yield {"type": "message", "message_id": message_id, "role": role, "delta": delta}

    def _call(self, call_id: str, name: str, arguments: str) -> Iterator[Json]:
        if self._is_new("call", call_id):
            yield {
                "type": "tool_call",
                "tool_call_id": call_id,
                "name": name,
                "args": _arguments(arguments),
            }

    def _result(self, message_id: str, call_id: str, content: Any) -> Iterator[Json]:
        if self._is_new("message", message_id):
            yield {"type": "tool_result", "tool_call_id": call_id, "content": content}

    def _activity(self, event: Json) -> Iterator[Json]:
        if event["activityType"] != OUTPUT:
            return
        if "content" in event:
            yield from self._output(event["messageId"], event["content"])
        else:
            for change in event["patch"]:
                yield from self._said(event["messageId"], change["value"])

    def _output(self, message_id: str, content: Json) -> Iterator[Json]:
        """Tell the output of a tool that begins to speak, or continues where this body begins."""
        continues = message_id in self._outputs
        self._outputs[message_id] = content
        if not continues:
            yield from self._said(message_id, "".join(content["chunks"]))

    def _said(self, message_id: str, delta: str) -> Iterator[Json]:
        content = self._outputs[message_id]
        if self._pieces:
            yield {
                "type": "tool_output",
                "tool_call_id": content["toolCallId"],
                "name": content["tool"],
                "delta": delta,
            }

    def _snapshot(self, messages: list[Json]) -> Iterator[Json]:
        """Tell what is new in a snapshot; the first one is where this body begins."""
        self._snapshots += 1
        shows = self._history or self._snapshots > 1
        over = {message["toolCallId"] for message in messages if message["role"] == "tool"}
        for message in messages:
            if message.get("activityType") == OUTPUT:
                if message["content"]["toolCallId"] not in over:
                    yield from self._output(message["id"], message["content"])
                continue
            for value in self._shown(message):
                if shows and (value.get("role") != "user" or self._history):
                    yield value

    def _shown(self, message: Json) -> Iterator[Json]:
        if message["role"] == "tool":
            yield from self._result(message["id"], message["toolCallId"], message["content"])
        elif message["role"] in ("assistant", "user"):
            content = message.get("content")
            if self._is_new("message", message["id"]) and content:
                yield _message(message["id"], message["role"], content)
            for call in message.get("toolCalls", ()):
                function = call["function"]
                yield from self._call(call["id"], function["name"], function["arguments"])

    def _is_new(self, kind: str, identifier: str) -> bool:
        new = (kind, identifier) not in self._known
        self._known.add((kind, identifier))
        return new

    def _end(self, event: Json) -> Json:
        interrupts = event.get("outcome", {}).get("interrupts")
        if interrupts:
            return self._interrupt(interrupts[0], len(interrupts) - 1)
        ours = event.get("metadata", {}).get("sayso", {})
        if event.get("outcome", {}).get("type") == "cancelled":
            return _failure({"code": Code.ABORT.value, "message": ours["message"]})
        if "problem" in ours:  # of the last run, which a look finds at the end of the session
            return _failure(ours["problem"])
        done = {"type": "done", "session_id": self._session_id}
        return done | ({"result": event["result"]} if "result" in event else {})

    def _interrupt(self, interrupt: Json, remaining: int) -> Json:
        self.asked = interrupt["id"]
        self.on_asked(interrupt["id"])
        return _without_none(
            {
                "type": "interrupt",
                "interrupt_id": interrupt["id"],
                "reason": interrupt["reason"],
                "prompt": interrupt.get("message", ""),
                "schema": interrupt.get("responseSchema"),
                "tool_call_id": interrupt.get("toolCallId"),
                "expires_at": interrupt.get("expiresAt"),
                "metadata": interrupt.get("metadata"),
                "remaining": remaining,
                "problem": self._problem,
            }
        )


def _failure(of: Json) -> Json:
    return _without_none({"type": "error", "code": of.get("code"), "message": of["message"]})


def _message(message_id: str, role: str, content: Any) -> Json:
    return {"type": "message", "message_id": message_id, "role": role, "content": content}


def _arguments(text: str) -> Any:
    """The arguments of a call; as text if they are no JSON, which only a client's own can be."""
    try:
        return jsonvalue.decode(text.encode())
    except ValueError:
        return text


def _without_none(value: Json) -> Json:
    return {name: member for name, member in value.items() if member is not None}


@dataclass(slots=True)
class _SessionRequest(Exchange):
    """One request; `session_id` is known once it was read, or made."""

    resumes: bool
    session_id: str | None = None
    came: int = field(default_factory=time.time_ns)
    """The time at which it came in, in nanoseconds since the epoch."""


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
        call = _SessionRequest(scope, receive, send, resumes=below == "/resume")
        try:
            call.session_id = _id_in(scope)
            await self._route(call, below)
        except (Problem, StoreError) as error:
            problem = problem_for(error)
            self._engine.health.metrics.refusals.add(problem.code.value)
            await self._refuse(problem, call)

    async def write_problem(self, problem: Problem, scope: Scope, send: Send) -> None:
        """Answer with a problem that came up before the body was read: who it is, no store."""
        await _write(problem.detail, problem, _id_in(scope), send)

    async def _route(self, call: _SessionRequest, below: str) -> None:
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

    async def _chat(self, call: _SessionRequest) -> None:
        call.session_id = call.session_id or str(uuid4())
        members = await self._members(call, _read_chat)
        session = _session_of(call, members)
        agent = members.get("agent") or await self._agent_of(call, session)
        said = {"id": ids.new("msg"), "role": "user", "content": members["message"]}
        request = self._request(session, messages=[said])
        try:
            reader = await self._engine.run(agent, request, call.principal, self._dialect)
        except Problem as problem:
            if problem.code is not Code.INTERRUPTS_PENDING:
                raise
            # The question again: this client has no other way back to it.
            pending = {"code": problem.code.value, "message": problem.detail}
            reader = await self._engine.connect(agent, request, call.principal, self._dialect)
            body = SessionBody(reader, session, problem=pending)
        else:
            body = SessionBody(reader, session, pieces=members.get("stream", False))
        await self._send(call, body)

    async def _show(self, call: _SessionRequest) -> None:
        """The whole session, its open question, and what is said from now on if it runs."""
        named = _member_in(call.scope)
        if named is not None and not _is_session(named):
            raise malformed(
                "The parameter `session_id` must have 1 to 512 characters of visible ASCII.",
                [{"pointer": "/session_id", "message": "is no session"}],
            )
        session = _session_of(call, {"session_id": named})
        agent = await self._engine.sessions.agent(call.principal, session)
        if agent is None:
            raise Problem(Code.UNKNOWN_THREAD, "There is no such session.")
        reader = await self._engine.connect(
            agent, self._request(session), call.principal, self._dialect
        )
        await self._send(call, SessionBody(reader, session, history=True))

    async def _resume(self, call: _SessionRequest) -> None:
        members = await self._members(call, _read_resume)
        session = _session_of(call, members)
        question = await self._asked(call, session, members.get("interrupt_id"))
        if members.get("interrupt_id") is None and not question.seen:
            # What was not seen was not answered: it is asked, and nothing is taken.
            request = self._request(session)
            reader = await self._engine.connect(
                question.agent, request, call.principal, self._dialect
            )
        else:
            entry = {"interruptId": question.item.id, "status": members["status"]}
            if members["status"] == "resolved":
                entry["payload"] = payload_of(members["answer"], question.item)
            request = self._request(session, resume=[entry])
            try:
                reader = await self._engine.run(
                    question.agent, request, call.principal, self._dialect
                )
            except Problem as problem:
                if problem.code is not Code.INVALID_PAYLOAD:
                    raise
                raise _invalid_answer(problem, accepted_answers(question.item)) from None
        await self._send(call, SessionBody(reader, session, pieces=members.get("stream", False)))

    async def _asked(
        self, call: _SessionRequest, session: str, interrupt_id: str | None
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

    async def _agent_of(self, call: _SessionRequest, session: str) -> str:
        """The agent that the session talks to already, or the only one there is."""
        agent = await self._engine.sessions.agent(call.principal, session)
        names = self._agents.names()
        if agent is None and len(names) == 1:
            (agent,) = names
        if agent is None:
            raise malformed(
                "Several agents are served: name one as `agent`. GET /agents lists them.",
                [{"pointer": "/agent", "message": "is required"}],
            )
        return agent

    async def _members(
        self, call: _SessionRequest, read: Callable[[Any], tuple[dict[str, Any], list[str]]]
    ) -> dict[str, Any]:
        body = await read_json_body(call.scope, call.receive, self._limits.body)
        value = parse_json(body, self._limits)
        if isinstance(value, dict) and _is_session(value.get("session_id")):
            call.session_id = value["session_id"]
        members, warnings = read(value)
        for warning in warnings:
            _log.warning("%s: %s", self.path, warning)
        return members

    def _request(self, session: str, **members: Any) -> RunInput:
        body = {"threadId": session, "runId": ids.new("run"), "messages": [], **members}
        body["protocolVersion"] = "1.0"  # whose endings say more
        return read_run_input(body, self._limits)

    async def _send(self, call: _SessionRequest, body: SessionBody) -> None:
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
                farewell=_error_frame,
                fields=_fields_of(call.session_id),
                seconds=seconds_left(who, began=call.scope["method"] == "POST"),
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
            await self._engine.delivered(body.reader, who)
        except StoreError as error:
            _log.warning("a delivery of session %r was not noted: %s", session, error)

    async def _refuse(self, problem: Problem, call: _SessionRequest) -> None:
        detail, problem = _worded(problem, resumes=call.resumes)
        log_refused(call.session_id or "", call.principal.subject, problem.code)
        await _write(detail, problem, call.session_id, call.send)


def _session_of(call: _SessionRequest, members: Mapping[str, Any]) -> str:
    """The session of a request, by member or by header."""
    session = members.get("session_id") or call.session_id
    if session is None:
        raise malformed(
            "No session is named: send its id as `session_id`.",
            [{"pointer": "/session_id", "message": "is required"}],
        )
    call.session_id = session
    return str(session)
