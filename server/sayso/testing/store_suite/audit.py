"""Rules of the audit trail: derived from what is written, sealed, never changed.

What belongs to no thread has one chain of rows for a scope, whoever adds to it.
"""

import asyncio
from dataclasses import replace
from typing import Any

from sayso.base import jsonvalue
from sayso.base.audit import GENESIS, NO_THREAD, NOBODY, AuditRow, content_of, first_broken, renamed
from sayso.base.errors import Conflict, LeaseLost
from sayso.base.records import Approval, Commit, PageRequest, Update
from sayso.stores.base import Store, every
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import (
    SCOPE,
    THREAD,
    answer,
    ask,
    claim,
    entry,
    question,
    raises,
    revision,
    same,
    turn,
)

_FAILED = b'{"id":"call_1","by":"ann","status":"failed","reason":"hunter2"}'
_CALL = b'{"id":"call_1","rule":"always","status":"executed","value":7}'


async def _rows(store: Store, thread_id: str = THREAD, scope: str = SCOPE) -> list[AuditRow]:
    return list((await store.audit(scope, thread_id=thread_id)).items)


Told = tuple[str, str, dict[str, Any] | None]
"""The owner, the kind and the content of a row, with names in place of ids."""


async def _told(store: Store, thread_id: str = THREAD, scope: str = SCOPE) -> list[Told]:
    rows = await _rows(store, thread_id, scope)
    contents = [content_of(row) for row in rows]
    ids = [row.owner for row in rows]

    def see(person: str) -> str:
        ids.append(person)
        return person

    for content in contents:
        renamed(content or {}, see)
    people = await store.people(scope, [*dict.fromkeys(ids)])
    same([person for person in people.values() if not person.is_told], [])
    return [
        (people[row.owner].name, row.kind, renamed(content or {}, lambda who: people[who].name))
        for row, content in zip(rows, contents, strict=True)
    ]


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
    same({row.thread_id for row in rows}, {THREAD})
    shown = await _told(store)
    same({owner for owner, _, _ in shown}, {"ann"})
    same((shown[1][2] or {})["by"], "ben")
    same(first_broken(SCOPE, rows), None)
    same(first_broken(SCOPE, rows[1:], rows[0].digest), None)
    same(first_broken(SCOPE, rows[1:], GENESIS), 2)


async def a_step_scrubs_what_it_adds_to_the_trail(store: Store, clock: FakeClock) -> None:
    """Texts alone, not ids and people; the question itself is kept as it was interrupt."""

    def scrub(text: str) -> str:
        return text.replace("hunter2", "[scrubbed]").replace("ann", "[scrubbed]")

    interrupt = question("int_ann", message="is it hunter2?", metadata=b'{"a":["hunter2"]}')
    lease = await store.claim(claim(scrub=scrub))
    stopped = entry("s", kind="stopped", name="", status="done", data=b'{"why":"hunter2"}')
    failed = entry("0", kind="call", name="send", status="done", data=_FAILED)
    step = Commit(now=3_000, interrupts=(interrupt,), entries=(stopped, failed), scrub=scrub)
    await store.commit(lease, replace(step, turn=turn(status="suspended"), release=True))
    held = question(
        "int_ann", message=interrupt.message, held=answer(payload=b'{"reason":"hunter2"}')
    )
    update = Update(scope=SCOPE, thread_id=THREAD, revision=await revision(store), now=4_000)
    await store.update_idle(replace(update, interrupts=(held,), by="ann", scrub=scrub))
    rows = await _told(store)
    same("hunter2" in repr(rows), False)
    said = {kind: content or {} for _, kind, content in rows}
    same((said["asked"]["interruptId"], said["asked"]["message"]), ("int_ann", "is it [scrubbed]?"))
    same((said["asked"]["metadata"], said["stopped"]["why"]), ({"a": ["[scrubbed]"]}, "[scrubbed]"))
    same((said["failed"]["by"], said["failed"]["reason"]), ("ann", "[scrubbed]"))
    same(said["held"]["answer"]["payload"], {"reason": "[scrubbed]"})
    kept = await store.interrupt(SCOPE, "int_ann")
    same(kept and kept.interrupt.message, interrupt.message)


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
    shown = await _told(store)
    same([kind for _, kind, _ in shown], ["asked", "extended"])
    same((shown[1][2] or {})["by"], "cyd")


