"""The audit trail: what was asked, decided and executed, as rows that each seal those before.

Rows are derived from what a store is given to write, and written in the same step, so nothing
happens without its row (U1). A row's digest covers whose it is, the thread, and the digest of the
row before it there: who changes, moves, adds or takes away a row in between breaks the chain from
there on (design 7). Its content is sealed by a digest with a random salt, and for each person it
has an id, which a store maps to the name. Either can be erased, and every digest stays true.
"""

import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from sayso.base import jsonvalue
from sayso.base.fastrecords import fast
from sayso.base.progress import Proof, proof_members
from sayso.base.records import Approval, ChangeKind, Entry, Interrupt
from sayso.base.redaction import marks_secrets, redacted
from sayso.base.scrubbing import Scrubbing, scrub_deep
from sayso.base.service_tokens import ServiceToken
from sayso.base.shown import digest_of, edited_arguments

Event = tuple[str, Mapping[str, Any]]
"""A kind of row and its content, a JSON object with the names of people."""

Rename = Callable[[str], str]
"""Gives the id of a person for the name, or the name for the id."""

SALT_BYTES = 16

GENESIS = "0" * 64
"""The digest before the first row of a thread."""

NO_THREAD = ""
"""The id under which a scope has the rows that belong to no thread. No thread has it."""
NOBODY = ""
"""The owner of those rows, who is no person."""

REPORTED = "reported_call"
REPORTED_DECISION = "reported_decision"
REPORTED_RESULT = "reported_result"
"""Kinds of entries and of rows: a call that somebody else makes, what a rule here said to it, and
what came of it."""
_OF_REPORTED = (REPORTED, REPORTED_DECISION, REPORTED_RESULT)

_AS_RECORDED = {
    "edit": "edited",
    "refused": "refused",
    "stopped": "stopped",
    "viewed": "viewed",
    "revealed": "revealed",
}
"""Kinds of rows that hold what is recorded as it is, by the kind of entry."""

_WHO = frozenset(("by", "to", "for", "roles", "approvers", "approvals", "proof", "channel"))
_WHAT = frozenset(
    ("interruptId", "toolCallId", "threadId", "turn", "run", "tool", "approval", "rule", "rules")
)
_HOW = frozenset(("status", "decision", "code", "attempt", "scope", "at", "number", "expiresAt"))
_DIGESTS = frozenset(("arguments", "digest", "resultDigest", "schemaDigest"))
_IDS = _WHO | _WHAT | _HOW | _DIGESTS
_IDS_OF_QUESTION = _IDS | {"reason"}
"""Members of a row that are no text which somebody wrote; the reason of a question is a word of a
list, that of a call is somebody's."""

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
    `resolved`, `cancelled`, `expired` of questions; `viewed` of what led to one, `revealed` of a
    secret of one, `refused` of who may not answer one; `started`, `executed`, `denied`, `failed`
    and the like of tool calls;
    `reported_call`, `reported_decision` and `reported_result` of those that somebody else makes;
    `edited` of the state; `stopped` of a run; `forked` of a copied thread; `hold` and `unhold` of
    one that nobody may delete; `deleted` of one that is gone, whose rows stay; `erased` of contents
    that are gone; `remembered` of an approval for later calls. Of no thread (`NO_THREAD`) are
    `revoked` of such an approval, `service_added` and `service_revoked` of a service's token, and
    what `Store.note` is given.

    `content` is its JSON, with a person's id for each name, as `owner` is; `content_digest` is the
    SHA-256 of `salt` and `content`. Both are None where somebody took them away. `at` is in
    milliseconds since the epoch.
    """

    thread_id: str
    owner: str
    number: int
    at: int
    kind: str
    content: bytes | None
    salt: bytes | None
    content_digest: str
    digest: str


@dataclass(frozen=True, slots=True)
class AuditPerson:
    """A person in the trail: the id that rows have, and the name that it was made of.

    Without the salt, 16 random bytes, the id betrays nothing; with it, it fits no other name.
    """

    id: str
    name: str
    salt: bytes

    @property
    def is_told(self) -> bool:
        """True if the id was made of this name."""
        return self.id == _person_id(self.name, self.salt)


def new_person(name: str) -> AuditPerson:
    """Make the person of a name that the trail does not have yet."""
    salt = new_salt()
    return AuditPerson(_person_id(name, salt), name, salt)


def new_salt() -> bytes:
    """Make the salt of a row's content, or of a person."""
    return secrets.token_bytes(SALT_BYTES)


