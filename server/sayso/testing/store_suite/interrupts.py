"""Rules about interrupts: asked, answered, found again, due by themselves; and of `update_idle`."""

from dataclasses import replace

from sayso.base.errors import Conflict
from sayso.base.records import Commit, Due, OpenCount, Page, PageRequest, Update
from sayso.base.shown import digest_of
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
    same(view and digest_of(view.interrupts[0]), digest_of(answered))
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
    same(await store.count_all_open(10), OpenCount(count=0))
    for n, scope in enumerate((SCOPE, "a", "z")):
        interrupts = [question(f"int_{n}_{m}", created_at=5_000 - 100 * n + m) for m in range(3)]
        await ask(store, *interrupts, scope=scope)
    same(await store.count_all_open(100), OpenCount(count=9, oldest=4_800))
    same((await store.count_all_open(4)).count, 4)
    now = 9_000
    settled = [question(f"int_2_{m}", status="expired", created_at=4_800 + m) for m in range(2)]
    await store.update_idle(
        Update(scope="z", thread_id=THREAD, revision=2, now=now, interrupts=tuple(settled))
    )
    same(await store.count_all_open(100), OpenCount(count=7, oldest=4_802))
    await raises(ValueError, store.count_all_open(0))


def _due(why: str, thread_id: str = THREAD, scope: str = SCOPE) -> Due:
    return Due(scope=scope, thread_id=thread_id, why=why)  # type: ignore[arg-type]


async def _due_at(store: Store, now: int) -> tuple[Due, ...]:
    page = await store.due_threads(now, PageRequest(limit=10))
    same(page.next, None)
    return page.items


async def a_lease_that_ran_out_is_abandoned(store: Store, clock: FakeClock) -> None:
    """On the store's clock, at its very end; the caller's hour has no say."""
    await store.claim(claim())
    await clock.advance((LEASE_MS - 1) / 1_000)
    same(await _due_at(store, 10**15), ())
    await clock.advance(0.001)
    same(await _due_at(store, 0), (_due("abandoned"),))


async def an_idle_thread_that_finished_is_not_due(store: Store, clock: FakeClock) -> None:
    """Nor one that failed or was cancelled, however old."""
    for status in ("finished", "failed", "cancelled"):
        lease = await store.claim(claim(thread_id=status))
        await store.commit(lease, Commit(now=3_000, turn=turn(status=status), release=True))
    await clock.advance(LEASE_MS)
    same(await _due_at(store, 10**15), ())


async def a_question_expires_at_its_hour(store: Store, clock: FakeClock) -> None:
    """`expires_at` equal to now counts (design 4: resolved at or after it is too late)."""
    await ask(store, question("int_1", expires_at=50_000), question("int_2"))
    same(await _due_at(store, 49_999), ())
    same(await _due_at(store, 50_000), (_due("expired"),))


async def a_question_without_expiry_waits_for_ever(store: Store, clock: FakeClock) -> None:
    """Silence is not an answer (EX-06)."""
    await ask(store, question("int_1"))
    same(await _due_at(store, 10**15), ())


async def a_suspended_turn_with_nothing_open_is_ready(store: Store, clock: FakeClock) -> None:
    """Its answers are there, but nobody came to continue it."""
    await ask(store, question("int_1"), question("int_2", expires_at=60_000))
    await store.update_idle(
        Update(
            scope=SCOPE,
            thread_id=THREAD,
            revision=2,
            now=5_000,
            interrupts=(question("int_1", status="resolved"),),
        )
    )
    same(await _due_at(store, 59_999), ())
    late = question("int_2", expires_at=60_000, status="expired")
    await store.update_idle(
        Update(scope=SCOPE, thread_id=THREAD, revision=3, now=60_000, interrupts=(late,))
    )
    same(await _due_at(store, 0), (_due("ready"),))


