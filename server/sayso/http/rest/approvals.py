"""Remembered approvals over HTTP: `GET /approvals`, `/approvals/{id}`; `DELETE` revokes one."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso.base import jsonvalue
from sayso.base.clock import format_time, parse_time
from sayso.base.records import Approval
from sayso.engine.approvals import ApprovalService, ApprovalWithUses
from sayso.http.body import items, json_response, page_of, principal_of

_LAST: Final = parse_time("9999-12-31T23:59:59.999+00:00")
"""The latest time that can be written; a row may hold a later one."""


class ApprovalRoutes:
    """The routes over an engine's approvals."""

    def __init__(self, approvals: ApprovalService) -> None:
        self._approvals = approvals

    def routes(self) -> list[Route]:
        """For a Starlette router."""
        return [
            Route("/approvals", self._list, methods=["GET"]),
            Route("/approvals/{approval}", self._one, methods=["GET"]),
            Route("/approvals/{approval}", self._revoke, methods=["DELETE"]),
        ]

    async def _list(self, request: Request) -> Response:
        page = await page_of(request, self._approvals.page)
        return json_response(items(page, self._view))

    async def _one(self, request: Request) -> Response:
        uses = await self._approvals.with_uses(
            principal_of(request), request.path_params["approval"]
        )
        return json_response(self._whole(uses))

    async def _revoke(self, request: Request) -> Response:
        uses = await self._approvals.revoke(principal_of(request), request.path_params["approval"])
        return json_response(self._whole(uses))

    def _view(self, approval: Approval) -> dict[str, Any]:
        return approval_view(approval, self._approvals.stale(approval))

    def _whole(self, uses: ApprovalWithUses) -> dict[str, Any]:
        """An approval with its newest uses."""
        used = [
            {"toolCallId": use.call_id, "threadId": use.thread_id, "at": format_time(use.at)}
            for use in uses.uses
        ]
        return {**self._view(uses.approval), "recentUses": used}


def approval_view(approval: Approval, stale: str | None) -> dict[str, Any]:
    """An approval; a call's arguments are the `same`, `like` these, or `any` (`matches`).

    Beside those that are `like` these, the `others` are the same. `stale` is why it no longer
    counts.
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
        "givenAt": format_time(approval.given_at),
        "interruptId": approval.interrupt_id,
        "expiresAt": _time(approval.expires_at),
        "revokedAt": _time(approval.revoked_at),
        "revokedBy": approval.revoked_by,
        "uses": approval.uses,
        "lastUsedAt": _time(approval.used_at),
        "stale": None if stale is None else True,
        "why": stale,
    }
    return {name: value for name, value in view.items() if value is not None}


def _time(time: int | None) -> str | None:
    return None if time is None else format_time(min(time, _LAST))
