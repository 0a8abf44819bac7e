"""Rules of `commit`: fences, order, all or nothing."""

import asyncio

from sayso.base.errors import LeaseLost
from sayso.base.records import Commit, Lease
from sayso.stores.base import Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import (
    LEASE_MS,
    SCOPE,
    THREAD,
    claim,
    entry,
    message,
    places,
    question,
    raises,
    revision,
    run,
    same,
    turn,
)


async def a_commit_counts_one_revision(store: Store, clock: FakeClock) -> None:
    """Also one that changes nothing; the hour is the one given."""
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_333))
    view = await store.load(SCOPE, THREAD)
    same(view and (view.thread.revision, view.thread.updated_at), (2, 3_333))
    same(view and view.thread.holder, "process-1")


async def a_stale_fence_writes_nothing(store: Store, clock: FakeClock) -> None:
    """After a takeover the old holder is told `LeaseLost`, whatever it wanted to write."""
    stale = await store.claim(claim())
    await clock.advance(LEASE_MS / 1_000)
    await store.claim(claim(1, holder="process-2"))
    before = await store.load(SCOPE, THREAD)
    everything = Commit(
        now=9_000,
        entries=(entry("0"),),
        messages=(message("m-1"),),
        dequeue=True,
        interrupts=(question("int_1"),),
        state=b"9",
        turn=turn(status="failed"),
        run=run(outcome=b"{}"),
        forget="turn_1",
        release=True,
    )
    await raises(LeaseLost, store.commit(stale, everything))
    same(await store.load(SCOPE, THREAD, interrupt_ids=["int_1"]), before)
    same(await store.journal(SCOPE, "turn_1"), ())


async def a_fence_counts_with_its_holder(store: Store, clock: FakeClock) -> None:
    """A lease that was never given is lost: wrong holder, fence ahead, thread unknown."""
    lease = await store.claim(claim())
    for wrong in (
        Lease(scope=SCOPE, thread_id=THREAD, holder="process-2", fence=lease.fence),
        Lease(scope=SCOPE, thread_id=THREAD, holder=lease.holder, fence=lease.fence + 1),
        Lease(scope=SCOPE, thread_id="unknown", holder=lease.holder, fence=lease.fence),
        Lease(scope="other", thread_id=THREAD, holder=lease.holder, fence=lease.fence),
    ):
        await raises(LeaseLost, store.commit(wrong, Commit(now=3_000, state=b"9")))
    same(await revision(store), 1)


async def a_released_lease_is_over(store: Store, clock: FakeClock) -> None:
    """A commit after the release is refused, so an idle thread has no writer."""
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_000, release=True))
    await raises(LeaseLost, store.commit(lease, Commit(now=3_001, state=b"9")))
    same(await revision(store), 2)


async def a_lease_that_ran_out_unclaimed_still_writes(store: Store, clock: FakeClock) -> None:
    """Only a claim takes a thread away, not the hour alone."""
    lease = await store.claim(claim())
    await clock.advance(LEASE_MS)
    await store.commit(lease, Commit(now=3_000, state=b"1"))
    same(await revision(store), 2)


async def commits_take_effect_in_the_order_of_the_calls(store: Store, clock: FakeClock) -> None:
    """Awaited or not: the last state is the last call's, entries stand in order."""
    lease = await store.claim(claim())
    await asyncio.gather(
        *(
            store.commit(lease, Commit(now=3_000 + n, entries=(entry(f"{n}"),), state=b"%d" % n))
            for n in range(50)
        )
    )
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.state, b"49")
    same(view and view.thread.revision, 51)
    same(await places(store), [f"{n}" for n in range(50)])


async def a_commit_writes_all_it_holds(store: Store, clock: FakeClock) -> None:
    """Every member, in one step, and the thread is idle after the release."""
    lease = await store.claim(claim(messages=(message("m-1"),)))
    ended = turn(status="suspended", ended_at=None)
    closed = run(ended_at=3_000, outcome=b'{"type":"interrupt"}')
    await store.commit(
        lease,
        Commit(
            now=3_000,
            entries=(entry("0", status="asked"),),
            messages=(message("m-2"),),
            interrupts=(question("int_1"),),
            state=b'{"n":2}',
            turn=ended,
            run=closed,
            release=True,
        ),
    )
    view = await store.load(SCOPE, THREAD)
    same(view and (view.turn, view.run), (ended, closed))
    same(view and view.messages, (message("m-1"), message("m-2")))
    same(view and view.interrupts, (question("int_1"),))
    same(view and (view.thread.state, view.thread.holder), (b'{"n":2}', None))
    same(view and view.thread.lease_until, None)
    same(await store.journal(SCOPE, "turn_1"), (entry("0", status="asked"),))


async def a_failing_neighbour_touches_nobody(store: Store, clock: FakeClock) -> None:
    """Calls made together may be written together; one that is refused undoes itself only."""
    leases = [await store.claim(claim(thread_id=f"t-{n}")) for n in range(10)]
    stale = [
        Lease(scope=lease.scope, thread_id=lease.thread_id, holder=lease.holder, fence=7)
        for lease in leases
    ]
    calls = []
    for n, (good, bad) in enumerate(zip(leases, stale, strict=True)):
        calls.append(store.commit(good, Commit(now=3_000, entries=(entry("0"),))))
        calls.append(store.commit(bad, Commit(now=3_000, state=b'"stale"')))
        wrong = Commit(now=3_000, state=b'"wrong"', messages=(message("m", role="\ud800"),))
        calls.append(store.commit(good, wrong))
        calls.append(store.commit(good, Commit(now=3_001, state=b"%d" % n)))
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    same([type(o) for o in outcomes[1::4]], [LeaseLost] * 10)
    same([isinstance(o, ValueError) for o in outcomes[2::4]], [True] * 10)
    same([*outcomes[0::4], *outcomes[3::4]], [False] * 20)
    for n in range(10):
        view = await store.load(SCOPE, f"t-{n}")
        same(view and (view.thread.state, view.thread.revision), (b"%d" % n, 3))
        same(view and view.messages, ())


async def a_cancelled_waiter_does_not_cancel_its_write(store: Store, clock: FakeClock) -> None:
    """Once the call was made the step is written, whether or not anybody waits for it."""
    lease = await store.claim(claim())
    tasks = [
        asyncio.create_task(store.commit(lease, Commit(now=3_000, entries=(entry(f"{n}"),))))
        for n in range(5)
    ]
    await asyncio.sleep(0)
    for task in tasks[1:4]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    same(await places(store), [f"{n}" for n in range(5)])


async def a_next_turn_begins_as_the_one_before_ends(store: Store, clock: FakeClock) -> None:
    """In one step: the new turn is the newest, its journal is its own, the lease stays."""
    lease = await store.claim(claim())
    ended = turn(status="finished", ended_at=3_000)
    following = turn("turn_2", started_at=3_000)
    step = Commit(
        now=3_000, entries=(entry("0"),), turn=ended, next_turn=following, forget="turn_1"
    )
    await store.commit(lease, step)
    view = await store.load(SCOPE, THREAD)
    same(view and view.turn, following)
    same(view and view.thread.holder, "process-1")
    same(await places(store), [])
    await store.commit(lease, Commit(now=3_001, entries=(entry("0", name="other"),)))
    names = [written.name for written in await store.journal(SCOPE, "turn_2")]
    same(names, ["other"])
