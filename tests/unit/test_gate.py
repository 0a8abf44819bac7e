"""The gate: a row here for each row of the design's table, and the edges between them."""

from dataclasses import replace
from typing import Any

import pytest

from sayso.base.codes import Code
from sayso.base.limits import Limits
from sayso.gate.case import Attach, Replay, Resume, Start
from sayso.protocol.runinput import RunInput
from tests.contract.requirements import requirement
from tests.deciding import APPROVAL, YES, decide, named, refusal, resumed
from tests.threads import NOW, asked, calling, message, no, request, result, settled, thread, yes

U1, U2 = message("u1"), message("u2")


# nothing open, no answers


@requirement("FC-06")
def test_a_new_thread_starts() -> None:
    """Also with no message at all."""
    assert decide(request(messages=[U1]), None) == Start((U1,), ())
    assert decide(request(), None) == Start((), ())


@pytest.mark.parametrize(
    "lost",
    [
        request(yes("x")),
        request(yes("x"), messages=[U1]),
        request(messages=[U1, calling("a1", "c1"), result("t1", "c1")]),
    ],
)
def test_what_goes_on_with_a_thread_that_is_gone_begins_nothing(lost: RunInput) -> None:
    """D2: its answer, also beside a message, or the result of a call that was made there."""
    for view in (None, thread("finished", messages=[message("other"), message("o2", "assistant")])):
        if view is not None and lost.resume:
            strange = message("a9", "assistant", content="of the other conversation")
            lost = replace(lost, messages=(*lost.messages, strange))
        refused = refusal(lost, view)
        assert refused.code is Code.UNKNOWN_INTERRUPT
        assert refused.conversation_gone


def test_a_thread_that_has_the_history_takes_a_message_beside_a_dead_answer() -> None:
    """RE-10: the answer is left out with a warning."""
    said = message("a1", "assistant", content="hi")
    view = thread("finished", messages=[U1, said])
    for sent in ([U2], [U1, said, U2]):
        decision = decide(request(yes("x"), messages=sent), view)
        assert isinstance(decision, Start)
        assert len(decision.warnings) == 1


@pytest.mark.parametrize("status", ["finished", "failed", "cancelled"])
def test_a_new_message_on_an_idle_thread_starts(status: Any) -> None:
    """However the last turn ended, and by any agent (design 4)."""
    view = thread(status, messages=[U1])
    assert decide(request(messages=[U1, U2]), view) == Start((U2,), ())
    assert decide(request(messages=[U2]), view, agent="b") == Start((U2,), ())


def test_a_retried_post_never_runs_a_turn_twice() -> None:
    """Nothing new and the `runId` of a known run: what became of it, or the run itself."""
    again = request(messages=[U1], run_id="r1")
    for status in ("finished", "failed", "cancelled"):
        assert decide(again, thread(status, messages=[U1], named=True)) == Replay()
    assert decide(again, thread(messages=[U1], named=True, held=True)) == Attach()


def test_a_retried_post_of_a_run_that_asked_shows_its_questions_again() -> None:
    """Also while they are open, and also on the path of another agent (design 4, order)."""
    view = thread("suspended", asked("i1"), messages=[U1], named=True)
    assert decide(request(messages=[U1], run_id="r1"), view) == Replay()


def test_a_known_run_id_with_something_new_is_no_retry() -> None:
    """CopilotKit resumes under the interrupted run's `runId` (TR-07, ID-02)."""
    view = thread("suspended", asked("i1"), messages=[U1], named=True)
    assert isinstance(decide(request(yes("i1"), run_id="r1"), view), Resume)
    idle = thread("finished", messages=[U1], named=True)
    assert isinstance(decide(request(messages=[U2], run_id="r1"), idle), Start)


def test_nothing_new_regenerates_only_what_was_delivered_whole() -> None:
    """Otherwise it is a retry whose client made a new `runId` (design 4)."""
    stored = [U1, message("a1", "assistant", content="hi")]
    sent = request(messages=[U1])
    assert decide(sent, thread("finished", messages=stored)) == Start((), ("a1",))
    assert decide(sent, thread("finished", messages=stored, delivered=False)) == Replay()
    assert decide(sent, thread(messages=stored, delivered=False, held=True)) == Attach()


# somebody else's


@pytest.mark.parametrize("resume", [(), (yes("i1"),), (no("x"),)])
def test_another_agents_unfinished_thread_is_refused(resume: Any) -> None:
    """While something is open, ready or running."""
    given = request(*resume, messages=[U2])
    for view in (
        thread("suspended", asked("i1")),
        thread("suspended", settled("i1")),
        thread(held=True),
    ):
        refused = refusal(given, view, agent="b")
        assert refused.code is Code.WRONG_AGENT
        assert "'a'" in refused.message


@requirement("ID-08")
def test_a_running_thread_is_busy_for_anything_new() -> None:
    """A message, an answer, both; nothing of it is kept."""
    view = thread("running", settled("i1"), held=True)
    for given in (
        request(messages=[U2]),
        request(yes("i1", 1)),
        request(yes("x")),
        request(yes("i1"), messages=[U2]),
    ):
        assert refusal(given, view).code is Code.THREAD_BUSY


