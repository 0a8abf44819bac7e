"""The messages of a request, each as the bytes of its own JSON object (FC-02, MS-04).

Unknown roles, parts, part sources and kinds of tool call are left out with a warning, at the
nearest place that can do without them. Activity messages are read and left out: they are what a
client shows, not what an agent resumes from (MS-08).
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
    text,
)


def _tagged(shapes: dict[str, Check], what: str) -> Check:
    """An object that its `type` picks a shape for; an unknown type is left out."""

    def check(value: Any, path: Path, findings: ReadReport) -> Any:
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


def _media(value: Any, path: Path, findings: ReadReport) -> Any:
    part = _MEDIA.read(value, path, findings)
    # A part without its source says nothing: it goes whole (SPEC processing, required position).
    return DROPPED if part is DROPPED or part.get("source") is DROPPED else part


def media_of(value: Any, path: Path, findings: ReadReport) -> Any:
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


def _content(value: Any, path: Path, findings: ReadReport) -> Any:
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
        "encryptedValueType": text,
        "metadata": obj,
    },
    ("id", "function"),
)


def _typed(value: dict[str, Any], path: Path, findings: ReadReport) -> dict[str, Any]:
    """Without the type of a sealed value that is not there (1.1, Reasoning)."""
    if "encryptedValueType" not in value or "encryptedValue" in value:
        return value
    findings.warn((*path, "encryptedValueType"), "names the type of no value and was left out")
    return {name: member for name, member in value.items() if name != "encryptedValueType"}


def _call(value: Any, path: Path, findings: ReadReport) -> Any:
    call = _CALL.read(value, path, findings)
    if call is DROPPED:
        return DROPPED
    call = _typed(call, path, findings)
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
    "encryptedValueType": text,
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
        and 0 < len(named) <= MAX_ID_CHARS
        and "\0" not in named
        and type(content) is str
        and type(role) is str
        and role in _PLAIN_ROLES
    )


def _message(value: Any, path: Path, findings: ReadReport) -> Message | None:
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
    body = _typed(body, path, findings)
    return Message(id=body["id"], role=role, body=jsonvalue.encode(body))


class Messages(Sequence[Message]):
    """The messages of a request, in order. Most are stored already, so each is made when used."""

    def __init__(self, by_id: dict[str, Message | dict[str, Any]]) -> None:
        """`found` are the messages by id, plain ones as they were read."""
        self._found = by_id
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
        return self._all(
            [
                name
                for name in self._order
                if name in ids_known and _role(self._found[name]) in ("user", "tool")
            ]
        )

    def calling(self) -> list[Message]:
        """The assistant messages that may make tool calls: none of them is plain."""
        return [
            message
            for message in self._found.values()
            if isinstance(message, Message)
            and message.role == "assistant"
            and message.body.find(b'"toolCalls"') >= 0
        ]

    def _all(self, names: list[str]) -> list[Message]:
        """Those messages, of which the plain ones are made together."""
        messages_by_id = self._found
        plain = [message for name in names if type(message := messages_by_id[name]) is dict]
        if plain:
            ids, roles = ([message[member] for message in plain] for member in ("id", "role"))
            bodies = jsonvalue.encode_all(plain)
            shown = ["visible"] * len(plain)
            messages_by_id.update(
                zip(ids, from_columns(Message, (ids, roles, bodies, shown)), strict=True)
            )
        return cast(list[Message], [messages_by_id[name] for name in names])


def read_messages(values: list[Any], path: Path, findings: ReadReport) -> Messages:
    """The messages in order; one id twice is one message if equal, else malformed.

    Malformed ones are errors in `findings`, and left out.
    """
    by_id: dict[str, Message | dict[str, Any]] = {}
    for index, value in enumerate(values):
        message: Message | dict[str, Any] | None
        if _is_plain(value):
            message, named = value, value["id"]
        else:
            message = _message(value, (*path, index), findings)
            if message is None:
                continue
            named = message.id
        first = by_id.setdefault(named, message)
        if first is not message and not jsonvalue.equal(_value(first), _value(message)):
            findings.error((*path, index, "id"), "is the id of a different message in this request")
    return Messages(by_id)


def _role(message: Message | dict[str, Any]) -> str:
    return message.role if isinstance(message, Message) else cast(str, message["role"])


def _value(message: Message | dict[str, Any]) -> Any:
    return jsonvalue.decode(message.body) if isinstance(message, Message) else message
