"""The inbox over HTTP: interrupts listed, answered one by one or together, extended, assigned.

`GET /interrupts/stream`: what changes in the caller's inbox, as server-sent events.

`{"type": "connected"}` comes first: what a client lists from then on is never older than what it
is told. Then `opened`, `held`, `withdrawn` (what was held, or that one of several agreed),
`settled`, `expired`, `extended`, `assigned`, `reminded`, `lapsed`, `agreed` (one of several who
have to), `result` (the call that was decided runs, or has ended), each with the interrupt as it
stands; `deleted` with a thread that is gone; `reload` when changes are missing and lists must be
read again; `closed` before the end of the body.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from math import isfinite
from typing import Any, Final, cast, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso.base.clock import MAX_WAIT_S, format_time, parse_time
from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.base.limits import Limits
from sayso.base.records import InterruptStatus, ListedInterrupt, Principal
from sayso.engine.answers import Answered, AnswerService, ThreadAnswered
from sayso.engine.context import Contexts
from sayso.engine.inbox import Inbox, InboxEvent, InboxSubscription
from sayso.engine.quotas import Quotas
from sayso.engine.sign_ins import SignIns
from sayso.gate.rights import waits_for
from sayso.http.asgi import PRINCIPAL, Receive, Scope, Send
from sayso.http.body import (
    body_of,
    choice,
    items,
    json_response,
    malformed,
    page_of,
    principal_of,
)
from sayso.http.errors import problem_body
from sayso.http.options import KeepAlive
from sayso.http.sse import ending, respond
from sayso.http.views import listed_view
from sayso.protocol.forward_compat import DROPPED, Check, Path, ReadReport, Shape, text
from sayso.protocol.frames import object_frame
from sayso.protocol.runinput import answer_check, check_metadata, read_entry, read_resume_entry

_STATUSES: Final = (*get_args(InterruptStatus), "all")
_MAX_NAME_CHARS: Final = 256


def _sized(check: Check, limits: Limits) -> Check:
    """A check of an answer that also looks how long its metadata is."""

    def checked(value: Any, path: Path, findings: ReadReport) -> Any:
        check_metadata(value, path, limits, findings)
        return check(value, path, findings)

    return checked


def _entries(limits: Limits) -> Check:
    """One entry at least; each is checked, and none is left out."""
    check = _sized(read_resume_entry, limits)

    def checked(value: Any, path: Path, findings: ReadReport) -> Any:
        if type(value) is not list or not value:
            return findings.error(path, "must be a list with at least one answer")
        if len(value) > limits.answers:
            message = f"has {len(value)} answers; send at most {limits.answers} in one request"
            return findings.error(path, message)
        read = [check(item, (*path, index), findings) for index, item in enumerate(value)]
        return [item for item in read if item is not DROPPED]

    return checked


def _time(value: Any, path: Path, findings: ReadReport) -> Any:
    try:
        return parse_time(value)
    except (TypeError, ValueError, OverflowError):
        return findings.error(path, "must be a time with an offset, as in 2030-01-31T12:00:00Z")


def _seconds(value: Any, path: Path, findings: ReadReport) -> Any:
    number = type(value) in (int, float) and isfinite(value)
    if number and 0 < value <= MAX_WAIT_S:
        return value
    return findings.error(path, f"must be a number above 0, at most {MAX_WAIT_S}")


def _assignee(value: Any, path: Path, findings: ReadReport) -> Any:
    if type(value) is str and 0 < len(value) <= _MAX_NAME_CHARS and "\0" not in value:
        return value
    return findings.error(path, f"must be a name of 1 to {_MAX_NAME_CHARS} characters, or null")


def _assignment(value: Any, path: Path, findings: ReadReport) -> Any:
    """`{"to"}`, where null takes the assignment back; it is never read out of an absence."""
    if type(value) is dict and value.get("to", "") is None:
        return {"to": None}
    return _ASSIGN.read(value, path, findings)


_EXTEND: Final = Shape({"expiresAt": _time, "seconds": _seconds})
_ASSIGN: Final = Shape({"to": _assignee}, ("to",))
_REVEAL: Final = Shape({"pointer": text}, ("pointer",))


class InterruptRoutes:
    """The routes over an engine's inbox and its answers."""

    def __init__(
        self,
        inbox: Inbox,
        answers: AnswerService,
        contexts: Contexts,
        quotas: Quotas,
        sign_ins: SignIns,
        limits: Limits,
        *,
        keep_alive: KeepAlive | None,
    ) -> None:
        self._inbox = inbox
        self._contexts = contexts
        self._service = answers
        self._limits = limits
        self._one_answer = _sized(answer_check(), limits)
        self._answers = Shape({"answers": _entries(limits)}, ("answers",))
        self._stream = InboxStream(inbox, quotas, sign_ins, keep_alive=keep_alive)

    def routes(self) -> list[Route]:
        """For a Starlette router."""

        def route(path: str, serve: Callable[[Request], Awaitable[Response]], method: str) -> Route:
            return Route(path, serve, methods=[method])

        return [
            route("/interrupts", self._list, "GET"),
            Route("/interrupts/stream", self._stream, methods=["GET"]),
            route("/interrupts/answers", self._answer_all, "POST"),
            route("/interrupts/{interrupt}", self._one, "GET"),
            route("/interrupts/{interrupt}/context", self._context, "GET"),
            route("/interrupts/{interrupt}/answer", self._answer, "POST"),
            route("/interrupts/{interrupt}/answer", self._withdraw, "DELETE"),
            route("/interrupts/{interrupt}/extend", self._extend, "POST"),
            route("/interrupts/{interrupt}/assign", self._assign, "POST"),
            route("/interrupts/{interrupt}/reveal", self._reveal, "POST"),
        ]

    async def _list(self, request: Request) -> Response:
        status = choice(request, "status", _STATUSES, "open")
        query = request.query_params
        page = await page_of(
            request,
            self._inbox.interrupts,
            status=None if status == "all" else cast(InterruptStatus, status),
            agent=query.get("agent"),
            reason=query.get("reason"),
            thread_id=query.get("threadId"),
            assigned_to=query.get("assignedTo"),
        )
        return json_response(items(page, partial(self._view, principal_of(request))))

    def _view(self, reader: Principal, listed: ListedInterrupt) -> dict[str, Any]:
        return listed_view(listed, reader, self._inbox.now())

    async def _one(self, request: Request) -> Response:
        listed = await self._service.interrupt(
            principal_of(request), request.path_params["interrupt"]
        )
        return json_response(self._view(principal_of(request), listed))

    async def _context(self, request: Request) -> Response:
        principal = principal_of(request)
        return json_response(await self._contexts.of(principal, request.path_params["interrupt"]))

    async def _answer(self, request: Request) -> Response:
        members = await body_of(request, self._one_answer, self._limits)
        entry = read_entry({**members, "interruptId": request.path_params["interrupt"]})
        answered = await self._service.answer(principal_of(request), entry)
        return json_response(_outcome(answered, principal_of(request)), _status(answered))

    async def _answer_all(self, request: Request) -> Response:
        members = await body_of(request, self._answers.read, self._limits)
        taken = await self._service.answer_all(
            principal_of(request), [read_entry(entry) for entry in members["answers"]]
        )
        if len(taken) == 1:
            only = taken[0].outcome
            if isinstance(only, Problem):
                raise only
            return json_response(_outcome(only, principal_of(request)), _status(only))
        status = max(_status(item.outcome) for item in taken)
        return json_response(
            {"items": [_of_thread(item, principal_of(request)) for item in taken]}, status
        )

    async def _withdraw(self, request: Request) -> Response:
        remaining = await self._service.withdraw(
            principal_of(request), request.path_params["interrupt"]
        )
        return json_response({"remaining": remaining})

    async def _extend(self, request: Request) -> Response:
        members = await body_of(request, _EXTEND.read, self._limits)
        if len(members) != 1:
            raise malformed('Send either {"expiresAt"} or {"seconds"}.')
        listed = await self._service.extend(
            principal_of(request),
            request.path_params["interrupt"],
            until=members.get("expiresAt"),
            seconds=members.get("seconds"),
        )
        return json_response(self._view(principal_of(request), listed))

    async def _assign(self, request: Request) -> Response:
        members = await body_of(request, _assignment, self._limits)
        listed = await self._service.assign(
            principal_of(request), request.path_params["interrupt"], members["to"]
        )
        return json_response(self._view(principal_of(request), listed))

    async def _reveal(self, request: Request) -> Response:
        members = await body_of(request, _REVEAL.read, self._limits)
        value = await self._service.reveal(
            principal_of(request), request.path_params["interrupt"], members["pointer"]
        )
        return json_response({"value": value})


