"""Rules of a store that is opened, watched for changes of a scope, and closed."""

import asyncio
from dataclasses import replace
from typing import Any

from sayso.base.errors import Conflict, LeaseLost, StoreUnavailable
from sayso.base.progress import CallResult, Progress
from sayso.base.records import Change, Changes, Commit, Lease, PageRequest, Update
from sayso.stores.base import KEPT_CHANGES, Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import (
    LEASE_MS,
    SCOPE,
    THREAD,
    agreed,
    answer,
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


def _change(mark: int, kind: str, changed_at: int, **members: Any) -> Change:
    values: dict[str, Any] = {"thread_id": THREAD, "owner": "ann", "kind": kind}
    return Change(mark=mark, at=changed_at, **(values | members))


async def _since(store: Store, mark: int, scope: str = SCOPE) -> list[tuple[str, str | None]]:
    changes = await store.changes(scope, mark)
    same(changes.gap, False)
    return [(change.kind, change.interrupt_id or change.run_key) for change in changes.items]


async def a_quiet_scope_stays_at_its_mark(store: Store, clock: FakeClock) -> None:
    """Steps, claims, deliveries and renewals are no changes of interrupts."""
    same(await store.changes(SCOPE, None), Changes(mark=0))
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_000, state=b"1", turn=turn(), run=run()))
    await store.mark_delivered(SCOPE, "run_1")
    await store.commit(lease, Commit(now=3_001, release=True))
    same(await store.changes(SCOPE, None), Changes(mark=0))
    same(await store.changes(SCOPE, 0), Changes(mark=0))


async def what_is_asked_answered_and_ended_is_noted(store: Store, clock: FakeClock) -> None:
    """In the order of writing, within the step that does it, each with its mark."""
    questions = (question("int_1"), question("int_2", status="expired"))
    lease = await store.claim(claim())
    over = run(ended_at=3_000, outcome=b"{}")
    paused = turn(status="suspended")
    await store.commit(
        lease, Commit(now=3_000, interrupts=questions, turn=paused, run=over, release=True)
    )
    answered = question("int_1", status="resolved")
    lease = await store.claim(claim(2, run=run("run_2"), interrupts=(answered,), now=4_000))
    expected = (
        _change(1, "opened", 3_000, interrupt_id="int_1"),
        _change(2, "settled", 3_000, interrupt_id="int_2"),
        _change(3, "run_ended", 3_000, run_key="run_1"),
        _change(4, "settled", 4_000, interrupt_id="int_1"),
    )
    same(await store.changes(SCOPE, 0), Changes(mark=4, items=expected))
    same(await store.changes(SCOPE, 0, 3), Changes(mark=3, items=expected[:3]))
    same(await store.changes(SCOPE, 3, 3), Changes(mark=4, items=expected[3:]))
    same(await store.changes(SCOPE, 4), Changes(mark=4))
    same(await store.changes(SCOPE, None), Changes(mark=4))
    await store.commit(lease, Commit(now=5_000, run=run("run_2", ended_at=5_000), release=True))
    same(await _since(store, 4), [("run_ended", "run_2")])


