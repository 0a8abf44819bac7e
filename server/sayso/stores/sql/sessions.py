"""Sessions of people and tokens of services in an SQL store, within a transaction."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from sayso.base.audit import rows_of_service
from sayso.base.errors import Conflict
from sayso.base.service_tokens import ServiceToken
from sayso.base.sessions import Session
from sayso.stores import service_tokens
from sayso.stores.rekeying import Rekeying
from sayso.stores.sessions import KeptSession, begun, from_text, to_text, used
from sayso.stores.sql import audit
from sayso.stores.sql.session import Row, Transaction


def add(db: Transaction, session: Session) -> None:
    """Keep a session, and forget those that have ended."""
    kept = begun(session, now := db.now())
    db.do("forget_ended_sessions", (now,))
    db.do("add_session", (*session.names, kept.ends_at, to_text(kept, db.seals)))


def use(db: Transaction, digest: str) -> tuple[Session | None, bool]:
    """Read a session that has not ended; and whether its use is to be noted."""
    kept = _kept(db, digest)
    after = None if kept is None else used(kept, db.now())
    return None if after is None else after.session, after is not None and after is not kept


def note_use(db: Transaction, digest: str) -> None:
    """Note that a session is used now, if it is still there."""
    kept = _kept(db, digest)
    after = None if kept is None else used(kept, db.now())
    if after is not None:
        body = to_text(after, db.seals)
        db.do("prolong_session", {"digest": digest, "ends_at": after.ends_at, "body": body})


def of_name(db: Transaction, name: str) -> tuple[Session, ...]:
    """Read the sessions of a name."""
    return _alive(db, db.all("read_sessions", (name,)))


def end(db: Transaction, name: str) -> tuple[Session, ...]:
    """End the sessions of a name."""
    return _alive(db, db.all("end_sessions", (name,)))


def _alive(db: Transaction, rows: Sequence[Row]) -> tuple[Session, ...]:
    now, kept = db.now(), [from_text(body, digest, db.seals) for digest, body in rows]
    alive = [item.session for item in kept if item is not None and item.ends_at > now]
    return tuple(sorted(alive, key=_digest))


def _kept(db: Transaction, digest: str) -> KeptSession | None:
    row = db.one("read_session", (digest,))
    return None if row is None else from_text(row[0], digest, db.seals)


def _digest(session: Session) -> str:
    return session.digest


def add_token(db: Transaction, token: ServiceToken) -> None:
    """Keep a token of a service."""
    body = service_tokens.to_text(token, db.seals)
    if db.one("add_service_token", (token.digest, token.scope, token.id, body)) is None:
        raise Conflict(f"service token {token.id!r} is there already")
    audit.note(db, token.scope, [rows_of_service(token)], token.added_at)


def find_token(db: Transaction, digest: str) -> ServiceToken | None:
    """Read a token by its digest."""
    row = db.one("find_service_token", (digest,))
    return None if row is None else service_tokens.of_digest(partial(_token, db, row), digest)


def tokens_of(db: Transaction, scope: str) -> tuple[ServiceToken, ...]:
    """Read all tokens of a scope."""
    return service_tokens.in_order(partial(_token, db), db.all("read_service_tokens", (scope,)))


def revoke_token(db: Transaction, scope: str, token_id: str, by: str, now: int) -> None:
    """Revoke a token."""
    row = db.one("revoke_service_token", {"now": now, "by": by, "scope": scope, "id": token_id})
    if row is None:
        raise Conflict(f"service token {token_id!r} is unknown, or revoked already")
    token = _token(db, row)
    # Its text says so too: taking the mark away from the row gives nobody a token back.
    db.do("rekey_service_token", (service_tokens.to_text(token, db.seals), token.digest))
    audit.note(db, scope, [rows_of_service(token)], now)


def rekey_tokens(db: Transaction, work: Rekeying) -> None:
    """Bring tokens of services under another key; there are few."""
    for digest, scope, token_id, body in db.all("all_service_tokens", ()):
        text = work.renewed(scope, "", token_id, (service_tokens.COLUMN,), (body.decode(),))
        if text is not None:
            db.do("rekey_service_token", (text[0].encode(), digest))


def _token(db: Transaction, row: Row) -> ServiceToken:
    scope, token_id, body, revoked_at, revoked_by = row
    token = service_tokens.from_text(body, scope, token_id, db.seals)
    if token.revoked_at is not None or revoked_at is None:
        return token
    return replace(token, revoked_at=revoked_at, revoked_by=revoked_by)
