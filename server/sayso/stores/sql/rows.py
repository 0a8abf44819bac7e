"""Rows of the SQL stores as records, and records as rows."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import orjson

from sayso.base.records import Interrupt, Principal, Run, Thread, TurnRecord
from sayso.stores.codec import (
    answer_from_json,
    answer_to_json,
    progress_from_json,
    progress_to_json,
    terms_from_json,
    terms_to_json,
)

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
    "message",
    "response_schema",
    "metadata",
    "terms",
    "progress",
    "payload",
    "answer_metadata",
    "held",
)
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


def interrupt_row(interrupt: Interrupt) -> tuple[Any, ...]:
    """The columns of an interrupt, in the order of `_INTERRUPT`."""
    *plain, terms, progress, payload, metadata, held = _interrupt_members(interrupt)
    return (
        *plain,
        terms_to_json(terms),
        progress_to_json(progress),
        payload,
        metadata,
        answer_to_json(held),
    )


def interrupt_of(row: tuple[Any, ...]) -> Interrupt:
    """An interrupt from its columns."""
    members = dict(zip(_INTERRUPT, row, strict=True))
    members["terms"] = terms_from_json(members["terms"])
    members["progress"] = progress_from_json(members["progress"])
    members["held"] = answer_from_json(members["held"])
    return Interrupt(**members)


def seen_of(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The turn and time of asking of an interrupt, and what is noted of it (`step.Seen`)."""
    turn_key, created_at, status, held, *moved, progress = row
    return (
        turn_key,
        created_at,
        status,
        answer_from_json(held),
        *moved,
        progress_from_json(progress),
    )


def thread_of(row: tuple[Any, ...]) -> Thread:
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
        state=b"{}" if state is None else state,
        holder=holder,
        lease_until=until,
        stopping=bool(row[11]),
        stop_by=row[12],
        stop_channel=row[13],
        kept=row[14],
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
