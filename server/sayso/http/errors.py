"""Errors before a stream: RFC 9457 problems with a stable code, and nothing of the request in them.

A problem never carries a stack, a secret or an echo (ER-14, TR-38). What is unforeseen is logged
here and shown as `internal_error`.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import orjson
from starlette.exceptions import HTTPException

from sayso.base.codes import Code
from sayso.base.errors import Problem, StoreUnavailable
from sayso.http.asgi import Scope, Send

_log = logging.getLogger("sayso.http")

ProblemWriter = Callable[[Problem, Scope, Send], Awaitable[None]]

_TITLES: Final = {
    400: "Bad request",
    401: "Not authenticated",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    410: "Gone",
    413: "Request too large",
    415: "Unsupported media type",
    421: "Misdirected request",
    422: "Unprocessable content",
    429: "Too many requests",
    500: "Internal error",
    503: "Unavailable",
}


class MethodNotAllowed(Problem):
    """The path exists, for other methods; `allow` is the value of the header that lists them."""

    def __init__(self, allow: str) -> None:
        super().__init__(
            Code.METHOD_NOT_ALLOWED, f"This path does not take that method. It takes {allow}."
        )
        self.allow = allow


def method_not_allowed(*methods: str) -> Problem:
    """405 with the methods that the path takes."""
    return MethodNotAllowed(", ".join(methods))


def not_found() -> Problem:
    """404 for a path that nothing is served at."""
    return Problem(Code.NOT_FOUND, "Nothing is served at this path. GET /agents lists the agents.")


def problem_body(problem: Problem) -> dict[str, object]:
    """The members of a problem, as they go out."""
    body: dict[str, object] = {
        "type": "about:blank",
        "title": _TITLES[problem.status],
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code.value,
    }
    if problem.errors:
        body["errors"] = problem.errors
    return {**problem.more, **body}


async def write_problem(problem: Problem, _: Scope, send: Send) -> None:
    """Answer with a problem as `application/problem+json`."""
    await write_body(problem, problem_body(problem), send, media=b"application/problem+json")


async def write_body(
    problem: Problem,
    body: Mapping[str, object],
    send: Send,
    *,
    media: bytes = b"application/json",
    fields: Sequence[tuple[bytes, bytes]] = (),
) -> None:
    """Answer with a problem in a dialect's own words; `fields` are further headers."""
    data = orjson.dumps(body)
    headers = [
        (b"content-type", media),
        (b"content-length", str(len(data)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *_more_fields(problem),
        *fields,
    ]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": data, "more_body": False})


def _more_fields(problem: Problem) -> Sequence[tuple[bytes, bytes]]:
    if isinstance(problem, MethodNotAllowed):
        return [(b"allow", problem.allow.encode("latin-1"))]
    if problem.code is Code.UNAUTHENTICATED:
        return [(b"www-authenticate", b"Bearer")]
    if (seconds := problem.more.get("retryAfter")) is not None:
        return [(b"retry-after", str(seconds).encode())]
    if problem.status == 503:
        return [(b"retry-after", b"1")]
    return []


def problem_for(error: Exception) -> Problem:
    """The problem that a client is told of an error; an unforeseen error is logged here."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        if error.status_code == 405:
            return MethodNotAllowed((error.headers or {}).get("Allow", ""))
        return not_found()
    if isinstance(error, StoreUnavailable):
        _log.error("the store is unavailable: %s", error)
        return Problem(
            Code.STORE_UNAVAILABLE,
            "The store cannot be reached now, so nothing was changed. Send the request again.",
        )
    _log.error("a request failed", exc_info=error)
    return Problem(
        Code.INTERNAL_ERROR, "The server failed to handle this request; its log says why."
    )
