"""Records as Redis keeps them: a line of JSON, then the bytes that are JSON of their own.

Members that a newer version adds come last: an older one leaves them out, and a newer one reads
their defaults from what an older one wrote.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Generic, TypeVar

import orjson

from sayso.base.audit import SALT_BYTES, AuditRow, stored
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
    answer_to_json,
    interrupt_from_json,
    progress_to_json,
    terms_to_json,
)
from sayso.stores.sealing import Passage
from sayso.stores.step import AuditLine

T = TypeVar("T")


class Packing(Generic[T]):
    """A kind of record to bytes and back."""

    def __init__(
        self, names: str, *, blobs: str, read: Callable[[T], Sequence[Any]], make: Callable[..., T]
    ) -> None:
        """`names` of the members in their order; `blobs` are those of them that are bytes."""
        self.names: list[str] = names.split()
        self._blobs = [self.names.index(name) for name in blobs.split()]
        self._make = make
        self._read = read

    def pack(self, record: T) -> bytes:
        """The record's bytes."""
        return self.pack_values(list(self._read(record)))

    def pack_values(self, values: list[Any]) -> bytes:
        """The bytes of a record's members."""
        parts = [b"\n"]
        for at in self._blobs:
            if values[at] is not None:
                parts.append(values[at])
                values[at] = len(values[at])
        return orjson.dumps(values) + b"".join(parts)

    def unpack(self, data: bytes, begin: int = 0) -> T:
        """The record in bytes, from that place on."""
        return self.make(self.unpack_values(data, begin))

    def make(self, values: Sequence[Any]) -> T:
        """The record that has these members."""
        return self._make(**dict(zip(self.names, values, strict=False)))

    def unpack_values(self, data: bytes, begin: int = 0) -> list[Any]:
        """A record's members in bytes, from that place on."""
        end = data.index(b"\n", begin)
        values: list[Any] = orjson.loads(data[begin:end])
        at = end + 1
        for blob in self._blobs:
            if blob < len(values) and values[blob] is not None:
                length = values[blob]
                values[blob] = data[at : at + length]
                at += length
        return values


def _plain(record: type[T], names: str, blobs: str) -> Packing[T]:
    return Packing(names, blobs=blobs, read=attrgetter(*names.split()), make=record)


def _turn(*, subject: str, scope: str, roles: list[str], **members: Any) -> TurnRecord:
    return TurnRecord(
        principal=Principal(subject=subject, scope=scope, roles=tuple(roles)), **members
    )


def _interrupt_values(interrupt: Interrupt) -> Sequence[Any]:
    *plain, terms, progress, held = _interrupt_members(interrupt)
    return [*plain, terms_to_json(terms), progress_to_json(progress), answer_to_json(held)]


def _approval(*, rules: list[str], **members: Any) -> Approval:
    return Approval(rules=tuple(rules), **members)


_INTERRUPT_BLOBS = "response_schema metadata payload answer_metadata terms progress held"
_TEXTS = ("message", *_INTERRUPT_BLOBS.split())
_INTERRUPT = (
    "id turn_key created_at status reason assigned_to expires_at remind_at reminded_at lapsed_at "
    f"place tool_call_id decided_by decided_at channel run_key message {_INTERRUPT_BLOBS}"
)
_PLAIN = len(_INTERRUPT.split()) - len(_TEXTS)
_interrupt_members = attrgetter(*_INTERRUPT.split())
INTERRUPTS: Packing[Interrupt] = Packing(
    _INTERRUPT,
    blobs=_INTERRUPT_BLOBS,
    read=_interrupt_values,
    make=interrupt_from_json,
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


def interrupt_bytes(interrupt: Interrupt, way: Passage) -> bytes:
    """The bytes of an interrupt on its way in."""
    values = _interrupt_values(interrupt)
    texts = way.several("interrupt", interrupt.id, _TEXTS, values[_PLAIN:])
    return INTERRUPTS.pack_values([*values[:_PLAIN], *texts])


def interrupt_in(data: bytes, begin: int, way: Passage) -> Interrupt:
    """The interrupt in bytes on their way out, from that place on."""
    values = INTERRUPTS.unpack_values(data, begin)
    texts = way.several("interrupt", values[0], _TEXTS[: len(values) - _PLAIN], values[_PLAIN:])
    return INTERRUPTS.make([*values[:_PLAIN], *texts])


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


def audit_operations(
    thread_id: str, now: int, line: AuditLine, way: Passage
) -> tuple[int, bytes, bytes, bytes]:
    """An audit row as it is kept: its number, its content, itself, and what the scope lists."""
    number, owner, kind, content, salt, inner, digest = line
    row = joined(owner, now, kind, inner, digest)
    kept = way.one("audit.content", str(number), salt + content)
    return number, kept, row, joined(thread_id, number, owner)


def audit_row(
    thread_id: str, number: int, packed: bytes, kept: bytes | None, way: Passage
) -> AuditRow:
    """An audit row from what was kept of it, and its content unless that is gone."""
    owner, at, kind, inner, digest = orjson.loads(packed)
    (kept,) = way.told(number, kept)
    salt, content = (None, None) if kept is None else (kept[:SALT_BYTES], kept[SALT_BYTES:])
    return stored(number, thread_id, owner, at, kind, content, salt, inner, digest)
