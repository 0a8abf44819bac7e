"""The audit trail over HTTP: `GET /audit` lists rows, `GET /audit/{thread}` a thread's chain.

For auditors, `GET /audit?of=tenant` has the rows that belong to no thread. `GET /audit/keys` has
the public keys of what is signed.

`GET /audit/export` tells all rows of a scope as lines of JSON, then for a while those that come.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso.base import jsonvalue
from sayso.base.audit import AuditRow
from sayso.base.clock import format_time
from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.base.progress import Signature
from sayso.base.signatures import PublicKey
from sayso.engine.audit import Audit, Chain, Difference, Signed, ToldRow, check_auditor
from sayso.engine.export import Exported, Exports
from sayso.engine.quotas import Quotas
from sayso.engine.sign_ins import SignIns
from sayso.http.asgi import Receive, Scope, Send
from sayso.http.body import choice, items, json_response, malformed, page_of, principal_of
from sayso.http.sse import ending, respond


class AuditRoutes:
    """The routes over an engine's audit trail."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    def routes(self) -> list[Route]:
        """For a Starlette router. A thread's id may hold slashes."""
        return [
            Route("/audit", self._list, methods=["GET"]),
            Route("/audit/keys", self._keys, methods=["GET"]),
            Route("/audit/{thread:path}", self._verify, methods=["GET"]),
        ]

    async def _list(self, request: Request) -> Response:
        if (whole := request.query_params.get("of")) is not None:
            if whole != "tenant":
                raise malformed("The parameter 'of' takes 'tenant'.")
            page = await page_of(request, self._audit.page_of_tenant)
            if choice(request, "check", ("true", "false"), "false") == "true":
                chain = await self._audit.verify_tenant(principal_of(request))
                return json_response({**items(page, row_view), "chain": _chain_view(chain)})
        else:
            thread = request.query_params.get("thread")
            page = await page_of(request, self._audit.page, thread_id=thread)
        return json_response(items(page, row_view))

    async def _keys(self, request: Request) -> Response:
        principal_of(request)
        return json_response({"items": [key_view(key) for key in self._audit.keys]})

    async def _verify(self, request: Request) -> Response:
        thread = request.path_params["thread"]
        chain = await self._audit.verify(principal_of(request), thread)
        if chain.rows == 0 and chain.broken_at is None:
            raise Problem(Code.UNKNOWN_THREAD, "There is no such thread.")
        return json_response({"threadId": thread, **_chain_view(chain)})


def _chain_view(chain: Chain) -> dict[str, Any]:
    """Say if rows stand, and where they do not."""
    view: dict[str, Any] = {
        "rows": chain.rows,
        "head": chain.head,
        "intact": chain.broken_at is None,
    }
    if chain.broken_at is not None:
        view["brokenAt"] = chain.broken_at
    if chain.signatures:
        view["signatures"] = dict(chain.signatures)
    if chain.differs:
        view["differs"] = [difference_view(difference) for difference in chain.differs]
    return view


def difference_view(difference: Difference) -> dict[str, Any]:
    """A member of a question that differs from its row."""
    return {
        "interruptId": difference.interrupt_id,
        "member": difference.member,
        "trail": difference.trail,
        "record": difference.record,
    }


def decision_view(row: AuditRow, signature: Signature | None) -> dict[str, Any]:
    """The row of a decision, for who keeps it: a trail without that row has lost its end."""
    signed = None
    if signature is not None:
        signed = {
            "key": signature.key,
            "at": format_time(signature.signed_at),
            "value": signature.value,
        }
    return {"number": row.number, "digest": row.digest, "signature": signed}


def key_view(key: PublicKey) -> dict[str, Any]:
    """A key that checks what is signed; `since` is when it began to sign."""
    view = {"id": key.id, "publicKey": key.pem}
    return view if key.since is None else view | {"since": format_time(key.since)}


def row_view(shown: ToldRow) -> dict[str, Any]:
    """A row as it is shown; `erased`: its content was taken away.

    `broken`: it is not what was written, and its content is not shown.
    """
    row = shown.row
    view = {
        "threadId": row.thread_id,
        "owner": shown.owner,
        "number": row.number,
        "at": format_time(row.at),
        "kind": row.kind,
        "contentDigest": row.content_digest,
        "digest": row.digest,
    }
    if shown.erased:
        return view | {"erased": True}
    if shown.content is None:
        return view | {"broken": True}
    view["content"] = shown.content
    if shown.signatures:
        view["people"] = shown.people
        view["signatures"] = [_signed_view(signed) for signed in shown.signatures]
    return view


