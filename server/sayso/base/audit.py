"""The audit trail: what was asked, decided and executed, as rows that each seal those before.

Rows are derived from what a store is given to write, and written in the same step, so nothing
happens without its row (U1). A row's digest covers whose it is, the thread, and the digest of the
row before it there: who changes, moves, adds or takes away a row in between breaks the chain from
there on (design 7). Rows of versions before 1 of this form cover less, and stay what they are.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from sayso.base import jsonvalue
from sayso.base.fastrecords import fast
from sayso.base.records import ChangeKind, Entry, Interrupt
from sayso.base.redaction import marks_secrets, redacted

Event = tuple[str, bytes]
"""A kind of row and its content, a JSON object."""

GENESIS = "0" * 64
"""The digest before the first row of a thread."""

REPORTED = "reported_call"
REPORTED_DECISION = "reported_decision"
REPORTED_RESULT = "reported_result"
"""Kinds of entries and of rows: a call that somebody else makes, what a rule here said to it, and
what came of it."""
_OF_REPORTED = (REPORTED, REPORTED_DECISION, REPORTED_RESULT)

_SPELLED = "%d:%s" * 9
"""The parts that a row seals, each as its number of bytes and itself."""

_KINDS: dict[ChangeKind, str] = {"opened": "asked"}
_TOLD = (
    ("edited", "editedArgs"),
    ("rule", "rule"),
    ("approval", "approval"),
    ("decision", "decision"),
    ("by", "by"),
    ("reason", "reason"),
    ("attempt", "attempt"),
)
"""The members of a call's record that its row shows, and their names there."""


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One thing that happened in a thread; `number` counts from 1.

    `kind`: `asked`, `held`, `withdrawn`, `agreed`, `extended`, `assigned`, `reminded`, `lapsed`,
    `resolved`, `cancelled`, `expired` of questions, `viewed` of what led to one; `started`,
    `executed`, `denied`, `failed` and the like of tool calls; `reported_call`,
    `reported_decision` and `reported_result` of those that somebody else makes; `edited` of the
    state; `forked` of a copied thread; `deleted` of one that is gone, whose rows stay. `content` is
    its JSON, None where it was taken away, as an older version did with a deleted thread's;
    `content_digest` is the SHA-256 of it, and stays. `at` is in milliseconds since the epoch.
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
    written_at: int,
    kind: str,
    content: bytes | None,
    content_digest: str,
    digest: str,
) -> AuditRow:
    """Make a row from its columns, in the order in which every store keeps them.

    Whoever can write a store can put anything there: a value of another type becomes a row that
    was never written, and is found as one.
    """
    return AuditRow(
        thread_id=thread_id,
        owner=str(owner),
        number=_whole(number),
        at=_whole(written_at),
        kind=str(kind),
        content=content if content is None or type(content) is bytes else str(content).encode(),
        content_digest=content_digest,
        digest=digest,
    )


def rows_of_interrupt(change: ChangeKind, interrupt: Interrupt, by: str | None = None) -> Event:
    """Make the events of a change of a question; `by` is who made it, if no answer says so."""
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
            "payload": _open(interrupt.payload, interrupt),
            "metadata": _value(interrupt.answer_metadata),
            "by": interrupt.decided_by,
            "channel": interrupt.channel,
            "run": interrupt.run_key,
        }
    elif change == "held":
        content["answer"] = _held(interrupt)
    elif change == "agreed":
        content |= {"by": by, "agreed": _votes(interrupt)}
    elif change == "withdrawn":
        content |= {"by": by, "agreed": _votes(interrupt) or None}
    else:
        content |= {
            "by": by,
            "expiresAt": interrupt.expires_at if change in ("extended", "lapsed") else None,
            "to": interrupt.assigned_to if change == "assigned" else None,
        }
    return kind, _object(content)


def _open(value: bytes | None, interrupt: Interrupt) -> Any:
    """A payload without the members that its question marks as secret."""
    if value is None or not marks_secrets(interrupt.response_schema):
        return _value(value)
    schema = jsonvalue.decode(interrupt.response_schema or b"null")
    return redacted(jsonvalue.decode(value), schema)


def _held(interrupt: Interrupt) -> dict[str, Any] | None:
    """The answer that is kept on a question."""
    answer = interrupt.held
    if answer is None:
        return None
    members = {
        "status": answer.status,
        "payload": _open(answer.payload, interrupt),
        "metadata": _value(answer.metadata),
        "by": answer.by,
        "at": answer.at,
        "channel": answer.channel,
        "roles": answer.roles,
    }
    return {name: value for name, value in members.items() if value is not None}


def _votes(interrupt: Interrupt) -> list[dict[str, Any]]:
    """The people who have agreed to a question so far."""
    return [
        {
            "by": vote.by,
            "at": vote.at,
            "channel": vote.channel,
            "roles": vote.roles,
            "payload": jsonvalue.raw_json(vote.payload),
        }
        for vote in interrupt.progress.votes
    ]


def is_audited(entry: Entry) -> bool:
    """True if `rows_of_entries` has an event of it."""
    if entry.kind == "call":
        return entry.status != "asked"
    return entry.kind in ("fork", "edit", "viewed", *_OF_REPORTED)


