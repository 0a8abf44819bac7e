"""The gate's options: each value of each against the same requests, and where they meet."""

from dataclasses import replace
from typing import Any

import pytest

from sayso.base.codes import Code
from sayso.base.limits import Limits
from sayso.base.options import AgentOptions
from sayso.base.records import Interrupt
from sayso.gate.case import Attach, HoldAnswers, Replay, Resume, Start
from sayso.protocol.runinput import RunInput
from tests.contract.requirements import requirement
from tests.deciding import APPROVAL, YES, decide, held, named, refusal, resumed
from tests.threads import NOW, asked, message, no, request, result, settled, thread, yes

IGNORE = AgentOptions(unknown_entries="ignore")
KEEP = AgentOptions(partial="accumulate")
ANSWER = AgentOptions(on_message="answer")
CANCEL = AgentOptions(on_message="cancel")
U1 = message("u1", content="Paris")
TEXT = {"type": "string", "minLength": 3}


def holding(item: Interrupt, payload: Any = None) -> Interrupt:
    """With an answer that somebody gave before."""
    return held(item, yes(item.id, payload))


# unknown_entries


@requirement("TR-01")
def test_ignored_ids_beside_a_full_answer_resume_with_a_warning() -> None:
    """TR-01: dropped, and said so; without the option the whole request is refused."""
    view = thread("suspended", asked("i1"))
    given = request(yes("i1"), yes("x"), no("y"))
    assert named(refusal(given, view)) == ["x", "y"]
    decision = resumed(given, view, options=IGNORE)
    assert [one.id for one in decision.settle] == ["i1"]
    (warning,) = decision.warnings
    assert "'x'" in warning and "'y'" in warning


def test_ignored_ids_are_never_an_answer_to_something_else() -> None:
    """TR-01: an unknown id instead of an open one leaves that one open (D1)."""
    view = thread("suspended", asked("i1"), asked("i2"))
    assert refusal(request(yes("x")), view, options=IGNORE).code is Code.UNKNOWN_INTERRUPT
    partly = refusal(request(yes("i1"), yes("x")), view, options=IGNORE)
    assert (partly.code, named(partly)) == (Code.PARTIAL_RESUME, ["i2"])


def test_ignored_ids_beside_a_settled_answer_replay_or_follow_it() -> None:
    """A retry is one whatever else it names; a request of unknown ids alone still is refused."""
    given = request(yes("i1", 1), yes("x"))
    for view, expected in (
        (thread("finished", settled("i1", payload=1)), Replay),
        (thread("running", settled("i1", payload=1), held=True), Attach),
        (thread("failed", settled("i1", payload=1)), Resume),
    ):
        decision = decide(given, view, options=IGNORE)
        assert isinstance(decision, expected)
        assert len(decision.warnings) == 1
    idle = thread("finished", settled("i1", payload=1))
    assert refusal(request(yes("x")), idle, options=IGNORE).code is Code.UNKNOWN_INTERRUPT


@requirement("RE-10")
def test_ignored_ids_beside_a_message_start_with_a_warning_under_either_value() -> None:
    """RE-10, design 4: nothing is open, so they answer nothing."""
    idle = thread("finished", settled("i1"), messages=[])
    for options in (AgentOptions(), IGNORE):
        for entries in ((yes("x"),), (yes("x"), yes("i1"))):
            decision = decide(request(*entries, messages=[U1]), idle, options=options)
            assert isinstance(decision, Start)
            assert len(decision.warnings) == 1


# partial


@requirement("CR-3", "OC-01")
def test_some_answers_are_kept_until_the_rest_has_come() -> None:
    """C6, C9: held, by whom and when; then all are settled together, each as it was given."""
    one, two = asked("i1", schema=APPROVAL), asked("i2", schema=APPROVAL)
    view = thread("suspended", one, two)
    given = request(yes("i1", YES, metadata={"note": 1}))
    assert refusal(given, view).code is Code.PARTIAL_RESUME
    decision = decide(given, view, options=KEEP)
    assert isinstance(decision, HoldAnswers)
    (kept,) = decision.items
    assert (kept.id, kept.status) == ("i1", "open")
    since = thread("suspended", kept, two)
    done = resumed(request(no("i2")), since, options=KEEP, now=NOW + 5)
    assert [(i.id, i.status, i.decided_by, i.decided_at, i.held) for i in done.settle] == [
        ("i1", "resolved", "bob", NOW, None),
        ("i2", "cancelled", "bob", NOW + 5, None),
    ]
    assert done.settle[0].payload == b'{"approved":true}'
    assert done.settle[0].answer_metadata == b'{"note":1}'


