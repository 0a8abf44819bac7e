"""Rules about interrupts: asked, answered, found again; and of `update_idle`."""

from dataclasses import replace

from sayso.base.errors import Conflict
from sayso.base.records import Commit, OpenCount, Update
from sayso.stores.base import Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import (
    LEASE_MS,
    PROGRESS,
    SCOPE,
    TERMS,
    THREAD,
    answer,
    ask,
    claim,
    entry,
    question,
    raises,
    run,
    same,
    turn,
)


async def an_answer_replaces_its_question(store: Store, clock: FakeClock) -> None:
    """By id, in its place, in the step that claims the thread (design 4)."""
    await ask(store, question("int_2"), question("int_1"))
    answered = question(
        "int_2",
        place="elsewhere",
        reason="input_required",
        created_at=9_000,
        message="Sure?",
        tool_call_id="call_2",
        response_schema=b"true",
        metadata=b"[2]",
        terms=TERMS,
        progress=PROGRESS,
        expires_at=99_000,
        status="resolved",
        payload=b"true",
        answer_metadata=b"[3]",
        decided_by="bob",
        decided_at=9_001,
        channel="inbox",
        run_key="run_2",
        held=answer(),
        assigned_to="cleo",
        remind_at=90_000,
        reminded_at=90_001,
        lapsed_at=99_001,
    )
    await store.claim(claim(2, interrupts=(answered,)))
    view = await store.load(SCOPE, THREAD)
    same(view and view.interrupts, (answered, question("int_1")))
    lease = await store.claim(claim(thread_id="second"))
    moved = question("int_2", turn_key="turn_2")
    second = turn("turn_2")
    await store.commit(lease, Commit(now=3_000, interrupts=(question("int_2"),)))
    await store.commit(lease, Commit(now=3_001, interrupts=(moved,), turn=second))
    view = await store.load(SCOPE, "second")
    same(view and view.interrupts, (moved,))


async def questions_stand_in_the_order_of_asking(store: Store, clock: FakeClock) -> None:
    """Over several commits, whatever their ids; an answer does not move them."""
    lease = await store.claim(claim())
    for name in ("int_c", "int_a", "int_b"):
        await store.commit(lease, Commit(now=3_000, interrupts=(question(name),)))
    again = question("int_c", status="cancelled")
    await store.commit(lease, Commit(now=3_001, interrupts=(again,)))
    view = await store.load(SCOPE, THREAD)
    same(view and [i.id for i in view.interrupts], ["int_c", "int_a", "int_b"])
    same(view and view.interrupts[0], again)


async def a_thousand_questions_fit_in_one_step(store: Store, clock: FakeClock) -> None:
    """The limit of one turn (design 4); they come back in order, and can be asked for by id."""
    interrupts = tuple(question(f"int_{n * 7919 % 1000}", message=str(n)) for n in range(1_000))
    await ask(store, *interrupts)
    view = await store.load(SCOPE, THREAD, interrupt_ids=[i.id for i in interrupts])
    same(view and view.interrupts, interrupts)
    settled = tuple(replace(i, status="resolved", payload=b"1") for i in interrupts)
    await store.claim(claim(2, turn=turn("turn_2"), interrupts=settled))
    later = await store.load(SCOPE, THREAD, interrupt_ids=[i.id for i in reversed(interrupts)])
    same(later and later.interrupts, settled)


async def earlier_turns_are_found_by_id(store: Store, clock: FakeClock) -> None:
    """After the newest turn's, in order of asking, each once; others stay away."""
    old = (question("int_b", status="resolved"), question("int_a", status="expired"))
    await ask(store, *old, question("int_c", status="resolved"))
    lease = await store.claim(claim(2, turn=turn("turn_2"), run=run("run_2")))
    new = question("int_d", turn_key="turn_2")
    await store.commit(lease, Commit(now=3_000, interrupts=(new,)))
    view = await store.load(SCOPE, THREAD)
    same(view and view.interrupts, (new,))
    ids = ["int_a", "int_d", "int_b", "int_a", "int_9"]
    view = await store.load(SCOPE, THREAD, interrupt_ids=ids)
    same(view and view.interrupts, (new, *old))


async def questions_of_other_threads_are_not_found(store: Store, clock: FakeClock) -> None:
    """An id works in its own thread only (CR-1), in the same scope too."""
    await ask(store, question("int_1"))
    await store.claim(claim(thread_id="second", turn=turn("turn_9")))
    view = await store.load(SCOPE, "second", interrupt_ids=["int_1"])
    same(view and view.interrupts, ())


