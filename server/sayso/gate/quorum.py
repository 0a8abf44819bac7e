"""Who may answer a question, and how many have to agree before it counts (OC-20). Pure.

Both are declared in the question's terms. Who has agreed so far is its progress; it stays open
until there are enough. One no is a no; a withdrawal is nobody's approval. Agreement is with an
answer, edits included: a different answer begins a new count.

Where others than the owner decide, this is the effect of an answer on one that is held already:

| held | a no | the same yes | another yes | a withdrawal |
|---|---|---|---|---|
| a no | stands | decided | decided | stands: settled as the no |
| a yes | replaces it, for good | stands | decided | replaces it |
| a withdrawal | replaces it, for good | decided | decided | stands |

An owner may change an answer to a question of its own until the set is complete.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from sayso.base import jsonvalue
from sayso.base.approvers import OWNER, REQUESTER, Approvers
from sayso.base.fastrecords import copy_with
from sayso.base.progress import Proof, Vote
from sayso.base.records import AnswerRecord, Interrupt, Principal, Terms
from sayso.protocol import reasons
from sayso.protocol.interrupts import ours_of
from sayso.protocol.runinput import ResumeEntry

_ATTEMPTS: Final = (reasons.INDETERMINATE, reasons.FAILED)
"""Reasons of questions about a call that was approved once, and may be made again."""

Effect = Literal["new", "stands", "decided"]
"""The answer counts; the held one stands and says the same; it is refused, for that was decided."""
Person = tuple[str, Sequence[str]]
"""A subject and its roles."""


@dataclass(frozen=True, slots=True)
class Count:
    """The votes with one more answer counted; `stands` when there are enough now.

    `dropped` are the people whose agreement was with another answer, and no longer counts.
    """

    votes: tuple[Vote, ...]
    stands: bool
    dropped: tuple[str, ...] = ()


def terms_of(approvers: Approvers, requesters: Iterable[str], origin: str | None) -> Terms:
    """The terms of a question that these people answer; the usual terms if it is the owner.

    `requesters` want the thing done. `origin` is the first of the threads that the question's
    thread was copied from, if it was.
    """
    if approvers == OWNER:
        return Terms()
    wanting = dict.fromkeys(requesters) if REQUESTER in approvers.barred else ()
    return Terms(approvers=approvers, requesters=tuple(wanting), origin=origin)


def asks_others(item: Interrupt) -> bool:
    """True if it is answered by approvers other than the owner as such."""
    approvers = item.terms.approvers
    return approvers is not None and not approvers.owners


def approving(item: Interrupt) -> tuple[Vote, ...]:
    """The people who gave a settled answer: all who agreed, or the one who decided, or nobody."""
    if item.progress.votes or item.decided_by is None:
        return item.progress.votes
    return (
        Vote(
            by=item.decided_by,
            at=item.decided_at or 0,
            channel=item.channel or "",
            roles=item.progress.roles,
            payload=item.payload or b"null",
        ),
    )


def barred(item: Interrupt, principal: Principal) -> Literal["role", "own"] | None:
    """The reason why this caller's answer does not count: a missing role, or its own request."""
    approvers = item.terms.approvers
    if approvers is None:
        return None
    if REQUESTER in approvers.barred and principal.subject in item.terms.requesters:
        return "own"
    if {*approvers.barred} & {*principal.roles}:
        return "role"
    if approvers.owners:
        return None
    return None if _named(approvers, principal.subject, principal.roles) else "role"


def decides(item: Interrupt, principal: Principal) -> bool:
    """True if this kind of caller may decide: a person always, a service where the app says so.

    The result of a client's own tool is no decision.
    """
    return principal.kind == "person" or item.terms.services or item.reason == reasons.CLIENT_TOOL


