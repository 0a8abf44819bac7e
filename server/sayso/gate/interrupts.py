"""The life of an interrupt: the only module that changes one. Pure.

An answer is *given*, may be *held* while others of its set are open, and is *settled* with the
rest in the step that claims the thread: one `AnswerRecord` all the way. A held answer stays on an
interrupt that is `open`; it may be replaced or withdrawn until the set is complete. It was given in
time, so an expiry that passes meanwhile does not affect it. Where others than the owner decide, a
no is final nevertheless, and a yes belongs to its author (`quorum.effect`).

When a policy settles a question whose time is up, nobody decided: there is no `decided_by`, and
`channel` is `expiry` (R3). A person who refuses too late is noted on it (D6).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sayso.base import jsonvalue
from sayso.base.approvers import OWNER, REQUESTER, Approvers
from sayso.base.fastrecords import copy_with
from sayso.base.options import FallbackAnswer
from sayso.base.progress import NO_PROOF, LateRefusal, SeenOnSession, Vote
from sayso.base.records import AnswerRecord, Interrupt, InterruptStatus, Principal
from sayso.gate.quorum import asks_others, is_denial, is_final, proof_of, refuses
from sayso.protocol.interrupts import with_ours
from sayso.protocol.reasons import DECISION
from sayso.protocol.runinput import ResumeEntry

BY_EXPIRY: Final = "expiry"
"""The channel of an outcome that no person decided."""
_MAX_LATE_REFUSALS: Final = 20


def is_past(item: Interrupt, now: int) -> bool:
    """True if its time is up: only a cancellation settles it now (EX-01, EX-04, EX-05).

    `now == expires_at` is past. A question that its policy left open is past until it is extended.
    """
    return item.expires_at is not None and now >= item.expires_at


def expiry_due(item: Interrupt, now: int) -> bool:
    """True if an open question is due for its expiry policy.

    A held answer came in time. A question that has lapsed has had its policy already.
    """
    unanswered = item.status == "open" and item.held is None
    return unanswered and item.lapsed_at is None and is_past(item, now)


def settled_by_expiry(item: Interrupt) -> bool:
    """True if the server settled it because its time was up."""
    return item.status == "expired" or (item.status != "open" and item.channel == BY_EXPIRY)


def denied_by_expiry(item: Interrupt) -> bool:
    """True if it expired and its policy counts that as a denial of the call (R4)."""
    return item.status == "expired" and item.terms.on_expire == "deny"


def unanswered(items: Iterable[Interrupt]) -> list[Interrupt]:
    """The interrupts that are open and hold no answer: the set still waits for them."""
    return [item for item in items if item.status == "open" and item.held is None]


def consecutive_expiries(items: Iterable[Interrupt]) -> int:
    """Count the newest sets of answers, without a break, in which no person had a part.

    A set is the answers that one run took. `items` are those of a turn, in order of asking.
    """
    attended: dict[str, bool] = {}
    for item in items:
        if item.run_key is not None:
            person = item.decided_by is not None
            attended[item.run_key] = attended.get(item.run_key, False) or person
    count = 0
    for person in reversed(attended.values()):
        if person:
            break
        count += 1
    return count


def answer_record(entry: ResumeEntry, principal: Principal, channel: str, now: int) -> AnswerRecord:
    """Record an answer as it was given (U2: who answered is never read from the payload)."""
    return AnswerRecord(
        status=entry.status,
        payload=None if entry.payload is None else jsonvalue.encode(entry.payload),
        metadata=None if entry.metadata is None else jsonvalue.encode(entry.metadata),
        by=principal.subject,
        at=now,
        channel=channel,
        roles=principal.roles,
        proof=proof_of(entry, principal),
    )


def hold(item: Interrupt, answer: AnswerRecord) -> Interrupt:
    """Hold this answer on the open interrupt, in place of any that was held before."""
    kept = answer if asks_others(item) else copy_with(answer, roles=None)
    return copy_with(item, held=kept)


def withdraw(item: Interrupt) -> Interrupt:
    """Remove the answer that is held on the interrupt."""
    return copy_with(item, held=None)


def settle(
    item: Interrupt,
    answer: AnswerRecord | None,
    *,
    status: InterruptStatus,
    now: int,
    channel: str | None,
    run_key: str | None = None,
) -> Interrupt:
    """Settle the interrupt, with an answer or without one; no other code does.

    Without an answer nobody decided. The roles of whoever answered are kept where they matter.
    """
    progress = item.progress
    if answer is None:
        return copy_with(
            item, status=status, held=None, decided_at=now, channel=channel, run_key=run_key
        )
    if item.reason == DECISION or asks_others(item):
        progress = copy_with(progress, roles=answer.roles or ())
    if answer.proof != progress.proof:
        progress = copy_with(progress, proof=answer.proof)
    return copy_with(
        item,
        progress=progress,
        status=status,
        held=None,
        payload=None if status == "cancelled" else answer.payload,
        answer_metadata=answer.metadata,
        decided_by=answer.by,
        decided_at=now,
        channel=channel,
        run_key=run_key,
    )


def settle_with(item: Interrupt, answer: AnswerRecord) -> Interrupt:
    """Settle the interrupt with this answer, at the time and by the channel that it was given."""
    return settle(item, answer, status=answer.status, now=answer.at, channel=answer.channel)


def settle_held(item: Interrupt) -> Interrupt:
    """Settle the interrupt with the answer that it holds: decided when it was given.

    Raises:
        ValueError: it holds none.
    """
    if item.held is None:
        raise ValueError(f"{item.id!r} holds no answer")
    return settle_with(item, item.held)


def as_answered(item: Interrupt) -> Interrupt:
    """The interrupt as its held answer will settle it; unchanged if it holds none."""
    return item if item.held is None else settle_held(item)


def apply_expiry(item: Interrupt, now: int) -> Interrupt:
    """Apply the question's expiry policy: settled by nobody, or open to cancellations alone."""
    match item.terms.on_expire:
        case "hold":
            return copy_with(item, lapsed_at=now)
        case "cancel":
            return settle(item, None, status="cancelled", now=now, channel=BY_EXPIRY)
        case FallbackAnswer(payload):
            return _answered_by_nobody(item, payload, now)
        case "approve":
            return _answered_by_nobody(item, {"approved": True}, now)
    return expire(item, now)


