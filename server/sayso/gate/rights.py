"""The rights of a question's reader, and whom it waits for, as clients are told. Pure.

`may` offers what the gate takes and nothing else: `answer`, `cancel`, `takeBack`, `extend`,
`assign`. No client has to work it out from roles.
"""

from typing import Any

from sayso.base import jsonvalue
from sayso.base.clock import format_time
from sayso.base.jsonpatch import differences
from sayso.base.records import AnswerRecord, Interrupt, Principal
from sayso.gate.interrupts import is_past
from sayso.gate.quorum import asks_others, barred, is_final, missing

Json = dict[str, Any]


def told(item: Interrupt, owner: str, reader: Principal, now: int) -> Json:
    """The members of an open question's `metadata.sayso`.

    `{"may", "waitsFor"?, "before"?, "held"?}`: `before` is what was denied in other copies too,
    since this one was made. `held` (`{"by", "at"}`) is there for a question of the owner's own
    whose answer is kept for the rest of its set; of others' it is a part of `waitsFor`.
    """
    said: Json = {"may": may(item, owner, reader, now)}
    if denied := item.progress.denied:
        ours = jsonvalue.decode(item.metadata)["sayso"] if item.metadata else {}
        known = ours.get("before", [])
        said["before"] = [*known, *(one for one in denied if one not in known)]
    if (waiting := waits_for(item, reader)) is not None:
        said["waitsFor"] = waiting
    elif item.held is not None:
        said["held"] = _held(item.held)
    return said


def may(item: Interrupt, owner: str, reader: Principal, now: int) -> list[str]:
    """The verbs that this reader may use on an open question.

    `answer` is there while an answer of its own would change something: not for who has agreed.
    """
    others = asks_others(item)
    if is_final(item):
        return []
    theirs = barred(item, reader) is None if others else reader.subject == owner
    kept = item.held
    own = _has_word(item, reader)
    late = is_past(item, now) or item.lapsed_at is not None
    found = []
    if theirs and not (late and not (others and kept)) and not (others and own):
        found.append("answer")
    found.append("cancel")
    if own or (kept is not None and not others):
        found.append("takeBack")
    if theirs:
        if item.expires_at is not None and (not is_past(item, now) or item.lapsed_at is not None):
            found.append("extend")
        found.append("assign")
    return found


def waits_for(item: Interrupt, reader: Principal) -> Json | None:
    """Whom a question waits for, if not for the owner of its thread.

    `{"roles", "people"?, "notBy"?, "need", "missing", "agreed": [{"by", "roles", "at", "changes"}],
    "held"?: {"by", "at"}, "you"?}`: `need` and `missing` are a number, or one for each role; `you`
    is `agreed`, `held`, or `requester` for who may not because it asked.
    """
    approvers = item.terms.approvers
    if approvers is None or not asks_others(item):
        return None
    votes = item.progress.votes
    kept = item.held
    left = {} if kept is not None else missing(approvers, [vote.roles for vote in votes])
    found: Json = {"roles": list(approvers.roles)}
    if approvers.people:
        found["people"] = list(approvers.people)
    if approvers.barred:
        found["notBy"] = list(approvers.barred)
    found |= {
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
        found["held"] = _held(kept)
    if kept is not None and kept.by == reader.subject:
        found["you"] = "held"
    elif any(vote.by == reader.subject for vote in votes):
        found["you"] = "agreed"
    elif barred(item, reader) == "own":
        found["you"] = "requester"
    return found


def changes(item: Interrupt, payload: Any) -> list[Json]:
    """The changes that an answer makes to the proposed arguments: `{"path", "from", "to"}`."""
    if not isinstance(payload, dict) or "editedArgs" not in payload or item.metadata is None:
        return []
    ours = jsonvalue.decode(item.metadata).get("sayso")
    asked = ours.get("arguments") if isinstance(ours, dict) else None
    return differences(asked, payload["editedArgs"])


def _held(kept: AnswerRecord) -> Json:
    return {"by": kept.by, "at": format_time(kept.at)}


def _has_word(item: Interrupt, reader: Principal) -> bool:
    """True if this reader has a word there that it can take back."""
    if item.held is not None and item.held.by == reader.subject:
        return True
    return any(vote.by == reader.subject for vote in item.progress.votes)