# answers for nothing


@requirement("CR-1", "CR-2")
def test_answers_to_ids_that_were_never_asked_are_refused_by_name() -> None:
    """Whoever else may have asked them; nothing tells a foreign id from an invented one (D1)."""
    for view in (thread("finished"), thread("failed")):
        refused = refusal(request(yes("int_x"), no("int_y")), view)
        assert refused.code is Code.UNKNOWN_INTERRUPT
        assert named(refused) == ["int_x", "int_y"]


@requirement("RE-10")
def test_answers_to_nothing_do_not_stop_a_new_message_on_an_idle_thread() -> None:
    """Start, with a warning that names them; they are executed by nobody."""
    started = decide(request(yes("int_x"), messages=[U2]), thread("finished"))
    assert isinstance(started, Start)
    assert started.append == (U2,)
    assert "int_x" in started.warnings[0]


@requirement("TR-01")
@pytest.mark.parametrize("messages", [(), (U2,)])
def test_an_unknown_id_beside_a_full_answer_refuses_all_of_it(messages: Any) -> None:
    """Also instead of one (D1, D4: a tool call's id is no interrupt's id)."""
    view = thread("suspended", asked("i1", tool_call_id="call_1"))
    for entries in ((yes("i1"), yes("nope")), (yes("call_1"),)):
        refused = refusal(request(*entries, messages=messages), view)
        assert refused.code is Code.UNKNOWN_INTERRUPT
        assert "i1" not in named(refused)


# a full set of answers


@requirement("RE-15", "RE-16")
def test_every_open_interrupt_answered_once_resumes() -> None:
    """Entries find their interrupts by id, in any order, each with its own status (C2, C4)."""
    view = thread(
        "suspended",
        asked("i1", schema=APPROVAL, reason="tool_call"),
        asked("i2"),
        asked("i3", schema=APPROVAL),
    )
    answers = [yes("i3", {"approved": False}), no("i2"), yes("i1", YES, metadata={"sig": "s"})]
    resume = resumed(request(*answers), view)
    assert [one.id for one in resume.settle] == ["i1", "i2", "i3"]
    assert [one.status for one in resume.settle] == ["resolved", "cancelled", "resolved"]
    first, second, third = resume.settle
    assert first.payload == b'{"approved":true}'
    assert first.answer_metadata == b'{"sig":"s"}'
    assert second.payload is None
    assert third.payload == b'{"approved":false}'
    for one in resume.settle:
        assert (one.decided_by, one.decided_at, one.channel) == ("bob", NOW, "run")
        assert one.run_key is None
    assert (resume.queue, resume.retry) == ((), False)


@requirement("RE-06")
def test_entry_metadata_is_kept_on_either_status_and_is_no_answer() -> None:
    """It does not count when answers are compared, either (design 4)."""
    view = thread("suspended", asked("i1"))
    resume = resumed(request(no("i1", metadata={"why": None})), view)
    assert resume.settle[0].answer_metadata == b'{"why":null}'
    done = thread("finished", settled("i1", payload=1, answer_metadata=b'{"a":1}'))
    assert decide(request(yes("i1", 1, metadata={"a": 2})), done) == Replay()


@requirement("RE-09")
def test_a_message_beside_the_answers_waits_for_the_turn_to_end() -> None:
    """Results first, then the message (E5); assistants and tools beside it are ignored (TR-08)."""
    call = calling("a1", "c1")
    view = thread("suspended", asked("i1", tool_call_id="c1"), messages=[U1, call])
    sent = [U1, call, result("fake", "c1"), message("a9", "assistant", content="forged"), U2]
    assert resumed(request(yes("i1"), messages=sent), view).queue == (
        replace(U2, visibility="waiting"),
    )


@requirement("TR-08", "TB-13")
def test_a_tool_message_for_a_gated_call_answers_nothing() -> None:
    """Neither approval nor result, alone or beside a message."""
    call = calling("a1", "c1")
    view = thread("suspended", asked("i1", tool_call_id="c1"), messages=[U1, call])
    sent = request(messages=[U1, call, result("forged", "c1")])
    assert refusal(sent, view).code is Code.INTERRUPTS_PENDING


@pytest.mark.parametrize("messages", [(), (message("a1", "assistant", content="part"),)])
def test_a_resume_is_one_whatever_messages_it_carries(messages: Any) -> None:
    """An empty or partial list is no regenerate (P1)."""
    view = thread("suspended", asked("i1"), messages=[U1])
    assert resumed(request(yes("i1"), messages=messages), view).queue == ()


def test_answers_that_are_settled_already_may_ride_along() -> None:
    """Only open interrupts need answers (C10), and equal ones do no harm."""
    view = thread("suspended", settled("i0", payload=YES, turn="turn_0"), asked("i1"))
    resume = resumed(request(yes("i0", YES), yes("i1", 2)), view)
    assert [one.id for one in resume.settle] == ["i1"]
    differing = refusal(request(yes("i0", {"approved": False}), yes("i1", 2)), view)
    assert differing.code is Code.ALREADY_RESOLVED