def _signed_view(signed: Signed) -> dict[str, Any]:
    view = {"by": signed.by, "is": signed.verdict}
    if signed.key is not None and signed.signed_at is not None:
        view |= {"key": signed.key, "at": format_time(signed.signed_at)}
    return view


MAX_FOLLOW_S: Final = 3600
"""Seconds for which one answer follows at most."""
_FIELDS: Final = [(b"content-type", b"application/jsonl"), (b"cache-control", b"no-store")]
_GOING: Final = "This server is shutting down: go on from this place."


class ExportRoutes:
    """The route over an engine's exports."""

    def __init__(self, exports: Exports, quotas: Quotas, sign_ins: SignIns) -> None:
        self._stream = ExportStream(exports, quotas, sign_ins)

    def routes(self) -> list[Route]:
        """For a Starlette router, before the path that takes a thread's id."""
        return [Route("/audit/export", self._stream, methods=["GET"])]


class ExportStream:
    """The endpoint, a bare ASGI app."""

    def __init__(self, exports: Exports, quotas: Quotas, sign_ins: SignIns) -> None:
        self._exports = exports
        self._quotas = quotas
        self._sign_ins = sign_ins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one reader until it has what there is, goes, or has followed for long enough."""
        request = Request(scope)
        principal = principal_of(request)
        check_auditor(principal)
        seconds = _seconds(request.query_params.get("follow"))
        reader = self._exports.reader(
            principal.scope,
            by=principal.subject,
            channel="http",
            since=request.query_params.get("since"),
        )
        with self._quotas.stream(principal):
            pieces = self._exports.follow(principal.scope, reader, seconds)
            try:
                first = await anext(pieces)
            except ValueError as error:
                raise malformed(f"The parameter 'since' does not fit: {error}") from None
            lines = _ExportLines(self._exports, pieces, first)
            try:
                await respond(
                    lines,
                    receive,
                    send,
                    keep_alive=None,
                    farewell=lines.closed,
                    fields=_FIELDS,
                    ends=ending(self._sign_ins, principal, began=False),
                )
            finally:
                await lines.finish()


class _ExportLines:
    """Pieces of an export as lines: of each its rows, then the place behind them."""

    def __init__(self, exports: Exports, pieces: AsyncGenerator[Exported], first: Exported) -> None:
        self.ended = False
        self.complete = False
        self.delivered = False
        self._exports = exports
        self._pieces = pieces
        self._ready: Exported | None = first
        self._place = first.place
        self._failed: Exception | None = None
        self._taken = asyncio.Event()
        self._waiter: asyncio.Future[None] | None = None
        self._task = asyncio.create_task(self._read(), name="export")

    def readable(self) -> asyncio.Future[None]:
        """Done when there is a piece, at the end, and by a `wake`."""
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        if self._ready is not None or self._task.done():
            waiter.set_result(None)
        return waiter

    def drain(self) -> bytes:
        """The piece that is ready."""
        piece, self._ready = self._ready, None
        if piece is not None:
            self._taken.set()
            self._place = piece.place
            rows = b"".join(jsonvalue.encode(row_view(row)) + b"\n" for row in piece.rows)
            return rows + jsonvalue.encode({"cursor": piece.place}) + b"\n"
        if self._failed is not None:
            raise self._failed
        self.ended = self.complete = True
        return self.closed(Code.SHUTTING_DOWN, _GOING) if self._exports.is_closed else b""

    def closed(self, code: str, message: str) -> bytes:
        """The last line of what is ended before its time: the place from which to go on."""
        last = {"cursor": self._place, "closed": code, "message": message}
        return jsonvalue.encode(last) + b"\n"

    def wake(self) -> None:
        """End the waiting; see `FrameSource.wake`."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def detach(self) -> None:
        """Read no more; idempotent."""
        self._task.cancel()

    async def finish(self) -> None:
        """Let go of what is read."""
        self._task.cancel()
        await asyncio.wait((self._task,))
        await self._pieces.aclose()

    async def _read(self) -> None:
        """Read one piece ahead of the one that is being sent."""
        try:
            while True:
                await self._taken.wait()
                self._taken.clear()
                piece = await anext(self._pieces, None)
                if piece is None:
                    return
                self._ready = piece
                self.wake()
        except Exception as error:
            self._failed = error
        finally:
            asyncio.get_running_loop().call_soon(self.wake)


def _seconds(text: str | None) -> int:
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) < 5 and int(text) <= MAX_FOLLOW_S):
        raise malformed(f"The parameter 'follow' is a number of seconds, at most {MAX_FOLLOW_S}.")
    return int(text)
