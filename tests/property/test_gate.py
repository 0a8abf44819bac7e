"""What the gate keeps to whatever comes: any request over any thread."""

from dataclasses import replace
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.base import jsonvalue
from sayso.base.codes import Code
from sayso.base.records import Interrupt, ThreadView
from sayso.gate.case import Attach, GateDecision, Replay, Resume, Start
from sayso.gate.refusals import Refuse
from sayso.protocol.runinput import ResumeEntry, RunInput
from sayso.schemas.schema import compile_bytes
from tests.contract.requirements import requirement
from tests.deciding import APPROVAL, decide
from tests.share import share
from tests.threads import NOW, calling, message, request, result, settled, thread

IDS = st.sampled_from(["i0", "i1", "i2", "i3", "x"])
PAYLOADS = st.sampled_from(
    [None, True, False, 0, 1, 1.0, "", "yes", {"approved": True}, {"approved": 1.0}, [None]]
)
HOSTILE = st.sampled_from([10**400, b"x", "\ud800", {1: 2}, object(), {"a": {1}}])
BOOLEAN = b'{"type":"boolean"}'
DEEP: Any = []
for _ in range(2_000):
    DEEP = [DEEP]
ENTRIES = st.builds(
    ResumeEntry,
    interrupt_id=IDS,
    status=st.sampled_from(["resolved", "cancelled"]),
    payload=PAYLOADS,
)
MESSAGES = st.lists(
    st.sampled_from(
        [
            message("u1"),
            message("u2"),
            message("u3"),
            message("a1", "assistant", content="hi"),
            calling("a2", "c1"),
            result("t1", "c1"),
            result("t2", "c2"),
        ]
    ),
    unique_by=lambda one: one.id,
)


KINDS = [
    {"status": status, "turn": turn, "schema": schema, "reason": reason, "expires_at": expires_at}
    for status in ("open", "open", "open", "resolved", "cancelled", "expired")
    for turn in ("turn_1", "turn_1", "turn_1", "turn_0")
    for schema in (None, None, APPROVAL, orjson.loads(BOOLEAN))
    for reason in ("input_required", "confirmation")
    for expires_at in (None, None, None, None, NOW, NOW + 1)
]


def interrupt(identifier: str, kind: dict[str, Any], payload: Any) -> Interrupt:
    status = kind["status"]
    others = {name: value for name, value in kind.items() if name != "status"}
    made = settled(identifier, payload=payload if status == "resolved" else None, **others)
    return replace(made, status=status)


def interrupts(least: int) -> st.SearchStrategy[list[Interrupt]]:
    return st.lists(
        st.tuples(st.sampled_from(["i0", "i1", "i2", "i3"]), st.sampled_from(KINDS), PAYLOADS),
        min_size=least,
        max_size=4,
        unique_by=lambda drawn: drawn[0],
    ).map(lambda drawn: [interrupt(*one) for one in drawn])


def threads(
    least: int, statuses: st.SearchStrategy[Any], held: st.SearchStrategy[bool], agents: list[str]
) -> st.SearchStrategy[ThreadView]:
    return st.builds(
        lambda status, asked, stored, last, **rest: thread(
            status,
            *asked,
            messages=[*stored[:-1], *(replace(one, visibility=last) for one in stored[-1:])],
            **rest,
        ),
        statuses,
        interrupts(least),
        MESSAGES,
        st.sampled_from(["visible", "visible", "hidden", "waiting"]),
        held=held,
        delivered=st.booleans(),
        named=st.booleans(),
        agent=st.sampled_from(agents),
    )


ANY_THREAD = threads(
    0,
    st.sampled_from(["suspended", "finished", "failed", "cancelled"]),
    st.booleans(),
    ["a", "a", "b"],
)
WAITING = threads(1, st.just("suspended"), st.just(False), ["a"])


def fitting(item: Interrupt) -> st.SearchStrategy[ResumeEntry]:
    """Mostly an answer that the interrupt takes, or the one that it took."""
    if item.status == "open":
        wanted = {"approved": True} if item.response_schema != BOOLEAN else True
        payloads = st.sampled_from([wanted, wanted, wanted, wanted, None])
    else:
        payloads = st.just(None if item.payload is None else jsonvalue.decode(item.payload))
    statuses = st.sampled_from(["resolved", "resolved", "resolved", "cancelled"])
    return st.builds(ResumeEntry, interrupt_id=st.just(item.id), status=statuses, payload=payloads)


