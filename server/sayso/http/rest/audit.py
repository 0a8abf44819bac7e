"""The audit trail over HTTP: `GET /audit` lists rows, `GET /audit/{thread}` a thread's chain."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso.base import jsonvalue
from sayso.base.audit import AuditRow, is_told
from sayso.base.clock import format_time
from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.engine.audit import Audit, Difference
from sayso.http.body import items, json_response, page_of, principal_of


class AuditRoutes:
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
        thread = request.query_params.get("thread")
        page = await page_of(request, self._audit.page, thread_id=thread)
        return json_response(items(page, row_view))

    async def _verify(self, request: Request) -> Response:
        thread = request.path_params["thread"]
        chain = await self._audit.verify(principal_of(request), thread)
        if chain.rows == 0 and chain.broken_at is None:
            raise Problem(Code.UNKNOWN_THREAD, "There is no such thread.")
        view = {
            "threadId": thread,
            "rows": chain.rows,
            "head": chain.head,
            "intact": chain.broken_at is None,
        }
        if chain.broken_at is not None:
            view["brokenAt"] = chain.broken_at
        if chain.differs:
            view["differs"] = [difference_view(difference) for difference in chain.differs]
        return json_response(view)


def difference_view(difference: Difference) -> dict[str, Any]:
    """A member of a question that differs from its row."""
    return {
        "interruptId": difference.interrupt_id,
        "member": difference.member,
        "trail": difference.trail,
        "record": difference.record,
    }


def row_view(row: AuditRow) -> dict[str, Any]:
    """A row as it is shown; without `content` it was taken away by an older version.

    `broken`: its content is another than was written, and is not shown.
    """
    view = {
        "threadId": row.thread_id,
        "owner": row.owner,
        "number": row.number,
        "at": format_time(row.at),
        "kind": row.kind,
        "contentDigest": row.content_digest,
        "digest": row.digest,
    }
    if row.content is None:
        return view
    if not is_told(row):
        return view | {"broken": True}
    return view | {"content": jsonvalue.decode(row.content)}