def renamed(content: Mapping[str, Any], rename: Rename) -> dict[str, Any]:
    """A row's content with each person in it under another name.

    People stand in `by`, `to` and `for`, of the row and of the answer and the votes in it, and in
    the list `approvers`; what they have written is not looked at.
    """
    whole = dict(content)
    for name in ("by", "to", "for"):
        if isinstance(person := whole.get(name), str):
            whole[name] = rename(person)
    if isinstance(people := whole.get("approvers"), list):
        whole["approvers"] = [rename(who) if isinstance(who, str) else who for who in people]
    for name in ("agreed", "approvals"):
        if isinstance(votes := whole.get(name), list):
            whole[name] = [renamed(v, rename) if isinstance(v, Mapping) else v for v in votes]
    if isinstance(answer := whole.get("answer"), Mapping):
        whole["answer"] = renamed(answer, rename)
    return whole


def stored(
    number: int,
    thread_id: str,
    owner: str,
    written_at: int,
    kind: str,
    content: bytes | None,
    salt: bytes | None,
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
        salt=salt if type(salt) is bytes else None,
        content_digest=str(content_digest),
        digest=str(digest),
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
            "digest": digest_of(interrupt),
        }
    elif change == "settled":
        content |= {
            "payload": _open(interrupt.payload, interrupt),
            "metadata": _value(interrupt.answer_metadata),
            "by": interrupt.decided_by,
            "roles": interrupt.progress.roles or None,
            "channel": interrupt.channel,
            "proof": _proof(interrupt, interrupt.progress.proof, interrupt.payload)
            if interrupt.decided_by is not None
            else None,
            "run": interrupt.run_key,
        }
    elif change == "held":
        content["answer"] = _held(interrupt)
    elif change == "agreed":
        content |= {"by": by, "agreed": _votes(interrupt), "digest": digest_of(interrupt)}
    elif change == "withdrawn":
        agreed = _votes(interrupt) or None
        content |= {"by": by, "agreed": agreed, "digest": digest_of(interrupt)}
    else:
        content |= {
            "by": by,
            "expiresAt": interrupt.expires_at if change in ("extended", "lapsed") else None,
            "to": interrupt.assigned_to if change == "assigned" else None,
        }
    return kind, _told(content)


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
        "proof": _proof(interrupt, answer.proof, answer.payload),
    }
    return {name: value for name, value in members.items() if value is not None}


def _proof(interrupt: Interrupt, proof: Proof, payload: bytes | None) -> dict[str, Any]:
    """How somebody was known, what they were shown, and the arguments that they changed.

    `shown` is None where their client did not say. `argumentsBefore` are those that were proposed,
    `argumentsAfter` those of the answer, as digests.
    """
    members = {"kind": proof.kind, "shown": None, **(proof_members(proof) or {})}
    edited = edited_arguments(payload)
    if edited is not None and interrupt.metadata is not None:
        proposed = jsonvalue.decode(interrupt.metadata).get("sayso", {}).get("arguments")
        members["argumentsBefore"] = jsonvalue.digest(proposed)
        members["argumentsAfter"] = jsonvalue.digest(edited)
    return members


def _votes(interrupt: Interrupt) -> list[dict[str, Any]]:
    """The people who have agreed to a question so far."""
    return [
        _told(
            {
                "by": vote.by,
                "at": vote.at,
                "channel": vote.channel,
                "roles": vote.roles,
                "payload": _open(vote.payload, interrupt),
                "proof": _proof(interrupt, vote.proof, vote.payload),
            }
        )
        for vote in interrupt.progress.votes
    ]


def is_audited(entry: Entry) -> bool:
    """True if `rows_of_entries` has an event of it."""
    if entry.kind == "call":
        return entry.status != "asked"
    return entry.kind in ("fork", *_AS_RECORDED, *_OF_REPORTED)


