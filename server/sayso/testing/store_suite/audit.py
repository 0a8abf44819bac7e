"""Rules of the audit trail: derived from what is written, sealed, never changed."""

from sayso.base.audit import GENESIS, AuditRow, first_broken
from sayso.base.errors import Conflict, LeaseLost
from sayso.base.records import Commit, PageRequest, Update
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
    interrupt = question("int_1")
    await ask(store, interrupt)
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
    same(first_broken(SCOPE, rows), None)
    same(first_broken(SCOPE, rows[1:], rows[0].digest), None)
    same(first_broken(SCOPE, rows[1:], GENESIS), 2)


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
    await store.update_idle(
        Update(
            scope=SCOPE,
            thread_id=THREAD,
            revision=await revision(store),
            now=3_000,
            interrupts=(later,),
            by="cyd",
        )
    )
    rows = await _rows(store)
    same([row.kind for row in rows], ["asked", "extended"])
    same(b'"by":"cyd"' in (rows[1].content or b""), True)


async def rows_come_in_pages_of_one_thread_or_of_a_scope(store: Store, clock: FakeClock) -> None:
    """Each exactly once; an owner's alone if one is named; never another scope's."""
    await ask(store, question("int_1"), question("int_2"), question("int_3"))
    await ask(store, question("int_4"), thread_id="other", owner="ben")
    first = await store.audit(SCOPE, PageRequest(limit=2), thread_id=THREAD)
    rest = await store.audit(SCOPE, PageRequest(first.next, 2), thread_id=THREAD)
    same([row.number for row in (*first.items, *rest.items)], [1, 2, 3])
    same(rest.next, None)
    everything: list[AuditRow] = []
    after = None
    while True:
        page = await store.audit(SCOPE, PageRequest(after, 1))
        everything += page.items
        after = page.next
        if after is None:
            break
    same([(row.thread_id, row.number) for row in everything][-1], ("other", 1))
    same(len(everything), 4)
    same([row.owner for row in (await store.audit(SCOPE, owner="ben")).items], ["ben"])
    same(list((await store.audit(SCOPE, owner="ben", thread_id=THREAD)).items), [])
    same(await _rows(store, scope="elsewhere"), [])
    await raises(ValueError, store.audit(SCOPE, PageRequest(limit=0)))
    await raises(ValueError, store.audit(SCOPE, PageRequest("t1.1")))


async def a_deleted_thread_leaves_its_rows_and_one_that_says_by_whom(
    store: Store, clock: FakeClock
) -> None:
    """Who is judged by what was decided does not erase it; a successor's rows follow on them."""
    await ask(store, question("int_1", message="may it be paid?"))
    await store.delete(SCOPE, THREAD, await revision(store), 6_000, by="ann")
    await ask(store, question("int_2"), owner="ben")
    rows = await _rows(store)
    same([row.kind for row in rows], ["asked", "deleted", "asked"])
    same(b"may it be paid?" in (rows[0].content or b""), True)
    same((rows[1].content, rows[1].owner, rows[1].at), (b'{"by":"ann"}', "ann", 6_000))
    same(first_broken(SCOPE, rows), None)
    same([row.number for row in (await store.audit(SCOPE)).items], [1, 2, 3])


async def a_thread_of_which_nothing_is_told_leaves_that_it_was_deleted(
    store: Store, clock: FakeClock
) -> None:
    """One that was never asked anything, too; a deletion that was refused leaves nothing."""
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_000, release=True))
    await raises(Conflict, store.delete(SCOPE, THREAD, 9, 6_000, by="ann"))
    same(await _rows(store), [])
    await store.delete(SCOPE, THREAD, await revision(store), 6_000)
    same([(row.kind, row.content) for row in await _rows(store)], [("deleted", b"{}")])


async def a_page_of_a_thread_goes_on_behind_the_rows_of_another_owner(
    store: Store, clock: FakeClock
) -> None:
    """Who begins a thread under the id of a deleted one reads all of its own rows alone."""
    await ask(store, question("int_1"), question("int_2"), question("int_3"))
    await store.delete(SCOPE, THREAD, await revision(store), 6_000)
    await ask(store, question("int_4"), question("int_5"), owner="ben")
    for owner, numbers in (("ann", [1, 2, 3, 4]), ("ben", [5, 6]), ("cyd", [])):
        row_numbers: list[int] = []
        after = None
        while True:
            page = await store.audit(SCOPE, PageRequest(after, 2), thread_id=THREAD, owner=owner)
            same({row.owner for row in page.items} - {owner}, set())
            row_numbers += [row.number for row in page.items]
            after = page.next
            if after is None:
                break
        same(row_numbers, numbers)
