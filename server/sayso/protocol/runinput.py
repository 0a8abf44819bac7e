"""`RunAgentInput`: the one request of the protocol, read strictly and forgivingly at once.

Strict: a known member with a wrong value refuses the request, and every such member is named.
Forgiving: what the protocol does not describe is left out with a warning (FC-01 to
FC-10). Of a key that comes twice in one object the last counts, as every peer's parser has it. An
integer that no 64 bits hold is a double, if it is one; if it would be rounded it is refused.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from sayso.base import digits, jsonvalue
from sayso.base.codes import Code
from sayso.base.errors import Problem
from sayso.base.fastrecords import fast
from sayso.base.limits import Limits
from sayso.base.records import Message
from sayso.protocol.forward_compat import (
    Check,
    Path,
    ReadReport,
    Shape,
    anything,
    each,
    flag,
    identifier,
    obj,
    text,
    thread_id,
)
from sayso.protocol.legacy import Command, read_command
from sayso.protocol.messages import read_messages

_VERSION = re.compile(r"([0-9]+)\.([0-9]+)", re.ASCII)


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeEntry:
    """One answer of a request; `payload` is None when absent, null (RE-05) or cancelled (RE-04).

    `exact` are pointers to the integers of the payload that were spelt out in digits beside it; the
    payload has those digits already. `shown` is the digest of the question that was answered.
    `unsealed` is the payload as it came, of a question whose secrets are kept apart from it.
    """

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Any = None
    metadata: dict[str, Any] | None = None
    exact: frozenset[str] = frozenset()
    shown: str | None = None
    unsealed: Any = None


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """A request to run an agent, as the gate and the engine see it.

    `state` and `forwarded_props` are None when they were absent or null, which means the empty
    object for the state (FC-04, FC-06); `null_state`: it was null, so that the sender holds none.
    `warnings` name what was left out, for the log.
    """

    thread_id: str
    run_id: str
    messages: Sequence[Message] = ()
    state: Any = None
    null_state: bool = False
    tools: tuple[dict[str, Any], ...] = ()
    context: tuple[dict[str, Any], ...] = ()
    forwarded_props: Any = None
    resume: tuple[ResumeEntry, ...] = ()
    protocol_version: str | None = None
    parent_run_id: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def speaks_v1(self) -> bool:
        """True if the peer declared line 1.0 or newer, or a version of no known grammar (VN-03)."""
        if self.protocol_version is None:
            return False
        match = _VERSION.fullmatch(self.protocol_version)
        return match is None or match[1].strip("0") != ""

    @property
    def speaks_v1_1(self) -> bool:
        """True if the peer declared 1.1 or a later minor."""
        return _minor(self.protocol_version) > 0

    @property
    def command(self) -> Command | None:
        """The answer in `forwardedProps.command`, if any; a `resume` list wins over it (LG-07)."""
        if self.resume or not self.forwarded_props:
            return None
        return read_command(self.forwarded_props)

    @property
    def answered_ids(self) -> list[str]:
        """The interrupts that its answers name."""
        command = self.command
        return [entry.interrupt_id for entry in self.resume] if command is None else command.names

    @property
    def user_text(self) -> str:
        """The text of the newest user message, its text parts on lines of their own."""
        for message in reversed(self.messages):
            if message.role == "user":
                content = jsonvalue.decode(message.body)["content"]
                if isinstance(content, str):
                    return content
                return "\n".join(part["text"] for part in content if part["type"] == "text")
        return ""


def read_entry(members: dict[str, Any]) -> ResumeEntry:
    """An entry from its members, which were checked."""
    return ResumeEntry(
        interrupt_id=members["interruptId"],
        status=members["status"],
        payload=None if members["status"] == "cancelled" else members.get("payload"),
        metadata=members.get("metadata"),
        exact=members.get("exact", frozenset()),
        shown=members.get("shown"),
    )


_TOOL = Shape(
    {"name": text, "description": text, "parameters": anything, "metadata": obj},
    ("name", "description"),
)
_CONTEXT = Shape({"description": text, "value": text}, ("description", "value"))
_ANSWER: Final[dict[str, Check]] = {
    "status": flag("resolved", "cancelled"),
    "payload": anything,
    "metadata": obj,
}


_APART: Final = frozenset({"exact", "shown"})
"""The members of an answer's `metadata.sayso` that are no metadata to keep."""


