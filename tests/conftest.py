"""What holds for every test."""

import gc

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes, or to make one, says nothing on a machine that others use too. The same
# examples on each run: who changes a line learns of that line. Others are looked for by "explore".
settings.register_profile(
    "tests", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("explore", settings.get_profile("tests"), derandomize=False)
settings.load_profile("tests")

LONGEST = ("process/test_schedules.py", "process/test_inbox_survives.py", "crash/test_schedules")
"""Files whose single tests take a minute: first, or one process goes on when all others end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest; nothing else about the order changes."""
    items.sort(key=lambda item: not item.nodeid.removeprefix("tests/").startswith(LONGEST))


def pytest_collection_finish() -> None:
    """Leave thousands of collected tests, and what they import, out of all collections of garbage.

    Tests collect it to hear of tasks that were lost: then only what came since is looked through.
    """
    gc.collect()
    gc.freeze()
