"""Rules of `due`: which threads need the server, and which do not."""

from sayso.records import Commit, Due
from sayso.stores.base import Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import (
    LEASE_MS,
    SCOPE,
    THREAD,
    ask,
    claim,
    question,
    run,
    same,
    turn,
)


def _due(why: str, thread_id: str = THREAD, scope: str = SCOPE) -> Due:
    return Due(scope=scope, thread_id=thread_id, why=why)  # type: ignore[arg-type]


async def a_lease_that_ran_out_is_abandoned(store: Store, clock: FakeClock) -> None:
    """On the store's clock, at its very end; the caller's hour has no say."""
    await store.claim(claim())
    await clock.advance((LEASE_MS - 1) / 1_000)
    same(await store.due(10**15, 10), ())
    await clock.advance(0.001)
    same(await store.due(0, 10), (_due("abandoned"),))


async def an_idle_thread_that_finished_is_not_due(store: Store, clock: FakeClock) -> None:
    """Nor one that failed or was cancelled, however old."""
    for status in ("finished", "failed", "cancelled"):
        lease = await store.claim(claim(thread_id=status))
        await store.commit(lease, Commit(now=3_000, turn=turn(status=status), release=True))
    await clock.advance(LEASE_MS)
    same(await store.due(10**15, 10), ())


async def a_question_expires_at_its_hour(store: Store, clock: FakeClock) -> None:
    """`expires_at` equal to now counts (design 4: resolved at or after it is too late)."""
    await ask(store, question("int_1", expires_at=50_000), question("int_2"))
    same(await store.due(49_999, 10), ())
    same(await store.due(50_000, 10), (_due("expired"),))


async def a_question_without_expiry_waits_for_ever(store: Store, clock: FakeClock) -> None:
    """Silence is not an answer (EX-06)."""
    await ask(store, question("int_1"))
    same(await store.due(10**15, 10), ())


async def a_suspended_turn_with_nothing_open_is_ready(store: Store, clock: FakeClock) -> None:
    """Its answers are there, but nobody came to go on."""
    await ask(store, question("int_1"), question("int_2", expires_at=60_000))
    await store.settle(SCOPE, THREAD, 2, [question("int_1", status="resolved")], 5_000)
    same(await store.due(59_999, 10), ())
    late = question("int_2", expires_at=60_000, status="expired")
    await store.settle(SCOPE, THREAD, 3, [late], 60_000)
    same(await store.due(0, 10), (_due("ready"),))


async def a_held_thread_is_not_expired_or_ready(store: Store, clock: FakeClock) -> None:
    """Its holder is the one who looks after it."""
    await ask(store, question("int_1", expires_at=50_000))
    answered = question("int_1", expires_at=50_000, status="resolved")
    lease = await store.claim(claim(2, run=run("run_2"), interrupts=(answered,)))
    same(await store.due(60_000, 10), ())
    for open_now in (question("int_1", expires_at=50_000), answered):
        step = Commit(now=3_000, turn=turn(status="suspended"), interrupts=(open_now,))
        await store.commit(lease, step)
        same(await store.due(60_000, 10), ())


async def questions_of_earlier_turns_are_not_due(store: Store, clock: FakeClock) -> None:
    """Only the newest turn counts, also for being ready."""
    await ask(store, question("int_1", expires_at=50_000))
    lease = await store.claim(claim(2, turn=turn("turn_2"), run=run("run_2")))
    waits = question("int_2", turn_key="turn_2")
    suspended = turn("turn_2", status="suspended")
    await store.commit(lease, Commit(now=3_000, interrupts=(waits,), turn=suspended, release=True))
    same(await store.due(10**15, 10), ())
    settled = question("int_2", turn_key="turn_2", status="cancelled")
    await store.settle(SCOPE, THREAD, 4, [settled], 5_000)
    same(await store.due(10**15, 10), (_due("ready"),))


async def a_thread_is_named_once(store: Store, clock: FakeClock) -> None:
    """Several questions that expired are one visit."""
    await ask(store, *(question(f"int_{n}", expires_at=50_000 + n) for n in range(5)))
    same(await store.due(60_000, 10), (_due("expired"),))


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
    same(await store.due(clock.now(), 10), expected)
    same(await store.due(clock.now(), 2), expected[:2])
    same(await store.due(clock.now(), 0), ())


async def a_claim_ends_being_due(store: Store, clock: FakeClock) -> None:
    """Whoever takes the thread takes the work."""
    await ask(store, question("int_1", status="resolved"))
    same(await store.due(0, 10), (_due("ready"),))
    lease = await store.claim(claim(2, run=run("run_2")))
    same(await store.due(0, 10), ())
    await store.commit(lease, Commit(now=3_000, turn=turn(status="finished"), release=True))
    same(await store.due(0, 10), ())
