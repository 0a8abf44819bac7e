"""Processes whose clocks are wrong: leases run out by the clock of the store (design 6)."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from sayso.base.records import Commit, Interrupt, PageRequest
from sayso.stores import open_store
from tests.stores.backends import NETWORKED, SHARED, opened
from tests.stores.processes import a_claim, a_step

HOUR = 3_600_000


@pytest.mark.parametrize("kind", NETWORKED)
@pytest.mark.parametrize("wrong_by", [-HOUR, 0, HOUR])
async def test_nobody_takes_over_a_thread_because_of_a_wrong_clock(
    kind: str, wrong_by: int, tmp_path: Path
) -> None:
    """An hour ahead or behind: who holds it holds it, and what was let go is found at once."""
    mine = time.time_ns() // 1_000_000 + wrong_by
    async with opened(open_store(SHARED[kind](tmp_path))) as store:
        lease = await store.claim(replace(a_claim("t", "me"), now=mine))
        await store.commit(lease, a_step(1))
        assert (await store.due_threads(mine, PageRequest(limit=10))).items == ()
        assert store.renew([lease], 60_000).lost == ()
        assert (await store.due_threads(mine, PageRequest(limit=10))).items == ()
        store.renew([lease], 0)
        (left,) = (await store.due_threads(mine, PageRequest(limit=10))).items
        assert (left.thread_id, left.why) == ("t", "abandoned")


@pytest.mark.parametrize("kind", NETWORKED)
async def test_a_question_expires_by_the_clock_that_gave_it_its_time(
    kind: str, tmp_path: Path
) -> None:
    """Never before, by whoever is on time; a clock that jumps back makes it wait, and no more."""
    now = time.time_ns() // 1_000_000
    async with opened(open_store(SHARED[kind](tmp_path))) as store:
        claim = replace(a_claim("t", "me"), now=now)
        lease = await store.claim(claim)
        asked = Interrupt(
            id="int_1",
            turn_key=claim.turn.key,
            place="0",
            reason="confirmation",
            created_at=now,
            expires_at=now + HOUR,
        )
        suspended = replace(claim.turn, status="suspended")
        done = Commit(now=now, interrupts=(asked,), turn=suspended, release=True)
        await store.commit(lease, done)
        for clock, due in ((now, []), (now - HOUR, []), (now + HOUR, ["expired"]), (now, [])):
            assert [
                one.why for one in (await store.due_threads(clock, PageRequest(limit=10))).items
            ] == due
