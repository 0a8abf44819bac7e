"""Questions that inform: a decision among options, and what has to be clear before work starts.

Both are questions like any other (`questions`); what they add is told in `metadata.sayso`, which
clients show, and in the message, for those that show nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sayso.agents.decisions import (
    Chosen,
    Clarifying,
    Decision,
    Described,
    Option,
    decision_type,
    in_words,
)
from sayso.agents.outcomes import Answer, Question, Terms
from sayso.turns.execution import Execution
from sayso.turns.questions import question

__all__ = ["clarify", "decide"]


async def decide(
    execution: Execution,
    *,
    why: str,
    planned_action: str,
    impact: Described | None,
    options: Sequence[Option],
    terms: Terms,
) -> Decision:
    """Ask which way to go, having said what is planned, why, and what it does."""
    told: dict[str, Any] = {"kind": "decision", "plannedAction": planned_action, "why": why}
    lines = [planned_action, f"Why: {why}"]
    if impact is not None:
        told["impact"] = impact if isinstance(impact, str) else dict(impact)
        lines.append(f"Impact: {in_words(impact)}")
    asked = Question(
        reason="sayso:decision",
        message="\n".join(lines),
        response=decision_type("What shall be done?", options),
        **_with(terms, told),
    )
    return _decision(planned_action, await question(execution, asked))


async def clarify(
    execution: Execution,
    asked: str,
    *,
    options: Sequence[Option],
    response: Any,
    about: Clarifying,
) -> Decision | Answer[Any]:
    """Ask what is meant, having said what it could cover and how far it would reach."""
    told: dict[str, Any] = {"kind": "clarification"}
    lines = [asked]
    for name, title, value in (
        ("scope", "Scope", about.pop("scope", None)),
        ("blastRadius", "Blast radius", about.pop("blast_radius", None)),
    ):
        if value is not None:
            told[name] = value if isinstance(value, str) else dict(value)
            lines.append(f"{title}: {in_words(value)}")
    if options and response is not None:
        raise ValueError("a clarification takes options= or response=, not both")
    kind = decision_type("What is meant?", options) if options else response
    answer = await question(
        execution,
        Question(
            reason="input_required",
            message="\n".join(lines),
            response=str if kind is None else kind,
            **_with(about, told),
        ),
    )
    return _decision(asked, answer) if options else replace(answer, question=asked)


def _with(terms: Terms, told: Mapping[str, Any]) -> dict[str, Any]:
    """The terms of a question, with what it tells beside the author's metadata; ours counts."""
    given = dict(terms.get("metadata") or {})
    own = given.get("sayso")
    said = {**(own if isinstance(own, Mapping) else {}), **told}
    return {**terms, "metadata": {**given, "sayso": said}}


def _decision(asked: str, answer: Answer[Chosen]) -> Decision:
    chosen = answer.value
    return Decision(
        status=answer.status,
        question=asked,
        option=chosen.option if chosen else None,
        params=chosen.params if chosen else None,
        note=chosen.note if chosen else None,
        by=answer.by,
        metadata=answer.metadata,
        request=answer.request,
        said=answer.said,
    )
