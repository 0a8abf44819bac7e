"""Remembered approvals over HTTP: `GET /approvals`, `/approvals/{id}`; `DELETE` revokes one."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso import jsonvalue
from sayso.approvals import Approval
from sayso.clock import iso, moment
from sayso.engine.approvals import Approvals, Known
from sayso.http.rest import answer, items, limit_of, principal_of, refuse

__all__ = ["ApprovalPaths"]

_LAST: Final = moment("9999-12-31T23:59:59.999+00:00")
"""The latest time that can be written; a row may hold a later one."""


class ApprovalPaths:
    """The routes over an engine's approvals."""

    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals

    def routes(self) -> list[Route]:
        """For a Starlette router."""
        return [
            Route("/approvals", self._list, methods=["GET"]),
            Route("/approvals/{approval}", self._one, methods=["GET"]),
            Route("/approvals/{approval}", self._revoke, methods=["DELETE"]),
        ]

    async def _list(self, request: Request) -> Response:
        try:
            page = await self._approvals.page(
                principal_of(request),
                after=request.query_params.get("cursor"),
                limit=limit_of(request),
            )
        except ValueError as error:
            raise refuse(f"The cursor does not fit this list: {error}") from None
        return answer(items(page, _view))

    async def _one(self, request: Request) -> Response:
        known = await self._approvals.known(principal_of(request), request.path_params["approval"])
        return answer(_whole(known))

    async def _revoke(self, request: Request) -> Response:
        known = await self._approvals.revoke(principal_of(request), request.path_params["approval"])
        return answer(_whole(known))


def _view(approval: Approval) -> dict[str, Any]:
    """An approval; a call's arguments are the `same`, `like` these, or `any` (`matches`).

    Beside those that are `like` these, the `others` are the same.
    """
    pattern = jsonvalue.decode(approval.pattern)
    view = {
        "id": approval.id,
        "tool": approval.tool,
        "owner": approval.owner,
        "threadId": approval.thread_id,
        "matches": pattern["kind"],
        "arguments": pattern.get("arguments"),
        "others": pattern.get("others"),
        "rules": list(approval.rules),
        "givenBy": approval.given_by,
        "givenAt": iso(approval.given_at),
        "interruptId": approval.interrupt_id,
        "expiresAt": _time(approval.expires_at),
        "revokedAt": _time(approval.revoked_at),
        "revokedBy": approval.revoked_by,
        "uses": approval.uses,
        "lastUsedAt": _time(approval.used_at),
    }
    return {name: value for name, value in view.items() if value is not None}


def _whole(known: Known) -> dict[str, Any]:
    """An approval with its newest uses."""
    used = [
        {"toolCallId": use.call_id, "threadId": use.thread_id, "at": iso(use.at)}
        for use in known.uses
    ]
    return {**_view(known.approval), "recentUses": used}


def _time(at: int | None) -> str | None:
    return None if at is None else iso(min(at, _LAST))
