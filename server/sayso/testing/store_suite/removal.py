"""Rules of what is removed: by hand, as too old, as a person's, and not while on hold."""

import asyncio
from dataclasses import replace
from typing import Any

from sayso.base.amendment import Amendment
from sayso.base.audit import NO_THREAD, NOBODY, content_of, first_broken, first_unchained
from sayso.base.errors import Conflict, LeaseLost
from sayso.base.records import (
    Approval,
    Commit,
    Hold,
    InterruptFilter,
    Page,
    PageRequest,
    Renewed,
    ThreadFilter,
    Update,
)
from sayso.base.sessions import Session, sessions_of
from sayso.stores.base import Store
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import (
    LEASE_MS,
    PROGRESS,
    SCOPE,
    TERMS,
    THREAD,
    agreed,
    ask,
    claim,
    entry,
    message,
    message_ids,
    question,
    raises,
    revision,
    run,
    same,
    turn,
)


async def a_deleted_thread_is_gone_with_everything(store: Store, clock: FakeClock) -> None:
    """Messages, turns, runs, interrupts, journal, state, private values; a new one has none of it.

    The audit trail stays: its rules say how.
    """
    questions = (question("int_1", expires_at=50_000, remind_at=40_000), question("int_2"))
    begun: dict[str, Any] = {
        "messages": (message("m-1"),),
        "entries": (entry("0"),),
        "state": b"[1]",
        "kept": b"[2]",
    }
    await ask(store, *questions, **begun)
    await store.delete(SCOPE, THREAD, 2, 9_000)
    same(await store.load(SCOPE, THREAD, run_id="r-1", interrupt_ids=["int_1"]), None)
    same(await store.journal(SCOPE, "turn_1"), ())
    same(await store.threads(SCOPE), Page(items=()))
    same(await store.interrupts(SCOPE), Page(items=()))
    same(await store.interrupts(SCOPE, InterruptFilter(status="open")), Page(items=()))
    same(await store.interrupts(SCOPE, InterruptFilter(thread_id=THREAD)), Page(items=()))
    same(await store.interrupt(SCOPE, "int_1"), None)
    same(await store.runs(SCOPE, THREAD), Page(items=()))
    same(await store.due_threads(60_000, PageRequest(limit=10)), Page(items=()))
    await store.mark_delivered(SCOPE, "run_1")
    await raises(
        Conflict, store.update_idle(Update(scope=SCOPE, thread_id=THREAD, revision=2, now=9_000))
    )
    await store.claim(claim(owner="bob", turn=turn("turn_2"), run=run("run_2", run_id="r-2")))
    view = await store.load(SCOPE, THREAD, run_id="r-1", interrupt_ids=["int_1", "int_2"])
    same(view and view.thread.owner, "bob")
    same(view and (view.thread.state, view.thread.kept), (b"{}", None))
    same(view and (view.messages, view.interrupts, view.named_run), ((), (), None))
    same(await store.journal(SCOPE, "turn_1"), ())
    same(await store.runs(SCOPE, THREAD), Page(items=(run("run_2", run_id="r-2"),)))


async def a_deletion_is_noted(store: Store, clock: FakeClock) -> None:
    """With the owner, who may watch; its interrupts have no notes of their own."""
    await ask(store, question("int_1"))
    await store.delete(SCOPE, THREAD, 2, 9_000)
    changes = await store.changes(SCOPE, 1)
    (change,) = changes.items
    same((change.mark, change.kind, change.thread_id), (2, "deleted", THREAD))
    same((change.owner, change.at, change.interrupt_id), ("ann", 9_000, None))


async def others_lose_nothing_by_a_deletion(store: Store, clock: FakeClock) -> None:
    """The same ids in another thread and in another scope stay."""
    members: dict[str, Any] = {
        "messages": (message("m-1"),),
        "entries": (entry("0"),),
        "state": b"[1]",
    }
    for scope, name in ((SCOPE, THREAD), (SCOPE, "second"), ("other", THREAD)):
        await ask(store, question("int_1"), scope=scope, thread_id=name, **members)
    places = ((SCOPE, "second"), ("other", THREAD))
    before = [await store.load(*place, run_id="r-1") for place in places]
    await store.delete(SCOPE, THREAD, 2, 9_000)
    same([await store.load(*place, run_id="r-1") for place in places], before)
    for scope, name in places:
        listed = await store.interrupt(scope, "int_1")
        same(listed and listed.thread_id, name)
        same(await store.runs(scope, name), Page(items=(run(),)))
    same(await store.journal("other", "turn_1"), (entry("0"),))