def answer_check(**more: Check) -> Check:
    """A check of one answer, with the members that it has beside status, payload and metadata.

    Integers that `metadata.sayso.exact` spells out are put into the payload: what is compared,
    checked, kept and run has their digits, whatever the client's JSON made of them.
    `metadata.sayso.shown` is the digest of the question as it was answered.
    """
    shape = Shape({**more, **_ANSWER}, (*more, "status"))

    def check(value: Any, path: Path, findings: ReadReport) -> Any:
        members = shape.read(value, path, findings)
        metadata = members.get("metadata") if type(members) is dict else None
        ours = metadata.get("sayso") if type(metadata) is dict else None
        if type(metadata) is not dict or type(ours) is not dict or not _APART & ours.keys():
            return members
        where = (*path, "metadata", "sayso")
        shown, texts = ours.get("shown"), ours.get("exact", {})
        if type(shown) is not str and "shown" in ours:
            return findings.error((*where, "shown"), "must be the digest of the question, a text")
        where = (*where, "exact")
        if type(texts) is not dict:
            return findings.error(where, "must be an object of texts by JSON Pointer")
        members = {**members, "metadata": _kept(metadata) or None, "shown": shown}
        if members.get("status") == "cancelled" or "exact" not in ours:
            return members
        payload, wrong = digits.restore_integers(members.get("payload"), texts)
        for pointer, message in wrong.items():
            findings.error((*where, pointer), message)
        return {**members, "payload": payload, "exact": frozenset(texts)}

    return check


