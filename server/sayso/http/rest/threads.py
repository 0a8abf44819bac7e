"""Threads over HTTP: listed, shown, inspected, stopped, deleted, and changed by hand."""

from collections.abc import Awaitable, Callable
from typing import Final, cast, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso.base.limits import Limits
from sayso.base.records import TurnStatus
from sayso.engine.engine import Engine
from sayso.http.body import (
    body_of,
    choice,
    items,
    json_response,
    malformed,
    page_of,
    principal_of,
    with_cursor,
)
from sayso.http.rest.audit import decision_view
from sayso.http.views import history_view, hold_view, listed_thread_view, state_view, thread_view
from sayso.protocol.forward_compat import Shape, identifier, obj, text
from sayso.protocol.runinput import check_state_size

_STATUSES: Final = (*get_args(TurnStatus), "all")
_STOP: Final = Shape({"runId": identifier})
_EDIT: Final = Shape({"values": obj}, ("values",))
_FORK: Final = Shape({"interruptId": identifier}, ("interruptId",))
_RESTART: Final = Shape({})
_HOLD: Final = Shape({"reason": text}, ("reason",))
_MAX_REASON: Final = 2_000
"""Characters of the reason for a hold."""


class ThreadRoutes:
    """The routes over an engine's threads."""

    def __init__(self, engine: Engine, limits: Limits) -> None:
        self._engine = engine
        self._threads = engine.threads
        self._repairs = engine.repairs
        self._quotas = engine.quotas
        self._limits = limits

    def routes(self) -> list[Route]:
        """For a Starlette router. A thread's id may hold slashes."""

        def route(path: str, serve: Callable[[Request], Awaitable[Response]], method: str) -> Route:
            return Route(path, serve, methods=[method])

        return [
            route("/threads", self._list, "GET"),
            route("/threads/{thread:path}/state", self._state, "GET"),
            route("/threads/{thread:path}/history", self._history, "GET"),
            route("/threads/{thread:path}/hold", self._hold, "POST"),
            route("/threads/{thread:path}/hold", self._lift, "DELETE"),
            route("/threads/{thread:path}/stop", self._stopped, "POST"),
            route("/threads/{thread:path}/state", self._edit, "PATCH"),
            route("/threads/{thread:path}/fork", self._fork, "POST"),
            route("/threads/{thread:path}/restart", self._restart, "POST"),
            route("/threads/{thread:path}", self._one, "GET"),
            route("/threads/{thread:path}", self._delete, "DELETE"),
        ]

    async def _list(self, request: Request) -> Response:
        status = choice(request, "status", _STATUSES, "all")
        page = await page_of(
            request,
            self._threads.page,
            status=None if status == "all" else cast(TurnStatus, status),
            agent=request.query_params.get("agent"),
        )
        return json_response(items(page, listed_thread_view))

    async def _one(self, request: Request) -> Response:
        principal = principal_of(request)
        view = await self._threads.view(principal, request.path_params["thread"])
        shown = thread_view(view, principal, self._threads.now())
        last = await self._engine.audit.last_decision(principal.scope, view.thread.id)
        return json_response(
            shown | ({} if last is None else {"lastDecision": decision_view(*last)})
        )

    async def _state(self, request: Request) -> Response:
        thread = request.path_params["thread"]
        standing = await self._threads.with_journal(principal_of(request), thread)
        return json_response(state_view(standing.view, standing.journal))

    async def _history(self, request: Request) -> Response:
        past = await page_of(request, self._threads.history, request.path_params["thread"])
        shown = history_view(past.view, past.messages, past.runs.items, past.interrupts)
        return json_response(with_cursor(shown, past.runs.next))

    async def _stopped(self, request: Request) -> Response:
        members = await body_of(request, _STOP.read, self._limits, optional=True)
        stopped = await self._engine.stop_thread(
            principal_of(request), request.path_params["thread"], members.get("runId")
        )
        return json_response({"stopped": stopped})

    async def _delete(self, request: Request) -> Response:
        await self._threads.delete(principal_of(request), request.path_params["thread"])
        return Response(status_code=204)

    async def _hold(self, request: Request) -> Response:
        reason = await self._reason_of(request)
        thread = request.path_params["thread"]
        hold = await self._threads.hold(principal_of(request), thread, reason)
        return json_response({"threadId": thread, "hold": hold_view(hold)})

    async def _lift(self, request: Request) -> Response:
        reason = await self._reason_of(request)
        await self._threads.unhold(principal_of(request), request.path_params["thread"], reason)
        return Response(status_code=204)

    async def _reason_of(self, request: Request) -> str:
        members = await body_of(request, _HOLD.read, self._limits)
        reason: str = members["reason"]
        if not reason.strip() or len(reason) > _MAX_REASON:
            message = f"is a text of at most {_MAX_REASON} characters that says why"
            raise malformed(
                "The body does not fit: correct what `errors` names.",
                [{"pointer": "/reason", "message": message}],
            )
        return reason

    async def _edit(self, request: Request) -> Response:
        members = await body_of(request, _EDIT.read, self._limits)
        check_state_size(members["values"], "/values", self._limits)
        principal, thread = principal_of(request), request.path_params["thread"]
        await self._repairs.edit(principal, thread, members["values"])
        standing = await self._threads.with_journal(principal, thread)
        return json_response(state_view(standing.view, standing.journal))

    async def _fork(self, request: Request) -> Response:
        self._quotas.fork(principal_of(request))
        await self._quotas.room(principal_of(request), for_thread=True)
        members = await body_of(request, _FORK.read, self._limits)
        made = await self._repairs.fork(
            principal_of(request), request.path_params["thread"], members["interruptId"]
        )
        return json_response({"threadId": made}, 201)

    async def _restart(self, request: Request) -> Response:
        principal, thread = principal_of(request), request.path_params["thread"]
        with self._quotas.run(principal):
            await self._quotas.room(principal, for_thread=False)
            await body_of(request, _RESTART.read, self._limits, optional=True)
            begun = await self._repairs.restart(principal, thread)
        return json_response({"runId": begun.run_id, "repeats": list(begun.repeats)})
