"""Reads requests of the session dialect: their members, and the session that they name."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl

from sayso.http.asgi import Exchange, Scope, header
from sayso.http.body import malformed
from sayso.protocol.forward_compat import Path, ReadReport, Shape, anything, flag, identifier, text

Json = dict[str, Any]

_HEADER: Final = b"x-session-id"
_ID: Final = re.compile(r"(?!\.{1,2}\Z)[\x21-\x7e]{1,512}")
"""Seconds that a resume waits for the note of a delivery that is under way."""


def is_session(value: Any) -> bool:
    """True if a value can be a session's id, which has to fit into a header and into a path."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _session(value: Any, path: Path, report: ReadReport) -> Any:
    if is_session(value):
        return value
    return report.error(
        path, "must have 1 to 512 characters of visible ASCII, and be no '.' or '..'"
    )


def _yes_or_no(value: Any, path: Path, report: ReadReport) -> Any:
    return value if type(value) is bool else report.error(path, "must be true or false")


_CHAT: Final = Shape(
    {"message": text, "session_id": _session, "agent": identifier, "stream": _yes_or_no},
    ("message",),
)
_RESUME: Final = Shape(
    {
        "session_id": _session,
        "answer": anything,
        "status": flag("resolved", "cancelled"),
        "interrupt_id": identifier,
        "shown": text,
        "stream": _yes_or_no,
    }
)


def read_chat(value: Any) -> tuple[Json, list[str]]:
    """Read the members of a message, and warnings about those left out.

    Raises:
        Problem: `invalid_input`.
    """
    report = ReadReport()
    members: Json = _CHAT.read(value, (), report)
    return _checked(members, report), report.warnings


def read_resume(value: Any) -> tuple[Json, list[str]]:
    """Read the members of an answer, and warnings about those left out.

    `status` is always there, and so is `answer`, null included, unless the question is cancelled.

    Raises:
        Problem: `invalid_input`.
    """
    report = ReadReport()
    members: Json = _RESUME.read(value, (), report)
    if isinstance(value, dict) and isinstance(members, dict):
        members = {"status": "resolved", **members}
        if members["status"] == "cancelled":
            if "answer" in members:
                report.error(("answer",), "is not taken beside a cancellation: leave it out")
        elif "answer" not in value:
            report.error(("answer",), "is required, unless `status` is 'cancelled'")
        else:
            # Absent and null are two things here: null is an answer.
            members["answer"] = value["answer"]
    return _checked(members, report), report.warnings


def _checked(members: Json, report: ReadReport) -> Json:
    if report.count:
        raise malformed("The request does not fit: correct what `errors` names.", report.errors)
    return members


def id_in(scope: Scope) -> str | None:
    """The session that a request names by its header, or else by its query."""
    named = header(scope, _HEADER) or member_in(scope)
    return named if is_session(named) else None


def member_in(scope: Scope) -> str | None:
    """The value of `session_id` in the query, valid or not."""
    query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
    return query.get("session_id")


def fields_of(session_id: str | None) -> list[tuple[bytes, bytes]]:
    """The header that every answer about a session has."""
    return [] if session_id is None else [(_HEADER, session_id.encode("ascii"))]


@dataclass(slots=True)
class SessionRequest(Exchange):
    """One request; `session_id` is known once it was read, or made."""

    resumes: bool
    session_id: str | None = None
    came: int = field(default_factory=time.time_ns)
    """The time at which it came in, in nanoseconds since the epoch."""


def session_of(call: SessionRequest, members: Mapping[str, Any]) -> str:
    """The session of a request, by member or by header."""
    session = members.get("session_id") or call.session_id
    if session is None:
        raise malformed(
            "No session is named: send its id as `session_id`.",
            [{"pointer": "/session_id", "message": "is required"}],
        )
    call.session_id = session
    return str(session)
