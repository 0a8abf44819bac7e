"""`RunAgentInput`: the one request of the protocol, read strictly and forgivingly at once.

Strict: a known member with a wrong value refuses the request, and every such member is named.
Forgiving: what the protocol does not describe is left out with a warning (rules.md FC-01 to
FC-10). Of a key that comes twice in one object the last counts, as every peer's parser has it;
integers beyond 64 bits become floating-point numbers.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from sayso import jsonvalue
from sayso.errors import Code, Problem
from sayso.limits import Limits
from sayso.making import quick
from sayso.protocol.forward_compat import (
    Findings,
    Path,
    Shape,
    anything,
    each,
    flag,
    identifier,
    obj,
    text,
)
from sayso.protocol.legacy import Command, read_command
from sayso.protocol.messages import read_messages
from sayso.records import Message

__all__ = [
    "RESUME_ENTRY",
    "ResumeEntry",
    "RunInput",
    "decode_run_input",
    "parse_json",
    "read_entry",
    "read_run_input",
]

_VERSION = re.compile(r"([0-9]+)\.([0-9]+)", re.ASCII)


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeEntry:
    """One answer of a request; `payload` is None when absent, null (RE-05) or cancelled (RE-04)."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Any = None
    metadata: dict[str, Any] | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """A request to run an agent, as the gate and the engine see it.

    `state` and `forwarded_props` are None when they were absent or null, which means the empty
    object for the state (FC-04, FC-06). `warnings` name what was left out, for the log.
    """

    thread_id: str
    run_id: str
    messages: Sequence[Message] = ()
    state: Any = None
    tools: tuple[dict[str, Any], ...] = ()
    context: tuple[dict[str, Any], ...] = ()
    forwarded_props: Any = None
    resume: tuple[ResumeEntry, ...] = ()
    protocol_version: str | None = None
    parent_run_id: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def versioned(self) -> bool:
        """Whether the peer declared line 1.0 or newer, or a version of no known grammar (VN-03)."""
        if self.protocol_version is None:
            return False
        match = _VERSION.fullmatch(self.protocol_version)
        return match is None or match[1].strip("0") != ""

    @property
    def command(self) -> Command | None:
        """The answer in `forwardedProps.command`, if any; a `resume` list wins over it (LG-07)."""
        return None if self.resume else read_command(self.forwarded_props)

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
    )


_TOOL = Shape(
    {"name": text, "description": text, "parameters": anything, "metadata": obj},
    ("name", "description"),
)
_CONTEXT = Shape({"description": text, "value": text}, ("description", "value"))
RESUME_ENTRY = Shape(
    {
        "interruptId": identifier,
        "status": flag("resolved", "cancelled"),
        "payload": anything,
        "metadata": obj,
    },
    ("interruptId", "status"),
)


_ENTRIES = each(RESUME_ENTRY.read)
_FORWARDED: Final[Path] = ("forwardedProps", "resume")


def _list(value: Any, path: Path, findings: Findings) -> Any:
    return value if type(value) is list else findings.error(path, "must be a list")


_INPUT = Shape(
    {
        "threadId": identifier,
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
    findings = Findings()
    _refuse_newer_line(value)
    members = _INPUT.read(value, (), findings)
    messages: Sequence[Message] = ()
    if type(members) is dict:
        messages = _messages(members.get("messages"), limits, findings)
        _check_payloads(value.get("resume"), ("resume",), limits, findings)
        if not members.get("resume"):
            members = {**members, "resume": _forwarded(members.get("forwardedProps"), findings)}
            _check_payloads(members["resume"], _FORWARDED, limits, findings)
        _warn_of_version(members.get("protocolVersion"), findings)
        if members.get("resume") and read_command(members.get("forwardedProps")) is not None:
            findings.warn(("forwardedProps", "command"), "was ignored: `resume` is there and wins")
    if findings.count:
        raise Problem(
            Code.INVALID_INPUT,
            "the body is no RunAgentInput: correct what `errors` names and send it again",
            errors=tuple(findings.errors),
        )
    return RunInput(
        thread_id=members["threadId"],
        run_id=members["runId"],
        messages=messages,
        state=members.get("state"),
        tools=tuple(members.get("tools", ())),
        context=tuple(members.get("context", ())),
        forwarded_props=members.get("forwardedProps"),
        resume=tuple(read_entry(entry) for entry in members.get("resume", ())),
        protocol_version=members.get("protocolVersion"),
        parent_run_id=members.get("parentRunId"),
        warnings=tuple(findings.warnings),
    )


def parse_json(body: bytes, limits: Limits) -> Any:
    """The value of a body; Problem `malformed_json`, or `invalid_input` if it nests too deeply."""
    too_deep = Problem(
        Code.INVALID_INPUT,
        f"the body is nested too deeply: use at most {limits.depth} levels",
        errors=({"pointer": "", "message": f"nests more than {limits.depth} levels"},),
    )
    try:
        value = jsonvalue.decode(body)
    except ValueError as error:
        if "depth" in str(error) or "ecursion" in str(error):
            raise too_deep from None
        raise Problem(Code.MALFORMED_JSON, f"the body is not JSON: {error}") from None
    if jsonvalue.deeper_than(value, limits.depth):
        raise too_deep
    return value


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


def _warn_of_version(version: Any, findings: Findings) -> None:
    if type(version) is not str:
        return
    match = _VERSION.fullmatch(version)
    if match is None:
        findings.warn(("protocolVersion",), "is not MAJOR.MINOR and is served as 1.0")
    elif match[1].lstrip("0") == "1" and match[2].strip("0"):
        findings.warn(("protocolVersion",), "is newer than 1.0 and is served as 1.0")


def _messages(values: Any, limits: Limits, findings: Findings) -> Sequence[Message]:
    if type(values) is not list:
        return ()
    if len(values) > limits.messages:
        findings.error(("messages",), f"has more than {limits.messages} messages")
        return ()
    return read_messages(values, ("messages",), findings)


def _forwarded(props: Any, findings: Findings) -> Any:
    """Entries in `forwardedProps.resume`, where SDKs put them that cannot send a `resume` (F6).

    A list whose items all name an interrupt; anything else by that name is the application's own.
    """
    entries = props.get("resume") if type(props) is dict else None
    if type(entries) is not list:
        return []
    if not all(type(entry) is dict and "interruptId" in entry for entry in entries):
        return []
    return _ENTRIES(entries, _FORWARDED, findings)


def _check_payloads(entries: Any, path: Path, limits: Limits, findings: Findings) -> None:
    for at, entry in enumerate(entries if type(entries) is list else ()):
        if type(entry) is not dict or "payload" not in entry:
            continue
        if entry.get("status") == "cancelled":
            findings.warn((*path, at, "payload"), "came with a cancelled entry and says nothing")
        if len(jsonvalue.canonical(entry["payload"])) > limits.payload:
            findings.error((*path, at, "payload"), f"has more than {limits.payload} bytes as JSON")
