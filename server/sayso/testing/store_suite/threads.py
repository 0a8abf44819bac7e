"""Rules about whole threads: what is written comes back to whom it belongs, and is counted."""

from dataclasses import replace
from typing import Any

from sayso.base.records import Changes, Commit, Page, PageRequest, Thread, ThreadView, Update
from sayso.stores.base import Store, StoreUsage
from sayso.testing.clock import FakeClock
from sayso.testing.store_suite._make import (
    LEASE_MS,
    PROGRESS,
    SCOPE,
    TERMS,
    THREAD,
    answer,
    ask,
    claim,
    entry,
    message,
    question,
    raises,
    revision,
    run,
    same,
    turn,
)

LONG = 5 * 1024 * 1024
ODD = "\x00 a\x00b \u2028 \ud7ff \U0001f600 e\u0301 ' \" \\ % ; -- \r\n\t"
"""NUL, separators, the edge of the surrogates, an astral sign, a combining one, quotes."""
_LARGE = 10_000
_BESIDE = 3_000
"""Bytes that a few records may take beside what is measured here."""


async def an_unknown_thread_is_none(store: Store, clock: FakeClock) -> None:
    """Before the first claim nothing is there to load, to journal, to be due."""
    same(await store.load(SCOPE, THREAD, run_id="r-1", interrupt_ids=["int_1"]), None)
    same(await store.journal(SCOPE, "turn_1"), ())
    same(await store.due_threads(clock.now(), PageRequest(limit=10)), Page(items=()))
    same(await store.threads(SCOPE), Page(items=()))
    same(await store.interrupts(SCOPE), Page(items=()))
    same(await store.interrupt(SCOPE, "int_1"), None)
    same(await store.runs(SCOPE, THREAD), Page(items=()))
    same(await store.changes(SCOPE, 0), Changes(mark=0))


async def every_record_comes_back_equal(store: Store, clock: FakeClock) -> None:
    """All members of all records, the optional ones filled."""
    begun = turn(ended_at=9_000, status="suspended")
    made = run(ended_at=9_001, outcome=b'{"type":"interrupt"}', delivered=True)
    interrupt = question(
        "int_1",
        message="Refund 240.0?",
        tool_call_id="call_1",
        response_schema=b'{"type":"object"}',
        metadata=b'{"a":null}',
        terms=TERMS,
        progress=PROGRESS,
        expires_at=99_000,
        status="resolved",
        payload=b'{"approved":true}',
        answer_metadata=b"{}",
        decided_by="bob",
        decided_at=8_000,
        channel="inbox",
        run_key="run_1",
        held=answer(),
        assigned_to="cleo",
        remind_at=90_000,
        reminded_at=90_001,
        lapsed_at=99_001,
    )
    spoken = (message("m-1"), message("m-2", role="assistant", visibility="hidden"))
    steps = (entry("0"), entry("1", kind="call", status="asked", data=b"null"))
    await store.claim(
        claim(
            turn=begun,
            run=made,
            state=b'{"n":1}',
            kept=b'{"k":1}',
            messages=spoken,
            interrupts=(interrupt,),
            entries=steps,
        )
    )
    thread = Thread(
        scope=SCOPE,
        id=THREAD,
        owner="ann",
        agent="support",
        revision=1,
        fence=1,
        created_at=2_000,
        updated_at=2_000,
        state=b'{"n":1}',
        holder="process-1",
        lease_until=clock.now() + LEASE_MS,
        kept=b'{"k":1}',
    )
    view = ThreadView(
        thread=thread,
        turn=begun,
        run=made,
        named_run=made,
        interrupts=(interrupt,),
        messages=spoken,
    )
    same(await store.load(SCOPE, THREAD, run_id="r-1"), view)
    same(await store.load(SCOPE, THREAD), replace(view, named_run=None))
    same(await store.journal(SCOPE, "turn_1"), steps)


async def absent_members_come_back_as_none(store: Store, clock: FakeClock) -> None:
    """None is not the empty text and not JSON null."""
    empty = question("int_2", message="", payload=b"null", decided_by="")
    await ask(store, question("int_1"), empty)
    view = await store.load(SCOPE, THREAD)
    same(view and view.interrupts, (question("int_1"), empty))
    same(view and view.run, run())
    same(view and view.thread.state, b"{}")
    same(view and (view.thread.holder, view.thread.lease_until), (None, None))


async def any_text_comes_back_as_it_was(store: Store, clock: FakeClock) -> None:
    """NUL, separators, astral and combining signs, in keys and in values."""
    await store.claim(
        claim(
            scope=ODD,
            thread_id=ODD,
            holder=ODD,
            turn=turn(ODD),
            run=run(ODD, run_id=ODD),
            messages=(message(ODD, role=ODD),),
            interrupts=(question(ODD, turn_key=ODD, message=ODD),),
            entries=(entry(ODD, name=ODD),),
        )
    )
    view = await store.load(ODD, ODD, run_id=ODD, interrupt_ids=[ODD])
    same(view and view.named_run, run(ODD, run_id=ODD))
    same(view and view.messages, (message(ODD, role=ODD),))
    same(view and view.interrupts, (question(ODD, turn_key=ODD, message=ODD),))
    same(await store.journal(ODD, ODD), (entry(ODD, name=ODD),))
    same(await store.load(ODD, ODD.partition("b")[0]), None)


