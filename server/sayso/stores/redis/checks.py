"""Checks, as a store opens, that a Redis or Valkey server can keep decisions."""

import logging
from collections.abc import Mapping
from typing import Any

from sayso.base.errors import StoreUnavailable
from sayso.stores.redis.client import RedisClient
from sayso.stores.redis.keys import LAYOUT
from sayso.stores.redis.server import REMEDIES

_log = logging.getLogger("sayso.store")

VERSION = 3
"""The newest layout of keys that this code knows."""
_READER = 3
"""The oldest layout whose code still works beside what this one writes."""
_OLDEST = (6, 2)

_REFUSED = "; or accept that loss with ?durability=relaxed at the end of the store's URL"


async def prepare(link: RedisClient, *, relaxed: bool, checkpoints: bool) -> None:
    """Raise `StoreUnavailable` for a server that cannot keep what it acknowledges.

    `relaxed`: one that may lose the newest of it in a crash is only warned of.
    """
    info = _members(await link.one("INFO"))
    _check(info, "?" if info.get("aof_enabled") == "0" else await _appends(link), relaxed)
    if info.get("cluster_enabled") == "1":
        if checkpoints:
            raise StoreUnavailable(
                "Redis is a cluster, which cannot write checkpoint:{session_id} in one step with "
                "its thread; leave checkpoints out of the store's URL, or use a server without "
                "cluster-enabled"
            )
        nodes = _members(await link.one("CLUSTER", "INFO"))
        if int(nodes.get("cluster_size", "1")) > 1:
            raise StoreUnavailable(f"Redis {REMEDIES['MOVED']}")
    await link.one("SET", LAYOUT, f"{VERSION} {_READER}", "NX")
    version, _, reader = (await link.one("GET", LAYOUT)).decode().partition(" ")
    if int(version) < _READER:
        raise StoreUnavailable(
            f"the Redis database has layout {version}, of a sayso of before the first "
            "release, which this one does not read; empty it (FLUSHDB), or name another database"
        )
    if int(reader or version) > VERSION:
        raise StoreUnavailable(
            f"the Redis database has layout {version}, which needs a newer version of sayso "
            f"(this one knows layout {VERSION}); upgrade sayso or name another database"
        )


def _members(text: bytes) -> dict[str, str]:
    lines = (line.partition(":") for line in text.decode().splitlines())
    return {name: value for name, colon, value in lines if colon}


async def _appends(link: RedisClient) -> str | None:
    """When the server writes its file to the disk; None if it does not tell, as hosted ones."""
    try:
        found: list[Any] = await link.one("CONFIG", "GET", "appendfsync")
    except StoreUnavailable:
        return None
    return found[1].decode() if len(found) > 1 else None


def _check(info: Mapping[str, str], appends: str | None, relaxed: bool) -> None:
    version = info.get("redis_version", "0.0")
    known = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if known < _OLDEST:
        raise StoreUnavailable(f"Redis {version} is too old; use 6.2 or newer, or Valkey")
    if info.get("role") in ("slave", "replica"):
        raise StoreUnavailable(f"Redis {REMEDIES['READONLY']}")
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        raise StoreUnavailable(
            f"Redis drops keys when its memory is full (maxmemory-policy {policy}), and decisions "
            "with them; run CONFIG SET maxmemory-policy noeviction, keep it with CONFIG REWRITE, "
            "and give caches a server of their own"
        )
    loss = _loss(info, appends)
    if loss is None:
        return
    if relaxed:
        _log.warning("%s", loss)
    elif appends is None:
        _log.warning("Redis does not tell its settings: %s", loss)
    else:
        raise StoreUnavailable(loss + _REFUSED)


def _loss(info: Mapping[str, str], appends: str | None) -> str | None:
    """Say what may be lost after it was acknowledged, and the mend; None if nothing may."""
    if info.get("aof_enabled") == "0":
        return (
            "Redis keeps no append-only file, so a restart loses decisions that people have made; "
            "run CONFIG SET appendonly yes and CONFIG SET appendfsync always, and keep both with "
            "CONFIG REWRITE"
        )
    if appends != "always":
        return (
            f"Redis writes its file to the disk with appendfsync {appends or 'unknown'}, so a "
            "crash of the machine may lose the newest decisions; run CONFIG SET appendfsync "
            "always, and keep it with CONFIG REWRITE"
        )
    return None
