"""Rules of what commits write: fences, order, all or nothing; messages, and journals."""

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
    message_ids,
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


async def messages_stand_in_the_order_of_writing(store: Store, clock: FakeClock) -> None:
    """Over claims and commits, whatever their ids."""
    lease = await store.claim(claim(messages=(message("z"), message("a"))))
    await store.commit(lease, Commit(now=3_000, messages=(message("m"), message("b"))))
    await store.commit(lease, Commit(now=3_001, release=True))
    await store.claim(claim(await revision(store), messages=(message("c"),)))
    same(await message_ids(store), ["z", "a", "m", "b", "c"])


async def a_message_is_replaced_in_its_place(store: Store, clock: FakeClock) -> None:
    """A commit with a stored id changes body, role and visibility, not the position."""
    lease = await store.claim(claim(messages=(message("a"), message("b"), message("c"))))
    changed = message("b", role="assistant", body=b'{"text":"new"}', visibility="hidden")
    await store.commit(lease, Commit(now=3_000, messages=(message("d"), changed)))
    view = await store.load(SCOPE, THREAD)
    same(view and view.messages, (message("a"), changed, message("c"), message("d")))


async def a_stored_message_stays_on_a_claim(store: Store, clock: FakeClock) -> None:
    """Stored messages win by id (design 4, history): a client cannot rewrite what was said."""
    lease = await store.claim(claim(messages=(message("a"), message("b"))))
    await store.commit(lease, Commit(now=3_000, release=True))
    forged = message("a", role="system", body=b'{"forged":true}')
    await store.claim(claim(2, messages=(forged, message("c"))))
    view = await store.load(SCOPE, THREAD)
    same(view and view.messages, (message("a"), message("b"), message("c")))


async def hiding_and_showing_leave_the_place(store: Store, clock: FakeClock) -> None:
    """A message that a client omits is hidden; one it names again comes back where it was."""
    lease = await store.claim(claim(messages=tuple(message(n) for n in "abcd")))
    await store.commit(lease, Commit(now=3_000, release=True))
    lease = await store.claim(claim(2, hide=("b", "c", "unknown"), messages=(message("e"),)))
    same(await message_ids(store), ["a", "-b", "-c", "d", "e"])
    await store.commit(lease, Commit(now=3_000, release=True))
    await store.claim(claim(4, hide=("a",), messages=(message("c", body=b"1"), message("e"))))
    same(await message_ids(store), ["-a", "-b", "c", "d", "e"])
    view = await store.load(SCOPE, THREAD)
    same(view and view.messages[2], message("c"))


async def an_id_that_is_hidden_and_named_is_visible(store: Store, clock: FakeClock) -> None:
    """Hiding comes first."""
    lease = await store.claim(claim(messages=(message("a"),)))
    await store.commit(lease, Commit(now=3_000, release=True))
    await store.claim(claim(2, hide=("a",), messages=(message("a"),)))
    same(await message_ids(store), ["a"])


async def a_new_message_may_come_hidden(store: Store, clock: FakeClock) -> None:
    """Only stored ones come back to sight by being named."""
    hidden = message("a", visibility="hidden")
    await store.claim(claim(messages=(hidden, message("b"))))
    same(await message_ids(store), ["-a", "b"])


async def waiting_messages_stand_behind_the_history(store: Store, clock: FakeClock) -> None:
    """The turn's later messages still come before them."""
    waiting = (message("w-1", visibility="waiting"), message("w-2", visibility="waiting"))
    lease = await store.claim(claim(messages=(message("a"), *waiting)))
    await store.commit(lease, Commit(now=3_000, messages=(message("b"), message("c"))))
    same(await message_ids(store), ["a", "b", "c", "+w-1", "+w-2"])


async def dequeuing_puts_them_at_the_end(store: Store, clock: FakeClock) -> None:
    """In the order in which they came; messages of the same commit stand before them."""
    waiting = (message("w-2", visibility="waiting"), message("w-1", visibility="waiting"))
    lease = await store.claim(claim(messages=(*waiting, message("a"))))
    await store.commit(lease, Commit(now=3_000, messages=(message("b"),), dequeue=True))
    same(await message_ids(store), ["a", "b", "w-2", "w-1"])
    await store.commit(lease, Commit(now=3_001, messages=(message("c"),), dequeue=True))
    same(await message_ids(store), ["a", "b", "w-2", "w-1", "c"])
    view = await store.load(SCOPE, THREAD)
    same(view and view.messages[2], message("w-2"))


async def waiting_messages_can_queue_again(store: Store, clock: FakeClock) -> None:
    """Dequeuing many times keeps the order."""
    lease = await store.claim(claim())
    expected = []
    for n in range(20):
        late = message(f"w-{n}", visibility="waiting")
        await store.commit(lease, Commit(now=3_000, messages=(late, message(f"m-{n}"))))
        await store.commit(lease, Commit(now=3_000, dequeue=True))
        expected += [f"m-{n}", f"w-{n}"]
    same(await message_ids(store), expected)


async def waiting_messages_are_neither_hidden_nor_shown(store: Store, clock: FakeClock) -> None:
    """Hiding and naming change visible and hidden ones only."""
    lease = await store.claim(claim(messages=(message("w", visibility="waiting"),)))
    await store.commit(lease, Commit(now=3_000, release=True))
    await store.claim(claim(2, hide=("w",), messages=(message("w"),)))
    same(await message_ids(store), ["+w"])