def _outcome(answered: Answered, reader: Principal) -> dict[str, Any]:
    if not answered.remaining:
        return {} if answered.run_id is None else {"runId": answered.run_id}
    view: dict[str, Any] = {"remaining": answered.remaining}
    if answered.counted is not None:
        view["waitsFor"] = waits_for(answered.counted, reader)
    if answered.dropped:
        view["withdrawn"] = list(answered.dropped)
    return view


def _status(outcome: Answered | Problem) -> int:
    """200 when all is settled, 202 while the set waits for others, 207 beside a refusal."""
    if isinstance(outcome, Problem):
        return 207
    return 202 if outcome.remaining else 200


def _of_thread(item: ThreadAnswered, reader: Principal) -> dict[str, Any]:
    if isinstance(item.outcome, Problem):
        return {"threadId": item.thread_id, "problem": problem_body(item.outcome)}
    return {"threadId": item.thread_id, **_outcome(item.outcome, reader)}


_GOING: Final = "This server is shutting down: connect again."


def _closed(code: str, message: str) -> bytes:
    return object_frame({"type": "closed", "code": code, "message": message})


def _event(notice: InboxEvent, reader: Principal, now: int) -> dict[str, Any]:
    if notice.kind == "gap":
        return {"type": "reload"}
    event: dict[str, Any] = {"type": notice.kind, "threadId": notice.thread_id}
    if notice.at is not None:
        event["at"] = format_time(notice.at)
    if notice.interrupt is not None:
        item = notice.interrupt.interrupt
        if notice.kind == "settled" and item.status == "expired":
            event["type"] = "expired"
        event |= {"interruptId": item.id, "interrupt": listed_view(notice.interrupt, reader, now)}
    return event


