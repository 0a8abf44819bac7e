"""The schedules of `test_schedules.py` on stores whose writes take time (design 6)."""

from pathlib import Path

import pytest

from tests.crash.seeds import batches, play

ON_DISK = batches(sqlite=300, postgres=100, redis=100)


@pytest.mark.parametrize(("kind", "seeds"), ON_DISK, ids=lambda one: str(one).replace(" ", ""))
async def test_whatever_dies_what_was_approved_happens_once(
    kind: str, seeds: range, tmp_path: Path
) -> None:
    """Design 3 and 6: never twice, never lost, every stream ended, one history, an intact trail."""
    await play(kind, seeds, tmp_path)