def test_a_kept_answer_counts_under_either_value() -> None:
    """Somebody may have given it in the inbox: a request for the rest completes the set."""
    view = thread("suspended", holding(asked("i1")), asked("i2"))
    for options in (AgentOptions(), KEEP):
        done = resumed(request(yes("i2")), view, options=options)
        assert [one.channel for one in done.settle] == ["inbox", "run"]
    assert named(refusal(request(messages=[U1]), view)) == ["i2"]


def test_a_kept_answer_may_be_replaced_until_the_set_is_complete() -> None:
    """Design 2: held, then settled; the same again changes neither who gave it nor when."""
    view = thread("suspended", holding(asked("i1"), "a"), asked("i2"))
    assert decide(request(yes("i1", "a")), view, options=KEEP) == Replay()
    decision = decide(request(yes("i1", "b")), view, options=KEEP)
    assert isinstance(decision, HoldAnswers)
    replaced = thread("suspended", decision.items[0], asked("i2"))
    assert resumed(request(yes("i2")), replaced).settle[0].payload == b'"b"'
    over = resumed(request(yes("i1", "c"), yes("i2")), view)
    assert over.settle[0].payload == b'"c"'


def test_only_good_answers_are_kept() -> None:
    """One bad entry keeps none: late, unfit, or two at once (RE-17)."""
    view = thread(
        "suspended",
        asked("i1", schema=APPROVAL),
        asked("i2", expires_at=NOW),
        asked("i3"),
    )
    for entry, code in (
        (yes("i1", {"approved": 1}), Code.INVALID_PAYLOAD),
        (yes("i2"), Code.INTERRUPT_EXPIRED),
        (yes("x"), Code.UNKNOWN_INTERRUPT),
    ):
        assert refusal(request(yes("i3"), entry), view, options=KEEP).code is code
    assert isinstance(decide(request(yes("i3"), no("i2")), view, options=KEEP), HoldAnswers)


@requirement("CR-3")
def test_a_message_beside_some_answers_is_refused_under_either_value() -> None:
    """E6: it would be stored beside a turn that has not gone on."""
    view = thread("suspended", asked("i1"), asked("i2"))
    for options in (AgentOptions(), KEEP):
        refused = refusal(request(yes("i1"), messages=[U1]), view, options=options)
        assert (refused.code, named(refused)) == (Code.PARTIAL_RESUME, ["i2"])


def test_a_set_whose_answers_are_all_kept_goes_on_at_any_request() -> None:
    """The server died between keeping the last one and going on."""
    view = thread("suspended", holding(asked("i1"), 1), holding(asked("i2"), 2), named=True)
    done = resumed(request(), view)
    assert [one.payload for one in done.settle] == [b"1", b"2"]
    assert resumed(request(messages=[U1]), view).queue == (replace(U1, visibility="waiting"),)


# on_message


@requirement("CR-4")
def test_a_text_answers_the_one_question_that_takes_a_string() -> None:
    """E2: "Paris" resolves it, by the speaker; the message joins the history at once."""
    view = thread("suspended", asked("i1", schema=TEXT))
    given = request(messages=[U1])
    assert refusal(given, view).code is Code.INTERRUPTS_PENDING
    decision = resumed(given, view, options=ANSWER)
    (done,) = decision.settle
    assert (done.status, done.payload) == ("resolved", b'"Paris"')
    assert (done.decided_by, done.channel) == ("bob", "message")
    assert decision.queue == (U1,)
    parts = message("u1", content=[{"type": "text", "text": "New"}, {"type": "text", "text": "Y"}])
    spoken = resumed(request(messages=[parts]), view, options=ANSWER)
    assert spoken.settle[0].payload == b'"New\\nY"'


@pytest.mark.parametrize(
    ("open_ones", "messages"),
    [
        ((asked("i1", schema=APPROVAL, reason="tool_call"),), [U1]),
        ((asked("i1", reason="confirmation"),), [U1]),
        ((asked("i1", schema=TEXT), asked("i2", schema=TEXT)), [U1]),
        ((asked("i1", schema=TEXT), asked("i2", schema=APPROVAL)), [U1]),
        ((asked("i1", schema=TEXT),), [U1, message("u2")]),
        ((asked("i1", schema=TEXT),), [message("u1", content="  ")]),
        (
            (asked("i1", schema=TEXT),),
            [
                message(
                    "u1",
                    content=[{"type": "image", "source": {"type": "url", "value": "https://x"}}],
                )
            ],
        ),
        ((asked("i1", schema=TEXT),), [result("t1", "c1")]),
    ],
)
def test_a_text_that_answers_no_single_question_is_refused(open_ones: Any, messages: Any) -> None:
    """E2: only the one open question, only plain text, only one message; never a yes (TB-08)."""
    refused = refusal(request(messages=messages), thread("suspended", *open_ones), options=ANSWER)
    assert refused.code is Code.INTERRUPTS_PENDING


