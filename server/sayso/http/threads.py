"""Threads over HTTP: listed, shown, inspected, stopped, deleted."""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol, cast, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso.engine.threads import Threads
from sayso.gate.history import visible
from sayso.http.rest import answer, body_of, choice, items, limit_of, listed, principal_of, refuse
from sayso.http.views import history_view, state_view, summary_view, thread_view
from sayso.limits import Limits
from sayso.protocol.forward_compat import Shape, identifier
from sayso.records import Principal, TurnStatus

__all__ = ["ThreadPaths"]

_STATUSES: Final = (*get_args(TurnStatus), "all")
_STOP: Final = Shape({"runId": identifier})


class _Stops(Protocol):
    async def __call__(
        self, principal: Principal, thread_id: str, run_id: str | None = None, /
    ) -> bool:
        """Stop what a thread is doing."""


class ThreadPaths:
    """The routes over an engine's threads; `stop` is how it stops one."""

    def __init__(self, threads: Threads, stop: _Stops, limits: Limits) -> None:
        self._threads = threads
        self._stop = stop
        self._limits = limits

    def routes(self) -> list[Route]:
        """For a Starlette router. A thread's id may hold slashes."""

        def route(path: str, serve: Callable[[Request], Awaitable[Response]], method: str) -> Route:
            return Route(path, serve, methods=[method])

        return [
            route("/threads", self._list, "GET"),
            route("/threads/{thread:path}/state", self._state, "GET"),
            route("/threads/{thread:path}/history", self._history, "GET"),
            route("/threads/{thread:path}/stop", self._stopped, "POST"),
            route("/threads/{thread:path}", self._one, "GET"),
            route("/threads/{thread:path}", self._delete, "DELETE"),
        ]

    async def _list(self, request: Request) -> Response:
        status = choice(request, "status", _STATUSES, "all")
        query = request.query_params
        try:
            page = await self._threads.page(
                principal_of(request),
                status=None if status == "all" else cast(TurnStatus, status),
                agent=query.get("agent"),
                after=query.get("cursor"),
                limit=limit_of(request),
            )
        except ValueError as error:
            raise refuse(f"The cursor does not fit this list: {error}") from None
        return answer(items(page, summary_view))

    async def _one(self, request: Request) -> Response:
        view = await self._threads.view(principal_of(request), request.path_params["thread"])
        return answer(thread_view(view))

    async def _state(self, request: Request) -> Response:
        thread = request.path_params["thread"]
        standing = await self._threads.standing(principal_of(request), thread)
        return answer(state_view(standing.view, standing.journal))

    async def _history(self, request: Request) -> Response:
        try:
            past = await self._threads.past(
                principal_of(request),
                request.path_params["thread"],
                after=request.query_params.get("cursor"),
                limit=limit_of(request),
            )
        except ValueError as error:
            raise refuse(f"The cursor does not fit this list: {error}") from None
        bodies = visible(past.view.messages)
        shown = history_view(past.view, bodies, past.runs.items, past.interrupts)
        return answer(listed(shown, past.runs.next))

    async def _stopped(self, request: Request) -> Response:
        members = await body_of(request, _STOP.read, self._limits, optional=True)
        stopped = await self._stop(
            principal_of(request), request.path_params["thread"], members.get("runId")
        )
        return answer({"stopped": stopped})

    async def _delete(self, request: Request) -> Response:
        await self._threads.delete(principal_of(request), request.path_params["thread"])
        return Response(status_code=204)
