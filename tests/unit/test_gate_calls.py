"""The gate's row of calls that wait for the client's own tools, with each value of the options."""

from dataclasses import replace
from typing import Any

import pytest

from sayso.base import jsonvalue
from sayso.base.codes import Code
from sayso.base.limits import Limits
from sayso.base.options import AgentOptions
from sayso.base.records import Interrupt
from sayso.gate.case import Attach, HoldAnswers, Replay, Resume, Start
from sayso.gate.client_tools import results_of
from sayso.protocol.reasons import CLIENT_TOOL
from tests.contract.requirements import requirement
from tests.deciding import decide, held, named, refusal, resumed
from tests.threads import NOW, asked, calling, message, no, request, result, settled, thread, yes

U1, U2 = message("u1"), message("u2")
KEEP = AgentOptions(partial="accumulate")
C1, C2 = result("t1", "c1"), result("t2", "c2")


def left(call: str, **members: Any) -> Interrupt:
    """A call that was left to the client."""
    return asked(f"i-{call}", reason=CLIENT_TOOL, tool_call_id=call, **members)


def outcomes(decision: Any) -> list[tuple[str, str]]:
    """What a Resume settles: by id, and how."""
    assert isinstance(decision, Resume), decision
    return [(one.id, one.status) for one in decision.settle]


STORED = [U1, calling("a1", "c1", "c2", "c3")]
ONE = thread("suspended", left("c1"), messages=STORED)
TWO = thread("suspended", left("c1"), left("c2"), messages=STORED)
BOTH = thread("suspended", asked("i1"), left("c1"), messages=STORED)


@requirement("TC-14")
def test_its_tool_message_resumes() -> None:
    """Design 4: whatever else the list holds, and under the run id of the run that called."""
    for given in (
        request(messages=[C1]),
        request(messages=[*STORED, C1]),
        request(messages=[C1], run_id="r1"),
    ):
        for view in (ONE, replace(ONE, named_run=ONE.run)):
            decision = resumed(given, view)
            assert outcomes(decision) == [("i-c1", "resolved")]
            assert decision.queue == ()
            assert results_of(decision.settle) == (C1,)
            assert decision.settle[0].decided_by == "bob"


def test_the_first_of_two_tool_messages_counts() -> None:
    """As in a list that starts a turn (H2); the other is said to be ignored."""
    decision = resumed(request(messages=[C1, result("t9", "c1")]), ONE)
    assert results_of(decision.settle) == (C1,)
    (warning,) = decision.warnings
    assert "'t9'" in warning


def test_a_user_message_instead_says_that_no_answer_will_come() -> None:
    """Design 4: then Resume, and the message waits for the turn to end."""
    decision = resumed(request(messages=[*STORED, U2]), ONE)
    assert outcomes(decision) == [("i-c1", "cancelled")]
    assert decision.queue == (replace(U2, visibility="waiting"),)
    assert decision.settle[0].payload is None


def test_a_user_message_beside_the_answer_takes_nothing_from_it() -> None:
    """The call is answered, the message waits; of several, only those without one are closed."""
    decision = resumed(request(messages=[C1, U2]), ONE)
    assert outcomes(decision) == [("i-c1", "resolved")]
    assert [one.id for one in decision.queue] == ["u2"]
    decision = resumed(request(messages=[C2, U2]), TWO)
    assert outcomes(decision) == [("i-c1", "cancelled"), ("i-c2", "resolved")]


@pytest.mark.parametrize("named", [True, False])
def test_who_brings_nothing_is_shown_the_thread(named: bool) -> None:
    """A reload, a retry: no refusal, since nobody was asked anything."""
    view = replace(ONE, named_run=ONE.run if named else None)
    assert decide(request(messages=STORED), view) == Replay()
    assert decide(request(messages=[]), view) == Replay()


