"""The audit trail: what was asked, decided and executed, as rows that each seal those before.

Rows are derived from what a store is given to write, and written in the same step, so nothing
happens without its row (U1). A row's digest covers the digest of the row before it in its thread:
who changes, adds or takes away a row in between breaks the chain from there on (design 7).
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sayso import jsonvalue
from sayso.making import quick
from sayso.records import ChangeKind, Entry, Interrupt
from sayso.votes import votes

__all__ = ["FIRST", "AuditRow", "Event", "broken", "of_entries", "of_interrupt", "sealed", "stored"]

Event = tuple[str, bytes]
"""A kind of row and its content, a JSON object."""

FIRST = "0" * 64
"""What stands for the digest before the first row of a thread."""

_KINDS: dict[ChangeKind, str] = {"opened": "asked"}
_TOLD = (
    ("edited", "editedArgs"),
    ("rule", "rule"),
    ("approval", "approval"),
    ("by", "by"),
    ("approvers", "approvers"),
    ("reason", "reason"),
)
"""What a row about a call tells of its record, and under which name."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One thing that happened in a thread; `number` counts from 1.

    `kind`: `asked`, `held`, `withdrawn`, `agreed`, `extended`, `assigned`, `reminded`, `lapsed`,
    `resolved`, `cancelled`, `expired` of questions; `started`, `executed`, `denied`, `failed` and
    the like of tool calls; `edited` of the state; `forked` of a copied thread. `content` is its
    JSON, None once the thread was deleted; `content_digest` is the SHA-256 of it, and stays. `at`
    is in milliseconds since the epoch.
    """

    thread_id: str
    owner: str
    number: int
    at: int
    kind: str
    content: bytes | None
    content_digest: str
    digest: str


def stored(
    number: int,
    thread_id: str,
    owner: str,
    at: int,
    kind: str,
    content: bytes | None,
    content_digest: str,
    digest: str,
) -> AuditRow:
    """A row from what a store keeps of it, in the order in which all of them do."""
    return AuditRow(
        thread_id=thread_id,
        owner=owner,
        number=number,
        at=at,
        kind=kind,
        content=content,
        content_digest=content_digest,
        digest=digest,
    )


def of_interrupt(change: ChangeKind, interrupt: Interrupt, by: str | None = None) -> Event:
    """What a noted change of a question comes to; `by` is who made it, if no answer says so."""
    kind = interrupt.status if change == "settled" else _KINDS.get(change, change)
    content: dict[str, Any] = {"interruptId": interrupt.id, "reason": interrupt.reason}
    if interrupt.tool_call_id is not None:
        content["toolCallId"] = interrupt.tool_call_id
    if change == "opened":
        content |= {
            "turn": interrupt.turn_key,
            "message": interrupt.message,
            "metadata": _value(interrupt.metadata),
            "schemaDigest": _digest(interrupt.response_schema),
            "expiresAt": interrupt.expires_at,
        }
    elif change == "settled":
        content |= {
            "payload": _value(interrupt.payload),
            "metadata": _value(interrupt.answer_metadata),
            "by": interrupt.decided_by,
            "channel": interrupt.channel,
            "run": interrupt.run_key,
        }
    elif change == "held":
        content["answer"] = _value(interrupt.held)
    elif change == "agreed":
        content |= {"by": by, "agreed": votes(interrupt.policy)}
    elif change == "withdrawn":
        content |= {"by": by, "agreed": votes(interrupt.policy) or None}
    else:
        content |= {
            "by": by,
            "expiresAt": interrupt.expires_at if change in ("extended", "lapsed") else None,
            "to": interrupt.assigned_to if change == "assigned" else None,
        }
    return kind, _object(content)


def of_entries(entries: Iterable[Entry]) -> list[Event]:
    """What recorded tool calls come to, begun or ended; and edits of a thread's state.

    What a thread was copied from is told as that, and not as what has happened here.
    """
    events: list[Event] = []
    for entry in entries:
        if entry.kind == "fork":
            events = [("forked", entry.data)]
        elif entry.kind == "call" and entry.status != "asked":
            events.append(_call(entry))
        elif entry.kind == "edit":
            events.append(("edited", entry.data))
    return events


def sealed(previous: str, number: int, at: int, event: Event) -> tuple[str, str]:
    """The digests of a row: of its content, and of itself with all rows before it."""
    kind, content = event
    inner = hashlib.sha256(content).hexdigest()
    return inner, _chained(previous, number, at, kind, inner)


def broken(rows: Sequence[AuditRow], previous: str = FIRST) -> int | None:
    """The number of the first row, of rows that follow each other, that is not what was written.

    `previous` is the digest of the row before them. None: all are.
    """
    for expected, row in enumerate(rows, rows[0].number if rows else 1):
        inner = row.content_digest
        if row.content is not None and hashlib.sha256(row.content).hexdigest() != inner:
            return row.number
        previous = _chained(previous, expected, row.at, row.kind, inner)
        if row.number != expected or row.digest != previous:
            return row.number
    return None


def _call(entry: Entry) -> Event:
    recorded = jsonvalue.decode(entry.data)
    data: dict[str, Any] = recorded if isinstance(recorded, dict) else {}
    begun = entry.status == "started"
    content = {} if data.get("id") is None else {"toolCallId": data["id"]}
    content |= {"tool": entry.name, "arguments": entry.fingerprint.rpartition(" ")[2]}
    for name, told in _TOLD:
        if data.get(name) is not None:
            content[told] = data[name]
    if "value" in data:
        content["resultDigest"] = jsonvalue.digest(data["value"])
    return "started" if begun else str(data.get("status", "done")), jsonvalue.encode(content)


def _chained(previous: str, number: int, at: int, kind: str, inner: str) -> str:
    return hashlib.sha256(f"{previous}\n{number}\n{at}\n{kind}\n{inner}".encode()).hexdigest()


def _object(members: dict[str, Any]) -> bytes:
    return jsonvalue.encode({name: value for name, value in members.items() if value is not None})


def _value(body: bytes | None) -> Any:
    return None if body in (None, b"null") else jsonvalue.verbatim(body)


@lru_cache(maxsize=256)
def _digest(body: bytes | None) -> str | None:
    """Of a schema: questions of one kind have the same."""
    return None if body is None else hashlib.sha256(body).hexdigest()
