"""What becomes of a question when its time is up, and what is said about it too late. Pure.

What an author declared is kept with the question, in `Interrupt.policy`: a later change of options
does not reach it. Whatever the policy makes of it, nobody decided: there is no `decided_by`, and
`channel` is `expiry` (R3). A person who refuses too late is noted in the same place (D6).
"""

from collections.abc import Iterable
from typing import Any, Final

from sayso import jsonvalue
from sayso.making import changed
from sayso.options import GivenAnswer, OnExpire
from sayso.protocol.interrupts import SUBAGENT
from sayso.protocol.runinput import ResumeEntry
from sayso.records import Interrupt

__all__ = [
    "BY_EXPIRY",
    "by_expiry",
    "denied_by_expiry",
    "expired",
    "lapsed",
    "late_refusals",
    "noted",
    "notes",
    "past",
    "policy_of",
    "raised_by",
    "refuses",
    "unattended_sets",
]

BY_EXPIRY: Final = "expiry"
"""The channel of what no person decided."""
_MOST_NOTED: Final = 20


def policy_of(on_expire: OnExpire) -> bytes | None:
    """What is kept with the question; nothing for the default."""
    if on_expire == "expire":
        return None
    if isinstance(on_expire, GivenAnswer):
        return jsonvalue.encode({"onExpire": "answer", "payload": on_expire.payload})
    return jsonvalue.encode({"onExpire": on_expire})


def raised_by(policy: bytes | None, subagent_run_id: str) -> bytes:
    """The policy of a question that an inner agent asked, which says so."""
    kept = jsonvalue.decode(policy) if policy else {}
    return jsonvalue.encode({**kept, SUBAGENT: subagent_run_id})


def past(item: Interrupt, now: int) -> bool:
    """Whether an open question is due for its policy: `now == expiresAt` is expired (EX-01).

    An answer that is kept for it came in time; one that lapsed before has had its policy.
    """
    return (
        item.status == "open"
        and item.held is None
        and item.lapsed_at is None
        and item.expires_at is not None
        and item.expires_at <= now
    )


def lapsed(item: Interrupt, now: int) -> Interrupt:
    """The question as its policy leaves it: settled by nobody, or open to cancellations alone."""
    policy = _policy(item)
    match policy.get("onExpire", "expire"):
        case "hold":
            return changed(item, lapsed_at=now)
        case "cancel":
            return _settled(item, "cancelled", now)
        case "answer":
            return _settled(item, "resolved", now, policy.get("payload"))
        case "approve":
            return _settled(item, "resolved", now, {"approved": True})
    return expired(item, now)


def expired(item: Interrupt, now: int) -> Interrupt:
    """The question settled as expired, whatever its policy."""
    return _settled(item, "expired", now)


def by_expiry(item: Interrupt) -> bool:
    """Whether the server settled it because its time was up."""
    return item.status == "expired" or (item.status != "open" and item.channel == BY_EXPIRY)


def denied_by_expiry(item: Interrupt) -> bool:
    """Whether it expired and its policy takes that for a denial of the call (R4)."""
    return item.status == "expired" and _policy(item).get("onExpire") == "deny"


def refuses(entry: ResumeEntry) -> bool:
    """Whether an entry says no: a cancellation, or a payload that does not approve."""
    if entry.status == "cancelled" or entry.payload is False:
        return True
    return isinstance(entry.payload, dict) and entry.payload.get("approved") is False


def noted(item: Interrupt, entry: ResumeEntry, by: str, channel: str, now: int) -> Interrupt | None:
    """The question with a refusal that came too late; None if that person's is noted already.

    `{"by", "at", "said", "channel"}`, where `said` is `cancelled` or `denied`.
    """
    policy = _policy(item)
    late: list[dict[str, Any]] = policy.get("late", [])
    if len(late) >= _MOST_NOTED or any(one["by"] == by for one in late):
        return None
    said = "cancelled" if entry.status == "cancelled" else "denied"
    policy["late"] = [*late, {"by": by, "at": now, "said": said, "channel": channel}]
    return changed(item, policy=jsonvalue.encode(policy))


def notes(
    items: Iterable[Interrupt], entries: Iterable[ResumeEntry], by: str, channel: str, now: int
) -> tuple[Interrupt, ...]:
    """The questions that entries refuse after they had expired, with that noted on each (D6)."""
    asked = {item.id: item for item in items}
    found: dict[str, Interrupt] = {}
    for entry in entries:
        item = asked.get(entry.interrupt_id)
        if item is None or not refuses(entry):
            continue
        over = item.expires_at is not None and item.expires_at <= now
        if by_expiry(item) or (item.status == "open" and over):
            note = noted(item, entry, by, channel, now)
            if note is not None:
                found[item.id] = note
    return tuple(found.values())


def late_refusals(item: Interrupt) -> list[dict[str, Any]]:
    """Who refused after the question had expired, as `noted` keeps it, oldest first."""
    found: list[dict[str, Any]] = _policy(item).get("late", [])
    return found


def unattended_sets(items: Iterable[Interrupt]) -> int:
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


def _policy(item: Interrupt) -> dict[str, Any]:
    policy: dict[str, Any] = jsonvalue.decode(item.policy) if item.policy else {}
    return policy


def _settled(item: Interrupt, status: Any, now: int, payload: Any = None) -> Interrupt:
    return changed(
        item,
        status=status,
        payload=None if payload is None else jsonvalue.encode(payload),
        decided_at=now,
        channel=BY_EXPIRY,
        held=None,
    )
