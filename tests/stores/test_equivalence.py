"""SQL and Redis against a model on random histories: the same answers to the same calls.

The model (`tests.stores.model`) keeps dictionaries and shares nothing with the stores that says
what a step means.
"""

import asyncio
import functools
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from sayso.base.approvers import names_of
from sayso.base.records import (
    Claim,
    Commit,
    Hold,
    InterruptFilter,
    Lease,
    Page,
    PageRequest,
    ThreadFilter,
    Update,
)
from sayso.base.service_tokens import ServiceToken
from sayso.base.sessions import Session, sessions_of
from sayso.stores.base import Store
from sayso.testing import FakeClock
from tests.share import share
from tests.stores.backends import BACKENDS
from tests.stores.model.store import ModelStore
from tests.stores.strategies import (
    NAMES,
    SCOPES,
    THREADS,
    approvals,
    blobs,
    entries,
    few,
    interrupts,
    messages,
    names,
    runs,
    threads,
    times,
    turns,
    uses,
)


class TwoStores(RuleBasedStateMachine):
    """One history, told to the model and to a store call by call."""

    kind = "sqlite"

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = FakeClock(now=0)
        self.stores: tuple[Store, ...] = (
            ModelStore(clock=self.clock),
            BACKENDS[self.kind](Path(self.folder.name), self.clock),
        )
        self.leases: list[Lease] = []
        self.both(lambda store: store.open())

    def teardown(self) -> None:
        self.both(lambda store: store.close())
        self.runner.close()
        self.folder.cleanup()

    def both(self, call: Callable[[Store], Awaitable[Any]]) -> Any:
        """The one answer of both stores, an error being one too."""

        async def answers() -> list[Any]:
            return [await _outcome(call(store)) for store in self.stores]

        mine, other = self.runner.run(answers())
        assert mine == other
        return mine

    def known_revision(self, thread: tuple[str, str]) -> int:
        view = self.both(lambda store: store.load(*thread))
        return view.thread.revision if view else 0

    @rule(data=st.data(), thread=threads, off=st.sampled_from((0, 0, 0, 0, 1, -1)))
    def claim(self, data: st.DataObject, thread: tuple[str, str], off: int) -> None:
        wanted = Claim(
            scope=thread[0],
            thread_id=thread[1],
            owner=data.draw(names),
            agent=data.draw(names),
            revision=self.known_revision(thread) + off,
            holder=data.draw(names),
            lease_ms=data.draw(st.integers(1, 10)),
            now=data.draw(times),
            turn=data.draw(turns(thread)),
            run=data.draw(runs(thread)),
            state=data.draw(st.none() | blobs),
            kept=data.draw(st.none() | blobs),
            messages=data.draw(messages),
            hide=data.draw(few(names)),
            interrupts=data.draw(interrupts(thread)),
            entries=data.draw(entries),
        )
        outcome = self.both(lambda store: store.claim(wanted))
        if isinstance(outcome, Lease):
            self.leases.append(outcome)

    @rule(data=st.data(), latest=st.sampled_from((True, True, True, False)))
    def commit(self, data: st.DataObject, latest: bool) -> None:
        if not self.leases:
            return
        lease = self.leases[-1] if latest else data.draw(st.sampled_from(self.leases))
        thread = (lease.scope, lease.thread_id)
        step = Commit(
            now=data.draw(times),
            entries=data.draw(entries),
            messages=data.draw(messages),
            dequeue=data.draw(st.booleans()),
            interrupts=data.draw(interrupts(thread)),
            state=data.draw(st.none() | blobs),
            kept=data.draw(st.none() | blobs),
            turn=data.draw(st.none() | turns(thread)),
            run=data.draw(st.none() | runs(thread)),
            forget=data.draw(st.none() | names.map(lambda n: f"turn_{'_'.join(thread)}_{n}")),
            release=data.draw(st.booleans()),
            approvals=data.draw(approvals),
            uses=data.draw(uses),
        )
        self.both(lambda store: store.commit(lease, step))

    @rule(scope=st.sampled_from(SCOPES), name=names, now=times)
    def revoke(self, scope: str, name: str, now: int) -> None:
        self.both(lambda store: store.revoke(scope, name, "ann", now))

    @rule(digest=names, scope=st.sampled_from(SCOPES), name=names, sid=st.none() | names)
    def sign_in(self, digest: str, scope: str, name: str, sid: str | None) -> None:
        session = Session(
            digest=digest,
            scope=scope,
            subject=name,
            issuer=scope,
            issuer_session=sid,
            lifetime=300_000,
            idle=60_000,
        )
        self.both(lambda store: store.add_session(session))

    @rule(digest=names, scope=st.sampled_from(SCOPES), all_of=st.booleans())
    def sign_out(self, digest: str, scope: str, all_of: bool) -> None:
        name = sessions_of(scope, digest) if all_of else digest
        self.both(lambda store: store.end_sessions(name))

    @rule(scope=st.sampled_from(SCOPES), name=names, now=times)
    def note(self, scope: str, name: str, now: int) -> None:
        self.both(lambda store: store.note(scope, [("exported", {"by": name})], now))

    @rule(digest=names, scope=st.sampled_from(SCOPES), name=names, now=times)
    def add_service(self, digest: str, scope: str, name: str, now: int) -> None:
        token = ServiceToken(
            id=name, scope=scope, name="ci", digest=digest, added_by="ann", added_at=now
        )
        self.both(lambda store: store.add_service_token(token))

    @rule(scope=st.sampled_from(SCOPES), name=names, now=times)
    def revoke_service(self, scope: str, name: str, now: int) -> None:
        self.both(lambda store: store.revoke_service_token(scope, name, "ann", now))

    @rule(data=st.data(), thread=threads, off=st.sampled_from((0, 0, 1)), now=times)
    def update_idle(self, data: st.DataObject, thread: tuple[str, str], off: int, now: int) -> None:
        known = self.known_revision(thread) + off
        settled = data.draw(interrupts(thread))
        state, recorded = data.draw(st.none() | blobs), data.draw(entries)
        self.both(
            lambda store: store.update_idle(
                Update(
                    scope=thread[0],
                    thread_id=thread[1],
                    revision=known,
                    now=now,
                    interrupts=settled,
                    state=state,
                    entries=recorded,
                )
            )
        )

    @rule(thread=threads, off=st.sampled_from((0, 0, 0, 1)), now=times)
    def delete(self, thread: tuple[str, str], off: int, now: int) -> None:
        known = self.known_revision(thread) + off
        self.both(lambda store: store.delete(*thread, known, now))

    @rule(thread=threads, off=st.sampled_from((0, 0, 0, 1)), now=times, lifted=st.booleans())
    def hold(self, thread: tuple[str, str], off: int, now: int, lifted: bool) -> None:
        known, word = self.known_revision(thread) + off, Hold(by="kay", reason="audit", said_at=now)
        self.both(lambda store: store.set_hold(*thread, known, word, lifted=lifted))

    @rule(thread=threads, through=st.integers(0, 3), now=times)
    def erase(self, thread: tuple[str, str], through: int, now: int) -> None:
        self.both(lambda store: store.erase_trail(*thread, through, now, "kay"))

    @rule(latest=st.booleans(), off=st.sampled_from((0, 0, 1)), by=st.none() | names)
    def stop(self, latest: bool, off: int, by: str | None) -> None:
        if self.leases:
            lease = self.leases[-1 if latest else 0]
            where = (lease.scope, lease.thread_id, lease.fence + off)
            self.both(lambda store: store.request_stop(*where, by=by, channel=by))

    @rule(data=st.data(), scope=st.sampled_from(SCOPES), limit=st.integers(1, 4))
    def page(self, data: st.DataObject, scope: str, limit: int) -> None:
        whose: dict[str, Any] = {
            "owner": data.draw(st.none() | names),
            "agent": data.draw(st.none() | names),
        }
        status: Any = data.draw(st.none() | st.sampled_from(("running", "suspended", "finished")))
        threads = ThreadFilter(status=status, **whose)
        self.both(lambda s: _pages(functools.partial(s.threads, scope, threads), limit))
        given = whose | {
            "status": data.draw(st.none() | st.sampled_from(("open", "resolved", "expired"))),
            "reason": data.draw(st.none() | names),
            "assigned_to": data.draw(st.none() | names),
            "thread_id": data.draw(st.none() | st.sampled_from(THREADS)),
        }
        people = data.draw(st.sampled_from(((), names_of("ann", ["lead"]), names_of("a", ["b"]))))
        asked = InterruptFilter(names=people, **given)
        self.both(lambda s: _pages(functools.partial(s.interrupts, scope, asked), limit))

    @rule(scope=st.sampled_from(SCOPES), since=st.none() | times, limit=st.integers(0, 9))
    def watch(self, scope: str, since: int | None, limit: int) -> None:
        self.both(lambda store: store.changes(scope, since, limit))

    @rule(thread=threads, name=names)
    def deliver(self, thread: tuple[str, str], name: str) -> None:
        self.both(lambda store: store.mark_delivered(thread[0], f"run_{'_'.join(thread)}_{name}"))

    @rule(milliseconds=st.integers(1, 12))
    def wait(self, milliseconds: int) -> None:
        self.runner.run(self.clock.advance(milliseconds / 1000))

    @rule(count=st.integers(0, 4))
    def renew(self, count: int) -> None:
        leases = self.leases[-count:] if count else []
        self.both(lambda store: asyncio.to_thread(store.renew, leases, 5))

    @rule()
    def reopen(self) -> None:
        self.both(lambda store: store.close())
        self.both(lambda store: store.open())

    @rule(now=times, limit=st.integers(0, 3))
    def look(self, now: int, limit: int) -> None:
        self.both(lambda store: _pages(functools.partial(store.due_threads, now), limit))

    @invariant()
    def both_hold_the_same(self) -> None:
        self.both(_everything)


