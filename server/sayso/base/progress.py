"""The history of a question beside its answer: who has agreed, refused late, or seen it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from sayso.base.fastrecords import fast


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A signature under what somebody said: by which key, when (ms), and itself in base64."""

    key: str
    signed_at: int
    value: str


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How somebody was known who answered, and what they were shown; None for what was not told.

    All but `shown` are as `Principal` has them. `shown` is the digest of the question that their
    client sent back with the answer (`shown.digest_of`). `signature` is the server's, if it signs.
    """

    kind: Literal["person", "service"] = "person"
    issuer: str | None = None
    token_id: str | None = None
    session: str | None = None
    auth_time: int | None = None
    shown: str | None = None
    signature: Signature | None = None


NO_PROOF: Final = Proof()
"""The proof of a person of whom nothing but the name was told."""


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One person's agreement to an answer that several have to agree to; `payload` is JSON."""

    by: str
    at: int
    channel: str
    roles: tuple[str, ...]
    payload: bytes
    proof: Proof = NO_PROOF


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class LateRefusal:
    """A refusal that came after the question had expired: it decides nothing, but is noted."""

    by: str
    at: int
    said: Literal["cancelled", "denied"]
    channel: str


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class SeenOnSession:
    """The session on which a question's frame went out whole, and when: ns since the epoch."""

    session: str
    at: int


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """The end of the call that a question is about, or how far it has come, for people to read.

    `executed`, `failed`; `running` until then; `not_run` for good; `unknown`: it was begun, and
    nobody knows whether it happened. `moment` is when that was so, `ms` how long it ran. `text` is
    the result, the error or the reason, without secrets.
    """

    status: Literal["running", "executed", "failed", "not_run", "unknown"]
    moment: int
    text: str | None = None
    ms: int | None = None


@fast
@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The history of a question beside its answer.

    `votes` are the agreements so far, in order. `roles` are those of the person who gave its one
    answer, `proof` is how that person was known. `denied` are denials in other copies of the
    thread, as JSON objects. `copied`: its thread was copied at this question. `late` are the
    refusals after its expiry, oldest first. `result` is what came of its call.
    """

    votes: tuple[Vote, ...] = ()
    roles: tuple[str, ...] = ()
    denied: tuple[Mapping[str, Any], ...] = ()
    copied: bool = False
    late: tuple[LateRefusal, ...] = ()
    seen: SeenOnSession | None = None
    proof: Proof = NO_PROOF
    result: CallResult | None = None


NO_PROGRESS: Final = Progress()
"""The history of a question that has none."""


def result_members(result: CallResult) -> dict[str, Any]:
    """The members of a result in JSON, its moment (`at`) in ms."""
    members = {"status": result.status, "at": result.moment, "text": result.text, "ms": result.ms}
    return {name: value for name, value in members.items() if value is not None}


def result_of_members(members: Mapping[str, Any]) -> CallResult:
    """The result that says so."""
    return CallResult(
        status=members["status"],
        moment=members["at"],
        text=members.get("text"),
        ms=members.get("ms"),
    )


def proof_members(proof: Proof) -> dict[str, Any] | None:
    """The members of a proof in JSON; None if it says nothing."""
    if proof == NO_PROOF:
        return None
    members = {
        "kind": proof.kind,
        "issuer": proof.issuer,
        "tokenId": proof.token_id,
        "session": proof.session,
        "authTime": proof.auth_time,
        "shown": proof.shown,
        "signature": None
        if (signed := proof.signature) is None
        else {"key": signed.key, "at": signed.signed_at, "value": signed.value},
    }
    return {name: value for name, value in members.items() if value is not None}


def proof_of_members(members: Mapping[str, Any] | None) -> Proof:
    """The proof that says so."""
    if members is None:
        return NO_PROOF
    signature = members.get("signature")
    return Proof(
        kind=members["kind"],
        issuer=members.get("issuer"),
        token_id=members.get("tokenId"),
        session=members.get("session"),
        auth_time=members.get("authTime"),
        shown=members.get("shown"),
        signature=None
        if signature is None
        else Signature(key=signature["key"], signed_at=signature["at"], value=signature["value"]),
    )