async def only_what_was_read_is_deleted(store: Store, clock: FakeClock) -> None:
    """Another revision, an unknown thread, another scope conflict and delete nothing."""
    await ask(store, question("int_1"))
    before = await store.load(SCOPE, THREAD)
    for revision_known in (0, 1, 3):
        await raises(Conflict, store.delete(SCOPE, THREAD, revision_known, 9_000))
    await raises(Conflict, store.delete(SCOPE, "unknown", 0, 9_000))
    await raises(Conflict, store.delete("other", THREAD, 2, 9_000))
    same(await store.load(SCOPE, THREAD), before)


async def a_thread_that_somebody_runs_is_not_deleted(store: Store, clock: FakeClock) -> None:
    """Until its lease has run out; then the former holder can no longer write."""
    lease = await store.claim(claim())
    await raises(Conflict, store.delete(SCOPE, THREAD, 1, 9_000))
    await clock.advance(LEASE_MS / 1_000)
    await store.delete(SCOPE, THREAD, 1, 9_000)
    await raises(LeaseLost, store.commit(lease, Commit(now=9_001)))
    same(await asyncio.to_thread(store.renew, [lease], LEASE_MS), Renewed(lost=(lease,)))
    same(await store.load(SCOPE, THREAD), None)


async def a_successor_is_not_taken_for_it(store: Store, clock: FakeClock) -> None:
    """Under the same id: no lease, no revision and no stop of before fits the new thread."""
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_000))
    await clock.advance(LEASE_MS / 1_000)
    await store.delete(SCOPE, THREAD, 2, 9_000)
    new = await store.claim(claim())
    same(new.fence > lease.fence, True)
    await raises(LeaseLost, store.commit(lease, Commit(now=9_001, state=b"9")))
    await raises(Conflict, store.request_stop(SCOPE, THREAD, lease.fence))
    await store.commit(new, Commit(now=9_002, release=True))
    for revision_known in (1, 2):
        await raises(
            Conflict,
            store.update_idle(
                Update(scope=SCOPE, thread_id=THREAD, revision=revision_known, now=9_003)
            ),
        )
        await raises(Conflict, store.claim(claim(revision_known)))
        await raises(Conflict, store.delete(SCOPE, THREAD, revision_known, 9_003))
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.state, b"{}")


async def a_new_thread_begins_above_all_that_were_deleted(store: Store, clock: FakeClock) -> None:
    """The highest revision and the highest fence count, whichever thread had them, and when."""
    busy = await store.claim(claim(thread_id="busy"))
    for _ in range(5):
        await store.commit(busy, Commit(now=3_000))
    await store.commit(busy, Commit(now=3_000, release=True))
    for revision_known in (0, 2, 4):
        often = await store.claim(claim(revision_known, thread_id="often"))
        await store.commit(often, Commit(now=3_000, release=True))
    await store.claim(claim(thread_id="young", lease_ms=1))
    await clock.advance(1)
    for thread_id, revision_known in (("busy", 7), ("often", 6), ("young", 1)):
        await store.delete(SCOPE, thread_id, revision_known, 9_000)
    lease = await store.claim(claim())
    view = await store.load(SCOPE, THREAD)
    same((lease.fence, view and view.thread.revision), (4, 8))
    elsewhere = await store.claim(claim(scope="other"))
    same(elsewhere.fence, 1)


_HOLD = Hold(by="kay", reason="case 7", said_at=5_000)
_LIFTED = Hold(by="ken", reason="closed", said_at=6_000)


