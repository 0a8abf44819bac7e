"""Sessions of people and tokens of services in Redis, which say nothing of their scope.

A session has a key, which goes by itself, and a sorted set for each name. Tokens are a hash of each
scope by their ids, with a key that leads to each. That is written first: one that leads to nothing
means nothing.
"""

from collections.abc import Iterable
from dataclasses import replace

from sayso.base import jsonvalue
from sayso.base.clock import Clock
from sayso.base.errors import Conflict
from sayso.base.service_tokens import ServiceToken
from sayso.base.sessions import Session
from sayso.stores import service_tokens
from sayso.stores.redis.client import RedisClient, Script
from sayso.stores.redis.keys import (
    ScopeKeys,
    service_token_key,
    session_key,
    session_names_key,
    session_step_key,
)
from sayso.stores.redis.lists import server_time
from sayso.stores.sealing import Seals
from sayso.stores.sessions import KeptSession, begun, from_text, to_text, used

_USE = Script("session_use")
_END = Script("session_end")


async def add(link: RedisClient, clock: Clock | None, seals: Seals, session: Session) -> None:
    """Keep a session, and forget by its names what has ended."""
    now = await server_time(link, clock)
    kept = begun(session, now)
    digest, *names = session.names
    commands: list[tuple[object, ...]] = [
        ("SET", session_key(digest), to_text(kept, seals), "PX", kept.ends_at - now, "NX")
    ]
    for key in [session_names_key(name) for name in names if name is not None]:
        commands.append(("ZREMRANGEBYSCORE", key, "-inf", now))
        commands.append(("ZADD", key, kept.session.expires_at, digest))
        commands.append(("PEXPIRE", key, session.lifetime))
    await link.at_once(commands)


async def use(
    link: RedisClient, clock: Clock | None, seals: Seals, digest: str, *, look: bool
) -> Session | None:
    """Read a session that has not ended, and note its use if it is time."""
    key = session_key(digest)
    value = await link.one("GET", key)
    if value is None:
        return None
    kept, now = from_text(value, digest, seals), await server_time(link, clock)
    after = None if kept is None else used(kept, now)
    if after is not None and after is not kept and not look:
        await link.run(_USE, [key], [value, to_text(after, seals), after.ends_at - now])
    return None if after is None else after.session


async def of_name(
    link: RedisClient, clock: Clock | None, seals: Seals, name: str
) -> tuple[Session, ...]:
    """Read the sessions of a name, which may be the digest of one."""
    now, named = await server_time(link, clock), await _named(link, seals, name)
    return _alive(named.values(), now)


async def end(
    link: RedisClient, clock: Clock | None, seals: Seals, token: str, name: str
) -> tuple[Session, ...]:
    """End the sessions of a name, which may be the digest of one."""
    now = await server_time(link, clock)
    named = [*await _named(link, seals, name)]
    keys = [session_step_key(token), *map(session_key, named)]
    outcome: bytes = await link.run(_END, keys, named)
    lines = (line.partition(b" ") for line in outcome.splitlines())
    return _alive([from_text(text, digest.decode(), seals) for digest, _, text in lines], now)


async def _named(link: RedisClient, seals: Seals, name: str) -> dict[str, KeptSession | None]:
    """The sessions of a name by their digests; None for one that does not open.

    A digest may stand under a name that its session does not have: of one before, or refused.
    """
    listed = await link.one("ZRANGE", session_names_key(name), 0, -1)
    digests = list(dict.fromkeys([name, *map(_text, listed)]))
    values = await link.one("MGET", *map(session_key, digests))
    kept = {
        digest: from_text(value, digest, seals)
        for digest, value in zip(digests, values, strict=True)
        if value is not None
    }
    return {digest: session for digest, session in kept.items() if _has(session, name)}


def _alive(kept: Iterable[KeptSession | None], now: int) -> tuple[Session, ...]:
    alive = [item.session for item in kept if item is not None and item.ends_at > now]
    return tuple(sorted(alive, key=lambda session: session.digest))


def _has(kept: KeptSession | None, name: str) -> bool:
    """True if a session has a name, or says none that can be read."""
    return kept is None or name in kept.session.names


def _text(data: bytes) -> str:
    return data.decode()


Change = tuple[str, bytes | str, bytes]
"""An id, what was read under it, and what it is to be."""


async def find_token(link: RedisClient, digest: str) -> ServiceToken | None:
    """Read one by its digest."""
    leads = await link.one("GET", service_token_key(digest))
    if leads is None:
        return None
    scope, token_id = jsonvalue.decode(leads)
    value = await link.one("HGET", ScopeKeys(scope).of("service_tokens"), token_id)
    if value is None:
        return None
    return service_tokens.of_digest(
        lambda: service_tokens.from_text(value, scope, token_id, link.seals), digest
    )


async def tokens_of(link: RedisClient, keys: ScopeKeys) -> tuple[ServiceToken, ...]:
    """Read all of a scope."""
    flat = await link.one("HGETALL", keys.of("service_tokens"))

    def make(field: tuple[bytes, bytes]) -> ServiceToken:
        name, value = field
        return service_tokens.from_text(value, keys.scope, name.decode(), link.seals)

    return service_tokens.in_order(make, zip(flat[0::2], flat[1::2], strict=True))


async def added_token(link: RedisClient, token: ServiceToken) -> Change:
    """Make the change of adding a token; the key that leads to it is written."""
    if await find_token(link, token.digest) is not None:
        raise Conflict(f"service token {token.id!r} is there already")
    leads = jsonvalue.encode([token.scope, token.id])
    body = service_tokens.to_text(token, link.seals)
    await link.one("SET", service_token_key(token.digest), leads)
    return token.id, "", body


async def revoked_token(
    link: RedisClient, keys: ScopeKeys, token_id: str, by: str, now: int
) -> tuple[ServiceToken, Change]:
    """A token as it is revoked, and what that changes."""
    value = await link.one("HGET", keys.of("service_tokens"), token_id)
    token = (
        None if value is None else service_tokens.from_text(value, keys.scope, token_id, link.seals)
    )
    if token is None or token.revoked_at is not None:
        raise Conflict(f"service token {token_id!r} is unknown, or revoked already")
    after = replace(token, revoked_at=now, revoked_by=by)
    return after, (token_id, value, service_tokens.to_text(after, link.seals))
