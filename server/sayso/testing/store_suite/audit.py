"""Rules of the audit trail: derived from what is written, sealed, never changed."""

from sayso.audit import FIRST, AuditRow, broken
from sayso.errors import LeaseLost
from sayso.records import Commit
from sayso.stores.base import Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import (
    SCOPE,
    THREAD,
    ask,
    claim,
    entry,
    question,
    raises,
    revision,
    same,
)

_CALL = b'{"id":"call_1","rule":"always","status":"executed","value":7}'


async def _rows(store: Store, thread_id: str = THREAD, scope: str = SCOPE) -> list[AuditRow]:
    return list((await store.audit(scope, thread_id=thread_id)).items)


async def what_is_asked_and_settled_has_rows_that_seal_each_other(
    store: Store, clock: FakeClock
) -> None:
    """One for each thing that happened, in order, each with the digest of those before."""
    asked = question("int_1")
    await ask(store, asked)
    settled = question(
        "int_1", status="resolved", payload=b"true", decided_by="ben", channel="inbox"
    )
    done = entry("0", kind="call", name="send", status="done", data=_CALL)
    lease = await store.claim(claim(await revision(store), interrupts=(settled,)))
    await store.commit(lease, Commit(now=5_000, entries=(done, entry("1"))))
    rows = await _rows(store)
    same([row.kind for row in rows], ["asked", "resolved", "executed"])
    same([row.number for row in rows], [1, 2, 3])
    same([row.at for row in rows], [2_500, 2_000, 5_000])
    same({(row.thread_id, row.owner) for row in rows}, {(THREAD, "ann")})
    same(b'"by":"ben"' in (rows[1].content or b""), True)
    same(broken(rows), None)
    same(broken(rows[1:], rows[0].digest), None)
    same(broken(rows[1:], FIRST), 2)


async def what_failed_leaves_no_row(store: Store, clock: FakeClock) -> None:
    """The row and what it tells of are one step."""
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_000, release=True))
    refused = store.commit(lease, Commit(now=4_000, interrupts=(question("int_1"),)))
    await raises(LeaseLost, refused)
    same(await _rows(store), [])


async def a_change_by_hand_says_by_whom(store: Store, clock: FakeClock) -> None:
    """Extended, assigned, held: by whoever called."""
    await ask(store, question("int_1"))
    later = question("int_1", expires_at=9_000)
    await store.settle(SCOPE, THREAD, await revision(store), [later], 3_000, by="cyd")
    rows = await _rows(store)
    same([row.kind for row in rows], ["asked", "extended"])
    same(b'"by":"cyd"' in (rows[1].content or b""), True)


async def rows_come_in_pages_of_one_thread_or_of_a_scope(store: Store, clock: FakeClock) -> None:
    """Each exactly once; an owner's alone if one is named; never another scope's."""
    await ask(store, question("int_1"), question("int_2"), question("int_3"))
    await ask(store, question("int_4"), thread_id="other", owner="ben")
    first = await store.audit(SCOPE, thread_id=THREAD, limit=2)
    rest = await store.audit(SCOPE, thread_id=THREAD, limit=2, after=first.next)
    same([row.number for row in (*first.items, *rest.items)], [1, 2, 3])
    same(rest.next, None)
    everything: list[AuditRow] = []
    after = None
    while True:
        page = await store.audit(SCOPE, after=after, limit=1)
        everything += page.items
        after = page.next
        if after is None:
            break
    same([(row.thread_id, row.number) for row in everything][-1], ("other", 1))
    same(len(everything), 4)
    same([row.owner for row in (await store.audit(SCOPE, owner="ben")).items], ["ben"])
    same(list((await store.audit(SCOPE, owner="ben", thread_id=THREAD)).items), [])
    same(await _rows(store, scope="elsewhere"), [])
    await raises(ValueError, store.audit(SCOPE, limit=0))
    await raises(ValueError, store.audit(SCOPE, after="t1.1"))


async def a_deleted_thread_leaves_seals_without_contents(store: Store, clock: FakeClock) -> None:
    """Nobody reads any more what was said, and the chain still holds, also for a successor."""
    await ask(store, question("int_1", message="secret"))
    await store.delete(SCOPE, THREAD, await revision(store), 6_000)
    await ask(store, question("int_2"))
    rows = await _rows(store)
    same([row.content is None for row in rows], [True, False])
    same(broken(rows), None)


async def a_page_of_a_thread_goes_on_behind_the_rows_of_another_owner(
    store: Store, clock: FakeClock
) -> None:
    """Who begins a thread under the id of a deleted one reads all of its own rows alone."""
    await ask(store, question("int_1"), question("int_2"), question("int_3"))
    await store.delete(SCOPE, THREAD, await revision(store), 6_000)
    await ask(store, question("int_4"), question("int_5"), owner="ben")
    for owner, numbers in (("ann", [1, 2, 3]), ("ben", [4, 5]), ("cyd", [])):
        found: list[int] = []
        after = None
        while True:
            page = await store.audit(SCOPE, thread_id=THREAD, owner=owner, after=after, limit=2)
            same({row.owner for row in page.items} - {owner}, set())
            found += [row.number for row in page.items]
            after = page.next
            if after is None:
                break
        same(found, numbers)
