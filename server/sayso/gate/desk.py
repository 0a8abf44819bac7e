"""What answers from the inbox may do to a thread (design 4, 5). Pure, total, never raises.

The rules are those of the ladder, for answers that come one by one: nothing is refused because
others are still open. The first line that applies decides:

 1. Two answers for one id that differ: `duplicate_entry`. Equal ones count once.
 2. Nothing but answers equal to settled ones: they stand. A turn that is ready, or that failed
    after it took them, goes on.
 3. The thread runs: `thread_busy`.
 4. An id that this thread does not ask: `unknown_interrupt`.
 5. An answer that differs from the settled one: `already_resolved`, or `interrupt_expired`.
 6. `resolved` at or after `expiresAt`: `interrupt_expired`; `cancelled` counts.
 7. An answer of somebody who has none of the roles that may give it: `not_an_approver`.
    A payload that does not fit: `invalid_payload`.
 8. Others of the set wait for an answer: these are held.
 9. The set is complete: all are settled, and the turn goes on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sayso.errors import Code
from sayso.gate import approvers, held, refusals
from sayso.gate.answers import Judge, alike, problems, repeats, settled
from sayso.gate.expiry import by_expiry
from sayso.gate.refusals import Refuse
from sayso.limits import Limits
from sayso.protocol.runinput import ResumeEntry
from sayso.records import Interrupt, Principal, ThreadView

__all__ = [
    "Given",
    "Hold",
    "Settle",
    "Stand",
    "give",
    "late",
    "open_ones",
    "take_back",
]


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep answers: `items` are the interrupts that change, `remaining` how many wait after it."""

    items: tuple[Interrupt, ...]
    remaining: int


@dataclass(frozen=True, slots=True)
class Settle:
    """Let the newest turn go on with these settled; empty when they were settled before.

    `retry`: the turn failed after it took them, and goes on from its journal.
    """

    items: tuple[Interrupt, ...]
    retry: bool = False


@dataclass(frozen=True, slots=True)
class Stand:
    """Change nothing: the thread has these answers already; `run_key` is the run they started."""

    run_key: str | None


Given = Hold | Settle | Stand | Refuse


def open_ones(view: ThreadView) -> dict[str, Interrupt]:
    """The interrupts that a thread waits for, by id; none while it runs."""
    turn = view.turn
    if turn is None or turn.status != "suspended" or view.thread.holder is not None:
        return {}
    return {
        item.id: item
        for item in view.interrupts
        if item.status == "open" and item.turn_key == turn.key
    }


def late(item: Interrupt, now: int) -> bool:
    """Whether only a cancellation can settle an open interrupt (EX-04, EX-05)."""
    if item.lapsed_at is not None:
        return True
    return item.expires_at is not None and item.expires_at <= now


def give(
    view: ThreadView,
    answers: Sequence[ResumeEntry],
    *,
    principal: Principal,
    channel: str,
    now: int,
    limits: Limits,
    judge: Judge | None = None,
) -> Given:
    """Decide what answers, all for the thread in `view`, do.

    `view` was loaded with their ids. `now` is milliseconds since the epoch.
    """
    entries: dict[str, ResumeEntry] = {}
    twice: dict[str, None] = {}
    for entry in answers:
        if not alike(entries.setdefault(entry.interrupt_id, entry), entry):
            twice[entry.interrupt_id] = None
    if twice:
        return refusals.duplicate(list(twice))
    waiting = open_ones(view)
    decided = {item.id: item for item in view.interrupts if item.status != "open"}
    differing = [
        decided[key]
        for key, entry in entries.items()
        if key in decided and not repeats(entry, decided[key])
    ]
    if entries.keys() <= decided.keys() and not differing:
        return _standing(view, waiting, [decided[key] for key in entries])
    fresh = {key: entry for key, entry in entries.items() if key not in decided}
    return (
        _impossible(view, waiting, fresh, differing)
        or _unentitled(waiting, fresh, principal)
        or _unfit(waiting, fresh, now, limits, judge)
        or _taken(waiting, fresh, principal, channel, now)
    )


def take_back(view: ThreadView, interrupt_id: str, subject: str) -> Hold | Refuse:
    """Decide what withdrawing an answer does: nothing if none is held.

    Of several people who have to agree, each takes back its own word.
    """
    item = open_ones(view).get(interrupt_id)
    if item is None:
        return _unanswerable(view, interrupt_id)
    return _change(view, held.withdraw(approvers.withdrawn(item, subject)))


def assign(view: ThreadView, interrupt_id: str, to: str | None) -> Hold | Refuse:
    """Decide what naming the one who should answer does; None takes that back."""
    item = open_ones(view).get(interrupt_id)
    if item is None:
        return _unanswerable(view, interrupt_id)
    return _change(view, replace(item, assigned_to=to))


