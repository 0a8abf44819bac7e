"""The life of an interrupt: the only place that changes one. Pure.

An answer is *given*, may be *held* while others of its set are open, and is *settled* with the
rest in the step that claims the thread: one `AnswerRecord` on all its way. A held answer stays on
an interrupt that is `open`; it may be replaced or withdrawn until the set is complete. It was given
in time, so an expiry that passes meanwhile does not touch it. Where others than the owner decide, a
no is final all the same, and a yes is its author's (`quorum.effect`).

Whatever the policy makes of a question whose time is up, nobody decided: there is no `decided_by`,
and `channel` is `expiry` (R3). A person who refuses too late is noted on it (D6).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sayso.base import jsonvalue
from sayso.base.fastrecords import copy_with
from sayso.base.options import FallbackAnswer
from sayso.base.records import (
    AnswerRecord,
    Interrupt,
    InterruptStatus,
    LateRefusal,
    Principal,
    SeenOnSession,
    Vote,
)
from sayso.gate.quorum import REQUESTER, asks_others, is_denial, is_final
from sayso.protocol.reasons import DECISION
from sayso.protocol.runinput import ResumeEntry

BY_EXPIRY: Final = "expiry"
"""The channel of what no person decided."""
_MAX_LATE_REFUSALS: Final = 20


def is_past(item: Interrupt, now: int) -> bool:
    """True if its time is up: only a cancellation settles it now (EX-01, EX-04, EX-05).

    `now == expires_at` is past. One that its policy left open is past until it is extended.
    """
    return item.expires_at is not None and now >= item.expires_at


def expiry_due(item: Interrupt, now: int) -> bool:
    """True if an open question is due for its policy.

    An answer that is kept for it came in time; one that lapsed before has had its policy.
    """
    unanswered = item.status == "open" and item.held is None
    return unanswered and item.lapsed_at is None and is_past(item, now)


def settled_by_expiry(item: Interrupt) -> bool:
    """True if the server settled it because its time was up."""
    return item.status == "expired" or (item.status != "open" and item.channel == BY_EXPIRY)


def denied_by_expiry(item: Interrupt) -> bool:
    """True if it expired and its policy takes that for a denial of the call (R4)."""
    return item.status == "expired" and item.terms.on_expire == "deny"


def unanswered(items: Iterable[Interrupt]) -> list[Interrupt]:
    """Those that are open and hold no answer: what a set still waits for."""
    return [item for item in items if item.status == "open" and item.held is None]


def consecutive_expiries(items: Iterable[Interrupt]) -> int:
    """How many sets of answers, the newest ones without a break, no person had a part in.

    A set is what one run took: `items` are those of a turn, in order of asking.
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


def given(entry: ResumeEntry, principal: Principal, channel: str, now: int) -> AnswerRecord:
    """An answer as it was given (U2: who answered is never read from the payload)."""
    return AnswerRecord(
        status=entry.status,
        payload=None if entry.payload is None else jsonvalue.encode(entry.payload),
        metadata=None if entry.metadata is None else jsonvalue.encode(entry.metadata),
        by=principal.subject,
        at=now,
        channel=channel,
        roles=principal.roles,
    )


def hold(item: Interrupt, answer: AnswerRecord) -> Interrupt:
    """The open interrupt with this answer kept on it, in place of any that was kept before."""
    kept = answer if asks_others(item) else copy_with(answer, roles=None)
    return copy_with(item, held=kept)


def withdraw(item: Interrupt) -> Interrupt:
    """The interrupt without the answer that was kept on it."""
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
    """The interrupt settled, with an answer or without one; no other code settles any.

    Without an answer nobody decided. The roles of who answered are kept where they matter.
    """
    progress = item.progress
    if answer is None:
        return copy_with(
            item, status=status, held=None, decided_at=now, channel=channel, run_key=run_key
        )
    if item.reason == DECISION or asks_others(item):
        progress = copy_with(progress, roles=answer.roles or ())
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
    """The interrupt settled with this answer, at the time and by the channel that it was given."""
    return settle(item, answer, status=answer.status, now=answer.at, channel=answer.channel)


def settle_held(item: Interrupt) -> Interrupt:
    """The interrupt settled with the answer that is kept on it: decided when it was given.

    Raises:
        ValueError: it holds none.
    """
    if item.held is None:
        raise ValueError(f"{item.id!r} holds no answer")
    return settle_with(item, item.held)


def as_answered(item: Interrupt) -> Interrupt:
    """The interrupt as its held answer settles it; as it is, if it holds none."""
    return item if item.held is None else settle_held(item)


def apply_expiry(item: Interrupt, now: int) -> Interrupt:
    """The question as its policy leaves it: settled by nobody, or open to cancellations alone."""
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
    """The question settled as expired, whatever its policy."""
    return settle(item, None, status="expired", now=now, channel=BY_EXPIRY)