def expire(item: Interrupt, now: int) -> Interrupt:
    """Settle the question as expired, whatever its policy."""
    return settle(item, None, status="expired", now=now, channel=BY_EXPIRY)


def cancel(
    item: Interrupt, *, by: str | None, channel: str | None, now: int, run_key: str
) -> Interrupt:
    """Cancel the question because its turn was stopped; an entitled person's no is kept anyway."""
    if is_final(item):
        return copy_with(settle_held(item), run_key=run_key)
    done = settle(item, None, status="cancelled", now=now, channel=channel, run_key=run_key)
    return copy_with(done, decided_by=by)


def reopen(before: Interrupt, settled: Interrupt) -> Interrupt:
    """Undo an answer that had no effect; a no of somebody who may decide is held anyway.

    That no is final: the turn continues with it once its code can.
    """
    if before.held is not None or not asks_others(before):
        return before
    if settled.status != "resolved" or settled.decided_by is None:
        return before
    answer = AnswerRecord(
        status="resolved",
        payload=settled.payload,
        metadata=settled.answer_metadata,
        by=settled.decided_by,
        at=settled.decided_at or 0,
        channel=settled.channel or "",
        roles=settled.progress.roles,
        proof=settled.progress.proof,
    )
    return hold(before, answer) if is_denial(settled, answer) else before


def ask_again(
    item: Interrupt,
    now: int,
    requesters: Sequence[str],
    origin: str,
    *,
    four_eyes: bool,
    services: bool,
) -> Interrupt:
    """The question in a copy of its thread: unanswered, with as much time as at first.

    `requesters` began its turn, or made the copy or one before; `origin` is the first of the
    threads that it comes from. What its terms leave to the app is as the app has it now:
    `four_eyes`, whether the requesters are barred, and `services`, whether no person is needed.
    """
    moved = now - item.created_at
    terms = copy_with(item.terms, services=services)
    approvers, metadata = terms.approvers, item.metadata
    if approvers is not None and terms.left_to_app:
        approvers = approvers.barring(four_eyes=four_eyes)
        shown = with_ours(metadata, {"approvers": approvers.terms_for_clients()})
        terms, metadata = copy_with(terms, approvers=approvers), jsonvalue.encode(shown)
    if approvers is not None:
        if not approvers.plain and isinstance(terms.on_expire, FallbackAnswer):
            # Nobody's word is no word of people who may be barred; it was fine as it was asked.
            terms = copy_with(terms, on_expire="expire")
        wanting = (*terms.requesters, *requesters) if REQUESTER in approvers.barred else ()
        terms = copy_with(terms, requesters=tuple(dict.fromkeys(wanting)))
    return copy_with(
        item,
        terms=copy_with(terms, origin=terms.origin or origin),
        metadata=metadata,
        progress=copy_with(
            item.progress, votes=(), roles=(), denied=(), copied=False, proof=NO_PROOF, result=None
        ),
        created_at=now,
        expires_at=None if item.expires_at is None else item.expires_at + moved,
        remind_at=None if item.remind_at is None else item.remind_at + moved,
        status="open",
        payload=None,
        answer_metadata=None,
        decided_by=None,
        decided_at=None,
        channel=None,
        run_key=None,
        held=None,
        reminded_at=None,
        lapsed_at=None,
    )