def has_signed_in_lately(item: Interrupt, principal: Principal, now: int) -> bool:
    """True if this caller's sign-in is recent enough for the question, by the server's clock.

    The issuer's clock may be as far ahead; what is beyond that is no time of a sign-in.
    """
    approvers = item.terms.approvers
    if approvers is None or approvers.step_up is None:
        return True
    signed_in = principal.auth_time
    return signed_in is not None and abs(now - signed_in) <= approvers.step_up * 1000


def may_answer(item: Interrupt, principal: Principal) -> bool:
    """True if this caller's answer counts."""
    return barred(item, principal) is None


def may_see(item: Interrupt, owner: str, principal: Principal) -> bool:
    """True if a question is any of this caller's business."""
    if principal.subject == owner:
        return True
    return asks_others(item) and may_answer(item, principal)


def denies(item: Interrupt, payload: Any) -> bool:
    """True if a payload says no: to the call, to its second attempt, or to what was asked."""
    if isinstance(payload, dict):
        if "approved" in payload:
            return payload["approved"] is False
        return item.reason in _ATTEMPTS and payload.get("action") == "stop"
    return payload is False


def refuses(item: Interrupt, entry: ResumeEntry) -> bool:
    """True if an entry refuses what was asked: a withdrawal, or a payload that says no."""
    return entry.status == "cancelled" or denies(item, entry.payload)


def is_final(item: Interrupt) -> bool:
    """True if somebody entitled has said no: that is the answer, whatever comes later."""
    return item.held is not None and asks_others(item) and is_denial(item, item.held)


def is_denial(item: Interrupt, answer: AnswerRecord) -> bool:
    """True if an answer to a question says no."""
    return answer.status == "resolved" and denies(item, _value(answer.payload))


def effect(item: Interrupt, entry: ResumeEntry) -> Effect:
    """The effect of an entitled answer, or of a withdrawal, on an open question."""
    kept = item.held
    if kept is None or not asks_others(item):
        return "new"
    if is_final(item):
        return "stands" if refuses(item, entry) else "decided"
    if entry.status == "cancelled":
        return "stands" if kept.status == "cancelled" else "new"
    if refuses(item, entry):
        return "new"
    same = kept.status == "resolved" and same_answer(item, _value(kept.payload), entry.payload)
    return "stands" if same else "decided"


def count_vote(
    item: Interrupt, entry: ResumeEntry, principal: Principal, channel: str, now: int
) -> Count:
    """Count this answer with the votes so far."""
    before = item.progress.votes
    approvers = item.terms.approvers
    if approvers is None or approvers.approvals == 1 or refuses(item, entry):
        return Count(before, stands=True)
    same = [vote for vote in before if same_answer(item, _value(vote.payload), entry.payload)]
    dropped = [vote.by for vote in before if vote not in same]
    if all(vote.by != principal.subject for vote in same):
        same.append(
            Vote(
                by=principal.subject,
                at=now,
                channel=channel,
                roles=principal.roles,
                payload=jsonvalue.encode(entry.payload),
                proof=proof_of(entry, principal),
            )
        )
    return Count(
        tuple(same),
        stands=enough(approvers, same),
        dropped=tuple(subject for subject in dropped if subject != principal.subject),
    )


def proof_of(entry: ResumeEntry, principal: Principal) -> Proof:
    """How the caller was known, and what they were shown as far as their client says."""
    proof = principal.proof
    return proof if entry.shown is None else copy_with(proof, shown=entry.shown)


def has_agreed(item: Interrupt, entry: ResumeEntry, subject: str) -> bool:
    """True if this person has agreed to a question with this very answer: it comes again."""
    return any(
        vote.by == subject and same_answer(item, _value(vote.payload), entry.payload)
        for vote in item.progress.votes
    )


def is_barred_by_denial(item: Interrupt) -> bool:
    """True if it was denied, and its approvers do not want to be asked about that again."""
    approvers = item.terms.approvers
    refuse = approvers is not None and approvers.forks_of_denied == "refuse"
    return refuse and bool(item.progress.denied)