@requirement("CR-3")
def test_some_of_the_answers_are_refused_or_kept() -> None:
    """`partial`, both values: what is missing is named by the call's id, which the client knows."""
    given = request(messages=[C2])
    refused = refusal(given, TWO)
    assert refused.code is Code.PARTIAL_RESUME
    assert refused.details["toolCallIds"] == ["c1"]
    assert "'c1'" in refused.message
    assert "i-c1" not in refused.message
    kept = decide(given, TWO, options=KEEP)
    assert isinstance(kept, HoldAnswers)
    assert [one.id for one in kept.items] == ["i-c2"]
    waiting = thread("suspended", left("c1"), kept.items[0], messages=STORED)
    assert decide(given, waiting, options=KEEP) == Replay()
    decision = resumed(request(messages=[C1]), waiting, options=KEEP)
    assert results_of(decision.settle) == (C1, C2)
    # What is held was an answer: talk does not take it back.
    decision = resumed(request(messages=[U2]), waiting)
    assert outcomes(decision) == [("i-c1", "cancelled"), ("i-c2", "resolved")]


@requirement("OU-14", "CR-4")
def test_beside_a_question_both_are_needed() -> None:
    """OU-14: entries and tool messages in one request; the rest is named as what it is."""
    assert outcomes(decide(request(yes("i1"), messages=[C1]), BOTH)) == [
        ("i1", "resolved"),
        ("i-c1", "resolved"),
    ]
    half = refusal(request(yes("i1")), BOTH)
    assert (half.code, half.details["toolCallIds"]) == (Code.PARTIAL_RESUME, ["c1"])
    other = refusal(request(messages=[C1]), BOTH)
    assert (other.code, named(other)) == (Code.PARTIAL_RESUME, ["i1"])
    assert "toolCallIds" not in other.details
    nothing = refusal(request(), BOTH)
    assert (nothing.code, named(nothing)) == (Code.INTERRUPTS_PENDING, ["i1"])
    talk = refusal(request(messages=[U2]), BOTH)
    assert (talk.code, named(talk)) == (Code.PARTIAL_RESUME, ["i1"])
    assert outcomes(decide(request(yes("i1"), messages=[U2]), BOTH)) == [
        ("i1", "resolved"),
        ("i-c1", "cancelled"),
    ]


def test_a_message_that_steers_leaves_the_call_as_well() -> None:
    """`on_message`, both values: it answers or cancels the question, and the call has no answer."""
    text = thread("suspended", asked("i1", schema={"type": "string"}), left("c1"), messages=STORED)
    for way, status in (("answer", "resolved"), ("cancel", "cancelled")):
        decision = decide(request(messages=[U2]), text, options=AgentOptions(on_message=way))  # type: ignore[arg-type]
        assert outcomes(decision) == [("i1", status), ("i-c1", "cancelled")]
    with_it = decide(request(messages=[U2, C1]), text, options=AgentOptions(on_message="cancel"))
    assert outcomes(with_it) == [("i1", "cancelled"), ("i-c1", "resolved")]


@requirement("TB-13")
def test_a_tool_message_for_any_other_call_is_nothing() -> None:
    """Design 4: neither approval nor result; `c2` is gated, `c9` is nobody's."""
    gated = asked("i2", reason="tool_call", tool_call_id="c2")
    view = thread("suspended", gated, messages=STORED)
    assert refusal(request(messages=[C2]), view).code is Code.INTERRUPTS_PENDING
    assert decide(request(messages=[result("t9", "c9")]), ONE) == Replay()
    both = thread("suspended", gated, left("c1"), messages=STORED)
    refused = refusal(request(messages=[C1, C2]), both)
    assert (refused.code, named(refused)) == (Code.PARTIAL_RESUME, ["i2"])


@requirement("CR-1")
@pytest.mark.parametrize("unknown", ["refuse", "ignore"])
def test_no_entry_names_such_a_call(unknown: Any) -> None:
    """D1: open or settled, its id was never told; `unknown_entries` goes for it as for any."""
    options = AgentOptions(unknown_entries=unknown)
    for view in (ONE, thread("finished", settled("i-c1", reason=CLIENT_TOOL, tool_call_id="c1"))):
        for entry in (yes("i-c1", {"content": "x"}), no("i-c1")):
            refused = refusal(request(entry), view, options=options)
            assert (refused.code, named(refused)) == (Code.UNKNOWN_INTERRUPT, ["i-c1"])
    beside = request(yes("i1"), yes("i-c1"), messages=[C1])
    if unknown == "ignore":
        assert outcomes(decide(beside, BOTH, options=options))[1] == ("i-c1", "resolved")
    else:
        assert named(refusal(beside, BOTH, options=options)) == ["i-c1"]


