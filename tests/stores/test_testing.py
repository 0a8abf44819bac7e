"""The clock that tests move, and the store that breaks on demand."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import get_args

import pytest

from sayso.base.amendment import Amendment
from sayso.base.clock import Clock, format_time
from sayso.base.errors import LeaseLost, StoreUnavailable
from sayso.base.records import (
    Approval,
    Commit,
    Hold,
    PageRequest,
    Renewed,
    Update,
)
from sayso.base.service_tokens import ServiceToken
from sayso.base.sessions import Session
from sayso.stores.aesgcm import KEY_BYTES, AesGcm
from sayso.stores.sqlite.memory import MemoryStore
from sayso.testing import FakeClock, FaultyStore, StoreCall
from sayso.testing.points import Point
from tests.stores.processes import SCOPE, a_claim, a_step

POINTS = frozenset(get_args(Point))


async def opened_faulty() -> FaultyStore:
    store = FaultyStore(MemoryStore(clock=FakeClock(), codec=AesGcm({"1": b"1" * KEY_BYTES})))
    await store.open()
    return store


async def test_sleepers_wake_in_order_each_at_its_own_time() -> None:
    """Also one that goes to sleep again within the same move."""
    clock = FakeClock(now=1_000)
    woken: list[tuple[str, int]] = []

    async def sleeper(name: str, *seconds: float) -> None:
        for pause in seconds:
            await clock.sleep(pause)
            woken.append((name, clock.now()))

    async with asyncio.TaskGroup() as group:
        group.create_task(sleeper("late", 3))
        group.create_task(sleeper("often", 1, 1, 1.5))
        await clock.advance(2.5)
        assert woken == [("often", 2_000), ("often", 3_000)]
        assert clock.sleeping == 2
        assert clock.now() == 3_500
        await clock.advance(1)
    assert woken[2:] == [("late", 4_000), ("often", 4_500)]


async def test_small_steps_add_up_exactly() -> None:
    """Ten tenths are one second, so that a boundary is a boundary."""
    clock = FakeClock(now=0)
    task = asyncio.create_task(clock.sleep(1))
    for _ in range(10):
        assert not task.done()
        await clock.advance(0.1)
    assert task.done()
    assert (clock.now(), clock.monotonic()) == (1_000, 1.0)


async def test_a_cancelled_sleeper_is_no_sleeper() -> None:
    """It neither wakes nor counts."""
    clock = FakeClock()
    task = asyncio.create_task(clock.sleep(5))
    await clock.advance(0)
    task.cancel()
    await clock.advance(1)
    assert clock.sleeping == 0
    await clock.advance(10)
    assert task.cancelled()


async def test_a_task_that_sleeps_for_ever_again_is_found_out() -> None:
    """Advancing is bounded, and time does not go back."""
    clock = FakeClock()

    async def restless() -> None:
        while True:
            await clock.sleep(0.001)

    task = asyncio.create_task(restless())
    with pytest.raises(RuntimeError, match="again and again"):
        await clock.advance(60, wakes=100)
    task.cancel()
    with pytest.raises(ValueError, match="go back"):
        await clock.advance(-1)


async def test_periodic_work_is_done_at_its_times_among_sleepers() -> None:
    """As a process's own thread would: leases of the living are renewed while time passes."""
    clock = FakeClock(now=0)
    seen: list[tuple[str, int]] = []
    end = clock.every(3, lambda: seen.append(("work", clock.now())), "work")

    async def sleeper() -> None:
        await clock.sleep(4)
        seen.append(("woken", clock.now()))

    task = asyncio.create_task(sleeper())
    await clock.advance(7)
    await task
    assert seen == [("work", 3000), ("woken", 4000), ("work", 6000)]
    end()
    end()
    await clock.advance(60)
    assert len(seen) == 3


async def test_sleeping_for_nothing_lets_others_run() -> None:
    """And needs nobody to advance the clock."""
    clock: Clock = FakeClock(now=0)
    order: list[str] = []
    task = asyncio.create_task(_note(order))
    await clock.sleep(0)
    assert order == ["other"]
    await task
    assert format_time(clock.now()) == "1970-01-01T00:00:00.000Z"


