"""Two processes, a store in memory, and every way in which things go wrong (design 6).

A schedule is its seed. A failure names the seed and the command that runs it again, on any store:

    SAYSO_SEED=sqlite:123 npm test -- python:tests -- tests/crash/test_schedules.py
"""

from pathlib import Path

import pytest

from tests.contract.requirements import requirement
from tests.crash.seeds import batches, play

MEMORY = batches(memory=1_500)


@requirement("ID-04", "ID-06", "ID-07")
@pytest.mark.parametrize(("kind", "seeds"), MEMORY, ids=lambda one: str(one).replace(" ", ""))
async def test_whatever_dies_what_was_approved_happens_once(
    kind: str, seeds: range, tmp_path: Path
) -> None:
    """Design 3 and 6: never twice, never lost, every stream ended, one history, an intact trail."""
    await play(kind, seeds, tmp_path)
