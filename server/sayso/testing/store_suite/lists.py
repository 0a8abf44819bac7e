"""Rules of the lists: threads, interrupts and runs, page by page."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from sayso.base.approvers import Approvers, names_of
from sayso.base.records import (
    Commit,
    Interrupt,
    InterruptFilter,
    ListedInterrupt,
    ListedThread,
    Page,
    PageRequest,
    Terms,
    ThreadFilter,
    Update,
)
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

T = TypeVar("T")


async def _all(list_from: Callable[[str | None], Awaitable[Page[T]]], limit: int) -> list[T]:
    """Collect a list over all its pages, none of them longer than the limit."""
    items: list[T] = []
    after = None
    for _ in range(1_000):
        page = await list_from(after)
        same(len(page.items) <= limit, True)
        items += page.items
        after = page.next
        if after is None:
            return items
    raise AssertionError("a list has no end")


async def _threads(store: Store, limit: int = 2, **members: Any) -> list[str]:
    thread_summaries = await _all(
        lambda a: store.threads(SCOPE, ThreadFilter(**members), PageRequest(a, limit)), limit
    )
    return [summary.id for summary in thread_summaries]


async def _interrupts(store: Store, limit: int = 2, **members: Any) -> list[str]:
    pages = await _all(
        lambda a: store.interrupts(SCOPE, InterruptFilter(**members), PageRequest(a, limit)), limit
    )
    return [listed.interrupt.id for listed in pages]


def _listed(interrupt: Interrupt, **members: Any) -> ListedInterrupt:
    values: dict[str, Any] = {"thread_id": THREAD, "owner": "ann", "agent": "support"}
    return ListedInterrupt(interrupt=interrupt, **(values | members))


async def a_thread_is_listed_with_how_it_stands(store: Store, clock: FakeClock) -> None:
    """Running, then waiting with what is open, then ended with its outcome's type."""
    lease = await store.claim(claim())
    summary = ListedThread(
        scope=SCOPE,
        id=THREAD,
        owner="ann",
        agent="support",
        revision=1,
        created_at=2_000,
        active_at=2_000,
        running=True,
        turn_status="running",
        outcome=None,
        open_interrupts=0,
    )
    same(await store.threads(SCOPE), Page(items=(summary,)))
    paused = Commit(
        now=3_000,
        interrupts=(question("int_1"), question("int_2"), question("int_3", status="resolved")),
        turn=turn(status="suspended"),
        run=run(ended_at=3_000, outcome=b'{"interrupts":[],"type":"interrupt"}'),
        release=True,
    )
    await store.commit(lease, paused)
    summary = replace(
        summary,
        revision=2,
        active_at=3_000,
        running=False,
        turn_status="suspended",
        outcome="interrupt",
        open_interrupts=2,
    )
    same(await store.threads(SCOPE), Page(items=(summary,)))
    await store.update_idle(
        Update(
            scope=SCOPE,
            thread_id=THREAD,
            revision=2,
            now=4_000,
            interrupts=(question("int_1", status="expired"),),
        )
    )
    summary = replace(summary, revision=3, active_at=4_000, open_interrupts=1)
    same(await store.threads(SCOPE), Page(items=(summary,)))
    lease = await store.claim(claim(3, agent="ops", turn=turn("turn_2"), run=run("run_2")))
    done = run("run_2", ended_at=6_000, outcome=b'{"type":"success","result":{"type":"x"}}')
    over = turn("turn_2", status="finished")
    await store.commit(lease, Commit(now=6_000, turn=over, run=done, release=True))
    summary = replace(
        summary,
        agent="ops",
        revision=5,
        active_at=6_000,
        turn_status="finished",
        outcome="success",
        open_interrupts=0,
    )
    same(await store.threads(SCOPE), Page(items=(summary,)))


async def a_call_of_the_clients_own_tool_is_no_open_interrupt(
    store: Store, clock: FakeClock
) -> None:
    """A summary counts what waits for people: a call that was left to the client does not."""
    lease = await store.claim(claim())
    left = replace(question("int_1"), reason="sayso:client-tool")
    paused = Commit(
        now=3_000,
        interrupts=(left, question("int_2")),
        turn=turn(status="suspended"),
        run=run(ended_at=3_000, outcome=b'{"type":"interrupt","interrupts":[]}'),
        release=True,
    )
    await store.commit(lease, paused)
    (summary,) = (await store.threads(SCOPE)).items
    same(summary.open_interrupts, 1)