def test_a_text_that_does_not_fit_its_question_is_a_wrong_answer() -> None:
    """The speaker is told what is wrong with it; late is late."""
    short = request(messages=[message("u1", content="NY")])
    for schema in (TEXT, {"type": ["string", "null"], "minLength": 3}):
        refused = refusal(short, thread("suspended", asked("i1", schema=schema)), options=ANSWER)
        assert (refused.code, named(refused)) == (Code.INVALID_PAYLOAD, ["i1"])
    late = thread("suspended", asked("i1", schema=TEXT, expires_at=NOW))
    refused = refusal(request(messages=[U1]), late, options=ANSWER)
    assert refused.code is Code.INTERRUPT_EXPIRED


@requirement("OC-12")
def test_a_message_may_cancel_what_is_open_and_start_afterwards() -> None:
    """E9, OC-12: explicit steer-away; also what expired, and what somebody had answered."""
    view = thread(
        "suspended",
        asked("i1", schema=APPROVAL),
        asked("i2", expires_at=NOW),
        holding(asked("i3")),
    )
    assert refusal(request(messages=[U1]), view).code is Code.INTERRUPTS_PENDING
    decision = resumed(request(messages=[U1]), view, options=CANCEL)
    assert {(one.status, one.channel, one.payload) for one in decision.settle} == {
        ("cancelled", "message", None)
    }
    assert [one.decided_by for one in decision.settle] == ["bob"] * 3
    assert decision.queue == (replace(U1, visibility="waiting"),)


@pytest.mark.parametrize("options", [ANSWER, CANCEL])
@pytest.mark.parametrize(
    ("given", "code"),
    [
        (request(), Code.INTERRUPTS_PENDING),
        (request(yes("x"), messages=[U1]), Code.UNKNOWN_INTERRUPT),
        (request(yes("i2"), messages=[U1]), Code.ALREADY_RESOLVED),
        (request(no("i2"), messages=[U1]), Code.PARTIAL_RESUME),
        (
            replace(
                request(messages=[U1]),
                forwarded_props={"command": {"resume": "Rome", "interruptEvent": "Where?"}},
            ),
            Code.UNKNOWN_INTERRUPT,
        ),
    ],
)
def test_only_a_message_alone_stands_for_answers(
    options: AgentOptions, given: RunInput, code: Code
) -> None:
    """D2: a request that carries answers, of whatever kind, means those."""
    view = thread("suspended", asked("i1", schema=TEXT), settled("i2", "cancelled"))
    assert refusal(given, view, options=options).code is code


@pytest.mark.parametrize("options", [ANSWER, CANCEL])
def test_a_message_stands_for_no_answer_where_nothing_is_asked(options: AgentOptions) -> None:
    """Idle: it starts; running: busy; another agent's: refused; ready: it waits."""
    given = request(messages=[U1])
    assert isinstance(decide(given, thread("finished"), options=options), Start)
    assert refusal(given, thread(held=True), options=options).code is Code.THREAD_BUSY
    theirs = thread("suspended", asked("i1", schema=TEXT), agent="b")
    assert refusal(given, theirs, options=options).code is Code.WRONG_AGENT
    ready = resumed(given, thread("suspended", settled("i1")), options=options)
    assert (ready.settle, len(ready.queue)) == ((), 1)


@pytest.mark.parametrize("options", [ANSWER, CANCEL])
def test_a_message_that_does_not_fit_into_the_thread_answers_nothing(options: AgentOptions) -> None:
    """Design 4: `thread_too_large` before anything is settled."""
    view = thread("suspended", asked("i1", schema=TEXT))
    refused = refusal(
        request(messages=[U1]), view, options=options, limits=Limits(history=len(U1.body) - 1)
    )
    assert refused.code is Code.THREAD_TOO_LARGE


# what expired by another rule than `expire`


@pytest.mark.parametrize("status", ["resolved", "cancelled"])
def test_an_answer_to_what_the_server_settled_at_expiry_is_late(status: Any) -> None:
    """D5, R3: nobody decided, so the code is that of expiry, and no one is named."""
    mine = settled("i1", status, 1, decided_by=None, channel="expiry", expires_at=NOW - 600)
    refused = refusal(request(yes("i1", 2)), thread("finished", mine))
    assert (refused.code, named(refused)) == (Code.INTERRUPT_EXPIRED, ["i1"])
    assert "by" not in refused.details["interrupts"][0]
    assert "so nothing was carried out" not in refused.message


def test_a_question_that_lapsed_takes_a_cancellation_only() -> None:
    """`on_expire="hold"`: it stays open (design 4)."""
    view = thread("suspended", asked("i1", expires_at=NOW - 5, lapsed_at=NOW - 4))
    assert refusal(request(yes("i1")), view).code is Code.INTERRUPT_EXPIRED
    assert resumed(request(no("i1")), view).settle[0].decided_by == "bob"
