"""Seals: the newest digests of many threads, linked under a key that the store does not have.

A thread's audit rows seal each other, so one that was changed shows; but who may write the store
could compute a whole chain anew. A seal holds each thread's newest digest and an HMAC-SHA-256 of
itself with the seal before it: without the key none can be made, taken out or changed (design 7).
What it cannot tell is that the newest of them are missing: keep them where nothing is deleted.
"""

import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sayso.base import jsonvalue
from sayso.base.clock import format_time, parse_time

MIN_KEY_BYTES = 32
"""Bytes of a key: as many as the digest has."""
NO_SEAL = "0" * 64
"""What stands for the seal before the first."""


@dataclass(frozen=True, slots=True)
class Head:
    """How far a thread's audit trail had come: the number of its newest row, and its digest."""

    thread_id: str
    number: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """The heads of a scope at a time, in milliseconds since the epoch.

    `heads` are those of threads with rows that no seal before knew of. `after` is where the last
    page of rows that it looked at began, None for the beginning.
    """

    number: int
    at: int
    scope: str
    after: str | None
    heads: tuple[Head, ...]
    mac: str


def new_seal(
    key: bytes,
    before: Seal | None,
    *,
    at: int,
    scope: str,
    after: str | None,
    heads: Sequence[Head],
) -> Seal:
    """The seal that follows another, or the first."""
    number = 1 if before is None else before.number + 1
    bare = Seal(number=number, at=at, scope=scope, after=after, heads=tuple(heads), mac="")
    mac = _mac(key, NO_SEAL if before is None else before.mac, bare)
    return Seal(number=number, at=at, scope=scope, after=after, heads=bare.heads, mac=mac)


def find_forged(key: bytes, seals: Iterable[Seal]) -> int | None:
    """The place, counted from 1, of the first that this key has not made or that is out of place.

    None: all are what was written, one behind the other.
    """
    before = NO_SEAL
    for place, seal in enumerate(seals, 1):
        if seal.number != place or not hmac.compare_digest(seal.mac, _mac(key, before, seal)):
            return place
        before = seal.mac
    return None


def latest(seals: Iterable[Seal]) -> dict[str, Head]:
    """How far each thread had come by the newest seal that names it."""
    return {head.thread_id: head for seal in seals for head in seal.heads}


def to_line(seal: Seal) -> bytes:
    """A seal as a line of JSON, without its end."""
    return jsonvalue.encode({**_told(seal), "mac": seal.mac})


def from_line(line: bytes) -> Seal:
    """A seal from its line; ValueError for anything else."""
    try:
        members: Mapping[str, Any] = jsonvalue.decode(line)
        return Seal(
            number=int(members["number"]),
            at=parse_time(members["at"]),
            scope=str(members["scope"]),
            after=members["after"],
            heads=tuple(
                Head(str(head["threadId"]), int(head["number"]), str(head["digest"]))
                for head in members["heads"]
            ),
            mac=str(members["mac"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this is no seal: {error!r}") from None


def _told(seal: Seal) -> dict[str, Any]:
    return {
        "number": seal.number,
        "at": format_time(seal.at),
        "scope": seal.scope,
        "after": seal.after,
        "heads": [
            {"threadId": head.thread_id, "number": head.number, "digest": head.digest}
            for head in seal.heads
        ],
    }


def _mac(key: bytes, before: str, seal: Seal) -> str:
    text = jsonvalue.canonical({**_told(seal), "before": before})
    return hmac.new(key, text, "sha256").hexdigest()