class InboxStream:
    """The endpoint, a bare ASGI app."""

    def __init__(
        self, inbox: Inbox, quotas: Quotas, sign_ins: SignIns, *, keep_alive: KeepAlive | None
    ) -> None:
        self._inbox = inbox
        self._quotas = quotas
        self._sign_ins = sign_ins
        self._keep_alive = keep_alive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one listener until it goes or the server ends."""
        frames = _Frames(self._inbox)
        principal = scope[PRINCIPAL]
        with self._quotas.stream(principal):
            await frames.begin(principal)
            await respond(
                frames,
                receive,
                send,
                keep_alive=self._keep_alive,
                farewell=_closed,
                ends=ending(self._sign_ins, principal, began=False),
            )


class _Frames:
    """A listener's notices as frames."""

    def __init__(self, inbox: Inbox) -> None:
        self.ended = False
        self.complete = False
        self.delivered = False
        self._inbox = inbox
        self._listener: InboxSubscription | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._first = object_frame({"type": "connected"})

    async def begin(self, principal: Principal) -> None:
        """Follow from now on."""
        self._listener = await self._inbox.listen(principal, self.wake)
        self.wake()

    def readable(self) -> asyncio.Future[None]:
        """Done when there is something to drain, at the end, and by a `wake`."""
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        listener = self._listener
        if self._first or listener is None or listener.ready:
            waiter.set_result(None)
        return waiter

    def drain(self) -> bytes:
        """Frames that are ready now."""
        data, self._first = self._first, b""
        if self._listener is not None:
            reader, now = self._listener.principal, self._inbox.now()
            data += b"".join(
                object_frame(_event(event, reader, now)) for event in self._listener.take()
            )
            if self._listener.ended and not self._listener.has_more and not self.ended:
                self.ended = True
                data += _closed(Code.SHUTTING_DOWN.value, _GOING)
        return data

    def wake(self) -> None:
        """End the waiting."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def detach(self) -> None:
        """Stop following; idempotent."""
        if self._listener is not None:
            self._inbox.leave(self._listener)
            self._listener = None
        self.ended = True
        self.wake()
