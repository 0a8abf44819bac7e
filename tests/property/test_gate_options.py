"""What the gate keeps to under every combination of options, whatever comes over any thread."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.base import jsonvalue
from sayso.base.options import AgentOptions
from sayso.base.records import Interrupt, ThreadView
from sayso.gate.case import Attach, HoldAnswers, Replay, Resume, Start
from sayso.gate.interrupts import unanswered
from sayso.gate.refusals import Refuse
from sayso.protocol.runinput import ResumeEntry, RunInput
from tests.contract.requirements import requirement
from tests.deciding import decide, entry_of, held
from tests.property.test_gate import cases, fits, open_ones
from tests.share import share
from tests.threads import NOW, message

OPTIONS = st.builds(
    AgentOptions,
    refusals=st.sampled_from(["error", "recover"]),
    unknown_entries=st.sampled_from(["refuse", "ignore"]),
    partial=st.sampled_from(["refuse", "accumulate"]),
    on_message=st.sampled_from(["refuse", "answer", "cancel"]),
)
STRING = b'{"type":"string"}'
TEXTS = [message("u4", content="Paris"), message("u5", content="Rome"), message("u6", content="")]


def fitting(item: Interrupt) -> Any:
    if item.response_schema == STRING:
        return "kept"
    return {"approved": True} if item.response_schema != b'{"type":"boolean"}' else True


@st.composite
def optional_cases(draw: st.DrawFn) -> tuple[RunInput, ThreadView | None, AgentOptions]:
    """A case of the plain gate, with answers held, questions for text, and texts among it."""
    given_request, view = draw(cases())
    if view is not None:
        changed = []
        for item in view.interrupts:
            one = replace(item, response_schema=STRING) if draw(st.integers(0, 3)) == 3 else item
            if one.status == "open" and draw(st.integers(0, 3)) == 3:
                entry = ResumeEntry(interrupt_id=one.id, status="resolved", payload=fitting(one))
                one = held(one, entry)
            changed.append(one)
        view = replace(view, interrupts=tuple(changed))
    if draw(st.booleans()):
        given_request = replace(
            given_request,
            resume=() if draw(st.booleans()) else given_request.resume,
            messages=(draw(st.sampled_from(TEXTS)),),
        )
    return given_request, view, draw(OPTIONS)


Case = tuple[RunInput, ThreadView | None, AgentOptions]


def said(given_request: RunInput, view: ThreadView) -> list[str]:
    """The texts of the new user messages."""
    known = {one.id for one in view.messages}
    return [
        jsonvalue.decode(one.body)["content"]
        for one in given_request.messages
        if one.role == "user" and one.id not in known
    ]


def allowed(
    item: Interrupt, given_request: RunInput, view: ThreadView, options: AgentOptions
) -> Any:
    """The answers that an open question may get out of a request: `(status, payload, timely)`."""
    mine = [one for one in given_request.resume if one.interrupt_id == item.id]
    if mine:
        return [(one.status, one.payload) for one in mine]
    kept = entry_of(item.held)
    ways = [(kept.status, kept.payload)] if kept is not None else []
    texts = said(given_request, view)
    if given_request.resume or not texts:
        return ways
    waiting = unanswered(open_ones(view).values())
    if options.on_message == "cancel" and waiting:
        return [("cancelled", None)]
    if options.on_message == "answer" and [one.id for one in waiting] == [item.id]:
        ways += [("resolved", text) for text in texts[:1] if len(texts) == 1 and text]
    return ways


@requirement("RE-17", "RE-11", "CR-3", "CR-4")
@given(optional_cases())
@settings(max_examples=share(250, of=3), deadline=None)
def test_nothing_goes_on_without_one_valid_answer_to_every_open_question(case: Case) -> None:
    """Whatever the options: from the request, kept from before, or what its message stands for."""
    given_request, view, options = case
    decision = decide(given_request, view, options=options)
    assert isinstance(decision, Start | Resume | HoldAnswers | Replay | Attach | Refuse)
    if isinstance(decision, Start):
        assert not open_ones(view) or view is None or view.thread.holder is not None
    if not isinstance(decision, Resume):
        return
    assert view is not None
    assert view.thread.holder is None
    expected = open_ones(view)
    assert [one.id for one in decision.settle] == list(expected)
    for done in decision.settle:
        before = expected[done.id]
        assert done.held is None
        payload = None if done.payload is None else jsonvalue.decode(done.payload)
        ways = allowed(before, given_request, view, options)
        assert any(
            status == done.status and (status == "cancelled" or jsonvalue.equal(value, payload))
            for status, value in ways
        ), (done, ways)
        if done.status == "resolved":
            assert fits(before, payload)
            in_time = before.expires_at is None or before.expires_at > NOW
            assert in_time or done.decided_at == NOW - 300


@requirement("CR-3", "OC-01")
@given(optional_cases())
@settings(max_examples=share(250, of=3), deadline=None)
def test_what_is_kept_is_valid_and_leaves_something_open(case: Case) -> None:
    """Only with `accumulate`, only answers of this request, never all that is open."""
    given_request, view, options = case
    decision = decide(given_request, view, options=options)
    if not isinstance(decision, HoldAnswers):
        return
    assert view is not None
    assert options.partial == "accumulate"
    waiting = open_ones(view)
    kept = {one.id: one for one in decision.items}
    assert kept
    assert unanswered((waiting | kept).values())
    for one in decision.items:
        answer = entry_of(one.held)
        assert answer is not None
        mine = [entry for entry in given_request.resume if entry.interrupt_id == one.id]
        assert {entry.status for entry in mine} == {answer.status}
        assert replace(one, held=waiting[one.id].held) == waiting[one.id]
        if answer.status == "resolved":
            assert fits(one, answer.payload)
            assert one.expires_at is None or one.expires_at > NOW


@given(optional_cases())
@settings(max_examples=share(150, of=3), deadline=None)
def test_the_defaults_decide_like_the_strictest(case: Case) -> None:
    """An option only ever turns a refusal into something: what was taken stays the same."""
    given_request, view, options = case
    strict = decide(given_request, view)
    if not isinstance(strict, Refuse):
        assert decide(given_request, view, options=options) == strict


@given(optional_cases())
@settings(max_examples=share(150, of=3), deadline=None)
def test_no_option_loses_a_new_user_message(case: Case) -> None:
    """It starts a turn, waits for one, is an answer in the history, or its sender is told (E6)."""
    given_request, view, options = case
    known = {one.id for one in view.messages} if view else set()
    fresh = [one.id for one in given_request.messages if one.role == "user" and one.id not in known]
    decision = decide(given_request, view, options=options)
    if isinstance(decision, Start):
        assert [one.id for one in decision.append if one.id in fresh] == fresh
    elif isinstance(decision, Resume):
        assert [one.id for one in decision.queue] == fresh
    elif fresh:
        assert isinstance(decision, Refuse)