async def _everything(store: Store) -> list[Any]:
    """All that can be read of a store."""
    read: list[Any] = []
    for scope in SCOPES:
        for owner in (None, *NAMES):
            usage = await store.usage(scope, owner)
            read.append((usage.threads, usage.open_questions))
        read += await _pages(functools.partial(store.threads, scope, ThreadFilter()))
        read += await _pages(functools.partial(store.interrupts, scope, InterruptFilter()))
        read += [await store.interrupt(scope, name) for name in NAMES]
        read += [await store.changes(scope, 0), await store.service_tokens(scope)]
        read += await _pages(functools.partial(store.approvals, scope, 20), 2)
        trail = await _pages(functools.partial(store.audit, scope))
        read += [(r.thread_id, r.number, r.at, r.kind) for rows in trail for r in rows]
        for name in NAMES:
            read += [await store.use_session(name), await store.service_token(name)]
            read += [await store.approval(scope, name), await store.approval_uses(scope, name)]
            read.append(await store.valid_approvals(scope, name, name, 20))
        for thread in THREADS:
            read += await _pages(functools.partial(store.runs, scope, thread), 2)
            read.append(await store.load(scope, thread, run_id="1", interrupt_ids=NAMES))
            read += [await store.journal(scope, f"turn_{scope}_{thread}_{name}") for name in NAMES]
    return read


async def _pages(
    read: Callable[[PageRequest], Awaitable[Page[Any]]], limit: int = 100
) -> list[Any]:
    """What a list holds, page by page; cursors are each store's own."""
    pages: list[Any] = []
    after = None
    while not pages or after is not None:
        page = await read(PageRequest(after, limit))
        pages.append(page.items)
        after = page.next
    return pages


async def _outcome(call: Awaitable[Any]) -> Any:
    try:
        return await call
    except Exception as error:
        return type(error), str(error)


class RedisAndModel(TwoStores):
    """The same with Redis, whose planner knows a thread by parts."""

    kind = "redis"


@pytest.mark.parametrize(("machine", "count"), [(TwoStores, 40), (RedisAndModel, 15)])
def test_a_store_and_the_model_answer_alike(machine: type[TwoStores], count: int) -> None:
    """Whatever the order of claims, commits, settlements, deletions and restarts (design 6)."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=share(count, of=3),
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            print_blob=True,
        ),
    )
