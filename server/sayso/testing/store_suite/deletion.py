"""Rules of `delete`: nothing is left, and nothing of before fits what comes after."""

import asyncio
from typing import Any

from sayso.base.errors import Conflict, LeaseLost
from sayso.base.records import Commit, InterruptFilter, Page, PageRequest, Renewed, Update
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
    run,
    same,
    turn,
)


async def a_deleted_thread_is_gone_with_everything(store: Store, clock: FakeClock) -> None:
    """Messages, turns, runs, interrupts, journal, state, private values; a new one has none of it.

    The audit trail stays: its rules say how.
    """
    questions = (question("int_1", expires_at=50_000, remind_at=40_000), question("int_2"))
    begun: dict[str, Any] = {
        "messages": (message("m-1"),),
        "entries": (entry("0"),),
        "state": b"[1]",
        "kept": b"[2]",
    }
    await ask(store, *questions, **begun)
    await store.delete(SCOPE, THREAD, 2, 9_000)
    same(await store.load(SCOPE, THREAD, run_id="r-1", interrupt_ids=["int_1"]), None)
    same(await store.journal(SCOPE, "turn_1"), ())
    same(await store.threads(SCOPE), Page(items=()))
    same(await store.interrupts(SCOPE), Page(items=()))
    same(await store.interrupts(SCOPE, InterruptFilter(status="open")), Page(items=()))
    same(await store.interrupts(SCOPE, InterruptFilter(thread_id=THREAD)), Page(items=()))
    same(await store.interrupt(SCOPE, "int_1"), None)
    same(await store.runs(SCOPE, THREAD), Page(items=()))
    same(await store.due_threads(60_000, PageRequest(limit=10)), Page(items=()))
    await store.mark_delivered(SCOPE, "run_1")
    await raises(
        Conflict, store.update_idle(Update(scope=SCOPE, thread_id=THREAD, revision=2, now=9_000))
    )
    await store.claim(claim(owner="bob", turn=turn("turn_2"), run=run("run_2", run_id="r-2")))
    view = await store.load(SCOPE, THREAD, run_id="r-1", interrupt_ids=["int_1", "int_2"])
    same(view and view.thread.owner, "bob")
    same(view and (view.thread.state, view.thread.kept), (b"{}", None))
    same(view and (view.messages, view.interrupts, view.named_run), ((), (), None))
    same(await store.journal(SCOPE, "turn_1"), ())
    same(await store.runs(SCOPE, THREAD), Page(items=(run("run_2", run_id="r-2"),)))


async def a_deletion_is_noted(store: Store, clock: FakeClock) -> None:
    """With the owner, who may watch; its interrupts have no notes of their own."""
    await ask(store, question("int_1"))
    await store.delete(SCOPE, THREAD, 2, 9_000)
    changes = await store.changes(SCOPE, 1)
    (change,) = changes.items
    same((change.mark, change.kind, change.thread_id), (2, "deleted", THREAD))
    same((change.owner, change.at, change.interrupt_id), ("ann", 9_000, None))


async def others_lose_nothing_by_a_deletion(store: Store, clock: FakeClock) -> None:
    """The same ids in another thread and in another scope stay."""
    members: dict[str, Any] = {
        "messages": (message("m-1"),),
        "entries": (entry("0"),),
        "state": b"[1]",
    }
    for scope, name in ((SCOPE, THREAD), (SCOPE, "second"), ("other", THREAD)):
        await ask(store, question("int_1"), scope=scope, thread_id=name, **members)
    places = ((SCOPE, "second"), ("other", THREAD))
    before = [await store.load(*place, run_id="r-1") for place in places]
    await store.delete(SCOPE, THREAD, 2, 9_000)
    same([await store.load(*place, run_id="r-1") for place in places], before)
    for scope, name in places:
        listed = await store.interrupt(scope, "int_1")
        same(listed and listed.thread_id, name)
        same(await store.runs(scope, name), Page(items=(run(),)))
    same(await store.journal("other", "turn_1"), (entry("0"),))


async def only_what_was_read_is_deleted(store: Store, clock: FakeClock) -> None:
    """Another revision, an unknown thread, another scope conflict and delete nothing."""
    await ask(store, question("int_1"))
    before = await store.load(SCOPE, THREAD)
    for revision_known in (0, 1, 3):
        await raises(Conflict, store.delete(SCOPE, THREAD, revision_known, 9_000))
    await raises(Conflict, store.delete(SCOPE, "unknown", 0, 9_000))
    await raises(Conflict, store.delete("other", THREAD, 2, 9_000))
    same(await store.load(SCOPE, THREAD), before)


async def a_thread_that_somebody_runs_is_not_deleted(store: Store, clock: FakeClock) -> None:
    """Until its lease has run out; then the former holder can no longer write."""
    lease = await store.claim(claim())
    await raises(Conflict, store.delete(SCOPE, THREAD, 1, 9_000))
    await clock.advance(LEASE_MS / 1_000)
    await store.delete(SCOPE, THREAD, 1, 9_000)
    await raises(LeaseLost, store.commit(lease, Commit(now=9_001)))
    same(await asyncio.to_thread(store.renew, [lease], LEASE_MS), Renewed(lost=(lease,)))
    same(await store.load(SCOPE, THREAD), None)


async def a_successor_is_not_taken_for_it(store: Store, clock: FakeClock) -> None:
    """Under the same id: no lease, no revision and no stop of before fits the new thread."""
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_000))
    await clock.advance(LEASE_MS / 1_000)
    await store.delete(SCOPE, THREAD, 2, 9_000)
    new = await store.claim(claim())
    same(new.fence > lease.fence, True)
    await raises(LeaseLost, store.commit(lease, Commit(now=9_001, state=b"9")))
    await raises(Conflict, store.request_stop(SCOPE, THREAD, lease.fence))
    await store.commit(new, Commit(now=9_002, release=True))
    for revision_known in (1, 2):
        await raises(
            Conflict,
            store.update_idle(
                Update(scope=SCOPE, thread_id=THREAD, revision=revision_known, now=9_003)
            ),
        )
        await raises(Conflict, store.claim(claim(revision_known)))
        await raises(Conflict, store.delete(SCOPE, THREAD, revision_known, 9_003))
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.state, b"{}")


async def a_new_thread_begins_above_all_that_were_deleted(store: Store, clock: FakeClock) -> None:
    """The highest revision and the highest fence count, whichever thread had them, and when."""
    busy = await store.claim(claim(thread_id="busy"))
    for _ in range(5):
        await store.commit(busy, Commit(now=3_000))
    await store.commit(busy, Commit(now=3_000, release=True))
    for revision_known in (0, 2, 4):
        often = await store.claim(claim(revision_known, thread_id="often"))
        await store.commit(often, Commit(now=3_000, release=True))
    await store.claim(claim(thread_id="young", lease_ms=1))
    await clock.advance(1)
    for thread_id, revision_known in (("busy", 7), ("often", 6), ("young", 1)):
        await store.delete(SCOPE, thread_id, revision_known, 9_000)
    lease = await store.claim(claim())
    view = await store.load(SCOPE, THREAD)
    same((lease.fence, view and view.thread.revision), (4, 8))
    elsewhere = await store.claim(claim(scope="other"))
    same(elsewhere.fence, 1)
