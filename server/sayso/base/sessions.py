"""Sessions of people who have signed in on the server, as stores keep them. Pure.

A store never sees the id that a browser holds, only its digest: whoever reads the store can be
nobody with it.
"""

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One sign-in of one person; `digest` is the SHA-256 of the id in the browser, in hex.

    `issuer` is who vouched for the person, `issuer_session` its own name for the session. It ends
    `lifetime` ms after it began, and once it was not used for `idle` ms. `expires_at` is the end of
    its lifetime by the store's clock: the store fills it in.
    """

    digest: str
    scope: str
    subject: str
    issuer: str
    roles: tuple[str, ...] = ()
    issuer_session: str | None = None
    auth_time: int | None = None
    lifetime: int
    idle: int
    expires_at: int = 0

    @property
    def names(self) -> tuple[str, str, str, str | None]:
        """The names that it can be ended by, each as `Store.end_sessions` takes it."""
        by_issuer = self.issuer_session
        return (
            self.digest,
            sessions_of(self.scope, self.subject),
            sessions_by_subject(self.issuer, self.subject),
            None if by_issuer is None else sessions_by_issuer(self.issuer, by_issuer),
        )


def sessions_of(scope: str, subject: str) -> str:
    """Name all sessions of a person here."""
    return _digest("person", scope, subject)


def sessions_by_subject(issuer: str, subject: str) -> str:
    """Name all sessions of a person whom an issuer has vouched for."""
    return _digest("subject", issuer, subject)


def sessions_by_issuer(issuer: str, session: str) -> str:
    """Name the sessions that an issuer has under one name of its own (`sid`)."""
    return _digest("session", issuer, session)


def _digest(*parts: str) -> str:
    encoded = [part.encode() for part in parts]
    return hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in encoded)).hexdigest()
