"""The messages of a request, each as the bytes of its own JSON object (rules.md FC-02, MS-04).

Unknown roles, parts, part sources and kinds of tool call are left out with a warning, at the
nearest place that can do without them. Activity messages are read and left out: they are what a
client shows, not what an agent resumes from (MS-08).
"""

from typing import Any

from sayso import jsonvalue
from sayso.protocol.forward_compat import (
    DROPPED,
    Check,
    Findings,
    Path,
    Shape,
    anything,
    each,
    identifier,
    obj,
    text,
)
from sayso.records import Message

__all__ = ["read_messages"]


def _tagged(shapes: dict[str, Check], what: str) -> Check:
    """An object that its `type` picks a shape for; an unknown type is left out."""

    def check(value: Any, path: Path, findings: Findings) -> Any:
        if type(value) is not dict:
            return findings.error(path, "must be an object")
        tag = value.get("type")
        if type(tag) is not str:
            return findings.error((*path, "type"), "must be a string")
        shape = shapes.get(tag)
        if shape is None:
            return findings.warn(path, f"is {what} of an unknown type and was left out")
        return shape(value, path, findings)

    return check


_SOURCE = _tagged(
    {
        "data": Shape({"type": text, "value": text, "mimeType": text}, ("value", "mimeType")).read,
        "url": Shape({"type": text, "value": text, "mimeType": text}, ("value",)).read,
        "file": Shape(
            {"type": text, "value": text, "mimeType": text, "provider": text}, ("value",)
        ).read,
    },
    "a source",
)
_MEDIA = Shape({"type": text, "id": text, "source": _SOURCE, "metadata": anything}, ("source",))
_TEXT = Shape({"type": text, "id": text, "text": text, "metadata": anything}, ("text",))
_BINARY = Shape(
    {"type": text, "mimeType": text, "id": text, "url": text, "data": text, "filename": text},
    ("mimeType",),
)


def _media(value: Any, path: Path, findings: Findings) -> Any:
    part = _MEDIA.read(value, path, findings)
    # A part without its source says nothing: it goes whole (SPEC processing, required position).
    return DROPPED if part is DROPPED or part.get("source") is DROPPED else part


def _binary(value: Any, path: Path, findings: Findings) -> Any:
    """The retired part as the media part that says the same (FC-05)."""
    part = _BINARY.read(value, path, findings)
    mime = part.get("mimeType")
    if type(mime) is not str:
        return DROPPED
    if part.get("data"):
        source = {"type": "data", "value": part["data"], "mimeType": mime}
    elif part.get("url"):
        source = {"type": "url", "value": part["url"], "mimeType": mime}
    elif part.get("id"):
        return findings.warn(path, "names its bytes by a bare id and was left out")
    else:
        return findings.error(path, "needs one of data, url or id")
    kind = mime.partition("/")[0]
    media = {"type": kind if kind in ("image", "audio", "video") else "document", "source": source}
    if part.get("filename"):
        media["metadata"] = {"filename": part["filename"]}
    return media


_PART = _tagged(
    {
        "text": _TEXT.read,
        "image": _media,
        "audio": _media,
        "video": _media,
        "document": _media,
        "binary": _binary,
    },
    "a content part",
)
_PARTS = each(_PART)


def _content(value: Any, path: Path, findings: Findings) -> Any:
    if type(value) is str:
        return value
    if type(value) is list:
        return _PARTS(value, path, findings)
    return findings.error(path, "must be a string or a list of parts")


_FUNCTION = Shape({"name": text, "arguments": text}, ("name", "arguments"))
_CALL = Shape(
    {
        "id": text,
        "type": text,
        "function": _FUNCTION.read,
        "encryptedValue": text,
        "metadata": obj,
    },
    ("id", "function"),
)


def _call(value: Any, path: Path, findings: Findings) -> Any:
    call = _CALL.read(value, path, findings)
    if call is DROPPED:
        return DROPPED
    kind = call.get("type")
    if kind == "function" or kind is DROPPED:
        return call
    if kind is None:
        return {**call, "type": "function"}
    return findings.warn(path, "is a tool call of an unknown type and was left out")


_OWN: dict[str, Check] = {
    "id": identifier,
    "role": text,
    "encryptedValue": text,
    "metadata": obj,
    "subagentRunId": text,
}
_PLAIN = Shape({**_OWN, "name": text, "content": text}, ("id", "content"))
_ROLES = {
    "user": Shape({**_OWN, "name": text, "content": _content}, ("id", "content")),
    "system": _PLAIN,
    "developer": _PLAIN,
    "assistant": Shape({**_OWN, "name": text, "content": text, "toolCalls": each(_call)}, ("id",)),
    "tool": Shape(
        {**_OWN, "content": _content, "toolCallId": text, "error": text},
        ("id", "content", "toolCallId"),
    ),
    "reasoning": Shape({**_OWN, "content": text}, ("id", "content")),
    "activity": Shape(
        {
            "id": identifier,
            "role": text,
            "activityType": text,
            "content": obj,
            "metadata": obj,
            "subagentRunId": text,
        },
        ("id", "activityType", "content"),
    ),
}


def _message(value: Any, path: Path, findings: Findings) -> Message | None:
    if type(value) is not dict:
        findings.error(path, "must be an object")
        return None
    role = value.get("role")
    if type(role) is not str:
        findings.error((*path, "role"), "is required" if role is None else "must be a string")
        return None
    shape = _ROLES.get(role)
    if shape is None:
        findings.warn(path, "has an unknown role and was left out")
        return None
    before = findings.count
    body = shape.read(value, path, findings)
    if findings.count > before or role == "activity":
        return None
    return Message(id=body["id"], role=role, body=jsonvalue.encode(body))


def read_messages(values: list[Any], path: Path, findings: Findings) -> tuple[Message, ...]:
    """The messages in order; one id twice is one message if equal, else malformed.

    Malformed ones are errors in `findings`, and left out.
    """
    found: dict[str, Message] = {}
    for at, value in enumerate(values):
        message = _message(value, (*path, at), findings)
        if message is None:
            continue
        first = found.setdefault(message.id, message)
        if first.body != message.body and not jsonvalue.equal(
            jsonvalue.decode(first.body), jsonvalue.decode(message.body)
        ):
            findings.error((*path, at, "id"), "is the id of a different message in this request")
    return tuple(found.values())