def extend(
    view: ThreadView,
    interrupt_id: str,
    now: int,
    *,
    until: int | None = None,
    seconds: float | None = None,
) -> Hold | Refuse:
    """Decide what moving the end of a question does: to a time, or by seconds from its present end.

    What has expired stays expired, but for one that its policy left open: that one can be answered
    again. A reminder keeps its part of the lifetime (R1).
    """
    item = open_ones(view).get(interrupt_id)
    if item is None:
        return _unanswerable(view, interrupt_id)
    if item.expires_at is None:
        return _no_extension("this question never expires, so there is nothing to extend")
    if late(item, now) and item.lapsed_at is None:
        return refusals.expired([item])
    ends = until if until is not None else max(now, item.expires_at) + int((seconds or 0) * 1000)
    if ends <= max(now, item.expires_at):
        return _no_extension("an extension ends later than now, and than what it extends")
    remind_at = item.remind_at
    if remind_at is not None:
        share = (remind_at - item.created_at) / max(1, item.expires_at - item.created_at)
        remind_at = item.created_at + int(share * (ends - item.created_at))
    return _change(
        view,
        replace(item, expires_at=ends, lapsed_at=None, remind_at=remind_at, reminded_at=None),
    )


def _no_extension(why: str) -> Refuse:
    return Refuse(Code.INVALID_INPUT, f"{why}: read its expiresAt and send a later one")


def _change(view: ThreadView, item: Interrupt) -> Hold:
    waiting = {**open_ones(view), item.id: item}
    changed = () if item in view.interrupts else (item,)
    return Hold(items=changed, remaining=len(held.uncovered(waiting.values())))


def _unanswerable(view: ThreadView, interrupt_id: str) -> Refuse:
    """Why an interrupt that the thread does not wait for cannot be changed."""
    for item in view.interrupts:
        if item.id == interrupt_id and item.status != "open":
            if by_expiry(item):
                return refusals.expired([item])
            return refusals.already_resolved([item])
    if view.thread.holder is not None:
        return refusals.busy()
    return refusals.unknown([interrupt_id])


def _standing(
    view: ThreadView, waiting: dict[str, Interrupt], decided: list[Interrupt]
) -> Settle | Stand:
    turn = view.turn
    if turn is not None and view.thread.holder is None:
        theirs = any(item.turn_key == turn.key for item in decided)
        if turn.status == "suspended" and not held.uncovered(waiting.values()) and theirs:
            return Settle(items=tuple(held.settle(item) for item in waiting.values()))
        if turn.status == "failed" and theirs:
            return Settle(items=(), retry=True)
    return Stand(run_key=decided[-1].run_key if decided else None)


def _impossible(
    view: ThreadView,
    waiting: dict[str, Interrupt],
    fresh: dict[str, ResumeEntry],
    differing: list[Interrupt],
) -> Refuse | None:
    if view.thread.holder is not None and not differing:
        return refusals.busy()
    unknown = [key for key in fresh if key not in waiting]
    if unknown and view.thread.holder is None:
        return refusals.unknown(unknown)
    decided = [item for item in differing if not by_expiry(item)]
    if decided:
        return refusals.already_resolved(decided)
    return refusals.expired(differing) if differing else None


def _unfit(
    waiting: dict[str, Interrupt],
    fresh: dict[str, ResumeEntry],
    now: int,
    limits: Limits,
    judge: Judge | None,
) -> Refuse | None:
    resolved = {key: entry for key, entry in fresh.items() if entry.status == "resolved"}
    overdue = [waiting[key] for key in resolved if late(waiting[key], now)]
    if overdue:
        return refusals.expired(overdue)
    found = {
        key: wrong
        for key, entry in resolved.items()
        if (wrong := problems(waiting[key], entry.payload, limits, judge))
    }
    return refusals.invalid(found) if found else None


def _unentitled(
    waiting: dict[str, Interrupt], fresh: dict[str, ResumeEntry], principal: Principal
) -> Refuse | None:
    others = [
        waiting[key]
        for key, entry in fresh.items()
        if entry.status == "resolved" and not approvers.entitled(waiting[key], principal)
    ]
    return refusals.not_an_approver(others) if others else None


def _taken(
    asked: dict[str, Interrupt],
    given: dict[str, ResumeEntry],
    principal: Principal,
    channel: str,
    now: int,
) -> Hold | Settle:
    tallies = {
        key: approvers.counted(asked[key], entry, principal, channel, now)
        for key, entry in given.items()
    }
    waiting = {key: tallies[key][0] if key in tallies else item for key, item in asked.items()}
    fresh = {key: entry for key, entry in given.items() if tallies[key][1]}
    counted = [waiting[key] for key in given if key not in fresh and waiting[key] != asked[key]]
    remaining = [item for item in held.uncovered(waiting.values()) if item.id not in fresh]
    if remaining:
        changed = {
            key: held.hold(waiting[key], entry, principal, channel, now)
            for key, entry in fresh.items()
            if not _holds(waiting[key], entry)
        }
        return Hold(items=(*changed.values(), *counted), remaining=len(remaining))
    return Settle(
        items=tuple(
            settled(item, fresh[key], principal, channel, now)
            if key in fresh
            else held.settle(item)
            for key, item in waiting.items()
        )
    )


def _holds(item: Interrupt, entry: ResumeEntry) -> bool:
    """Whether this very answer is held: a retry changes neither who gave it nor when."""
    kept = held.read(item)
    return kept is not None and alike(kept.entry, entry)
