"""Rules of approvals that stand for later calls: kept, found, counted, revoked."""

from typing import Any

from sayso.base.errors import Conflict, LeaseLost
from sayso.base.records import Approval, ApprovalUse, Commit, Lease, Page, PageRequest
from sayso.stores.base import Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import SCOPE, THREAD, claim, raises, revision, same


def _approval(name: str, **members: Any) -> Approval:
    values: dict[str, Any] = {
        "owner": "ann",
        "tool": "send",
        "pattern": b'{"kind":"any"}',
        "rules": ("always", "when:large"),
        "given_by": "ben",
        "given_at": 3_000,
        "interrupt_id": "int_1",
        "terms": b'{"rules":{"always":"5d0a"},"by":["lead"]}',
    }
    return Approval(id=name, **(values | members))


def _use(approval_id: str, call_id: str, **members: Any) -> ApprovalUse:
    values: dict[str, Any] = {"thread_id": THREAD, "at": 4_000}
    return ApprovalUse(approval_id=approval_id, call_id=call_id, **(values | members))


async def _held(store: Store, *approvals: Approval, **members: Any) -> Lease:
    lease = await store.claim(claim(**members))
    await store.commit(lease, Commit(now=3_000, approvals=approvals))
    return lease


async def _ids(store: Store, now: int = 3_000, scope: str = SCOPE, **filters: Any) -> list[str]:
    return [item.id for item in (await store.approvals(scope, now, **filters)).items]


async def an_approval_comes_back_as_it_was_given(store: Store, clock: FakeClock) -> None:
    """With every member, by its id, in its scope alone."""
    plain = _approval("apr_1")
    bound = _approval("apr_2", thread_id=THREAD, expires_at=9_000, rules=())
    await _held(store, plain, bound)
    same(await store.approval(SCOPE, "apr_1"), plain)
    same(await store.approval(SCOPE, "apr_2"), bound)
    same(await store.approval("other", "apr_1"), None)
    same(await store.approval(SCOPE, "apr_3"), None)
    same(await store.approvals(SCOPE, 3_000), Page(items=(plain, bound)))
    same(await store.approvals("other", 3_000), Page(items=()))
    same(await store.valid_approvals("other", "ann", "send", 3_000), ())


async def an_approval_is_written_once(store: Store, clock: FakeClock) -> None:
    """A retried commit changes nothing, and brings nothing back that was revoked."""
    lease = await _held(store, _approval("apr_1"))
    await store.commit(lease, Commit(now=3_001, approvals=(_approval("apr_1", tool="drop"),)))
    same(await store.approval(SCOPE, "apr_1"), _approval("apr_1"))
    await store.revoke(SCOPE, "apr_1", "ben", 3_002)
    await store.commit(lease, Commit(now=3_003, approvals=(_approval("apr_1"),)))
    same(await store.valid_approvals(SCOPE, "ann", "send", 3_003), ())


async def approvals_are_found_by_owner_and_tool(store: Store, clock: FakeClock) -> None:
    """Oldest first; those of others and of other tools are not there."""
    await _held(
        store,
        _approval("apr_2", given_at=3_001),
        _approval("apr_1"),
        _approval("apr_3", owner="ben"),
        _approval("apr_4", tool="drop"),
    )
    approvals = await store.valid_approvals(SCOPE, "ann", "send", 3_000)
    same([approval.id for approval in approvals], ["apr_1", "apr_2"])


async def an_expired_approval_stands_no_more(store: Store, clock: FakeClock) -> None:
    """From its very moment on; it is still there by its id."""
    await _held(store, _approval("apr_1", expires_at=5_000))
    for moment, ids in ((4_999, ["apr_1"]), (5_000, [])):
        same(await _ids(store, moment), ids)
        standing = await store.valid_approvals(SCOPE, "ann", "send", moment)
        same([approval.id for approval in standing], ids)
    same(await store.approval(SCOPE, "apr_1"), _approval("apr_1", expires_at=5_000))


