"""Records as Redis keeps them: a line of JSON, then the bytes that are JSON of their own.

Members that a newer version adds come last: an older one leaves them out, and a newer one reads
their defaults from what an older one wrote.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar

import orjson

from sayso.base.audit import AuditRow, stored
from sayso.base.records import (
    Approval,
    Change,
    Entry,
    Interrupt,
    Message,
    Principal,
    Run,
    TurnRecord,
)
from sayso.stores.codec import (
    answer_from_json,
    answer_to_json,
    progress_from_json,
    progress_to_json,
    terms_from_json,
    terms_to_json,
)

T = TypeVar("T")


class Packing(Generic[T]):
    """A kind of record to bytes and back."""

    def __init__(
        self, names: str, *, blobs: str, read: Callable[[T], Sequence[Any]], make: Callable[..., T]
    ) -> None:
        """`names` of the members in their order; `blobs` are those of them that are bytes."""
        self._names = names.split()
        self._blobs = [self._names.index(name) for name in blobs.split()]
        self._read = read
        self._make = make

    def pack(self, record: T) -> bytes:
        """The record's bytes."""
        values = list(self._read(record))
        parts = [b"\n"]
        for at in self._blobs:
            if values[at] is not None:
                parts.append(values[at])
                values[at] = len(values[at])
        return orjson.dumps(values) + b"".join(parts)

    def unpack(self, data: bytes, begin: int = 0) -> T:
        """The record in bytes, from that place on."""
        end = data.index(b"\n", begin)
        values = orjson.loads(data[begin:end])
        at = end + 1
        for blob in self._blobs:
            if blob < len(values) and values[blob] is not None:
                length = values[blob]
                values[blob] = data[at : at + length]
                at += length
        return self._make(**dict(zip(self._names, values, strict=False)))


def _plain(record: type[T], names: str, blobs: str) -> Packing[T]:
    return Packing(names, blobs=blobs, read=attrgetter(*names.split()), make=record)


def _turn(*, subject: str, scope: str, roles: list[str], **members: Any) -> TurnRecord:
    return TurnRecord(
        principal=Principal(subject=subject, scope=scope, roles=tuple(roles)), **members
    )


def _interrupt_values(interrupt: Interrupt) -> Sequence[Any]:
    *plain, terms, progress, held = _interrupt_members(interrupt)
    return [*plain, terms_to_json(terms), progress_to_json(progress), answer_to_json(held)]


def _interrupt(
    *, terms: bytes | None, progress: bytes | None, held: bytes | None, **members: Any
) -> Interrupt:
    return Interrupt(
        terms=terms_from_json(terms),
        progress=progress_from_json(progress),
        held=answer_from_json(held),
        **members,
    )


def _approval(*, rules: list[str], **members: Any) -> Approval:
    return Approval(rules=tuple(rules), **members)


_INTERRUPT = (
    "id turn_key created_at status reason assigned_to expires_at remind_at reminded_at lapsed_at "
    "place tool_call_id decided_by decided_at channel run_key message response_schema metadata "
    "payload answer_metadata terms progress held"
)
_interrupt_members = attrgetter(*_INTERRUPT.split())
INTERRUPTS: Packing[Interrupt] = Packing(
    _INTERRUPT,
    blobs="response_schema metadata payload answer_metadata terms progress held",
    read=_interrupt_values,
    make=_interrupt,
)
ENTRIES = _plain(Entry, "place kind name fingerprint status data", "data")
RUNS = _plain(Run, "key run_id turn_key started_at ended_at outcome", "outcome")
MESSAGES = _plain(Message, "id role body", "body")
TURNS: Packing[TurnRecord] = Packing(
    "key agent version status request started_at ended_at subject scope roles",
    blobs="request",
    read=attrgetter(
        "key",
        "agent",
        "version",
        "status",
        "request",
        "started_at",
        "ended_at",
        "principal.subject",
        "principal.scope",
        "principal.roles",
    ),
    make=_turn,
)
_APPROVAL = (
    "id owner tool pattern rules given_by given_at interrupt_id thread_id expires_at revoked_at "
    "revoked_by terms"
)
APPROVALS: Packing[Approval] = Packing(
    _APPROVAL, blobs="pattern terms", read=attrgetter(*_APPROVAL.split()), make=_approval
)


def joined(*members: Any) -> bytes:
    """Members of a light row."""
    return orjson.dumps(members)


def moment(at: int) -> str:
    """A time that sorts as text."""
    return f"{at:019d}"


def place(number: int) -> str:
    """A number that sorts as text."""
    return f"{number:016d}"


def prefixed(text: str) -> str:
    """Text that no longer one begins with, since its length stands in front."""
    return f"{len(text.encode())}:{text}"


def change(mark: int, packed: bytes) -> Change:
    """A note from what was kept of it."""
    kind, thread_id, owner, at, interrupt_id, run_key = orjson.loads(packed)
    return Change(
        mark=mark,
        kind=kind,
        thread_id=thread_id,
        owner=owner,
        at=at,
        interrupt_id=interrupt_id,
        run_key=run_key,
    )


def audit_row(thread_id: str, number: int, packed: bytes, content: bytes | None) -> AuditRow:
    """An audit row from what was kept of it, and its content unless that is gone."""
    owner, at, kind, inner, digest = orjson.loads(packed)
    return stored(number, thread_id, owner, at, kind, content, inner, digest)
