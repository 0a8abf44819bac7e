"""Reading a request body: JSON only, never more of it than the limit."""

from typing import Final

from sayso.errors import Code, Problem
from sayso.http.asgi import ClientGone, Receive, Scope, header, headers

__all__ = ["read_json_body"]

_UTF8: Final = {"", "utf-8", "utf8"}


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
    """The whole body, at most `limit` bytes; `optional`: it may be empty, and then of no type.

    Raises Problem for another content type and for a body that is too long: before reading when
    its declared length says so, else at the first byte over the limit, whatever was declared.
    Raises ClientGone when the client leaves in the middle.
    """
    if not optional or headers(scope, b"content-type"):
        _check_type(scope)
    declared = header(scope, b"content-length") or ""
    if declared.isascii() and declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        chunks.append(chunk)
        if not message.get("more_body", False):
            break
    body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    if body:
        _check_type(scope)
    return body