ANY_ENTRIES = st.lists(ENTRIES, max_size=3)


@st.composite
def cases(draw: st.DrawFn) -> tuple[RunInput, ThreadView | None]:
    """Anything over anything, or answers that mostly fit over a thread that waits for them."""
    if draw(st.integers(0, 2)) == 2:
        return request(*draw(ANY_ENTRIES), messages=draw(MESSAGES)), draw(ANY_THREAD | st.none())
    view = draw(WAITING)
    entries = [
        draw(fitting(one)) for one in view.interrupts if one.status == "open" or draw(st.booleans())
    ]
    if draw(st.integers(0, 5)) == 5:
        entries += draw(ANY_ENTRIES)
    if draw(st.integers(0, 5)) == 5:
        entries = entries[1:]
    return request(*entries, messages=draw(MESSAGES)), view


def open_ones(view: ThreadView | None) -> dict[str, Interrupt]:
    if view is None or view.turn is None or view.turn.status != "suspended":
        return {}
    return {
        one.id: one
        for one in view.interrupts
        if one.status == "open" and one.turn_key == view.turn.key
    }


def fits(item: Interrupt, payload: Any) -> bool:
    if item.response_schema is not None:
        return compile_bytes(item.response_schema).is_valid(payload)
    if item.reason == "confirmation":
        return payload in ({"approved": True}, {"approved": False}) or isinstance(payload, bool)
    return True


@given(cases())
@settings(max_examples=share(200, of=3), deadline=None)
def test_every_request_gets_one_of_five_decisions(case: tuple[RunInput, ThreadView | None]) -> None:
    """Total, and what it needs a thread for it decides over a thread only."""
    given_request, view = case
    decision = decide(given_request, view)
    assert isinstance(decision, Start | Resume | Replay | Attach | Refuse)
    if view is None:
        assert isinstance(decision, Start | Refuse)
    if isinstance(decision, Attach):
        assert view is not None
        assert view.thread.holder is not None
    if isinstance(decision, Refuse):
        assert decision.details["code"] == decision.code.value
        assert decision.message
        assert jsonvalue.encode(decision.details)


@given(cases(), st.one_of(HOSTILE, st.just(DEEP)))
@settings(max_examples=share(100, of=3), deadline=None)
def test_no_payload_makes_the_gate_raise(
    case: tuple[RunInput, ThreadView | None], payload: Any
) -> None:
    """Also one that never was JSON: it equals nothing and fits nothing."""
    given_request, view = case
    entries = tuple(
        replace(entry, status="resolved", payload=payload) for entry in given_request.resume
    )
    decision = decide(replace(given_request, resume=entries), view)
    if entries and open_ones(view):
        assert isinstance(decision, Refuse)


@requirement("RE-17", "ER-06", "TB-08", "CR-3")
@given(cases())
@settings(max_examples=share(300, of=3), deadline=None)
def test_nothing_is_settled_unless_every_open_interrupt_has_one_valid_answer_in_time(
    case: tuple[RunInput, ThreadView | None],
) -> None:
    """Exactly the open ones, each as its entry says, nothing expired, nothing unfit (EX-09)."""
    given_request, view = case
    decision = decide(given_request, view)
    if not isinstance(decision, Resume):
        return
    assert view is not None
    assert view.turn is not None
    assert view.thread.holder is None
    assert view.turn.agent == "a"
    expected = open_ones(view)
    assert [one.id for one in decision.settle] == list(expected)
    if not expected:
        assert decision.retry is (view.turn.status == "failed")
    for done in decision.settle:
        before = expected[done.id]
        entries = [one for one in given_request.resume if one.interrupt_id == done.id]
        assert {entry.status for entry in entries} == {done.status}
        if done.status == "resolved":
            kept = None if done.payload is None else jsonvalue.decode(done.payload)
            assert all(jsonvalue.equal(kept, entry.payload) for entry in entries)
            assert fits(before, kept)
            assert before.expires_at is None or before.expires_at > NOW
        else:
            assert done.payload is None
        changed = ("status", "payload", "answer_metadata", "decided_by", "decided_at", "channel")
        undone = {name: getattr(before, name) for name in changed}
        assert replace(done, **undone) == before