async def _note(order: list[str]) -> None:
    order.append("other")


async def test_a_fault_before_leaves_nothing_and_one_after_everything() -> None:
    """The two cases that a caller has to tell apart by reading again (design 6)."""
    store = await opened_faulty()
    lease = await store.claim(a_claim("t", "me"))
    before = store.fail("commit")
    with pytest.raises(StoreUnavailable, match="fault before commit"):
        await store.commit(lease, a_step(1))
    assert await _state(store) == b"{}"
    after = store.fail("commit", when="after", error=LeaseLost("gone"))
    with pytest.raises(LeaseLost, match="gone"):
        await store.commit(lease, a_step(2))
    assert await _state(store) == b"2"
    await store.commit(lease, a_step(3))
    assert (before.fired, after.fired) == (1, 1)


async def _state(store: FaultyStore) -> bytes | None:
    view = await store.inner.load(SCOPE, "t")
    return view.thread.state if view else None


async def test_a_fault_counts_the_calls_that_match() -> None:
    """From its arming on, as often as told."""
    store = await opened_faulty()
    lease = await store.claim(a_claim("t", "me"))
    fault = store.fail("commit", n=2, times=2, match=lambda commit: commit.now % 2 == 1)
    outcomes = []
    for n in range(1, 9):
        try:
            await store.commit(lease, a_step(n))
        except StoreUnavailable:
            outcomes.append(n)
    assert outcomes == [3, 5]
    assert fault.fired == 2


@pytest.mark.parametrize("point", sorted(POINTS - {"commit", "renew"}))
async def test_every_point_can_fail(point: str) -> None:
    """Before and after."""
    store = await opened_faulty()
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "load": lambda: store.load(SCOPE, "t"),
        "journal": lambda: store.journal(SCOPE, "turn_t_0"),
        "claim": lambda: store.claim(a_claim("new", "me")),
        "update_idle": lambda: store.update_idle(
            Update(scope=SCOPE, thread_id="t", revision=2, now=1)
        ),
        "amend": lambda: store.amend(Amendment(scope=SCOPE, thread_id="t", revision=2, now=1)),
        "mark_delivered": lambda: store.mark_delivered(SCOPE, "run_t_0"),
        "due_threads": lambda: store.due_threads(1, PageRequest(limit=1)),
        "count_all_open": lambda: store.count_all_open(1),
        "usage": lambda: store.usage(SCOPE),
        "threads": lambda: store.threads(SCOPE),
        "interrupts": lambda: store.interrupts(SCOPE),
        "interrupt": lambda: store.interrupt(SCOPE, "int_1"),
        "runs": lambda: store.runs(SCOPE, "t"),
        "changes": lambda: store.changes(SCOPE, 0),
        "approvals": lambda: store.approvals(SCOPE, 1),
        "approval": lambda: store.approval(SCOPE, "apr_1"),
        "approval_uses": lambda: store.approval_uses(SCOPE, "apr_1"),
        "valid_approvals": lambda: store.valid_approvals(SCOPE, "ann", "send", 1),
        "delete_approval": lambda: store.delete_approval(SCOPE, "apr_2"),
        "erase_trail": lambda: store.erase_trail(SCOPE, "t", 1, 1, "kay"),
        "erase_person": lambda: store.erase_person(SCOPE, "ann", 1, "kay"),
        "purge_files": lambda: store.purge_files(),
        "next_scope": lambda: store.next_scope(),
        "take_duty": lambda: store.take_duty("sweep", "me", 1),
        "revoke": lambda: store.revoke(SCOPE, "apr_1", "ann", 1),
        "note": lambda: store.note(SCOPE, [("exported", {})], 1),
        "audit": lambda: store.audit(SCOPE),
        "audit_end": lambda: store.audit_end(SCOPE),
        "add_session": lambda: store.add_session(session),
        "use_session": lambda: store.use_session("d"),
        "sessions": lambda: store.sessions("d"),
        "end_sessions": lambda: store.end_sessions("d"),
        "add_service_token": lambda: store.add_service_token(token),
        "service_token": lambda: store.service_token("d"),
        "service_tokens": lambda: store.service_tokens(SCOPE),
        "revoke_service_token": lambda: store.revoke_service_token(SCOPE, "svc_2", "ann", 1),
        "secrets": lambda: store.secrets(SCOPE, "t"),
        "secret_key": lambda: store.secret_key(SCOPE),
        "people": lambda: store.people(SCOPE, ["p_1"]),
        "set_hold": lambda: store.set_hold(
            SCOPE, "held", 1, Hold(by="kay", reason="audit", said_at=1)
        ),
        "delete": lambda: store.delete(SCOPE, "idle", 2, 1),
        "request_stop": lambda: store.request_stop(SCOPE, "held", 1),
    }
    token = ServiceToken(id="svc_1", scope=SCOPE, name="ci", digest="d", added_by="ann", added_at=1)
    await store.add_service_token(replace(token, id="svc_2", digest="d2"))
    session = Session(digest="d", scope=SCOPE, subject="ann", issuer="i", lifetime=9, idle=9)
    lease = await store.claim(a_claim("t", "me"))
    given = Approval(
        id="apr_1",
        owner="ann",
        tool="send",
        pattern=b"{}",
        rules=(),
        given_by="ann",
        given_at=1,
        interrupt_id="int_1",
    )
    await store.commit(lease, Commit(now=1, approvals=(given,), release=True))
    await store.claim(a_claim("held", "me"))
    idle = await store.claim(a_claim("idle", "me"))
    await store.commit(idle, Commit(now=1, release=True))
    store.fail(point, error=KeyError("before"))  # type: ignore[arg-type]
    store.fail(point, n=2, when="after", error=KeyError("after"))  # type: ignore[arg-type]
    for when in ("before", "after"):
        with pytest.raises(KeyError, match=when):
            await calls[point]()