async def settling_counts_a_revision_and_no_fence(store: Store, clock: FakeClock) -> None:
    """Nobody runs the thread for it."""
    await ask(store, question("int_1"), question("int_2"))
    expired = question("int_1", status="expired", decided_at=5_000)
    await store.update_idle(
        Update(scope=SCOPE, thread_id=THREAD, revision=2, now=5_000, interrupts=(expired,))
    )
    view = await store.load(SCOPE, THREAD)
    same(view and view.interrupts, (expired, question("int_2")))
    same(view and (view.thread.revision, view.thread.fence), (3, 1))
    same(view and (view.thread.updated_at, view.thread.holder), (5_000, None))


async def an_edit_writes_state_and_entries_without_a_run(store: Store, clock: FakeClock) -> None:
    """Both belong to the step that counts the revision; entries are the newest turn's."""
    await ask(store, question("int_1"), entries=(entry("0"),), state=b'{"a":1}')
    edit = entry("pause:0/edit:0", kind="edit")
    await store.update_idle(
        Update(
            scope=SCOPE, thread_id=THREAD, revision=2, now=5_000, state=b'{"a":2}', entries=(edit,)
        )
    )
    view = await store.load(SCOPE, THREAD)
    same(view and (view.thread.state, view.thread.revision), (b'{"a":2}', 3))
    same(view and view.interrupts, (question("int_1"),))
    same(await store.journal(SCOPE, "turn_1"), (entry("0"), edit))
    await raises(
        Conflict,
        store.update_idle(
            Update(
                scope=SCOPE, thread_id=THREAD, revision=2, now=6_000, state=b"9", entries=(edit,)
            )
        ),
    )
    await store.update_idle(
        Update(
            scope=SCOPE, thread_id=THREAD, revision=3, now=6_000, entries=(entry("0", data=b"[2]"),)
        )
    )
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.state, b'{"a":2}')
    same(await store.journal(SCOPE, "turn_1"), (entry("0", data=b"[2]"), edit))


async def settling_needs_the_revision_of_now(store: Store, clock: FakeClock) -> None:
    """An answer that came in between wins."""
    await ask(store, question("int_1"))
    expired = question("int_1", status="expired")
    for revision_known in (0, 1, 3):
        await raises(
            Conflict,
            store.update_idle(
                Update(
                    scope=SCOPE,
                    thread_id=THREAD,
                    revision=revision_known,
                    now=5_000,
                    interrupts=(expired,),
                )
            ),
        )
    await raises(
        Conflict,
        store.update_idle(
            Update(scope=SCOPE, thread_id="unknown", revision=0, now=5_000, interrupts=(expired,))
        ),
    )
    view = await store.load(SCOPE, THREAD)
    same(view and (view.thread.revision, view.interrupts), (2, (question("int_1"),)))


async def settling_needs_an_idle_thread(store: Store, clock: FakeClock) -> None:
    """A held one conflicts, also when its lease ran out: it has to be claimed."""
    await store.claim(claim(interrupts=(question("int_1"),)))
    expired = question("int_1", status="expired")
    await raises(
        Conflict,
        store.update_idle(
            Update(scope=SCOPE, thread_id=THREAD, revision=1, now=5_000, interrupts=(expired,))
        ),
    )
    await clock.advance(LEASE_MS / 1_000)
    await raises(
        Conflict,
        store.update_idle(
            Update(scope=SCOPE, thread_id=THREAD, revision=1, now=5_000, interrupts=(expired,))
        ),
    )


async def what_waits_is_counted_over_all_scopes(store: Store, clock: FakeClock) -> None:
    """Up to a number; the oldest is found wherever it is, and settled ones no longer count."""
    same(await store.count_open(10), OpenCount(count=0))
    for n, scope in enumerate((SCOPE, "a", "z")):
        interrupts = [question(f"int_{n}_{m}", created_at=5_000 - 100 * n + m) for m in range(3)]
        await ask(store, *interrupts, scope=scope)
    same(await store.count_open(100), OpenCount(count=9, oldest=4_800))
    same((await store.count_open(4)).count, 4)
    now = 9_000
    settled = [question(f"int_2_{m}", status="expired", created_at=4_800 + m) for m in range(2)]
    await store.update_idle(
        Update(scope="z", thread_id=THREAD, revision=2, now=now, interrupts=tuple(settled))
    )
    same(await store.count_open(100), OpenCount(count=7, oldest=4_802))
    await raises(ValueError, store.count_open(0))
