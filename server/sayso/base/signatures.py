"""The statement that is signed: a word of a person to a question, as rows tell of it. Pure.

Made before the step that writes the row, so it says nothing of the row's place; the chain does.
People are in it by their ids, so that one who is forgotten makes no signature false.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from sayso.base import jsonvalue
from sayso.base.progress import Signature

Verdict = Literal["valid", "invalid", "unknown", "unsigned"]
"""`unknown`: nobody has the key, so nobody can say."""

DECISIONS: Final = ("resolved", "cancelled", "held", "agreed")
"""Kinds of rows that tell of a person's word."""
_MEMBERS: Final = ("payload", "metadata", "by", "channel")


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that checks signatures; `since` is when it began to sign, in ms, if that is told.

    `pem` is its SubjectPublicKeyInfo.
    """

    id: str
    pem: str
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """A word of one person: `kind` is `resolved` or `cancelled`, `content` what it was."""

    interrupt_id: str
    kind: str
    content: Mapping[str, Any]
    signature: Signature | None = None

    @property
    def by(self) -> str:
        """The person, by the id that rows have."""
        return str(self.content.get("by"))

    @property
    def decides(self) -> bool:
        """True if it answers the question: a stop cancels without a signature."""
        return self.kind == "resolved"

    def statement(self, scope: str, thread_id: str, signed_at: int) -> bytes:
        """The bytes that are signed; `signed_at` is in milliseconds since the epoch.

        Each part has its length in bytes before it.
        """
        parts = (
            b"sayso-signature-1",
            *(
                _utf8(text)
                for text in (scope, thread_id, self.interrupt_id, self.kind, str(signed_at))
            ),
            jsonvalue.canonical(self.content),
        )
        return b"".join(b"%d:%b" % (len(part), part) for part in parts)


def words_of(kind: str, content: Mapping[str, Any]) -> Iterator[Word]:
    """The words that a row tells of. What nobody said (an expiry, a rule) is none."""
    name = content.get("interruptId")
    if not isinstance(name, str):
        return
    if kind in ("resolved", "cancelled") and content.get("by") is not None:
        yield _word(name, kind, content)
    elif kind == "held" and isinstance(answer := content.get("answer"), Mapping):
        yield _word(name, str(answer.get("status")), answer)
    elif kind in ("agreed", "withdrawn") and isinstance(votes := content.get("agreed"), list):
        for vote in votes:
            if isinstance(vote, Mapping):
                yield _word(name, "resolved", vote)


def _word(interrupt_id: str, kind: str, said: Mapping[str, Any]) -> Word:
    content = {name: said[name] for name in _MEMBERS if said.get(name) is not None}
    if said.get("roles"):
        content["roles"] = list(said["roles"])
    proof = said.get("proof")
    signature = None
    if isinstance(proof, Mapping):
        signature = signature_of(proof.get("signature"))
        content["proof"] = {key: value for key, value in proof.items() if key != "signature"}
    return Word(interrupt_id, kind, content, signature)


def signature_of(members: Any) -> Signature | None:
    """Read a signature; None for what is none."""
    if not isinstance(members, Mapping):
        return None
    key, signed_at, value = (members.get(name) for name in ("key", "at", "value"))
    if isinstance(key, str) and type(signed_at) is int and isinstance(value, str):
        return Signature(key=key, signed_at=signed_at, value=value)
    return None


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
