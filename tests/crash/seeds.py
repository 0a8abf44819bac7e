"""Schedules by the dozen, and how one that failed is run again."""

import os
from pathlib import Path

from tests.crash.schedule import Schedule
from tests.share import share

__all__ = ["ASKED", "batches", "play"]

FILE = "tests/crash/test_schedules.py"
TOGETHER = 20
"""Schedules of one test."""
ASKED = os.environ.get("SAYSO_SEED", "")
"""`kind:seed` of the one schedule to run instead of all."""

Batch = tuple[str, range]


def batches(**count: int) -> list[Batch]:
    """So many schedules of each backend at most, a test's worth at a time; or the one asked for."""
    if ASKED:
        kind, _, seed = ASKED.partition(":")
        return [(kind, range(int(seed), int(seed) + 1))]
    return [
        (kind, range(first, min(first + TOGETHER, share(most))))
        for kind, most in count.items()
        for first in range(0, share(most), TOGETHER)
    ]


async def play(kind: str, seeds: range, folder: Path) -> None:
    """Run them one after the other; the first that fails says how to run it again."""
    for seed in seeds:
        await _play(kind, seed, folder)


async def _play(kind: str, seed: int, folder: Path) -> None:
    own = folder / str(seed)
    own.mkdir()
    schedule = Schedule(kind, own, seed)
    try:
        await schedule.play()
    except BaseException as error:
        again = f"SAYSO_SEED={kind}:{seed} npm test -- python:tests -- {FILE}"
        error.add_note(f"{kind}, seed {seed}: {' '.join(schedule.told)}\nAgain: {again}")
        raise
