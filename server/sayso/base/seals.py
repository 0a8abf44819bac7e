"""Seals: the newest digests of many threads, linked under a key that the store does not have.

A thread's audit rows seal each other, so a changed one shows; but whoever may write the store could
compute a whole new chain. A seal holds each thread's newest digest and an HMAC-SHA-256 of itself
with the seal before it: without the key none can be made, taken out or changed (design 7). Seals
cannot show that the newest of them are missing: keep them where nothing is deleted.
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
"""The MAC before the first seal."""


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a thread's audit trail: the number and the digest of its newest row."""

    thread_id: str
    number: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """The heads of a scope at a time, in milliseconds since the epoch.

    `heads` are those of threads with rows that no earlier seal covers. `after` is the start of the
    last page of rows that it read, None for the beginning.
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
    now: int,
    scope: str,
    after: str | None,
    heads: Sequence[Head],
) -> Seal:
    """Make the seal that follows another, or the first."""
    number = 1 if before is None else before.number + 1
    bare = Seal(number=number, at=now, scope=scope, after=after, heads=tuple(heads), mac="")
    mac = _mac(key, NO_SEAL if before is None else before.mac, bare)
    return Seal(number=number, at=now, scope=scope, after=after, heads=bare.heads, mac=mac)


def find_forged(key: bytes, seals: Iterable[Seal]) -> int | None:
    """The place, from 1, of the first seal that this key did not make or that is out of order.

    None: all are as they were written, in order.
    """
    before = NO_SEAL
    for place, seal in enumerate(seals, 1):
        if seal.number != place or not hmac.compare_digest(seal.mac, _mac(key, before, seal)):
            return place
        before = seal.mac
    return None


def latest(seals: Iterable[Seal]) -> dict[str, Head]:
    """The head of each thread in the newest seal that names it."""
    return {head.thread_id: head for seal in seals for head in seal.heads}


def to_line(seal: Seal) -> bytes:
    """A seal as a line of JSON, without its end."""
    return jsonvalue.encode({**_members(seal), "mac": seal.mac})


def from_line(line: bytes) -> Seal:
    """Read a seal from its line.

    Raises:
        ValueError: the line is not a seal.
    """
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
        raise ValueError(f"this is not a seal: {error!r}") from None


def _members(seal: Seal) -> dict[str, Any]:
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
    text = jsonvalue.canonical({**_members(seal), "before": before})
    return hmac.new(key, text, "sha256").hexdigest()
