"""Answers at the gate: do they fit, do they come in time, are they given already."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from sayso.base.codes import Code
from sayso.base.limits import Limits
from sayso.base.records import Interrupt
from sayso.gate.case import Attach, Replay, Resume, Start
from tests.contract.requirements import requirement
from tests.deciding import APPROVAL, YES, decide, named, refusal, resumed
from tests.threads import NOW, asked, message, no, request, settled, thread, yes

U1, U2 = message("u1"), message("u2")


# payloads


@requirement("CR-6", "CR-8", "ER-07", "RE-17")
@pytest.mark.parametrize(
    "payload",
    [{"approved": "false"}, {"approved": 1}, {"approved": "true"}, {}, None, True, {**YES, "x": 1}],
)
def test_a_payload_that_breaks_its_schema_refuses_the_whole_batch(payload: Any) -> None:
    """Only the boolean approves (G4, TB-08); what is wrong is named by pointer."""
    view = thread("suspended", asked("i1", schema=APPROVAL), asked("i2", schema=APPROVAL))
    refused = refusal(request(yes("i1", YES), yes("i2", payload)), view)
    assert refused.code is Code.INVALID_PAYLOAD
    assert named(refused) == ["i2"]
    problems = refused.details["interrupts"][0]["problems"]
    assert problems
    assert set(problems[0]) == {"pointer", "message"}


def test_an_edit_that_was_not_offered_is_refused_at_the_edit() -> None:
    """The schema of the interrupt says what may come back (J2, TB-06)."""
    view = thread("suspended", asked("i1", schema=APPROVAL, reason="tool_call"))
    refused = refusal(request(yes("i1", {**YES, "editedArgs": {}})), view)
    assert refused.details["interrupts"] == [
        {
            "interruptId": "i1",
            "problems": [{"pointer": "/editedArgs", "message": "is not allowed here"}],
        }
    ]


@requirement("RE-05")
def test_an_absent_payload_is_null_for_the_schema_and_for_the_record() -> None:
    """A schema that takes null takes an absent payload; falsy values are values (G2)."""
    view = thread("suspended", asked("i1", schema={"type": ["null", "boolean"]}))
    assert resumed(request(yes("i1")), view).settle[0].payload is None
    assert resumed(request(yes("i1", False)), view).settle[0].payload == b"false"


@requirement("TR-25", "IN-07")
@pytest.mark.parametrize(
    ("payload", "fits"),
    [
        (True, True),
        (False, True),
        ({"approved": True}, True),
        ({"approved": False}, True),
        (None, False),
        ({}, False),
        ("true", False),
        (1, False),
        ({"approved": "yes"}, False),
        ({"approved": True, "x": 1}, False),
        ([True], False),
    ],
)
def test_a_confirmation_without_a_schema_takes_a_boolean_or_approved(
    payload: Any, fits: bool
) -> None:
    """Strictly: anything else, silence included, is no approval."""
    view = thread("suspended", asked("i1", reason="confirmation"))
    decision = decide(request(yes("i1", payload)), view)
    assert isinstance(decision, Resume) is fits


@pytest.mark.parametrize("payload", [None, "x", {"a": [1]}, 0])
def test_any_json_answers_a_question_without_a_schema(payload: Any) -> None:
    """The type of what the person sent is kept (G1)."""
    view = thread("suspended", asked("i1"))
    kept = resumed(request(yes("i1", payload)), view).settle[0].payload
    assert (None if kept is None else orjson.loads(kept)) == payload


def test_a_payload_over_the_limit_is_refused() -> None:
    """Measured as canonical JSON (design 4)."""
    view = thread("suspended", asked("i1"))
    limits = Limits(payload=8)
    assert isinstance(decide(request(yes("i1", "123456")), view, limits=limits), Resume)
    refused = refusal(request(yes("i1", "1234567")), view, limits=limits)
    assert refused.code is Code.INVALID_PAYLOAD
    assert "1234567" not in str(refused)


def test_a_judge_has_the_last_word_on_payloads() -> None:
    """The tool's own model is asked after the schema; a judge that fails accepts nothing."""
    view = thread("suspended", asked("i1", schema=APPROVAL), asked("i2"))
    heard: list[str] = []

    def judge(item: Interrupt, payload: Any) -> list[tuple[str, str]]:
        heard.append(item.id)
        return [("/editedArgs/amount", "is too much")] if payload == "bad" else []

    def broken(item: Interrupt, payload: Any) -> list[tuple[str, str]]:
        raise RuntimeError("secret")

    assert isinstance(decide(request(yes("i1", YES), no("i2")), view, judge=judge), Resume)
    assert heard == ["i1"]
    refused = refusal(request(yes("i1", YES), yes("i2", "bad")), view, judge=judge)
    assert refused.details["interrupts"][0]["problems"] == [
        {"pointer": "/editedArgs/amount", "message": "is too much"}
    ]
    failed = refusal(request(yes("i1", YES), no("i2")), view, judge=broken)
    assert failed.code is Code.INVALID_PAYLOAD
    assert "secret" not in str(failed)