def enough(approvers: Approvers, votes: Sequence[Vote]) -> bool:
    """True if as many people have agreed as are needed."""
    return not any(missing(approvers, [vote.roles for vote in votes]).values())


def missing(approvers: Approvers, people: Sequence[Iterable[str]]) -> dict[str, int]:
    """How many more people have to agree, by role; with any of the roles under `""`.

    `people` are the roles of each person who has agreed.
    """
    of = approvers.approvals
    if isinstance(of, int):
        return {"": max(0, of - len(people))}
    seats = [role for role, number in of.items() for _ in range(number)]
    empty = _empty(seats, [{*roles} for roles in people])
    return {role: empty.count(role) for role in of if role in empty}


def met_by(approvers: Approvers, people: Iterable[Person], requesters: Iterable[str]) -> bool:
    """True if these people, who all say the same, satisfy these approvers.

    Whoever may answer for others may also say what a thread's owner may say alone. A word that was
    given elsewhere is no fresh sign-in. `requesters` are
    the people who ask for the thing now: the terms of a rule do not name them.
    """
    if approvers.step_up is not None:
        return False
    if approvers.owners:
        return True
    return not unfilled(approvers, people, requesters)


def unfilled(
    approvers: Approvers, people: Iterable[Person], requesters: Iterable[str]
) -> dict[str, int]:
    """How many people are missing, by role or under `""`, if all of these said the same."""
    own = {*requesters} if REQUESTER in approvers.barred else set()
    fit = [
        roles
        for subject, roles in people
        if _named(approvers, subject, roles)
        and not {*approvers.barred} & {*roles}
        and subject not in own
    ]
    return {role: number for role, number in missing(approvers, fit).items() if number}


def same_answer(item: Interrupt, left: Any, right: Any) -> bool:
    """True if two payloads say the same to a question; why they say it does not count."""
    return jsonvalue.equal(_compared(item, left), _compared(item, right))


def denied_elsewhere(item: Interrupt) -> list[Mapping[str, Any]]:
    """The denials in other copies that a question was asked with, then those noted on it since."""
    before: list[Mapping[str, Any]] = ours_of(item).get("before", [])
    return [*before, *(denial for denial in item.progress.denied if denial not in before)]


def new_denials(
    item: Interrupt, denials: Sequence[Mapping[str, Any]]
) -> tuple[Mapping[str, Any], ...]:
    """The denials in other copies that a question neither was asked with nor has noted on it."""
    noted = denied_elsewhere(item)
    return tuple(denial for denial in denials if denial not in noted)


def _named(approvers: Approvers, subject: str, roles: Iterable[str]) -> bool:
    return subject in approvers.people or bool({*approvers.roles} & {*roles})


def _empty(seats: Sequence[str], people: Sequence[set[str]]) -> list[str]:
    """The seats left empty when as many as possible are taken, each by a person with its role."""
    sits: dict[int, int] = {}

    def seat(number: int, tried: set[int]) -> bool:
        for person, roles in enumerate(people):
            if seats[number] not in roles or person in tried:
                continue
            tried.add(person)
            if person not in sits or seat(sits[person], tried):
                sits[person] = number
                return True
        return False

    return [role for number, role in enumerate(seats) if not seat(number, set())]


def _compared(item: Interrupt, payload: Any) -> Any:
    if not isinstance(payload, dict):
        return payload
    remark = _remark(item)
    return {name: value for name, value in payload.items() if name != remark}


def _remark(item: Interrupt) -> str | None:
    """The member of its answers that says why; None where all members are the author's."""
    if item.reason == reasons.DECISION or ours_of(item).get("kind") == "clarification":
        return "note"
    if item.reason in reasons.LABELS and item.reason != reasons.INPUT_REQUIRED:
        return "reason"
    return None


def _value(payload: bytes | None) -> Any:
    return None if payload is None else jsonvalue.decode(payload)
