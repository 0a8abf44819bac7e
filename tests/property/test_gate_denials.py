"""A denial is final by every way into the gate: pure, whoever says what to what, in any order."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sayso.base import jsonvalue
from sayso.base.approvers import Approvers
from sayso.base.limits import Limits
from sayso.base.options import AgentOptions
from sayso.base.records import Entry, Interrupt, Principal, ThreadView
from sayso.gate import changes, interrupts, quorum
from sayso.gate.case import HoldAnswers, Resume, case_of_answers, case_of_request
from sayso.gate.ladder import INBOX, RUN, decide
from sayso.protocol.runinput import ResumeEntry
from sayso.turns.denials import first_of
from sayso.turns.journal import journal
from tests.threads import NOW, asked, request, thread

PEOPLE = {
    "alice": Principal(subject="alice"),  # owns the thread
    "lea": Principal(subject="lea", roles=("lead",)),
    "leo": Principal(subject="leo", roles=("lead", "finance")),
    "fay": Principal(subject="fay", roles=("finance",)),
    "bob": Principal(subject="bob"),
}
TERMS = (
    Approvers(by="lead"),
    Approvers(by=("lead", "finance"), approvals=2),
    Approvers(approvals={"lead": 1, "finance": 1}),
    Approvers(by="lead", not_by="requester"),
)
PAYLOADS: dict[str, Any] = {
    "yes": {"approved": True},
    "less": {"approved": True, "editedArgs": {"amount": 1}},
    "no": {"approved": False},
    "cancel": None,
}
WAYS = ("inbox", "resume", "back", "extend", "assign", "deploy")
words = st.lists(
    st.tuples(
        st.sampled_from(sorted(PEOPLE)),
        st.sampled_from(WAYS),
        st.sampled_from(sorted(PAYLOADS)),
        st.sampled_from((0, 0, 0, 1, 2)),
        st.booleans(),
    ),
    max_size=12,
)


def question(number: int, terms: Approvers) -> Interrupt:
    return asked(
        f"q{number}",
        reason="tool_call",
        expires_at=NOW + 60_000,
        terms=quorum.terms_of(terms, ["alice"], None),
    )


def entry(item: Interrupt, word: str) -> ResumeEntry:
    status: Any = "cancelled" if word == "cancel" else "resolved"
    return ResumeEntry(interrupt_id=item.id, status=status, payload=PAYLOADS[word])


def after(view: ThreadView, items: Any) -> ThreadView:
    """The thread with these questions as they are now."""
    new = {item.id: item for item in items}
    return replace(view, interrupts=tuple(new.get(one.id, one) for one in view.interrupts))


def said(view: ThreadView, who: str, way: str, word: str, which: int, late: bool) -> ThreadView:
    """What the thread is after one word; as it was when the gate refuses it."""
    item = view.interrupts[which % len(view.interrupts)]
    now = NOW + (60_000 if late else 0)
    person = PEOPLE[who]
    given: Any
    match way:
        case "inbox":
            case = case_of_answers(
                [entry(item, word)],
                view,
                principal=person,
                channel="inbox",
                now=now,
                limits=Limits(),
            )
            given = decide(case, INBOX)
        case "resume":
            case = case_of_request(
                request(entry(item, word)),
                view,
                agent="a",
                principal=person,
                channel="run",
                now=now,
                limits=Limits(),
                options=AgentOptions(partial="accumulate"),
            )
            given = decide(case, RUN)
        case "back":
            given = changes.withdraw(view, item.id, who)
        case "extend":
            given = changes.extend(view, item.id, now, person, Limits(), seconds=60)
        case _:
            given = changes.assign(view, item.id, "bob", person, now)
    match given:
        case HoldAnswers():
            return after(view, given.items)
        case Resume():
            return after(view, given.settle)
    return view


@given(st.lists(st.sampled_from(TERMS), min_size=1, max_size=3), words)
def test_once_an_approver_has_said_no_nothing_said_after_it_counts(
    terms: list[Approvers], script: list[tuple[str, str, str, int, bool]]
) -> None:
    """Held or settled, late or in time, withdrawn, overtaken by a deploy: by whom, and what."""
    view = thread("suspended", *(question(n, one) for n, one in enumerate(terms)))
    denied: dict[str, tuple[str, int]] = {}
    stood = view
    for who, way, word, which, late in [("lea", "inbox", "no", 0, False), *script]:
        if any(one.status == "open" for one in view.interrupts):
            stood, view = view, said(view, who, way, word, which, late)
        elif way == "deploy":  # and its code cannot read what was answered
            pairs = zip(stood.interrupts, view.interrupts, strict=True)
            view = after(view, [interrupts.reopen(before, settled) for before, settled in pairs])
        for item in view.interrupts:
            now = interrupts.as_answered(item)
            payload = jsonvalue.decode(now.payload) if now.payload else None
            no = now.status == "resolved" and quorum.denies(now, payload)
            if item.id in denied:
                assert (no, now.decided_by, now.decided_at) == (True, *denied[item.id])
                assert not interrupts.expiry_due(item, NOW + 99_000)
            elif no:
                assert now.decided_by is not None
                assert quorum.may_answer(item, PEOPLE[now.decided_by])
                denied[item.id] = (now.decided_by, now.decided_at or 0)
            elif now.status == "resolved":
                needed = now.terms.approvers
                people = [(vote.by, vote.roles) for vote in quorum.approving(now)]
                assert needed is not None
                assert quorum.met_by(needed, people, ["alice"])


@given(st.lists(st.sampled_from(("copy", "restart", "message")), max_size=6))
def test_however_a_copy_came_about_it_knows_the_first_thread(steps: list[str]) -> None:
    """By its journal or its questions, also once another turn has begun in it, or in its own."""
    name, entries = "t0", list[Entry]()
    items = [asked("q0")]
    for number, step in enumerate(steps, 1):
        first = first_of(items, entries)
        if step == "copy":
            told = {"threadId": name, "by": "alice"} | ({} if first is None else {"first": first})
            entries.append(journal.fork_mark(entries, "turn", told, ()))
            now = {"four_eyes": False, "services": False}
            items = [
                interrupts.ask_again(item, NOW, ["alice"], first or name, **now) for item in items
            ]
            name = f"t{number}"
        elif step == "restart":
            entries = [journal.again_mark("alice", (), journal.copied_from(entries))]
        else:
            entries = []
        known = first_of(items, entries)
        assert known == ("t0" if name != "t0" else None)
        items.append(asked(f"q{number}", terms=quorum.terms_of(TERMS[0], (), known)))
        assert {item.terms.origin or name for item in items} == {"t0"}
