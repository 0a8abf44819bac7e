"""Answers that are kept while others of their set are open (design 2, "answer").

A held answer is JSON on an interrupt that stays `open`; it may be replaced or withdrawn until the
set is complete, and is settled with the rest in the step that claims the thread. It was given in
time, so an expiry that passes meanwhile does not touch it. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sayso import jsonvalue
from sayso.making import changed
from sayso.protocol.runinput import ResumeEntry
from sayso.records import Interrupt, Principal

__all__ = ["HeldAnswer", "hold", "read", "settle", "uncovered", "withdraw"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldAnswer:
    """An answer as it was given: what, by whom, when (ms since the epoch), by which channel."""

    entry: ResumeEntry
    by: str
    at: int
    channel: str


def hold(
    item: Interrupt, entry: ResumeEntry, principal: Principal, channel: str, now: int
) -> Interrupt:
    """The open interrupt with this answer kept on it, in place of any that was kept before."""
    kept: dict[str, Any] = {"status": entry.status}
    if entry.payload is not None:
        kept["payload"] = entry.payload
    if entry.metadata is not None:
        kept["metadata"] = entry.metadata
    kept |= {"by": principal.subject, "at": now, "channel": channel}
    return changed(item, held=jsonvalue.encode(kept))


def withdraw(item: Interrupt) -> Interrupt:
    """The interrupt without the answer that was kept on it."""
    return changed(item, held=None)


def read(item: Interrupt) -> HeldAnswer | None:
    """The answer that is kept on an interrupt, if any."""
    if item.held is None:
        return None
    kept = jsonvalue.decode(item.held)
    return HeldAnswer(
        entry=ResumeEntry(
            interrupt_id=item.id,
            status=kept["status"],
            payload=kept.get("payload"),
            metadata=kept.get("metadata"),
        ),
        by=kept["by"],
        at=kept["at"],
        channel=kept["channel"],
    )


def settle(item: Interrupt) -> Interrupt:
    """The interrupt settled with the answer that is kept on it: decided when it was given.

    ValueError for an interrupt that holds none.
    """
    kept = read(item)
    if kept is None:
        raise ValueError(f"{item.id!r} holds no answer")
    entry = kept.entry
    payload = None if entry.status == "cancelled" else entry.payload
    return changed(
        item,
        status=entry.status,
        held=None,
        payload=None if payload is None else jsonvalue.encode(payload),
        answer_metadata=None if entry.metadata is None else jsonvalue.encode(entry.metadata),
        decided_by=kept.by,
        decided_at=kept.at,
        channel=kept.channel,
    )


def uncovered(items: Iterable[Interrupt]) -> list[Interrupt]:
    """Those that are open and hold no answer: what a set still waits for."""
    return [item for item in items if item.status == "open" and item.held is None]