async def a_thread_on_hold_is_not_deleted(store: Store, clock: FakeClock) -> None:
    """Until that is lifted; views and lists show it, and it counts as no activity."""
    await ask(store, question("int_1"))
    (before,) = (await store.threads(SCOPE)).items
    await store.set_hold(SCOPE, THREAD, 2, _HOLD)
    view = await store.load(SCOPE, THREAD)
    same(view and (view.thread.hold, view.thread.revision), (_HOLD, 3))
    (listed,) = (await store.threads(SCOPE)).items
    same((before.on_hold, listed.on_hold), (False, True))
    same(listed.active_at, before.active_at)
    await raises(Conflict, store.delete(SCOPE, THREAD, 3, 9_000))
    await store.set_hold(SCOPE, THREAD, 3, _LIFTED, lifted=True)
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.hold, None)
    await store.delete(SCOPE, THREAD, 4, 9_000)
    same(await store.load(SCOPE, THREAD), None)


async def a_hold_and_its_end_have_rows(store: Store, clock: FakeClock) -> None:
    """With who and why; what is told before and after them stays in one chain."""
    await ask(store, question("int_1"))
    await store.set_hold(SCOPE, THREAD, 2, _HOLD)
    await store.set_hold(SCOPE, THREAD, 3, _LIFTED, lifted=True)
    rows = (await store.audit(SCOPE, thread_id=THREAD)).items
    same([(row.kind, row.at) for row in rows[1:]], [("hold", 5_000), ("unhold", 6_000)])
    same(first_broken(SCOPE, rows), None)


async def a_hold_is_put_and_lifted_once(store: Store, clock: FakeClock) -> None:
    """On what was read: another revision, or a hold that is there already, conflict."""
    await ask(store, question("int_1"))
    await raises(Conflict, store.set_hold(SCOPE, THREAD, 1, _HOLD))
    await raises(Conflict, store.set_hold(SCOPE, THREAD, 2, _LIFTED, lifted=True))
    await raises(Conflict, store.set_hold(SCOPE, "unknown", 0, _HOLD))
    await raises(Conflict, store.set_hold("other", THREAD, 2, _HOLD))
    await store.set_hold(SCOPE, THREAD, 2, _HOLD)
    await raises(Conflict, store.set_hold(SCOPE, THREAD, 3, _HOLD))
    same(len((await store.audit(SCOPE, thread_id=THREAD)).items), 2)


async def a_hold_stops_nobody_who_runs_the_thread(store: Store, clock: FakeClock) -> None:
    """Its holder goes on writing, and it stays on hold through claims and commits."""
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_000, entries=(entry("0"),)))
    await store.set_hold(SCOPE, THREAD, await revision(store), _HOLD)
    await store.commit(lease, Commit(now=3_001, interrupts=(question("int_1"),)))
    await store.commit(lease, Commit(now=3_002, release=True))
    lease = await store.claim(claim(await revision(store)))
    await store.commit(lease, Commit(now=3_003, release=True))
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.hold, _HOLD)
    rows = (await store.audit(SCOPE, thread_id=THREAD)).items
    same([row.kind for row in rows], ["hold", "asked"])
    same(first_broken(SCOPE, rows), None)


async def threads_are_listed_by_since_when_they_are_idle(store: Store, clock: FakeClock) -> None:
    """Those that were active before a moment, the youngest first; in pages, and of one owner."""
    for number, owner in enumerate(("ann", "bob", "ann"), 1):
        members: dict[str, Any] = {"turn": turn(f"turn_{number}"), "run": run(f"run_{number}")}
        members |= {"owner": owner, "now": number * 1_000, "thread_id": f"t-{number}"}
        await store.claim(claim(**members))

    async def idle(since: int, owner: str | None = None, limit: int = 100) -> list[str]:
        threads = ThreadFilter(owner=owner, idle_since=since)
        ids: list[str] = []
        after = None
        while True:
            page = await store.threads(SCOPE, threads, PageRequest(after, limit))
            ids += [thread.id for thread in page.items]
            after = page.next
            if after is None:
                return ids

    same(await idle(1_000), [])
    same(await idle(3_000), ["t-2", "t-1"])
    same(await idle(3_001), ["t-3", "t-2", "t-1"])
    same(await idle(3_001, limit=1), ["t-3", "t-2", "t-1"])
    same(await idle(3_001, owner="ann"), ["t-3", "t-1"])


