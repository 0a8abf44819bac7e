"""What the gate keeps to about the client's own calls, whatever comes, under every option."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.base import jsonvalue
from sayso.base.records import Interrupt, ThreadView
from sayso.gate.case import Attach, HoldAnswers, Replay, Resume
from sayso.gate.client_tools import is_call, results_of
from sayso.gate.refusals import Refuse
from sayso.protocol.reasons import CLIENT_TOOL
from sayso.protocol.runinput import ResumeEntry, RunInput
from tests.contract.requirements import requirement
from tests.deciding import decide, entry_of, held
from tests.property.test_gate_options import OPTIONS
from tests.share import share
from tests.threads import NOW, asked, calling, message, request, result, thread, yes

CALLS = ["c0", "c1", "c2"]
QUESTIONS = ["q0", "q1"]
GATED = "g0"
STORED = [message("u1"), calling("a1", *CALLS, GATED)]
MESSAGES = st.lists(
    st.sampled_from(
        [
            *STORED,
            message("u2"),
            message("u3", content="Paris"),
            *(result(f"t-{call}", call) for call in (*CALLS, GATED, "c9")),
            *(result(f"late-{call}", call, content="other") for call in CALLS),
        ]
    ),
    unique_by=lambda one: one.id,
)
Case = tuple[RunInput, ThreadView, Any]


@st.composite
def call(draw: st.DrawFn, name: str) -> Interrupt:
    """A call as it may stand: open, held, or settled in any way."""
    expires_at = draw(st.sampled_from([None, None, NOW, NOW + 1]))
    item = asked(f"i-{name}", reason=CLIENT_TOOL, tool_call_id=name, expires_at=expires_at)
    if draw(st.integers(0, 3)) == 3:
        kept = jsonvalue.decode(result(f"t-{name}", name).body)
        return held(item, yes(item.id, kept), channel="run")
    return item


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Anything over a thread that waits for calls, and maybe for answers."""
    calls = [draw(call(name)) for name in CALLS[: draw(st.integers(1, 3))]]
    schemas: list[Any] = [None, {"type": "string"}, {"type": "boolean"}]
    questions = [
        asked(name, schema=draw(st.sampled_from(schemas)))
        for name in QUESTIONS[: draw(st.integers(0, 2))]
    ]
    gated = [asked(GATED, reason="tool_call", tool_call_id=GATED)] if draw(st.booleans()) else []
    everything = draw(st.permutations([*calls, *questions, *gated]))
    known = [one.id for one in everything if not is_call(one)]
    entries = [
        ResumeEntry(
            interrupt_id=name,
            status=draw(st.sampled_from(["resolved", "cancelled"])),
            payload=draw(st.sampled_from([True, "x", None])),
        )
        for name in [*known, "x", *(one.id for one in calls)]
        if draw(st.integers(0, 9)) < (6 if name in known else 1)
    ]
    view = thread("suspended", *everything, messages=STORED, named=draw(st.booleans()))
    sent = request(*entries, messages=draw(MESSAGES), run_id="r1" if view.named_run else "r2")
    return sent, view, draw(OPTIONS)


def said(case: Case) -> bool:
    return any(one.role == "user" and one.id != "u1" for one in case[0].messages)


def brought(case: Case, item: Interrupt) -> list[bytes]:
    """The tool messages of the request for a call."""
    return [
        one.body
        for one in case[0].messages
        if one.role == "tool" and jsonvalue.decode(one.body)["toolCallId"] == item.tool_call_id
    ]


@requirement("TC-11", "TC-14")
@given(cases())
@settings(max_examples=share(400, of=3), deadline=None)
def test_a_call_is_answered_by_its_own_tool_message_and_closed_by_talk_alone(case: Case) -> None:
    """Never by an entry, by another call's message or by silence; never after its time."""
    sent, view, options = case
    decision = decide(sent, view, options=options)
    assert isinstance(decision, Resume | HoldAnswers | Replay | Refuse)
    if not isinstance(decision, Resume):
        return
    asked_of = {one.id: one for one in view.interrupts}
    assert [one.id for one in decision.settle] == list(asked_of)
    for done in decision.settle:
        before = asked_of[done.id]
        if not is_call(done):
            continue
        if done.status == "resolved":
            kept = entry_of(before.held)
            mine = brought(case, before)
            allowed = [jsonvalue.decode(body) for body in mine[:1]]
            allowed += [kept.payload] if kept is not None else []
            assert jsonvalue.decode(done.payload or b"null") in allowed
            assert kept is not None or before.expires_at is None or before.expires_at > NOW
        else:
            assert (done.status, done.payload) == ("cancelled", None)
            assert said(case)
            assert before.held is None
    results = results_of(decision.settle)
    assert {one.role for one in results} <= {"tool"}
    assert {one.role for one in decision.queue} <= {"user"}


@given(cases())
@settings(max_examples=share(300, of=3), deadline=None)
def test_results_are_kept_only_where_answers_are_and_never_for_gated_calls(case: Case) -> None:
    """`partial`; what is held is the message itself, so that nothing of it is lost."""
    sent, view, options = case
    decision = decide(sent, view, options=options)
    if not isinstance(decision, HoldAnswers):
        return
    assert options.partial == "accumulate"
    assert not said(case)
    entries = {one.interrupt_id for one in sent.resume}
    for item in decision.items:
        kept = entry_of(item.held)
        assert kept is not None
        if is_call(item):
            assert jsonvalue.encode(kept.payload) in [
                jsonvalue.encode(jsonvalue.decode(body)) for body in brought(case, item)
            ]
        else:
            assert item.id in entries


@given(cases())
@settings(max_examples=share(300, of=3), deadline=None)
def test_ids_of_calls_are_told_to_nobody(case: Case) -> None:
    """A refusal names a call by the id that its client knows; ours only if it was guessed."""
    sent, view, options = case
    decision = decide(sent, view, options=options)
    if not isinstance(decision, Refuse):
        return
    guessed = {one.interrupt_id for one in sent.resume}
    told = jsonvalue.encode(decision.details).decode() + decision.message
    for item in view.interrupts:
        if is_call(item) and item.id not in guessed:
            assert item.id not in told


@requirement("ID-01")
@given(cases(), st.sampled_from(["running", "suspended", "finished", "failed", "cancelled"]))
@settings(max_examples=share(300, of=3), deadline=None)
def test_the_same_results_again_never_let_a_turn_go_on_twice(case: Case, after: Any) -> None:
    """Whatever became of it since; only a regenerate of what was delivered starts anew."""
    sent, view, options = case
    decision = decide(sent, view, options=options)
    if not isinstance(decision, Resume) or sent.resume or said(case):
        return
    since = thread(
        after,
        *decision.settle,
        *([asked("i9")] if after == "suspended" else ()),
        messages=(*view.messages, *results_of(decision.settle)),
        held=after == "running",
        delivered=False,
        named=bool(view.named_run),
    )
    again = decide(sent, since, options=options)
    assert isinstance(again, Replay | Attach | Refuse)
