"""An SQLite file in the hands of somebody who may write it, and takes its triggers away first."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


@contextmanager
def tampered(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a store's file that no trigger stands against; committed at the end."""
    with closing(sqlite3.connect(file)) as db, db:
        triggers = db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            db.execute(f"DROP TRIGGER {name}")
        yield db
