"""Rows of the SQL stores as records, and records as rows."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import orjson

from sayso.base.records import Interrupt, Principal, Run, Thread, TurnRecord
from sayso.stores.codec import (
    answer_from_json,
    answer_to_json,
    hold_from_json,
    interrupt_from_json,
    progress_from_json,
    progress_to_json,
    terms_to_json,
)
from sayso.stores.sealing import INTERRUPT_TEXTS, Passage

_Row = Callable[[Any], tuple[Any, ...]]

_INTERRUPT = (
    "id",
    "turn_key",
    "created_at",
    "status",
    "reason",
    "assigned_to",
    "expires_at",
    "remind_at",
    "reminded_at",
    "lapsed_at",
    "place",
    "tool_call_id",
    "decided_by",
    "decided_at",
    "channel",
    "run_key",
    *INTERRUPT_TEXTS,
)
_PLAIN = len(_INTERRUPT) - len(INTERRUPT_TEXTS)
_interrupt_members: _Row = attrgetter(*_INTERRUPT)
message_row: _Row = attrgetter("id", "role", "body", "visibility")
entry_row: _Row = attrgetter("place", "kind", "name", "fingerprint", "status", "data")
run_row: _Row = attrgetter(
    "key", "run_id", "turn_key", "started_at", "ended_at", "outcome", "delivered"
)


def turn_row(turn: TurnRecord) -> tuple[Any, ...]:
    """A turn without its request."""
    who = turn.principal
    return (
        turn.key,
        turn.agent,
        turn.version,
        turn.status,
        who.subject,
        who.scope,
        orjson.dumps(who.roles),
        turn.started_at,
        turn.ended_at,
    )


def interrupt_row(interrupt: Interrupt, way: Passage) -> tuple[Any, ...]:
    """The columns of an interrupt, in the order of `_INTERRUPT`."""
    members = _interrupt_members(interrupt)
    *said, terms, progress, payload, metadata, held = members[_PLAIN:]
    texts = (
        *said,
        terms_to_json(terms),
        progress_to_json(progress),
        payload,
        metadata,
        answer_to_json(held),
    )
    return (
        *members[:_PLAIN],
        *way.several("interrupt", interrupt.id, INTERRUPT_TEXTS, texts),
    )


def interrupt_of(row: tuple[Any, ...], way: Passage) -> Interrupt:
    """An interrupt from its columns."""
    texts = way.several("interrupt", row[0], INTERRUPT_TEXTS, row[_PLAIN:])
    return interrupt_from_json(**dict(zip(_INTERRUPT, (*row[:_PLAIN], *texts), strict=True)))


def seen_of(row: tuple[Any, ...], way: Passage) -> tuple[Any, ...]:
    """The turn and time of asking of an interrupt, and what is noted of it (`step.Seen`)."""
    interrupt_id, turn_key, created_at, status, held, *moved, progress = row
    held = way.one("interrupt.held", interrupt_id, held)
    progress = way.one("interrupt.progress", interrupt_id, progress)
    return (
        turn_key,
        created_at,
        status,
        answer_from_json(held),
        *moved,
        progress_from_json(progress),
    )


def thread_of(row: tuple[Any, ...], way: Passage) -> Thread:
    """A thread from its columns, its state and what it keeps, and who is stopping it."""
    scope, thread_id, owner, agent, revision, fence, created, updated, state, holder, until = row[
        :11
    ]
    return Thread(
        scope=scope,
        id=thread_id,
        owner=owner,
        agent=agent,
        revision=revision,
        fence=fence,
        created_at=created,
        updated_at=updated,
        state=b"{}" if state is None else way.one("state.body", "", state),
        holder=holder,
        lease_until=until,
        stopping=bool(row[11]),
        stop_by=row[12],
        stop_channel=row[13],
        kept=way.one("kept.body", "", row[14]),
        hold=hold_from_json(way.one("thread.hold", "", row[15])),
    )


def turn_of(row: tuple[Any, ...]) -> TurnRecord:
    """A turn from its columns and its request."""
    key, agent, version, status, request, subject, scope, roles, started_at, ended_at = row
    return TurnRecord(
        key=key,
        agent=agent,
        version=version,
        status=status,
        request=request,
        principal=Principal(subject=subject, scope=scope, roles=tuple(orjson.loads(roles))),
        started_at=started_at,
        ended_at=ended_at,
    )


def run_of(row: tuple[Any, ...]) -> Run:
    """A run from its columns."""
    key, run_id, turn_key, started_at, ended_at, outcome, done = row
    return Run(
        key=key,
        run_id=run_id,
        turn_key=turn_key,
        started_at=started_at,
        ended_at=ended_at,
        outcome=outcome,
        delivered=bool(done),
    )