async def text_without_utf8_is_refused_whole(store: Store, clock: FakeClock) -> None:
    """A lone surrogate is a `ValueError`, and nothing of the step is kept."""
    await raises(
        ValueError, store.claim(claim(messages=(message("m-1"), message("m", role="\ud800"))))
    )
    same(await store.load(SCOPE, THREAD), None)
    lease = await store.claim(claim())
    before = await store.load(SCOPE, THREAD)
    wrong = Commit(now=3_000, entries=(entry("0"), entry("1", name="\udfff")), state=b"1")
    await raises(ValueError, store.commit(lease, wrong))
    same(await store.load(SCOPE, THREAD), before)
    same(await store.journal(SCOPE, "turn_1"), ())


async def large_values_come_back_whole(store: Store, clock: FakeClock) -> None:
    """5 MB each of state, request, message, payload and journal entry."""
    body = b'"' + b"x" * LONG + b'"'
    lease = await store.claim(claim(turn=turn(request=body), state=body))
    answered = question("int_1", payload=body)
    await store.commit(
        lease,
        Commit(
            now=3_000,
            messages=(message("m-1", body=body),),
            interrupts=(answered,),
            entries=(entry("0", data=body),),
        ),
    )
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.state == body, True)
    same(view and view.turn and view.turn.request == body, True)
    same(view and [m.body == body for m in view.messages], [True])
    same(view and [i.payload == body for i in view.interrupts], [True])
    same([e.data == body for e in await store.journal(SCOPE, "turn_1")], [True])


async def scopes_share_nothing(store: Store, clock: FakeClock) -> None:
    """The same ids in two scopes are two threads; neither is read or written by the other."""
    lease = await store.claim(
        claim(messages=(message("m-1"),), interrupts=(question("int_1"),), entries=(entry("0"),))
    )
    same(await store.load("other", THREAD), None)
    same(await store.journal("other", "turn_1"), ())
    two = await store.claim(claim(scope="other", owner="bob", entries=(entry("9"),)))
    await store.commit(two, Commit(now=3_000, state=b"2", forget="turn_1", release=True))
    await store.mark_delivered("other", "run_1")
    await store.update_idle(
        Update(
            scope="other",
            thread_id=THREAD,
            revision=2,
            now=4_000,
            interrupts=(question("int_1", status="expired"),),
        )
    )
    view = await store.load(SCOPE, THREAD)
    same(view and view.thread.state, b"{}")
    same(view and view.thread.holder, lease.holder)
    same(view and view.run, run())
    same(view and view.interrupts, (question("int_1"),))
    same(await store.journal(SCOPE, "turn_1"), (entry("0"),))
    other = await store.load("other", THREAD, interrupt_ids=["int_1"])
    same(other and other.thread.owner, "bob")
    same(other and other.messages, ())
    same(other and other.run and other.run.delivered, True)


async def the_newest_run_with_a_name_is_the_named_run(store: Store, clock: FakeClock) -> None:
    """A client may use a run id twice (TR-07); the newest counts, also when it is not the last."""
    lease = await store.claim(claim())
    for key, name in (("run_2", "r-1"), ("run_3", "r-3")):
        await store.commit(lease, Commit(now=3_000, run=run(key, run_id=name)))
    view = await store.load(SCOPE, THREAD, run_id="r-1")
    same(view and view.named_run and view.named_run.key, "run_2")
    same(view and view.run and view.run.key, "run_3")
    unnamed = await store.load(SCOPE, THREAD, run_id="never")
    same(unnamed and unnamed.named_run, None)


async def a_run_that_is_replaced_keeps_its_age(store: Store, clock: FakeClock) -> None:
    """Ending an older run does not make it the newest; the same for turns."""
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_000, turn=turn("turn_2"), run=run("run_2")))
    await store.commit(
        lease, Commit(now=3_001, turn=turn(status="finished"), run=run(outcome=b"{}"))
    )
    view = await store.load(SCOPE, THREAD)
    same(view and view.turn and view.turn.key, "turn_2")
    same(view and view.run and view.run.key, "run_2")


async def delivery_is_noted_on_its_run_alone(store: Store, clock: FakeClock) -> None:
    """Unknown keys are ignored, and the revision stays: nobody loses a claim to a delivery."""
    lease = await store.claim(claim())
    await store.commit(lease, Commit(now=3_000, run=run("run_2", run_id="r-2"), release=True))
    before = await store.load(SCOPE, THREAD, run_id="r-1")
    await store.mark_delivered(SCOPE, "run_2")
    await store.mark_delivered(SCOPE, "run_2")
    await store.mark_delivered(SCOPE, "run_9")
    after = await store.load(SCOPE, THREAD, run_id="r-1")
    same(after, before and replace(before, run=run("run_2", run_id="r-2", delivered=True)))
    same(after and after.run and type(after.run.delivered), bool)


