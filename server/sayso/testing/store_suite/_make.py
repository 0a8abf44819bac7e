"""Records to write and ways to compare them; assertions that also hold under `python -O`."""

from collections.abc import Awaitable
from typing import Any, Literal

from sayso.base.approvers import Approvers
from sayso.base.options import FallbackAnswer
from sayso.base.progress import LateRefusal, Progress, Proof, SeenOnSession, Vote
from sayso.base.records import (
    AnswerRecord,
    Claim,
    Commit,
    Entry,
    Interrupt,
    Lease,
    Message,
    Principal,
    Run,
    Terms,
    TurnRecord,
)
from sayso.stores.base import Store

SCOPE = "tenant"
THREAD = "thread"
LEASE_MS = 10_000


def turn(key: str = "turn_1", **members: Any) -> TurnRecord:
    """A running turn."""
    values: dict[str, Any] = {
        "agent": "support",
        "version": "1",
        "status": "running",
        "request": b'{"threadId":"thread"}',
        "principal": Principal(subject="ann", scope=SCOPE, roles=("clerk", "lead")),
        "started_at": 1_000,
    }
    return TurnRecord(key=key, **(values | members))


def run(key: str = "run_1", **members: Any) -> Run:
    """A run in progress."""
    values: dict[str, Any] = {"run_id": "r-1", "turn_key": "turn_1", "started_at": 1_001}
    return Run(key=key, **(values | members))


def message(name: str, **members: Any) -> Message:
    """A visible user message."""
    values: dict[str, Any] = {"role": "user", "body": b'{"id":"%s"}' % name.encode()}
    return Message(id=name, **(values | members))


def entry(place: str, **members: Any) -> Entry:
    """A step that is done."""
    values: dict[str, Any] = {
        "kind": "step",
        "name": "lookup",
        "fingerprint": "f-1",
        "status": "done",
        "data": b"[1]",
    }
    return Entry(place=place, **(values | members))


def question(name: str, **members: Any) -> Interrupt:
    """An open interrupt of the first turn."""
    values: dict[str, Any] = {
        "turn_key": "turn_1",
        "place": f"place of {name}",
        "reason": "tool_call",
        "created_at": 1_002,
    }
    return Interrupt(id=name, **(values | members))


TERMS = Terms(
    on_expire=FallbackAnswer({"approved": False}),
    approvers=Approvers(
        approvals={"lead": 1, "finance": 2},
        not_by="requester",
        step_up=300,
        forks_of_denied="refuse",
    ),
    requesters=("ann", "cleo"),
    subagent="sub_1",
    typed=True,
    services=True,
    granted=True,
    origin="first",
    left_to_app=True,
)
"""Terms with all members filled."""
PROOF = Proof(
    issuer="https://issuer.example",
    token_id="t-1",  # noqa: S106 - an id, no secret
    session="s-1",
    auth_time=1_700_000_000_000,
    shown="d1",
)
"""A proof with all members filled."""
PROGRESS = Progress(
    votes=(
        Vote(
            by="bob",
            at=1,
            channel="inbox",
            roles=("lead",),
            payload=b'{"approved":true}',
            proof=PROOF,
        ),
    ),
    roles=("finance", "lead"),
    denied=({"by": "dora", "at": "2026-01-01T00:00:00.000Z", "threadId": "other"},),
    copied=True,
    late=(LateRefusal(by="eve", at=2, said="denied", channel="run"),),
    seen=SeenOnSession(session="session", at=1_800_000_000_000_000_000),
    proof=Proof(kind="service"),
)
"""Progress with all members filled."""


def answer(status: Literal["resolved", "cancelled"] = "resolved", **members: Any) -> AnswerRecord:
    """An answer with all members filled."""
    values: dict[str, Any] = {
        "by": "bob",
        "at": 8_000,
        "channel": "inbox",
        "payload": b'{"approved":1.0,"note":null}',
        "metadata": b'{"a":[]}',
        "roles": (),
        "proof": PROOF,
    }
    return AnswerRecord(status=status, **(values | members))


def agreed(*people: str, **members: Any) -> Progress:
    """The progress of a question that these people agree to an answer of."""
    votes = (Vote(by=person, at=1, channel="inbox", roles=(), payload=b"true") for person in people)
    return Progress(votes=tuple(votes), **members)


def claim(revision: int = 0, **members: Any) -> Claim:
    """A claim by one of several processes; a new thread unless told otherwise."""
    values: dict[str, Any] = {
        "scope": SCOPE,
        "thread_id": THREAD,
        "owner": "ann",
        "agent": "support",
        "holder": "process-1",
        "lease_ms": LEASE_MS,
        "now": 2_000,
        "turn": turn(),
        "run": run(),
    }
    return Claim(revision=revision, **(values | members))


async def ask(store: Store, *questions: Interrupt, now: int = 2_500, **members: Any) -> Lease:
    """Begin a thread that asks these questions, suspended and idle."""
    lease = await store.claim(claim(**members))
    turn_key = questions[0].turn_key if questions else "turn_1"
    await store.commit(
        lease,
        Commit(
            now=now, interrupts=questions, turn=turn(turn_key, status="suspended"), release=True
        ),
    )
    return lease


async def revision(store: Store, thread_id: str = THREAD) -> int:
    """The revision that the next claim has to name."""
    view = await store.load(SCOPE, thread_id)
    return view.thread.revision if view else 0


async def message_ids(store: Store, thread_id: str = THREAD) -> list[str]:
    """The ids of all messages, in order; `-` marks hidden ones, `+` those that wait."""
    view = await store.load(SCOPE, thread_id)
    marks = {"visible": "", "hidden": "-", "waiting": "+"}
    return [marks[m.visibility] + m.id for m in view.messages] if view else []


async def places(store: Store, turn_key: str = "turn_1", scope: str = SCOPE) -> list[str]:
    """The places of a journal, in order."""
    return [e.place for e in await store.journal(scope, turn_key)]


def same(actual: object, expected: object) -> None:
    """Fail unless both are equal."""
    if actual != expected:
        raise AssertionError(f"expected {_short(expected)}, got {_short(actual)}")


async def raises(error: type[Exception], call: Awaitable[object]) -> None:
    """Fail unless the call raises exactly that kind of error."""
    try:
        await call
    except error:
        return
    raise AssertionError(f"expected {error.__name__}, but the call went through")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 2_000 else f"{text[:1_000]} … {text[-900:]}"