def shape(decision: GateDecision) -> Any:
    """A decision without the order of the entries and the spelling of equal numbers."""
    match decision:
        case Refuse():
            listed = decision.details.get("interrupts", [])
            return decision.code, sorted(listed, key=lambda one: str(one["interruptId"]))
        case Resume():
            answers = [
                (
                    one.id,
                    one.status,
                    one.payload and jsonvalue.canonical(jsonvalue.decode(one.payload)),
                )
                for one in decision.settle
            ]
            return answers, decision.queue, decision.retry
        case Start():
            return decision.append, decision.hide
        case _:
            return decision


@requirement("RE-15")
@given(cases(), st.randoms(use_true_random=False))
@settings(max_examples=share(200, of=3), deadline=None)
def test_the_order_of_entries_does_not_matter(
    case: tuple[RunInput, ThreadView | None], random: Any
) -> None:
    """Each is matched by its id alone (C4)."""
    given_request, view = case
    entries = list(given_request.resume)
    random.shuffle(entries)
    turned = replace(given_request, resume=tuple(entries))
    assert shape(decide(turned, view)) == shape(decide(given_request, view))


@requirement("ID-01", "ID-07")
@given(cases(), st.sampled_from(["running", "suspended", "finished", "failed", "cancelled"]))
@settings(max_examples=share(300, of=3), deadline=None)
def test_the_same_request_again_never_answers_or_starts_a_second_time(
    case: tuple[RunInput, ThreadView | None], after: Any
) -> None:
    """Whatever became of the turn since: running, asking again, ended, failed, stopped (Q2)."""
    given_request, view = case
    decision = decide(given_request, view)
    if not isinstance(decision, Resume) or view is None or not given_request.resume:
        return
    answered = {one.id: one for one in decision.settle}
    since = thread(
        after,
        *(answered.get(one.id, one) for one in view.interrupts),
        *([replace(settled("i9"), status="open")] if after == "suspended" else ()),
        messages=(*view.messages, *decision.queue),
        held=after == "running",
    )
    again = decide(given_request, since)
    assert isinstance(again, Replay | Attach | Resume)
    if isinstance(again, Resume):
        assert after == "failed"
        assert again == Resume(settle=(), retry=True)
    # Another answer to any of them is refused, and so is everything while the turn runs.
    for entry in given_request.resume:
        other: Any = "no" if entry.status == "cancelled" else ["another", entry.payload]
        changed = replace(entry, status="resolved", payload=other)
        refused = decide(request(changed), since)
        assert isinstance(refused, Refuse)
        assert refused.code in (Code.ALREADY_RESOLVED, Code.INTERRUPT_EXPIRED, Code.THREAD_BUSY)


@given(cases())
@settings(max_examples=share(300, of=3), deadline=None)
def test_ids_that_were_never_asked_settle_nothing(
    case: tuple[RunInput, ThreadView | None],
) -> None:
    """At most they are ignored beside a new message, with a warning (TR-01)."""
    given_request, view = case
    foreign = ResumeEntry(interrupt_id="another thread's", status="resolved")
    entries = (foreign, *given_request.resume)
    decision = decide(replace(given_request, resume=entries), view)
    assert isinstance(decision, Start | Refuse)
    if isinstance(decision, Start):
        assert any("another thread's" in warning for warning in decision.warnings)


@given(cases())
@settings(max_examples=share(300, of=3), deadline=None)
def test_a_new_user_message_is_never_lost(case: tuple[RunInput, ThreadView | None]) -> None:
    """It starts a turn, waits for one, or the sender is told that nothing was taken (E6)."""
    given_request, view = case
    known = {one.id for one in view.messages} if view else set()
    fresh = [one.id for one in given_request.messages if one.role == "user" and one.id not in known]
    decision = decide(given_request, view)
    if isinstance(decision, Start):
        assert [one.id for one in decision.append if one.id in fresh] == fresh
    elif isinstance(decision, Resume):
        assert [one.id for one in decision.queue] == fresh
    elif fresh:
        assert isinstance(decision, Refuse)
