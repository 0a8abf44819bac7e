"""Services that call with a token of this server: added, known again, revoked.

What the store has said about a token counts for some seconds, so that not each request asks it.
"""

import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from sayso.base import ids
from sayso.base.records import Principal
from sayso.base.service_tokens import ServiceToken, digest_of, new_token, role_of_tools, subject_of
from sayso.turns.services import Services

_log = logging.getLogger("sayso.auth")
ISSUER: Final = "sayso/service"
"""The issuer of a service that is known by a token of this server."""
KNOWN_S: Final = 10.0
"""Seconds for which the word of the store counts."""
_MAX_KNOWN: Final = 10_000


class ServiceTokens:
    """The tokens of a store; each call of `add`, `all` and `revoke` is of one scope."""

    def __init__(self, services: Services) -> None:
        self._store, self._clock = services.store, services.clock
        self._known: OrderedDict[str, tuple[float, ServiceToken | None]] = OrderedDict()

    async def add(
        self,
        scope: str,
        name: str,
        *,
        roles: Sequence[str] = (),
        tools: Sequence[str] | None = None,
        seconds: float | None = None,
        by: str,
    ) -> tuple[str, ServiceToken]:
        """Make a token for a service; the first of the two is kept nowhere here."""
        text, now = new_token(), self._clock.now()
        token = ServiceToken(
            id=ids.new("svc"),
            scope=scope,
            name=name,
            digest=digest_of(text),
            roles=tuple(roles),
            tools=None if tools is None else tuple(tools),
            added_by=by,
            added_at=now,
            expires_at=None if seconds is None else now + int(seconds * 1000),
        )
        await self._store.add_service_token(token)
        _log.info("%r added token %s of service %r", by, token.id, name)
        return text, token

    async def all(self, scope: str) -> tuple[ServiceToken, ...]:
        """All that there ever were in a scope, the oldest first."""
        return await self._store.service_tokens(scope)

    async def revoke(self, scope: str, name: str, *, by: str) -> tuple[ServiceToken, ...]:
        """Revoke a token by its id, or all of a service by its name; those that counted."""
        now = self._clock.now()
        tokens = [
            token
            for token in await self.all(scope)
            if name in (token.id, token.name) and token.counts(now)
        ]
        for token in tokens:
            await self._store.revoke_service_token(scope, token.id, by, now)
            _log.info("%r revoked token %s of service %r", by, token.id, token.name)
        return tuple(tokens)

    async def principal(self, text: str) -> Principal | None:
        """The service that a token is of; None if it counts no more, or never did.

        Tokens are looked up by their digest, so that the time of a comparison tells nothing.
        """
        token = await self._look(digest_of(text))
        if token is None or not token.counts(self._clock.now()):
            return None
        limits = () if token.tools is None else (role_of_tools(token.tools),)
        return Principal(
            subject=subject_of(token.name),
            scope=token.scope,
            roles=(*token.roles, *limits),
            kind="service",
            expires_at=token.expires_at,
            issuer=ISSUER,
            token_id=token.id,
        )

    async def counts(self, principal: Principal) -> bool:
        """True unless this is a service whose token was revoked."""
        if principal.issuer != ISSUER:
            return True
        now = self._clock.now()
        tokens = await self.all(principal.scope)
        return any(token.id == principal.token_id and token.counts(now) for token in tokens)

    async def _look(self, digest: str) -> ServiceToken | None:
        now = self._clock.monotonic()
        looked_at, token = self._known.get(digest, (now - KNOWN_S, None))
        if now - looked_at < KNOWN_S:
            return token
        token = await self._store.service_token(digest)
        if token is not None:  # strangers fill no memory
            self._known[digest] = (now, token)
            self._known.move_to_end(digest)
            if len(self._known) > _MAX_KNOWN:
                self._known.popitem(last=False)
        return token
