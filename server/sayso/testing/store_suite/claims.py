"""Rules of claims and leases: who may write a thread, and for how long."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from sayso.base.errors import Conflict
from sayso.base.records import Commit, Lease, Principal, Renewed
from sayso.stores.base import Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import (
    LEASE_MS,
    SCOPE,
    THREAD,
    claim,
    entry,
    message,
    question,
    raises,
    revision,
    run,
    same,
    turn,
)


async def a_new_thread_is_claimed_at_revision_zero(store: Store, clock: FakeClock) -> None:
    """Its first fence is 1, its first revision too."""
    lease = await store.claim(claim())
    same(lease, Lease(scope=SCOPE, thread_id=THREAD, holder="process-1", fence=1))
    same(await revision(store), 1)


async def a_thread_that_exists_is_not_new(store: Store, clock: FakeClock) -> None:
    """Revision 0 on a stored thread conflicts, idle or held."""
    lease = await store.claim(claim())
    await raises(Conflict, store.claim(claim()))
    await store.commit(lease, Commit(now=3_000, release=True))
    await raises(Conflict, store.claim(claim()))


async def a_thread_that_does_not_exist_has_no_revision(store: Store, clock: FakeClock) -> None:
    """A revision of a thread that is unknown conflicts and creates nothing."""
    await raises(Conflict, store.claim(claim(1)))
    same(await store.load(SCOPE, THREAD), None)


async def a_claim_needs_the_revision_of_now(store: Store, clock: FakeClock) -> None:
    """Any write between reading and claiming makes the claim conflict."""
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_000, state=b"1", release=True))
    await raises(Conflict, store.claim(claim(1)))
    await raises(Conflict, store.claim(claim(3)))
    await store.claim(claim(2))


async def a_held_thread_is_not_claimed(store: Store, clock: FakeClock) -> None:
    """Not even by its own holder."""
    await store.claim(claim())
    await raises(Conflict, store.claim(claim(1, holder="process-2")))
    await raises(Conflict, store.claim(claim(1)))


async def a_lease_runs_out_on_the_store_s_clock(store: Store, clock: FakeClock) -> None:
    """At its very end it is over; the `now` of the claim has no say."""
    await store.claim(claim())
    await clock.advance((LEASE_MS - 1) / 1_000)
    await raises(Conflict, store.claim(claim(1, holder="process-2", now=10**15)))
    await clock.advance(0.001)
    lease = await store.claim(claim(1, holder="process-2", now=1))
    same(lease.fence, 2)
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.holder, "process-2")
    same(view and view.thread.lease_until, clock.now() + LEASE_MS)
    same(view and view.thread.updated_at, 1)


async def a_lost_claim_writes_nothing(store: Store, clock: FakeClock) -> None:
    """Nothing of turn, run, messages, state, interrupts or entries."""
    await store.claim(claim(messages=(message("m-1"),), entries=(entry("0"),)))
    before = await store.load(SCOPE, THREAD)
    await raises(
        Conflict,
        store.claim(
            claim(
                1,
                agent="other",
                turn=turn("turn_2"),
                run=run("run_2"),
                state=b"9",
                messages=(message("m-2"),),
                hide=("m-1",),
                interrupts=(question("int_1"),),
                entries=(entry("9"),),
            )
        ),
    )
    same(await store.load(SCOPE, THREAD, interrupt_ids=["int_1"]), before)
    same(await store.journal(SCOPE, "turn_1"), (entry("0"),))
    same(await store.journal(SCOPE, "turn_2"), ())


async def of_concurrent_claims_one_wins(store: Store, clock: FakeClock) -> None:
    """New threads and idle ones; the winner's writes are there and nobody else's."""
    for revision_known in (0, 2):
        outcomes = await asyncio.gather(
            *(
                store.claim(claim(revision_known, holder=f"p-{n}", state=b"%d" % n))
                for n in range(20)
            ),
            return_exceptions=True,
        )
        won = [outcome for outcome in outcomes if isinstance(outcome, Lease)]
        same(len(won), 1)
        same(sum(isinstance(outcome, Conflict) for outcome in outcomes), 19)
        view = await store.load(SCOPE, THREAD)
        same(view and view.thread.holder, won[0].holder)
        same(view and view.thread.state, won[0].holder.removeprefix("p-").encode())
        await store.commit(won[0], Commit(now=3_000, release=True))


async def fences_grow_with_every_claim(store: Store, clock: FakeClock) -> None:
    """Released or abandoned, the next one is higher by one."""
    revision_known = 0
    for fence in range(1, 6):
        lease = await store.claim(claim(revision_known))
        same(lease.fence, fence)
        if fence % 2:
            await store.commit(lease, Commit(now=3_000, release=True))
        else:
            await clock.advance(LEASE_MS / 1_000)
        revision_known = await revision(store)


async def the_owner_stays_and_the_agent_follows(store: Store, clock: FakeClock) -> None:
    """A later claim cannot give a thread away, but another agent may continue it."""
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_000, release=True))
    await store.claim(claim(2, owner="eve", agent="ops", now=4_000))
    view = await store.load(SCOPE, THREAD)
    same(view and (view.thread.owner, view.thread.agent), ("ann", "ops"))
    same(view and (view.thread.created_at, view.thread.updated_at), (2_000, 4_000))


async def state_is_written_only_when_given(store: Store, clock: FakeClock) -> None:
    """None leaves what is stored; the empty object and JSON null are values."""
    lease = await store.claim(claim(state=b'{"a":1}'))
    for written, stored in ((None, b'{"a":1}'), (b"null", b"null"), (b"{}", b"{}")):
        await store.commit(lease, Commit(now=3_000, state=written, release=True))
        lease = await store.claim(claim(await revision(store)))
        view = await store.load(SCOPE, THREAD)
        same(view and view.thread.state, stored)


async def private_values_are_written_only_when_given(store: Store, clock: FakeClock) -> None:
    """None leaves what is stored, also of a thread that has none; a claim may bring some."""
    lease = await store.claim(claim())
    for written, stored in (
        (None, None),
        (b'{"a":1}', b'{"a":1}'),
        (None, b'{"a":1}'),
        (b"1", b"1"),
    ):
        await store.commit(lease, Commit(now=3_000, kept=written, state=b"2", release=True))
        lease = await store.claim(claim(await revision(store)))
        view = await store.load(SCOPE, THREAD)
        same(view and (view.thread.kept, view.thread.state), (stored, b"2"))
    await store.commit(lease, Commit(now=4_000, release=True))
    await store.claim(claim(await revision(store), kept=b"3"))
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.kept, b"3")


async def a_takeover_writes_the_same_turn_again(store: Store, clock: FakeClock) -> None:
    """An existing key is replaced, its journal kept: recovery continues where the dead stopped."""
    await store.claim(claim(entries=(entry("0"), entry("1", status="started"))))
    await clock.advance(LEASE_MS / 1_000)
    changed = turn(
        agent="ops",
        version="2",
        request=b'{"other":1}',
        principal=Principal(subject="bob", scope="elsewhere"),
        started_at=7_000,
        ended_at=8_000,
    )
    await store.claim(claim(1, holder="process-2", turn=changed, run=run("run_2")))
    view = await store.load(SCOPE, THREAD)
    same(view and view.turn, changed)
    same(view and view.run, run("run_2"))
    same(await store.journal(SCOPE, "turn_1"), (entry("0"), entry("1", status="started")))


async def many_threads_are_claimed_at_once(store: Store, clock: FakeClock) -> None:
    """Concurrent work on different threads does not get in its own way."""

    async def live(n: int) -> None:
        lease = await store.claim(claim(thread_id=f"t-{n}", turn=turn(f"turn_{n}")))
        for step in range(5):
            await store.commit(lease, Commit(now=3_000 + step, entries=(entry(f"{n}/{step}"),)))
        await store.commit(lease, Commit(now=4_000, state=b"%d" % n, release=True))

    await asyncio.gather(*(live(n) for n in range(100)))
    for n in range(100):
        view = await store.load(SCOPE, f"t-{n}")
        same(view and view.thread.state, b"%d" % n)
        same(view and view.thread.revision, 7)
        steps = tuple(entry(f"{n}/{step}") for step in range(5))
        same(await store.journal(SCOPE, f"turn_{n}"), steps)


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
