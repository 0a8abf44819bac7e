"""The JSON that durable backends keep of a question's terms, its progress and its held answer.

Nobody else knows these forms. Members that say nothing are left out; a record of nothing but
those is no JSON at all.
"""

from collections.abc import Mapping
from typing import Any

from sayso.base import jsonvalue
from sayso.base.approvers import Approvers
from sayso.base.options import FallbackAnswer, OnExpire
from sayso.base.records import AnswerRecord, LateRefusal, Progress, SeenOnSession, Terms, Vote

NO_TERMS = Terms()
NO_PROGRESS = Progress()


def terms_to_json(terms: Terms) -> bytes | None:
    """The JSON of a question's terms; None for those of most."""
    if terms == NO_TERMS:
        return None
    members: dict[str, Any] = {
        "onExpire": _rule_to_json(terms.on_expire),
        "approvers": None if terms.approvers is None else terms.approvers.terms(),
        "requesters": terms.requesters,
        "subagent": terms.subagent,
        "typed": terms.typed,
        "origin": terms.origin,
    }
    return jsonvalue.encode({name: value for name, value in members.items() if value})


def _rule_to_json(rule: OnExpire) -> Any:
    if isinstance(rule, FallbackAnswer):
        return {"answer": rule.payload}
    return None if rule == "expire" else rule


def terms_from_json(data: bytes | None) -> Terms:
    """The terms that such JSON stands for."""
    if data is None:
        return NO_TERMS
    members: dict[str, Any] = jsonvalue.decode(data)
    rule, approvers = members.get("onExpire", "expire"), members.get("approvers")
    return Terms(
        on_expire=FallbackAnswer(rule["answer"]) if isinstance(rule, dict) else rule,
        approvers=None if approvers is None else Approvers.from_terms(approvers),
        requesters=tuple(members.get("requesters", ())),
        subagent=members.get("subagent"),
        typed=members.get("typed", False),
        origin=members.get("origin"),
    )


def progress_to_json(progress: Progress) -> bytes | None:
    """The JSON of what has happened to a question; None for nothing."""
    if progress == NO_PROGRESS:
        return None
    seen = progress.seen
    members: dict[str, Any] = {
        "votes": [_vote_members(vote) for vote in progress.votes],
        "roles": progress.roles,
        "denied": progress.denied,
        "copied": progress.copied,
        "late": [
            {"by": one.by, "at": one.at, "said": one.said, "channel": one.channel}
            for one in progress.late
        ],
        "seen": None if seen is None else {"session": seen.session, "at": seen.at},
    }
    return jsonvalue.encode({name: value for name, value in members.items() if value})


def progress_from_json(data: bytes | None) -> Progress:
    """The progress that such JSON stands for."""
    if data is None:
        return NO_PROGRESS
    members: dict[str, Any] = jsonvalue.decode(data)
    seen = members.get("seen")
    return Progress(
        votes=tuple(map(_vote, members.get("votes", ()))),
        roles=tuple(members.get("roles", ())),
        denied=tuple(members.get("denied", ())),
        copied=members.get("copied", False),
        late=tuple(LateRefusal(**one) for one in members.get("late", ())),
        seen=None if seen is None else SeenOnSession(**seen),
    )


def answer_to_json(answer: AnswerRecord | None) -> bytes | None:
    """The JSON of a held answer; None for none."""
    if answer is None:
        return None
    members: dict[str, Any] = {
        "status": answer.status,
        "payload": None if answer.payload is None else jsonvalue.raw_json(answer.payload),
        "metadata": None if answer.metadata is None else jsonvalue.raw_json(answer.metadata),
        "by": answer.by,
        "at": answer.at,
        "channel": answer.channel,
        "roles": answer.roles,
    }
    return jsonvalue.encode({name: value for name, value in members.items() if value is not None})


def answer_from_json(data: bytes | None) -> AnswerRecord | None:
    """The held answer that such JSON stands for."""
    if data is None:
        return None
    members: dict[str, Any] = jsonvalue.decode(data)
    roles = members.get("roles")
    return AnswerRecord(
        status=members["status"],
        payload=_json(members, "payload"),
        metadata=_json(members, "metadata"),
        by=members["by"],
        at=members["at"],
        channel=members["channel"],
        roles=None if roles is None else tuple(roles),
    )


def _vote_members(vote: Vote) -> dict[str, Any]:
    return {
        "by": vote.by,
        "at": vote.at,
        "channel": vote.channel,
        "roles": vote.roles,
        "payload": jsonvalue.raw_json(vote.payload),
    }


def _vote(members: Mapping[str, Any]) -> Vote:
    return Vote(
        by=members["by"],
        at=members["at"],
        channel=members["channel"],
        roles=tuple(members["roles"]),
        payload=jsonvalue.encode(members["payload"]),
    )


def _json(members: Mapping[str, Any], name: str) -> bytes | None:
    return jsonvalue.encode(members[name]) if name in members else None
