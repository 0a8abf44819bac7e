"""The messages of a thread: their shapes, and those of a request as bytes (FC-02, MS-04).

Unknown roles, parts, part sources and kinds of tool call are left out with a warning, at the
nearest place that can do without them. Activity messages of a request are read and left out: they
are what a client shows, not what an agent resumes from (MS-08).
"""

from collections.abc import Container, Iterator, Sequence, Set
from typing import Any, ClassVar, Final, cast, overload

from sayso.base import jsonvalue
from sayso.base.fastrecords import from_columns
from sayso.base.records import Message
from sayso.protocol.forward_compat import (
    DROPPED,
    MAX_ID_CHARS,
    Check,
    Path,
    ReadReport,
    Shape,
    anything,
    each,
    identifier,
    obj,
    tagged,
    text,
)

_BYTES: Final[dict[str, Check]] = {"type": text, "value": text, "mimeType": text}
_SOURCE = tagged(
    "type",
    {
        "data": Shape(_BYTES, ("value", "mimeType")).read,
        "url": Shape(_BYTES, ("value",)).read,
        "file": Shape({**_BYTES, "provider": text}, ("value",)).read,
    },
    "a source",
)
_PART: Final[dict[str, Check]] = {"type": text, "id": text, "metadata": anything}
# A part without its source says nothing: it goes whole (SPEC processing, required position).
_MEDIA = Shape({**_PART, "source": _SOURCE}, ("source",)).read
_BINARY = Shape(
    {"type": text, "mimeType": text, "id": text, "url": text, "data": text, "filename": text},
    ("mimeType",),
)


def _binary(value: Any, path: Path, report: ReadReport) -> Any:
    """The retired part as the media part that says the same (FC-05)."""
    if not report.older:
        return report.drop(path, "is a content part of a retired type")
    part = _BINARY.read(value, path, report)
    mime = part.get("mimeType")
    if type(mime) is not str:
        return DROPPED
    if part.get("data"):
        source = {"type": "data", "value": part["data"], "mimeType": mime}
    elif part.get("url"):
        source = {"type": "url", "value": part["url"], "mimeType": mime}
    elif part.get("id") and not report.strict:
        return report.drop(path, "names its bytes by a bare id")
    else:
        return report.error(path, "needs one of data, url or id")
    kind = mime.partition("/")[0]
    media = {"type": kind if kind in ("image", "audio", "video") else "document", "source": source}
    if part.get("filename"):
        media["metadata"] = {"filename": part["filename"]}
    return media


_PARTS = each(
    tagged(
        "type",
        {
            "text": Shape({**_PART, "text": text}, ("text",)).read,
            **dict.fromkeys(("image", "audio", "video", "document"), _MEDIA),
            "binary": _binary,
        },
        "a content part",
    )
)


def content(value: Any, path: Path, report: ReadReport) -> Any:
    """A string or a list of content parts."""
    if type(value) is str:
        return value
    if type(value) is list:
        return _PARTS(value, path, report)
    return report.error(path, "must be a string or a list of content parts")


def _sealed(shape: Shape) -> Check:
    """As the shape reads it, without the type of a sealed value that is not there (1.1)."""

    def check(value: Any, path: Path, report: ReadReport) -> Any:
        read = shape.read(value, path, report)
        if type(read) is not dict or "encryptedValueType" not in read or "encryptedValue" in read:
            return read
        report.warn((*path, "encryptedValueType"), "names the type of no value and was left out")
        return {name: member for name, member in read.items() if name != "encryptedValueType"}

    return check


_SEAL: Final[dict[str, Check]] = {"encryptedValue": text, "encryptedValueType": text}
_FUNCTION = Shape({"name": text, "arguments": text}, ("name", "arguments"))
_CALL = _sealed(
    Shape(
        {"id": text, "type": text, "function": _FUNCTION.read, **_SEAL, "metadata": obj},
        ("id", "function"),
    )
)


def _call(value: Any, path: Path, report: ReadReport) -> Any:
    call = _CALL(value, path, report)
    if type(call) is not dict or call.get("type") == "function":
        return call
    if not report.older:
        return report.error((*path, "type"), "must be 'function'")
    if "type" not in call:
        return {**call, "type": "function"}
    return report.drop(path, "is a tool call of an unknown type")


