"""What holds for every test."""

import fcntl
import gc
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.share import share

# How long an example takes, or to make one, says nothing on a machine that others use too. The same
# examples on each run: who changes a line learns of that line. Others are looked for by "explore".
settings.register_profile(
    "tests",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
    max_examples=share(100, of=3),
)
settings.register_profile("explore", settings.get_profile("tests"), derandomize=False)
settings.load_profile("tests")

# What is imported and collected stays: to look for garbage in it is in vain (`set_aside`).
gc.disable()

LONGEST = ("process/test_schedules.py", "process/test_inbox_survives.py", "crash/test_schedules")
"""Files whose single tests take a minute: first, or one process goes on when all others end."""


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """One process begins, and what it compiles the others read, which wait for it.

    In a fresh checkout that is the package, what it depends on, and all tests.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    with after_the_first(Path(session.config.option.basetemp).parent):
        return (yield)


@contextmanager
def after_the_first(folder: Path) -> Iterator[None]:
    """Be the first of those who share a folder, or wait for who is."""
    shared = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(shared, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(shared, fcntl.LOCK_SH)
        yield
    finally:
        os.close(shared)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest; nothing else about the order changes."""
    items.sort(key=lambda item: not item.nodeid.removeprefix("tests/").startswith(LONGEST))


def pytest_collection_finish() -> None:
    """Thousands of collected tests, and what they import, stay."""
    set_aside()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    """So does what a file's tests keep: parsed modules of the whole package, for one."""
    yield
    if nextitem is not None and nextitem.path != item.path:
        set_aside()


def set_aside() -> None:
    """Leave all that there is out of later collections of garbage.

    Tests collect it to hear of tasks that were lost: then only what came since is looked through.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