async def every_scope_that_has_something_is_named(store: Store, clock: FakeClock) -> None:
    """In their order, each once."""
    for scope in ("b", "a", "ä"):
        await ask(store, question("int_1"), scope=scope)
    names: list[str] = []
    while (name := await store.next_scope(names[-1] if names else None)) is not None:
        names.append(name)
    same(names, ["a", "b", "ä"])


async def one_holder_has_a_duty(store: Store, clock: FakeClock) -> None:
    """It may keep it; another one has it once that was not said again in time."""
    same(await store.take_duty("sweep", "me", 1_000), True)
    same(await store.take_duty("sweep", "you", 1_000), False)
    same(await store.take_duty("other", "you", 1_000), True)
    await clock.advance(0.9)
    same(await store.take_duty("sweep", "me", 1_000), True)
    await clock.advance(0.9)
    same(await store.take_duty("sweep", "you", 1_000), False)
    await clock.advance(0.1)
    same(await store.take_duty("sweep", "you", 1_000), True)
    same(await store.take_duty("sweep", "me", 1_000), False)


async def an_approval_is_deleted_with_its_uses(store: Store, clock: FakeClock) -> None:
    """Also one that is no longer valid; those that are not are listed where they are asked for."""
    kept = [
        Approval(
            id=f"apr_{number}",
            owner="ann",
            tool="pay",
            pattern=b"{}",
            rules=("lead",),
            given_by="lea",
            given_at=number,
            interrupt_id="int_1",
            thread_id=THREAD if number == 1 else None,
        )
        for number in (1, 2)
    ]
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_000, approvals=tuple(kept), release=True))
    await store.revoke(SCOPE, "apr_1", "lea", 4_000)
    same([row.id for row in (await store.approvals(SCOPE, 5_000)).items], ["apr_2"])
    same([row.id for row in (await store.approvals(SCOPE, None)).items], ["apr_1", "apr_2"])
    for _ in range(2):
        await store.delete_approval(SCOPE, "apr_1")
    await store.delete_approval(SCOPE, "apr_2")
    same((await store.approvals(SCOPE, None)).items, ())
    same(await store.approval(SCOPE, "apr_2"), None)
    same(await store.valid_approvals(SCOPE, "ann", "pay", 5_000), ())
    await store.delete(SCOPE, THREAD, 2, 9_000)


async def contents_of_rows_are_erased_and_every_digest_stays_true(
    store: Store, clock: FakeClock
) -> None:
    """Up to a number, with their salts; one more row says so, of a thread that is gone as well."""
    await ask(store, question("int_1"), question("int_2"))
    await store.delete(SCOPE, THREAD, 2, 3_000, by="ann")
    await store.note(SCOPE, [("exported", {"by": "kay"})], 3_500)
    before = (await store.audit(SCOPE, thread_id=THREAD)).items
    await store.erase_trail(SCOPE, THREAD, 2, 4_000, "kay")
    rows = (await store.audit(SCOPE, thread_id=THREAD)).items
    same([row.kind for row in rows], ["asked", "asked", "deleted", "erased"])
    same([(row.content, row.salt) for row in rows[:2]], [(None, None)] * 2)
    same([row.digest for row in rows[:3]], [row.digest for row in before])
    same(rows[2], before[2])
    same(first_unchained(SCOPE, rows), None)
    same((content_of(rows[3]) or {})["through"], 2)
    same((rows[3].at, rows[3].owner), (4_000, rows[2].owner))
    await store.erase_trail(SCOPE, NO_THREAD, 1, 5_000, "kay")
    chain = (await store.audit(SCOPE, thread_id=NO_THREAD)).items
    same(
        [(row.kind, row.content is None) for row in chain], [("exported", True), ("erased", False)]
    )
    same(first_unchained(SCOPE, chain), None)