def _kept(metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata of an answer without the members of ours that are read apart from it."""
    ours = metadata.get("sayso")
    if type(ours) is not dict or not _APART & ours.keys():
        return metadata
    rest = {name: item for name, item in ours.items() if name not in _APART}
    kept = {name: item for name, item in metadata.items() if name != "sayso"}
    return {**kept, "sayso": rest} if rest else kept


def check_metadata(entry: Any, path: Path, limits: Limits, findings: ReadReport) -> None:
    """Note if the metadata of an answer, as it was sent, is longer than a question may keep."""
    metadata = entry.get("metadata") if type(entry) is dict else None
    if type(metadata) is dict and len(jsonvalue.canonical(_kept(metadata))) > limits.metadata:
        findings.error((*path, "metadata"), f"has more than {limits.metadata} bytes as JSON")


read_resume_entry: Check = answer_check(interruptId=identifier)
"""One entry of `resume`, or of a list of answers."""
_ENTRIES = each(read_resume_entry)
_FORWARDED: Final[Path] = ("forwardedProps", "resume")


def _list(value: Any, path: Path, findings: ReadReport) -> Any:
    return value if type(value) is list else findings.error(path, "must be a list")


_INPUT = Shape(
    {
        "threadId": thread_id,
        "runId": identifier,
        "protocolVersion": text,
        "parentRunId": identifier,
        "state": anything,
        "messages": _list,
        "tools": each(_TOOL.read),
        "context": each(_CONTEXT.read),
        "forwardedProps": anything,
        "resume": _ENTRIES,
    },
    ("threadId", "runId", "messages"),
)


def decode_run_input(body: bytes, limits: Limits) -> RunInput:
    """Read a request body.

    Raises:
        Problem: `body_too_large`, `malformed_json`, `unsupported_version`, or `invalid_input`
            with a JSON Pointer for everything that is wrong; no value of the request is echoed.
    """
    if len(body) > limits.body:
        raise Problem(
            Code.BODY_TOO_LARGE,
            f"the body has {len(body)} bytes; send at most {limits.body}",
        )
    return read_run_input(parse_json(body, limits), limits)


def read_run_input(value: Any, limits: Limits) -> RunInput:
    """Read a request from its JSON, which may have come inside of something else.

    Raises:
        Problem: `unsupported_version` or `invalid_input`, as `decode_run_input`.
    """
    findings = ReadReport(most=limits.errors)
    _refuse_newer_line(value)
    _refuse_more(value, limits)
    members = _INPUT.read(value, (), findings)
    messages: Sequence[Message] = ()
    if type(members) is dict:
        messages = _messages(members.get("messages"), findings)
        _check_answers(value.get("resume"), ("resume",), limits, findings)
        if not members.get("resume"):
            members = {**members, "resume": _forwarded(members.get("forwardedProps"), findings)}
            _check_answers(members["resume"], _FORWARDED, limits, findings)
        _warn_of_version(members.get("protocolVersion"), findings)
        context = members.get("context")
        if context and not findings.count and len(jsonvalue.encode(context)) > limits.context:
            findings.error(("context",), f"has more than {limits.context} bytes as JSON")
        props = members.get("forwardedProps")
        if members.get("resume") and props and read_command(props) is not None:
            findings.warn(("forwardedProps", "command"), "was ignored: `resume` is there and wins")
    if findings.count:
        raise Problem(
            Code.INVALID_INPUT,
            "the body is not a valid RunAgentInput: correct what `errors` names and send it again",
            errors=tuple(findings.errors),
        )
    return RunInput(
        thread_id=members["threadId"],
        run_id=members["runId"],
        messages=messages,
        state=members.get("state"),
        null_state=value.get("state", {}) is None,
        tools=tuple(members.get("tools", ())),
        context=tuple(members.get("context", ())),
        forwarded_props=members.get("forwardedProps"),
        resume=tuple(read_entry(entry) for entry in members.get("resume", ())),
        protocol_version=members.get("protocolVersion"),
        parent_run_id=members.get("parentRunId"),
        warnings=tuple(findings.warnings),
    )


def check_state_size(state: Any, pointer: str, limits: Limits) -> None:
    """Refuse a state, or a patch of one, that is too large to come in with a request.

    Raises:
        Problem: `invalid_input`.
    """
    if len(jsonvalue.encode(state)) > limits.state:
        message = f"has more than {limits.state} bytes as JSON"
        raise Problem(
            Code.INVALID_INPUT,
            f"The state that this request brings is too large: send at most {limits.state} bytes "
            "that the thread does not have.",
            errors=({"pointer": pointer, "message": message},),
        )


def parse_json(body: bytes, limits: Limits) -> Any:
    """The value of a body; Problem `malformed_json` if it is none.

    Problem `invalid_input` if it nests too deeply, or has an integer of which digits would be lost.
    """
    try:
        value = jsonvalue.decode(body)
    except ValueError as error:
        if "depth" in str(error) or "ecursion" in str(error):
            raise _too_deep(limits) from None
        raise Problem(Code.MALFORMED_JSON, f"the body is not JSON: {error}") from None
    if jsonvalue.exceeds_depth(value, limits.depth):
        raise _too_deep(limits)
    if jsonvalue.loses_digits(body) and (lost := digits.lost_digits(body)):
        text = "is an integer beyond 64 bits: send it as text, or as a number with an exponent"
        raise Problem(
            Code.INVALID_INPUT,
            "the body has integers that this server would round, so nothing was done with it",
            errors=tuple(
                {"pointer": pointer, "message": text} for pointer in lost[: limits.errors]
            ),
        )
    return value


def _too_deep(limits: Limits) -> Problem:
    return Problem(
        Code.INVALID_INPUT,
        f"the body is nested too deeply: use at most {limits.depth} levels",
        errors=({"pointer": "", "message": f"nests more than {limits.depth} levels"},),
    )


def _refuse_newer_line(value: Any) -> None:
    """A major line that we do not speak may have any shape, so it is judged first (VN-05)."""
    if type(value) is not dict:
        return
    version = value.get("protocolVersion", value.get("protocol_version"))
    match = _VERSION.fullmatch(version) if type(version) is str else None
    if match is not None and match[1].lstrip("0") not in ("", "1"):
        raise Problem(
            Code.UNSUPPORTED_VERSION,
            "this server speaks line 1 of the protocol: declare 1.0, or no version",
        )


def _refuse_more(value: Any, limits: Limits) -> None:
    """More answers than can be meant are not looked at one by one."""
    most = max(limits.answers, limits.open_interrupts)
    props = value.get("forwardedProps") if type(value) is dict else None
    for holder, path in ((value, ("resume",)), (props, _FORWARDED)):
        entries = holder.get("resume") if type(holder) is dict else None
        if type(entries) is list and len(entries) > most:
            message = f"has {len(entries)} answers; send at most {most} in one request"
            raise Problem(
                Code.INVALID_INPUT,
                "the body has more answers than one request may have",
                errors=({"pointer": jsonvalue.pointer(path), "message": message},),
            )


def _minor(version: str | None) -> int:
    """The minor of a version of line 1; 0 for every other."""
    if version is None or version == "1.0":
        return 0
    match = _VERSION.fullmatch(version)
    if match is None or match[1].lstrip("0") != "1":
        return 0
    return int(match[2][-6:])


def _warn_of_version(version: Any, findings: ReadReport) -> None:
    if type(version) is not str:
        return
    match = _VERSION.fullmatch(version)
    if match is None:
        findings.warn(("protocolVersion",), "is not MAJOR.MINOR and is served as 1.0")
    elif _minor(version) > 1:
        findings.warn(("protocolVersion",), "is newer than 1.1 and is served as 1.1")


def _messages(values: Any, findings: ReadReport) -> Sequence[Message]:
    if type(values) is not list:
        return ()
    return read_messages(values, ("messages",), findings)


def _forwarded(props: Any, findings: ReadReport) -> Any:
    """Entries in `forwardedProps.resume`, where SDKs put them that cannot send a `resume` (F6).

    A list whose items all name an interrupt; anything else by that name is the application's own.
    """
    entries = props.get("resume") if type(props) is dict else None
    if type(entries) is not list:
        return []
    if not all(type(entry) is dict and "interruptId" in entry for entry in entries):
        return []
    return _ENTRIES(entries, _FORWARDED, findings)


def _check_answers(entries: Any, path: Path, limits: Limits, findings: ReadReport) -> None:
    for index, entry in enumerate(entries if type(entries) is list else ()):
        check_metadata(entry, (*path, index), limits, findings)
        if type(entry) is not dict or "payload" not in entry:
            continue
        if entry.get("status") == "cancelled":
            findings.warn((*path, index, "payload"), "came with a cancelled entry and says nothing")
        if len(jsonvalue.canonical(entry["payload"])) > limits.payload:
            findings.error(
                (*path, index, "payload"), f"has more than {limits.payload} bytes as JSON"
            )
