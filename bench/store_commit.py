"""CPU per commit of the SQLite store against the least that SQLite itself can do.

Run it as `python bench/store_commit.py [--seconds 2]`. Each line is one measurement: `store` is
`SqliteStore` under an event loop with that many concurrent writers, `floor` is plain `sqlite3` in
one thread with the same statements and the same number of commits per transaction. CPU is that of
the whole process, waiting for the disk is not in it. A recorded step is two commits. The last
lines are whole turns of 32 writers: claim, questions and end of the run, claim with the answers,
end.
"""

import argparse
import asyncio
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path

import uvloop

from sayso.base.clock import SystemClock
from sayso.base.records import Claim, Commit, Entry, Interrupt, Lease, Principal, Run, TurnRecord
from sayso.stores.sealing import NO_SEALS
from sayso.stores.sql import ops
from sayso.stores.sqlite.database import connect
from sayso.stores.sqlite.session import SQL, SqliteTransaction
from sayso.stores.sqlite.store import SqliteStore

SCOPE = "bench"


@dataclass(frozen=True)
class Measured:
    """What a number of commits cost."""

    commits: int
    transactions: int
    cpu: float
    wall: float

    def line(self, name: str, writers: int) -> str:
        """One row of the table."""
        return (
            f"{name:<6} {writers:>7} {self.commits:>8} {self.commits / self.transactions:>10.1f} "
            f"{1000 * self.cpu / self.commits:>14.4f} {2000 * self.cpu / self.commits:>12.4f} "
            f"{self.commits / self.wall:>10.0f}"
        )


def claim(n: int) -> Claim:
    """The claim of the n-th writer's thread."""
    return Claim(
        scope=SCOPE,
        thread_id=f"t-{n}",
        owner="ann",
        agent="support",
        revision=0,
        holder="bench",
        lease_ms=3_600_000,
        now=1,
        turn=TurnRecord(
            key=f"turn_{n}",
            agent="support",
            version="1",
            status="running",
            request=b"{}",
            principal=Principal(scope=SCOPE),
            started_at=1,
        ),
        run=Run(key=f"run_{n}", run_id="r", turn_key=f"turn_{n}", started_at=1),
    )


def half_a_step(n: int) -> Commit:
    """`started` for even numbers, `done` with a result for odd ones."""
    done = n % 2 == 1
    entry = Entry(
        place=f"0/{n // 2}",
        kind="call",
        name="issue_refund",
        fingerprint="3f786850e387550fdab836ed7e6dc881de23001b",
        status="done" if done else "started",
        data=b'{"value":"' + b"x" * 200 + b'"}' if done else b"null",
    )
    return Commit(now=1_700_000_000_000 + n, entries=(entry,))


async def store_run(path: Path, writers: int, seconds: float) -> Measured:
    """Commits of that many writers, each waiting for its own before the next."""
    store = SqliteStore(path)
    await store.open()
    leases = [await store.claim(claim(n)) for n in range(writers)]
    thread = store._thread
    if thread is None:
        raise RuntimeError("the store did not open")
    transactions = 0

    def count(statement: str) -> None:
        nonlocal transactions
        transactions += statement == "COMMIT"

    async def write(lease: Lease, deadline: float) -> int:
        n = 0
        while time.perf_counter() < deadline:
            await store.commit(lease, half_a_step(n))
            n += 1
        return n

    # Batch sizes first, on their own: looking at every statement costs CPU.
    await thread.run(lambda session: session.db.set_trace_callback(count), writes=False)
    traced = await _together(write, leases, seconds / 4)
    await thread.run(lambda session: session.db.set_trace_callback(None), writes=False)
    batch = max(1.0, traced / max(1, transactions))
    cpu, wall = time.process_time(), time.perf_counter()
    commits = await _together(write, leases, seconds)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    await store.close()
    return Measured(commits, round(commits / batch), cpu, wall)


async def _together(
    write: Callable[[Lease, float], Coroutine[None, None, int]],
    leases: list[Lease],
    seconds: float,
) -> int:
    deadline = time.perf_counter() + seconds
    return sum(await asyncio.gather(*(write(lease, deadline) for lease in leases)))


