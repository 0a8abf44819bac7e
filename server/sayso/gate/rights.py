"""The rights of a reader to a question, and the people it waits for, as clients see them. Pure.

`may` offers exactly what the gate accepts: `answer`, `cancel`, `takeBack`, `extend`, `assign`. Who
has to sign in again before an answer is offered `signIn` in its place. No
client has to work it out from roles.
"""

from typing import Any

from sayso.base import jsonvalue
from sayso.base.clock import format_time
from sayso.base.jsonpatch import differences
from sayso.base.records import AnswerRecord, Interrupt, Principal
from sayso.base.redaction import marks_secrets, redacted
from sayso.gate.interrupts import is_past
from sayso.gate.quorum import (
    asks_others,
    barred,
    decides,
    denied_elsewhere,
    has_signed_in_lately,
    is_final,
    missing,
)
from sayso.protocol.interrupts import ours_of

Json = dict[str, Any]


def details_for(item: Interrupt, owner: str, reader: Principal, now: int) -> Json:
    """The members of an open question's `metadata.sayso` for this reader.

    `{"may", "waitsFor"?, "before"?, "held"?}`: `before` includes what was denied in other copies
    since this one was made. `held` (`{"by", "at"}`) is there for the owner's own question whose
    answer is kept for the rest of its set; for a question to others it is part of `waitsFor`.
    """
    details: Json = {"may": may(item, owner, reader, now)}
    if item.progress.denied:
        details["before"] = denied_elsewhere(item)
    if (waiting := waits_for(item, reader)) is not None:
        details["waitsFor"] = waiting
    elif item.held is not None:
        details["held"] = _held(item.held)
    return details


def may(item: Interrupt, owner: str, reader: Principal, now: int) -> list[str]:
    """The verbs that this reader may use on an open question.

    `answer` is there while the reader's answer would change something: not after it has agreed.
    """
    others = asks_others(item)
    if is_final(item):
        return []
    if not decides(item, reader):
        return ["cancel"] if reader.subject == owner else []
    theirs = barred(item, reader) is None if others else reader.subject == owner
    kept = item.held
    own = _has_word(item, reader)
    late = is_past(item, now) or item.lapsed_at is not None
    verbs = []
    if theirs and not (late and not (others and kept)) and not (others and own):
        verbs.append("answer" if has_signed_in_lately(item, reader, now) else "signIn")
    verbs.append("cancel")
    if own or (kept is not None and not others):
        verbs.append("takeBack")
    if theirs:
        if item.expires_at is not None and (not is_past(item, now) or item.lapsed_at is not None):
            verbs.append("extend")
        if not item.terms.granted or reader.subject == owner:
            verbs.append("assign")
    return verbs


def waits_for(item: Interrupt, reader: Principal) -> Json | None:
    """The people that a question waits for; None if that is the owner of its thread.

    `{"roles", "people"?, "notBy"?, "need", "missing", "agreed": [{"by", "roles", "at", "changes"}],
    "held"?: {"by", "at"}, "you"?}`: `need` and `missing` are a number, or one for each role; `you`
    is `agreed`, `held`, or `requester` for a reader who may not because it asked.
    """
    approvers = item.terms.approvers
    if approvers is None or not asks_others(item):
        return None
    votes = item.progress.votes
    kept = item.held
    left = {} if kept is not None else missing(approvers, [vote.roles for vote in votes])
    waiting: Json = {"roles": list(approvers.roles)}
    if approvers.people:
        waiting["people"] = list(approvers.people)
    if approvers.barred:
        waiting["notBy"] = list(approvers.barred)
    waiting |= {
        "need": approvers.approvals,
        "missing": left.get("", 0) if isinstance(approvers.approvals, int) else left,
        "agreed": [
            {
                "by": vote.by,
                "roles": list(vote.roles),
                "at": format_time(vote.at),
                "changes": changes(item, jsonvalue.decode(vote.payload)),
            }
            for vote in votes
        ],
    }
    if kept is not None:
        waiting["held"] = _held(kept)
    if kept is not None and kept.by == reader.subject:
        waiting["you"] = "held"
    elif any(vote.by == reader.subject for vote in votes):
        waiting["you"] = "agreed"
    elif barred(item, reader) == "own":
        waiting["you"] = "requester"
    return waiting


def changes(item: Interrupt, payload: Any) -> list[Json]:
    """The changes that an answer makes to the proposed arguments: `{"path", "from", "to"}`.

    Those of a value that is marked as secret are left out.
    """
    if not isinstance(payload, dict) or "editedArgs" not in payload or item.metadata is None:
        return []
    before, after = {**payload, "editedArgs": ours_of(item).get("arguments")}, payload
    if marks_secrets(item.response_schema):
        schema = jsonvalue.decode(item.response_schema or b"null")
        before, after = redacted(before, schema), redacted(after, schema)
    return differences(before["editedArgs"], after["editedArgs"])


def _held(kept: AnswerRecord) -> Json:
    return {"by": kept.by, "at": format_time(kept.at)}


def _has_word(item: Interrupt, reader: Principal) -> bool:
    """True if this reader has an answer or a vote there that it can take back."""
    if item.held is not None and item.held.by == reader.subject:
        return True
    return any(vote.by == reader.subject for vote in item.progress.votes)
