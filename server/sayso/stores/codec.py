"""The JSON that durable backends keep of a question's terms, its progress and its held answer.

And of the hold of a thread.

Nobody else knows these forms. Members that say nothing are left out; a record of nothing but
those is no JSON at all.
"""

from collections.abc import Mapping
from typing import Any

from sayso.base import jsonvalue
from sayso.base.approvers import Approvers
from sayso.base.options import FallbackAnswer, OnExpire
from sayso.base.progress import (
    NO_PROGRESS,
    LateRefusal,
    Progress,
    SeenOnSession,
    Vote,
    proof_members,
    proof_of_members,
    result_members,
    result_of_members,
)
from sayso.base.records import AnswerRecord, Hold, Interrupt, Terms

NO_TERMS = Terms()


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
        "services": terms.services,
        "granted": terms.granted,
        "origin": terms.origin,
        "leftToApp": terms.left_to_app,
        "apart": terms.apart,
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
        services=members.get("services", False),
        granted=members.get("granted", False),
        origin=members.get("origin"),
        left_to_app=members.get("leftToApp", False),
        apart=members.get("apart", False),
    )


def progress_to_json(progress: Progress) -> bytes | None:
    """The JSON of what has happened to a question; None for nothing."""
    if progress == NO_PROGRESS:
        return None
    seen, result = progress.seen, progress.result
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
        "proof": proof_members(progress.proof),
        "result": None if result is None else result_members(result),
    }
    return jsonvalue.encode({name: value for name, value in members.items() if value})


def progress_from_json(data: bytes | None) -> Progress:
    """The progress that such JSON stands for."""
    if data is None:
        return NO_PROGRESS
    members: dict[str, Any] = jsonvalue.decode(data)
    seen, result = members.get("seen"), members.get("result")
    return Progress(
        votes=tuple(map(_vote, members.get("votes", ()))),
        roles=tuple(members.get("roles", ())),
        denied=tuple(members.get("denied", ())),
        copied=members.get("copied", False),
        late=tuple(LateRefusal(**one) for one in members.get("late", ())),
        seen=None if seen is None else SeenOnSession(**seen),
        proof=proof_of_members(members.get("proof")),
        result=None if result is None else result_of_members(result),
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
        "proof": proof_members(answer.proof),
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
        proof=proof_of_members(members.get("proof")),
    )


def hold_to_json(hold: Hold | None) -> bytes | None:
    """The JSON of a hold; None for none."""
    if hold is None:
        return None
    return jsonvalue.encode({"by": hold.by, "reason": hold.reason, "said_at": hold.said_at})


def hold_from_json(data: bytes | None) -> Hold | None:
    """The hold that such JSON stands for."""
    return None if data is None else Hold(**jsonvalue.decode(data))


def interrupt_from_json(
    *, terms: bytes | None, progress: bytes | None, held: bytes | None, **members: Any
) -> Interrupt:
    """An interrupt of which these three are JSON, and the others as they are."""
    return Interrupt(
        terms=terms_from_json(terms),
        progress=progress_from_json(progress),
        held=answer_from_json(held),
        **members,
    )


def _vote_members(vote: Vote) -> dict[str, Any]:
    members = {
        "by": vote.by,
        "at": vote.at,
        "channel": vote.channel,
        "roles": vote.roles,
        "payload": jsonvalue.raw_json(vote.payload),
    }
    proof = proof_members(vote.proof)
    return members if proof is None else members | {"proof": proof}


def _vote(members: Mapping[str, Any]) -> Vote:
    return Vote(
        by=members["by"],
        at=members["at"],
        channel=members["channel"],
        roles=tuple(members["roles"]),
        payload=jsonvalue.encode(members["payload"]),
        proof=proof_of_members(members.get("proof")),
    )


def _json(members: Mapping[str, Any], name: str) -> bytes | None:
    return jsonvalue.encode(members[name]) if name in members else None
