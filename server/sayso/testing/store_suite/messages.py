"""Rules about messages: their order, what is hidden and what waits."""

from sayso.base.records import Commit
from sayso.stores.base import Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import (
    SCOPE,
    THREAD,
    claim,
    message,
    message_ids,
    revision,
    same,
)


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
