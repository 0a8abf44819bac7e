"""Rules about journals: one per turn, in order, gone with it."""

from sayso.base.records import Commit
from sayso.stores.base import Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import SCOPE, claim, entry, places, revision, run, same, turn


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