def rows_of_entries(entries: Iterable[Entry]) -> list[Event]:
    """Make the events of recorded tool calls, begun or ended, and of edits of a thread's state.

    Entries of the thread that this one was copied from have not happened here, and are left out.
    """
    events: list[Event] = []
    for entry in entries:
        if entry.kind == "fork":
            events = [("forked", _recorded(entry))]
        elif entry.kind == "call" and entry.status != "asked":
            events.append(_call(entry))
        elif entry.kind in _OF_REPORTED:
            events.append(_reported(entry))
        elif entry.kind in _AS_RECORDED:
            events.append((_AS_RECORDED[entry.kind], _recorded(entry)))
    return events


def rows_of_approval(approval: Approval) -> Event:
    """Make the event of an approval that is given for later calls."""
    content = _approval(approval) | {
        "interruptId": approval.interrupt_id,
        "rules": list(approval.rules),
        "by": approval.given_by,
        "scope": "user" if approval.thread_id is None else "thread",
        "expiresAt": approval.expires_at,
    }
    return "remembered", _told(content)


def rows_of_revocation(approval: Approval, by: str) -> Event:
    """Make the event of an approval that `by` has revoked."""
    content = _approval(approval) | {"by": by, "threadId": approval.thread_id}
    return "revoked", _told(content)


def rows_of_service(token: ServiceToken) -> Event:
    """Make the event of a service's token that was added, or revoked."""
    content: dict[str, Any] = {"tokenId": token.id, "service": token.name}
    if token.revoked_at is not None:
        return "service_revoked", _told(content | {"by": token.revoked_by})
    content |= {
        "roles": list(token.roles),
        "tools": None if token.tools is None else list(token.tools),
        "expiresAt": token.expires_at,
        "by": token.added_by,
    }
    return "service_added", _told(content)


def rows_of_deletion(by: str | None) -> Event:
    """Make the event of a thread's end; `by` is who deleted it."""
    return "deleted", _told({"by": by})


def rows_of_erasure(through: int, by: str) -> Event:
    """Make the event of contents that were taken away: of all rows up to that number."""
    return "erased", {"through": through, "by": by}


def rows_of_forgotten(person: str, by: str) -> Event:
    """Make the event of a person whose name was taken away: of the id that rows have for it."""
    return "erased", {"person": person, "by": by}


def rows_of_hold(reason: str, by: str, *, lifted: bool) -> Event:
    """Make the event of a hold that is put on a thread, or lifted."""
    return "unhold" if lifted else "hold", {"reason": reason, "by": by}


def scrubbed(event: Event, scrub: Scrubbing) -> Event:
    """An event whose texts have passed `scrub`; ids, people and digests stay."""
    kind, content = event
    return kind, _scrubbed(jsonvalue.decode(jsonvalue.encode(content)), scrub)


def _scrubbed(content: Mapping[str, Any], scrub: Scrubbing) -> dict[str, Any]:
    whole = dict(content)
    about = _IDS_OF_QUESTION if "interruptId" in content else _IDS
    for name in whole.keys() - about:
        value = whole[name]
        if name == "answer":
            whole[name] = _scrubbed(value, scrub)
        elif name == "agreed":
            whole[name] = [_scrubbed(vote, scrub) for vote in value]
        else:
            whole[name] = scrub_deep(value, scrub)
    return whole


def encoded(event: Event, person: Rename) -> tuple[str, bytes]:
    """The kind of a row and its content as it is kept; `person` gives the id for a name."""
    kind, content = event
    return kind, jsonvalue.encode(renamed(content, person))


def chained(
    whose: tuple[str, str, str],
    previous: str,
    number: int,
    written_at: int,
    kind: str,
    content: bytes,
    salt: bytes,
) -> tuple[str, str]:
    """The digests of a row: of its content, and of itself with all rows before it.

    `whose` is its scope, its thread and its owner.
    """
    inner = _content_digest(salt, content)
    return inner, _chain_digest(whose, previous, number, written_at, kind, inner)