async def nothing_of_a_thread_on_hold_is_erased(store: Store, clock: FakeClock) -> None:
    """Nor of a number that no row has; a holder goes on behind the row that says so."""
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_000, interrupts=(question("int_1"),)))
    for number in (0, 2):
        await raises(Conflict, store.erase_trail(SCOPE, THREAD, number, 4_000, "kay"))
    await raises(Conflict, store.erase_trail(SCOPE, "unknown", 1, 4_000, "kay"))
    await store.erase_trail(SCOPE, THREAD, 1, 4_000, "kay")
    await store.commit(lease, Commit(now=5_000, interrupts=(question("int_2"),), release=True))
    view = await store.load(SCOPE, THREAD)
    hold = Hold(by="kay", reason="case 7", said_at=6_000)
    await store.set_hold(SCOPE, THREAD, view.thread.revision if view else 0, hold)
    await raises(Conflict, store.erase_trail(SCOPE, THREAD, 3, 7_000, "kay"))
    rows = (await store.audit(SCOPE, thread_id=THREAD)).items
    same([row.kind for row in rows], ["asked", "erased", "asked", "hold"])
    same([row.content is None for row in rows], [True, False, False, False])
    same(first_unchained(SCOPE, rows), None)


async def the_files_of_a_store_are_purged_beside_everything_else(
    store: Store, clock: FakeClock
) -> None:
    """As often as one likes; nothing that is kept is touched."""
    await ask(store, question("int_1"))
    await store.purge_files()
    view = await store.load(SCOPE, THREAD)
    same([item.id for item in view.interrupts] if view else [], ["int_1"])


async def _told(store: Store) -> None:
    """A thread that is over, with a settled question, two messages and an entry."""
    lease = await store.claim(claim(messages=(message("m-1"), message("m-2"))))
    open_question = question("int_1", assigned_to="lea", progress=agreed("lea"))
    await store.commit(lease, Commit(now=3_000, interrupts=(open_question,)))
    settled = replace(
        open_question, status="resolved", decided_by="lea", decided_at=4_000, payload=b"true"
    )
    step = Commit(
        now=4_000,
        interrupts=(settled,),
        entries=(entry("0"), entry("1", data=b'{"by":"lea"}')),
        turn=turn(status="finished"),
        release=True,
    )
    await store.commit(lease, step)


async def what_is_stored_is_amended_without_anything_having_happened(
    store: Store, clock: FakeClock
) -> None:
    """Each text stays in its place; neither trail, changes nor lists tell of it."""
    await _told(store)
    before = await store.load(SCOPE, THREAD)
    same(before is not None, True)
    if before is None:
        return
    changes, listed = await store.changes(SCOPE, 0), await store.threads(SCOPE)
    rows = await store.audit(SCOPE)
    (old,) = before.interrupts
    fresh = replace(
        old, decided_by="p_1", assigned_to="p_1", terms=TERMS, progress=PROGRESS, message="Who?"
    )
    other = message("m-1", body=b'{"id":"m-1","content":"p_1"}')
    amendment = Amendment(
        scope=SCOPE,
        thread_id=THREAD,
        revision=before.thread.revision,
        now=9_000,
        interrupts=(fresh,),
        messages=(other,),
        entries=(entry("1", data=b'{"by":"p_1"}'),),
    )
    await store.amend(amendment)
    after = await store.load(SCOPE, THREAD)
    same(after and after.interrupts, (fresh,))
    same(after and after.messages, (other, before.messages[1]))
    same(await message_ids(store), ["m-1", "m-2"])
    entries = await store.journal(SCOPE, "turn_1")
    same([item.data for item in entries], [b"[1]", b'{"by":"p_1"}'])
    same(await store.changes(SCOPE, 0), changes)
    same(await store.audit(SCOPE), rows)
    now = await store.threads(SCOPE)
    same([replace(row, revision=0) for row in now.items], [replace(listed.items[0], revision=0)])
    same((await store.interrupts(SCOPE)).items[0].interrupt, fresh)
    same(await revision(store), before.thread.revision + 1)
    await raises(Conflict, store.amend(amendment))


