"""JSON in and out: bodies and queries read strictly, never more of them than the limit."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import orjson
from starlette.requests import Request
from starlette.responses import Response

from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.base.limits import Limits
from sayso.base.records import Page, Principal
from sayso.http.asgi import COMES, PRINCIPAL, ClientDisconnected, Receive, Scope, header, headers
from sayso.protocol.forward_compat import Check, ReadReport
from sayso.protocol.runinput import parse_json

T = TypeVar("T")

_log = logging.getLogger("sayso.http")
_UTF8: Final = {"", "utf-8", "utf8"}
_UNCOUNTED: Final = 64 * 1024
"""Bytes of each body that always come: an answer or a stop, whatever else is on its way."""
MAX_LIMIT: Final = 1_000
"""Items of one page."""


def _check_type(scope: Scope) -> None:
    """JSON and nothing else, so that no plain form of another site can post here (EN-16)."""
    media, _, parameters = (header(scope, b"content-type") or "").partition(";")
    media = media.strip().lower()
    charset = ""
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = value.strip().strip('"').lower()
    is_json = media == "application/json" or (
        media.startswith("application/") and media.endswith("+json")
    )
    if not is_json or charset not in _UTF8:
        raise Problem(
            Code.UNSUPPORTED_MEDIA_TYPE,
            "The body must be JSON in UTF-8: send Content-Type: application/json.",
        )
    if any(value.strip().lower() != "identity" for value in headers(scope, b"content-encoding")):
        raise Problem(
            Code.UNSUPPORTED_MEDIA_TYPE,
            "The body must not be compressed: send it without Content-Encoding.",
        )


def _too_large(limit: int) -> Problem:
    return Problem(
        Code.BODY_TOO_LARGE, f"The body is over the limit of {limit} bytes: send a shorter one."
    )


async def read_json_body(
    scope: Scope, receive: Receive, limit: int, *, optional: bool = False
) -> bytes:
    """Read the whole body, at most `limit` bytes; `optional`: it may be empty, and of any type.

    Raises:
        Problem: another content type, or a body that is too long: before reading when its declared
            length says so, else at the first byte over the limit, whatever was declared;
            `too_many`, its user's bodies that still come are too large together.
        ClientDisconnected: the client leaves in the middle.
    """
    if not optional or headers(scope, b"content-type"):
        _check_type(scope)
    body = await read_body(scope, receive, limit)
    if body:
        _check_type(scope)
    return body


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """Read a whole body of any type, at most `limit` bytes; raises as `read_json_body`.

    What is kept of it until it is whole counts among the bytes that may come from its user.
    """
    declared = header(scope, b"content-length") or ""
    if declared.isascii() and declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    comes: Callable[[int], None] = scope.get(COMES) or (lambda _: None)
    chunks: list[bytes] = []
    size = counted = 0
    try:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > limit:
                raise _too_large(limit)
            chunks.append(chunk)
            if not message.get("more_body", False):
                break
            if size > _UNCOUNTED:
                more = size - _UNCOUNTED - counted
                counted += more
                comes(more)
    finally:
        comes(-counted)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def principal_of(request: Request) -> Principal:
    """Return the caller of a request."""
    principal: Principal = request.scope[PRINCIPAL]
    return principal


def json_response(value: Any, status: int = 200) -> Response:
    """A JSON response that no cache keeps and no other site can draw in."""
    return Response(
        orjson.dumps(value),
        status,
        {
            "cache-control": "no-store",
            "x-content-type-options": "nosniff",
            "cross-origin-resource-policy": "same-origin",
        },
        media_type="application/json",
    )


def malformed(detail: str, errors: Sequence[Mapping[str, str]] = ()) -> Problem:
    """A request that is malformed."""
    return Problem(Code.INVALID_INPUT, detail, errors=tuple(dict(error) for error in errors))


async def body_of(
    request: Request, check: Check, limits: Limits, *, optional: bool = False
) -> dict[str, Any]:
    """The members of a JSON object; Problem for what is malformed, a warning for what is unknown.

    `optional`: no body at all stands for an object without members.
    """
    body = await read_json_body(request.scope, request.receive, limits.body, optional=optional)
    if optional and not body:
        return {}
    report = ReadReport(most=limits.errors)
    members: dict[str, Any] = check(parse_json(body, limits), (), report)
    if report.count:
        raise malformed("The body does not fit: correct what `errors` names.", report.errors)
    for warning in report.warnings:
        _log.warning("%s: %s", request.url.path, warning)
    return members


def choice(request: Request, name: str, values: Sequence[str], default: str) -> str:
    """A query parameter that is one of a few words."""
    value = request.query_params.get(name, default)
    if value not in values:
        raise malformed(f"The parameter {name!r} is one of {', '.join(values)}.")
    return value


async def page_of(
    request: Request, read: Callable[..., Awaitable[T]], *of: Any, **members: Any
) -> T:
    """Read a page for the caller: `read` gets `of`, and the query's `cursor` and `limit`.

    Raises:
        Problem: `invalid_input` for an invalid limit, and where `read` raises ValueError for a
            cursor.
    """
    text = request.query_params.get("limit", "100")
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 0 < int(text) <= MAX_LIMIT):
        raise malformed(f"The parameter 'limit' is a number from 1 to {MAX_LIMIT}.")
    after = request.query_params.get("cursor")
    try:
        return await read(principal_of(request), *of, after=after, limit=int(text), **members)
    except ValueError as error:
        raise malformed(f"The cursor does not fit this list: {error}") from None


def items(page: Page[T], view: Callable[[T], Any]) -> dict[str, Any]:
    """A page as `{"items", "nextCursor"?}`."""
    return with_cursor({"items": [view(item) for item in page.items]}, page.next)


def with_cursor(value: dict[str, Any], following: str | None) -> dict[str, Any]:
    """An object with the cursor of what follows, if anything does."""
    return value if following is None else {**value, "nextCursor": following}
