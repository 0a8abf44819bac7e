"""Rows of the SQL stores as records, and records as rows."""

from operator import attrgetter
from typing import Any

import orjson

from sayso.records import Interrupt, Principal, Run, Thread, Turn

__all__ = [
    "entry_row",
    "interrupt_of",
    "interrupt_row",
    "message_row",
    "run_of",
    "run_row",
    "thread_of",
    "turn_of",
    "turn_row",
]

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
    "policy",
    "payload",
    "answer_metadata",
    "held",
)
interrupt_row = attrgetter(*_INTERRUPT)
message_row = attrgetter("id", "role", "body", "visibility")
entry_row = attrgetter("place", "kind", "name", "fingerprint", "status", "data")
run_row = attrgetter("key", "run_id", "turn_key", "started_at", "ended_at", "outcome", "delivered")


def turn_row(turn: Turn) -> tuple[Any, ...]:
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


def interrupt_of(row: tuple[Any, ...]) -> Interrupt:
    """An interrupt from the columns of its members."""
    return Interrupt(**dict(zip(_INTERRUPT, row, strict=True)))


def thread_of(row: tuple[Any, ...]) -> Thread:
    """A thread from its columns, its state, whether it is stopping and who wanted that."""
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
        state=state,
        holder=holder,
        lease_until=until,
        stopping=bool(row[11]),
        stop_by=row[12],
        stop_channel=row[13],
    )


def turn_of(row: tuple[Any, ...]) -> Turn:
    """A turn from its columns and its request."""
    key, agent, version, status, request, subject, scope, roles, started_at, ended_at = row
    return Turn(
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
