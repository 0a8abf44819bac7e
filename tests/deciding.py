"""Asking the gate, and reading what it decides."""

from typing import Any

from sayso.gate.ladder import Decision, Judge, Refuse, Resume, check
from sayso.limits import Limits
from sayso.options import Options
from sayso.protocol.runinput import RunInput
from sayso.records import Principal, ThreadView
from tests.threads import NOW

BOB = Principal(subject="bob")
APPROVAL: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}},
    "required": ["approved"],
    "additionalProperties": False,
}
YES: dict[str, Any] = {"approved": True}


def decide(
    given: RunInput,
    view: ThreadView | None,
    *,
    agent: str = "a",
    now: int = NOW,
    limits: Limits | None = None,
    judge: Judge | None = None,
    options: Options | None = None,
) -> Decision:
    return check(
        given,
        view,
        agent=agent,
        principal=BOB,
        channel="run",
        now=now,
        limits=limits or Limits(),
        judge=judge,
        options=options or Options(),
    )


def refusal(given: RunInput, view: ThreadView | None, **rest: Any) -> Refuse:
    decision = decide(given, view, **rest)
    assert isinstance(decision, Refuse), decision
    assert decision.details["code"] == decision.code.value
    return decision


def named(refused: Refuse) -> list[str]:
    """The ids in the details, each of which the sentence names too."""
    ids = [one["interruptId"] for one in refused.details.get("interrupts", [])]
    assert all(repr(one) in refused.message for one in ids)
    return ids


def resumed(given: RunInput, view: ThreadView | None, **rest: Any) -> Resume:
    decision = decide(given, view, **rest)
    assert isinstance(decision, Resume), decision
    return decision