async def threads_keep_their_messages_apart(store: Store, clock: FakeClock) -> None:
    """The same ids in two threads of a scope; dequeuing one leaves the other."""
    both = (message("a"), message("w", visibility="waiting"))
    lease = await store.claim(claim(messages=both))
    await store.claim(claim(thread_id="second", messages=both, turn=claim().turn))
    await store.commit(lease, Commit(now=3_000, dequeue=True))
    same(await message_ids(store), ["a", "w"])
    same(await message_ids(store, "second"), ["a", "+w"])


async def entries_stand_in_the_order_of_first_writing(store: Store, clock: FakeClock) -> None:
    """Whatever their places are called."""
    lease = await store.claim(claim(entries=(entry("9"), entry("10"))))
    await store.commit(lease, Commit(now=3_000, entries=(entry("1"), entry("a/2"))))
    await store.commit(lease, Commit(now=3_001, entries=(entry("a/1"),)))
    same(await places(store), ["9", "10", "1", "a/2", "a/1"])


async def an_entry_is_replaced_in_its_place(store: Store, clock: FakeClock) -> None:
    """`started` becomes `done` where it stands, by commit or by claim."""
    first = entry("0", status="started", data=b"null")
    lease = await store.claim(claim(entries=(first, entry("1"))))
    changed = entry("0", kind="call", name="refund", fingerprint="f-2", data=b'"ok"')
    await store.commit(lease, Commit(now=3_000, entries=(changed,), release=True))
    same(await store.journal(SCOPE, "turn_1"), (changed, entry("1")))
    answered = entry("1", status="asked", data=b"7")
    await store.claim(claim(2, entries=(answered, entry("2"))))
    same(await store.journal(SCOPE, "turn_1"), (changed, answered, entry("2")))


async def the_last_of_two_writings_in_one_step_counts(store: Store, clock: FakeClock) -> None:
    """`started` and `done` may ride in one commit."""
    lease = await store.claim(claim())
    twice = (entry("0", status="started"), entry("1"), entry("0", data=b"2"))
    await store.commit(lease, Commit(now=3_000, entries=twice))
    same(await store.journal(SCOPE, "turn_1"), (entry("0", data=b"2"), entry("1")))


async def a_new_turn_drops_the_journals_before_it(store: Store, clock: FakeClock) -> None:
    """By claim or by commit; what comes with the new turn is its own."""
    lease = await store.claim(claim(entries=(entry("0"),)))
    second = turn("turn_2")
    await store.commit(lease, Commit(now=3_000, turn=second, entries=(entry("1"),)))
    same(await places(store, "turn_1"), [])
    same(await places(store, "turn_2"), ["1"])
    await store.commit(lease, Commit(now=3_001, entries=(entry("2"),), release=True))
    same(await places(store, "turn_2"), ["1", "2"])
    revision_known = await revision(store)
    await store.claim(
        claim(revision_known, turn=turn("turn_3"), run=run("run_3"), entries=(entry("3"),))
    )
    same(await places(store, "turn_2"), [])
    same(await places(store, "turn_3"), ["3"])


async def entries_belong_to_the_turn_they_come_with(store: Store, clock: FakeClock) -> None:
    """The one that the same commit names, else the newest."""
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_000, turn=turn("turn_2"), entries=(entry("0"),)))
    await store.commit(lease, Commit(now=3_001, turn=turn(), entries=(entry("1"),)))
    await store.commit(lease, Commit(now=3_002, entries=(entry("2"),)))
    same(await places(store, "turn_1"), ["1"])
    same(await places(store, "turn_2"), ["0", "2"])


async def a_turn_that_goes_on_keeps_its_journal(store: Store, clock: FakeClock) -> None:
    """A claim or commit with a turn that is stored drops nothing."""
    lease = await store.claim(claim(entries=(entry("0"),)))
    await store.commit(lease, Commit(now=3_000, turn=turn(status="suspended"), release=True))
    await store.claim(claim(2, run=run("run_2")))
    same(await places(store), ["0"])


async def forgetting_drops_one_journal(store: Store, clock: FakeClock) -> None:
    """After the entries of the same commit; an unknown turn is no error."""
    lease = await store.claim(claim(entries=(entry("0"),)))
    await store.commit(lease, Commit(now=3_000, forget="turn_9"))
    same(await places(store), ["0"])
    await store.commit(lease, Commit(now=3_000, entries=(entry("1"),), forget="turn_1"))
    same(await places(store), [])
    await store.commit(lease, Commit(now=3_001, entries=(entry("2"),)))
    same(await places(store), ["2"])


async def threads_keep_their_journals_apart(store: Store, clock: FakeClock) -> None:
    """A new turn in one thread leaves the journal of another alone."""
    lease = await store.claim(claim(entries=(entry("0"),)))
    other = claim(thread_id="second", turn=turn("turn_b"), entries=(entry("0", data=b"2"),))
    await store.claim(other)
    await store.commit(lease, Commit(now=3_000, turn=turn("turn_2")))
    same(await store.journal(SCOPE, "turn_b"), (entry("0", data=b"2"),))