@requirement("EX-04", "EX-01")
@pytest.mark.parametrize("lapsed", [None, NOW - 1])
def test_an_answer_at_its_end_is_too_late_and_talk_goes_on(lapsed: int | None) -> None:
    """`now == expiresAt` is late, also where `hold` left it open; talk beside it goes on."""
    view = thread("suspended", left("c1", expires_at=NOW, lapsed_at=lapsed), messages=STORED)
    refused = refusal(request(messages=[C1]), view)
    assert refused.code is Code.INTERRUPT_EXPIRED
    assert [one["toolCallId"] for one in refused.details["interrupts"]] == ["c1"]
    assert outcomes(decide(request(messages=[C1, U2]), view)) == [("i-c1", "cancelled")]
    assert outcomes(decide(request(messages=[C1]), view, now=NOW - 1)) == [("i-c1", "resolved")]


@requirement("ID-01", "ID-06", "ID-07")
def test_an_answer_that_comes_after_all_is_over_starts_nothing() -> None:
    """Two tabs ran the tool: while the turn runs it is followed, afterwards shown."""
    over = settled("i-c1", reason=CLIENT_TOOL, tool_call_id="c1")
    running = thread(messages=[*STORED, C1], held=True)
    late = request(messages=[*STORED, result("t9", "c1")])
    assert decide(late, replace(running, interrupts=(over,))) == Attach()
    for status in ("finished", "failed", "cancelled"):
        view = thread(status, over, messages=[*STORED, C1])
        decision = decide(late, view)
        assert isinstance(decision, Replay)
        assert decision.warnings
        assert isinstance(decide(request(messages=[*STORED, C1]), view), Start)  # regenerate
        with_talk = decide(request(messages=[*late.messages, U2]), view)
        assert isinstance(with_talk, Start)
        assert [one.id for one in with_talk.append] == ["u2"]


def test_an_answer_taken_back_by_changed_code_counts_again() -> None:
    """Design 3, rule 9: the call is open again, and the history has its result already."""
    view = thread("suspended", left("c1"), messages=[*STORED, C1])
    assert outcomes(decide(request(messages=[*STORED, C1]), view)) == [("i-c1", "resolved")]


def test_a_result_that_the_thread_has_no_room_for_is_refused() -> None:
    """Design 4, history: nothing is taken, whether it would be settled or kept."""
    big = result("t1", "c1", content="x" * 2_000)
    tight = Limits(history=1_500)
    assert refusal(request(messages=[big]), ONE, limits=tight).code is Code.THREAD_TOO_LARGE
    kept = refusal(request(messages=[big]), TWO, limits=tight, options=KEEP)
    assert kept.code is Code.THREAD_TOO_LARGE


def test_a_result_may_be_as_large_as_any_message() -> None:
    """It is no payload: a tool may answer with a picture."""
    big = result("t1", "c1", content="x" * 2_000)
    assert outcomes(decide(request(messages=[big]), ONE, limits=Limits(payload=100)))


def test_another_agent_and_a_running_thread_are_as_ever() -> None:
    """`wrong_agent` while the call is open; a running thread follows who brings a result."""
    assert refusal(request(messages=[C1]), ONE, agent="b").code is Code.WRONG_AGENT
    running = thread("running", left("c1"), messages=STORED, held=True)
    assert decide(request(messages=[C1]), running) == Attach()


def test_a_ready_thread_goes_on_with_what_is_held() -> None:
    """All that was needed is there: the next request, whatever it is, lets the turn go on."""
    item = left("c1")
    kept = held(item, yes(item.id, jsonvalue.decode(C1.body)), channel="run")
    view = thread("suspended", kept, messages=STORED)
    decision = resumed(request(messages=STORED), view)
    assert results_of(decision.settle) == (C1,)
