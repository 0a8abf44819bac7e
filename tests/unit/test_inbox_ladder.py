"""Answers from the inbox, by value: what each may do (design 4, 5)."""

from dataclasses import replace
from typing import Any

import pytest

from sayso.base import jsonvalue
from sayso.base.codes import Code
from sayso.base.limits import Limits
from sayso.base.records import (
    AnswerRecord,
    Interrupt,
    Principal,
    Run,
    Thread,
    ThreadView,
    TurnRecord,
)
from sayso.gate import changes, interrupts
from sayso.gate.case import (
    AlreadyAnswered,
    GateDecision,
    HoldAnswers,
    Resume,
    case_of_answers,
)
from sayso.gate.ladder import INBOX, decide
from sayso.gate.refusals import Refuse
from sayso.protocol.runinput import ResumeEntry

NOW = 1_000_000
ANN = Principal(subject="ann")


def asked(key: str, **members: Any) -> Interrupt:
    given = {"turn_key": "turn_1", "place": key, "reason": "confirmation", "created_at": 0}
    return Interrupt(id=key, **{**given, **members})


def view(*items: Interrupt, status: Any = "suspended", holder: str | None = None) -> ThreadView:
    turn = TurnRecord(
        key="turn_1",
        agent="a",
        version="1",
        status=status,
        request=b"{}",
        principal=ANN,
        started_at=0,
    )
    thread = Thread(
        scope="default",
        id="t",
        owner="ann",
        agent="a",
        revision=1,
        fence=1,
        created_at=0,
        updated_at=0,
        holder=holder,
    )
    run = Run(key="run_1", run_id="r", turn_key="turn_1", started_at=0)
    return ThreadView(
        thread=thread, turn=turn, run=run, named_run=None, interrupts=items, messages=()
    )


def yes(key: str, payload: Any = True) -> ResumeEntry:
    return ResumeEntry(interrupt_id=key, status="resolved", payload=payload)


def no(key: str) -> ResumeEntry:
    return ResumeEntry(interrupt_id=key, status="cancelled")


def give(seen: ThreadView, *entries: ResumeEntry, now: int = NOW) -> GateDecision:
    case = case_of_answers(
        entries, seen, principal=ANN, channel="inbox", now=now, limits=Limits(), check=None
    )
    return decide(case, INBOX)


def code(given: GateDecision) -> Code:
    assert isinstance(given, Refuse)
    return given.code


def test_a_part_is_held_and_the_last_settles_all() -> None:
    """Design 2: each with who gave it, when, and by which channel."""
    first = give(view(asked("one"), asked("two")), yes("one"))
    assert isinstance(first, HoldAnswers)
    (kept,) = first.items
    assert (first.remaining, kept.status) == (1, "open")
    whole = give(view(kept, asked("two")), no("two"), now=NOW + 5)
    assert isinstance(whole, Resume)
    assert [(i.status, i.decided_by, i.decided_at, i.held) for i in whole.settle] == [
        ("resolved", "ann", NOW, None),
        ("cancelled", "ann", NOW + 5, None),
    ]
    assert whole.settle[0].payload == b"true"


def test_the_first_rule_that_applies_decides() -> None:
    """The order in which the module lists them."""
    done = asked("done", status="resolved", payload=b"true", decided_by="bob", decided_at=5)
    gone = asked("gone", status="expired", decided_at=5, channel="expiry")
    late = asked("late", expires_at=NOW)
    both = view(asked("one"), done, gone, late)
    assert code(give(both, yes("one"), yes("one", False))) is Code.DUPLICATE_ENTRY
    assert code(give(both, yes("nope"), yes("done", False))) is Code.UNKNOWN_INTERRUPT
    assert code(give(both, yes("one"), yes("done", False))) is Code.ALREADY_RESOLVED
    assert code(give(both, yes("gone"), yes("done", False))) is Code.ALREADY_RESOLVED
    assert code(give(both, yes("gone"), yes("one", 7))) is Code.INTERRUPT_EXPIRED
    assert code(give(both, yes("late"), yes("one", 7))) is Code.INTERRUPT_EXPIRED
    assert code(give(both, yes("one", 7))) is Code.INVALID_PAYLOAD
    assert isinstance(give(both, yes("one"), yes("done"), no("gone")), HoldAnswers)
    assert isinstance(give(both, yes("one"), no("late")), Resume)


