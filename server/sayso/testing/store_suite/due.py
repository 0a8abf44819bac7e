"""Rules of `due_threads`: which threads need the server, and which do not."""

from dataclasses import replace

from sayso.base.records import Commit, Due, Page, PageRequest, Update
from sayso.stores.base import Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import (
    LEASE_MS,
    SCOPE,
    THREAD,
    answer,
    ask,
    claim,
    question,
    raises,
    run,
    same,
    turn,
)


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
