"""An SQLite database file: opening it, bringing its schema up to date, naming what is wrong."""

import atexit
import logging
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

from sayso.base.errors import StoreUnavailable
from sayso.stores.sql.queries import Migration, migrations

T = TypeVar("T")

_log = logging.getLogger("sayso.store")

MIGRATIONS = migrations("sqlite")
MEMORY = Path(":memory:")
"""The database that no other connection sees."""

_OLDEST = (3, 35, 0)  # the first release with RETURNING
_SLICE = 1.0
"""Seconds that SQLite itself waits for a lock; it cannot be told to stop in between."""
_LOCK_TIMEOUT_S = 5.0
"""Seconds after which a lock that another process keeps is an error: half a lease."""

_PRAGMAS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",  # only macOS knows a difference
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA cache_size = -2000",  # kB; the system caches the file as well
    "PRAGMA journal_size_limit = 67108864",
    # What a savepoint would restore is a file of the temporary directory otherwise: costly, and
    # where there is none to write to, everything fails.
    "PRAGMA temp_store = MEMORY",
    "PRAGMA secure_delete = ON",  # what is deleted is overwritten
)

_REMEDIES = {
    sqlite3.SQLITE_BUSY: "is locked by another process; end what holds it (a backup, a shell)",
    sqlite3.SQLITE_LOCKED: "is locked; end what holds it (a backup, a shell)",
    sqlite3.SQLITE_FULL: "cannot grow: the disk or the file's size limit is full; free some space",
    sqlite3.SQLITE_READONLY: "is read-only; give this process the right to write the file and its "
    "folder, on a file system that is mounted for writing",
    sqlite3.SQLITE_PERM: "may not be used; give this process the right to the file and its folder",
    sqlite3.SQLITE_NOTADB: "is not an SQLite database, or is encrypted; name another file",
    sqlite3.SQLITE_CORRUPT: "is damaged; stop all servers on it and restore it from a backup, or "
    "rescue what it holds with the sqlite3 shell's .recover",
    sqlite3.SQLITE_IOERR: "cannot be read or written; check the disk and its file system",
    sqlite3.SQLITE_TOOBIG: "was given a value that is too large for SQLite; store less",
    sqlite3.SQLITE_NOMEM: "needs more memory than there is",
}


def connect(path: Path) -> sqlite3.Connection:
    """A connection to the file, created and migrated if need be; raises `StoreUnavailable`."""
    _require_version()
    try:
        _make_private(path)
        db = sqlite3.connect(path, timeout=_SLICE, isolation_level=None, cached_statements=128)
        try:
            patiently(lambda: _prepare(db, path))
            _warn_of_readers(path)
        except BaseException:
            db.close()
            raise
    except sqlite3.Error as error:
        raise StoreUnavailable(explain(error, path)) from error
    return db


def connect_memory() -> sqlite3.Connection:
    """Open a database of its own in memory, for any thread that takes turns with the others.

    Raises:
        StoreUnavailable: SQLite is too old.
    """
    _require_version()
    db = _connect_memory()
    _migrated().backup(db)
    return db


@cache
def _migrated() -> sqlite3.Connection:
    """A database in memory without rows; copying it costs a fortieth of the migrations."""
    db = _connect_memory()
    for migration in MIGRATIONS:
        _apply(db, migration)
    atexit.register(db.close)
    return db


def _connect_memory() -> sqlite3.Connection:
    return sqlite3.connect(
        MEMORY, isolation_level=None, check_same_thread=False, cached_statements=256
    )


def _require_version() -> None:
    if sqlite3.sqlite_version_info < _OLDEST:
        raise StoreUnavailable(
            f"SQLite {sqlite3.sqlite_version} is too old; use a Python with 3.35 or newer"
        )


