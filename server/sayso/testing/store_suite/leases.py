"""Rules of `renew`, which is called from a thread that is not the event loop's."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from sayso.base.errors import Conflict
from sayso.base.records import Commit, Lease, Renewed
from sayso.stores.base import Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import LEASE_MS, SCOPE, THREAD, claim, raises, revision, same


async def _renew(store: Store, *leases: Lease) -> Renewed:
    return await asyncio.to_thread(store.renew, leases, LEASE_MS)


async def renewing_counts_from_the_store_s_now(store: Store, clock: FakeClock) -> None:
    """The lease lasts as long again from then, and nobody else gets in meanwhile."""
    lease = await store.claim(claim())
    await clock.advance(9)
    same(await _renew(store, lease), Renewed())
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.lease_until, clock.now() + LEASE_MS)
    await clock.advance(9.999)
    await raises(Conflict, store.claim(claim(1, holder="process-2")))
    await clock.advance(0.001)
    await store.claim(claim(1, holder="process-2"))


async def renewing_changes_no_revision(store: Store, clock: FakeClock) -> None:
    """A fact that was read before stays the truth."""
    lease = await store.claim(claim())
    same(await _renew(store, lease), Renewed())
    same(await revision(store), 1)


async def lost_leases_are_reported_each(store: Store, clock: FakeClock) -> None:
    """Taken over (also by the same holder), released, unknown; the others are prolonged."""
    taken = await store.claim(claim())
    await clock.advance(LEASE_MS / 1_000)
    await store.claim(claim(1, holder="process-2"))
    again = await store.claim(claim(thread_id="again"))
    await store.commit(again, Commit(now=3_000, release=True))
    await store.claim(claim(2, thread_id="again"))
    released = await store.claim(claim(thread_id="released"))
    await store.commit(released, Commit(now=3_000, release=True))
    unknown = Lease(scope=SCOPE, thread_id="unknown", holder="process-1", fence=1)
    kept = await store.claim(claim(thread_id="kept"))
    await clock.advance(1)
    lost = (taken, again, released, unknown)
    same(await _renew(store, taken, kept, again, released, unknown), Renewed(lost=lost))
    view = await store.load(SCOPE, "kept")
    same(view and view.thread.lease_until, clock.now() + LEASE_MS)
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.lease_until, clock.now() + LEASE_MS - 1_000)


async def a_lease_that_ran_out_unclaimed_is_prolonged(store: Store, clock: FakeClock) -> None:
    """A process that slept takes up its own thread again if nobody wanted it."""
    lease = await store.claim(claim())
    await clock.advance(60)
    same(await _renew(store, lease), Renewed())
    await raises(Conflict, store.claim(claim(1, holder="process-2")))


async def renewing_nothing_is_nothing(store: Store, clock: FakeClock) -> None:
    """An idle process holds no lease."""
    same(await _renew(store), Renewed())


async def a_blocked_loop_keeps_its_leases(store: Store, clock: FakeClock) -> None:
    """`renew` answers while the event loop runs author code that does not yield."""
    lease = await store.claim(claim())
    await clock.advance(5)
    with ThreadPoolExecutor(1) as pool:
        # Waiting like this blocks the loop, which is the point.
        same(pool.submit(store.renew, [lease], LEASE_MS).result(timeout=10), Renewed())
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.lease_until, clock.now() + LEASE_MS)


async def a_holder_learns_that_it_shall_stop(store: Store, clock: FakeClock) -> None:
    """By its next renewal and by every commit, the first included; asking twice changes nothing."""
    lease = await store.claim(claim())
    other = await store.claim(claim(thread_id="other"))
    same(await store.commit(lease, Commit(now=3_000)), False)
    await store.request_stop(SCOPE, THREAD, lease.fence, by="ann", channel="stop")
    await store.request_stop(SCOPE, THREAD, lease.fence, by="bob", channel="inbox")
    same(await _renew(store, other, lease), Renewed(stop_requested=(lease,)))
    same(await store.commit(lease, Commit(now=3_000)), True)
    same(await store.commit(other, Commit(now=3_000)), False)
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.stopping, True)
    same(view and (view.thread.stop_by, view.thread.stop_channel), ("ann", "stop"))
    same(view and view.thread.revision, 3)
    same(await store.commit(lease, Commit(now=3_001, release=True)), True)
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.stopping, False)
    same(view and (view.thread.stop_by, view.thread.stop_channel), ("ann", "stop"))


async def the_next_claim_forgets_a_stop(store: Store, clock: FakeClock) -> None:
    """Released or taken over; who takes over has seen the wish in what it read."""
    lease = await store.claim(claim())
    await store.request_stop(SCOPE, THREAD, lease.fence, by="ann", channel="stop")
    await clock.advance(LEASE_MS / 1_000)
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.stopping, True)
    lease = await store.claim(claim(1, holder="process-2"))
    same(await store.commit(lease, Commit(now=3_000)), False)
    same(await _renew(store, lease), Renewed())
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.stopping, False)
    same(view and (view.thread.stop_by, view.thread.stop_channel), (None, None))
    await store.request_stop(SCOPE, THREAD, lease.fence)
    view = await store.load(SCOPE, THREAD)
    same(view and (view.thread.stopping, view.thread.stop_by), (True, None))


async def only_the_holder_of_now_can_be_stopped(store: Store, clock: FakeClock) -> None:
    """An idle thread, one taken over, one unknown or of another scope conflicts."""
    old = await store.claim(claim())
    await clock.advance(LEASE_MS / 1_000)
    lease = await store.claim(claim(1, holder="process-2"))
    await raises(Conflict, store.request_stop(SCOPE, THREAD, old.fence))
    await raises(Conflict, store.request_stop(SCOPE, THREAD, lease.fence + 1))
    await raises(Conflict, store.request_stop(SCOPE, "unknown", 1))
    await raises(Conflict, store.request_stop("other", THREAD, lease.fence))
    same(await store.commit(lease, Commit(now=3_000, release=True)), False)
    await raises(Conflict, store.request_stop(SCOPE, THREAD, lease.fence))
