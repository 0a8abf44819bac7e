"""What the REST paths share: bodies and queries read strictly, answers in JSON."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import orjson
from starlette.requests import Request
from starlette.responses import Response

from sayso.errors import Code, Problem
from sayso.http.asgi import PRINCIPAL
from sayso.http.body import read_json_body
from sayso.limits import Limits
from sayso.protocol.forward_compat import Check, Findings
from sayso.protocol.runinput import parse_json
from sayso.records import Page, Principal

__all__ = ["answer", "body_of", "choice", "items", "limit_of", "listed", "principal_of", "refuse"]

T = TypeVar("T")

_log = logging.getLogger("sayso.http")
MOST: Final = 1_000
"""Items of one page."""


def principal_of(request: Request) -> Principal:
    """Who is calling."""
    principal: Principal = request.scope[PRINCIPAL]
    return principal


def answer(value: Any, status: int = 200) -> Response:
    """A JSON response that no cache keeps."""
    return Response(
        orjson.dumps(value),
        status,
        {"cache-control": "no-store"},
        media_type="application/json",
    )


def refuse(detail: str, errors: Sequence[Mapping[str, str]] = ()) -> Problem:
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
    findings = Findings()
    members = check(parse_json(body, limits), (), findings)
    if findings.count:
        raise refuse("The body does not fit: correct what `errors` names.", findings.errors)
    for warning in findings.warnings:
        _log.warning("%s: %s", request.url.path, warning)
    found: dict[str, Any] = members
    return found


def choice(request: Request, name: str, values: Sequence[str], default: str) -> str:
    """A query parameter that is one of a few words."""
    value = request.query_params.get(name, default)
    if value not in values:
        raise refuse(f"The parameter {name!r} is one of {', '.join(values)}.")
    return value


def limit_of(request: Request) -> int:
    """How many items a page may have."""
    text = request.query_params.get("limit", "100")
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 0 < int(text) <= MOST):
        raise refuse(f"The parameter 'limit' is a number from 1 to {MOST}.")
    return int(text)


def items(page: Page[T], view: Callable[[T], Any]) -> dict[str, Any]:
    """A page as `{"items", "nextCursor"?}`."""
    return listed({"items": [view(item) for item in page.items]}, page.next)


def listed(value: dict[str, Any], following: str | None) -> dict[str, Any]:
    """An object with the cursor of what follows, if anything does."""
    return value if following is None else {**value, "nextCursor": following}