def content_of(row: AuditRow) -> dict[str, Any] | None:
    """A row's content as it was written; None if it is gone, or is not what its digest seals."""
    if not _is_whole(row):
        return None
    try:
        content = jsonvalue.decode(row.content or b"")
    except ValueError:  # who can write a store can also make a digest that fits
        return None
    return content if isinstance(content, dict) else None


def erased_through(kind: str, number: object, content: Mapping[str, Any] | None) -> int:
    """The number up to which a row says that its thread's contents were taken away, before it.

    0 for a row that says nothing of the kind, whatever somebody has put there.
    """
    through = content.get("through") if kind == "erased" and content is not None else None
    if type(through) is not int or type(number) is not int:
        return 0
    return min(through, number - 1)


def first_broken(scope: str, rows: Sequence[AuditRow], previous: str = GENESIS) -> int | None:
    """The number of the first of consecutive rows that is not as it was written; None if all are.

    `previous` is the digest of the row before them. A row without its content is broken.
    """
    chain = first_unchained(scope, rows, previous)
    begin = rows[0].number if rows else 1
    contents = (number for number, row in enumerate(rows, begin) if not _is_whole(row))
    return min((n for n in (chain, next(contents, None)) if n is not None), default=None)


def first_unchained(scope: str, rows: Sequence[AuditRow], previous: str = GENESIS) -> int | None:
    """The same without a look at contents, only at their digests."""
    for expected, row in enumerate(rows, rows[0].number if rows else 1):
        inner, whose = row.content_digest, (scope, row.thread_id, row.owner)
        form = _chain_digest(whose, previous, expected, row.at, row.kind, inner)
        if (row.number, row.digest) != (expected, form):
            return expected
        previous = row.digest
    return None


def _recorded(entry: Entry) -> dict[str, Any]:
    members = jsonvalue.decode(entry.data)
    return members if isinstance(members, dict) else {}


def _call(entry: Entry) -> Event:
    data = _recorded(entry)
    begun = entry.status == "started"
    content = {} if data.get("id") is None else {"toolCallId": data["id"]}
    content |= {"tool": entry.name, "arguments": entry.fingerprint.rpartition(" ")[2]}
    for name, label in _TOLD:
        if data.get(name) is not None:
            content[label] = data[name]
    if "editedShown" in data:  # without what the tool marks as secret
        content["editedArgs"] = data["editedShown"]
    if (people := _approvals(data)) and len(people) > 1:
        content["approvals"] = people
        content["approvers"] = list(dict.fromkeys(vote["by"] for vote in people))
    if "value" in data:
        content["resultDigest"] = jsonvalue.digest(data["value"])
    return "started" if begun else str(data.get("status", "done")), content


def _reported(entry: Entry) -> Event:
    data = jsonvalue.decode(entry.data)
    content: dict[str, Any] = {"toolCallId": data["id"], "tool": entry.name}
    if entry.kind != REPORTED_RESULT:
        content["arguments"] = entry.fingerprint.rpartition(" ")[2]
    content |= {name: data.get(name) for name in ("status", "rule")}
    return entry.kind, _told(content)


def _approval(approval: Approval) -> dict[str, Any]:
    """Which approval it is: for what calls, and of whom."""
    return {
        "approvalId": approval.id,
        "tool": approval.tool,
        "pattern": _value(approval.pattern),
        "for": approval.owner,
    }


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


def _person_id(name: str, salt: bytes) -> str:
    bits = hashlib.sha256(salt + name.encode("utf-8", "surrogatepass")).digest()[:12]
    return f"p_{urlsafe_b64encode(bits).decode()}"


def _is_whole(row: AuditRow) -> bool:
    if row.content is None or row.salt is None:
        return False
    return _content_digest(row.salt, row.content) == row.content_digest


def _content_digest(salt: bytes, content: bytes) -> str:
    return hashlib.sha256(salt + content).hexdigest()


def _told(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _value(body: bytes | None) -> Any:
    return None if body in (None, b"null") else jsonvalue.raw_json(body)


@lru_cache(maxsize=256)
def _digest(body: bytes | None) -> str | None:
    """The digest of a schema; questions of one kind share it."""
    return None if body is None else hashlib.sha256(body).hexdigest()
