"""Schedules of real processes on each store that processes share (design 6).

Kill -9, SIGSTOP past the lease, connections that end and orderly restarts, behind a round-robin
proxy; effects are counted in a ledger outside the store. A schedule is its seed. A failure names
the seed and the command that plays it again:

    SAYSO_SEED=postgres:7 npm test -- python:tests -- tests/process/test_schedules.py
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.contract.requirements import requirement
from tests.process.ledger import Ledger
from tests.process.replicas import Replica, Replicas
from tests.process.schedule import play
from tests.share import share
from tests.stores.backends import SHARED

SCHEDULES = share(20)
FILE = "tests/process/test_schedules.py"
LANES = 3
"""Pairs of replicas that play schedules side by side: most of the time somebody waits."""
KIND, _, SEED = os.environ.get("SAYSO_SEED", "").partition(":")


def play_all(kind: str, folder: Path, seeds: Sequence[int]) -> None:
    """One pair of replicas and its schedules, one after the other."""
    folder.mkdir()
    store, data = SHARED[kind](folder), folder / "data"
    servers = []
    for name in ("one", "two"):
        (folder / name).mkdir()
        servers.append(Replica(folder / name, store=store, data=data))
    with Replicas(store, servers, Ledger(data)) as replicas:
        for seed in seeds:
            try:
                play(replicas, seed)
            except BaseException as error:
                again = f"SAYSO_SEED={kind}:{seed} npm test -- python:tests -- {FILE}"
                error.add_note(f"{kind}, seed {seed}\nAgain: {again}")
                raise


@requirement("ID-04", "ID-07")
@pytest.mark.parametrize("kind", [KIND] if KIND else list(SHARED))
def test_whatever_befalls_processes_what_was_approved_happens_once(
    kind: str, tmp_path: Path
) -> None:
    """L1, L5, Q3: never twice, never lost; a sleeper that wakes past its lease does not act."""
    seeds = [int(SEED)] if SEED else list(range(SCHEDULES))
    with ThreadPoolExecutor(LANES) as pool:
        lanes = [
            pool.submit(play_all, kind, tmp_path / f"lane-{n}", part)
            for n in range(LANES)
            if (part := seeds[n::LANES])
        ]
    for lane in lanes:
        lane.result()