async def what_is_used_or_on_hold_is_not_amended(store: Store, clock: FakeClock) -> None:
    """Nor what has changed since, or is not there."""
    await _told(store)
    read = Amendment(scope=SCOPE, thread_id=THREAD, revision=await revision(store), now=9_000)
    await raises(Conflict, store.amend(replace(read, revision=read.revision - 1)))
    await raises(Conflict, store.amend(replace(read, thread_id="unknown")))
    await raises(Conflict, store.amend(replace(read, scope="other")))
    lease = await store.claim(claim(read.revision, turn=turn("turn_2")))
    await raises(Conflict, store.amend(replace(read, revision=await revision(store))))
    await store.commit(lease, Commit(now=9_500, release=True))
    hold = Hold(by="kay", reason="case 7", said_at=9_600)
    await store.set_hold(SCOPE, THREAD, await revision(store), hold)
    await raises(Conflict, store.amend(replace(read, revision=await revision(store))))


async def a_name_is_taken_away_from_its_id(store: Store, clock: FakeClock) -> None:
    """Rows stay what they are, one more says by whom, and its changes are nobody's."""
    await _told(store)
    await store.note(SCOPE, [("exported", {"by": "lea"})], 5_000)
    ann, lea = await store.person(SCOPE, "ann"), await store.person(SCOPE, "lea")
    before = (await store.audit(SCOPE)).items
    mark = (await store.changes(SCOPE, None)).mark
    await store.erase_person(SCOPE, "ann", 6_000, "kay")
    kay = await store.person(SCOPE, "kay")
    same(sorted(await store.people(SCOPE, [ann, lea, kay])), sorted([lea, kay]))
    *rows, last = (await store.audit(SCOPE)).items
    same(rows, list(before))
    same((last.thread_id, last.kind, last.at), (NO_THREAD, "erased", 6_000))
    same(content_of(last), {"person": ann, "by": kay})
    chain = (await store.audit(SCOPE, thread_id=NO_THREAD)).items
    same((len(chain), first_broken(SCOPE, chain)), (2, None))
    same((await store.audit(SCOPE, owner="ann")).items, ())
    changes = await store.changes(SCOPE, 0)
    same((changes.mark, changes.gap), (mark, False))
    same({change.owner for change in changes.items}, {NOBODY})
    await store.erase_person(SCOPE, "ann", 7_000, "kay")
    await store.erase_person(SCOPE, "nobody knows", 7_000, "kay")
    same(len((await store.audit(SCOPE)).items), len(before) + 1)


async def the_next_row_about_a_name_that_was_taken_away_has_a_new_id(
    store: Store, clock: FakeClock
) -> None:
    """Nothing leads from one to the other; other scopes keep theirs."""
    await store.note(SCOPE, [("exported", {"by": "ann"})], 1_000)
    await store.note("other", [("exported", {"by": "ann"})], 1_000)
    first, elsewhere = await store.person(SCOPE, "ann"), await store.person("other", "ann")
    await store.erase_person(SCOPE, "ann", 2_000, "kay")
    await store.note(SCOPE, [("exported", {"by": "ann"})], 3_000)
    *_, last = (await store.audit(SCOPE, thread_id=NO_THREAD)).items
    second = (content_of(last) or {})["by"]
    same(second == first, False)
    same([who.name for who in (await store.people(SCOPE, [second])).values()], ["ann"])
    same(await store.person("other", "ann"), elsewhere)


async def sessions_of_a_name_are_listed(store: Store, clock: FakeClock) -> None:
    """Those that have not ended; whoever looks has not used them."""
    session = Session(
        digest="d-1", scope=SCOPE, subject="ann", issuer="i", lifetime=60_000, idle=20_000
    )
    await store.add_session(session)
    await store.add_session(replace(session, digest="d-2", idle=50_000))
    await store.add_session(replace(session, digest="d-3", subject="bob"))
    name = sessions_of(SCOPE, "ann")
    same([session.digest for session in await store.sessions(name)], ["d-1", "d-2"])
    await clock.advance(30)
    same([session.digest for session in await store.sessions(name)], ["d-2"])
    same([session.subject for session in await store.sessions("d-3")], [])
    await store.end_sessions(name)
    same(await store.sessions(name), ())