async def threads_that_were_active_last_come_first(store: Store, clock: FakeClock) -> None:
    """A claim, a release and a settlement count, a step does not; equals: the newest first."""
    leases = [await store.claim(claim(thread_id=f"t-{n}", now=2_000 + n // 2)) for n in range(5)]
    same(await _threads(store), ["t-4", "t-3", "t-2", "t-1", "t-0"])
    await store.commit(leases[1], Commit(now=9_000))
    same(await _threads(store), ["t-4", "t-3", "t-2", "t-1", "t-0"])
    await store.commit(leases[1], Commit(now=3_000, release=True))
    await store.commit(leases[3], Commit(now=2_500, release=True))
    same(await _threads(store), ["t-1", "t-3", "t-4", "t-2", "t-0"])
    await store.update_idle(Update(scope=SCOPE, thread_id="t-3", revision=2, now=4_000))
    await store.claim(claim(3, thread_id="t-1", now=3_500))
    same(await _threads(store), ["t-3", "t-1", "t-4", "t-2", "t-0"])


async def threads_are_listed_by_owner_status_and_agent(store: Store, clock: FakeClock) -> None:
    """Each alone and together; the newest turn decides the status."""
    for n in range(12):
        lease = await store.claim(
            claim(
                thread_id=f"t-{n:02}",
                owner="ann" if n % 2 else "bob",
                agent="ops" if n % 3 == 0 else "support",
            )
        )
        status = "finished" if n < 6 else "suspended"
        await store.commit(lease, Commit(now=3_000 + n, turn=turn(status=status), release=True))
    same(await _threads(store, owner="bob"), ["t-10", "t-08", "t-06", "t-04", "t-02", "t-00"])
    same(await _threads(store, agent="ops"), ["t-09", "t-06", "t-03", "t-00"])
    same(
        await _threads(store, status="suspended", limit=9), [f"t-{n:02}" for n in range(11, 5, -1)]
    )
    same(await _threads(store, owner="ann", agent="ops", status="suspended"), ["t-09"])
    same(await _threads(store, owner="eve"), [])
    same(await _threads(store, status="failed"), [])
    await store.claim(claim(2, thread_id="t-00", turn=turn("turn_2"), run=run("run_2")))
    same(await _threads(store, status="running"), ["t-00"])


async def what_does_not_move_is_listed_once(store: Store, clock: FakeClock) -> None:
    """Between two pages threads come, move to the front and go."""
    for n in range(6):
        lease = await store.claim(claim(thread_id=f"t-{n}"))
        await store.commit(lease, Commit(now=3_000 + n, release=True))
    first = await store.threads(SCOPE, page=PageRequest(limit=2))
    same([summary.id for summary in first.items], ["t-5", "t-4"])
    await store.claim(claim(thread_id="new", now=9_000))
    await store.claim(claim(2, thread_id="t-2", now=9_001))
    await store.delete(SCOPE, "t-4", 2, 9_002)
    rest = await store.threads(SCOPE, page=PageRequest(first.next, 9))
    same([summary.id for summary in rest.items], ["t-3", "t-1", "t-0"])


async def interrupts_are_listed_oldest_first(store: Store, clock: FakeClock) -> None:
    """Over threads and turns, equals in the order of writing; an answer does not move them."""
    late, soon = question("int_3", created_at=5_000), question("int_1", created_at=4_000)
    await ask(store, late, soon)
    other = question("int_2", created_at=4_000)
    await ask(store, other, thread_id="second", owner="bob", agent="ops")
    same(await _interrupts(store), ["int_1", "int_2", "int_3"])
    answered = replace(soon, status="resolved", payload=b"true", decided_by="bob")
    lease = await store.claim(claim(2, run=run("run_2"), interrupts=(answered,)))
    await store.commit(lease, Commit(now=3_000, turn=turn(status="finished"), release=True))
    lease = await store.claim(claim(4, agent="other", turn=turn("turn_2"), run=run("run_3")))
    new = question("int_0", turn_key="turn_2", created_at=6_000)
    await store.commit(lease, Commit(now=6_000, interrupts=(new,)))
    everything = (
        _listed(answered),
        _listed(other, thread_id="second", owner="bob", agent="ops"),
        _listed(late),
        _listed(new, agent="other"),
    )
    same(await store.interrupts(SCOPE), Page(items=everything))
    for listed in everything:
        same(await store.interrupt(SCOPE, listed.interrupt.id), listed)
    same(await store.interrupt(SCOPE, "int_9"), None)


async def interrupts_are_listed_by_what_they_are(store: Store, clock: FakeClock) -> None:
    """Every filter alone and with every other one."""
    records = []
    for n in range(32):
        thread = f"t-{n % 4}"
        interrupt = question(
            f"int_{n:02}",
            created_at=4_000 + n,
            reason="tool_call" if n % 8 < 4 else "input_required",
            status="open" if n < 24 else "expired",
            assigned_to="cleo" if n % 16 < 6 else None,
        )
        owner, agent = ("ann", "bob")[n % 2], ("ops", "support")[n % 4 // 2]
        records.append(_listed(interrupt, thread_id=thread, owner=owner, agent=agent))
    for number in range(4):
        mine = [r for r in records if r.thread_id == f"t-{number}"]
        whose: dict[str, Any] = {"owner": mine[0].owner, "agent": mine[0].agent}
        interrupts = [listed.interrupt for listed in mine]
        await ask(store, *interrupts, thread_id=f"t-{number}", **whose)
    filters = {
        "owner": "ann",
        "agent": "ops",
        "thread_id": "t-2",
        "status": "open",
        "reason": "tool_call",
        "assigned_to": "cleo",
    }
    for chosen in range(2 ** len(filters)):
        chosen_filters = {k: v for n, (k, v) in enumerate(filters.items()) if chosen >> n & 1}
        expected = [
            listed.interrupt.id
            for listed in records
            if all(
                getattr(listed, k, getattr(listed.interrupt, k, None)) == v
                for k, v in chosen_filters.items()
            )
        ]
        listed_ids = await _interrupts(store, 3, **chosen_filters)
        same((chosen_filters, listed_ids), (chosen_filters, expected))
    same(
        await _interrupts(store, status="expired", owner="bob"),
        ["int_25", "int_27", "int_29", "int_31"],
    )
    same(await _interrupts(store, thread_id="unknown"), [])


async def questions_to_others_are_listed_by_the_names_of_their_approvers(
    store: Store, clock: FakeClock
) -> None:
    """Each once, beside the owner's own, whatever else is asked for; nobody else's."""
    leads = Terms(approvers=Approvers(by=("lead", "head"), people=["ida"]))
    finance = Terms(approvers=Approvers(approvals={"lead": 1, "finance": 1}))
    await ask(
        store,
        question("int_1", created_at=4_000, terms=leads, assigned_to="cleo"),
        question("int_2", created_at=4_001, terms=Terms()),
        question("int_3", created_at=4_002, terms=finance),
        question("int_4", created_at=4_003, terms=leads, status="resolved"),
    )
    await ask(store, question("int_5", created_at=4_004, terms=finance), thread_id="b", owner="bob")
    lead, ida = names_of("eve", ["lead", "head"]), names_of("ida", ["clerk"])
    lists: tuple[tuple[dict[str, Any], list[str]], ...] = (
        ({"names": lead}, ["int_1", "int_3", "int_4", "int_5"]),
        ({"names": lead, "status": "open"}, ["int_1", "int_3", "int_5"]),
        ({"names": lead, "status": "resolved"}, ["int_4"]),
        ({"names": lead, "status": "open", "owner": "ann"}, ["int_1", "int_2", "int_3", "int_5"]),
        ({"names": lead, "owner": "bob"}, ["int_1", "int_3", "int_4", "int_5"]),
        ({"names": lead, "thread_id": "b"}, ["int_5"]),
        ({"names": lead, "status": "open", "assigned_to": "cleo"}, ["int_1"]),
        ({"names": lead, "assigned_to": "cleo"}, ["int_1"]),
        ({"names": ida, "status": "open"}, ["int_1"]),
        ({"names": ida, "owner": "bob"}, ["int_1", "int_4", "int_5"]),
        ({"names": names_of("eve", ["finance"]), "status": "open"}, ["int_3", "int_5"]),
        ({"names": names_of("lead", []), "status": "open"}, []),
        ({"names": names_of("eve", []), "owner": "eve"}, []),
    )
    for members, expected in lists:
        for at_once in (1, 2, 100):
            same((members, await _interrupts(store, at_once, **members)), (members, expected))
    same(await store.interrupts("other", InterruptFilter(names=lead)), Page(items=()))


async def questions_to_others_leave_the_lists_of_their_approvers(
    store: Store, clock: FakeClock
) -> None:
    """Once settled. They come back once reopened, move with when it was asked, go with a thread."""
    terms = Terms(approvers=Approvers(by="lead"))
    first = question("int_1", created_at=4_000, terms=terms)
    await ask(store, first, question("int_2", created_at=5_000, terms=terms))
    steps: tuple[tuple[dict[str, Any], list[str]], ...] = (
        ({"created_at": 6_000}, ["int_2", "int_1"]),
        ({"created_at": 6_000, "status": "resolved"}, ["int_2"]),
        ({"created_at": 6_000, "status": "resolved", "held": answer()}, ["int_2"]),
        ({}, ["int_1", "int_2"]),
        ({"assigned_to": "cleo"}, ["int_1", "int_2"]),
    )
    names = names_of("eve", ["lead"])
    for index, (members, expected) in enumerate(steps, 2):
        await store.update_idle(
            Update(
                scope=SCOPE,
                thread_id=THREAD,
                revision=index,
                now=7_000,
                interrupts=(replace(first, **members),),
            )
        )
        same(await _interrupts(store, names=names, status="open"), expected)
    await store.delete(SCOPE, THREAD, len(steps) + 2, 8_000)
    same(await _interrupts(store, names=names, status="open"), [])


async def settled_and_reopened_ones_change_lists(store: Store, clock: FakeClock) -> None:
    """The list of open ones follows every write, also one that moves or assigns."""
    interrupt = question("int_1", created_at=4_000)
    await ask(store, interrupt, question("int_2", created_at=5_000))
    steps: tuple[tuple[dict[str, Any], list[str], list[str]], ...] = (
        ({"assigned_to": "cleo"}, ["int_1", "int_2"], ["int_1"]),
        ({"assigned_to": "dora"}, ["int_1", "int_2"], []),
        ({"assigned_to": "cleo", "created_at": 6_000}, ["int_2", "int_1"], ["int_1"]),
        ({"assigned_to": "cleo", "status": "resolved"}, ["int_2"], []),
        ({}, ["int_1", "int_2"], []),
        ({"held": answer()}, ["int_1", "int_2"], []),
    )
    for index, (members, listed, assigned) in enumerate(steps, 2):
        await store.update_idle(
            Update(
                scope=SCOPE,
                thread_id=THREAD,
                revision=index,
                now=7_000,
                interrupts=(replace(interrupt, **members),),
            )
        )
        same(await _interrupts(store, status="open"), listed)
        same(await _interrupts(store, status="open", assigned_to="cleo"), assigned)


async def a_rare_one_is_found_among_many(store: Store, clock: FakeClock) -> None:
    """Thousands that do not fit are passed over, if not in one page."""
    for n in range(3):
        many = (question(f"int_{n}_{i}", created_at=4_000) for i in range(1_500))
        await ask(store, *many, thread_id=f"t-{n}", turn=turn(f"turn_{n}"))
    rare = question("int_rare", reason="other", created_at=4_000)
    await ask(store, rare, thread_id="rare")
    same(await _interrupts(store, 50, status="open", reason="other"), ["int_rare"])
    same(await _interrupts(store, 50, reason="other"), ["int_rare"])
    same(await _interrupts(store, 50, status="expired"), [])
    same(len(await _interrupts(store, 400, status="open")), 4_501)


async def lists_show_their_own_scope(store: Store, clock: FakeClock) -> None:
    """The inbox lists across threads: this is where a leak would be."""
    await ask(store, question("int_1", assigned_to="cleo"))
    filters: tuple[dict[str, Any], ...] = (
        {},
        {"status": "open"},
        {"owner": "ann"},
        {"status": "open", "owner": "ann"},
        {"status": "open", "agent": "support"},
        {"status": "open", "assigned_to": "cleo"},
        {"thread_id": THREAD},
    )
    for chosen_filter in filters:
        same(len((await store.interrupts(SCOPE, InterruptFilter(**chosen_filter))).items), 1)
        same(await store.interrupts("other", InterruptFilter(**chosen_filter)), Page(items=()))
    same(await store.threads("other"), Page(items=()))
    same(await store.threads("other", ThreadFilter(owner="ann")), Page(items=()))
    same(await store.interrupt("other", "int_1"), None)
    same(await store.runs("other", THREAD), Page(items=()))
    await ask(store, question("int_1", message="theirs"), scope="other", owner="eve")
    mine = await store.interrupt(SCOPE, "int_1")
    same(mine and (mine.owner, mine.interrupt.message), ("ann", None))
    theirs = await store.interrupt("other", "int_1")
    same(theirs and (theirs.owner, theirs.interrupt.message), ("eve", "theirs"))


async def runs_of_a_thread_come_in_order(store: Store, clock: FakeClock) -> None:
    """With the keys of their turns; ending one does not move it."""
    lease = await store.claim(claim())
    begun = [run(), *(run(f"run_{n}", turn_key=f"turn_{n}", started_at=9) for n in range(2, 8))]
    for made in begun[1:]:
        await store.commit(lease, Commit(now=3_000, run=made))
    begun[0] = run(ended_at=4_000, outcome=b'{"type":"success"}', delivered=True)
    await store.commit(lease, Commit(now=4_000, run=begun[0]))
    await store.claim(claim(thread_id="second", run=run("run_9")))
    for limit in (1, 2, 7, 100):
        runs = await _all(lambda a, n=limit: store.runs(SCOPE, THREAD, PageRequest(a, n)), limit)  # type: ignore[misc]
        same(runs, begun)


async def a_page_is_asked_for_in_its_own_terms(store: Store, clock: FakeClock) -> None:
    """A limit below 1, a cursor of another list, and an invalid text."""
    for n in range(3):
        names: dict[str, Any] = {
            "thread_id": f"t-{n}",
            "turn": turn(f"turn_{n}"),
            "run": run(f"run_{n}"),
        }
        await ask(store, question(f"int_{n}"), **names)
    threads = (await store.threads(SCOPE, page=PageRequest(limit=1))).next
    interrupts = (await store.interrupts(SCOPE, page=PageRequest(limit=1))).next
    same(bool(threads and interrupts), True)
    for wrong in (
        "",
        "0",
        "x1.2",
        "t1",
        "i1.2.3",
        "t-1.2",
        "t1.\u0662",
        "t\u0661.2",
        "t" + "9" * 50 + ".1",
        "i 1.2",
    ):
        await raises(ValueError, store.threads(SCOPE, page=PageRequest(wrong)))
        await raises(ValueError, store.interrupts(SCOPE, page=PageRequest(wrong)))
        await raises(ValueError, store.runs(SCOPE, THREAD, PageRequest(wrong)))
    await raises(ValueError, store.threads(SCOPE, page=PageRequest(interrupts)))
    await raises(ValueError, store.interrupts(SCOPE, page=PageRequest(threads)))
    for limit in (0, -1):
        await raises(ValueError, store.threads(SCOPE, page=PageRequest(limit=limit)))
        await raises(ValueError, store.interrupts(SCOPE, page=PageRequest(limit=limit)))
        await raises(ValueError, store.runs(SCOPE, THREAD, PageRequest(limit=limit)))
        await raises(ValueError, store.changes(SCOPE, 0, limit))


async def answers_outlive_their_turn(store: Store, clock: FakeClock) -> None:
    """They are kept as long as the thread; journals are not."""
    answered = question("int_1", status="resolved", payload=b"true", decided_by="bob")
    lease = await store.claim(claim(interrupts=(answered,)))
    done = turn(status="finished")
    await store.commit(lease, Commit(now=3_000, turn=done, forget="turn_1", release=True))
    for n in range(2, 5):
        lease = await store.claim(claim(2 * n - 2, turn=turn(f"turn_{n}"), run=run(f"run_{n}")))
        await store.commit(lease, Commit(now=3_000, release=True))
    await clock.advance(LEASE_MS)
    same(await store.interrupt(SCOPE, "int_1"), _listed(answered))
