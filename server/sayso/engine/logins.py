"""Sessions of people who sign in here: begun, known again by the id in a browser, ended.

The store has digests alone. Its clock says when a session ends.
"""

import hashlib
import re
import secrets
from collections.abc import Callable
from typing import Any, Final

from sayso.base.progress import proof_members
from sayso.base.records import Principal
from sayso.base.sessions import Session, sessions_by_issuer, sessions_by_subject
from sayso.engine.sign_ins import Revoked
from sayso.turns.services import Services

_SESSION: Final = "session"
_ID: Final = re.compile(r"[A-Za-z0-9_-]{43}")


class Logins:
    """The sessions of people who have signed in here."""

    def __init__(self, services: Services) -> None:
        self._store, self._clock = services.store, services.clock
        self.on_end: Callable[[str], None] = lambda _: None
        """Called with the token id of each session that is ended here."""

    def now(self) -> int:
        """The server's time, in milliseconds since the epoch."""
        return self._clock.now()

    async def begin(self, principal: Principal, *, lifetime: float, idle: float) -> str:
        """Begin a session of somebody, in seconds; returns the id for the browser."""
        session_id = secrets.token_urlsafe(32)
        session = Session(
            digest=_digest(session_id),
            scope=principal.scope,
            subject=principal.subject,
            issuer=principal.issuer or "",
            roles=principal.roles,
            issuer_session=principal.session,
            auth_time=principal.auth_time,
            lifetime=int(lifetime * 1000),
            idle=int(idle * 1000),
        )
        # The row first: nobody is signed in without one.
        await self._note(session, "signed_in", {"roles": list(session.roles)})
        await self._store.add_session(session)
        return session_id

    async def principal(self, session_id: str, issuer: str) -> Principal | None:
        """The person of a session, whom that issuer has vouched for; None if it has ended."""
        if _ID.fullmatch(session_id) is None:
            return None
        session = await self._store.use_session(_digest(session_id))
        return None if session is None or session.issuer != issuer else _principal(session)

    def revoked_or(self, otherwise: Revoked | None) -> Revoked:
        """Make a hook that knows which sessions have ended, and asks another one about the rest.

        A look is no use: whoever only follows does not keep a session from its rest.
        """

        async def revoked(principal: Principal) -> bool:
            kind, _, digest = (principal.token_id or "").partition(":")
            if kind == _SESSION and await self._store.use_session(digest, look=True) is None:
                return True
            return otherwise is not None and await otherwise(principal)

        return revoked

    async def end(self, session_id: str, channel: str = "logout") -> None:
        """End one session, if it has not ended; `channel` says by what."""
        if _ID.fullmatch(session_id) is not None:
            await self._note_ends(await self._store.end_sessions(_digest(session_id)), channel)

    async def end_elsewhere(self, issuer: str, subject: str | None, session: str | None) -> None:
        """End what an issuer has ended: of one of its sessions, else all of a subject."""
        if session is not None:
            ended = await self._store.end_sessions(sessions_by_issuer(issuer, session))
        elif subject is not None:
            ended = await self._store.end_sessions(sessions_by_subject(issuer, subject))
        else:
            ended = ()
        await self._note_ends(ended, "issuer")

    async def _note_ends(self, sessions: tuple[Session, ...], channel: str) -> None:
        for session in sessions:
            self.on_end(_token_id(session))
        for session in sessions:
            await self._note(session, "signed_out", {"channel": channel})

    async def _note(self, session: Session, kind: str, more: dict[str, Any]) -> None:
        proof = proof_members(_principal(session).proof)
        event = (kind, {"by": session.subject, **more, "proof": proof})
        await self._store.note(session.scope, [event], self._clock.now())


def _principal(session: Session) -> Principal:
    return Principal(
        subject=session.subject,
        scope=session.scope,
        roles=session.roles,
        expires_at=session.expires_at,
        auth_time=session.auth_time,
        issuer=session.issuer,
        token_id=_token_id(session),
        session=session.issuer_session,
    )


def _token_id(session: Session) -> str:
    return f"{_SESSION}:{session.digest}"


def _digest(session_id: str) -> str:
    return hashlib.sha256(session_id.encode("ascii")).hexdigest()
