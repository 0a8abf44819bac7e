"""Rules of `open` and `close`."""

import asyncio

from sayso.base.errors import StoreUnavailable
from sayso.base.records import Commit, PageRequest, Update
from sayso.stores.base import Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import (
    LEASE_MS,
    SCOPE,
    THREAD,
    ask,
    claim,
    entry,
    message,
    question,
    raises,
    same,
)


async def opening_and_closing_twice_is_once(store: Store, clock: FakeClock) -> None:
    """Both are idempotent, also when called together."""
    await store.open()
    await asyncio.gather(store.open(), store.open())
    await store.claim(claim())
    await asyncio.gather(store.close(), store.close())
    await store.close()


async def a_closed_store_says_so(store: Store, clock: FakeClock) -> None:
    """Every call raises `StoreUnavailable` until the store is opened again."""
    lease = await store.claim(claim())
    await store.close()
    for call in (
        store.load(SCOPE, THREAD),
        store.journal(SCOPE, "turn_1"),
        store.threads(SCOPE),
        store.interrupts(SCOPE),
        store.interrupt(SCOPE, "int_1"),
        store.runs(SCOPE, THREAD),
        store.changes(SCOPE, None),
        store.claim(claim(1)),
        store.commit(lease, Commit(now=3_000)),
        store.update_idle(Update(scope=SCOPE, thread_id=THREAD, revision=1, now=3_000)),
        store.delete(SCOPE, THREAD, 1, 3_000),
        store.request_stop(SCOPE, THREAD, 1),
        store.mark_delivered(SCOPE, "run_1"),
        store.due_threads(0, PageRequest(limit=10)),
        asyncio.to_thread(store.renew, [lease], LEASE_MS),
    ):
        await raises(StoreUnavailable, call)
    await store.open()
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.revision, 1)


async def opening_again_finds_everything(store: Store, clock: FakeClock) -> None:
    """Threads, journals, leases and what is due are as they were."""
    await ask(store, question("int_1", expires_at=50_000), messages=(message("m-1"),))
    held = await store.claim(claim(thread_id="held", entries=(entry("0"), entry("1"))))
    before = [await store.load(SCOPE, name) for name in (THREAD, "held")]
    await store.close()
    await store.open()
    same([await store.load(SCOPE, name) for name in (THREAD, "held")], before)
    same(await store.journal(SCOPE, "turn_1"), (entry("0"), entry("1")))
    same(
        [due.why for due in (await store.due_threads(50_000, PageRequest(limit=10))).items],
        ["expired"],
    )
    await store.commit(held, Commit(now=3_000, entries=(entry("2"),)))


async def closing_finishes_what_was_accepted(store: Store, clock: FakeClock) -> None:
    """Writes under way when `close` is called are acknowledged and kept."""
    lease = await store.claim(claim())
    writes = [
        asyncio.create_task(store.commit(lease, Commit(now=3_000, entries=(entry(f"{n}"),))))
        for n in range(50)
    ]
    await asyncio.sleep(0)
    await store.close()
    same(await asyncio.gather(*writes, return_exceptions=True), [False] * 50)
    await store.open()
    same(await store.journal(SCOPE, "turn_1"), tuple(entry(f"{n}") for n in range(50)))