def floor_run(path: Path, writers: int, commits: int, batch: int) -> Measured:
    """The same statements for as many commits in transactions of that size."""
    db = connect(path)
    session = SqliteTransaction(db, SystemClock(), NO_SEALS)
    db.execute("BEGIN IMMEDIATE")
    for n in range(writers):
        ops.claim(session, claim(n))
    db.execute("COMMIT")
    keys = {n: key for n, (key,) in enumerate(db.execute("SELECT key FROM thread ORDER BY key"))}
    sql = SQL
    steps = [half_a_step(n // writers) for n in range(commits)]
    rows = [(s.now, s.entries[0]) for s in steps]
    values = [(e.place, e.kind, e.name, e.fingerprint, e.status, e.data) for _, e in rows]
    done = transactions = 0
    cpu, wall = time.process_time(), time.perf_counter()
    while done < commits:
        db.execute("BEGIN IMMEDIATE")
        for n in range(done, min(done + batch, commits)):
            writer = n % writers
            db.execute("SAVEPOINT job")
            db.execute(sql["find_thread"], (SCOPE, f"t-{writer}")).fetchone()
            db.execute(sql["put_entry"], (keys[writer], f"turn_{writer}", *values[n]))
            db.execute(sql["touch_thread"], (rows[n][0], keys[writer]))
            db.execute("RELEASE job")
        db.execute("COMMIT")
        done += batch
        transactions += 1
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    db.close()
    return Measured(commits, transactions, cpu, wall)


async def turns_run(path: Path, questions: int, turns: int) -> float:
    """CPU milliseconds of a turn that asks so many questions, with 32 threads at once."""
    store = SqliteStore(path)
    await store.open()

    async def live(n: int) -> None:
        for turn in range(turns):
            await _ask_and_answer(store, n, turn, questions)

    cpu = time.process_time()
    await asyncio.gather(*(live(n) for n in range(32)))
    cpu = time.process_time() - cpu
    await store.close()
    return 1_000 * cpu / (32 * turns)


async def _ask_and_answer(store: SqliteStore, n: int, number: int, questions: int) -> None:
    first = claim(n)
    turn = replace(first.turn, key=f"turn_{n}_{number}")
    begun = replace(first, revision=4 * number, turn=turn, run=_run(turn, "a"))
    asked = tuple(
        Interrupt(
            id=f"int_{random.getrandbits(64):x}",
            turn_key=turn.key,
            place=f"0/{q}",
            reason="tool_call",
            created_at=1_700_000_000_000 + number,
            expires_at=1_800_000_000_000,
            metadata=b'{"sayso":"' + b"x" * 300 + b'"}',
        )
        for q in range(questions)
    )
    lease = await store.claim(begun)
    suspended = replace(turn, status="suspended")
    over = replace(begun.run, ended_at=2, outcome=b'{"type":"interrupt"}')
    await store.commit(
        lease, Commit(now=2, interrupts=asked, turn=suspended, run=over, release=True)
    )
    answers = tuple(replace(i, status="resolved", payload=b'{"approved":true}') for i in asked)
    again = replace(begun, revision=4 * number + 2, run=_run(turn, "b"), interrupts=answers)
    lease = await store.claim(again)
    finished = replace(turn, status="finished")
    done = replace(again.run, ended_at=3, outcome=b'{"type":"success"}')
    await store.commit(lease, Commit(now=3, turn=finished, run=done, release=True))


def _run(turn: TurnRecord, name: str) -> Run:
    return Run(key=f"run_{turn.key}_{name}", run_id=name, turn_key=turn.key, started_at=1)


def say(line: str) -> None:
    """Write a line."""
    sys.stdout.write(line + "\n")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="length of each measurement")
    parser.add_argument("--uvloop", action="store_true", help="on uvloop, as the server runs")
    options = parser.parse_args()
    factory = uvloop.new_event_loop if options.uvloop else asyncio.new_event_loop
    say(f"Python {sys.version.partition(' ')[0]}, SQLite {sqlite3.sqlite_version}")
    say(
        f"{'what':<6} {'writers':>7} {'commits':>8} {'per fsync':>10} {'CPU ms/commit':>14} "
        f"{'CPU ms/step':>12} {'commits/s':>10}"
    )
    for writers in (1, 32):
        with tempfile.TemporaryDirectory() as folder:
            with asyncio.Runner(loop_factory=factory) as runner:
                path = Path(folder) / "a.db"
                measured = runner.run(store_run(path, writers, options.seconds))
            batch = max(1, round(measured.commits / measured.transactions))
            floor = floor_run(Path(folder) / "b.db", writers, measured.commits, batch)
        say(measured.line("store", writers))
        say(floor.line("floor", writers))
    for questions, turns in ((0, 100), (1, 100), (100, 10)):
        with (
            tempfile.TemporaryDirectory() as folder,
            asyncio.Runner(loop_factory=factory) as runner,
        ):
            cost = runner.run(turns_run(Path(folder) / "a.db", questions, turns))
        say(f"a turn that asks {questions:>3} questions: {cost:8.3f} ms of CPU")


if __name__ == "__main__":
    main()
