"""Replicas that are killed, stopped past their lease and cut off: `bench/soak.py`, but short."""

from pathlib import Path

import pytest

from tests.contract.requirements import requirement
from tests.process.soak import Soak
from tests.stores.redis_servers import SHARED


@requirement("ID-07")
@pytest.mark.parametrize("kind", ["sqlite", *SHARED])
def test_replicas_that_die_do_what_was_approved_once(kind: str, tmp_path: Path) -> None:
    """Design 6: with every disaster there is, a sleeper that wakes among them."""
    store = f"sqlite:///{tmp_path / 'soak.db'}" if kind == "sqlite" else SHARED[kind](tmp_path)
    soak = Soak(store, tmp_path, seed=7, clients=4)
    soak.run(seconds=10, every=(0.5, 1.5))
    assert soak.faults() == []
    assert soak.said
