"""Questions that inform: a decision among options, and what has to be clear before work starts.

Both are questions like any other (`questions`); what they add is told in `metadata.sayso`, which
clients show, and in the message, for those that show nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sayso.agents.briefing import Described, display, to_text
from sayso.agents.decisions import ChosenOption, ClarifyTerms, Decision, Option, decision_type
from sayso.agents.outcomes import Answer, Question, QuestionTerms, ToolCall
from sayso.agents.policy import facts
from sayso.base import jsonvalue
from sayso.protocol.reasons import DECISION
from sayso.turns.ask.questions import question
from sayso.turns.calls.batch import tool_of
from sayso.turns.replay.execution import Execution

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
            permits[option.action] = _permitted(execution, option.permits)
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


def _permitted(execution: Execution, permits: ToolCall) -> dict[str, Any]:
    """The call that an option permits, as its card shows it and as it has to be made."""
    declared: object = permits
    if not isinstance(declared, ToolCall):
        raise TypeError(f"permits= of an option is a ToolCall(tool, {{…}}), not {declared!r}")
    tool = tool_of(execution, permits.tool)
    written = tool.arguments(dict(permits.args))
    call = tool.proposed(written, execution.principal, execution.input.thread_id)
    plain = jsonvalue.decode(written)
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