# an incomplete set


@requirement("CR-3", "RE-11")
def test_an_open_interrupt_left_out_refuses_all() -> None:
    """Omission is not abandonment; what is missing is named (E6)."""
    view = thread("suspended", asked("i1"), asked("i2"), asked("i3"))
    refused = refusal(request(yes("i2"), messages=[U2]), view)
    assert refused.code is Code.PARTIAL_RESUME
    assert named(refused) == ["i1", "i3"]
    riding = thread("suspended", settled("i0"), asked("i1"))
    assert refusal(request(yes("i0"), messages=[U2]), riding).code is Code.PARTIAL_RESUME


@requirement("CR-4", "TR-02")
def test_input_without_an_answer_is_refused_while_something_is_open() -> None:
    """Plain text, a regenerate and an empty resume alike (E1)."""
    view = thread("suspended", asked("i1"), asked("i2"), messages=[U1])
    for given in (request(messages=[U1, U2]), request(messages=[U1]), request()):
        refused = refusal(given, view)
        assert refused.code is Code.INTERRUPTS_PENDING
        assert named(refused) == ["i1", "i2"]


@requirement("RE-08")
def test_two_entries_for_one_id_count_once_if_equal() -> None:
    """And refuse the whole request if not, before anything else is judged (D8)."""
    view = thread("suspended", asked("i1"))
    same = request(yes("i1", {"a": 1, "b": 2}), yes("i1", {"b": 2.0, "a": 1}, metadata={"m": 1}))
    assert len(resumed(same, view).settle) == 1
    given_up = request(no("i1"), replace(no("i1"), payload="of a cancel says nothing"))
    assert resumed(given_up, view).settle[0].payload is None
    assert resumed(request(*reversed(given_up.resume)), view).settle[0].payload is None
    for pair in (
        (yes("i1", YES), yes("i1", {"approved": False})),
        (yes("i1"), no("i1")),
        (yes("x", 1), yes("x", 2)),
    ):
        for where in (view, None, thread(held=True)):
            refused = refusal(request(*pair), where)
            assert refused.code is Code.DUPLICATE_ENTRY
            assert len(named(refused)) == 1


# limits, order, words


def test_a_thread_that_would_grow_too_large_is_refused_for_new_messages_only() -> None:
    """An open question stays answerable, whatever the thread holds."""
    limits = Limits(history=10)
    assert refusal(request(messages=[U1]), None, limits=limits).code is Code.THREAD_TOO_LARGE
    view = thread("suspended", asked("i1"), messages=[U1])
    assert isinstance(decide(request(yes("i1"), messages=[U1]), view, limits=limits), Resume)
    both = request(yes("i1"), messages=[U1, U2])
    assert refusal(both, view, limits=limits).code is Code.THREAD_TOO_LARGE


def test_refusals_come_in_the_documented_order() -> None:
    """One request that breaks every rule, put right step by step (design 4)."""
    busy = thread("running", settled("i0"), held=True)
    view = thread(
        "suspended",
        settled("i0", payload=1),
        asked("i1", expires_at=NOW),
        asked("i2", schema=APPROVAL),
        asked("i3"),
    )
    wrong = [yes("x"), yes("i0", 2), yes("i1"), yes("i2", 0)]
    twice = request(*wrong, yes("x", 1), messages=[U2])
    steps = [
        (refusal(twice, busy, agent="b"), Code.DUPLICATE_ENTRY),
        (refusal(request(*wrong, messages=[U2]), busy, agent="b"), Code.WRONG_AGENT),
        (refusal(request(*wrong, messages=[U2]), busy), Code.THREAD_BUSY),
        (refusal(request(*wrong), view), Code.UNKNOWN_INTERRUPT),
        (refusal(request(*wrong[1:]), view), Code.ALREADY_RESOLVED),
        (refusal(request(*wrong[2:]), view), Code.PARTIAL_RESUME),
        (refusal(request(*wrong[2:], yes("i3")), view), Code.INTERRUPT_EXPIRED),
        (refusal(request(no("i1"), yes("i2", 0), yes("i3")), view), Code.INVALID_PAYLOAD),
    ]
    assert [step.code for step, _ in steps] == [code for _, code in steps]
    right = request(no("i1"), yes("i2", YES), yes("i3"), yes("i0", 1))
    assert isinstance(decide(right, view), Resume)


def test_a_sentence_stays_short_whatever_the_client_calls_things() -> None:
    """The details name everything, the sentence the first few, cut (ER-14)."""
    many = request(*(yes(f"{n}" + "x" * 400) for n in range(50)))
    refused = refusal(many, thread("finished"))
    assert len(refused.details["interrupts"]) == 50
    assert len(refused.message) < 600
    assert "and 45 more" in refused.message
    assert "\n" not in refusal(request(yes("a\nb")), None).message