def test_equal_answers_stand_whatever_the_thread_does() -> None:
    """ID-01: running, waiting for others, or long over."""
    done = asked("done", status="resolved", payload=b"true", run_key="run_1")
    for seen in (
        view(done, status="running", holder="h"),
        view(done, asked("one")),
        view(done, status="finished"),
        view(replace(done, turn_key="turn_0"), status="failed"),
    ):
        assert give(seen, yes("done")) == AlreadyAnswered("run_1")
    assert give(view(done), yes("done")) == Resume(())
    assert give(view(done, status="failed"), yes("done")) == Resume((), retry=True)


def test_a_thread_that_runs_takes_nothing_new() -> None:
    """ID-08: but it tells of what was settled before."""
    done = asked("done", status="resolved", payload=b"true")
    seen = view(done, asked("one"), status="running", holder="h")
    assert code(give(seen, yes("one"))) is Code.THREAD_BUSY
    assert code(give(seen, yes("done", False))) is Code.ALREADY_RESOLVED


@pytest.mark.parametrize("status", ["finished", "failed", "cancelled"])
def test_a_question_of_a_turn_that_is_over_is_unknown(status: str) -> None:
    """Nothing waits for it, so nothing could come of an answer."""
    assert code(give(view(asked("one"), status=status), yes("one"))) is Code.UNKNOWN_INTERRUPT


def test_what_lapsed_takes_a_cancellation_until_it_is_extended() -> None:
    """EX-05, R4."""
    item = asked("one", expires_at=NOW - 10, lapsed_at=NOW - 5)
    assert code(give(view(item), yes("one"))) is Code.INTERRUPT_EXPIRED
    assert isinstance(give(view(item), no("one")), Resume)
    longer = changes.extend(view(item), "one", NOW, ANN, Limits(), seconds=60)
    assert isinstance(longer, HoldAnswers)
    assert longer.items[0].expires_at == NOW + 60_000
    assert isinstance(give(view(*longer.items), yes("one")), Resume)


def test_an_extension_keeps_the_reminder_s_part_of_the_lifetime() -> None:
    """R1: 80 % of the new one, and it reminds again."""
    item = asked("one", expires_at=NOW, remind_at=NOW * 8 // 10, reminded_at=NOW * 8 // 10)
    longer = changes.extend(view(item), "one", NOW - 1, ANN, Limits(lifetime=NOW), until=2 * NOW)
    assert isinstance(longer, HoldAnswers)
    (extended,) = longer.items
    assert (extended.remind_at, extended.reminded_at) == (2 * NOW * 8 // 10, None)


def test_what_changes_nothing_writes_nothing() -> None:
    """A withdrawal without an answer, the same assignee, the same answer again."""
    item = asked("one", assigned_to="bob")
    seen = view(item, asked("two"))
    assert changes.withdraw(seen, "one", "ann") == HoldAnswers((), 2)
    assert changes.assign(seen, "one", "bob", ANN, NOW) == HoldAnswers((), 2)
    first = give(seen, yes("one"))
    assert isinstance(first, HoldAnswers)
    again = give(view(*first.items, asked("two")), yes("one"), now=NOW + 9)
    assert again == HoldAnswers((), 1)


def test_a_held_answer_reads_as_it_was_given() -> None:
    """Null payloads, metadata, and what JSON makes of the rest."""
    entry = ResumeEntry(
        interrupt_id="one", status="resolved", payload={"a": [1, None]}, metadata={"via": "link"}
    )
    item = interrupts.hold(asked("one"), interrupts.answer_record(entry, ANN, "inbox", NOW))
    assert item.held == AnswerRecord(
        status="resolved",
        payload=b'{"a":[1,null]}',
        metadata=b'{"via":"link"}',
        by="ann",
        at=NOW,
        channel="inbox",
    )
    settled = interrupts.settle_held(item)
    assert jsonvalue.decode(settled.payload or b"") == {"a": [1, None]}
    assert jsonvalue.decode(settled.answer_metadata or b"") == {"via": "link"}
    assert interrupts.unanswered([item, asked("two"), settled]) == [asked("two")]
    with pytest.raises(ValueError, match="holds no answer"):
        interrupts.settle_held(asked("one"))