async def test_renewing_can_fail_in_its_own_thread() -> None:
    """With a plain hook, since nothing can be awaited there."""
    store = await opened_faulty()
    lease = await store.claim(a_claim("t", "me"))
    called = []
    store.fail("renew", hook=lambda: called.append(1), error=StoreUnavailable("no"))
    with pytest.raises(StoreUnavailable, match="no"):
        await asyncio.to_thread(store.renew, [lease], 1_000)
    assert await asyncio.to_thread(store.renew, [lease], 1_000) == Renewed()
    assert called == [1]
    assert store.calls[-1] == StoreCall("renew", (lease,))


async def test_a_hook_alone_lets_the_call_go_on() -> None:
    """It may be a coroutine function."""
    store = await opened_faulty()
    seen = []

    async def hook() -> None:
        seen.append(await store.inner.load(SCOPE, "t"))

    store.fail("claim", hook=hook)
    lease = await store.claim(a_claim("t", "me"))
    assert (seen, lease.fence) == ([None], 1)


async def test_a_held_call_stands_until_it_is_released() -> None:
    """So that a test can look at the moment in between."""
    store = await opened_faulty()
    lease = await store.claim(a_claim("t", "me"))
    hold = store.hold("commit", when="after")
    task = asyncio.create_task(store.commit(lease, a_step(1)))
    await hold.reached()
    assert not task.done()
    assert await _state(store) == b"1"
    hold.release()
    await task


async def test_a_cut_store_is_dead_until_it_is_mended() -> None:
    """The call that was under way loses its answer too, though it was written."""
    store = await opened_faulty()
    lease = await store.claim(a_claim("t", "me"))
    store.fail("commit", when="after", hook=store.disconnect)
    with pytest.raises(StoreUnavailable, match="cut off"):
        await store.commit(lease, a_step(1))
    with pytest.raises(StoreUnavailable, match="cut off"):
        await store.load(SCOPE, "t")
    assert await _state(store) == b"1"
    store.restore()
    await store.commit(lease, a_step(2))


async def test_a_misspelt_point_is_refused() -> None:
    """A fault that never strikes would make a test that never fails."""
    store = await opened_faulty()
    with pytest.raises(ValueError, match="no fault point 'comit'; there are add_service_token, "):
        store.fail("comit")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="count from 1"):
        store.fail("commit", n=0)