def test_a_stored_schema_that_no_longer_compiles_accepts_nothing() -> None:
    """Deny by default; cancelling still works."""
    view = thread("suspended", replace(asked("i1"), response_schema=b'{"$ref":"#"}'))
    assert refusal(request(yes("i1", YES)), view).code is Code.INVALID_PAYLOAD
    assert isinstance(decide(request(no("i1")), view), Resume)


# expiry


@requirement("EX-04", "EX-05", "EX-09")
def test_an_expired_interrupt_can_be_cancelled_and_not_answered() -> None:
    """At `expiresAt` it is expired; one late entry refuses the batch (CR-7)."""
    view = thread("suspended", asked("i1", expires_at=NOW), asked("i2"))
    answers = request(yes("i1"), yes("i2"))
    assert isinstance(decide(answers, view, now=NOW - 1), Resume)
    for now in (NOW, NOW + 1):
        refused = refusal(answers, view, now=now)
        assert refused.code is Code.INTERRUPT_EXPIRED
        assert named(refused) == ["i1"]
        assert refused.details["interrupts"][0]["at"] == "2027-01-15T08:00:00.000Z"
    assert isinstance(decide(request(no("i1"), yes("i2")), view, now=NOW + 1), Resume)


@requirement("EX-06")
def test_expiry_and_silence_are_no_answer() -> None:
    """The interrupt still stands until an entry or the sweeper settles it."""
    view = thread("suspended", asked("i1", expires_at=NOW))
    assert refusal(request(messages=[U2]), view, now=NOW + 9).code is Code.INTERRUPTS_PENDING


def test_an_answer_after_the_sweep_is_late_and_a_cancel_is_equal() -> None:
    """Settled as expired, by nobody: whoever gives it up says the same (D5, D6)."""
    view = thread("finished", settled("i1", "expired", expires_at=NOW - 9))
    late = refusal(request(yes("i1", YES)), view)
    assert late.code is Code.INTERRUPT_EXPIRED
    assert "by" not in late.details["interrupts"][0]
    given_up = decide(request(no("i1")), view)
    assert isinstance(given_up, Replay)
    assert [(item.id, len(item.progress.late)) for item in given_up.late] == [("i1", 1)]
    assert refusal(request(yes("i1"), messages=[U2]), view).code is Code.INTERRUPT_EXPIRED


# what is settled


@requirement("ID-01", "ID-02", "ID-03", "ID-05")
@pytest.mark.parametrize(
    ("entry", "kept"),
    [
        (yes("i1", {"a": 1, "b": [1.5]}), settled("i1", payload={"b": [1.5], "a": 1.0})),
        (yes("i1"), settled("i1")),
        (yes("i1", 1e0), settled("i1", payload=1)),
        (no("i1"), settled("i1", "cancelled")),
        (replace(no("i1"), payload="ignored"), settled("i1", "cancelled")),
    ],
)
def test_the_same_answers_again_change_nothing(entry: Any, kept: Interrupt) -> None:
    """Finished: shown again. Still running: followed. Under any `runId` (Q2)."""
    for run_id in ("r1", "r9"):
        given = request(entry, run_id=run_id, messages=[U1])
        for status in ("finished", "cancelled"):
            assert decide(given, thread(status, kept, messages=[U1])) == Replay()
        assert decide(given, thread("running", kept, messages=[U1], held=True)) == Attach()
        waiting = thread("suspended", kept, asked("i2"), messages=[U1])
        assert decide(given, waiting) == Replay()
    assert isinstance(decide(request(entry, messages=[U2]), thread("finished", kept)), Start)


