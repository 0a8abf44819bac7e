"""The requests and errors of the session dialect: their members, their header, their problems."""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import orjson

from sayso.errors import Code, Problem
from sayso.http.asgi import Scope, Send, header
from sayso.http.problems import error_fields
from sayso.http.rest import refuse
from sayso.protocol.forward_compat import Findings, Path, Shape, anything, flag, identifier, text

__all__ = [
    "fields_of",
    "id_in",
    "is_session",
    "member_in",
    "misfit",
    "read_chat",
    "read_resume",
    "say",
    "told_of",
]

Json = dict[str, Any]
_HEADER: Final = b"x-session-id"
_ID: Final = re.compile(r"[\x21-\x7e]{1,512}")
_NOT_FOUND: Final = (Code.UNKNOWN_THREAD, Code.UNKNOWN_INTERRUPT, Code.INTERRUPT_EXPIRED)


def is_session(value: Any) -> bool:
    """Whether a value can be a session's id, which has to fit into a header."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _session(value: Any, path: Path, findings: Findings) -> Any:
    if is_session(value):
        return value
    return findings.error(path, "must have 1 to 512 characters of visible ASCII")


def _yes_or_no(value: Any, path: Path, findings: Findings) -> Any:
    return value if type(value) is bool else findings.error(path, "must be true or false")


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
        "stream": _yes_or_no,
    }
)


def read_chat(value: Any) -> tuple[Json, list[str]]:
    """The members of a message, and what was left out; raises Problem `invalid_input`."""
    findings = Findings()
    members: Json = _CHAT.read(value, (), findings)
    return _checked(members, findings), findings.warnings


def read_resume(value: Any) -> tuple[Json, list[str]]:
    """The members of an answer, of which `status` is always there, and what was left out.

    `answer` is there, null included, unless the question is cancelled. Raises Problem.
    """
    findings = Findings()
    members: Json = _RESUME.read(value, (), findings)
    if isinstance(value, dict) and isinstance(members, dict):
        members = {"status": "resolved", **members}
        if members["status"] == "cancelled":
            if "answer" in members:
                findings.error(("answer",), "is not taken beside a cancellation: leave it out")
        elif "answer" not in value:
            findings.error(("answer",), "is required, unless `status` is 'cancelled'")
        else:
            # Absent and null are two things here: null is an answer.
            members["answer"] = value["answer"]
    return _checked(members, findings), findings.warnings


def _checked(members: Json, findings: Findings) -> Json:
    if findings.count:
        raise refuse("The request does not fit: correct what `errors` names.", findings.errors)
    return members


def id_in(scope: Scope) -> str | None:
    """The session that a request names by its header, or else by its query."""
    named = header(scope, _HEADER) or member_in(scope)
    return named if is_session(named) else None


def member_in(scope: Scope) -> str | None:
    """What the query has as `session_id`, whatever it is."""
    query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
    return query.get("session_id")


def fields_of(session_id: str | None) -> list[tuple[bytes, bytes]]:
    """The header that every answer about a session has."""
    return [] if session_id is None else [(_HEADER, session_id.encode("ascii"))]


def told_of(problem: Problem, *, resumes: bool) -> tuple[str, Problem]:
    """A problem's `detail` in the words of this dialect, and the problem with its status there."""
    if resumes and problem.code in _NOT_FOUND:
        return "checkpoint not found", _as(problem, Code.UNKNOWN_INTERRUPT)
    if resumes and problem.code in (Code.ALREADY_RESOLVED, Code.THREAD_BUSY):
        # A thread that waited when it was read and runs by now was resumed by somebody.
        return "already resumed", problem
    if problem.code is Code.UNKNOWN_THREAD:
        return "session not found", problem
    return problem.detail, problem


def misfit(problem: Problem, takes: str) -> Problem:
    """An answer that does not fit, told to somebody who sent one string, not all answers."""
    detail = (
        f"This answer does not fit: the question takes {takes}. Nothing was taken; send another."
    )
    return Problem(problem.code, detail, errors=problem.errors, more=problem.more)


def _as(problem: Problem, code: Code) -> Problem:
    """The problem under the status of another code; its own one stays readable."""
    return Problem(
        code,
        problem.detail,
        errors=problem.errors,
        more={**problem.more, "code": problem.code.value},
    )


async def say(detail: str, problem: Problem, session_id: str | None, send: Send) -> None:
    """Answer with a problem about a session, if there is one."""
    body: Json = {
        "code": problem.code.value,
        **problem.more,
        "detail": detail,
        "message": problem.detail,
    }
    if problem.errors:
        body["errors"] = [_at_answer(error) for error in problem.errors]
    data = orjson.dumps(body)
    fields = [*error_fields(problem, b"application/json", data), *fields_of(session_id)]
    await send({"type": "http.response.start", "status": problem.status, "headers": fields})
    await send({"type": "http.response.body", "body": data, "more_body": False})


def _at_answer(error: Mapping[str, str]) -> dict[str, str]:
    """The error with its pointer into what the client sent, where a payload is the `answer`."""
    pointer = error["pointer"]
    for prefix in ("/resume/0/payload", "/payload"):
        if pointer.startswith(prefix):
            pointer = "/answer" + pointer.removeprefix(prefix)
            break
    return {**error, "pointer": pointer}
