"""A connection to PostgreSQL: opening it, bringing the schema up to date, naming what is wrong."""

import time

import psycopg

from sayso.base.errors import StoreUnavailable
from sayso.stores.postgres.pipeline import Connection
from sayso.stores.sql.queries import Migration, migrations

MIGRATIONS = migrations("postgres")

SCHEMA = "sayso"
"""The schema of the database that all tables are in."""

_OLDEST = 140_000
_CONNECT_TIMEOUT_S = 5
"""Seconds to wait for a connection: half a lease."""
_SETTINGS = (
    f"-c search_path={SCHEMA}"
    " -c lock_timeout=5s -c statement_timeout=10s -c idle_in_transaction_session_timeout=5s"
    " -c timezone=UTC"
)
"""A process that is stopped within a transaction keeps its thread locked: for half a lease at most,
so that by the end of the lease another can take the thread over."""
_MIGRATING = 0x5A7_50
"""The advisory lock of whoever migrates."""

_REMEDIES = {
    "28P01": "refuses the password; correct it in the store's URL",
    "28000": "refuses the user; see pg_hba.conf and the user in the store's URL",
    "3D000": "has no such database; create it, or correct its name in the store's URL",
    "42501": "lacks a right; let the user create a schema in the database (GRANT CREATE ON "
    "DATABASE), or create schema sayso for that user",
    "25006": "is read-only; name the primary in the store's URL, with "
    "target_session_attrs=read-write if there are several hosts",
    "53100": "has no space left on its disk; free some",
    "53300": "has no connection left; raise max_connections or run fewer servers",
    "53200": "is out of memory",
    "55P03": "kept this waiting for a lock; look for a transaction that does not end",
    "57014": "was too slow; look at its load",
    "57P01": "is shutting down; this goes on when it is back",
    "57P03": "is starting up; this goes on when it is ready",
}


_SAID = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "pg_hba.conf": "28000",
    "role ": "28000",
    "database ": "3D000",
    "too many clients": "53300",
    "remaining connection slots": "53300",
    "starting up": "57P03",
    "shutting down": "57P01",
}
"""What a server that refuses a connection says, which comes without a code; first match counts."""


def connect(url: str) -> Connection:
    """A connection, with the schema made or migrated if need be; raises `StoreUnavailable`."""
    try:
        db: Connection = psycopg.connect(
            url,
            autocommit=True,
            connect_timeout=_CONNECT_TIMEOUT_S,
            options=_SETTINGS,
            application_name="sayso",
            keepalives_idle=5,
            keepalives_interval=2,
            keepalives_count=3,
            tcp_user_timeout=10_000,
        )
        try:
            _prepare(db)
        except BaseException:
            db.close()
            raise
    except psycopg.Error as error:
        raise StoreUnavailable(explain(error)) from error
    return db


def explain(error: psycopg.Error) -> str:
    """Say what is wrong and what to do about it; never with a password."""
    code = error.sqlstate or _code_of(str(error))
    detail = str(error).strip().partition("\n")[0]
    if code in _REMEDIES:
        return f"PostgreSQL {_REMEDIES[code]} ({code}: {detail})"
    if not code or code.startswith("08"):
        return (
            "PostgreSQL cannot be reached, or the connection was lost; see that it runs and that "
            f"host and port of the store's URL are right ({detail})"
        )
    return f"PostgreSQL failed ({code}: {detail})"


def _code_of(refusal: str) -> str:
    _, fatal, said = refusal.partition("FATAL:")
    return next((code for text, code in _SAID.items() if fatal and text in said), "")


def _prepare(db: Connection) -> None:
    if db.info.server_version < _OLDEST:
        raise StoreUnavailable(
            f"PostgreSQL {db.info.server_version // 10_000} is too old; use 14 or newer"
        )
    (read_only, durable, recovering) = db.execute(
        "SELECT current_setting('transaction_read_only') = 'on',"
        " current_setting('synchronous_commit') <> 'off', pg_is_in_recovery()"
    ).fetchall()[0]
    if read_only or recovering:
        raise StoreUnavailable(f"PostgreSQL {_REMEDIES['25006']}")
    if not durable:
        db.execute("SET synchronous_commit = on")
    if not _missing(db):
        return
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
        missing = _missing(db)  # again: another process may have been faster
        if missing and missing[0].version == MIGRATIONS[0].version:
            db.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        for migration in missing:
            _apply(db, migration)


def _missing(db: Connection) -> tuple[Migration, ...]:
    """The migrations that the database lacks; raises if it is from the future."""
    # Asked of the table itself: to_regclass keeps for a whole transaction that there was none.
    known = db.execute(
        "SELECT true FROM pg_tables WHERE schemaname = %s AND tablename = 'sayso_schema'", (SCHEMA,)
    ).fetchall()
    if not known:
        return MIGRATIONS
    has, reader = db.execute("SELECT max(version), max(min_reader) FROM sayso_schema").fetchall()[0]
    newest = MIGRATIONS[-1].version
    if has is None:
        return MIGRATIONS
    if not db.execute(
        "SELECT true FROM sayso_schema WHERE version = 1 AND name = %s", (MIGRATIONS[0].name,)
    ).fetchall():
        raise StoreUnavailable(
            "the PostgreSQL database was made by a sayso of before the first release, whose layout "
            "this one does not read; drop its schema sayso, or name another database"
        )
    if reader > newest:
        raise StoreUnavailable(
            f"the PostgreSQL database has schema {has}, which needs a newer version of sayso "
            f"(this one knows schema {newest}); upgrade sayso or name another database"
        )
    return tuple(migration for migration in MIGRATIONS if migration.version > has)


def _apply(db: Connection, migration: Migration) -> None:
    db.execute(migration.sql.encode())  # bytes: our own text, without parameters
    db.execute(
        "INSERT INTO sayso_schema (version, name, min_reader, applied_at) VALUES (%s, %s, %s, %s)",
        (migration.version, migration.name, migration.min_reader, time.time_ns() // 1_000_000),
    )