def rows_of_entries(entries: Iterable[Entry]) -> list[Event]:
    """Make the events of recorded tool calls, begun or ended, and of edits of a thread's state.

    Entries of the thread that this one was copied from have not happened here, and are left out.
    """
    events: list[Event] = []
    for entry in entries:
        if entry.kind == "fork":
            events = [("forked", entry.data)]
        elif entry.kind == "call" and entry.status != "asked":
            events.append(_call(entry))
        elif entry.kind in _OF_REPORTED:
            events.append(_reported(entry))
        elif entry.kind == "edit":
            events.append(("edited", entry.data))
        elif entry.kind == "viewed":
            events.append(("viewed", entry.data))
    return events


def rows_of_deletion(by: str | None) -> Event:
    """Make the event of a thread's end; `by` is who deleted it."""
    return "deleted", _object({"by": by})


def chained(
    whose: tuple[str, str, str], previous: str, number: int, written_at: int, event: Event
) -> tuple[str, str]:
    """The digests of a row: of its content, and of itself with all rows before it.

    `whose` is its scope, its thread and its owner.
    """
    kind, content = event
    inner = hashlib.sha256(content).hexdigest()
    return inner, _chain_digest(whose, previous, number, written_at, kind, inner)


def is_told(row: AuditRow) -> bool:
    """True if a row's content fits its digest, or was taken away."""
    content = row.content
    return content is None or hashlib.sha256(content).hexdigest() == row.content_digest


def first_broken(scope: str, rows: Sequence[AuditRow], previous: str = GENESIS) -> int | None:
    """The number of the first of consecutive rows that is not as it was written; None if all are.

    `previous` is the digest of the row before them. A row without its content is broken, except
    rows of the older form, whose threads an older version has deleted; that took all contents, so
    none can be missing behind one that is there.
    """
    there = False
    for expected, row in enumerate(rows, rows[0].number if rows else 1):
        inner, whose = row.content_digest, (scope, row.thread_id, row.owner)
        form = _chain_digest(whose, previous, expected, row.at, row.kind, inner)
        before = _chain_digest_v1(previous, expected, row.at, row.kind, inner)
        there = there or row.content is not None
        missing = row.content is None and (there or row.digest == form)
        if not is_told(row) or missing or row.number != expected:
            return expected
        if row.digest not in (form, before):
            return expected
        previous = row.digest
    return None


def _call(entry: Entry) -> Event:
    recorded = jsonvalue.decode(entry.data)
    data: dict[str, Any] = recorded if isinstance(recorded, dict) else {}
    begun = entry.status == "started"
    content = {} if data.get("id") is None else {"toolCallId": data["id"]}
    content |= {"tool": entry.name, "arguments": entry.fingerprint.rpartition(" ")[2]}
    for name, label in _TOLD:
        if data.get(name) is not None:
            content[label] = data[name]
    if (people := _approvals(data)) and len(people) > 1:
        content["approvals"] = people
        content["approvers"] = list(dict.fromkeys(vote["by"] for vote in people))
    if "value" in data:
        content["resultDigest"] = jsonvalue.digest(data["value"])
    return "started" if begun else str(data.get("status", "done")), jsonvalue.encode(content)


def _reported(entry: Entry) -> Event:
    data = jsonvalue.decode(entry.data)
    content: dict[str, Any] = {"toolCallId": data["id"], "tool": entry.name}
    if entry.kind != REPORTED_RESULT:
        content["arguments"] = entry.fingerprint.rpartition(" ")[2]
    content |= {name: data.get(name) for name in ("status", "rule")}
    return entry.kind, _object(content)


def _approvals(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The people who said yes to the call, each with the rule and the arguments."""
    return [
        {"rule": rule["rule"], "by": said["by"], "arguments": rule["arguments"]}
        for rule in data.get("satisfied", ())
        if isinstance(rule, dict)
        for said in rule["by"]
    ]


def _whole(value: Any) -> int:
    return value if type(value) is int else -1


def _chain_digest(
    whose: tuple[str, str, str], previous: str, number: int, written_at: int, kind: str, inner: str
) -> str:
    parts = ("sayso-audit-2", *whose, str(number), str(written_at), kind, inner, previous)
    if "".join(parts).isascii():  # as mostly: then a text has as many bytes as characters
        spelled = _SPELLED % tuple(chain.from_iterable(zip(map(len, parts), parts, strict=True)))
        return hashlib.sha256(spelled.encode()).hexdigest()
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return hashlib.sha256(b"".join(b"%d:%b" % (len(e), e) for e in encoded)).hexdigest()


def _chain_digest_v1(previous: str, number: int, written_at: int, kind: str, inner: str) -> str:
    """The digest of a row in the older form, which did not cover scope, thread and owner."""
    sealed = f"{previous}\n{number}\n{written_at}\n{kind}\n{inner}"
    return hashlib.sha256(sealed.encode()).hexdigest()


def _object(members: dict[str, Any]) -> bytes:
    return jsonvalue.encode({name: value for name, value in members.items() if value is not None})


def _value(body: bytes | None) -> Any:
    return None if body in (None, b"null") else jsonvalue.raw_json(body)


@lru_cache(maxsize=256)
def _digest(body: bytes | None) -> str | None:
    """The digest of a schema; questions of one kind share it."""
    return None if body is None else hashlib.sha256(body).hexdigest()
