"""Values that are kept apart in an SQL store, within a transaction."""

from sayso.base.audit import NO_THREAD
from sayso.base.secretvalues import SecretValue, check_kept
from sayso.stores.rekeying import REKEYED_ROWS, Rekeying
from sayso.stores.secrets import KEY_ID, new_key
from sayso.stores.sql.session import Transaction
from sayso.stores.step import Writes


def read(db: Transaction, scope: str, thread_id: str) -> tuple[SecretValue, ...]:
    """Read what is kept for a thread."""
    way = db.seals.out_of(scope, thread_id)
    rows = db.all("read_secrets", (scope, thread_id))
    return tuple(way.secret(SecretValue(id=row[0], body=row[1])) for row in rows)


def make_key(db: Transaction, scope: str) -> None:
    """Make the key of a scope, unless it has one."""
    key = db.seals.into(scope, NO_THREAD).secret(SecretValue(id=KEY_ID, body=new_key()))
    db.do("put_secret", (scope, NO_THREAD, key.id, key.body))


def write(db: Transaction, scope: str, thread_id: str, writes: Writes) -> None:
    """Write those of a step; where there is no codec there are none, and nothing is asked."""
    if writes.secrets:
        check_kept(sealed=db.seals.codec is not None)
    if db.seals.codec is None:
        return
    if writes.drops_secrets:
        db.do("forget_secrets", (scope, thread_id))
    if writes.secrets:
        way = db.seals.into(scope, thread_id)
        sealed = map(way.secret, writes.secrets)
        db.insert_many("put_secret", [(scope, thread_id, value.id, value.body) for value in sealed])


def forget(db: Transaction, scope: str, thread_id: str) -> None:
    """Remove those of a thread that is deleted."""
    db.do("forget_secrets", (scope, thread_id))


def rekey(db: Transaction, work: Rekeying, begin: int) -> int | None:
    """Bring them under another key; where to go on, None at the end."""
    rows = db.all("next_secrets", (begin, REKEYED_ROWS))
    for position, scope, thread_id, name, body in rows:
        begin = position
        fresh = work.renewed(scope, thread_id, name, ("secret.body",), (body,))
        if fresh is not None:
            db.do("rekey_secret", (*fresh, position))
    return begin if len(rows) == REKEYED_ROWS else None
