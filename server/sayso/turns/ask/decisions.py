"""Questions that inform: a decision, what has to be clear before work, what is done elsewhere.

All are questions like any other (`questions`); what they add is told in `metadata.sayso`, which
clients show, and in the message, for those that show nothing else. Elsewhere is done what must
never pass through here, such as a password: nobody is sent to an address that hides where it leads.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit

from sayso.agents.briefing import Described, display, to_text
from sayso.agents.decisions import ChosenOption, ClarifyTerms, Decision, Option, decision_type
from sayso.agents.outcomes import Answer, Question, QuestionTerms, ToolCall
from sayso.agents.policy import facts
from sayso.base import jsonvalue
from sayso.protocol.reasons import DECISION, ELSEWHERE
from sayso.schemas.responses import done_elsewhere
from sayso.turns.ask.questions import question
from sayso.turns.calls.batch import tool_of
from sayso.turns.replay.execution import Execution

MAX_URL_CHARS: Final = 2_048
"""Characters of an address."""
_UNFIT: Final = frozenset(' \\<>"`{}|^')
_MAX_CALL_CHARS: Final = 200
"""Characters of a call beside an option."""


async def decide(
    execution: Execution,
    *,
    why: str,
    planned_action: Described,
    impact: Described | None,
    options: Sequence[Option],
    terms: QuestionTerms,
) -> Decision:
    """Ask which way to go, having said what is planned, why, and what it does."""
    planned = to_text(planned_action)
    details: dict[str, Any] = {
        "kind": "decision",
        "plannedAction": _told(planned_action),
        "why": why,
    }
    permits: dict[str, Any] = {}
    offered: Sequence[object] = options
    for option in offered:
        # What is no option is refused with the rest.
        if isinstance(option, Option) and option.permits is not None:
            permits[option.action] = await _permitted(execution, option.permits)
    if permits:
        details["permits"] = permits
    lines = [planned, f"Why: {why}"]
    if impact is not None:
        details["impact"] = _told(impact)
        lines.append(f"Impact: {to_text(impact)}")
    choice = Question(
        reason=DECISION,
        message="\n".join(lines),
        schema=decision_type(
            "What should be done?",
            options,
            {action: f"Runs {permit['runs']}" for action, permit in permits.items()},
        ),
        **_with(terms, details),
    )
    return _decision(planned, await question(execution, choice))


async def clarify(
    execution: Execution,
    text: str,
    *,
    options: Sequence[Option],
    schema: Any,
    about: ClarifyTerms,
) -> Decision | Answer[Any]:
    """Ask what is meant, having said what it could cover and how far it would reach."""
    details: dict[str, Any] = {"kind": "clarification"}
    lines = [text]
    for name, title, value in (
        ("scope", "Scope", about.pop("scope", None)),
        ("blastRadius", "Blast radius", about.pop("blast_radius", None)),
    ):
        if value is not None:
            details[name] = _told(value)
            lines.append(f"{title}: {to_text(value)}")
    if options and schema is not None:
        raise ValueError("a clarification takes options= or schema=, not both")
    if any(getattr(option, "permits", None) is not None for option in options):
        raise ValueError("permits= of an option is for turn.decide: a clarification runs nothing")
    kind = decision_type("What is meant?", options) if options else schema
    answer = await question(
        execution,
        Question(
            reason="input_required",
            message="\n".join(lines),
            schema=str if kind is None else kind,
            **_with(about, details),
        ),
    )
    return _decision(text, answer) if options else replace(answer, question=text)


async def ask_elsewhere(
    execution: Execution, url: str, message: str, terms: QuestionTerms
) -> Answer[bool]:
    """Send a person elsewhere, and wait until it is done; ValueError for an unfit address."""
    host = host_of(url)
    about = {"kind": "elsewhere", "url": url, "host": host, "text": message}
    terms["metadata"] = {**(terms.get("metadata") or {}), "sayso": about}
    item = Question(
        reason=ELSEWHERE,
        message=f"{message}\n\nThis is done at {host}, and not here: {url}",
        schema=done_elsewhere(),
        **terms,
    )
    return replace(await question(execution, item), question=message)


def host_of(url: object) -> str:
    """The host that an address leads to, with its port if it names one.

    Raises:
        ValueError: it is not https (http for loopback), or hides where it leads. The error has no
            part of it.
    """
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or set(url) & _UNFIT:
        raise ValueError(
            "url= of ask_elsewhere is an address of printable ASCII characters, without spaces and "
            "backslashes; write other letters of a host as xn--, and of a path as %"
        )
    if len(url) > MAX_URL_CHARS:
        raise ValueError(f"url= of ask_elsewhere has more than {MAX_URL_CHARS} characters")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:  # a port or an IPv6 address that is none
        host = None
    if not host or port == 0 or "@" in parts.netloc:
        raise ValueError(
            "url= of ask_elsewhere names a host, without a user or password before it: "
            "https://login.example.org/start"
        )
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(host)):
        raise ValueError("url= of ask_elsewhere is https; http is for this machine alone")
    return parts.netloc.lower()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


async def _permitted(execution: Execution, permits: ToolCall) -> dict[str, Any]:
    """The call that an option permits, as its card shows it and as it has to be made."""
    declared: object = permits
    if not isinstance(declared, ToolCall):
        raise TypeError(f"permits= of an option is a ToolCall(tool, {{…}}), not {declared!r}")
    tool = tool_of(execution, permits.tool, execution.running.tools)
    written = tool.arguments(dict(permits.args))
    turn_input = execution.input
    call = tool.proposed(written, execution.principal, turn_input.thread_id, turn_input.text)
    await execution.kept_apart.prepare(execution.leased, [tool])
    plain = jsonvalue.decode(execution.kept_apart.apart(tool, written))
    named = display(tool.name, tool.shown(plain), _MAX_CALL_CHARS)
    return {
        "tool": tool.name,
        "arguments": plain,
        "effect": tool.effect,
        "runs": " ".join((f"{named}.", *facts(call))),
    }


def _told(value: Described) -> Any:
    """A text, or figures, as the card is told them."""
    return value if isinstance(value, str) else dict(value)


def _with(terms: QuestionTerms, details: Mapping[str, Any]) -> dict[str, Any]:
    """The terms of a question, with what it tells beside the author's metadata; ours counts."""
    metadata = dict(terms.get("metadata") or {})
    own = metadata.get("sayso")
    said = {**(own if isinstance(own, Mapping) else {}), **details}
    return {**terms, "metadata": {**metadata, "sayso": said}}


def _decision(text: str, answer: Answer[ChosenOption]) -> Decision:
    chosen = answer.value
    return Decision(
        status=answer.status,
        question=text,
        option=chosen.option if chosen else None,
        params=chosen.params if chosen else None,
        note=chosen.note if chosen else None,
        by=answer.by,
        approvers=answer.approvers,
        metadata=answer.metadata,
        request=answer.request,
        text=answer.text,
    )
