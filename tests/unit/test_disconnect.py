"""The end of runs without readers: the rule alone, without a run."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from sayso.base.options import AgentOptions
from sayso.engine.live import GRACE_S, DisconnectWatch
from sayso.engine.stop import StopRequest
from sayso.testing import FakeClock
from tests.contract.requirements import requirement


class Stream:
    def __init__(self) -> None:
        self.readers = 0
        self.ended = False
        self.on_readers: Callable[[], None] = lambda: None

    def become(self, readers: int) -> None:
        self.readers = readers
        self.on_readers()


class Runner:
    def __init__(self) -> None:
        self.stream = Stream()
        self.attended = asyncio.Event()
        self.attended.set()
        self.stopped: list[str] = []

    def stop(self, stopper: StopRequest) -> None:
        assert stopper.by is None
        self.stopped.append(stopper.why or "")


def watched(readers: int, **options: Any) -> tuple[Any, FakeClock, DisconnectWatch]:
    runner: Any = Runner()
    runner.stream.readers = readers
    clock = FakeClock()
    return runner, clock, DisconnectWatch(runner, AgentOptions(**options), clock)


@requirement("OC-15")
async def test_a_run_without_readers_may_go_on_for_fifteen_minutes() -> None:
    """N3, design 4: the default; from the last reader on, or from the beginning."""
    for readers in (1, 0):
        runner, clock, attendance = watched(readers)
        await clock.advance(3600 if readers else 0)
        runner.stream.become(0)
        await clock.advance(899)
        assert runner.stopped == []
        assert runner.attended.is_set()
        await clock.advance(1)
        assert len(runner.stopped) == 1
        attendance.close()


async def test_a_run_may_go_on_for_ever() -> None:
    """`unattended_timeout=None`: nothing waits for anything."""
    runner, clock, attendance = watched(1, unattended_timeout=None)
    runner.stream.become(0)
    assert clock.sleeping == 0
    attendance.close()


@pytest.mark.parametrize("back", [True, False])
async def test_cancel_holds_effects_until_a_reader_is_back_or_the_grace_is_over(
    back: bool,
) -> None:
    """N2: five seconds, however long a detached run might go on."""
    runner, clock, attendance = watched(1, on_disconnect="cancel", unattended_timeout=None)
    runner.stream.become(0)
    assert not runner.attended.is_set()
    await clock.advance(GRACE_S - 1)
    if back:
        runner.stream.become(1)
        assert runner.attended.is_set()
    await clock.advance(GRACE_S)
    assert len(runner.stopped) == (0 if back else 1)
    attendance.close()


async def test_cancel_needs_a_reader_who_left() -> None:
    """A run that goes on without a client has lost none; the ceiling holds for it too."""
    runner, clock, attendance = watched(0, on_disconnect="cancel", unattended_timeout=60)
    assert runner.attended.is_set()
    await clock.advance(59)
    assert runner.stopped == []
    await clock.advance(1)
    assert len(runner.stopped) == 1
    attendance.close()


async def test_a_run_that_is_over_is_not_watched() -> None:
    """No timer is left behind, and its readers may go."""
    runner, clock, attendance = watched(1, on_disconnect="cancel")
    runner.stream.ended = True
    runner.stream.become(0)
    runner.stream.ended = False
    attendance.close()
    attendance.close()
    runner.stream.become(0)
    await clock.advance(0)
    assert clock.sleeping == 0
    assert runner.attended.is_set()