def _text(size: int = _LARGE) -> bytes:
    return b'"%s"' % (b"z" * size)


async def _bytes(store: Store, owner: str | None = "ann") -> int:
    return (await store.usage(SCOPE, owner)).bytes


async def _grown(store: Store, before: int, by: int) -> int:
    """The bytes of now; fail unless they are so many more, or fewer, than before."""
    now = await _bytes(store)
    same(abs(now - before - by) < _BESIDE, True)
    same(await _bytes(store, None), now)
    return now


async def usage_counts_the_threads_and_the_open_questions_of_an_owner_and_of_a_scope(
    store: Store, clock: FakeClock
) -> None:
    """Of nobody else, and not what was answered."""
    await ask(store, question("int_1"), question("int_2"))
    other: dict[str, Any] = {"turn": turn("turn_2"), "run": run("run_2"), "owner": "bob"}
    await ask(store, question("int_3", turn_key="turn_2"), thread_id="other", **other)
    elsewhere: dict[str, Any] = {"turn": turn("turn_3"), "run": run("run_3")}
    await ask(store, question("int_4", turn_key="turn_3"), scope="elsewhere", **elsewhere)
    counted = {owner: await store.usage(SCOPE, owner) for owner in ("ann", "bob", "nobody", None)}
    numbers = [(usage.threads, usage.open_questions) for usage in counted.values()]
    same(numbers, [(1, 2), (1, 1), (0, 0), (2, 3)])
    same(counted["nobody"], StoreUsage())
    same(counted["ann"].bytes + counted["bob"].bytes, counted[None].bytes)
    settled = question("int_1", status="cancelled", decided_by="ann", decided_at=9_000)
    await store.update_idle(
        Update(
            scope=SCOPE,
            thread_id=THREAD,
            revision=await revision(store),
            now=9_000,
            interrupts=(settled,),
        )
    )
    same((await store.usage(SCOPE, "ann")).open_questions, 1)


async def usage_grows_and_shrinks_with_what_a_thread_holds(store: Store, clock: FakeClock) -> None:
    """Messages, state, journal, questions; what is replaced, dropped or deleted counts no more."""
    lease = await store.claim(claim(messages=(message("m-1", body=_text()),)))
    await store.commit(lease, Commit(now=2_100, release=True))
    size = await _grown(store, 0, _LARGE)
    again = claim(await revision(store), holder="process-2")
    lease = await store.claim(again)
    step: dict[str, Any] = {
        "state": _text(),
        "kept": _text(),
        "messages": (message("m-2", body=_text()),),
        "entries": (entry("0", data=_text()),),
        "interrupts": (question("int_1", metadata=_text()),),
    }
    await store.commit(lease, Commit(now=2_200, **step))
    await store.commit(lease, Commit(now=2_300, release=True))
    size = await _grown(store, size, 5 * _LARGE)
    lease = await store.claim(claim(await revision(store), holder="process-3"))
    step = {
        "state": b"{}",
        "messages": (message("m-2"),),
        "entries": (entry("0"),),
        "interrupts": (question("int_1", status="cancelled"),),
    }
    await store.commit(lease, Commit(now=2_400, release=True, **step))
    size = await _grown(store, size, -4 * _LARGE)
    lease = await store.claim(claim(await revision(store), entries=(entry("1", data=_text()),)))
    await store.commit(lease, Commit(now=2_500, release=True))
    size = await _grown(store, size, _LARGE)
    new = claim(await revision(store), turn=turn("turn_2"), run=run("run_2"))
    lease = await store.claim(new)  # ends the journal before
    await store.commit(lease, Commit(now=2_600, release=True))
    size = await _grown(store, size, -_LARGE)
    await store.delete(SCOPE, THREAD, await revision(store), 3_000)
    same(await store.usage(SCOPE, "ann"), StoreUsage())
    same(await store.usage(SCOPE), StoreUsage())


async def usage_counts_a_held_answer_once(store: Store, clock: FakeClock) -> None:
    """It is replaced, not added, by the next one."""
    await ask(store, question("int_1"))
    before = await _bytes(store)
    for _ in range(3):
        await store.update_idle(
            Update(
                scope=SCOPE,
                thread_id=THREAD,
                revision=await revision(store),
                now=9_000,
                interrupts=(question("int_1", payload=_text()),),
            )
        )
    await _grown(store, before, _LARGE)


async def usage_is_right_after_a_holder_has_died(store: Store, clock: FakeClock) -> None:
    """Whoever takes the thread over and lets it go counts what it holds, once."""
    await store.claim(claim(messages=(message("m-1", body=_text()),)))
    clock.jump(LEASE_MS / 1000 + 1)
    lease = await store.claim(claim(await revision(store), holder="process-2"))
    await store.commit(lease, Commit(now=20_000, release=True))
    await _grown(store, 0, _LARGE)