@requirement("ID-06")
@pytest.mark.parametrize(
    ("entry", "kept"),
    [
        (yes("i1", {"approved": False}), settled("i1", payload=YES)),
        (yes("i1", True), settled("i1", payload=1)),
        (yes("i1", 0), settled("i1", payload=False)),
        (yes("i1"), settled("i1", payload=False)),
        (no("i1"), settled("i1", payload=YES)),
        (yes("i1", YES), settled("i1", "cancelled")),
    ],
)
def test_another_answer_than_the_settled_one_is_refused_with_who_and_when(
    entry: Any, kept: Interrupt
) -> None:
    """The first answer stands (Q1, Q4), also where more came with it."""
    for given in (request(entry), request(entry, messages=[U2]), request(entry, yes("i2"))):
        view = thread("suspended" if len(given.resume) > 1 else "finished", kept, asked("i2"))
        refused = refusal(given, view)
        assert refused.code is Code.ALREADY_RESOLVED
        assert named(refused) == ["i1"]
        assert refused.details["interrupts"][0]["by"] == "alice"
        assert refused.details["interrupts"][0]["at"] == "2027-01-15T07:59:59.500Z"
        assert "'alice' at 2027-01-15T07:59:59.500Z" in refused.message


def test_an_interrupt_that_the_server_settled_names_no_person() -> None:
    """A stop cancels without a decider's name where none is known."""
    kept = settled("i1", "cancelled", decided_by=None, decided_at=None)
    refused = refusal(request(yes("i1", YES)), thread("cancelled", kept))
    assert refused.details["interrupts"] == [{"interruptId": "i1"}]


@requirement("TR-04")
def test_a_turn_that_failed_after_its_answers_goes_on_with_the_same_ones() -> None:
    """From its journal, so that no tool runs twice (B1); a new message starts a new turn."""
    view = thread("failed", settled("i1", payload=YES), settled("i2", "cancelled"), messages=[U1])
    again = request(yes("i1", YES), no("i2"), messages=[U1])
    assert decide(again, view) == Resume(settle=(), retry=True)
    assert decide(request(yes("i1", YES), messages=[U1, U2]), view) == Start((U2,), ())
    assert refusal(request(no("i1")), view).code is Code.ALREADY_RESOLVED
    assert refusal(again, view, agent="b").code is Code.WRONG_AGENT
    older = thread("failed", settled("i0", payload=YES, turn="turn_0"), messages=[U1])
    assert decide(request(yes("i0", YES)), older) == Replay()


def test_a_turn_whose_answers_are_all_settled_goes_on_at_any_request() -> None:
    """It was answered elsewhere and is about to be resumed: nobody starts a turn over it."""
    view = thread("suspended", settled("i1", payload=YES), messages=[U1], named=True)
    go_on = Resume(settle=())
    assert decide(request(yes("i1", YES)), view) == go_on
    assert decide(request(messages=[U1], run_id="r1"), view) == go_on
    assert decide(request(messages=[U1]), view) == go_on
    beside = resumed(request(messages=[U1, U2]), view)
    assert beside == Resume(settle=(), queue=(replace(U2, visibility="waiting"),))
    assert refusal(request(yes("x")), view).code is Code.UNKNOWN_INTERRUPT
    assert refusal(request(no("i1")), view).code is Code.ALREADY_RESOLVED


def test_a_question_of_a_turn_that_is_over_cannot_be_answered() -> None:
    """Only the newest turn waits; what it left open is nobody's to settle."""
    view = thread("finished", asked("i1"))
    assert refusal(request(yes("i1")), view).code is Code.UNKNOWN_INTERRUPT
    earlier = thread("suspended", asked("i1"), asked("i0", turn="turn_0"))
    assert isinstance(decide(request(yes("i1")), earlier), Resume)
