"""The audit trail over HTTP: `GET /audit` lists rows, `GET /audit/{thread}` a thread's chain."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso import jsonvalue
from sayso.audit import AuditRow
from sayso.clock import iso
from sayso.engine.audit import Audit
from sayso.errors import Code, Problem
from sayso.http.rest import answer, items, limit_of, principal_of, refuse

__all__ = ["AuditPaths", "row_view"]


class AuditPaths:
    """The routes over an engine's audit trail."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    def routes(self) -> list[Route]:
        """For a Starlette router. A thread's id may hold slashes."""
        return [
            Route("/audit", self._list, methods=["GET"]),
            Route("/audit/{thread:path}", self._verify, methods=["GET"]),
        ]

    async def _list(self, request: Request) -> Response:
        try:
            page = await self._audit.page(
                principal_of(request),
                thread_id=request.query_params.get("thread"),
                after=request.query_params.get("cursor"),
                limit=limit_of(request),
            )
        except ValueError as error:
            raise refuse(f"The cursor does not fit this list: {error}") from None
        return answer(items(page, row_view))

    async def _verify(self, request: Request) -> Response:
        thread = request.path_params["thread"]
        chain = await self._audit.verify(principal_of(request), thread)
        if chain.rows == 0 and chain.broken_at is None:
            raise Problem(Code.UNKNOWN_THREAD, "There is no such thread.")
        told = {
            "threadId": thread,
            "rows": chain.rows,
            "head": chain.head,
            "intact": chain.broken_at is None,
        }
        return answer(told | ({} if chain.broken_at is None else {"brokenAt": chain.broken_at}))


def row_view(row: AuditRow) -> dict[str, Any]:
    """A row as it is shown; without `content` its thread was deleted."""
    view = {
        "threadId": row.thread_id,
        "owner": row.owner,
        "number": row.number,
        "at": iso(row.at),
        "kind": row.kind,
        "contentDigest": row.content_digest,
        "digest": row.digest,
    }
    return view | ({} if row.content is None else {"content": jsonvalue.decode(row.content)})
