"""The messages of a request, each as the bytes of its own JSON object (rules.md FC-02, MS-04).

Unknown roles, parts, part sources and kinds of tool call are left out with a warning, at the
nearest place that can do without them. Activity messages are read and left out: they are what a
client shows, not what an agent resumes from (MS-08).
"""

from collections.abc import Iterator, Sequence, Set
from typing import Any, Final, cast, overload

from sayso import jsonvalue
from sayso.protocol.forward_compat import (
    DROPPED,
    LONGEST_ID,
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
from sayso.rows import records

__all__ = ["Messages", "media_of", "read_messages"]


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


def media_of(value: Any, path: Path, findings: Findings) -> Any:
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
        "binary": media_of,
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


_PLAIN_ROLES: Final = frozenset(("user", "assistant", "system", "developer"))


def _is_plain(value: Any) -> bool:
    """Whether it is a message of the commonest kind, of which nothing is wrong.

    Histories are sent again with every request, and most of each is this.
    """
    if type(value) is not dict or len(value) != 3:
        return False
    try:
        named, role, content = value["id"], value["role"], value["content"]
    except KeyError:
        return False
    return (
        type(named) is str
        and 0 < len(named) <= LONGEST_ID
        and "\0" not in named
        and type(content) is str
        and type(role) is str
        and role in _PLAIN_ROLES
    )


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


class Messages(Sequence[Message]):
    """The messages of a request, in order. Most are stored already, so each is made when used."""

    def __init__(self, found: dict[str, Message | dict[str, Any]]) -> None:
        """`found` are the messages by id, plain ones as they were read."""
        self._found = found
        self._order = list(found)
        self._made: list[Message] | None = None

    def __len__(self) -> int:
        """How many there are."""
        return len(self._order)

    def __iter__(self) -> Iterator[Message]:
        """All of them."""
        if self._made is None:
            self._made = self._all(self._order)
        return iter(self._made)

    @overload
    def __getitem__(self, at: int) -> Message: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, at: int | slice) -> Message | tuple[Message, ...]:
        """One, or some."""
        if isinstance(at, slice):
            return tuple(self._all(self._order[at]))
        return self._all([self._order[at]])[0]

    def __eq__(self, other: object) -> bool:
        """Whether they are the same as those of another sequence."""
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """As the tuple that it stands for."""
        return repr(tuple(self))

    @property
    def ids(self) -> list[str]:
        """The ids in order."""
        return self._order

    def unknown(self, known: Set[str]) -> tuple[Message, ...]:
        """Those whose ids are not known."""
        return tuple(self._all([one for one in self._order if one not in known]))

    def _all(self, names: list[str]) -> list[Message]:
        """Those messages, of which the plain ones are made together."""
        found = self._found
        plain = [one for name in names if type(one := found[name]) is dict]
        if plain:
            ids, roles = ([one[member] for one in plain] for member in ("id", "role"))
            bodies = jsonvalue.encode_each(plain)
            shown = ["visible"] * len(plain)
            found.update(zip(ids, records(Message, (ids, roles, bodies, shown)), strict=True))
        return cast(list[Message], [found[name] for name in names])


def read_messages(values: list[Any], path: Path, findings: Findings) -> Messages:
    """The messages in order; one id twice is one message if equal, else malformed.

    Malformed ones are errors in `findings`, and left out.
    """
    found: dict[str, Message | dict[str, Any]] = {}
    for at, value in enumerate(values):
        message: Message | dict[str, Any] | None
        if _is_plain(value):
            message, named = value, value["id"]
        else:
            message = _message(value, (*path, at), findings)
            if message is None:
                continue
            named = message.id
        first = found.setdefault(named, message)
        if first is not message and not jsonvalue.equal(_value(first), _value(message)):
            findings.error((*path, at, "id"), "is the id of a different message in this request")
    return Messages(found)


def _value(message: Message | dict[str, Any]) -> Any:
    return jsonvalue.decode(message.body) if isinstance(message, Message) else message