async def rows_have_ids_of_people_and_no_names(store: Store, clock: FakeClock) -> None:
    """One id for a name in a scope, in whatever row: who is not told of any more is erased."""
    await ask(store, question("int_1"))
    await ask(store, question("int_2"), thread_id="other")
    await ask(store, question("int_3"), scope="elsewhere")
    settled = question("int_1", status="resolved", payload=b"1", decided_by="ann", channel="inbox")
    await store.claim(claim(await revision(store), interrupts=(settled,)))
    rows = [*await _rows(store), *await _rows(store, "other")]
    same([b'"ann"' in (row.content or b"") for row in rows], [False] * 3)
    (person,) = {row.owner for row in rows}
    same((await _told(store))[1][2], {**(content_of(rows[1]) or {}), "by": "ann"})
    same(
        {name: who.name for name, who in (await store.people(SCOPE, [person])).items()},
        {person: "ann"},
    )
    same(dict(await store.people("elsewhere", [person])), {})
    same(dict(await store.people(SCOPE, ["p_0000000000000000", "ann"])), {})
    same(dict(await store.people(SCOPE, [])), {})
    same((await _rows(store, scope="elsewhere"))[0].owner == person, False)


async def names_of_people_are_any_text(store: Store, clock: FakeClock) -> None:
    """Ids are made of all of a name."""
    names = ("zoë", "ann ", "p_0000000000000000", "a" * 300, "")
    for number, name in enumerate(names):
        await ask(store, question(f"int_{number}"), thread_id=f"t-{number}", owner=name)
    owners = [(await _told(store, f"t-{number}"))[0][0] for number in range(len(names))]
    same(owners, [*names])


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
    same([row.thread_id for row in (await store.audit(SCOPE, owner="ben")).items], ["other"])
    same(list((await store.audit(SCOPE, owner="nobody")).items), [])
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
    same((await _told(store))[1], ("ann", "deleted", {"by": "ann"}))
    same(rows[1].at, 6_000)
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
    """Who begins a thread under the id of a deleted one reads all of its own rows alone.

    To whoever has none there the thread is one that never was.
    """
    await ask(store, question("int_1"), question("int_2"), question("int_3"))
    await store.delete(SCOPE, THREAD, await revision(store), 6_000)
    await ask(store, question("int_4"), question("int_5"), owner="ben")
    await ask(store, question("int_6"), thread_id="of another", owner="cyd")
    for owner, numbers in (("ann", [1, 2, 3, 4]), ("ben", [5, 6]), ("cyd", [])):
        pages = 0
        row_numbers: list[int] = []
        after = None
        while True:
            page = await store.audit(SCOPE, PageRequest(after, 2), thread_id=THREAD, owner=owner)
            people = await store.people(SCOPE, [row.owner for row in page.items])
            same({person.name for person in people.values()} - {owner}, set())
            row_numbers += [row.number for row in page.items]
            pages, after = pages + 1, page.next
            if after is None:
                break
        same((row_numbers, pages), (numbers, max(1, len(numbers) // 2)))


async def a_person_has_one_id_and_the_newest_word_is_found(store: Store, clock: FakeClock) -> None:
    """Before a step and in it, for any name; whatever comes behind the word, and no other kind."""
    same(await store.last_decision(SCOPE, THREAD), None)
    names = ("ben", "", "bén\n")
    ids = [await store.person(SCOPE, name) for name in names]
    same([await store.person(SCOPE, name) for name in names], ids)
    same(len({*ids, await store.person("other", "ben")}), 4)
    await ask(store, question("int_1"))
    same(await store.last_decision(SCOPE, THREAD), None)
    settled = question("int_1", status="resolved", decided_by="ben", channel="inbox")
    lease = await store.claim(claim(await revision(store), interrupts=(settled,)))
    done = [entry(str(n), kind="call", name="send", status="done", data=_CALL) for n in range(120)]
    await store.commit(lease, Commit(now=5_000, entries=tuple(done)))
    rows = await store.audit(SCOPE, PageRequest(None, 200), thread_id=THREAD)
    same([(row.number, row.kind) for row in rows.items[:2]], [(1, "asked"), (2, "resolved")])
    same(await store.last_decision(SCOPE, THREAD), rows.items[1])
    same((content_of(rows.items[1]) or {}).get("by"), ids[0])
    people = await store.people(SCOPE, ids)
    same([people[person].name for person in ids], list(names))


async def _rows_of_no_thread(store: Store, scope: str = SCOPE) -> list[AuditRow]:
    pages = every(lambda after: store.audit(scope, PageRequest(after, 500), thread_id=NO_THREAD))
    return [row async for row in pages]


async def _told_of_no_thread(store: Store, scope: str = SCOPE) -> list[tuple[str, dict[str, Any]]]:
    """The kinds and contents of rows, with names in place of ids."""
    contents = [(row.kind, content_of(row) or {}) for row in await _rows_of_no_thread(store, scope)]
    ids: list[str] = []

    def see(person: str) -> str:
        ids.append(person)
        return person

    for _, content in contents:
        renamed(content, see)
    people = await store.people(scope, [*dict.fromkeys(ids)])
    return [(kind, renamed(content, lambda who: people[who].name)) for kind, content in contents]


def _approval(name: str, **members: Any) -> Approval:
    values: dict[str, Any] = {
        "owner": "ann",
        "tool": "send",
        "pattern": b'{"kind":"any"}',
        "rules": ("always",),
        "given_by": "ben",
        "given_at": 3_000,
        "interrupt_id": "int_1",
    }
    return Approval(id=name, **(values | members))


async def what_belongs_to_no_thread_is_a_chain_of_the_scope(store: Store, clock: FakeClock) -> None:
    """Rows that seal each other, of nobody, among all others of that scope; never another's."""
    await store.note(SCOPE, [("exported", {"by": "ann", "since": None})], 2_000)
    await ask(store, question("int_1"))
    more = [("signed_in", {"by": "ben", "for": "ann"}), ("signed_out", {"by": "ben"})]
    await store.note(SCOPE, more, 4_000)
    await store.note(SCOPE, [], 5_000)
    await store.note("elsewhere", [("exported", {})], 3_000)
    rows = await _rows_of_no_thread(store)
    same(
        [(row.kind, row.number, row.at) for row in rows],
        [
            ("exported", 1, 2_000),
            ("signed_in", 2, 4_000),
            ("signed_out", 3, 4_000),
        ],
    )
    same({(row.thread_id, row.owner) for row in rows}, {(NO_THREAD, NOBODY)})
    same(first_broken(SCOPE, rows), None)
    same(first_broken("elsewhere", rows), 1)
    same(len({row.salt for row in rows}), 3)
    same(
        await _told_of_no_thread(store),
        [
            ("exported", {"by": "ann", "since": None}),
            ("signed_in", {"by": "ben", "for": "ann"}),
            ("signed_out", {"by": "ben"}),
        ],
    )
    same([b'"ann"' in (row.content or b"") for row in rows], [False] * 3)
    listed = (await store.audit(SCOPE)).items
    same([row.kind for row in listed], ["exported", "asked", "signed_in", "signed_out"])
    same([row.number for row in await _rows_of_no_thread(store, "elsewhere")], [1])


async def rows_of_no_thread_are_no_persons(store: Store, clock: FakeClock) -> None:
    """Who asks for the rows of a person gets none of them, whoever that is."""
    await store.note(SCOPE, [("exported", {"by": "ann"})], 2_000)
    await ask(store, question("int_1"))
    await ask(store, question("int_2"), thread_id="other", owner=NOBODY)
    for owner in ("ann", NOBODY, "stranger"):
        same(list((await store.audit(SCOPE, owner=owner, thread_id=NO_THREAD)).items), [])
        of_owner = (await store.audit(SCOPE, owner=owner)).items
        same([row.thread_id for row in of_owner if row.thread_id == NO_THREAD], [])
    same([row.thread_id for row in (await store.audit(SCOPE, owner=NOBODY)).items], ["other"])


async def who_notes_at_once_adds_to_one_chain(store: Store, clock: FakeClock) -> None:
    """No row is lost, none stands beside another, whatever else is written meanwhile."""
    notes = [store.note(SCOPE, [("a", {"n": n}), ("b", {"n": n})], n) for n in range(12)]
    await asyncio.gather(*notes, *(ask(store, question("int_1"), thread_id=f"t-{n}") for n in "ab"))
    rows = await _rows_of_no_thread(store)
    same([row.number for row in rows], [*range(1, 25)])
    same(first_broken(SCOPE, rows), None)
    pairs = [((content_of(row) or {})["n"], row.kind) for row in rows]
    same(sorted(pairs), [(n, kind) for n in range(12) for kind in "ab"])
    same([kind for _, kind in pairs], ["a", "b"] * 12)


async def an_approval_has_its_row_once_given_and_once_revoked(
    store: Store, clock: FakeClock
) -> None:
    """Given: in the thread, in that step. Revoked: in the chain of the scope, in that step."""
    lease = await store.claim(claim())
    bound = _approval("apr_2", thread_id=THREAD, expires_at=9_000)
    given = (_approval("apr_1"), _approval("apr_1", tool="drop"), bound)
    await store.commit(lease, Commit(now=3_000, approvals=given))
    await store.commit(lease, Commit(now=3_001, approvals=given))
    rows = (await store.audit(SCOPE, thread_id=THREAD)).items
    same([row.kind for row in rows], ["remembered", "remembered"])
    same(first_broken(SCOPE, rows), None)
    said = content_of(rows[0]) or {}
    people = await store.people(SCOPE, [said["by"], said["for"]])
    same((people[said["by"]].name, people[said["for"]].name), ("ben", "ann"))
    same((said["approvalId"], said["interruptId"], said["tool"]), ("apr_1", "int_1", "send"))
    same(said["pattern"], jsonvalue.decode(b'{"kind":"any"}'))
    same([(content_of(row) or {})["scope"] for row in rows], ["user", "thread"])
    same(await _rows_of_no_thread(store), [])
    await store.revoke(SCOPE, "apr_1", "cyd", 4_000)
    await raises(Conflict, store.revoke(SCOPE, "apr_1", "dan", 4_001))
    await raises(Conflict, store.revoke(SCOPE, "apr_3", "dan", 4_001))
    revoked = {"approvalId": "apr_1", "tool": "send", "pattern": {"kind": "any"}}
    same(await _told_of_no_thread(store), [("revoked", revoked | {"for": "ann", "by": "cyd"})])


async def no_thread_has_the_id_of_none(store: Store, clock: FakeClock) -> None:
    """Nobody can begin the thread under which the rows of no thread stand, or write into it."""
    await store.note(SCOPE, [("exported", {})], 2_000)
    await raises(ValueError, store.claim(claim(thread_id=NO_THREAD)))
    await raises(Conflict, store.delete(SCOPE, NO_THREAD, 0, 6_000))
    same(await store.load(SCOPE, NO_THREAD), None)
    same([row.kind for row in await _rows_of_no_thread(store)], ["exported"])


async def what_cannot_be_kept_is_not_noted(store: Store, clock: FakeClock) -> None:
    """A name without a form in UTF-8 adds no row, not even those before it."""
    events = [("a", {}), ("b", {"by": "\ud800"})]
    await raises(ValueError, store.note(SCOPE, events, 2_000))
    same(await _rows_of_no_thread(store), [])
    await store.note(SCOPE, events[:1], 2_000)
    same([row.number for row in await _rows_of_no_thread(store)], [1])


async def the_end_of_a_trail_is_a_place_to_go_on_from(store: Store, clock: FakeClock) -> None:
    """By the order of writing, whatever times rows have; nothing comes in before it later."""
    seen: list[str] = []
    begin = None
    for number, now in enumerate((9_000, 5, 7_000)):
        await store.note(SCOPE, [("a", {"n": number}), ("b", {})], now)
        end = await store.audit_end(SCOPE)
        await store.note(SCOPE, [("late", {})], 1)
        while True:
            page = await store.audit(SCOPE, PageRequest(begin, 2), until=end)
            seen += [row.kind for row in page.items]
            begin = page.next or end
            if page.next is None:
                break
    same(seen, ["a", "b", "late", "a", "b", "late", "a", "b"])
    same((await store.audit(SCOPE, PageRequest(end, 2), until=end)).items, ())
    same([row.kind for row in (await store.audit(SCOPE, PageRequest(end))).items], ["late"])
    nothing = await store.audit_end("elsewhere")
    same((await store.audit("elsewhere", until=nothing)).items, ())
    same((await store.audit(SCOPE, until=nothing)).items, ())
    await raises(ValueError, store.audit(SCOPE, until="nowhere"))