def _make_private(path: Path) -> None:
    """Make a file that is not there, for its owner alone; SQLite's further files follow it."""
    with suppress(OSError):  # it is there, or SQLite says what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _warn_of_readers(path: Path) -> None:
    with suppress(OSError):
        mode = path.stat().st_mode
        if os.name == "posix" and mode & 0o077:
            _log.warning(
                "database %r can be read or written by other users of this machine (mode %04o); "
                "run chmod 600 on it, and on the files beside it that end in -wal and -shm",
                str(path),
                mode & 0o7777,
            )


def truncate_log(path: Path) -> None:
    """Move the write-ahead log into the file and empty it: what was overwritten is in neither."""
    db = sqlite3.connect(path, timeout=_SLICE, isolation_level=None)
    try:
        deadline = time.monotonic() + _LOCK_TIMEOUT_S
        while db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() >= deadline:
                raise StoreUnavailable(
                    f"database {str(path)!r} is read all the time, so its log still has what was "
                    "deleted; end what reads it (a backup, a shell), then do this again"
                )
            time.sleep(0.01)
    finally:
        db.close()


def patiently(attempt: Callable[[], T]) -> T:
    """Try again while another process has the lock, for a bounded time; blocks its thread."""
    deadline = time.monotonic() + _LOCK_TIMEOUT_S
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as error:
            locked = _primary(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not locked or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)


def explain(error: sqlite3.Error, path: Path) -> str:
    """Say what is wrong with the file and what to do about it, in one sentence."""
    code = _primary(error)
    remedy = _cannot_open(path) if code == sqlite3.SQLITE_CANTOPEN else _REMEDIES.get(code)
    if remedy is None:
        remedy = "failed; see what SQLite says"
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return f"database {str(path)!r} {remedy} ({name}: {error})"


def _primary(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _cannot_open(path: Path) -> str:
    if path.is_dir():
        return "is a folder; name a file in it"
    if not path.parent.is_dir():
        return f"cannot be created: there is no folder {str(path.parent)!r}; create it first"
    return "cannot be opened; give this process the right to the file and its folder"


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    _missing(db, path)  # before the first change, to leave a stranger's file as it is
    mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise StoreUnavailable(
            f"database {str(path)!r} cannot use a write-ahead log (it stays in mode {mode!r}); "
            "put it on a local file system"
        )
    for pragma in _PRAGMAS:
        db.execute(pragma)
    if not _missing(db, path):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        for migration in _missing(db, path):  # again: another process may have been faster
            _apply(db, migration)
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _missing(db: sqlite3.Connection, path: Path) -> tuple[Migration, ...]:
    """The migrations that the file lacks; raises if it is a stranger's or from the future."""
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    if "sayso_schema" not in tables:
        if tables:
            raise StoreUnavailable(
                f"database {str(path)!r} belongs to another program (it has no table "
                "'sayso_schema'); name another file"
            )
        return MIGRATIONS
    first = db.execute("SELECT name FROM sayso_schema WHERE version = 1").fetchone()
    if first != (MIGRATIONS[0].name,):
        raise StoreUnavailable(
            f"database {str(path)!r} was made by a sayso of before the first release, whose layout "
            "this one does not read; name another file"
        )
    newest = MIGRATIONS[-1].version
    has, reader = db.execute("SELECT max(version), max(min_reader) FROM sayso_schema").fetchone()
    if reader > newest:
        raise StoreUnavailable(
            f"database {str(path)!r} has schema {has}, which needs a newer version of sayso "
            f"(this one knows schema {newest}); upgrade sayso or name another file"
        )
    return tuple(migration for migration in MIGRATIONS if migration.version > has)


def _apply(db: sqlite3.Connection, migration: Migration) -> None:
    statement = ""
    for line in migration.sql.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            db.execute(statement)
            statement = ""
    db.execute(
        "INSERT INTO sayso_schema (version, name, min_reader, applied_at) VALUES (?, ?, ?, ?)",
        (migration.version, migration.name, migration.min_reader, time.time_ns() // 1_000_000),
    )
