"""What readers are offered is what the gate takes, and only the entitled decide: in any order."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sayso.base.approvers import OWNER, Approvers
from sayso.base.codes import Code
from sayso.base.directory import DirectoryPerson
from sayso.base.limits import Limits
from sayso.base.records import Interrupt, Principal, ThreadView
from sayso.gate import changes, interrupts, quorum
from sayso.gate.case import GateDecision, HoldAnswers, Resume, case_of_answers
from sayso.gate.ladder import INBOX, decide
from sayso.gate.refusals import Refuse
from sayso.gate.rights import may
from sayso.protocol.runinput import ResumeEntry
from tests.threads import NOW, asked, thread

FRESH = 300.0
SIGNED_IN = NOW - 100_000
PEOPLE = {
    "alice": Principal(subject="alice", auth_time=SIGNED_IN),  # owns the thread
    "lea": Principal(subject="lea", roles=("lead",), auth_time=SIGNED_IN),
    "leo": Principal(subject="leo", roles=("lead", "finance"), auth_time=NOW),
    "old": Principal(subject="old", roles=("lead",), auth_time=NOW - 900_000),
    "bob": Principal(subject="bob", auth_time=NOW),
    "bot": Principal(subject="bot", roles=("lead", "finance"), kind="service", auth_time=NOW),
}
TERMS = (
    OWNER,
    Approvers(step_up=FRESH),
    Approvers(by="lead", not_by=None),
    Approvers(by="lead", not_by="requester", step_up=FRESH),
    Approvers(by="lead", people=("alice",), not_by="requester"),
    Approvers(approvals={"lead": 1, "finance": 1}, not_by=None),
    Approvers(by=("lead", "finance"), approvals=2, step_up=FRESH, not_by=None),
)
WORDS = {"yes": {"approved": True}, "no": {"approved": False}, "cancel": None}
ASSIGNEES = ("bob", "lea", "role:lead", "role:finance", "nobody", None)
scripts = st.lists(
    st.tuples(
        st.sampled_from(sorted(PEOPLE)),
        st.one_of(st.sampled_from(sorted(WORDS)), st.sampled_from(ASSIGNEES)),
        st.sampled_from((0, 50_000, 250_000)),
    ),
    max_size=8,
)


def question(who: Approvers, *, services: bool) -> Interrupt:
    terms = replace(quorum.terms_of(who, ["alice"], None), services=services)
    return asked("q", reason="tool_call", expires_at=NOW + 9_000_000, terms=terms)


def says(view: ThreadView, who: Principal, word: str, now: int) -> GateDecision:
    status: Any = "cancelled" if word == "cancel" else "resolved"
    entry = ResumeEntry(interrupt_id="q", status=status, payload=WORDS[word])
    limits = Limits()
    case = case_of_answers([entry], view, principal=who, channel="inbox", now=now, limits=limits)
    return decide(case, INBOX)


def behind(to: str | None) -> list[DirectoryPerson] | None:
    """Whom the directory knows behind a name."""
    if to is None:
        return None
    who = [p for p in PEOPLE.values() if to in (p.subject, *(f"role:{r}" for r in p.roles))]
    return [DirectoryPerson(subject=p.subject, roles=p.roles) for p in who]


def after(view: ThreadView, decision: GateDecision) -> ThreadView:
    items: tuple[Interrupt, ...] = ()
    if isinstance(decision, HoldAnswers):
        items = decision.items
    elif isinstance(decision, Resume):
        items = decision.settle
    return replace(view, interrupts=items or view.interrupts)


def changes_something(decision: GateDecision) -> bool:
    return isinstance(decision, Resume) or (
        isinstance(decision, HoldAnswers) and bool(decision.items)
    )


@given(st.sampled_from(TERMS), st.booleans(), scripts)
def test_what_is_offered_is_taken_and_only_the_entitled_decide(
    terms: Approvers, services: bool, script: list[tuple[str, str | None, int]]
) -> None:
    view = thread("suspended", question(terms, services=services))
    now = NOW
    for who, word, passed in script:
        now += passed
        (item,) = view.interrupts
        if item.status != "open":
            return
        for reader in PEOPLE.values():
            check_offer(view, item, reader, now)
        if not quorum.may_see(item, "alice", PEOPLE[who]):
            continue  # which is no such question, at every door
        if word in WORDS:
            decision = says(view, PEOPLE[who], word, now)
        else:
            decision = changes.assign(view, "q", word, PEOPLE[who], now, behind(word))
        view = after(view, decision)
        check_decision(view.interrupts[0], now, services=services)


def check_offer(view: ThreadView, item: Interrupt, reader: Principal, now: int) -> None:
    if not quorum.may_see(item, "alice", reader):
        return
    verbs = may(item, "alice", reader, now)
    yes = says(view, reader, "yes", now)
    assert ("answer" in verbs) == changes_something(yes), (reader.subject, verbs, yes)
    if "signIn" in verbs:
        assert isinstance(yes, Refuse)
        assert yes.code is Code.STEP_UP_REQUIRED
    named = changes.assign(view, "q", None, reader, now)
    assert ("assign" in verbs) == (not isinstance(named, Refuse)), (reader.subject, verbs)
    longer = changes.extend(view, "q", now, reader, Limits(), seconds=60)
    assert ("extend" in verbs) == (not isinstance(longer, Refuse)), (reader.subject, verbs)


def check_decision(item: Interrupt, now: int, *, services: bool) -> None:
    """Whoever has decided, or agreed, may: by kind, role, sign-in, and not for what it asked."""
    answered = interrupts.as_answered(item)
    people = [vote.by for vote in answered.progress.votes]
    if answered.status == "resolved" and answered.decided_by is not None:
        people.append(answered.decided_by)
    needed = item.terms.approvers or OWNER
    for subject in people:
        person = PEOPLE[subject]
        assert person.kind == "person" or services
        if needed.owners:
            assert subject == "alice" or item.held is not None
            continue
        named = subject in needed.people or {*needed.roles} & {*person.roles}
        assert named or item.assigned_to is None
        assert not (subject == "alice" and "requester" in needed.barred)
        assert subject != "old" or needed.step_up is None
