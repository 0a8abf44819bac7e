"""What belongs to no thread, noted over several connections at once: one chain, none lost."""

import asyncio
from pathlib import Path

import pytest

from sayso.base.audit import NO_THREAD, content_of, first_broken
from sayso.base.records import Approval, Commit, PageRequest
from sayso.stores import open_store
from sayso.stores.base import Store
from sayso.testing.store_suite._make import SCOPE, claim
from tests.stores.backends import SHARED, opened

EACH = 25


async def noting(store: Store, who: str) -> None:
    for n in range(EACH):
        await store.note(SCOPE, [("a", {"by": who, "n": n}), ("b", {"by": f"{who}-{n}"})], n)


@pytest.mark.parametrize("kind", SHARED)
async def test_processes_that_note_at_once_add_to_one_chain(kind: str, tmp_path: Path) -> None:
    """Approvals that are revoked meanwhile stand in it as well, each once."""
    url = SHARED[kind](tmp_path)
    async with opened(open_store(url)) as one, opened(open_store(url)) as other:
        lease = await one.claim(claim())
        given = [
            Approval(
                id=f"apr_{n}",
                owner="ann",
                tool="send",
                pattern=b"{}",
                rules=(),
                given_by="ann",
                given_at=n,
                interrupt_id="int_1",
            )
            for n in range(EACH)
        ]
        await one.commit(lease, Commit(now=3_000, approvals=tuple(given)))
        revoking = [store.revoke(SCOPE, a.id, "ben", 9) for a in given for store in (one, other)]
        both = (noting(one, "one"), noting(other, "other"))
        done = await asyncio.gather(*both, *revoking, return_exceptions=True)
        assert sum(outcome is None for outcome in done) == 2 + EACH
        rows = (await one.audit(SCOPE, PageRequest(limit=500), thread_id=NO_THREAD)).items
        listed = (await one.audit(SCOPE, PageRequest(limit=500))).items
    assert [row.number for row in rows] == [*range(1, 5 * EACH + 1)]
    assert first_broken(SCOPE, rows) is None
    assert [row for row in listed if row.thread_id == NO_THREAD] == [*rows]
    told = [(row.kind, content_of(row) or {}) for row in rows]
    revoked = [content["approvalId"] for kind, content in told if kind == "revoked"]
    assert sorted(revoked) == sorted(approval.id for approval in given)
    counts = [content["n"] for kind, content in told if kind == "a"]
    assert sorted(counts) == sorted([*range(EACH)] * 2)
