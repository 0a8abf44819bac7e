"""What other processes do to a store file while a test looks on."""

import asyncio
import os
import signal
from multiprocessing.synchronize import Barrier
from pathlib import Path

from sayso.base.errors import Conflict
from sayso.base.records import Claim, Commit, Entry, Message, Principal, Run, TurnRecord
from sayso.stores.sql import ops
from sayso.stores.sql.session import Transaction
from sayso.stores.sqlite.store import SqliteStore
from tests.patience import PATIENCE

SCOPE = "tenant"
WRITERS = 4


def a_claim(thread_id: str, holder: str, revision: int = 0) -> Claim:
    """A claim that begins a turn."""
    key = f"turn_{thread_id}_{revision}"
    return Claim(
        scope=SCOPE,
        thread_id=thread_id,
        owner="ann",
        agent="support",
        revision=revision,
        holder=holder,
        lease_ms=60_000,
        now=1,
        turn=TurnRecord(
            key=key,
            agent="support",
            version="1",
            status="running",
            request=b"{}",
            principal=Principal(scope=SCOPE),
            started_at=1,
        ),
        run=Run(key=f"run_{thread_id}_{revision}", run_id="r", turn_key=key, started_at=1),
    )


def a_step(n: int) -> Commit:
    """The n-th step of a turn: entry, message and state say the same number."""
    return Commit(
        now=n,
        entries=(
            Entry(
                place=f"{n}",
                kind="step",
                name="count",
                fingerprint="f",
                status="done",
                data=b"x" * 2_000,
            ),
        ),
        messages=(Message(id=f"m-{n}", role="assistant", body=b"{}"),),
        state=b"%d" % n,
    )


def race(path: str, me: str, rounds: int, barrier: Barrier, results: str) -> None:
    """Claim the same threads as another process at the same moments; write who was won."""
    Path(results).write_text("\n".join(asyncio.run(_race(Path(path), me, rounds, barrier))))


async def _race(path: Path, me: str, rounds: int, barrier: Barrier) -> list[str]:
    store = SqliteStore(path)
    barrier.wait(PATIENCE)
    await store.open()  # both at once: creating and migrating is a race too
    won = []
    for n in range(rounds):
        barrier.wait(PATIENCE)
        known = 0 if n % 2 == 0 else 2
        thread_id = f"t-{n - n % 2}"
        try:
            lease = await store.claim(a_claim(thread_id, me, known))
        except Conflict:
            won.append("")
        else:
            won.append(f"{lease.fence}")
        barrier.wait(PATIENCE)
        if won[-1]:
            await store.commit(lease, Commit(now=n, state=me.encode(), release=True))
    await store.close()
    return won


def write_until_killed(path: str, acknowledgements: int) -> None:
    """Write steps in several threads at once, telling each one that was acknowledged."""
    asyncio.run(_write_until_killed(Path(path), acknowledgements))


async def _write_until_killed(path: Path, acknowledgements: int) -> None:
    store = SqliteStore(path)
    await store.open()

    async def write(thread_id: str) -> None:
        lease = await store.claim(a_claim(thread_id, "doomed"))
        for n in range(100_000):
            await store.commit(lease, a_step(n))
            os.write(acknowledgements, f"{thread_id} {n}\n".encode())

    await asyncio.gather(*(write(f"t-{w}") for w in range(WRITERS)))


def die_at_a_commit(path: str, point: int) -> None:
    """Die by SIGKILL inside the transaction of the step with that number."""
    asyncio.run(_die_at_a_commit(Path(path), point))


async def _die_at_a_commit(path: Path, point: int) -> None:
    store = SqliteStore(path)
    await store.open()
    lease = await store.claim(a_claim("t", "doomed"))
    for n in range(point):
        await store.commit(lease, a_step(n))
    thread = store._thread
    assert thread is not None

    def write_and_die(db: Transaction) -> None:
        ops.commit(db, lease, a_step(point))
        os.kill(os.getpid(), signal.SIGKILL)

    await thread.run(write_and_die, writes=True)