def extend(item: Interrupt, ends: int) -> Interrupt:
    """Move the question's end; if it had lapsed, it can be answered again.

    A reminder keeps its share of the lifetime (R1).
    """
    remind_at = item.remind_at
    if remind_at is not None and item.expires_at is not None:
        share = (remind_at - item.created_at) / max(1, item.expires_at - item.created_at)
        remind_at = item.created_at + int(share * (ends - item.created_at))
    return copy_with(item, expires_at=ends, lapsed_at=None, remind_at=remind_at, reminded_at=None)


def assign(item: Interrupt, to: str | None) -> Interrupt:
    """Name the person who should answer; None removes that."""
    return copy_with(item, assigned_to=to)


def grant(item: Interrupt, owner: str, names: Approvers | None) -> Interrupt:
    """Let others answer the owner's own question as well, or None: the owner alone again."""
    terms = item.terms
    own = replace(terms.approvers or OWNER, by=(), people=())
    if names is None:
        approvers = None if own == OWNER else own
    else:
        approvers = replace(own, by=names.by, people=(owner, *names.people), not_by=None)
    terms = copy_with(terms, approvers=approvers, granted=names is not None)
    return copy_with(item, terms=terms)


def remind(item: Interrupt, now: int) -> Interrupt:
    """Note that somebody has been reminded of the question."""
    return copy_with(item, reminded_at=now)


def taken_by(item: Interrupt, run_key: str) -> Interrupt:
    """Note the run that the settled interrupt's set has started."""
    return copy_with(item, run_key=run_key)


def with_votes(item: Interrupt, votes: tuple[Vote, ...]) -> Interrupt:
    """Note who agrees to the question's answer now; the same object if nothing changed."""
    if votes == item.progress.votes:
        return item
    return copy_with(item, progress=copy_with(item.progress, votes=votes))


def with_denials(item: Interrupt, denials: Sequence[Mapping[str, Any]]) -> Interrupt:
    """Note these denials in other copies on the question as well."""
    denied = (*item.progress.denied, *denials)
    return copy_with(item, progress=copy_with(item.progress, denied=denied))


def mark_copied(item: Interrupt) -> Interrupt:
    """Note that the thread was copied at this question."""
    return copy_with(item, progress=copy_with(item.progress, copied=True))


def mark_seen(item: Interrupt, session_id: str, seen_ns: int) -> Interrupt:
    """Note that the question's frame went out whole on a session, at `seen_ns` since the epoch."""
    seen = SeenOnSession(session=session_id, at=seen_ns)
    return copy_with(item, progress=copy_with(item.progress, seen=seen))


def note_late_refusals(
    items: Iterable[Interrupt], entries: Iterable[ResumeEntry], by: str, channel: str, now: int
) -> tuple[Interrupt, ...]:
    """Note on expired questions that these entries refuse them; return those that changed (D6).

    One refusal of each person is noted, and twenty at most.
    """
    interrupts = {item.id: item for item in items}
    noted: dict[str, Interrupt] = {}
    for entry in entries:
        item = interrupts.get(entry.interrupt_id)
        if item is None or not refuses(item, entry):
            continue
        late = item.progress.late
        if len(late) >= _MAX_LATE_REFUSALS or any(refusal.by == by for refusal in late):
            continue
        if settled_by_expiry(item) or (item.status == "open" and is_past(item, now)):
            said: Any = "cancelled" if entry.status == "cancelled" else "denied"
            refusal = LateRefusal(by=by, at=now, said=said, channel=channel)
            progress = copy_with(item.progress, late=(*late, refusal))
            noted[item.id] = copy_with(item, progress=progress)
    return tuple(noted.values())


def _answered_by_nobody(item: Interrupt, payload: Any, now: int) -> Interrupt:
    done = settle(item, None, status="resolved", now=now, channel=BY_EXPIRY)
    return copy_with(done, payload=None if payload is None else jsonvalue.encode(payload))
