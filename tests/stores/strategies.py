"""Records of any kind, drawn from few names and times so that they meet often."""

from typing import Any

from hypothesis import strategies as st

from sayso.base.approvers import Approvers
from sayso.base.options import FallbackAnswer
from sayso.base.progress import Progress, Vote
from sayso.base.records import (
    AnswerRecord,
    Approval,
    ApprovalUse,
    Entry,
    Interrupt,
    Message,
    Principal,
    Run,
    Terms,
    TurnRecord,
)

THREADS = ("t-1", "t-2")
SCOPES = ("a", "b")
NAMES = ("1", "2", "3", "4")

names = st.sampled_from(NAMES)
threads = st.tuples(st.sampled_from(SCOPES), st.sampled_from(THREADS))
blobs = st.sampled_from((b"{}", b"null", b"[1]", b'"\\u0000"', b'{"type":"success"}'))
times = st.integers(0, 40)
maybe_times = st.none() | times


def few(items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=3).map(tuple)


entries = few(
    st.builds(
        Entry,
        place=names,
        kind=names,
        name=names,
        fingerprint=names,
        status=st.sampled_from(("asked", "started", "done")),
        data=blobs,
    )
)
messages = few(
    st.builds(
        Message,
        id=names,
        role=names,
        body=blobs,
        visibility=st.sampled_from(("visible", "hidden", "waiting")),
    )
)


approvals = few(
    st.builds(
        Approval,
        id=names,
        owner=names,
        tool=names,
        pattern=blobs,
        rules=few(names),
        given_by=names,
        given_at=times,
        interrupt_id=names,
        thread_id=st.none() | st.sampled_from(THREADS),
        expires_at=maybe_times,
    )
)
uses = few(
    st.builds(
        ApprovalUse,
        approval_id=names,
        call_id=names,
        thread_id=st.sampled_from(THREADS),
        at=times,
    )
)


@st.composite
def turns(draw: st.DrawFn, thread: tuple[str, str]) -> TurnRecord:
    return TurnRecord(
        key=f"turn_{'_'.join(thread)}_{draw(names)}",
        agent=draw(names),
        version="1",
        status=draw(st.sampled_from(("running", "suspended", "suspended", "finished"))),
        request=draw(blobs),
        principal=Principal(scope=thread[0], roles=draw(few(names))),
        started_at=draw(times),
        ended_at=draw(maybe_times),
    )


@st.composite
def runs(draw: st.DrawFn, thread: tuple[str, str]) -> Run:
    return Run(
        key=f"run_{'_'.join(thread)}_{draw(names)}",
        run_id=draw(names),
        turn_key=draw(names),
        started_at=draw(times),
        ended_at=draw(maybe_times),
        outcome=draw(st.none() | blobs),
        delivered=draw(st.booleans()),
    )


votes = st.builds(
    Vote, by=names, at=times, channel=names, roles=few(names), payload=st.just(b'{"approved":true}')
)
answers = st.builds(
    AnswerRecord,
    status=st.sampled_from(("resolved", "cancelled")),
    by=names,
    at=times,
    channel=names,
    payload=st.none() | st.just(b"true") | st.just(b"1"),
    roles=st.none() | few(names),
)
terms = st.builds(
    Terms,
    on_expire=st.sampled_from(("expire", "hold", FallbackAnswer(None))),
    # As asked: what was left to the app has been said by then.
    approvers=st.none() | st.just(Approvers(by="lead", approvals=2, not_by=None)),
    typed=st.booleans(),
    origin=st.none() | st.just("first"),
)
progress = st.just(Progress()) | st.builds(Progress, votes=few(votes), roles=few(names))


def interrupts(thread: tuple[str, str]) -> st.SearchStrategy[tuple[Interrupt, ...]]:
    return few(
        st.builds(
            Interrupt,
            id=names,
            turn_key=names.map(lambda name: f"turn_{'_'.join(thread)}_{name}"),
            place=names,
            reason=names,
            created_at=times,
            message=st.none() | names,
            payload=st.none() | blobs,
            expires_at=maybe_times,
            status=st.sampled_from(("open", "open", "resolved", "expired")),
            held=st.none() | st.none() | answers,
            terms=terms,
            progress=progress,
            assigned_to=st.none() | names,
            remind_at=maybe_times,
            reminded_at=st.none() | maybe_times,
            lapsed_at=st.none() | maybe_times,
        )
    )
