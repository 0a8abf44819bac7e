"""The inbox over HTTP: interrupts listed, answered one by one or together, extended, assigned."""

from collections.abc import Awaitable, Callable
from math import isfinite
from typing import Any, Final, cast, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso.clock import LONGEST, moment
from sayso.engine.desk import Answered, Desk, ThreadAnswered
from sayso.engine.inbox import Inbox
from sayso.errors import Problem
from sayso.http.inbox_stream import InboxStream
from sayso.http.problems import problem_body
from sayso.http.rest import answer, body_of, choice, items, limit_of, principal_of, refuse
from sayso.http.views import listed_view
from sayso.keepalive import KeepAlive
from sayso.limits import Limits
from sayso.protocol.forward_compat import DROPPED, Findings, Path, Shape, anything, flag, obj
from sayso.protocol.runinput import RESUME_ENTRY, read_entry
from sayso.records import InterruptStatus

__all__ = ["InterruptPaths"]

_STATUSES: Final = (*get_args(InterruptStatus), "all")
_LONGEST_NAME: Final = 256


def _entries(value: Any, path: Path, findings: Findings) -> Any:
    """One entry at least; each is checked, and none is left out."""
    if type(value) is not list or not value:
        return findings.error(path, "must be a list with at least one answer")
    read = [RESUME_ENTRY.read(item, (*path, at), findings) for at, item in enumerate(value)]
    return [item for item in read if item is not DROPPED]


def _time(value: Any, path: Path, findings: Findings) -> Any:
    try:
        return moment(value)
    except (TypeError, ValueError, OverflowError):
        return findings.error(path, "must be a time with an offset, as in 2030-01-31T12:00:00Z")


def _seconds(value: Any, path: Path, findings: Findings) -> Any:
    number = type(value) in (int, float) and isfinite(value)
    if number and 0 < value <= LONGEST:
        return value
    return findings.error(path, f"must be a number above 0, at most {LONGEST}")


def _assignee(value: Any, path: Path, findings: Findings) -> Any:
    if type(value) is str and 0 < len(value) <= _LONGEST_NAME and "\0" not in value:
        return value
    return findings.error(path, f"must be a name of 1 to {_LONGEST_NAME} characters, or null")


def _assignment(value: Any, path: Path, findings: Findings) -> Any:
    """`{"to"}`, where null takes the assignment back; it is never read out of an absence."""
    if type(value) is dict and value.get("to", "") is None:
        return {"to": None}
    return _ASSIGN.read(value, path, findings)


_ANSWER: Final = Shape(
    {"status": flag("resolved", "cancelled"), "payload": anything, "metadata": obj}, ("status",)
)
_ANSWERS: Final = Shape({"answers": _entries}, ("answers",))
_EXTEND: Final = Shape({"expiresAt": _time, "seconds": _seconds})
_ASSIGN: Final = Shape({"to": _assignee}, ("to",))


class InterruptPaths:
    """The routes over an engine's inbox and its desk."""

    def __init__(
        self, inbox: Inbox, desk: Desk, limits: Limits, *, keep_alive: KeepAlive | None
    ) -> None:
        self._inbox = inbox
        self._desk = desk
        self._limits = limits
        self._stream = InboxStream(inbox, keep_alive=keep_alive)

    def routes(self) -> list[Route]:
        """For a Starlette router."""

        def route(path: str, serve: Callable[[Request], Awaitable[Response]], method: str) -> Route:
            return Route(path, serve, methods=[method])

        return [
            route("/interrupts", self._list, "GET"),
            Route("/interrupts/stream", self._stream, methods=["GET"]),
            route("/interrupts/answers", self._answer_all, "POST"),
            route("/interrupts/{interrupt}", self._one, "GET"),
            route("/interrupts/{interrupt}/answer", self._answer, "POST"),
            route("/interrupts/{interrupt}/answer", self._withdraw, "DELETE"),
            route("/interrupts/{interrupt}/extend", self._extend, "POST"),
            route("/interrupts/{interrupt}/assign", self._assign, "POST"),
        ]

    async def _list(self, request: Request) -> Response:
        status = choice(request, "status", _STATUSES, "open")
        query = request.query_params
        try:
            page = await self._inbox.interrupts(
                principal_of(request),
                status=None if status == "all" else cast(InterruptStatus, status),
                agent=query.get("agent"),
                reason=query.get("reason"),
                thread_id=query.get("threadId"),
                assigned_to=query.get("assignedTo"),
                after=query.get("cursor"),
                limit=limit_of(request),
            )
        except ValueError as error:
            raise refuse(f"The cursor does not fit this list: {error}") from None
        return answer(items(page, listed_view))

    async def _one(self, request: Request) -> Response:
        listed = await self._inbox.interrupt(
            principal_of(request), request.path_params["interrupt"]
        )
        return answer(listed_view(listed))

    async def _answer(self, request: Request) -> Response:
        members = await body_of(request, _ANSWER.read, self._limits)
        entry = read_entry({**members, "interruptId": request.path_params["interrupt"]})
        answered = await self._desk.answer(principal_of(request), entry)
        return answer(_outcome(answered), _status(answered))

    async def _answer_all(self, request: Request) -> Response:
        members = await body_of(request, _ANSWERS.read, self._limits)
        taken = await self._desk.answer_all(
            principal_of(request), [read_entry(entry) for entry in members["answers"]]
        )
        if len(taken) == 1:
            only = taken[0].outcome
            if isinstance(only, Problem):
                raise only
            return answer(_outcome(only), _status(only))
        status = max(_status(one.outcome) for one in taken)
        return answer({"items": [_of_thread(one) for one in taken]}, status)

    async def _withdraw(self, request: Request) -> Response:
        remaining = await self._desk.withdraw(
            principal_of(request), request.path_params["interrupt"]
        )
        return answer({"remaining": remaining})

    async def _extend(self, request: Request) -> Response:
        members = await body_of(request, _EXTEND.read, self._limits)
        if len(members) != 1:
            raise refuse('Send either {"expiresAt"} or {"seconds"}.')
        listed = await self._desk.extend(
            principal_of(request),
            request.path_params["interrupt"],
            until=members.get("expiresAt"),
            seconds=members.get("seconds"),
        )
        return answer(listed_view(listed))

    async def _assign(self, request: Request) -> Response:
        members = await body_of(request, _assignment, self._limits)
        listed = await self._desk.assign(
            principal_of(request), request.path_params["interrupt"], members["to"]
        )
        return answer(listed_view(listed))


def _outcome(answered: Answered) -> dict[str, Any]:
    if answered.remaining:
        return {"remaining": answered.remaining}
    return {} if answered.run_id is None else {"runId": answered.run_id}


def _status(outcome: Answered | Problem) -> int:
    """200 when all is settled, 202 while the set waits for others, 207 beside a refusal."""
    if isinstance(outcome, Problem):
        return 207
    return 202 if outcome.remaining else 200


def _of_thread(one: ThreadAnswered) -> dict[str, Any]:
    if isinstance(one.outcome, Problem):
        return {"threadId": one.thread_id, "problem": problem_body(one.outcome)}
    return {"threadId": one.thread_id, **_outcome(one.outcome)}
