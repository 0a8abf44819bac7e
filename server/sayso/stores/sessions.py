"""Sessions as every store keeps them: when they end, and their text, which a codec seals.

Each is sealed for its own digest: who may write rows can sign nobody in, and give nobody a role.
"""

import logging
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from sayso.base import jsonvalue
from sayso.base.errors import StoreUnavailable
from sayso.base.sessions import Session
from sayso.stores.sealing import Seals

_log = logging.getLogger("sayso.store")

_COLUMN: Final = "session.body"

_UNNOTED: Final = 20
"""The part of its idle time for which a use is not noted, so that not every request writes."""


@dataclass(frozen=True, slots=True)
class KeptSession:
    """A session, and when it ends unless it is used before."""

    session: Session
    ends_at: int


def begun(session: Session, now: int) -> KeptSession:
    """Make what is kept of a session that begins now."""
    whole = replace(session, expires_at=now + session.lifetime)
    return KeptSession(whole, min(whole.expires_at, now + session.idle))


def used(kept: KeptSession, now: int) -> KeptSession | None:
    """A session once it is used: the same one if that need not be noted, None if it has ended."""
    session = kept.session
    if kept.ends_at <= now:
        return None
    ends_at = min(session.expires_at, now + session.idle)
    is_noted = ends_at - kept.ends_at >= session.idle / _UNNOTED
    return KeptSession(session, ends_at) if is_noted else kept


def to_text(kept: KeptSession, seals: Seals) -> bytes:
    """A session as it is kept: one line."""
    members = {field.name: getattr(kept.session, field.name) for field in fields(Session)}
    line = jsonvalue.encode(members | {"ends_at": kept.ends_at}).decode()
    return seals.into("", "").one(_COLUMN, kept.session.digest, line).encode()


def from_text(text: bytes, digest: str, seals: Seals) -> KeptSession | None:
    """The session that is kept under a digest; None for what does not open, as the log says."""
    try:
        line = seals.out_of("", "").one(_COLUMN, digest, text.decode())
    except StoreUnavailable as error:
        _log.warning("a sign-in counts no longer: %s", error)
        return None
    members: dict[str, Any] = jsonvalue.decode(line.encode())
    ends_at = members.pop("ends_at")
    return KeptSession(Session(**(members | {"roles": tuple(members["roles"])})), ends_at)
