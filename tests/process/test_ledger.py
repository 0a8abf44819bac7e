"""Where a process may be stopped: the rules of the game that the schedules and the soak play."""

import sqlite3
from contextlib import closing
from pathlib import Path

from sayso.demo.ledger import Ledger as Writing
from tests.process.ledger import Ledger, in_the_middle


def test_whoever_is_stopped_does_not_keep_the_ledger(tmp_path: Path) -> None:
    """Design 6: the ledger is the world outside; it is not stopped together with a server."""
    store = f"sqlite:///{tmp_path / 'sayso.db'}"
    kept = Writing(tmp_path / "ledger.db")
    assert not in_the_middle(store, Ledger(tmp_path))
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert in_the_middle(store, Ledger(tmp_path))
        writer.execute("COMMIT")
        assert not in_the_middle(store, Ledger(tmp_path))
    assert kept.effects() == []
