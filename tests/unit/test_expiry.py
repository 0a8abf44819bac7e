"""Expiry as a rule: what a question becomes by each policy, and what is noted too late."""

from typing import Any

import pytest

from sayso.base.options import FallbackAnswer
from sayso.base.progress import LateRefusal
from sayso.base.records import Interrupt, Terms
from sayso.gate import interrupts, quorum
from sayso.protocol.reasons import INDETERMINATE
from sayso.protocol.runinput import ResumeEntry
from tests.contract.requirements import requirement
from tests.deciding import held
from tests.threads import NOW, asked, no, settled, yes


def noted(item: Interrupt, entry: ResumeEntry, *rest: Any) -> Interrupt | None:
    """The question with that refusal noted on it; None if nothing is."""
    return next(iter(interrupts.note_late_refusals([item], [entry], *rest)), None)


@requirement("EX-01")
def test_a_question_is_due_at_its_last_moment_and_once() -> None:
    """EX-01; not when an answer is held, when it lapsed before, or without an expiry (R2)."""
    assert not interrupts.expiry_due(asked("i", expires_at=NOW), NOW - 1)
    assert interrupts.expiry_due(asked("i", expires_at=NOW), NOW)
    for item in (
        asked("i"),
        asked("i", expires_at=NOW, lapsed_at=NOW),
        held(asked("i", expires_at=NOW), yes("i")),
        settled("i", "expired", expires_at=NOW),
    ):
        assert not interrupts.expiry_due(item, NOW + 10**12)


@pytest.mark.parametrize(
    ("rule", "status", "payload"),
    [
        ("expire", "expired", None),
        ("deny", "expired", None),
        ("cancel", "cancelled", None),
        ("approve", "resolved", b'{"approved":true}'),
        (FallbackAnswer({"slot": "monday"}), "resolved", b'{"slot":"monday"}'),
        (FallbackAnswer(None), "resolved", None),
    ],
)
def test_each_rule_settles_without_a_decider(rule: Any, status: str, payload: Any) -> None:
    """R3, R4: nobody decided, whatever the question becomes."""
    item = asked("i", expires_at=NOW, terms=Terms(on_expire=rule))
    done = interrupts.apply_expiry(item, NOW + 1)
    assert (done.status, done.payload) == (status, payload)
    assert (done.decided_by, done.decided_at, done.channel) == (None, NOW + 1, "expiry")
    assert interrupts.settled_by_expiry(done)
    assert interrupts.denied_by_expiry(done) is (rule == "deny")
    assert interrupts.expire(item, NOW).status == "expired"


def test_a_held_question_lapses_and_stays_open() -> None:
    """Design 4: only cancellable from then on, and not due again."""
    item = asked("i", expires_at=NOW, terms=Terms(on_expire="hold"))
    done = interrupts.apply_expiry(item, NOW + 1)
    assert (done.status, done.lapsed_at, done.decided_at) == ("open", NOW + 1, None)
    assert not interrupts.expiry_due(done, NOW + 2)
    assert not interrupts.settled_by_expiry(done)


def test_what_a_person_settled_is_not_by_expiry() -> None:
    """Nor is what is still open."""
    assert not interrupts.settled_by_expiry(settled("i", channel="run"))
    assert not interrupts.settled_by_expiry(asked("i"))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (no("i"), True),
        (yes("i", {"approved": False, "reason": "x"}), True),
        (yes("i", False), True),
        (yes("i", {"approved": True}), False),
        (yes("i", {"approved": 0}), False),
        (yes("i", 0), False),
        (yes("i"), False),
    ],
)
def test_a_refusal_is_a_cancellation_or_a_no(entry: Any, said: bool) -> None:
    """D6: booleans alone say no."""
    assert quorum.refuses(asked("i"), entry) is said


def test_a_stop_of_a_second_attempt_refuses_it() -> None:
    """D6: such a no, too late, is noted like any other; an answer in time says the same."""
    again = asked("i", reason=INDETERMINATE, expires_at=NOW)
    stop, retry = yes("i", {"action": "stop"}), yes("i", {"action": "retry"})
    assert quorum.refuses(again, stop)
    assert not quorum.refuses(again, retry)
    late = noted(again, stop, "bob", "run", NOW)
    assert late is not None
    assert late.progress.late == (LateRefusal(by="bob", at=NOW, said="denied", channel="run"),)


def test_a_late_refusal_is_noted_once_for_each_person_and_the_rule_stays() -> None:
    """D6: who and when, beside what the server made of it."""
    item = settled("i", "expired", terms=Terms(on_expire="deny"))
    assert item.progress.late == ()
    once = noted(item, yes("i", {"approved": False}), "bob", "run", NOW)
    assert once is not None
    assert noted(once, no("i"), "bob", "run", NOW + 1) is None
    twice = noted(once, no("i"), "cyd", "inbox", NOW + 2)
    assert twice is not None
    assert twice.progress.late == (
        LateRefusal(by="bob", at=NOW, said="denied", channel="run"),
        LateRefusal(by="cyd", at=NOW + 2, said="cancelled", channel="inbox"),
    )
    assert interrupts.denied_by_expiry(twice)


def test_a_row_keeps_no_more_than_so_many_late_refusals() -> None:
    """Whoever may call cannot make it grow."""
    item: Any = settled("i", "expired")
    for at in range(50):
        item = noted(item, no("i"), f"p{at}", "run", NOW) or item
    assert len(item.progress.late) == 20


def test_sets_without_a_person_are_counted_back_from_the_newest() -> None:
    """Design 4: three expiries in a row; one answer among a set makes it attended."""
    gone = {"decided_by": None, "channel": "expiry"}
    items = [
        settled("a", "expired", run_key="r1", **gone),
        settled("b", run_key="r2"),
        settled("c", "expired", run_key="r3", **gone),
        settled("d", run_key="r3"),
        settled("e", "expired", run_key="r4", **gone),
        settled("f", "expired", run_key="r4", **gone),
        settled("g", "cancelled", run_key="r5", **gone),
        settled("h", "expired", **gone),
        asked("i"),
    ]
    assert interrupts.consecutive_expiries(items) == 2
    assert interrupts.consecutive_expiries(items[:2]) == 0
    assert interrupts.consecutive_expiries([]) == 0