async def a_revoked_approval_stands_no_more(store: Store, clock: FakeClock) -> None:
    """It keeps who revoked it and when; a second time, or of another scope, conflicts."""
    await _held(store, _approval("apr_1"), _approval("apr_2"))
    await raises(Conflict, store.revoke("other", "apr_1", "eve", 4_000))
    await raises(Conflict, store.revoke(SCOPE, "apr_3", "eve", 4_000))
    await store.revoke(SCOPE, "apr_1", "ann", 4_000)
    await raises(Conflict, store.revoke(SCOPE, "apr_1", "ben", 4_001))
    revoked = _approval("apr_1", revoked_at=4_000, revoked_by="ann")
    same(await store.approval(SCOPE, "apr_1"), revoked)
    same(await _ids(store), ["apr_2"])
    standing = await store.valid_approvals(SCOPE, "ann", "send", 4_000)
    same([approval.id for approval in standing], ["apr_2"])


async def each_use_of_an_approval_is_kept_once(store: Store, clock: FakeClock) -> None:
    """Counted by call, newest first; a retried commit counts no call twice."""
    lease = await _held(store, _approval("apr_1"))
    first, second = _use("apr_1", "call_1"), _use("apr_1", "call_2", at=4_001)
    await store.commit(lease, Commit(now=4_000, uses=(first,)))
    await store.commit(lease, Commit(now=4_001, uses=(first, second)))
    same(await store.approval_uses(SCOPE, "apr_1"), (second, first))
    same(await store.approval_uses(SCOPE, "apr_1", 1), (second,))
    same(await store.approval_uses("other", "apr_1"), ())
    same(await store.approval(SCOPE, "apr_1"), _approval("apr_1", uses=2, used_at=4_001))
    await raises(ValueError, store.approval_uses(SCOPE, "apr_1", 0))


async def approvals_are_listed_in_pages(store: Store, clock: FakeClock) -> None:
    """Oldest first, by who is concerned or gave them; each once, whatever the page's size."""
    approvals = [
        _approval(
            f"apr_{n}",
            given_at=3_000 + n // 2,
            owner="ann" if n % 2 else "cleo",
            given_by="ann" if n % 3 else "ben",
        )
        for n in range(9)
    ]
    await _held(store, *approvals)
    for party in (None, "ann", "ben", "cleo", "dora"):
        expected = [
            approval.id
            for approval in approvals
            if party in (None, approval.owner, approval.given_by)
        ]
        for limit in (1, 2, 100):
            approval_ids: list[str] = []
            after: str | None = None
            while True:
                page = await store.approvals(SCOPE, 3_000, PageRequest(after, limit), party=party)
                approval_ids += [item.id for item in page.items]
                after = page.next
                if after is None:
                    break
            same(approval_ids, expected)
    await raises(ValueError, store.approvals(SCOPE, 3_000, PageRequest(limit=0)))
    await raises(ValueError, store.approvals(SCOPE, 3_000, PageRequest("nonsense")))


async def what_a_thread_alone_was_allowed_is_deleted_with_it(
    store: Store, clock: FakeClock
) -> None:
    """Others stay, without the uses that the thread made of them."""
    lease = await _held(store, _approval("apr_1", thread_id=THREAD), _approval("apr_2"))
    used = (_use("apr_1", "c-1"), _use("apr_2", "c-1"), _use("apr_2", "c-2", thread_id="second"))
    await store.commit(lease, Commit(now=4_000, uses=used, release=True))
    await store.delete(SCOPE, THREAD, await revision(store), 9_000)
    same(await store.approval(SCOPE, "apr_1"), None)
    same(await store.approval_uses(SCOPE, "apr_1"), ())
    same(await store.approval_uses(SCOPE, "apr_2"), (used[2],))
    same(await _ids(store), ["apr_2"])


async def a_commit_without_a_lease_gives_no_approval(store: Store, clock: FakeClock) -> None:
    """All of a step or nothing of it."""
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_000, release=True))
    late = Commit(now=3_001, approvals=(_approval("apr_1"),))
    await raises(LeaseLost, store.commit(lease, late))
    same(await store.approval(SCOPE, "apr_1"), None)
