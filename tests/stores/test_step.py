"""What a step means, without a store: the plan of any step on any thread."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.base.audit import chained, is_audited, rows_of_entries
from sayso.base.errors import Conflict, LeaseLost
from sayso.base.records import Claim, Commit, Entry, Interrupt, Lease, TurnRecord, Update
from sayso.stores.step import (
    StepFacts,
    Writes,
    expiries,
    need_of,
    plan_claim,
    plan_commit,
    plan_deletion,
    plan_update,
    seen,
)
from tests.stores.strategies import few, interrupts, maybe_times, names, runs, times, turns

THREAD = ("a", "t-1")
SCOPE, THREAD_ID = THREAD
OWNER = "ann"
few_numbers = st.integers(0, 2)
questions = interrupts(THREAD)
recorded = few(
    st.builds(
        Entry,
        place=names,
        kind=st.sampled_from(("call", "step", "fork", "edit", "viewed", "refused")),
        name=names,
        fingerprint=names,
        status=st.sampled_from(("asked", "started", "done")),
        data=st.just(b"{}"),
    )
)


def person(name: str) -> str:
    return f"p_{name}"


def salt() -> bytes:
    return bytes(16)


@st.composite
def facts(draw: st.DrawFn, *, exists: bool = True) -> StepFacts:
    facts = StepFacts(SCOPE, THREAD_ID, exists=exists, person=person)
    facts.salt = salt
    facts.fence = draw(few_numbers)
    if exists:
        facts.owner, facts.agent = OWNER, draw(names)
        facts.revision = draw(st.integers(1, 3))
        facts.holder, facts.leased = draw(st.none() | names), draw(st.booleans())
        facts.turn = draw(turns(THREAD)).key
        facts.turns = draw(few(turns(THREAD).map(lambda turn: turn.key)))
        facts.interrupts = {interrupt.id: seen(interrupt) for interrupt in draw(questions)}
        facts.audited = draw(few_numbers)
    return facts


maybe_new = st.booleans().flatmap(lambda exists: facts(exists=exists))


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    return Claim(
        scope=SCOPE,
        thread_id=THREAD_ID,
        owner=OWNER,
        agent=draw(names),
        revision=draw(st.integers(0, 3)),
        holder=draw(names),
        lease_ms=1_000,
        now=draw(times),
        turn=draw(turns(THREAD)),
        run=draw(runs(THREAD)),
        interrupts=draw(questions),
        entries=draw(recorded),
    )


commits = st.builds(
    Commit,
    now=times,
    entries=recorded,
    interrupts=questions,
    turn=st.none() | turns(THREAD),
    next_turn=st.none() | turns(THREAD),
    run=st.none() | runs(THREAD),
    forget=st.none() | names,
    release=st.booleans(),
)
leases = st.builds(
    Lease, scope=st.just(SCOPE), thread_id=st.just(THREAD_ID), holder=names, fence=few_numbers
)


def an_update(
    facts: StepFacts, questions: Sequence[Interrupt], entries: Sequence[Entry] = ()
) -> Update:
    return Update(
        scope=SCOPE,
        thread_id=THREAD_ID,
        revision=facts.revision,
        now=7,
        interrupts=tuple(questions),
        entries=tuple(entries),
    )


def after(facts: StepFacts, writes: Writes) -> StepFacts:
    """The facts that a store would read behind these writes."""
    known = copy(facts)
    written = {interrupt.id: seen(interrupt) for interrupt, _ in writes.questions}
    known.interrupts = {**facts.interrupts, **written}
    if writes.audit:
        known.audited, known.digest = writes.audit[-1].number, writes.audit[-1].digest
    return known


@given(maybe_new, claims())
def test_a_claim_wins_with_the_revision_that_was_read_and_without_a_lease(
    facts: StepFacts, claim: Claim
) -> None:
    if facts.leased or claim.revision != facts.revision:
        with pytest.raises(Conflict):
            plan_claim(facts, claim)
        return
    writes = plan_claim(facts, claim)
    assert writes.mode == ("take" if facts.exists else "new")
    assert (writes.holder, writes.lease_ms, writes.owner) == (claim.holder, 1_000, OWNER)
    assert writes.is_active
    assert not writes.lets_go


@given(maybe_new, leases, commits, st.booleans())
def test_a_commit_is_of_who_holds_the_thread_under_that_fence(
    facts: StepFacts, lease: Lease, commit: Commit, holds: bool
) -> None:
    if holds:
        facts.holder, facts.fence = lease.holder, lease.fence
    if not facts.exists or (facts.holder, facts.fence) != (lease.holder, lease.fence):
        with pytest.raises(LeaseLost):
            plan_commit(facts, lease, commit)
        return
    writes = plan_commit(facts, lease, commit)
    assert writes.holder == (None if commit.release else lease.holder)
    assert writes.lets_go == writes.is_active == commit.release
    assert writes.is_told == (commit.release or bool(writes.notes))


@given(maybe_new, few_numbers)
def test_an_update_is_of_a_thread_that_nobody_holds(facts: StepFacts, revision: int) -> None:
    """A lease that ran out holds it all the same: that thread has to be claimed."""
    update = replace(an_update(facts, ()), revision=revision)
    if not facts.exists or facts.holder is not None or revision != facts.revision:
        with pytest.raises(Conflict):
            plan_update(facts, update)
        return
    writes = plan_update(facts, update)
    assert writes.lets_go
    assert writes.is_active


@given(maybe_new, few_numbers)
def test_a_deletion_leaves_a_note_and_a_row(facts: StepFacts, revision: int) -> None:
    if not facts.exists or facts.leased or revision != facts.revision:
        with pytest.raises(Conflict):
            plan_deletion(facts, revision, 7, "ann")
        return
    writes = plan_deletion(facts, revision, 7, "ann")
    assert writes.notes == [("deleted", None, None)]
    assert [line.kind for line in writes.audit] == ["deleted"]
    assert writes.is_told


@given(facts(), commits)
def test_a_turn_that_is_new_is_the_newest_and_ends_the_journals_before_it(
    facts: StepFacts, commit: Commit
) -> None:
    """Said as one turn after the other, each with the entries that are written behind it."""
    facts.holder = "1"
    lease = Lease(scope=SCOPE, thread_id=THREAD_ID, holder="1", fence=facts.fence)
    writes = plan_commit(facts, lease, commit)
    new, newest = set[str](), facts.turn
    journal: list[Any] = ["stored"]

    def write(turn: TurnRecord | None) -> None:
        nonlocal newest
        if turn is None or turn.key == facts.turn or turn.key in facts.turns:
            return
        if turn.key not in new:
            new.add(turn.key)
            newest = turn.key
            journal.clear()

    write(commit.turn)
    entries_of = commit.turn.key if commit.turn is not None else newest
    journal.extend((entries_of, entry) for entry in commit.entries)
    write(commit.next_turn)

    assert writes.turn == newest
    assert list(writes.turns) == [t for t in (commit.turn, commit.next_turn) if t is not None]
    planned = [] if writes.drops_journals else ["stored"]
    assert [*planned, *((writes.entries_of, entry) for entry in writes.entries)] == journal


@given(claims())
def test_a_thread_that_begins_has_no_journals_to_end(claim: Claim) -> None:
    nothing = StepFacts(SCOPE, THREAD_ID, exists=False, person=person)
    writes = plan_claim(nothing, replace(claim, revision=0))
    assert writes.turn == claim.turn.key
    assert not writes.drops_journals


@given(facts(), questions, st.data())
def test_a_step_with_many_questions_says_what_a_step_for_each_says(
    facts: StepFacts, questions: tuple[Interrupt, ...], data: st.DataObject
) -> None:
    """The same notes, the same audit rows with the same seals; each question is written once."""
    facts.holder = None
    split = data.draw(st.integers(0, len(questions)))
    whole = plan_update(facts, an_update(facts, questions))
    first = plan_update(facts, an_update(facts, questions[:split]))
    second = plan_update(after(facts, first), an_update(facts, questions[split:]))
    assert [*first.notes, *second.notes] == list(whole.notes)
    assert [*first.audit, *second.audit] == list(whole.audit)
    assert after(facts, whole) == after(after(facts, first), second)
    written = [question.interrupt.id for question in whole.questions]
    assert len(written) == len(set(written))
    for question in whole.questions:
        assert question.before == facts.interrupts.get(question.interrupt.id)


@given(facts(), questions, recorded)
def test_a_question_that_is_written_again_says_nothing_new(
    facts: StepFacts, questions: tuple[Interrupt, ...], entries: tuple[Entry, ...]
) -> None:
    """What is recorded is told each time: an effect that began again did so."""
    facts.holder = None
    once = plan_update(facts, an_update(facts, questions))
    written = [question.interrupt for question in once.questions]
    again = plan_update(after(facts, once), an_update(facts, written, entries))
    assert list(again.notes) == []
    assert [line.kind for line in again.audit] == [kind for kind, _ in rows_of_entries(entries)]
    assert bool(again.audit) == any(map(is_audited, entries))


@given(facts(), leases, commits)
def test_audit_rows_are_numbered_and_each_seals_the_one_before(
    facts: StepFacts, lease: Lease, commit: Commit
) -> None:
    facts.holder, facts.fence = lease.holder, lease.fence
    digest = facts.digest
    writes = plan_commit(facts, lease, commit)
    for number, line in enumerate(writes.audit, facts.audited + 1):
        whose, content = (SCOPE, THREAD_ID, person(OWNER)), (line.kind, line.content, line.salt)
        inner, digest = chained(whose, digest, number, commit.now, *content)
        assert (line.number, line.content_digest, line.digest) == (number, inner, digest)
    ended = commit.run is not None and commit.run.ended_at is not None
    assert [note[0] for note in writes.notes].count("run_ended") == ended


@given(facts(), leases, commits)
def test_planning_changes_nothing(facts: StepFacts, lease: Lease, commit: Commit) -> None:
    facts.holder, facts.fence = lease.holder, lease.fence
    before = copy(facts)
    before.interrupts = dict(facts.interrupts)
    assert plan_commit(facts, lease, commit) == plan_commit(facts, lease, commit)
    assert facts == before


@given(st.sampled_from(("running", "suspended", "finished")), questions, maybe_times, times, times)
def test_an_idle_thread_is_needed_when_the_contract_names_it(
    status: str, drawn: tuple[Interrupt, ...], expiry: int | None, now: int, later: int
) -> None:
    """As `Store.due_threads` says it of a moment: expired, else to remind, or ready."""
    waits = [replace(one, status="open", held=None, expires_at=expiry) for one in drawn]
    expired = any(at <= later for at in expiries(waits))
    remind = any(
        one.remind_at is not None and one.remind_at <= later and one.reminded_at is None
        for one in waits
    )
    need = need_of(status, waits, now)
    if status != "suspended":
        assert need is None
    elif not waits:
        assert need == ("ready", now, None)
    else:
        assert (need is not None and need.at <= later) == (expired or remind)
        assert (need is not None and need.expiry is not None and need.expiry <= later) == expired
