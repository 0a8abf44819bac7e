"""Asking the gate, and reading what it decides."""

from typing import Any

from sayso.base import jsonvalue
from sayso.base.limits import Limits
from sayso.base.options import AgentOptions
from sayso.base.records import AnswerRecord, Interrupt, Principal, ThreadView
from sayso.gate.answers import PayloadCheck
from sayso.gate.case import GateDecision, Resume, case_of_request
from sayso.gate.interrupts import answer_record, hold
from sayso.gate.ladder import RUN
from sayso.gate.ladder import decide as climb
from sayso.gate.refusals import Refuse
from sayso.protocol.runinput import ResumeEntry, RunInput
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
    judge: PayloadCheck | None = None,
    options: AgentOptions | None = None,
) -> GateDecision:
    case = case_of_request(
        given,
        view,
        agent=agent,
        principal=BOB,
        channel="run",
        now=now,
        limits=limits or Limits(),
        check=judge,
        options=options or AgentOptions(),
    )
    return climb(case, RUN)


def held(
    item: Interrupt, entry: ResumeEntry, who: Principal = BOB, channel: str = "inbox", at: int = 0
) -> Interrupt:
    """The open interrupt with this answer held on it."""
    return hold(item, answer_record(entry, who, channel, at or NOW - 300))


def entry_of(answer: AnswerRecord | None) -> ResumeEntry | None:
    """An answer as an entry that would give it, if there is one."""
    if answer is None:
        return None
    payload = None if answer.payload is None else jsonvalue.decode(answer.payload)
    return ResumeEntry(interrupt_id="", status=answer.status, payload=payload)


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
