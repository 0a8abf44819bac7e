"""Several processes on one SQLite file, and one that is killed."""

import asyncio
import multiprocessing
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from sayso.base.records import Commit, Renewed
from sayso.stores.sqlite.store import SqliteStore
from tests.patience import PATIENCE
from tests.stores import processes
from tests.stores.backends import opened
from tests.stores.processes import SCOPE, WRITERS, a_claim

SPAWN = multiprocessing.get_context("spawn")
ROUNDS = 50


async def test_of_two_processes_that_claim_at_once_one_wins(tmp_path: Path) -> None:
    """New threads and idle ones, over and over; opening the new file is a race too (design 6)."""
    path = tmp_path / "sayso.db"
    barrier = SPAWN.Barrier(2)
    names = ("p-1", "p-2")
    racers = [
        SPAWN.Process(
            target=processes.race, args=(str(path), me, ROUNDS, barrier, str(tmp_path / me))
        )
        for me in names
    ]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(2 * PATIENCE)
    assert [racer.exitcode for racer in racers] == [0, 0]
    fences = zip(*((tmp_path / me).read_text().split("\n") for me in names), strict=True)
    winners = [sorted(pair) for pair in fences]
    assert winners == [["", "1" if n % 2 == 0 else "2"] for n in range(ROUNDS)]
    async with opened(SqliteStore(path)) as store:
        view = await store.load(SCOPE, "t-0")
        assert view is not None
        assert (view.thread.revision, view.thread.fence, view.thread.holder) == (4, 2, None)


def acknowledged_before_the_kill(path: Path, steps: int) -> dict[str, int]:
    """Let a process write until it told of that many steps; the last step told, by thread."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    doomed = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", _PROGRAM, str(path), str(writing)],
        os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        lines = [told.readline() for _ in range(steps)]
        os.kill(doomed, signal.SIGKILL)
        lines += told.readlines()
    assert os.waitstatus_to_exitcode(os.waitpid(doomed, 0)[1]) == -signal.SIGKILL
    pairs = (line.decode().split() for line in lines)
    return {thread_id: int(n) for thread_id, n in pairs}


async def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    """And nothing is there by half: entry, message and state of a step come and go together."""
    path = tmp_path / "sayso.db"
    acknowledged = acknowledged_before_the_kill(path, 300)
    assert len(acknowledged) == WRITERS
    async with opened(SqliteStore(path)) as store:
        for thread_id, last in acknowledged.items():
            view = await store.load(SCOPE, thread_id)
            entries = await store.journal(SCOPE, f"turn_{thread_id}_0")
            assert view is not None
            assert len(entries) > last
            assert [entry.place for entry in entries] == [f"{n}" for n in range(len(entries))]
            assert [m.id for m in view.messages] == [f"m-{n}" for n in range(len(entries))]
            assert view.thread.state == b"%d" % (len(entries) - 1)
            assert view.thread.revision == 1 + len(entries)


async def test_a_kill_inside_a_transaction_leaves_none_of_it(tmp_path: Path) -> None:
    """The step was written but not committed, so its waiter had no answer (design 6)."""
    path = tmp_path / "sayso.db"
    doomed = SPAWN.Process(target=processes.die_at_a_commit, args=(str(path), 3))
    doomed.start()
    doomed.join(PATIENCE)
    assert doomed.exitcode == -signal.SIGKILL
    async with opened(SqliteStore(path)) as store:
        view = await store.load(SCOPE, "t")
        assert view is not None
        assert view.thread.state == b"2"
        assert view.thread.holder == "doomed"
        assert [e.place for e in await store.journal(SCOPE, "turn_t_0")] == ["0", "1", "2"]


async def test_a_wish_to_stop_and_a_change_reach_the_others(tmp_path: Path) -> None:
    """Each store has its own connection, as in another process (design 4, 6)."""
    path = tmp_path / "sayso.db"
    async with opened(SqliteStore(path)) as mine, opened(SqliteStore(path)) as other:
        lease = await mine.claim(a_claim("t", "me"))
        await other.request_stop(SCOPE, "t", lease.fence)
        assert await asyncio.to_thread(mine.renew, [lease], 1_000) == Renewed(
            stop_requested=(lease,)
        )
        ended = replace(a_claim("t", "me").run, ended_at=2)
        assert await mine.commit(lease, Commit(now=2, run=ended, release=True)) is True
        assert [c.run_key for c in (await other.changes(SCOPE, 0)).items] == [ended.key]
        await other.delete(SCOPE, "t", 2, 3)
        assert [c.kind for c in (await mine.changes(SCOPE, 1)).items] == ["deleted"]


_PROGRAM = """
import sys
from tests.stores.processes import write_until_killed
write_until_killed(sys.argv[1], int(sys.argv[2]))
"""
