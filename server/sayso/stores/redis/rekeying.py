"""The texts of a Redis database under another key, some in each round."""

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

from sayso.stores.redis import checkpoints
from sayso.stores.redis.client import RedisClient, Script
from sayso.stores.redis.keys import ScopeKeys, ThreadKeys
from sayso.stores.redis.rows import APPROVALS, ENTRIES, INTERRUPTS, MESSAGES, RUNS, TURNS, Packing
from sayso.stores.rekeying import Rekeyed, Rekeying
from sayso.stores.sealing import INTERRUPT_TEXTS
from sayso.stores.service_tokens import COLUMN

_REKEY = Script("rekey")
_KEYS = 100
_TOGETHER = 100
"""Values that are written by one script."""

_NAME = re.compile(r"sayso(-audit)?:\{([^}]*)\}:([a-z_]+)(?::(.*))?", re.DOTALL)
_PACKED: dict[str, tuple[Packing[Any], str, tuple[str, ...]]] = {
    "turns": (TURNS, "turn", ("request",)),
    "runs": (RUNS, "run", ("outcome",)),
    "messages": (MESSAGES, "message", ("body",)),
    "journal": (ENTRIES, "entry", ("fingerprint", "data")),
    "interrupts": (INTERRUPTS, "interrupt", INTERRUPT_TEXTS),
    "approvals": (APPROVALS, "approval", ("pattern", "terms")),
}
"""Hashes whose values are records, and the members of these that are encrypted."""
_THREAD = {b"state": "state.body", b"kept": "kept.body", b"hold": "thread.hold"}

_SERVICES: Final = "service_tokens"

_Change = tuple[bytes, bytes, bytes]
"""A field, what was read of it, and what it is to be."""


async def rekey(link: RedisClient, work: Rekeying, after: str | None) -> Rekeyed:
    """Do one batch, behind the place where the one before has ended."""
    reply = await link.one("SCAN", after or "0", "MATCH", "sayso*", "COUNT", _KEYS, "TYPE", "hash")
    place, names = reply
    for name in names:
        parts = _NAME.fullmatch(name.decode())
        if parts is not None:
            trail, tag, kind, rest = parts.groups()
            keys = ScopeKeys("" if tag == "%" else unquote(tag)).thread(rest or "")
            await _hash(link, work, name.decode(), f"{trail or ''}{kind}", keys)
    work.batch.next = None if place == b"0" else place.decode()
    return work.batch


async def _hash(link: RedisClient, work: Rekeying, name: str, kind: str, keys: ThreadKeys) -> None:
    """Write one hash anew, and once more what has changed meanwhile."""
    if kind not in (*_PACKED, "thread", "secrets", _SERVICES, "-auditsaid"):
        return
    uncounted = ("-auditsaid", "approvals", "secrets", _SERVICES)
    usage, counted = keys.scope.of("usage"), int(kind not in uncounted)
    for last in (False, False, True):
        attempt = work.attempt()
        flat = await link.one("HGETALL", name)
        fields = zip(flat[0::2], flat[1::2], strict=True)
        changes = list(_changes(attempt, kind, keys, fields))
        missed = 0
        for begin in range(0, len(changes), _TOGETHER):
            some = changes[begin : begin + _TOGETHER]
            arguments = [counted, *(part for change in some for part in change)]
            missed += await link.run(_REKEY, [name, keys.of("thread"), usage], arguments)
        if not missed or last:
            work.batch.add(attempt.batch)
            break
    if kind == "thread" and changes:
        await _forget_checkpoint(link, keys)


async def _forget_checkpoint(link: RedisClient, keys: ThreadKeys) -> None:
    """Take away what is shown to others of a thread: it would stay in clear."""
    if await link.one("HEXISTS", keys.of("thread"), "checkpoint"):
        await link.one("DEL", checkpoints.key_of(keys))


def _changes(
    work: Rekeying, kind: str, keys: ThreadKeys, fields: Iterator[tuple[bytes, bytes]]
) -> Iterator[_Change]:
    scope, thread_id = keys.scope.scope, keys.id
    for name, value in fields:
        if kind == "thread" and name in _THREAD:
            fresh = work.renewed(scope, thread_id, "", (_THREAD[name],), (value,))
        elif kind == "-auditsaid":
            fresh = work.renewed(scope, thread_id, name.decode(), ("audit.content",), (value,))
        elif kind == "secrets":
            fresh = work.renewed(scope, thread_id, name.decode(), ("secret.body",), (value,))
        elif kind == _SERVICES:
            texts = work.renewed(scope, "", name.decode(), (COLUMN,), (value.decode(),))
            fresh = None if texts is None else [texts[0].encode()]
        elif kind in _PACKED:
            packed = _record(work, kind, keys, name.decode(), value)
            fresh = None if packed is None else [packed]
        else:
            fresh = None
        if fresh is not None:
            yield name, value, fresh[0]


def _record(work: Rekeying, kind: str, keys: ThreadKeys, name: str, value: bytes) -> bytes | None:
    packing, table, texts = _PACKED[kind]
    begin = _begin(kind, value)
    values = packing.unpack_values(value, begin)
    members = dict(zip(packing.names, values, strict=False))
    row, thread_id = name, keys.id
    if kind == "journal":
        length, _, rest = name.partition(":")
        turn_key = rest.encode()[: int(length)].decode()
        row = f"{turn_key}\0{members['place']}"
    elif kind == "approvals":
        row = "\0".join((members["id"], members["owner"], members["tool"]))
        thread_id = members["thread_id"] or ""
    columns = [f"{table}.{text}" for text in texts]
    fresh = work.renewed(
        keys.scope.scope, thread_id, row, columns, [members.get(text) for text in texts]
    )
    if fresh is None:
        return None
    members |= dict(zip(texts, fresh, strict=True))
    # What an older version wrote has no members that came later.
    kept = [members[member] for member in packing.names[: len(values)]]
    return value[:begin] + packing.pack_values(kept)


def _begin(kind: str, value: bytes) -> int:
    """Where the record begins in a value."""
    if kind == "runs":
        digits = value.index(b":", 17)
        return digits + 1 + int(value[17:digits])
    if kind == "interrupts":
        return value.index(b"\n") + 1
    return {"messages": 17, "journal": 16, "approvals": 36}.get(kind, 0)