_HEAD: Final[dict[str, Check]] = {
    "id": identifier,
    "role": text,
    "metadata": obj,
    "subagentRunId": text,
}
_NAMED: Final[dict[str, Check]] = {**_HEAD, **_SEAL, "name": text, "content": text}
_SPOKEN = _sealed(Shape(_NAMED, ("id", "content")))
message: Check = tagged(
    "role",
    {
        "system": _SPOKEN,
        "developer": _SPOKEN,
        "user": _sealed(Shape({**_NAMED, "content": content}, ("id", "content"))),
        "assistant": _sealed(Shape({**_NAMED, "toolCalls": each(_call)}, ("id",))),
        "tool": _sealed(
            Shape(
                {**_HEAD, **_SEAL, "content": content, "toolCallId": text, "error": text},
                ("id", "content", "toolCallId"),
            )
        ),
        "reasoning": _sealed(Shape({**_HEAD, **_SEAL, "content": text}, ("id", "content"))),
        "activity": Shape(
            {**_HEAD, "activityType": text, "content": obj}, ("id", "activityType", "content")
        ).read,
    },
    "a message",
)
"""A message of any role."""

_PLAIN_ROLES: Final = frozenset(("user", "assistant", "system", "developer"))


def _is_plain(value: Any) -> bool:
    """True for a message of the commonest kind, of which nothing is wrong.

    Histories are sent again with every request, and most of each is this.
    """
    if type(value) is not dict or len(value) != 3:
        return False
    try:
        name, role, words = value["id"], value["role"], value["content"]
    except KeyError:
        return False
    return (
        type(name) is str
        and 0 < len(name) <= MAX_ID_CHARS
        and "\0" not in name
        and type(words) is str
        and type(role) is str
        and role in _PLAIN_ROLES
    )


def _message(value: Any, path: Path, report: ReadReport) -> Message | None:
    before = report.count
    body = message(value, path, report)
    if report.count > before or body is DROPPED or body["role"] == "activity":
        return None
    return Message(id=body["id"], role=body["role"], body=jsonvalue.encode(body))


class Messages(Sequence[Message]):
    """The messages of a request, in order. Most are stored already, so each is made when used."""

    def __init__(self, by_id: dict[str, Message | dict[str, Any]]) -> None:
        """`by_id` has the messages in order, plain ones as they were read."""
        self._by_id = by_id
        self._order = list(by_id)
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
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        """One, or some."""
        if isinstance(index, slice):
            return tuple(self._all(self._order[index]))
        return self._all([self._order[index]])[0]

    def __eq__(self, other: object) -> bool:
        """True if they are the same as those of another sequence."""
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__: ClassVar[None]  # type: ignore[assignment]  # equal to what is not hashable

    def __repr__(self) -> str:
        """As the tuple that it stands for."""
        return repr(tuple(self))

    @property
    def ids(self) -> list[str]:
        """The ids in order."""
        return self._order

    def unknown(self, ids_known: Set[str]) -> tuple[Message, ...]:
        """Those whose ids are not known."""
        return tuple(self._all([name for name in self._order if name not in ids_known]))

    def saying(self, ids_known: Container[str]) -> list[Message]:
        """The messages of users and tools among those whose ids are known."""
        by_id = self._by_id
        return self._all(
            [
                name
                for name in self._order
                if name in ids_known
                and (read.role if isinstance(read := by_id[name], Message) else read["role"])
                in ("user", "tool")
            ]
        )

    def calling(self) -> list[Message]:
        """The assistant messages that may make tool calls: none of them is plain."""
        return [
            message
            for message in self._by_id.values()
            if isinstance(message, Message)
            and message.role == "assistant"
            and message.body.find(b'"toolCalls"') >= 0
        ]

    def _all(self, names: list[str]) -> list[Message]:
        """Those messages, of which the plain ones are made together."""
        if not names:
            return []
        by_id = self._by_id
        plain = [message for name in names if type(message := by_id[name]) is dict]
        if len(plain) == 1:  # as in most requests
            alone = plain[0]
            body = jsonvalue.encode(alone)
            by_id[alone["id"]] = Message(id=alone["id"], role=alone["role"], body=body)
        elif plain:
            ids, roles = ([message[member] for message in plain] for member in ("id", "role"))
            bodies = jsonvalue.encode_all(plain)
            shown = ["visible"] * len(plain)
            by_id.update(zip(ids, from_columns(Message, (ids, roles, bodies, shown)), strict=True))
        return cast(list[Message], [by_id[name] for name in names])


def read_messages(values: list[Any], path: Path, report: ReadReport) -> Messages:
    """The messages in order; one id twice is one message if equal, else malformed.

    Malformed ones are errors in `report`, and left out.
    """
    by_id: dict[str, Message | dict[str, Any]] = {}
    for index, value in enumerate(values):
        read: Message | dict[str, Any] | None
        if _is_plain(value):
            read, name = value, value["id"]
        else:
            read = _message(value, (*path, index), report)
            if read is None:
                continue
            name = read.id
        first = by_id.setdefault(name, read)
        if first is not read and not jsonvalue.equal(_value(first), _value(read)):
            report.error((*path, index, "id"), "is the id of a different message in this request")
    return Messages(by_id)


def _value(message: Message | dict[str, Any]) -> Any:
    return jsonvalue.decode(message.body) if isinstance(message, Message) else message