async def each_way_to_change_has_its_name(store: Store, clock: FakeClock) -> None:
    """One note for each interrupt and write, by what counts most; the rest is not noted."""
    interrupt = question("int_1", expires_at=50_000)
    await ask(store, interrupt)
    running = Progress(result=CallResult(status="running", moment=6_000))
    ended = Progress(result=CallResult(status="executed", moment=6_300, text="Refunded", ms=300))
    steps: tuple[tuple[str | None, dict[str, Any]], ...] = (
        ("held", {"held": answer(payload=b"1")}),
        ("held", {"held": answer(payload=b"2")}),
        (
            None,
            {
                "held": answer(payload=b"2"),
                "progress": Progress(roles=("lead",)),
                "metadata": b"{}",
                "message": "Sure?",
            },
        ),
        (None, {"held": answer(payload=b"2"), "progress": Progress()}),
        ("agreed", {"held": answer(payload=b"2"), "progress": agreed("cleo", copied=True)}),
        (None, {"held": answer(payload=b"2"), "progress": agreed("cleo")}),
        ("agreed", {"held": answer(payload=b"2"), "progress": agreed("cleo", "dora")}),
        ("withdrawn", {"held": answer(payload=b"2"), "progress": agreed("dora")}),
        ("agreed", {"progress": agreed("cleo")}),
        ("withdrawn", {"progress": Progress()}),
        ("held", {"held": answer(payload=b"2")}),
        ("withdrawn", {}),
        ("extended", {"expires_at": 60_000}),
        ("extended", {"expires_at": None}),
        ("assigned", {"expires_at": None, "assigned_to": "cleo"}),
        ("assigned", {"expires_at": None}),
        ("reminded", {"expires_at": None, "reminded_at": 7}),
        ("lapsed", {"expires_at": None, "reminded_at": 7, "lapsed_at": 8}),
        ("held", {"expires_at": 70_000, "held": answer(payload=b"1"), "assigned_to": "dora"}),
        ("settled", {"status": "cancelled"}),
        ("settled", {"status": "resolved", "held": answer(payload=b"1")}),
        ("result", {"status": "resolved", "held": answer(payload=b"1"), "progress": running}),
        (None, {"status": "resolved", "held": answer(payload=b"1"), "progress": running}),
        ("result", {"status": "resolved", "held": answer(payload=b"1"), "progress": ended}),
        ("opened", {}),
    )
    for index, (kind, members) in enumerate(steps, 2):
        before = (await store.changes(SCOPE, None)).mark
        await store.update_idle(
            Update(
                scope=SCOPE,
                thread_id=THREAD,
                revision=index,
                now=7_000,
                interrupts=(replace(interrupt, **members),),
            )
        )
        same(await _since(store, before), [(kind, "int_1")] if kind else [])


async def an_interrupt_written_twice_in_a_step_is_compared_in_turn(
    store: Store, clock: FakeClock
) -> None:
    """As if there were two steps."""
    first, then = question("int_1"), question("int_1", assigned_to="cleo")
    await store.claim(claim(interrupts=(first, then, then)))
    same(await _since(store, 0), [("opened", "int_1"), ("assigned", "int_1")])


async def what_failed_is_not_noted(store: Store, clock: FakeClock) -> None:
    """A lost claim, a stale commit, a conflicting settlement."""
    lease = await ask(store, question("int_1"))
    stale = Lease(scope=SCOPE, thread_id=THREAD, holder=lease.holder, fence=9)
    late = question("int_1", status="expired")
    await raises(Conflict, store.claim(claim(1, interrupts=(late,))))
    await raises(LeaseLost, store.commit(stale, Commit(now=3_000, interrupts=(late,))))
    await raises(
        Conflict,
        store.update_idle(
            Update(scope=SCOPE, thread_id=THREAD, revision=1, now=3_000, interrupts=(late,))
        ),
    )
    await raises(Conflict, store.delete(SCOPE, THREAD, 1, 3_000))
    same(await _since(store, 1), [])


async def scopes_count_apart(store: Store, clock: FakeClock) -> None:
    """Each has its own marks and sees its own changes, with the owner to tell whose they are."""
    await ask(store, question("int_1"))
    await ask(store, question("int_2"), scope="other", owner="eve")
    theirs = _change(1, "opened", 2_500, interrupt_id="int_2", owner="eve")
    same(await store.changes("other", 0), Changes(mark=1, items=(theirs,)))
    same(await _since(store, 0), [("opened", "int_1")])


async def who_comes_too_late_is_told(store: Store, clock: FakeClock) -> None:
    """The newest are kept; behind them is a gap, and so is a mark that was never given."""
    await store.claim(claim(interrupts=(question("int_old"),)))
    batch = tuple(question(f"int_{n}") for n in range(1_000))
    for n in range(11):
        await store.claim(claim(thread_id=f"t-{n}", turn=turn(f"turn_{n}"), interrupts=batch))
    newest = 11_001
    kept = newest - KEPT_CHANGES
    same(await store.changes(SCOPE, None), Changes(mark=newest))
    same(await store.changes(SCOPE, 0), Changes(mark=newest, gap=True))
    same(await store.changes(SCOPE, newest + 1), Changes(mark=newest, gap=True))
    same(await store.changes(SCOPE, -1), Changes(mark=newest, gap=True))
    same(await store.changes(SCOPE, newest), Changes(mark=newest))
    first = await store.changes(SCOPE, kept)
    same([change.mark for change in first.items], list(range(kept + 1, kept + 1_001)))
    same((first.mark, first.gap), (kept + 1_000, False))
    everything = await store.changes(SCOPE, kept, 20_000)
    same([c.mark for c in everything.items], list(range(kept + 1, newest + 1)))