async def a_held_thread_is_not_expired_or_ready(store: Store, clock: FakeClock) -> None:
    """Its holder is the one who looks after it."""
    await ask(store, question("int_1", expires_at=50_000))
    answered = question("int_1", expires_at=50_000, status="resolved")
    lease = await store.claim(claim(2, run=run("run_2"), interrupts=(answered,)))
    same(await _due_at(store, 60_000), ())
    for open_now in (question("int_1", expires_at=50_000), answered):
        step = Commit(now=3_000, turn=turn(status="suspended"), interrupts=(open_now,))
        await store.commit(lease, step)
        same(await _due_at(store, 60_000), ())


async def questions_of_earlier_turns_are_not_due(store: Store, clock: FakeClock) -> None:
    """Only the newest turn counts, also for being ready."""
    await ask(store, question("int_1", expires_at=50_000))
    lease = await store.claim(claim(2, turn=turn("turn_2"), run=run("run_2")))
    waits = question("int_2", turn_key="turn_2")
    suspended = turn("turn_2", status="suspended")
    await store.commit(lease, Commit(now=3_000, interrupts=(waits,), turn=suspended, release=True))
    same(await _due_at(store, 10**15), ())
    settled = question("int_2", turn_key="turn_2", status="cancelled")
    await store.update_idle(
        Update(scope=SCOPE, thread_id=THREAD, revision=4, now=5_000, interrupts=(settled,))
    )
    same(await _due_at(store, 10**15), (_due("ready"),))


async def a_thread_is_named_once(store: Store, clock: FakeClock) -> None:
    """Several questions that expired are one visit."""
    await ask(store, *(question(f"int_{n}", expires_at=50_000 + n) for n in range(5)))
    same(await _due_at(store, 60_000), (_due("expired"),))


async def the_oldest_come_first_up_to_the_limit(store: Store, clock: FakeClock) -> None:
    """Over all reasons and scopes: by the lease's end, the earliest expiry, the last write."""
    now = clock.now()
    await store.claim(claim(thread_id="abandoned", lease_ms=300))
    expiring = question("int_1", expires_at=now + 200)
    await ask(store, question("int_2", expires_at=now + 900), expiring, thread_id="expired")
    await ask(store, question("int_1", status="resolved"), thread_id="ready", now=now + 100)
    await ask(store, question("int_1", expires_at=now + 400), thread_id="late", scope="other")
    await clock.advance(1)
    expected = (
        _due("ready", "ready"),
        _due("expired", "expired"),
        _due("abandoned", "abandoned"),
        _due("expired", "late", "other"),
    )
    same(await _due_at(store, clock.now()), expected)
    first = await store.due_threads(clock.now(), PageRequest(limit=2))
    same(first.items, expected[:2])
    same(await store.due_threads(clock.now(), PageRequest(first.next, 2)), Page(items=expected[2:]))
    await raises(ValueError, store.due_threads(clock.now(), PageRequest(limit=0)))
    await raises(ValueError, store.due_threads(clock.now(), PageRequest("nonsense", 2)))


async def a_claim_ends_being_due(store: Store, clock: FakeClock) -> None:
    """Whoever takes the thread takes the work."""
    await ask(store, question("int_1", status="resolved"))
    same(await _due_at(store, 0), (_due("ready"),))
    lease = await store.claim(claim(2, run=run("run_2")))
    same(await _due_at(store, 0), ())
    await store.commit(lease, Commit(now=3_000, turn=turn(status="finished"), release=True))
    same(await _due_at(store, 0), ())


