"""Threads for synchronous tools: one user cannot take all of them."""

import threading
from concurrent.futures import wait

import pytest

from sayso.turns.replay.effects import ToolThreads
from tests.patience import PATIENCE

ANN, LEA, FAY = (("default", name) for name in ("ann", "lea", "fay"))


class Held:
    """Work that runs until it is let go; notes who is running."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.began: list[str] = []
        self.ready = threading.Semaphore(0)

    def __call__(self, name: str) -> str:
        self.began.append(name)
        self.ready.release()
        assert self.go.wait(PATIENCE)
        return name

    def running(self, count: int) -> list[str]:
        """Those that have begun, once these many have."""
        for _ in range(count):
            assert self.ready.acquire(timeout=PATIENCE)
        return list(self.began)


def test_one_user_gets_half_of_the_threads_and_another_is_served_at_once() -> None:
    threads, held = ToolThreads(4, shared=True), Held()
    hogs = [threads.share(ANN).submit(held, f"ann {n}") for n in range(8)]
    assert held.running(2) == ["ann 0", "ann 1"]
    assert threads.share(LEA).submit(str, 7).result(PATIENCE) == "7"
    assert held.began == ["ann 0", "ann 1"]
    held.go.set()
    wait(hogs, PATIENCE)
    assert [hog.result(PATIENCE) for hog in hogs] == [f"ann {n}" for n in range(8)]
    threads.shutdown()


def test_those_who_wait_take_turns() -> None:
    threads, held = ToolThreads(1, shared=True), Held()
    first = threads.share(ANN).submit(held, "first")
    held.running(1)
    order: list[str] = []
    users = (ANN, ANN, ANN, LEA, FAY, FAY)
    later = [threads.share(user).submit(order.append, user[1]) for user in users]
    held.go.set()
    wait([first, *later], PATIENCE)
    assert order == ["ann", "lea", "fay", "ann", "fay", "ann"]
    threads.shutdown()


def test_tenants_take_turns_before_users_do() -> None:
    """However many users a tenant has."""
    threads, held = ToolThreads(1, shared=True), Held()
    first = threads.share(ANN).submit(held, "first")
    held.running(1)
    order: list[str] = []
    eve = ("elsewhere", "eve")
    users = (ANN, LEA, FAY, eve, eve)
    later = [threads.share(user).submit(order.append, user[1]) for user in users]
    held.go.set()
    wait([first, *later], PATIENCE)
    assert order == ["ann", "eve", "lea", "eve", "fay"]
    threads.shutdown()


def test_where_users_are_not_told_apart_all_threads_are_theirs() -> None:
    threads, held = ToolThreads(4, shared=False), Held()
    for n in range(6):
        threads.share(ANN).submit(held, str(n))
    assert held.running(4) == ["0", "1", "2", "3"]
    held.go.set()
    threads.shutdown()


def test_work_that_is_cancelled_before_it_begins_never_runs() -> None:
    """And what raises says so; neither keeps a place."""
    threads, held = ToolThreads(1, shared=True), Held()
    running = threads.share(ANN).submit(held, "first")
    held.running(1)
    waiting = threads.share(ANN).submit(held, "never")
    failing = threads.share(ANN).submit(int, "no number")
    assert waiting.cancel()
    held.go.set()
    with pytest.raises(ValueError, match="no number"):
        failing.result(PATIENCE)
    assert (running.result(PATIENCE), held.began) == ("first", ["first"])
    threads.shutdown()


def test_work_that_has_not_begun_when_they_are_shut_down_is_cancelled() -> None:
    """Whoever waits for it waits no longer."""
    threads, held = ToolThreads(1, shared=True), Held()
    running = threads.share(ANN).submit(held, "running")
    held.running(1)
    waiting = threads.share(LEA).submit(held, "waiting")
    threads.shutdown()
    assert waiting.cancelled()
    held.go.set()
    assert running.result(PATIENCE) == "running"
    assert held.began == ["running"]
