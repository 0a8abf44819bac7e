"""Threads changed by hand over HTTP: state edited, copied at a question, begun anew."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso.engine.repairs import Repairs
from sayso.engine.threads import Threads
from sayso.http.rest import answer, body_of, principal_of
from sayso.http.views import state_view
from sayso.limits import Limits
from sayso.protocol.forward_compat import Shape, identifier, obj

__all__ = ["RepairPaths"]

_EDIT: Final = Shape({"values": obj}, ("values",))
_FORK: Final = Shape({"interruptId": identifier}, ("interruptId",))
_RESTART: Final = Shape({})


class RepairPaths:
    """The routes over what changes an engine's threads."""

    def __init__(self, threads: Threads, repairs: Repairs, limits: Limits) -> None:
        self._threads = threads
        self._repairs = repairs
        self._limits = limits

    def routes(self) -> list[Route]:
        """For a Starlette router. A thread's id may hold slashes."""

        def route(path: str, serve: Callable[[Request], Awaitable[Response]], method: str) -> Route:
            return Route(path, serve, methods=[method])

        return [
            route("/threads/{thread:path}/state", self._edit, "PATCH"),
            route("/threads/{thread:path}/fork", self._fork, "POST"),
            route("/threads/{thread:path}/restart", self._restart, "POST"),
        ]

    async def _edit(self, request: Request) -> Response:
        members = await body_of(request, _EDIT.read, self._limits)
        principal, thread = principal_of(request), request.path_params["thread"]
        await self._repairs.edit(principal, thread, members["values"])
        standing = await self._threads.standing(principal, thread)
        return answer(state_view(standing.view, standing.journal))

    async def _fork(self, request: Request) -> Response:
        members = await body_of(request, _FORK.read, self._limits)
        made = await self._repairs.fork(
            principal_of(request), request.path_params["thread"], members["interruptId"]
        )
        return answer({"threadId": made}, 201)

    async def _restart(self, request: Request) -> Response:
        await body_of(request, _RESTART.read, self._limits, optional=True)
        begun = await self._repairs.restart(principal_of(request), request.path_params["thread"])
        return answer({"runId": begun.run_id, "repeats": list(begun.repeats)})