async def pages_lead_past_what_cannot_be_helped(store: Store, clock: FakeClock) -> None:
    """However many stay due, those behind them are reached, each once, in order."""
    await ask(store, question("int_1", status="resolved"), thread_id="ready", now=70_000)
    for n in range(7):
        late = question(f"int_{n}", expires_at=50_000 + n // 3)
        await ask(store, late, thread_id=f"t-{n}")
    ids: list[str] = []
    after = None
    for _ in range(10):
        page = await store.due_threads(60_000, PageRequest(after, 3))
        ids += [due.thread_id for due in page.items]
        after = page.next
        if after is None:
            break
    same(ids, [*(f"t-{n}" for n in range(7)), "ready"])


async def a_reminder_is_due_at_its_hour_once(store: Store, clock: FakeClock) -> None:
    """Until somebody notes that it was given; moving it makes it due again."""
    interrupt = question("int_1", expires_at=90_000, remind_at=80_000)
    await ask(store, interrupt, question("int_2", remind_at=85_000))
    same(await _due_at(store, 79_999), ())
    same(await _due_at(store, 80_000), (_due("remind"),))
    reminded = replace(interrupt, reminded_at=80_500)
    await store.update_idle(
        Update(scope=SCOPE, thread_id=THREAD, revision=2, now=80_500, interrupts=(reminded,))
    )
    same(await _due_at(store, 84_999), ())
    same(await _due_at(store, 85_000), (_due("remind"),))
    later = question("int_2", remind_at=89_000)
    await store.update_idle(
        Update(scope=SCOPE, thread_id=THREAD, revision=3, now=85_001, interrupts=(later,))
    )
    same(await _due_at(store, 88_999), ())
    same(await _due_at(store, 89_999), (_due("remind"),))
    same(await _due_at(store, 90_000), (_due("expired"),))


async def what_is_settled_is_not_reminded(store: Store, clock: FakeClock) -> None:
    """Nor what is of a turn that ended, nor while somebody runs the thread."""
    await ask(store, question("int_1", remind_at=80_000))
    settled = question("int_1", remind_at=80_000, status="resolved")
    lease = await store.claim(claim(2, run=run("run_2"), interrupts=(settled,)))
    again = question("int_2", remind_at=80_000)
    await store.commit(lease, Commit(now=3_000, interrupts=(again,)))
    same(await _due_at(store, 85_000), ())
    done = turn(status="finished")
    await store.commit(lease, Commit(now=3_000, turn=done, release=True))
    same(await _due_at(store, 85_000), ())


async def a_kept_answer_neither_expires_nor_is_reminded(store: Store, clock: FakeClock) -> None:
    """It was given in time; a question whose answer is withdrawn waits again."""
    interrupt = question("int_1", expires_at=50_000, remind_at=40_000)
    await ask(store, interrupt, question("int_2"))
    held = replace(interrupt, held=answer())
    await store.update_idle(
        Update(scope=SCOPE, thread_id=THREAD, revision=2, now=5_000, interrupts=(held,))
    )
    same(await _due_at(store, 60_000), ())
    await store.update_idle(
        Update(scope=SCOPE, thread_id=THREAD, revision=3, now=6_000, interrupts=(interrupt,))
    )
    same(await _due_at(store, 45_000), (_due("remind"),))
    same(await _due_at(store, 60_000), (_due("expired"),))


async def kept_answers_to_all_make_a_turn_ready(store: Store, clock: FakeClock) -> None:
    """Whoever kept the last one may have died before going on."""
    questions = (question("int_1"), question("int_2", expires_at=50_000))
    await ask(store, *questions)
    held = tuple(replace(i, held=answer("cancelled")) for i in questions)
    await store.update_idle(
        Update(scope=SCOPE, thread_id=THREAD, revision=2, now=5_000, interrupts=held[:1])
    )
    same(await _due_at(store, 40_000), ())
    await store.update_idle(
        Update(scope=SCOPE, thread_id=THREAD, revision=3, now=6_000, interrupts=held[1:])
    )
    same(await _due_at(store, 40_000), (_due("ready"),))


async def a_question_that_lapsed_is_not_due(store: Store, clock: FakeClock) -> None:
    """Its expiry was looked after: it stays open, and its turn is not ready (design 4, hold)."""
    interrupt = question("int_1", expires_at=50_000)
    await ask(store, interrupt)
    await store.update_idle(
        Update(
            scope=SCOPE,
            thread_id=THREAD,
            revision=2,
            now=50_100,
            interrupts=(replace(interrupt, lapsed_at=50_100),),
        )
    )
    same(await _due_at(store, 10**15), ())