def cancel(
    item: Interrupt, *, by: str | None, channel: str | None, now: int, run_key: str
) -> Interrupt:
    """The question cancelled by a stop of its turn; a no of somebody entitled is kept anyway."""
    if is_final(item):
        return copy_with(settle_held(item), run_key=run_key)
    done = settle(item, None, status="cancelled", now=now, channel=channel, run_key=run_key)
    return copy_with(done, decided_by=by)


def reopen(before: Interrupt, settled: Interrupt) -> Interrupt:
    """A question as it stood before an answer that nothing came of; a no to it is kept anyway.

    So who may decide has said it for good, and the turn goes on with it once its code can.
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
    )
    return hold(before, answer) if is_denial(settled, answer) else before


def ask_again(item: Interrupt, now: int, requester: str, origin: str) -> Interrupt:
    """The question of a copy: nobody has answered it, and there is as much time as at first.

    `requester` has made the copy; `origin` is the first of the threads that it comes from.
    """
    moved = now - item.created_at
    terms = item.terms
    if terms.approvers is not None and REQUESTER in terms.approvers.barred:
        terms = copy_with(terms, requesters=tuple(dict.fromkeys((*terms.requesters, requester))))
    return copy_with(
        item,
        terms=copy_with(terms, origin=terms.origin or origin),
        progress=copy_with(item.progress, votes=(), roles=(), denied=(), copied=False),
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
    """The question with a later end; it can be answered again, if it had lapsed.

    A reminder keeps its part of the lifetime (R1).
    """
    remind_at = item.remind_at
    if remind_at is not None and item.expires_at is not None:
        share = (remind_at - item.created_at) / max(1, item.expires_at - item.created_at)
        remind_at = item.created_at + int(share * (ends - item.created_at))
    return copy_with(item, expires_at=ends, lapsed_at=None, remind_at=remind_at, reminded_at=None)


def assign(item: Interrupt, to: str | None) -> Interrupt:
    """The question with the one who should answer; None takes that back."""
    return copy_with(item, assigned_to=to)


def remind(item: Interrupt, now: int) -> Interrupt:
    """The question once somebody has been reminded of it."""
    return copy_with(item, reminded_at=now)


def taken_by(item: Interrupt, run_key: str) -> Interrupt:
    """The settled interrupt with the run that its set has started."""
    return copy_with(item, run_key=run_key)


def with_votes(item: Interrupt, votes: tuple[Vote, ...]) -> Interrupt:
    """The question with those who agree to its answer now; the same if they did before."""
    if votes == item.progress.votes:
        return item
    return copy_with(item, progress=copy_with(item.progress, votes=votes))


def with_denials(item: Interrupt, denials: Sequence[Mapping[str, Any]]) -> Interrupt:
    """The question with these denials of other copies on it as well."""
    denied = (*item.progress.denied, *denials)
    return copy_with(item, progress=copy_with(item.progress, denied=denied))


def mark_copied(item: Interrupt) -> Interrupt:
    """The question with the note that its thread was copied there."""
    return copy_with(item, progress=copy_with(item.progress, copied=True))


def mark_seen(item: Interrupt, session_id: str, at: int) -> Interrupt:
    """The question with the note that its frame went out whole on a session, at `at` in ns."""
    seen = SeenOnSession(session=session_id, at=at)
    return copy_with(item, progress=copy_with(item.progress, seen=seen))


def note_late_refusals(
    items: Iterable[Interrupt], entries: Iterable[ResumeEntry], by: str, channel: str, now: int
) -> tuple[Interrupt, ...]:
    """The questions that entries refuse after they had expired, with that noted on each (D6).

    One refusal of each person is noted, and no more than twenty in all.
    """
    interrupts = {item.id: item for item in items}
    noted: dict[str, Interrupt] = {}
    for entry in entries:
        item = interrupts.get(entry.interrupt_id)
        if item is None or not refuses(entry):
            continue
        late = item.progress.late
        if len(late) >= _MAX_LATE_REFUSALS or any(one.by == by for one in late):
            continue
        if settled_by_expiry(item) or (item.status == "open" and is_past(item, now)):
            said: Any = "cancelled" if entry.status == "cancelled" else "denied"
            refusal = LateRefusal(by=by, at=now, said=said, channel=channel)
            progress = copy_with(item.progress, late=(*late, refusal))
            noted[item.id] = copy_with(item, progress=progress)
    return tuple(noted.values())


def refuses(entry: ResumeEntry) -> bool:
    """True if an entry says no: a cancellation, or a payload that does not approve."""
    if entry.status == "cancelled" or entry.payload is False:
        return True
    return isinstance(entry.payload, dict) and entry.payload.get("approved") is False


def _answered_by_nobody(item: Interrupt, payload: Any, now: int) -> Interrupt:
    done = settle(item, None, status="resolved", now=now, channel=BY_EXPIRY)
    return copy_with(done, payload=None if payload is None else jsonvalue.encode(payload))
